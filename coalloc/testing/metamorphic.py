"""Relations that must hold between solves of an instance and of the same instance after a change.

A triple is an instance, a transformation and an objective. No optimum is known; but an instance on another clock has
the same one, and what an optimal schedule keeps (its own starts, ends, makespan) takes nothing away from it. All
numbers are equal within :func:`margin`, and a schedule that is known is never worse than a lower bound.
Source of the method: T. Y. Chen and others, "Metamorphic testing: a review of challenges and opportunities", ACM
Computing Surveys 51 (2018).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import numpy as np

import coalloc
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.instance.features import FEATURES
from coalloc.instance.processor_names import ProcessorNames
from coalloc.instance.windows import Window
from coalloc.measures.metrics import BOUNDED_SLOWDOWN_THRESHOLD
from coalloc.objectives import OBJECTIVES
from coalloc.objectives.registry import REGULAR, objective_of
from coalloc.problem.allocation import Scope
from coalloc.problem.execution import execution_time
from coalloc.problem.fixed import Fixed
from coalloc.schedule import Placement, Schedule
from coalloc.solvers.result import PROOF_TOLERANCE, SolveResult, SolveStatus
from coalloc.testing.constraints import Apart, Precedence
from coalloc.testing.features import with_features
from coalloc.testing.small import SmallSize, small_instance, small_metered_instance, with_due_dates
from coalloc.testing.transformed import permuted, scaled, shifted, shifted_schedule

SHIFTS = (1.76e9, 0.0, 1e7, 1e6, 1e8)
"""Seconds by which instances are later than 0: up to Unix time, at which floats are 2.4e-7 s apart."""
FACTORS = (1e-3, 1e6)
"""Factors by which times are multiplied."""
METERED: tuple[str, ...] = ("energy", "edp")
METERED_EVERY = 10
"""Of so many triples one is of energy, or of energy times makespan."""
MAXIMA = ("makespan", "maximum-lateness")
"""Objectives that others may follow in order of priority."""
POWERS = (0.75, 0.3, 1.0)
"""Speeds: by most, run times are no binary fractions."""
SLOTS = (5.0, 7.5, 7.3, 3.7)
"""Lengths of slots, s, of which doubles are taken until an instance has few enough."""
MAX_SLOTS = 40
FEATURED = SmallSize(max_jobs=6, max_processors=6, max_slots=MAX_SLOTS)
"""Size of the instances with links and other features."""
UNACCEPTABLE = 16.0
"""Multiple of the tolerance of times that the checker must not accept."""
FINEST_TICK, ULPS, TICKS = 2.0**-30, 4.0, 2.0**50
"""s; units in the last place of the largest time; ticks of the whole time span."""


# --- what is compared -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Triple:
    """An instance, by its number; how it is transformed; and what is to be least.

    ``shift`` is the time, s, at which the clock of the instance begins, in slots a whole number of them.
    """

    number: int
    is_slotted: bool
    transformation: str
    shift: float
    objective: str

    @property
    def scope(self) -> Scope:
        """Places of the tasks of a job: energy is of jobs within nodes."""
        return "node" if self.objective in METERED else "platform"

    @property
    def time(self) -> str:
        """Whether time is continuous."""
        return "slots" if self.is_slotted else "continuous"


def triple(number: int) -> Triple:
    """Return a triple: odd ones in slots; each transformation comes with each shift and each objective."""
    nth, is_slotted = number // 2, bool(number % 2)
    if nth % METERED_EVERY == METERED_EVERY - 1:
        nth //= METERED_EVERY
        objectives, names = METERED, METERED_TRANSFORMATIONS
    else:
        nth -= nth // METERED_EVERY
        objectives, names = REGULAR, tuple(TRANSFORMATIONS)
    of_all = (names[nth % len(names)], SHIFTS[nth % len(SHIFTS)], objectives[nth % len(objectives)])
    return Triple(number, is_slotted, *of_all)


@dataclass(frozen=True, slots=True)
class BrokenRelation:
    """Violated relation: its short name, and a sentence with the numbers."""

    relation: str
    sentence: str

    def __str__(self) -> str:
        return f"{self.relation}: {self.sentence}"


@dataclass
class Trial:
    """The solves of one triple, each within ``limit`` seconds, and what does not hold.

    ``instance`` is that of the triple on its clock, ``base`` the same without the shift.
    """

    triple: Triple
    base: Instance
    instance: Instance
    slot: float | None
    formulation: str
    shift: float
    limit: float
    rng: np.random.Generator
    faults: list[BrokenRelation] = field(default_factory=list)
    is_open: bool = False

    def fault(self, relation: str, sentence: str) -> None:
        """Note that a relation does not hold."""
        self.faults.append(BrokenRelation(relation, sentence))

    def asked(self, what: str, function: Callable[..., Any], *arguments: Any, **keywords: Any) -> Any:
        """Return what a function says, None where it raises: whatever it is, that is a fault."""
        try:
            return function(*arguments, **keywords)
        except Exception as error:
            self.fault("raises", f"{what}: {type(error).__name__}: {error}")
            return None

    def solve(self, what: str, instance: Instance, **keywords: Any) -> SolveResult | None:
        """Solve an instance as the triple says, with other keywords; note what is wrong with the result itself."""
        asked = {
            "objective": self.triple.objective,
            "slot": self.slot,
            "formulation": self.formulation,
            "scope": self.triple.scope,
            "time_limit": self.limit,
        }
        result: SolveResult | None = self.asked(what, coalloc.solve, instance, **(asked | keywords))
        if result is None:
            return None
        if result.stopped_by != "proof":
            if result.timings["total"] < self.limit / 2.0:
                self.fault("no proof", f"{what}: {result.status}, though most of the time is left: {result.message}")
            self.is_open = True
        if result.schedule is not None:
            self.valid(f"{what}: its schedule", instance, result.schedule)
            objective = (asked | keywords)["objective"]
            last = objective_of(objective[-1] if isinstance(objective, tuple) else objective)
            name = last.name if last.name in OBJECTIVES else self.triple.objective
            worth, within = last.of_schedule(instance, result.schedule), margin(instance, name)
            if result.objective is None or abs(worth - result.objective) > within:
                self.fault("objective", f"{what}: {result.objective} is said of a schedule of {worth}")
        return result

    def valid(self, what: str, instance: Instance, schedule: Schedule) -> None:
        """Note what the checker says of a schedule that is valid."""
        for violation in self.asked(what, coalloc.check, instance, schedule, scope=self.triple.scope) or ():
            self.fault("checker", f"{what}: {violation}")

    def equal(
        self, what: str, known: SolveResult | None, found: SolveResult | None, within: float, factor: float = 1.0
    ) -> None:
        """Note in what two results of the same problem, or of problems of the same optimum, contradict each other.

        ``factor`` is what the objective of the second is multiplied by.
        """
        if known is None or found is None:
            return
        if (known.schedule is None) != (found.schedule is None):
            if SolveStatus.INFEASIBLE in (known.status, found.status):
                self.fault("feasibility", f"{what}: {found.status}, not {known.status}")
            return
        if known.objective is None or found.objective is None:
            return
        target, bound = factor * known.objective, factor * (known.lower_bound or -math.inf)
        if known.status == found.status == SolveStatus.OPTIMAL:
            if abs(found.objective - target) > within:
                self.fault("optimum", f"{what}: optimal at {found.objective!r}, not {target!r}")
        elif found.lower_bound is not None and found.lower_bound > target + within:
            self.fault("bound", f"{what}: at least {found.lower_bound!r}, but {target!r} is known")
        elif found.objective < bound - within:
            self.fault("bound", f"{what}: {found.objective!r}, below the bound {bound!r}")


def trial(asked: Triple, limit: float) -> Trial:
    """Return what does not hold of a triple, after all its solves, each within ``limit`` seconds."""
    rng = np.random.default_rng([asked.number, 7])
    base, slot = drawn(asked, rng)
    shift = asked.shift if slot is None else round(asked.shift / slot) * slot
    formulation = str(rng.choice(("auto", "auto", "mode", "count"))) if slot and asked.objective in REGULAR else "auto"
    instance = shifted(base, shift) if shift else base
    made = Trial(asked, base, instance, slot, formulation, shift, limit, rng)
    TRANSFORMATIONS[asked.transformation](made)
    return made


# --- tolerance --------------------------------------------------------------------------------------------


def tick(instance: Instance) -> float:
    """Return the unit of time in which an instance may be rounded, s.

    The smallest power of two that is at least 2**-30 s, 4 units in the last place of its largest time, and 2**-50 of
    the time that all its jobs take in turn.
    """
    stated = [time for job in instance.jobs for time in (job.arrival, job.due_date, job.deadline) if time is not None]
    stated += [time for window in instance.platform.unavailable for time in (window.start, window.end)]
    stated += [run.end for run in instance.running]
    span = max(stated) - instance.origin + in_turn(instance)
    mantissa, exponent = math.frexp(max(FINEST_TICK, ULPS * math.ulp(instance.origin + span), span / TICKS))
    return math.ldexp(1.0, exponent - (mantissa == 0.5))


def in_turn(instance: Instance) -> float:
    """Return how long the jobs take one after the other on the slowest nodes, s."""
    groups = [group for cluster in instance.platform.clusters for group in cluster.nodes]
    slowest = max(1.0 / group.effective_power for group in groups)
    return math.fsum(
        max([*(execution_time(shape, slowest) for shape in job.in_shapes), *_times_named(job)]) for job in instance.jobs
    )


def _times_named(job: Job) -> Iterator[float]:
    for shape in job.in_shapes:
        yield from shape.times.values()


def tolerance(instance: Instance) -> float:
    """Return how far apart two times may be that are equal, s: a tick for each job, and one more."""
    return (len(instance.jobs) + 1) * tick(instance)


def margin(instance: Instance, objective: str) -> float:
    """Return how far apart two values of an objective may be that are equal, in its unit.

    The tolerance of times, times how much the objective changes with the ends of the jobs. Of energy, whose optima are
    proved to a share, that share as well.
    """
    seconds = tolerance(instance)
    weights = math.fsum(job.weight for job in instance.jobs)
    if objective in METERED:
        groups = [group for cluster in instance.platform.clusters for group in cluster.nodes]
        watts = math.fsum(g.count * ((g.static_watts or 0.0) + g.cores * (g.core_watts or 0.0)) for g in groups)
        span = in_turn(instance) + max(job.arrival for job in instance.jobs) - instance.origin
        if objective == "energy":
            return watts * (seconds + PROOF_TOLERANCE * span)
        return watts * span * (2.0 * seconds + PROOF_TOLERANCE * span)
    changes = {
        "total-response-time": float(len(instance.jobs)),
        "total-weighted-response-time": weights,
        "weighted-tardiness": weights,
        "mean-bounded-slowdown": 1.0 / BOUNDED_SLOWDOWN_THRESHOLD,
    }
    return changes.get(objective, 1.0) * seconds


# --- instances --------------------------------------------------------------------------------------------


def drawn(asked: Triple, rng: np.random.Generator) -> tuple[Instance, float | None]:
    """Return the instance of a triple on the clock 0, and its slot, s; jobs run already only where it stays there."""
    seed = asked.number
    if asked.objective in METERED:
        instance = _within_nodes(_roughened(small_metered_instance(seed)[0], rng))
    elif rng.random() < 0.4:
        instance = _pool(rng)
    else:
        seeds = count(1000 * seed)
        instance = next(i for i in (small_instance(s, FEATURED)[0] for s in seeds) if len(i.jobs) >= 3)
        instance = _roughened(instance, rng)
    if asked.shift:
        instance = instance.replace(running=())
    if asked.objective not in METERED:
        # Running jobs begin at 0; in continuous time no search proves what lags leave.
        left_out = {*(["start"] if asked.shift else []), *([] if asked.is_slotted else ["lags"])}
        features = [name for name in FEATURES if name not in left_out and rng.random() < 0.25]
        instance = with_due_dates(with_features(instance, rng, features), seed)
    instance = instance.replace(name=f"triple-{seed}")
    if not asked.is_slotted:
        return instance, None
    slot = float(rng.choice(SLOTS))
    while in_turn(instance) > MAX_SLOTS * slot:
        slot *= 2.0
    return instance.replace(jobs=[_maybe_in_slots(job, slot, rng) for job in instance.jobs]), slot


def _pool(rng: np.random.Generator) -> Instance:
    """Return an instance of 3 to 8 jobs on one cluster, with run times and arrivals as logs have them."""
    groups = [NodeGroup(int(rng.integers(1, 4)), float(rng.choice(POWERS))) for _ in range(int(rng.integers(1, 3)))]
    processors = sum(group.count for group in groups)
    are_whole = rng.random() < 0.5

    def job(number: int) -> Job:
        arrival = float(rng.integers(0, 601)) if are_whole else round(float(rng.uniform(0.0, 3600.0)), 2)
        run_time = round(float(rng.uniform(60.0, 3600.0)), 2)
        return Job(f"J{number}", int(rng.integers(1, processors + 1)), run_time, arrival=arrival)

    jobs = [job(number) for number in range(int(rng.integers(3, 9)))]
    return Instance(Platform([Cluster("C1", groups, link_bandwidth=125.0)]), jobs)


def _roughened(instance: Instance, rng: np.random.Generator) -> Instance:
    """Return an instance with speeds and times that are no binary fractions."""

    def other(group: NodeGroup) -> NodeGroup:
        return group.replace(power=float(rng.choice(POWERS))) if rng.random() < 0.5 else group

    clusters = [c.replace(nodes=[other(group) for group in c.nodes]) for c in instance.platform.clusters]
    jobs = [job.replace(arrival=round(float(rng.uniform(0.0, 40.0)), 2)) for job in instance.jobs]
    return instance.replace(platform=instance.platform.replace(clusters=clusters), jobs=jobs)


def _within_nodes(instance: Instance) -> Instance:
    """Return an instance each job of which fits on one node, where energy is proved optimal within milliseconds."""
    most = max(node.cores for node in instance.platform.nodes)
    return instance.replace(jobs=[job.replace(tasks=min(job.tasks, most)) for job in instance.jobs])


def _maybe_in_slots(job: Job, slot: float, rng: np.random.Generator) -> Job:
    """Return a job that arrives, in one of three cases, at a whole slot."""
    if rng.random() < 2.0 / 3.0 or job.deadline is not None:
        return job
    arrival = slot * float(rng.integers(0, 4))
    return job.replace(arrival=arrival)


# --- transformations --------------------------------------------------------------------------------------


def _both(made: Trial) -> tuple[SolveResult | None, SolveResult | None]:
    """Compare an instance on the clock 0 and on that of the triple; return both results."""
    before = made.solve("at 0", made.base)
    after = made.solve("shifted", made.instance)
    made.equal("shifted", before, after, margin(made.instance, made.triple.objective))
    if before is not None and before.schedule is not None:
        made.valid("the schedule at 0, shifted", made.instance, shifted_schedule(before.schedule, made.shift))
    return before, after


def _shift(made: Trial) -> None:
    """Compare both clocks; the checker must not accept a job that is too short by more than rounding makes."""
    _, after = _both(made)
    if after is None or after.schedule is None:
        return
    schedule, first = after.schedule, after.schedule.placements[0]
    shorter = first.replace(end=first.end - UNACCEPTABLE * tolerance(made.instance))
    changed = schedule.replace(placements=[shorter, *schedule.placements[1:]])
    found = made.asked("check", coalloc.check, made.instance, changed, scope=made.triple.scope) or ()
    if "duration" not in {violation.rule for violation in found}:
        made.fault("lax", f"the checker accepts {first.job} from {shorter.start!r} to {shorter.end!r}")


def _known(made: Trial) -> SolveResult | None:
    """Return a result on the clock of the triple: its own there, or that at 0, shifted; None without a schedule."""
    before, after = _both(made)
    if rng_says(made) and before is not None and before.schedule is not None:
        return replace(before, schedule=shifted_schedule(before.schedule, made.shift))
    return after if after is not None and after.schedule is not None else None


def _kept(change: Callable[..., object], **choice: bool) -> Callable[[Trial], None]:
    """Return the transformation that calls ``change`` with a result and its schedule, where there is one."""

    def transformation(made: Trial) -> None:
        known = _known(made)
        if known is not None and known.schedule is not None:
            change(made, known, known.schedule, **choice)

    return transformation


def rng_says(made: Trial) -> bool:
    """Return one of two, at random."""
    return bool(made.rng.random() < 0.5)


def _compare(made: Trial, what: str, known: SolveResult, instance: Instance, **keywords: Any) -> SolveResult | None:
    """Solve what a known optimal schedule keeps, and compare with it."""
    found = made.solve(what, instance, **keywords)
    made.equal(what, known, found, margin(made.instance, made.triple.objective))
    return found


def _permute(made: Trial) -> None:
    _, known = _both(made)
    other = made.solve("permuted", permuted(made.instance, made.rng))
    made.equal("permuted", known, other, margin(made.instance, made.triple.objective))


def _scale(made: Trial) -> None:
    """Compare with the instance in other units; where times get shorter, a shift goes before."""
    factor = float(made.rng.choice(FACTORS))
    instance = made.instance if factor < 1.0 else made.base
    name = made.triple.objective
    if name == "mean-bounded-slowdown":  # its threshold is in seconds
        name = "mean-wait"
    slot = None if made.slot is None else made.slot * factor
    other = scaled(instance, factor)
    if factor > 1.0 and made.shift:
        other = shifted(other, made.shift if slot is None else round(made.shift / slot) * slot)
    known = made.solve("before scaling", instance, objective=name)
    found = made.solve(f"scaled by {factor:g}", other, objective=name, slot=slot)
    power = 2 if name == "edp" else 1
    within = max(margin(other, name), factor**power * margin(instance, name))
    made.equal(f"scaled by {factor:g}", known, found, within, factor**power)


def _fix(made: Trial, known: SolveResult, schedule: Schedule, *, whole: bool) -> None:
    kept = _some(made, schedule, whole=whole)
    kind = str(made.rng.choice(("placements", "starts", "nodes")))
    fixed = [_fixed(made.instance, placement, kind) for placement in kept]
    found = _compare(made, f"{kind} of {len(kept)} jobs fixed", known, made.instance, fixed=fixed)
    within = tolerance(made.instance)
    if found is not None and found.schedule is not None and kind != "nodes":
        for placement in kept:
            start = found.schedule[placement.job].start
            if abs(start - placement.start) > within:
                made.fault("fixed", f"{placement.job} starts at {start!r}, fixed is {placement.start!r}")


def _fixed(instance: Instance, placement: Placement, kind: str) -> Fixed | Placement:
    """Return what is fixed of a job: its placement, its start, or the nodes that it is within."""
    platform = instance.platform
    held = sorted({platform.processor_node[platform.processor_index[name]] for name in placement.nodes})
    are_whole = sum(platform.nodes[n].cores for n in held) == len(placement.nodes)
    start = None if kind == "nodes" else placement.start
    if kind == "starts":
        return Fixed(placement.job, start)
    if kind == "placements" and are_whole:
        return placement
    return Fixed(placement.job, start, within=[platform.nodes[n].name for n in held], shape=placement.shape)


def _some(made: Trial, schedule: Schedule, *, whole: bool) -> list[Placement]:
    """Return the placements of a schedule, or about half of them, at least one and not all."""
    placements = [schedule.placements[p] for p in made.rng.permutation(len(schedule))]
    return placements if whole else placements[: max(1, len(placements) // 2)]


def _deadlines(made: Trial, known: SolveResult, schedule: Schedule, *, whole: bool) -> None:
    ends = {placement.job: placement.end for placement in _some(made, schedule, whole=whole)}
    jobs = [job.replace(deadline=ends.get(job.id, job.deadline)) for job in made.instance.jobs]
    instance = made.instance.replace(jobs=jobs)
    made.valid("the schedule that ends at the deadlines", instance, schedule)
    _compare(made, f"{len(ends)} deadlines at the ends", known, instance)


def _outages(made: Trial, known: SolveResult, schedule: Schedule) -> None:
    """Compare where about half the nodes are out of service whenever the known schedule leaves them idle."""
    platform, chosen = made.instance.platform, list[Window]()
    for n, node in enumerate(platform.nodes):
        names = platform.processor_names[node.first_processor : node.first_processor + node.cores]
        if made.rng.random() < 0.5:
            holds = [h for h in (*schedule, *made.instance.running) if not set(h.nodes).isdisjoint(names)]
            chosen += _idle(made.instance, n, sorted((hold.start, hold.end) for hold in holds))
    instance = made.instance.replace(platform=platform.replace(unavailable=[*platform.unavailable, *chosen]))
    made.valid("the schedule around outages", instance, schedule)
    _compare(made, f"{len(chosen)} outages where nodes are idle", known, instance)


def _idle(instance: Instance, number: int, busy: Sequence[tuple[float, float]]) -> Iterator[Window]:
    """Yield a window for each time in which a node is not ``busy``, from the earliest arrival on."""
    node, end = instance.platform.nodes[number], instance.origin
    cluster = instance.platform.clusters[node.cluster].name
    last = max([end, *(stop for _, stop in busy)]) + in_turn(instance)
    for start, stop in (*busy, (last, last)):
        if start > end + 2.0 * tolerance(instance):
            yield Window(cluster, end, start, nodes=ProcessorNames([node.name]))
        end = max(end, stop)


def _precedences(made: Trial, known: SolveResult, schedule: Schedule) -> None:
    """Compare where a job comes after another that ends before it starts in the known schedule."""
    jobs, within = list[Job](), tolerance(made.instance)
    for job in made.instance.jobs:
        before = [p.job for p in schedule if p.job != job.id and p.end <= schedule[job.id].start + within]
        more = [other for other in before if other not in job.after and made.rng.random() < 0.5]
        jobs.append(job.replace(after=[*job.after, *more]))
    instance = made.instance.replace(jobs=jobs)
    made.valid("the schedule in its order", instance, schedule)
    _compare(made, "its order as precedences", known, instance)


def _all_at_once(made: Trial, known: SolveResult, schedule: Schedule) -> None:
    """Compare where some jobs are fixed, some have deadlines, the makespan is limited, and a start is given."""
    ends = {placement.job: placement.end for placement in _some(made, schedule, whole=False)}
    jobs = [job.replace(deadline=ends.get(job.id, job.deadline)) for job in made.instance.jobs]
    fixed = [_fixed(made.instance, one, "placements") for one in _some(made, schedule, whole=False)]
    limit = OBJECTIVES["makespan"].of_schedule(made.instance, schedule)
    keywords = {"fixed": fixed, "makespan_limit": limit, "start": schedule}
    _compare(made, "all at once", known, made.instance.replace(jobs=jobs), **keywords)


def _own(made: Trial, known: SolveResult, schedule: Schedule) -> None:
    """Compare with the objective under another name, or with a constraint object that the known schedule keeps."""
    within, placed = tolerance(made.instance), _some(made, schedule, whole=True)
    pairs = [(a.job, b.job) for a in placed for b in placed if a.job != b.job and a.end <= b.start + within]
    has_costs = made.triple.objective != "maximum-lateness"  # those of jobs without a due date are not finite
    if has_costs and (not pairs or made.rng.random() < 1.0 / 3.0):
        own = type("Own", (type(OBJECTIVES[made.triple.objective]),), {"name": "own"})()
        _compare(made, "an objective of the user's own", known, made.instance, objective=own)
        return
    kind = Precedence if rng_says(made) else Apart
    constraints = [kind(*pair) for pair in pairs[: int(made.rng.integers(1, 3))]]
    _compare(made, f"{constraints}", known, made.instance, constraints=constraints)


def _start(made: Trial, known: SolveResult, schedule: Schedule, *, whole: bool) -> None:
    start = schedule.replace(placements=_some(made, schedule, whole=whole))
    found = _compare(made, f"start of {len(start)} jobs", known, made.instance, start=start)
    if whole and found is not None and "left out" in found.message:
        made.fault("start", found.message)


def _makespan_limit(made: Trial, known: SolveResult, schedule: Schedule) -> None:
    limit = OBJECTIVES["makespan"].of_schedule(made.instance, schedule)
    _compare(made, "makespan_limit at the makespan", known, made.instance, makespan_limit=limit)


def _lexicographic(made: Trial) -> None:
    """Compare several objectives with the first alone, the last alone, and both on the clock 0."""
    name = made.triple.objective
    first, last = (name, "total-response-time") if name in MAXIMA else (MAXIMA[made.triple.number % 2], name)
    if made.rng.random() < 0.25:
        first, last = MAXIMA if made.rng.random() < 0.5 else MAXIMA[::-1]
    alone = made.solve(f"{first} alone", made.instance, objective=first)
    at_last = made.solve(f"{last} alone", made.instance, objective=last)
    before = made.solve("in order, at 0", made.base, objective=(first, last))
    found = made.solve("in order", made.instance, objective=(first, last))
    made.equal("in order", before, found, margin(made.instance, last))
    if found is None or alone is None or at_last is None or alone.schedule is None:
        return
    level, within = found.solved_levels[0], margin(made.instance, first)
    if level.value is None or alone.objective is None or found.objective is None:
        made.fault("feasibility", f"in order: {found.status}, but there is a schedule of {first} {alone.objective}")
        return
    if found.status == alone.status == SolveStatus.OPTIMAL and abs(level.value - alone.objective) > within:
        made.fault("optimum", f"in order: {first} is {level.value!r}, alone {alone.objective!r}")
    within = margin(made.instance, last)
    if at_last.lower_bound is not None and found.objective < at_last.lower_bound - within:
        made.fault("bound", f"in order: {last} is {found.objective!r}, below {at_last.lower_bound!r}")
    worth = OBJECTIVES[last].of_schedule(made.instance, alone.schedule)
    if found.status == alone.status == SolveStatus.OPTIMAL and found.objective > worth + within:
        made.fault("optimum", f"in order: {last} is {found.objective!r}, but {worth!r} in a schedule of {first} alone")


def _lower_bound(made: Trial, known: SolveResult, schedule: Schedule) -> None:
    if known.objective is None:
        return
    name, placements = made.triple.objective, _some(made, schedule, whole=rng_says(made))
    keywords: list[dict[str, Any]] = [{}]
    if name not in METERED:
        fixed = [_fixed(made.instance, placement, "placements") for placement in placements]
        keywords += [{"fixed": fixed}, {"method": "best"}, {"method": "best", "fixed": fixed}]
    for asked in keywords:
        what, limits = f"lower_bound({', '.join(asked)})", {"time_limit": made.limit, "scope": made.triple.scope}
        bound = made.asked(what, coalloc.lower_bound, made.instance, name, slot=made.slot, **limits, **asked)
        if bound is not None and bound > known.objective + margin(made.instance, name):
            made.fault("bound", f"{what}: at least {bound!r}, but {known.objective!r} is known")


def _replay(made: Trial, _: SolveResult, schedule: Schedule) -> None:
    within = tolerance(made.instance)
    kept = made.asked("replay", coalloc.replay, made.instance, schedule)
    left = made.asked("replay(starts='left')", coalloc.replay, made.instance, schedule, starts="left")
    for what, replayed in (("replay", kept), ("replay(starts='left')", left)):
        if replayed is None:
            continue
        made.valid(what, made.instance, replayed)
        for placement in schedule:
            other = replayed[placement.job]
            if made.slot is None and what == "replay" and abs(other.end - placement.end) > within:
                made.fault("replay", f"{placement.job} ends at {other.end!r}, not {placement.end!r}")
            if other.start > placement.start + within or other.end > placement.end + within:
                made.fault("replay", f"{what}: {placement.job} is later, at {other.start!r}, not {placement.start!r}")


TRANSFORMATIONS: Mapping[str, Callable[[Trial], object]] = {
    "shift": _shift,
    "permute": _permute,
    "scale": _scale,
    "fix-whole": _kept(_fix, whole=True),
    "fix-part": _kept(_fix, whole=False),
    "deadline-whole": _kept(_deadlines, whole=True),
    "deadline-part": _kept(_deadlines, whole=False),
    "start-whole": _kept(_start, whole=True),
    "start-part": _kept(_start, whole=False),
    "makespan-limit": _kept(_makespan_limit),
    "outages": _kept(_outages),
    "precedences": _kept(_precedences),
    "own": _kept(_own),
    "all-at-once": _kept(_all_at_once),
    "lexicographic": _lexicographic,
    "lower-bound": _kept(_lower_bound),
    "replay": _kept(_replay),
}
"""Transformations of the instance, or of its own schedule, on the clock of the triple."""

METERED_TRANSFORMATIONS: tuple[str, ...] = (
    "shift",
    "permute",
    "scale",
    "start-whole",
    "makespan-limit",
    "lower-bound",
    "replay",
)
"""Transformations for energy, which supports no fixed jobs, deadlines, incomplete warm starts and orders of priority.
"""


def selected(
    numbers: Iterable[int],
    transformations: Sequence[str] = (),
    shifts: Sequence[float] = (),
    objectives: Sequence[str] = (),
    times: Sequence[str] = (),
) -> list[Triple]:
    """Return the triples of some numbers that have one of these transformations, shifts and so on; none given: all."""
    return [
        one
        for one in map(triple, numbers)
        if (not transformations or one.transformation in transformations)
        and (not shifts or one.shift in shifts)
        and (not objectives or one.objective in objectives)
        and (not times or one.time in times)
    ]
