"""Budgets of constraints as tables: what each job takes beyond its least, by its tasks in each cluster.

:class:`Spending` is the state of a list schedule: what its jobs leave of budgets, and of clusters that are tied.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from coalloc.documents.text import quoted
from coalloc.instance import CoallocError
from coalloc.instance.constraints import Budget, Tasks
from coalloc.problem.allocation import Allocation, tasks_per_cluster
from coalloc.problem.allocations import Allocations
from coalloc.problem.choices import Mode, SpeedLevel
from coalloc.problem.cluster_rows import ClusterRows


@dataclass(frozen=True, slots=True)
class BudgetRow:
    """Row of a budget: the excess of jobs (by index) over their least weights is at most ``room``, which may be < 0.

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
        """Largest excess of a job over its least weight."""
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
    """Excess of placed jobs over their least weights in budgets, and the clusters that they use."""

    def __init__(
        self,
        rows: Sequence[BudgetRow],
        clusters: ClusterRows,
        spent: Sequence[float] = (),
        held: Mapping[int, frozenset[int]] = MappingProxyType({}),
    ) -> None:
        self._rows, self._clusters = rows, clusters
        self._spent, self._held = [*spent] or [0.0] * len(rows), held

    def copy(self) -> Spending:
        """Return the same, to be continued on its own."""
        return Spending(self._rows, self._clusters, self._spent, self._held)

    def within(self, j: int, free: tuple[float, ...], level: SpeedLevel) -> list[tuple[float, ...]]:
        """Return what is free for a job, by index, at a level: where rows let it be, then in few clusters there."""
        clusters, left = self._clusters, self._clusters.left(j, self._held)
        found = [clusters.within(left, free), clusters.within(clusters.fewest(left, free, level), free)]
        return found[: len(set(found))]

    def affords(self, j: int, allocation: Allocation) -> bool:
        """Return whether a job, by index, may have an allocation, so that the least of all others is left."""
        tasks = in_clusters(self._clusters.allocations, allocation)
        rows = zip(self._rows, self._spent, self._taken(j, tasks), strict=True)
        is_left = all(spent + taken <= row.room for row, spent, taken in rows)
        return is_left and self._clusters.allows(j, _used(tasks), self._held)

    def take(self, j: int, allocation: Allocation) -> None:
        """Count an allocation of a job, by index."""
        tasks = in_clusters(self._clusters.allocations, allocation)
        self._spent = [spent + taken for spent, taken in zip(self._spent, self._taken(j, tasks), strict=True)]
        self._held = {**self._held, j: _used(tasks)}

    def _taken(self, j: int, tasks: Tasks) -> list[float]:
        return [row.excess[j].get(tasks, math.inf) for row in self._rows]


def _used(tasks: Tasks) -> frozenset[int]:
    return frozenset(c for c, count in enumerate(tasks) if count)
