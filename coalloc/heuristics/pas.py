"""PAS (Package Allocation Strategy): the jobs that start together are placed together."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, Self

from coalloc.documents.values import Count
from coalloc.heuristics.over_time import Admission
from coalloc.heuristics.snapshots import snapshot_of_now
from coalloc.instance import CoallocError, Instance, Job
from coalloc.instance.constraints import AllowedNodes, Constraint, Declaration
from coalloc.problem import Links, Mode, Problem, discretise, shortage
from coalloc.problem.allocation import Scope
from coalloc.rules.orders import FIXED_ORDERS, ordered
from coalloc.rules.selection import selected
from coalloc.simulator.policy import Start, State
from coalloc.solvers.feasibility import why_infeasible
from coalloc.solvers.packages.placing import PlacedPackage, place_package
from coalloc.solvers.packages.search import WorkLeft

Selection = Literal["fcfs", "sjf", "bjf", "fpfs", "spt", "lpt"]
PackageModel = Literal["pas", "cbs", "jpr"]

ATTEMPT_SHARE = 0.5
"""Share of the work that is left for each attempt, so that some is left if the package must be made smaller."""


class Barring(Constraint):
    """Some jobs do not use some classes of a problem: ``barred`` are the pairs, by index."""

    def __init__(self, problem: Problem, barred: Collection[tuple[int, int]]) -> None:
        self._problem, self._barred = problem, barred

    def declare(self, instance: Instance) -> Iterator[Declaration]:
        """Yield the nodes of the other classes, for each job of a pair."""
        node_of = instance.platform.processor_node
        of_class = [{node_of[p] for p in node_class.processors} for node_class in self._problem.classes]
        for j in {j for j, _ in self._barred}:
            others = [nodes for g, nodes in enumerate(of_class) if (j, g) not in self._barred]
            yield AllowedNodes(self._problem.jobs[j].id, set().union(*others))


def _late(mode: Mode, open_for: Sequence[float]) -> list[int]:
    """Return the classes that a mode uses and that are not there, so many s from now, until it has ended."""
    return [g for g, count in enumerate(mode.allocation) if count and mode.execution_time > open_for[g]]


@dataclass(slots=True)
class Pas:
    r"""Package allocation strategy: start as many jobs as fit together, allocated by PAS, CBS or JPR.

    At every pass:

    1. **Selection** (equation (3.2), Algorithm 1, erratum 8). Jobs join the package, in the order ``selection``, as
       long as the sum of their tasks is at most the number of free processors; the first that does not fit ends the
       selection. With ``skip``, and with ``selection="fpfs"`` (``fcfs`` with ``skip``), it is passed over.
    2. **Allocation.** All jobs of the package are placed on the free processors at once, to start now, by a package
       model: ``"pas"`` minimises the sum of the $Te_j$ such that no link is saturated, the loads of the running jobs
       included; ``"cbs"`` and ``"jpr"`` ignore links.
    3. **Links.** If the package fits by count but not by links or memory, the job selected last leaves it and step 2 is
       repeated. A single job that does not fit waits. On an empty platform it would never start: that is an error which
       names the job and the link.

    Branch and bound (docs/mathematics/packages.md) places the package and proves it optimal, or that there is none. No
    clock: runs repeat. Where ``work_limit`` is too little for a proof, the best package found is taken, or the package
    counts as one that does not fit. Either way ``run.metrics["decisions_unproven"]`` counts the decision. With
    ``"pas"`` a run passes ``check(instance, schedule)`` with strict links.

    Source: thesis, section 3.1; errata 7, 8 and 11.

    Parameters
    ----------
    selection
        Order in which jobs join a package.
    skip
        Pass over a job that does not fit by count.
    allocation
        Model that places a package.
    work_limit
        Allocations of jobs that a decision tries at most: half of what is left in each attempt of step 3, but at least
        one for each job of an attempt.

    Examples
    --------
    *Example.* Figure 3.3 of the thesis: two nodes of speed 1 and two of speed 0.5. J1 has 2 tasks (200 s, $\sigma$
    0.8), J2 has 3 (150 s, 0.7), J3 has 1 (100 s, 0.6). The thesis gives no times (docs/generators.md#bundled-examples).
    With ``fpfs`` the package is J1 and J3, for J1 and J2 have more tasks than there are nodes. J1 on the fast nodes
    takes 200 s and J3 on a slow one 100 (0.6/0.5 + 0.4) = 160 s, 360 s in all. With J3 on a fast node it takes 100 s,
    and J1 takes 200 (0.8/0.5 + 0.2) = 360 s, 460 s in all. J2 starts at 200 s, when three nodes are free, and takes 150
    (0.7/0.5 + 0.3) = 255 s.

    >>> import coalloc
    >>> run = coalloc.simulate(
    ...     coalloc.example("pas-figure-3.3"), "pas", selection="fpfs"
    ... )
    >>> for placement in run.schedule:
    ...     print(placement.job, placement.start, placement.end)
    J1 0.0 200.0
    J2 200.0 455.0
    J3 0.0 160.0
    """

    selection: Selection = "fcfs"
    skip: bool = False
    allocation: PackageModel = "pas"
    work_limit: Count = 10_000
    scope: ClassVar[Scope] = "platform"
    _unproven: int = field(init=False, default=0)

    @property
    def links(self) -> Links:
        """Whether links may saturate: only PAS's own model looks at them."""
        return "strict" if self.allocation == "pas" else "shared"

    def begin(self, _: State) -> None:
        """Count anew what is not proved."""
        self._unproven = 0

    def copy(self) -> Self:
        """Return a policy of its own with the same count."""
        return copy(self)

    def decide(self, state: State) -> Sequence[Start]:
        """Return the jobs of the package, all of which start now."""
        is_fpfs = self.selection == "fpfs"
        queue = ordered(state.queue, FIXED_ORDERS["fcfs" if is_fpfs else self.selection])
        package = selected(queue, sum(state.free), self.skip or is_fpfs)
        work, is_proven = WorkLeft(self.work_limit), True
        starts: list[Start] = []
        for size in range(len(package), 0, -1):
            problem = self._problem(state, package[:size])
            placed = self._placed(state, problem, work.part(ATTEMPT_SHARE))
            # Of classes with equal loads of links not all are tried where resources run short.
            is_proven &= placed.is_proven and not any(job.times or job.asks_resources for job in problem.jobs)
            if placed.modes is not None:
                starts = [Start(job.id, mode.allocation) for job, mode in zip(problem.jobs, placed.modes, strict=True)]
                break
            if size == 1 and not state.running and not state.closings:
                raise CoallocError("; ".join(why_infeasible(discretise(problem.instance, None))))
        self._unproven += not is_proven
        return starts

    def _problem(self, state: State, package: Sequence[Job]) -> Problem:
        """Return what is to be placed: some waiting jobs, to start now; CBS and JPR ignore the links' capacities."""
        links: Links = "strict" if self.allocation == "pas" else "ignore"
        problem = discretise(snapshot_of_now(state, package), None, links=links)
        return replace(problem, classes=tuple(state.classes))

    def _placed(self, state: State, problem: Problem, work: WorkLeft) -> PlacedPackage:
        """Return the best package found, no job of which would run into a closing by its estimate.

        A class that is not there until a job has ended in its mode is none for that job, and the package is placed
        again. Then a proof is one beside those classes only.
        """
        if not state.has_closings:
            return place_package(problem, self.allocation, work)
        open_for = [until - state.now + state.tolerance for until in state.open_until]
        barred = {
            (j, g)
            for j, job in enumerate(problem.jobs)
            for g, seconds in enumerate(problem.allocations.class_times(job))
            if seconds > open_for[g]
        }
        is_first = True
        while True:
            barring = Barring(problem, barred)
            tried = replace(problem, constraints=(*problem.constraints, barring))
            if any(shortage(tried.allocations, job) for job in tried.jobs):
                return PlacedPackage(None, 0.0, is_proven=is_first)
            placed = place_package(tried, self.allocation, work)
            late = {(j, g) for j, mode in enumerate(placed.modes or ()) for g in _late(mode, open_for)}
            if not late:
                break
            barred, is_first = barred | late, False
        admission = Admission(state)
        for job, mode in zip(problem.jobs, placed.modes or (), strict=False):
            if not admission.admits_counts(job, mode.allocation, mode.execution_time):
                return PlacedPackage(None, 0.0, is_proven=False)
        return replace(placed, is_proven=placed.is_proven and is_first)

    def tally(self) -> Mapping[str, int]:
        """Return how many decisions were not proved to be the best."""
        return {"decisions_unproven": self._unproven}
