"""What restricts a schedule beyond processors and links: objects, each of which declares what it forbids.

Declarations are data: time bounds and node classes of single jobs, and rows that tie times of jobs. Searches, models,
CP-SAT and :meth:`Constraint.faults` read the same ones. Bounds of the problem without the constraint remain bounds with
it, for it only removes schedules. The checker does not ask: for what instances state it has rules of its own.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar, Literal, Protocol

from coalloc.display.wording import instant_text, plural
from coalloc.documents.text import quoted
from coalloc.instance import CoallocError, Instance, Job, Lag, RunningJob
from coalloc.instance.calendar import Calendar
from coalloc.instance.rounding import RELATIVE_TOLERANCE, capacity_limit
from coalloc.problem.allocation import NodeClass, node_classes

Times = Mapping[str, tuple[float, float]]
"""Start and end, s, of jobs by id."""


class PlacedJob(Protocol):
    """What :meth:`Constraint.faults` sees of a placement."""

    @property
    def job(self) -> str:
        """The id of the job."""

    @property
    def start(self) -> float:
        """Seconds."""

    @property
    def end(self) -> float:
        """Seconds."""

    @property
    def nodes(self) -> Sequence[str]:
        """Names of its processors."""


@dataclass(frozen=True, slots=True)
class NotTogether:
    """Row of a custom constraint: no two of these jobs run at the same time.

    Parameters
    ----------
    jobs : tuple of str
        Ids of the jobs.

    See Also
    --------
    coalloc.extend.Constraint : The base class whose ``rows`` return it.

    Examples
    --------
    >>> from coalloc.extend import NotTogether
    >>> NotTogether(("J1", "J2")).jobs
    ('J1', 'J2')
    """

    jobs: tuple[str, ...]

    def faults(self, placed: Mapping[str, PlacedJob], tolerance: float) -> Iterator[str]:
        """Yield a sentence for each pair of jobs that overlap by more than a tolerance, s."""
        for one, other in combinations(self.jobs, 2):
            if min(placed[one].end, placed[other].end) - max(placed[one].start, placed[other].start) > tolerance:
                yield f"jobs {quoted(one)} and {quoted(other)} run at the same time"


@dataclass(frozen=True, slots=True)
class TimeRow:
    """Row of a custom constraint: a start or an end, or the difference of two, is at least a number of seconds.

    Parameters
    ----------
    terms : tuple of (int, {"start", "end"}, str)
        One or two terms: a factor (1 or -1), which time, and the id of the job.
    least : float
        Lower bound on the sum of the terms, s.

    See Also
    --------
    coalloc.extend.Constraint : The base class whose ``rows`` return it.

    Notes
    -----
    With such rows every order of the jobs fits into the horizon of a model; see docs/mathematics.md, section
    "Horizons".

    Examples
    --------
    J2 starts at least 60 s after the end of J1:

    >>> from coalloc.extend import TimeRow
    >>> TimeRow(((1, "start", "J2"), (-1, "end", "J1")), 60.0).least
    60.0
    """

    terms: tuple[tuple[int, Literal["start", "end"], str], ...]
    least: float

    def __post_init__(self) -> None:
        """Refuse other factors."""
        factors = sorted(factor for factor, _, _ in self.terms)
        if factors not in ([1], [-1], [-1, 1]):
            raise CoallocError(
                "a TimeRow must hold one time, or the difference of two times (factors 1 and -1), got factors "
                f"{factors}"
            )

    def faults(self, placed: Mapping[str, PlacedJob], tolerance: float) -> Iterator[str]:
        """Yield a sentence if the sum is too small by more than a tolerance, s."""
        found = sum(factor * getattr(placed[job], which) for factor, which, job in self.terms)
        if found < self.least - tolerance:
            positive, *others = sorted(self.terms, reverse=True)
            factor, which, job = positive
            what = f"the {which} of job {quoted(job)}"
            if others:
                what += f" less the {others[0][1]} of job {quoted(others[0][2])}"
            compared = "at least" if factor > 0 else "at most"
            yield f"{what} is {factor * found:g} s, must be {compared} {factor * self.least:g} s"


@dataclass(frozen=True, slots=True)
class Cumulative:
    """Row of a custom constraint: the amounts of those of these jobs that run at a time sum to at most a capacity.

    Parameters
    ----------
    jobs : tuple of str
        Ids of the jobs, to schedule or running.
    amounts : tuple of float
        Amount of each job while it runs, at least 0. Empty: 1 each, so that the capacity is a number of jobs.
    capacity : float
        Largest sum at any time at which one of the jobs to schedule runs, in the unit of the amounts.

    See Also
    --------
    coalloc.extend.Constraint : The base class whose ``rows`` return it.
    coalloc.Limit : The same as a field of an instance.

    Examples
    --------
    At most two of three jobs run at a time:

    >>> from coalloc.extend import Cumulative
    >>> Cumulative(("J1", "J2", "J3"), capacity=2.0).each
    (1.0, 1.0, 1.0)
    """

    jobs: tuple[str, ...]
    amounts: tuple[float, ...] = ()
    capacity: float = 1.0

    def __post_init__(self) -> None:
        """Refuse amounts of another number, a job that stands twice, and numbers below 0."""
        if self.amounts and len(self.amounts) != len(self.jobs):
            numbers = f"{len(self.jobs)}, got {len(self.amounts)}"
            raise CoallocError(f"a Cumulative must have one amount per job, {numbers}")
        if len(set(self.jobs)) < len(self.jobs):
            raise CoallocError("a Cumulative must name each job once")
        if not all(0.0 <= number < math.inf for number in (*self.amounts, self.capacity)):
            raise CoallocError("the amounts and the capacity of a Cumulative must be finite and at least 0")

    @property
    def each(self) -> tuple[float, ...]:
        """The amount of each job."""
        return self.amounts or (1.0,) * len(self.jobs)

    def faults(self, placed: Mapping[str, PlacedJob], tolerance: float) -> Iterator[str]:
        """Yield a sentence for the first time at which placed jobs exceed the capacity, times being equal within s."""
        amounts = {job: amount for job, amount in zip(self.jobs, self.each, strict=True) if amount and job in placed}
        for time in sorted({placed[job].start for job in amounts}):
            active = [job for job in amounts if placed[job].start - tolerance <= time < placed[job].end - tolerance]
            total = math.fsum(amounts[job] for job in active)
            if total > capacity_limit(self.capacity) and not all(isinstance(placed[job], RunningJob) for job in active):
                listed = ", ".join(map(quoted, active))
                yield f"jobs {listed} take {total:g} at {instant_text(time)}, must be at most {self.capacity:g}"
                return


Row = NotTogether | TimeRow | Cumulative


@dataclass(frozen=True, slots=True)
class Budget:
    """Declaration of a custom constraint: the weights of the allocations of all jobs sum to at most a limit.

    Parameters
    ----------
    weight : callable
        Weight of an allocation, of a job and the tuple of its tasks in each cluster; asked once per job and tuple. A
        moldable job is given in the shape that it has.
    limit : float
        Largest sum, in the unit of the weights.

    See Also
    --------
    coalloc.extend.Constraint : The base class whose ``budget`` returns it.

    Examples
    --------
    At most three jobs are co-allocated:

    >>> from coalloc.extend import Budget
    >>> budget = Budget(lambda job, tasks: sum(count > 0 for count in tasks) > 1, 3)
    >>> budget.weight(None, (2, 0, 1))
    True
    """

    weight: Callable[[Job, tuple[int, ...]], float]
    limit: float

    def __post_init__(self) -> None:
        """Refuse a limit that is no number."""
        if not math.isfinite(self.limit):
            raise CoallocError(f"the limit of a Budget must be finite, got {self.limit:g}")

    @property
    def margin(self) -> float:
        """By how much rounding errors may exceed the limit."""
        return RELATIVE_TOLERANCE * max(1.0, abs(self.limit))


class Constraint:
    """Base class of custom constraints for ``coalloc.solve``.

    A subclass overrides the methods that apply; all times are in s. Searches and models read ``earliest_start``,
    ``latest_end``, ``is_eligible``, ``most_tasks``, ``has_shape``, ``allows``, ``calendar``, ``budget`` and ``rows``.
    Every schedule that is returned has passed ``faults``, which by default checks all of these but ``most_tasks``. If
    only ``faults`` is overridden, no search knows the constraint. Bounds of the problem without the constraint remain
    valid.

    See Also
    --------
    coalloc.solve : Solve an instance, with ``constraints=``.
    coalloc.check : Check a schedule, with ``constraints=``.

    Notes
    -----
    docs/extending.md describes the methods.

    Examples
    --------
    A job that may not start before a given time:

    >>> import coalloc
    >>> class NotBefore(coalloc.extend.Constraint):
    ...     def __init__(self, job, time):
    ...         self.job, self.time = job, time
    ...
    ...     def earliest_start(self, job):
    ...         return self.time if job.id == self.job else 0.0
    >>> late = NotBefore("J2", 300.0)
    >>> instance = coalloc.example("pas-figure-3.3")
    >>> coalloc.solve(instance, constraints=[late]).schedule["J2"].start
    300.0
    """

    holds_rounded_down: ClassVar[bool] = False
    """Whether the constraint still excludes only invalid schedules if durations and arrivals are rounded down to slots.

    Otherwise the lower bounds that round down leave it out.
    """

    def earliest_start(self, job: Job) -> float:
        """Return the earliest permitted start of a job, s."""
        return -math.inf

    def latest_end(self, job: Job) -> float:
        """Return the latest permitted end of a job, s."""
        return math.inf

    def is_eligible(self, job: Job, node_class: NodeClass) -> bool:
        """Return whether a job may have tasks on a class."""
        return True

    def most_tasks(self, job: Job, node_class: NodeClass) -> float:
        """Return the maximum number of tasks of a job on a class.

        Which nodes form a class depends on the whole instance, so ``faults`` does not know it: override both.
        """
        return math.inf

    def has_shape(self, job: Job, tasks: int) -> bool:
        """Return whether a moldable job may run in the mode with this number of tasks."""
        return True

    def allows(self, job: Job, tasks: tuple[int, ...]) -> bool:
        """Return whether a job may have these numbers of tasks in each cluster, shape ``(num_clusters,)``.

        It is asked once for each allocation, in each mode of a moldable job.
        """
        return True

    def calendar(self, job: Job) -> Calendar | None:
        """Return when a job may start: times that repeat. None: at any time."""
        return None

    def budget(self) -> Budget | None:
        """Return what the allocations of all jobs take together at most; None where they may take anything."""
        return None

    def separates(self) -> Iterable[Collection[int]]:
        """Return sets of nodes, by index, that the constraint distinguishes from all others.

        No node class then contains nodes of such a set together with others.
        """
        return ()

    def rows(self, instance: Instance) -> Iterable[Row]:
        """Return the constraint as rows of models, beyond the times and classes of single jobs."""
        return ()

    def faults(self, instance: Instance, schedule: Iterable[PlacedJob]) -> Iterable[str]:
        """Return a sentence for each way in which a schedule violates the constraint: its other methods, by default."""
        placed = {p.job: p for p in schedule}
        jobs = [job for job in instance.jobs if job.id in placed]
        yield from self._faults_of_jobs(instance, jobs, placed)
        if self.restricts_classes:
            yield from self._faults_of_classes(instance, jobs, placed)
        if self.restricts_spreads:
            yield from self._faults_of_spreads(instance, jobs, placed)
        yield from self._faults_of_budget(instance, jobs, placed)
        timed: dict[str, Any] = {run.job.id: run for run in instance.running} | placed
        for row in self.rows(instance):
            if timed.keys() >= set(jobs_of(row)):
                yield from row.faults(timed, instance.time_base.tolerance)

    def _faults_of_jobs(
        self, instance: Instance, jobs: Iterable[Job], placed: Mapping[str, PlacedJob]
    ) -> Iterator[str]:
        """Yield what violates the times and shapes of single jobs."""
        tolerance = instance.time_base.tolerance
        for job in jobs:
            start, end, name = placed[job.id].start, placed[job.id].end, quoted(job.id)
            earliest, latest = self.earliest_start(job), self.latest_end(job)
            if start < earliest - tolerance:
                yield f"job {name} starts at {instant_text(start)}, before {instant_text(earliest)}"
            calendar = self.calendar(job)
            if calendar is not None and not calendar.allows(start, tolerance):
                yield f"job {name} starts at {instant_text(start)}, which its calendar excludes"
            if end > latest + tolerance:
                yield f"job {name} ends at {instant_text(end)}, after {instant_text(latest)}"
            if not self.has_shape(job, len(placed[job.id].nodes)):
                tasks = plural(len(placed[job.id].nodes), "task")
                yield f"job {name} has {tasks}, which the constraint does not allow"

    def _faults_of_classes(
        self, instance: Instance, jobs: Iterable[Job], placed: Mapping[str, PlacedJob]
    ) -> Iterator[str]:
        """Yield what violates the node classes of single jobs."""
        platform = instance.platform
        classes = node_classes(platform, reserved=[*self.separates()])
        class_of = {processor: c for c in classes for processor in c.processors}
        for job in jobs:
            held = {class_of[platform.processor_index[name]].processors[0] for name in placed[job.id].nodes}
            for node_class in classes:
                if node_class.processors[0] in held and not self.is_eligible(job, node_class):
                    cluster = quoted(platform.clusters[node_class.cluster].name)
                    yield f"job {quoted(job.id)} has tasks on nodes of {cluster} that the constraint excludes"

    def _faults_of_spreads(
        self, instance: Instance, jobs: Iterable[Job], placed: Mapping[str, PlacedJob]
    ) -> Iterator[str]:
        """Yield what violates the numbers of tasks in each cluster."""
        for job in jobs:
            shape, tasks = _as_placed(instance, job, placed[job.id])
            if not self.allows(shape, tasks):
                yield f"job {quoted(job.id)} has {_listed(tasks)} tasks in the clusters, which the constraint excludes"

    def _faults_of_budget(
        self, instance: Instance, jobs: Iterable[Job], placed: Mapping[str, PlacedJob]
    ) -> Iterator[str]:
        """Yield that the allocations of all jobs take more than the budget."""
        budget = self.budget()
        if budget is not None:
            total = math.fsum(budget.weight(*_as_placed(instance, job, placed[job.id])) for job in jobs)
            if total > budget.limit + budget.margin:
                yield f"the allocations take {total:g} of a budget, must be at most {budget.limit:g}"

    def tells_apart_by(self, job: Job) -> Hashable:
        """Return a key: jobs with the same data and the same key are interchangeable for the constraint.

        The default is the id. Searches try only one order of interchangeable jobs.
        """
        return job.id

    @property
    def restricts_classes(self) -> bool:
        """Whether the constraint excludes some job from some class."""
        made = type(self)
        return (made.is_eligible, made.most_tasks) != (Constraint.is_eligible, Constraint.most_tasks)

    @property
    def restricts_spreads(self) -> bool:
        """Whether the constraint excludes some numbers of tasks in the clusters."""
        return type(self).allows is not Constraint.allows

    @property
    def couples(self) -> bool:
        """Whether the constraint has rows, which tie times of jobs to each other or fix them, calendars or a budget."""
        return type(self).rows is not Constraint.rows or self.has_calendars or self.has_budget

    @property
    def has_calendars(self) -> bool:
        """Whether the constraint excludes some times of starts that repeat."""
        return type(self).calendar is not Constraint.calendar

    @property
    def has_budget(self) -> bool:
        """Whether the constraint may have a budget."""
        return type(self).budget is not Constraint.budget


class Stated(Constraint):
    """A restriction that the instance states itself, and for which the checker has a rule.

    Rounding all times down to slots breaks none of them, unless it says so (docs/mathematics.md, "Slotting error").
    """

    holds_rounded_down: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class OfSomeJobs(Constraint):
    """A constraint as it applies to some jobs of the ``whole`` instance that it was made for.

    Its rows that name other jobs are left out, and its budget.
    """

    constraint: Constraint
    whole: Instance

    @property
    def restricts_classes(self) -> bool:
        """Whether the constraint does."""
        return self.constraint.restricts_classes

    def earliest_start(self, job: Job) -> float:
        """Return what the constraint does."""
        return self.constraint.earliest_start(job)

    def latest_end(self, job: Job) -> float:
        """Return what the constraint does."""
        return self.constraint.latest_end(job)

    def is_eligible(self, job: Job, node_class: NodeClass) -> bool:
        """Return what the constraint does."""
        return self.constraint.is_eligible(job, node_class)

    def most_tasks(self, job: Job, node_class: NodeClass) -> float:
        """Return what the constraint does."""
        return self.constraint.most_tasks(job, node_class)

    def has_shape(self, job: Job, tasks: int) -> bool:
        """Return what the constraint does."""
        return self.constraint.has_shape(job, tasks)

    @property
    def restricts_spreads(self) -> bool:
        """Whether the constraint does."""
        return self.constraint.restricts_spreads

    @property
    def has_calendars(self) -> bool:
        """Whether the constraint does."""
        return self.constraint.has_calendars

    def calendar(self, job: Job) -> Calendar | None:
        """Return what the constraint does."""
        return self.constraint.calendar(job)

    def allows(self, job: Job, tasks: tuple[int, ...]) -> bool:
        """Return what the constraint does."""
        return self.constraint.allows(job, tasks)

    def rows(self, instance: Instance) -> Iterator[Row]:
        """Yield the rows of the constraint that name only jobs of the given instance."""
        names = {job.id for job in instance.jobs}
        return (row for row in self.constraint.rows(self.whole) if names.issuperset(jobs_of(row)))

    def tells_apart_by(self, job: Job) -> Hashable:
        """Return what the constraint does."""
        return self.constraint.tells_apart_by(job)


@dataclass(frozen=True, slots=True)
class NotCumulative(OfSomeJobs):
    """A constraint but for its cumulative rows: the ``whole`` instance that it was made for states these by now."""

    def rows(self, instance: Instance) -> Iterator[Row]:
        """Yield the other rows of the constraint."""
        return (row for row in self.constraint.rows(self.whole) if not isinstance(row, Cumulative))

    @property
    def couples(self) -> bool:
        """Whether there are other rows, calendars or a budget."""
        return self.has_calendars or self.has_budget or any(True for _ in self.rows(self.whole))

    @property
    def has_budget(self) -> bool:
        """Whether the constraint does."""
        return self.constraint.has_budget

    def budget(self) -> Budget | None:
        """Return what the constraint does."""
        return self.constraint.budget()

    def separates(self) -> Iterable[Collection[int]]:
        """Return what the constraint does."""
        return self.constraint.separates()


def _listed(tasks: Sequence[int]) -> str:
    return ", ".join(map(str, tasks))


def _as_placed(instance: Instance, job: Job, placed: PlacedJob) -> tuple[Job, tuple[int, ...]]:
    """Return a job in the shape that it has where it is placed, and its tasks in each cluster."""
    platform = instance.platform
    nodes = (platform.processor_node[platform.processor_index[name]] for name in placed.nodes)
    held = Counter(platform.nodes[node].cluster for node in nodes)
    tasks = tuple(held[c] for c in range(len(platform.clusters)))
    return next((shape for shape in job.in_shapes if shape.tasks == sum(tasks)), job), tasks


def jobs_of(row: Row) -> tuple[str, ...]:
    """Return the ids of the jobs that a row names."""
    return row.jobs if isinstance(row, (NotTogether, Cumulative)) else tuple(job for _, _, job in row.terms)


def of_some_jobs(constraints: Iterable[Constraint], whole: Instance) -> tuple[Constraint, ...]:
    """Return the constraints of an instance for a problem that has some of its jobs only."""
    return tuple(c if isinstance(c, Stated) or not c.couples else OfSomeJobs(c, whole) for c in constraints)


@dataclass(frozen=True, slots=True)
class Release(Stated):
    """No job starts before its arrival."""

    def earliest_start(self, job: Job) -> float:
        """Return the arrival."""
        return job.arrival

    def tells_apart_by(self, job: Job) -> Hashable:
        """Return nothing: the earliest start is all that it asks for."""
        return None


@dataclass(frozen=True, slots=True)
class LatestEnd(Constraint):
    """No job ends after ``instant`` (s)."""

    holds_rounded_down: ClassVar[bool] = True
    instant: float

    def latest_end(self, job: Job) -> float:
        """Return the instant."""
        return self.instant

    def tells_apart_by(self, job: Job) -> Hashable:
        """Return nothing."""
        return None


@dataclass(frozen=True, slots=True)
class Deadlines(Stated):
    """Every job that has a deadline ends by it."""

    def latest_end(self, job: Job) -> float:
        """Return the deadline."""
        return math.inf if job.deadline is None else job.deadline

    def tells_apart_by(self, job: Job) -> Hashable:
        """Return nothing: the latest end is all that it asks for."""
        return None


@dataclass(frozen=True, slots=True)
class Precedences(Stated):
    """Every job starts when all that it comes ``after`` have ended; ``running`` are ends of running jobs (s), by id."""

    running: Times

    def earliest_start(self, job: Job) -> float:
        """Return when the last of the running jobs that it comes after has ended."""
        return max((self.running[other][1] for other in job.after if other in self.running), default=-math.inf)

    def rows(self, instance: Instance) -> Iterable[Row]:
        """Yield a start less an end, at least 0, for each pair."""
        for job in instance.jobs:
            for other in dict.fromkeys(job.after):
                if other not in self.running:
                    yield TimeRow(((1, "start", job.id), (-1, "end", other)), 0.0)


@dataclass(frozen=True, slots=True)
class Lags(Stated):
    """Every job keeps its lags, but for the :class:`LastLags`; ``running`` are times of running jobs (s), by id."""

    running: Times

    def earliest_start(self, job: Job) -> float:
        """Return when all minimal lags to running jobs are over."""
        known = (lag for lag in job.lags if lag.after in self.running)
        return max((_time_of(self.running, lag) + lag.min for lag in known), default=-math.inf)

    def rows(self, instance: Instance) -> Iterator[Row]:
        """Yield a row for each minimal lag, and for each maximal one from a start."""
        for job, lag in _lags_of(instance):
            if lag.after not in self.running:
                yield TimeRow(((1, "start", job.id), (-1, lag.from_, lag.after)), lag.min)
                if lag.max is not None and lag.from_ == "start":
                    yield TimeRow(((-1, "start", job.id), (1, "start", lag.after)), -lag.max)


@dataclass(frozen=True, slots=True)
class LastLags(Stated):
    """Every job keeps its maximal lags from ends, and to running jobs.

    Rounded down to slots, an end may be a slot earlier: the sum of a start and of a run time that are both cut.
    """

    holds_rounded_down: ClassVar[bool] = False
    running: Times

    def rows(self, instance: Instance) -> Iterator[Row]:
        """Yield a row for each such lag."""
        for job, lag in _lags_of(instance):
            if lag.max is not None and lag.after in self.running:
                yield TimeRow(((-1, "start", job.id),), -(_time_of(self.running, lag) + lag.max))
            elif lag.max is not None and lag.from_ == "end":
                yield TimeRow(((-1, "start", job.id), (1, "end", lag.after)), -lag.max)


def _lags_of(instance: Instance) -> Iterator[tuple[Job, Lag]]:
    """Yield each lag with its job."""
    return ((job, lag) for job in instance.jobs for lag in job.lags)


def _time_of(times: Times, lag: Lag) -> float:
    """Return the time from which a lag counts, s."""
    return times[lag.after][lag.from_ == "end"]


@dataclass(frozen=True, slots=True)
class Eligibility(Stated):
    """A job uses only the ``clusters`` (all by name) that it may use, and nodes with all that it requires."""

    clusters: tuple[str, ...]

    def is_eligible(self, job: Job, node_class: NodeClass) -> bool:
        """Return whether the class is of such a cluster, and has what the job requires."""
        return job.may_use(self.clusters[node_class.cluster], node_class.group)

    def tells_apart_by(self, job: Job) -> Hashable:
        """Return nothing: the classes are all that it asks for."""
        return None


def stated(instance: Instance) -> Iterator[Stated]:
    """Yield the restrictions that an instance states itself."""
    yield Release()
    if any(job.deadline is not None for job in instance.jobs):
        yield Deadlines()
    if any(job.after for job in instance.jobs):
        yield Precedences({run.job.id: (0.0, run.end) for run in instance.running})
    if any(job.lags for job in instance.jobs):
        times = {run.job.id: (run.start, run.end) for run in instance.running}
        yield Lags(times)
        if any(lag.max is not None for _, lag in _lags_of(instance)):
            yield LastLags(times)
    if any(job.is_choosy for job in instance.jobs):
        yield Eligibility(tuple(cluster.name for cluster in instance.platform.clusters))
