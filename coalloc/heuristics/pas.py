"""PAS (Package Allocation Strategy) over time: at every decision a package is selected, and placed as a whole.

The package is what fits by count from the head of the ordered queue; PAS, CBS or JPR places it on the free
processors, PAS so that no link saturates beside the jobs that run. A package that fits by count but not by
links loses the job selected last; a single one that does not fit waits. Source: thesis, section 3.1; errata
8 and 11.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from coalloc.allocation import Scope
from coalloc.documents.values import Count
from coalloc.heuristics.packages import best_alone, without_mip
from coalloc.heuristics.snapshots import snapshot
from coalloc.instance import CoallocError, Instance
from coalloc.problem import MAX_MODES, Links, discretise
from coalloc.rules.orders import ordered
from coalloc.rules.selection import selected
from coalloc.simulator.policy import Start, State
from coalloc.solvers.feasibility import why_infeasible
from coalloc.solvers.package import OBJECTIVES, package_problem, solve_package
from coalloc.solvers.result import SolveOptions

Selection = Literal["fcfs", "sjf", "bjf", "fpfs", "spt", "lpt"]
PackageModel = Literal["pas", "cbs", "jpr"]

NO_CLOCK = 1e9
"""Time limit of a decision, s: none, so that runs repeat."""
NOT_PLACED = "a job that fits the empty platform was not placed within work_limit; raise it"
"""Where the MIP, left alone with a job, was stopped too early."""


@dataclass(frozen=True, slots=True)
class Pas:
    """PAS; ``allocation`` is the model that places a package, ``selection`` the order in which jobs join it.

    ``skip`` passes over jobs that do not fit by count, which on the order of arrival is ``fpfs``.
    ``work_limit`` is the number of branch-and-bound nodes that a decision may take.
    """

    selection: Selection = "fcfs"
    skip: bool = False
    allocation: PackageModel = "pas"
    work_limit: Count = 1_000
    scope: ClassVar[Scope] = "platform"

    @property
    def links(self) -> Links:
        """Whether links may saturate: only PAS's own model looks at them."""
        return "strict" if self.allocation == "pas" else "shared"

    def decide(self, state: State) -> Sequence[Start]:
        """Return the jobs of the package, all of which start now."""
        is_fpfs = self.selection == "fpfs"
        queue = ordered(state.queue, "fcfs" if is_fpfs else self.selection)
        package = selected(queue, sum(state.free), self.skip or is_fpfs)
        for size in range(len(package), 0, -1):
            instance = snapshot(state, package[:size])
            starts = self._placed(instance)
            if starts:
                return starts
            if size == 1 and not state.running:
                raise CoallocError("; ".join(why_infeasible(discretise(instance, None))) or NOT_PLACED)
        return ()

    def _placed(self, instance: Instance) -> list[Start]:
        """Return the starts of a package, none where it does not fit."""
        options = SolveOptions(
            model=self.allocation,
            objective=OBJECTIVES[self.allocation],
            time_limit=NO_CLOCK,
            work_limit=self.work_limit,
        )
        problem = package_problem(instance, options)
        if sum(map(problem.count_allocations, problem.jobs)) > MAX_MODES:
            return _solved(instance, options, "node")
        choices = [best_alone(problem, self.allocation, j) for j in range(len(problem.jobs))]
        if not all(choices):
            return []
        chosen = without_mip(problem, self.allocation, choices)
        if chosen is None:
            return _solved(instance, options, "mode")
        return [Start(job.id, c.allocation) for job, c in zip(problem.jobs, chosen, strict=True)]


def _solved(instance: Instance, options: SolveOptions, formulation: str) -> list[Start]:
    """Return the starts that the MIP finds, none where it finds none; Ctrl-C is meant for the whole run."""
    result = solve_package(instance, options, formulation=formulation)
    if result.stopped_by == "interrupt":
        raise KeyboardInterrupt
    return [Start(placement.job, nodes=placement.nodes) for placement in result.schedule or ()]
