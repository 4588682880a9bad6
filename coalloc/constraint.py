"""What restricts a schedule beyond processors and links: objects, each of which says what it forbids.

A search asks from when on and until when a job may run, on which classes, and where the next start is that nothing
forbids beside the jobs that are placed. Models ask for rows, in a small vocabulary that every back-end speaks. Bounds
of the problem without the constraint stay bounds with it, for it only takes schedules away. The checker does not ask:
what the house itself knows is checked by a rule of its own, and a constraint of the user's own by :meth:`faults`.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Protocol

from coalloc.allocation import NodeClass
from coalloc.display.wording import instant_text
from coalloc.documents.text import quoted
from coalloc.instance import CoallocError, Instance, Job

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


Row = NotTogether | TimeRow


class Constraint:
    """Base class of custom constraints for ``coalloc.solve``.

    A subclass overrides the methods that apply; all times are in s. Searches use ``earliest_start``, ``latest_end``,
    ``next_start``, ``is_eligible``, ``most_tasks`` and ``has_shape``; models use ``rows``; every schedule that is
    returned has passed ``faults``. Bounds of the problem without the constraint remain valid.

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
    ...
    ...     def faults(self, instance, schedule):
    ...         if schedule[self.job].start < self.time:
    ...             yield f"{self.job} starts before {self.time:g} s"
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
        """Return the maximum number of tasks of a job on a class."""
        return math.inf

    def has_shape(self, job: Job, tasks: int) -> bool:
        """Return whether a moldable job may run in the mode with this number of tasks."""
        return True

    def separates(self) -> Iterable[Collection[int]]:
        """Return sets of nodes, by index, that the constraint distinguishes from all others.

        No node class then contains nodes of such a set together with others.
        """
        return ()

    def next_start(self, job: Job, start: float, end: float, placed: Times) -> float:
        """Return the first permitted start from ``start`` on of a job that would run until ``end``.

        ``placed`` are the intervals of the other jobs. Return infinity if no start is permitted before another job is
        placed.
        """
        return start

    def rows(self, instance: Instance) -> Iterable[Row]:
        """Return the constraint as rows of models, beyond the times and classes of single jobs."""
        return ()

    def faults(self, instance: Instance, schedule: Iterable[PlacedJob]) -> Iterable[str]:
        """Return a sentence for each way in which a schedule violates the constraint."""
        return ()

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
    def couples(self) -> bool:
        """Whether the constraint makes the times of a job depend on other jobs, for searches or models.

        Anything else, beyond the times and classes of single jobs, is known from ``faults`` alone.
        """
        made = type(self)
        return (made.next_start, made.rows) != (Constraint.next_start, Constraint.rows)


class Stated(Constraint):
    """A restriction that the instance states itself, and for which the checker has a rule.

    None of them is broken by rounding all times down to slots (docs/mathematics.md, "Slotting error").
    """

    holds_rounded_down: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class OfSomeJobs(Constraint):
    """A constraint as it applies to some jobs of the ``whole`` instance that it was made for.

    It is only asked about the whole instance, and its rows that name other jobs are left out.
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

    def next_start(self, job: Job, start: float, end: float, placed: Times) -> float:
        """Return ``start``: jobs that are not there may be what the constraint waits for."""
        return start

    def rows(self, instance: Instance) -> Iterator[Row]:
        """Yield the rows of the constraint that name only jobs of the given instance."""
        names = {job.id for job in instance.jobs}
        return (row for row in self.constraint.rows(self.whole) if names.issuperset(jobs_of(row)))

    def tells_apart_by(self, job: Job) -> Hashable:
        """Return what the constraint does."""
        return self.constraint.tells_apart_by(job)


def jobs_of(row: Row) -> tuple[str, ...]:
    """Return the ids of the jobs that a row names."""
    return row.jobs if isinstance(row, NotTogether) else tuple(job for _, _, job in row.terms)


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

    def faults(self, instance: Instance, schedule: Iterable[PlacedJob]) -> Iterable[str]:
        """Yield a sentence for each job that ends later."""
        latest = self.instant + instance.time_base.tolerance
        return (
            f"job {quoted(p.job)} ends at {instant_text(p.end)}, after {instant_text(self.instant)}"
            for p in schedule
            if p.end > latest
        )


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

    def next_start(self, job: Job, start: float, end: float, placed: Times) -> float:
        """Return when all others that it comes after have ended; none as long as one of them has no place."""
        if not job.after:
            return start
        others = [other for other in job.after if other not in self.running]
        return max([start, *(placed[other][1] if other in placed else math.inf for other in others)])

    def rows(self, instance: Instance) -> Iterable[Row]:
        """Yield a start less an end, at least 0, for each pair."""
        for job in instance.jobs:
            for other in dict.fromkeys(job.after):
                if other not in self.running:
                    yield TimeRow(((1, "start", job.id), (-1, "end", other)), 0.0)


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
    if any(job.is_choosy for job in instance.jobs):
        yield Eligibility(tuple(cluster.name for cluster in instance.platform.clusters))
