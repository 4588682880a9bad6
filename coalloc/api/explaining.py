"""``explain``: why there is no schedule, what bounds the objective, what moves the bound, why jobs waited."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from coalloc.allocation import Scope
from coalloc.api.solving import as_fixed, solve
from coalloc.checker import check
from coalloc.constraint import LatestEnd
from coalloc.documents.arguments import public
from coalloc.documents.text import quoted
from coalloc.explanations.bounding import bound_of, what_moves, why_bound
from coalloc.explanations.infeasible import why_no_schedule
from coalloc.explanations.reasons import Explanation, Reason
from coalloc.explanations.waiting import why_waits
from coalloc.fixed import Fixed, fixings, pinned
from coalloc.instance import CoallocError, Instance
from coalloc.objectives import Criterion, Objective, RegularObjective, objective_of
from coalloc.observed import in_shapes
from coalloc.problem import Links, Problem, Slot, discretise, slot_seconds
from coalloc.schedule import Placement, Schedule
from coalloc.solvers.result import PROOF_TOLERANCE

BOUND_SHARE = 0.5
"""Share of the time limit that the bounds of an instance and of its changes get together; a proof gets the rest."""


@public
def explain(
    instance: Instance,
    schedule: Schedule | None = None,
    *,
    objective: str | Objective = "makespan",
    slot: Slot = None,
    links: Links = "strict",
    saturation: float = 0.0,
    scope: Scope = "platform",
    makespan_limit: float | None = None,
    fixed: Sequence[Fixed | Placement] = (),
    jobs: Sequence[str] = (),
    time_limit: float = 60.0,
) -> Explanation:
    """Return why an instance has no schedule; else what bounds its objective, and why the jobs of a schedule waited.

    Parameters
    ----------
    schedule
        A schedule of the instance, of a solver or of a policy: its gap and the waits of its jobs are explained as well.
    objective
        A regular objective, as for :func:`solve`.
    slot
        Seconds, or ``"50%"`` of the mean base time; of a schedule of slots its own is taken.
    links
        Under which the schedule is valid: ``"strict"``, ``"shared"`` or ``"ignore"``, as for :func:`check`.
    saturation, scope, makespan_limit, fixed
        As for :func:`solve`.
    jobs
        Ids of the jobs whose waits are explained; none: all.
    time_limit
        Seconds for what is computed: bounds, and a proof that there is no schedule.

    Returns
    -------
    Explanation
        ``reasons``, each an object with its numbers and its sentence; ``of(about)`` gives those about one thing,
        ``to_dict()`` all as a document; printed, it is their sentences.

    Raises
    ------
    CoallocError
        An argument is unknown, or the objective is not regular.
    """
    asked = objective_of(objective)
    if not isinstance(asked, RegularObjective):
        raise CoallocError(f"objective of explain must be a regular one, got {asked.name!r}")
    asked.refuse(instance)
    known = {job.id for job in instance.jobs}
    unknown = [quoted(job) for job in jobs if job not in known]
    if unknown:
        raise CoallocError(f"jobs: the instance has no job {', '.join(unknown)}")
    seconds = slot_seconds(instance, slot) if schedule is None else schedule.slot
    given = [as_fixed(one) for one in fixed]
    fixings(instance, given, seconds, scope)  # raises faults by the names that are given
    kept = tuple(pinned(instance.platform, one) for one in given)
    question = _Question(instance, asked, seconds, saturation, scope, makespan_limit, kept, time_limit)
    reasons = list(question.reasons()) if schedule is None else list(question.of_schedule(schedule, links, jobs))
    return Explanation(instance.name, tuple(reasons))


@dataclass(frozen=True, slots=True)
class _Question:
    """What is asked, beside the schedule; fields as the arguments of :func:`explain`."""

    instance: Instance
    objective: RegularObjective
    slot: float | None
    saturation: float
    scope: Scope
    makespan_limit: float | None
    fixed: tuple[Fixed, ...]
    time_limit: float

    def _problem(self, instance: Instance) -> Problem:
        limit = self.makespan_limit
        limits = () if limit is None else (LatestEnd(instance.origin + limit),)
        kept = (*limits, *fixings(instance, self.fixed, self.slot, self.scope))
        return discretise(instance, self.slot, saturation=self.saturation, scope=self.scope, constraints=kept)

    def _criterion(self, instance: Instance) -> Criterion:
        return Criterion(self._problem(instance), self.objective)

    def reasons(self) -> Iterator[Reason]:
        """Yield why there is no schedule, or else what bounds the objective."""
        found = why_no_schedule(self._problem(self.instance)) if self.instance.jobs else []
        found = found or list(self._proof())
        yield from found
        if not found and self.instance.jobs:
            yield from self._bounds()

    def _proof(self) -> Iterator[Reason]:
        """Yield what a complete method says where it proves that no schedule keeps the latest ends."""
        problem = self._problem(self.instance)
        if all(map(math.isinf, problem.latest_ends)) and not self.fixed:
            return
        result = solve(
            self.instance,
            objective=self.objective,
            slot=self.slot,
            saturation=self.saturation,
            scope=self.scope,
            makespan_limit=self.makespan_limit,
            fixed=self.fixed,
            time_limit=(1.0 - BOUND_SHARE) * self.time_limit,
        )
        if result.status == "infeasible":
            yield Reason("infeasible", "proof", (), "", None, None, result.message)

    def _bounds(self) -> Iterator[Reason]:
        platform = self.instance.platform
        num_bounds = 2 + len(platform.links) + sum(len(cluster.nodes) for cluster in platform.clusters) + 1
        num_bounds += len(self.instance.resources_asked)
        bound = bound_of(self._criterion, BOUND_SHARE * self.time_limit / num_bounds)
        criterion = self._criterion(self.instance)
        yield why_bound(criterion, criterion.counted(bound(self.instance)))
        yield from what_moves(self.instance, bound, self.objective.unit)

    def of_schedule(self, schedule: Schedule, links: Links, jobs: Sequence[str]) -> Iterator[Reason]:
        """Yield what is wrong with a schedule; else its gap, what bounds the objective, and why its jobs waited."""
        violations = check(self.instance, schedule, links, self.saturation, self.scope)
        if violations:
            for v in violations:
                yield Reason("invalid", "violation", v.jobs, v.rule, v.amount, v.limit, str(v), since=v.when)
            return
        kept = fixings(self.instance, self.fixed, self.slot, self.scope)
        broken = [fault for constraint in kept for fault in constraint.faults(self.instance, schedule)]
        if broken:
            yield from (Reason("invalid", "fixed", (), "", None, None, fault) for fault in broken)
            return
        bounds = list(self._bounds()) if self.instance.jobs and links == "strict" else []
        if bounds:
            yield self._gap(schedule)
        yield from bounds
        rigid = in_shapes(self.instance, schedule)
        problem = discretise(rigid, None, links=links, saturation=self.saturation, scope=self.scope)
        yield from why_waits(problem, schedule, jobs or [job.id for job in self.instance.jobs])

    def _gap(self, schedule: Schedule) -> Reason:
        """Return how far the objective of a schedule is from the bound."""
        value, unit = self.objective.of_schedule(self.instance, schedule), self.objective.unit
        bound = bound_of(self._criterion, BOUND_SHARE * self.time_limit)(self.instance)
        if value - bound <= PROOF_TOLERANCE * max(1.0, abs(value)):
            compared = "and meets the bound: no schedule has a lesser one"
        else:
            share = f" ({100.0 * (value - bound) / abs(value):.3g} %)" if value else ""
            compared = f"{value - bound:g} {unit}{share} above the bound of {bound:g} {unit}"
        sentence = f"the objective of the schedule is {value:g} {unit}, {compared}"
        return Reason("bound", "gap", (), "", value, bound, sentence)
