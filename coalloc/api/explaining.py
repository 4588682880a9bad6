"""``explain``: why there is no schedule, what bounds and moves the objective, why jobs waited."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from coalloc.api.solving import as_fixed, solve
from coalloc.checker import check
from coalloc.documents.arguments import picture_of, public
from coalloc.documents.text import quoted
from coalloc.documents.wording import with_unit
from coalloc.explanations.bounding import OptimumOf, bound_of, changes, what_moves, why_bound
from coalloc.explanations.infeasible import why_no_schedule
from coalloc.explanations.reasons import Explanation, Reason
from coalloc.explanations.waiting import why_waits
from coalloc.instance import CoallocError, Instance
from coalloc.instance.constraints import Constraint, LatestEnd
from coalloc.objectives import Criterion, Objective, RegularObjective, objective_of
from coalloc.problem import Links, Problem, Slot, discretise, slot_seconds
from coalloc.problem.allocation import Scope
from coalloc.problem.fixed import Fixed, fixings, pinned
from coalloc.schedule import Placement, Schedule
from coalloc.schedule.observed import in_shapes
from coalloc.solvers.result import PROOF_TOLERANCE, SolveResult, SolveStatus
from coalloc.solvers.time_shift import Shifted, shifted

BOUND_SHARE = 0.5
"""Share of the time limit that the bounds of an instance and of its changes get together; proofs get the rest."""


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
    """Explain why an instance is infeasible, which resources bound its objective, or why the jobs of a schedule waited.

    If jobs have deadlines, a schedule is searched first. If neither a schedule nor a proof of infeasibility is found,
    the first reason says so.

    Parameters
    ----------
    instance : Instance
        The platform and the jobs.
    schedule : Schedule or None, default None
        A schedule of the instance, from a solver or a policy: its gap and the waits of its jobs are explained as well.
    objective : str or Objective, default "makespan"
        A regular objective, as for ``coalloc.solve``.
    slot : float or str or None, default None
        Length of a time slot: seconds, or a percentage of the mean reference run time. A slotted schedule brings its
        own slot.
    links : {"strict", "shared", "ignore"}, default "strict"
        The link model under which the schedule is valid, as for ``coalloc.check``.
    saturation : float, default 0.0
        Tolerated share of the load of a link above its bandwidth.
    scope : {"platform", "cluster", "node"}, default "platform"
        Where the tasks of one job may run.
    makespan_limit : float or None, default None
        Latest makespan, s.
    fixed : sequence of Fixed or Placement, default ()
        Parts of the schedule that are fixed, as for ``coalloc.solve``.
    jobs : sequence of str, default ()
        Ids of the jobs whose waits are explained. Empty: all jobs that waited.
    time_limit : float, default 60.0
        Seconds: half for bounds, half for schedules and proofs.

    Returns
    -------
    coalloc.explanations.reasons.Explanation
        ``reasons`` are objects with numbers and a sentence, ``of(about)`` selects those about one topic (``"bound"``,
        ``"wait"``, ...), ``to_dict()`` returns a document. Printing shows the sentences.

    Raises
    ------
    CoallocError
        An argument is unknown, the objective is not regular, the time limit is not positive, ``jobs`` are given without
        a schedule, or the schedule has failures or interrupted runs.

    See Also
    --------
    coalloc.check : List every rule that a schedule violates.

    Examples
    --------
    >>> import coalloc
    >>> instance = coalloc.example("pas-figure-3.3")
    >>> schedule = coalloc.simulate(instance, "fcfs").schedule
    >>> explanation = coalloc.explain(instance, schedule, time_limit=5.0)
    >>> [(reason.kind, reason.jobs) for reason in explanation.of("wait")]
    [('processors', ('J2',)), ('queue', ('J3', 'J2'))]
    """
    asked = objective_of(objective)
    if not isinstance(asked, RegularObjective):
        raise CoallocError(f"objective of explain must be regular, got {asked.name!r}")
    asked.refuse(instance)
    if not time_limit > 0.0:
        raise CoallocError(f"time_limit: must be above 0 s, got {picture_of(time_limit)}")
    known = {job.id for job in instance.jobs}
    unknown = [quoted(job) for job in jobs if job not in known]
    if unknown:
        raise CoallocError(f"jobs: must be jobs of the instance, got {', '.join(unknown)}")
    if jobs and schedule is None:
        raise CoallocError("jobs: requires a schedule")
    seconds = slot_seconds(instance, slot) if schedule is None else schedule.slot
    given = [as_fixed(one) for one in fixed]
    fixings(instance, given, seconds, scope)  # raises faults by the names that are given
    kept = tuple(pinned(instance.platform, one) for one in given)
    question = _Question(instance, asked, seconds, saturation, scope, makespan_limit, kept, time_limit)
    reasons = list(question.reasons()) if schedule is None else list(question.of_schedule(schedule, links, jobs))
    return Explanation(instance.name, tuple(reasons))


@dataclass(frozen=True, slots=True)
class _Question:
    """The arguments of :func:`explain` beside the schedule, checked."""

    instance: Instance
    objective: RegularObjective
    slot: float | None
    saturation: float
    scope: Scope
    makespan_limit: float | None
    fixed: tuple[Fixed, ...]
    time_limit: float

    def _problem(self, instance: Instance) -> Problem:
        return self._discretised(Shifted(instance, self._kept(instance), instance.time_base))

    def _discretised(self, given: Shifted) -> Problem:
        return discretise(
            given.instance,
            self.slot,
            saturation=self.saturation,
            scope=self.scope,
            constraints=given.constraints,
            base=given.base,
        )

    def _kept(self, instance: Instance) -> tuple[Constraint, ...]:
        """Return the constraints: the limit, and what is fixed."""
        limit = self.makespan_limit
        limits = () if limit is None else (LatestEnd(instance.origin + limit),)
        return (*limits, *fixings(instance, self.fixed, self.slot, self.scope))

    def _criterion(self, instance: Instance) -> Criterion:
        kept = self._kept(instance)
        return Criterion(self._discretised(shifted(instance, self.slot, self.objective, kept)), self.objective)

    def reasons(self) -> Iterator[Reason]:
        """Yield why there is no schedule, or that nobody knows; and unless there is none what bounds the objective."""
        if not self.instance.jobs:
            return
        found = why_no_schedule(self._problem(self.instance))
        sought = None if found else self._solved(self.instance, self._seeking)
        if sought is not None and sought.status is SolveStatus.INFEASIBLE:
            found = [Reason("infeasible", "proof", (), "", None, None, sought.message)]
        yield from found
        if found:
            return
        if self.is_sought and sought is not None and sought.schedule is None:
            yield self._undecided()
        yield from self._bounds(sought)

    @property
    def is_sought(self) -> bool:
        """Whether there may be no schedule, so that one is looked for: some job has to end by an instant."""
        return bool(self.fixed) or not all(map(math.isinf, self._problem(self.instance).latest_ends))

    @property
    def _seeking(self) -> float:
        """Seconds for schedules, and proofs: of the instance, and of what is left those of its changes."""
        return (1.0 - BOUND_SHARE) * self.time_limit

    def _solved(self, instance: Instance, time_limit: float) -> SolveResult:
        """Return what the solver says of an instance."""
        return solve(
            instance,
            objective=self.objective,
            slot=self.slot,
            saturation=self.saturation,
            scope=self.scope,
            makespan_limit=self.makespan_limit,
            fixed=self.fixed,
            time_limit=time_limit,
        )

    def _optimum_of(self, sought: SolveResult | None) -> OptimumOf:
        """Return what gives proved optima: ``sought`` that of the instance, the time left those of its changes."""
        left = self._seeking - (0.0 if sought is None else sought.timings["total"])
        share = left / max(1, sum(1 for _ in changes(self.instance)))

        def optimum(instance: Instance) -> float | None:
            result = sought if instance is self.instance else self._solved(instance, share) if share > 0.0 else None
            return result.objective if result is not None and result.status is SolveStatus.OPTIMAL else None

        return optimum

    def _undecided(self) -> Reason:
        within = f"within {self._seeking:g} s"
        sentence = f"{within} neither a schedule nor a proof of infeasibility was found; use a longer time limit"
        return Reason("undecided", "limit", (), "", None, self._seeking, sentence)

    def _bounds(self, sought: SolveResult | None) -> Iterator[Reason]:
        """Yield what bounds the objective and what moves it; ``sought`` is the result of the solver."""
        platform = self.instance.platform
        num_bounds = 2 + len(platform.links) + sum(len(cluster.nodes) for cluster in platform.clusters) + 1
        num_bounds += len(self.instance.resources_asked) + len(self.instance.limits)
        bound = bound_of(self._criterion, BOUND_SHARE * self.time_limit / num_bounds)
        criterion, reached = self._criterion(self.instance), bound(self.instance).value
        yield why_bound(criterion, criterion.counted(reached))
        known = None if sought is None else _least(sought)
        if known is not None and known - reached > PROOF_TOLERANCE * max(1.0, abs(known)):
            yield self._beyond(known)
        yield from what_moves(self.instance, bound, self._optimum_of(sought), self.objective.unit)

    def _beyond(self, known: float) -> Reason:
        """Return what the solver proved beyond the bound that is explained."""
        sentence = f"the solver proved that the objective is at least {with_unit(f'{known:g}', self.objective.unit)}"
        return Reason("bound", "search", (), "", known, None, sentence)

    def of_schedule(self, schedule: Schedule, links: Links, jobs: Sequence[str]) -> Iterator[Reason]:
        """Yield what is wrong with a schedule; else its gap, what bounds the objective, and why its jobs waited."""
        violations = check(self.instance, schedule, links, self.saturation, self.scope)
        if violations:
            for v in violations:
                yield Reason("invalid", "violation", v.jobs, v.rule, v.amount, v.limit, str(v), since=v.when)
            return
        if schedule.failures or schedule.interrupted:
            raise CoallocError("the schedule has failures or interrupted runs, which explain does not support")
        kept = fixings(self.instance, self.fixed, self.slot, self.scope)
        broken = [fault for constraint in kept for fault in constraint.faults(self.instance, schedule)]
        if broken:
            yield from (Reason("invalid", "fixed", (), "", None, None, fault) for fault in broken)
            return
        if self.instance.jobs and links == "strict":
            sought = self._solved(self.instance, self._seeking)
            yield self._gap(schedule, sought)
            yield from self._bounds(sought)
        rigid = in_shapes(self.instance, schedule)
        base = rigid.time_base.as_stated
        problem = discretise(rigid, None, links=links, saturation=self.saturation, scope=self.scope, base=base)
        yield from why_waits(problem, schedule, jobs)

    def _gap(self, schedule: Schedule, sought: SolveResult) -> Reason:
        """Return how far the objective of a schedule is from the best bound."""
        value, unit = self.objective.of_schedule(self.instance, schedule), self.objective.unit
        shown = with_unit(f"{value:g}", unit)
        bound = bound_of(self._criterion, BOUND_SHARE * self.time_limit)(self.instance).value
        known = _least(sought)
        bound = bound if known is None else max(bound, known)
        name = "optimum" if sought.status is SolveStatus.OPTIMAL else "bound"
        if value - bound <= PROOF_TOLERANCE * max(1.0, abs(value)):
            compared = "equal to the bound, and therefore optimal"
        else:
            gap = f" (gap {100.0 * (value - bound) / abs(value):.3g} %)" if value else ""
            above = with_unit(f"{value - bound:g}", unit)
            compared = f"{above} above the {name} of {with_unit(f'{bound:g}', unit)}{gap}"
        sentence = f"the objective of the schedule is {shown}, {compared}"
        return Reason("bound", "gap", (), "", value, bound, sentence)


def _least(result: SolveResult) -> float | None:
    """Return the bound that a result proves: where it is optimal its objective, without the tolerance of the proof."""
    return result.objective if result.status is SolveStatus.OPTIMAL else result.lower_bound
