"""Budgets of constraints as tables: what each job takes beyond its least, by its tasks in each cluster."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from coalloc.documents.text import quoted
from coalloc.instance import CoallocError
from coalloc.instance.constraints import Budget, Tasks
from coalloc.problem.allocation import Allocation, tasks_per_cluster
from coalloc.problem.allocations import Allocations
from coalloc.problem.choices import Mode


@dataclass(frozen=True, slots=True)
class BudgetRow:
    """What jobs (by index) take beyond their least weights sums to ``room`` at most; below 0 there is no schedule.

    ``excess`` has for each job what it takes beyond, by its tasks in each cluster; ``least`` is what all take at least.
    ``is_whole``: whether all of these, and then the room, are whole numbers.
    """

    name: str
    limit: float
    least: float
    room: float
    excess: tuple[Mapping[Tasks, float], ...]
    is_whole: bool

    @property
    def largest(self) -> float:
        """What a job takes beyond its least weight at most."""
        return max((weight for of_job in self.excess for weight in of_job.values()), default=0.0)


def budget_row(allocations: Allocations, modes: Sequence[Sequence[Mode]], budget: Budget, name: str) -> BudgetRow:
    """Return a budget of jobs that have some modes as a row; ``name`` is that of its constraint."""
    weights = [_weights(allocations, of_job, budget, name, j) for j, of_job in enumerate(modes)]
    leasts = [min(of_job.values(), default=0.0) for of_job in weights]
    excess = tuple(
        {tasks: weight - least for tasks, weight in of_job.items()}
        for of_job, least in zip(weights, leasts, strict=True)
    )
    least = math.fsum(leasts)
    room = budget.limit + budget.margin - least
    is_whole = all(weight.is_integer() for of_job in excess for weight in of_job.values())
    return BudgetRow(name, budget.limit, least, float(math.floor(room)) if is_whole else room, excess, is_whole)


def _weights(allocations: Allocations, modes: Sequence[Mode], budget: Budget, name: str, j: int) -> dict[Tasks, float]:
    """Return the weights of a job, each asked for once."""
    job, found = allocations.jobs[j], dict[Tasks, float]()
    for mode in modes:
        tasks = in_clusters(allocations, mode.allocation)
        if tasks not in found:
            found[tasks] = float(budget.weight(allocations.shape_of(job, sum(tasks)), tasks))
            if not math.isfinite(found[tasks]):
                raise CoallocError(
                    f"constraint {name}: the weight of job {quoted(job.id)} with {tasks} tasks in the clusters must be "
                    f"finite, got {found[tasks]:g}"
                )
    return found


def in_clusters(allocations: Allocations, allocation: Allocation) -> Tasks:
    """Return the tasks of an allocation in each cluster."""
    return tasks_per_cluster(allocation, allocations.classes, len(allocations.instance.platform.clusters))


class Spending:
    """What placed jobs take of budgets beyond their least weights."""

    def __init__(self, allocations: Allocations, rows: Sequence[BudgetRow], spent: Sequence[float] = ()) -> None:
        self._allocations, self._rows = allocations, rows
        self._spent = [*spent] or [0.0] * len(rows)

    def copy(self) -> Spending:
        """Return the same, to be continued on its own."""
        return Spending(self._allocations, self._rows, self._spent)

    def affords(self, j: int, allocation: Allocation) -> bool:
        """Return whether a job, by index, may have an allocation, so that the least of all others is left."""
        rows = zip(self._rows, self._spent, self._taken(j, allocation), strict=True)
        return all(spent + taken <= row.room for row, spent, taken in rows)

    def take(self, j: int, allocation: Allocation) -> None:
        """Count an allocation of a job, by index."""
        self._spent = [spent + taken for spent, taken in zip(self._spent, self._taken(j, allocation), strict=True)]

    def _taken(self, j: int, allocation: Allocation) -> list[float]:
        tasks = in_clusters(self._allocations, allocation)
        return [row.excess[j].get(tasks, math.inf) for row in self._rows]
