"""Constraints, and what they declare: a closed language of data that searches, models, bounds and checks read alike.

Declarations of one job bound its times, or say where its tasks may be; others tie the times of jobs, limit what jobs
take together while they run, or sum up their allocations. Bounds of the problem without a constraint remain bounds with
it, for it only removes schedules.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, cast

from coalloc.documents.errors import CoallocError
from coalloc.documents.text import quoted
from coalloc.documents.wording import instant_text, plural
from coalloc.instance.calendar import Calendar
from coalloc.instance.job import Job
from coalloc.instance.rounding import RELATIVE_TOLERANCE, capacity_limit

if TYPE_CHECKING:
    from coalloc.instance.instance import Instance

Tasks = tuple[int, ...]
"""Tasks of a job in each cluster, shape ``(num_clusters,)``."""


class PlacedJob(Protocol):
    """Attributes of a placement that constraints read."""

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


@dataclass(frozen=True)
class Placed:
    """Jobs of an instance as a schedule has them, by id; ``timed`` are the running jobs as well."""

    instance: Instance
    by_id: Mapping[str, PlacedJob]

    @cached_property
    def timed(self) -> Mapping[str, Any]:
        """All members that have a start and an end, s."""
        return {run.job.id: run for run in self.instance.running} | dict(self.by_id)

    @property
    def tolerance(self) -> float:
        """Seconds by which times may be off."""
        return self.instance.time_base.tolerance

    def nodes(self, job: str) -> Counter[int]:
        """Return the tasks of a job on each node, by index."""
        platform = self.instance.platform
        return Counter(platform.processor_node[platform.processor_index[name]] for name in self.by_id[job].nodes)

    def tasks(self, job: str) -> Tasks:
        """Return its tasks in each cluster."""
        platform = self.instance.platform
        held = Counter[int]()
        for node, tasks in self.nodes(job).items():
            held[platform.nodes[node].cluster] += tasks
        return tuple(held[c] for c in range(len(platform.clusters)))


class Constraint:
    """Base class of constraints for ``coalloc.solve``.

    Each declaration, such as ``coalloc.extend.NotTogether``, is a constraint by itself. A subclass of this class
    overrides ``declare``, which returns several of them: data that searches, models, bounds and CP-SAT read. Every
    schedule that is returned has passed ``faults``, which by default checks what is declared. If only ``faults`` is
    overridden, no search knows the constraint. Bounds of the problem without the constraint remain valid.

    See Also
    --------
    coalloc.solve : Solve an instance, with ``constraints=``.
    coalloc.check : Check a schedule, with ``constraints=``.

    Notes
    -----
    docs/extending.md lists the declarations.

    Examples
    --------
    A job that may not start before a given time:

    >>> import coalloc
    >>> class NotBefore(coalloc.extend.Constraint):
    ...     def __init__(self, job, time):
    ...         self.job, self.time = job, time
    ...
    ...     def declare(self, instance):
    ...         yield coalloc.extend.TimeBounds(self.job, earliest_start=self.time)
    >>> late = NotBefore("J2", 300.0)
    >>> instance = coalloc.example("pas-figure-3.3")
    >>> coalloc.solve(instance, constraints=[late]).schedule["J2"].start
    300.0
    """

    def declare(self, instance: Instance) -> Iterable[Declaration]:
        """Return what the constraint forbids in schedules of an instance, as declarations."""
        return ()

    def faults(self, instance: Instance, schedule: Iterable[PlacedJob]) -> Iterable[str]:
        """Return a sentence for each way in which a schedule violates the constraint; by default what it declares."""
        placed = Placed(instance, {p.job: p for p in schedule})
        for declared in self.declare(instance):
            tied = placed.timed if isinstance(declared, (NotTogether, TimeRow, Cumulative)) else placed.by_id
            if tied.keys() >= {*declared.jobs}:
                yield from declared.broken(placed)

    @property
    def is_declared(self) -> bool:
        """Whether its faults forbid no more than it declares: otherwise schedules found may be refused."""
        return type(self).faults is Constraint.faults


class Single(Constraint):
    """A constraint that is one declaration.

    Each has ``jobs``, the ids that it names, ``broken``, which yields a sentence for each fault of placed jobs, and
    ``holds_rounded_down``: whether a schedule that keeps it does so with all times, its own too, rounded down to slots.
    """

    __slots__ = ()

    def declare(self, instance: Instance) -> Iterable[Declaration]:
        """Return the constraint itself."""
        return (cast(Declaration, self),)


@dataclass(frozen=True, slots=True)
class OfOneJob(Single):
    """A declaration about one job."""

    holds_rounded_down: ClassVar[bool] = True
    job: str

    @property
    def jobs(self) -> tuple[str, ...]:
        """The jobs that it names."""
        return (self.job,)


@dataclass(frozen=True, slots=True)
class TimeBounds(OfOneJob):
    """Declaration: bounds on the start and the end of a job.

    Parameters
    ----------
    job : str
        Id of the job.
    earliest_start : float, default -inf
        Earliest permitted start, s.
    latest_start : float, default inf
        Latest permitted start, s.
    latest_end : float, default inf
        Latest permitted end, s.

    See Also
    --------
    coalloc.extend.Constraint : The base class, whose ``declare`` returns several.

    Examples
    --------
    >>> from coalloc.extend import TimeBounds
    >>> TimeBounds("J1", latest_end=600.0).earliest_start
    -inf
    """

    earliest_start: float = -math.inf
    latest_start: float = math.inf
    latest_end: float = math.inf

    def __post_init__(self) -> None:
        """Refuse what is no number."""
        if any(map(math.isnan, (self.earliest_start, self.latest_start, self.latest_end))):
            raise CoallocError(f"TimeBounds of job {quoted(self.job)} must be numbers, got nan")

    def broken(self, placed: Placed) -> Iterator[str]:
        """Yield a sentence for each bound that is not kept."""
        start, end = placed.by_id[self.job].start, placed.by_id[self.job].end
        name, slack = quoted(self.job), placed.tolerance
        if start < self.earliest_start - slack:
            yield f"job {name} starts at {instant_text(start)}, before {instant_text(self.earliest_start)}"
        if start > self.latest_start + slack:
            yield f"job {name} starts at {instant_text(start)}, after {instant_text(self.latest_start)}"
        if end > self.latest_end + slack:
            yield f"job {name} ends at {instant_text(end)}, after {instant_text(self.latest_end)}"


@dataclass(frozen=True, slots=True)
class AllowedStarts(OfOneJob):
    """Declaration: a job starts at times that repeat, such as every full hour or on working days.

    Parameters
    ----------
    job : str
        Id of the job.
    calendar : Calendar
        The times.

    See Also
    --------
    coalloc.extend.Constraint : The base class, whose ``declare`` returns several.

    Examples
    --------
    >>> from coalloc.extend import AllowedStarts, Calendar
    >>> AllowedStarts("J1", Calendar(3600.0)).calendar.period
    3600.0
    """

    holds_rounded_down: ClassVar[bool] = False
    calendar: Calendar

    def broken(self, placed: Placed) -> Iterator[str]:
        """Yield a sentence where the start is not allowed."""
        start = placed.by_id[self.job].start
        if not self.calendar.allows(start, placed.tolerance):
            yield f"job {quoted(self.job)} starts at {instant_text(start)}, which its calendar excludes"


@dataclass(frozen=True, slots=True)
class AllowedNodes(OfOneJob):
    """Declaration: a job has tasks on some nodes only.

    Parameters
    ----------
    job : str
        Id of the job.
    nodes : collection of int
        Indices of the nodes in ``instance.platform.nodes``.

    See Also
    --------
    coalloc.extend.Constraint : The base class, whose ``declare`` returns several.

    Examples
    --------
    The nodes of the first cluster:

    >>> import coalloc
    >>> from coalloc.extend import AllowedNodes
    >>> platform = coalloc.example("pas-figure-3.3").platform
    >>> first = [n for n, node in enumerate(platform.nodes) if node.cluster == 0]
    >>> AllowedNodes("J1", first).nodes
    [0, 1]
    """

    nodes: Collection[int]

    def broken(self, placed: Placed) -> Iterator[str]:
        """Yield a sentence for each cluster in which the job has tasks on other nodes."""
        platform = placed.instance.platform
        others = {platform.nodes[node].cluster for node in placed.nodes(self.job) if node not in self.nodes}
        for cluster in sorted(others):
            name = quoted(platform.clusters[cluster].name)
            yield f"job {quoted(self.job)} has tasks on nodes of {name} that the constraint excludes"


@dataclass(frozen=True, slots=True)
class MostTasks(OfOneJob):
    """Declaration: a job has at most a number of tasks on some nodes of one cluster and one description.

    Parameters
    ----------
    job : str
        Id of the job.
    nodes : collection of int
        Indices of the nodes in ``instance.platform.nodes``.
    most : int
        Largest number of tasks of the job on them.

    See Also
    --------
    coalloc.extend.Constraint : The base class, whose ``declare`` returns several.

    Examples
    --------
    >>> from coalloc.extend import MostTasks
    >>> MostTasks("J1", [0, 1], 1).most
    1
    """

    nodes: Collection[int]
    most: int

    def __post_init__(self) -> None:
        """Refuse a number below 0."""
        if self.most < 0:
            raise CoallocError(f"the number of MostTasks must be at least 0, got {self.most}")

    def broken(self, placed: Placed) -> Iterator[str]:
        """Yield a sentence where there are more."""
        held = sum(tasks for node, tasks in placed.nodes(self.job).items() if node in self.nodes)
        if held > self.most:
            yield f"job {quoted(self.job)} has {plural(held, 'task')} on nodes where the constraint allows {self.most}"


@dataclass(frozen=True, slots=True)
class AllowedShapes(OfOneJob):
    """Declaration: a moldable job runs with some numbers of tasks only.

    Parameters
    ----------
    job : str
        Id of the job.
    tasks : collection of int
        The numbers of tasks.

    See Also
    --------
    coalloc.extend.Constraint : The base class, whose ``declare`` returns several.

    Examples
    --------
    >>> from coalloc.extend import AllowedShapes
    >>> AllowedShapes("J1", {2, 4}).tasks == {2, 4}
    True
    """

    tasks: Collection[int]

    def broken(self, placed: Placed) -> Iterator[str]:
        """Yield a sentence where the job has another number of tasks."""
        tasks = len(placed.by_id[self.job].nodes)
        if tasks not in self.tasks:
            yield f"job {quoted(self.job)} has {plural(tasks, 'task')}, which the constraint does not allow"


@dataclass(frozen=True, slots=True)
class AllowedSpreads(OfOneJob):
    """Declaration: a predicate over the numbers of tasks that a job has in each cluster.

    Parameters
    ----------
    job : str
        Id of the job.
    allows : callable
        Whether the job may have these tasks, a tuple with one number per cluster; asked once for each.

    See Also
    --------
    coalloc.extend.Constraint : The base class, whose ``declare`` returns several.

    Examples
    --------
    At most two tasks in any cluster:

    >>> from coalloc.extend import AllowedSpreads
    >>> AllowedSpreads("J1", lambda tasks: max(tasks) <= 2).allows((2, 1))
    True
    """

    allows: Callable[[Tasks], bool]

    def broken(self, placed: Placed) -> Iterator[str]:
        """Yield a sentence where the job has numbers of tasks that are not allowed."""
        tasks = placed.tasks(self.job)
        if not self.allows(tasks):
            listed = ", ".join(map(str, tasks))
            yield f"job {quoted(self.job)} has {listed} tasks in the clusters, which the constraint excludes"


@dataclass(frozen=True, slots=True)
class NotTogether(Single):
    """Declaration: no two of these jobs run at the same time.

    Parameters
    ----------
    jobs : tuple of str
        Ids of the jobs.

    See Also
    --------
    coalloc.extend.Constraint : The base class, whose ``declare`` returns several.

    Examples
    --------
    >>> from coalloc.extend import NotTogether
    >>> NotTogether(("J1", "J2")).jobs
    ('J1', 'J2')
    """

    holds_rounded_down: ClassVar[bool] = True
    jobs: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse a job that stands twice."""
        _refuse_repeated(self.jobs, "a NotTogether")

    def broken(self, placed: Placed) -> Iterator[str]:
        """Yield a sentence for each pair of jobs that overlap by more than the tolerance of times."""
        timed = placed.timed
        for one, other in combinations(self.jobs, 2):
            if min(timed[one].end, timed[other].end) - max(timed[one].start, timed[other].start) > placed.tolerance:
                yield f"jobs {quoted(one)} and {quoted(other)} run at the same time"


@dataclass(frozen=True, slots=True)
class TimeRow(Single):
    """Declaration: a start or an end, or the difference of two, is at least a number of seconds.

    Parameters
    ----------
    terms : tuple of (int, {"start", "end"}, str)
        One or two terms: a factor (1 or -1), which time, and the id of the job.
    least : float
        Lower bound on the sum of the terms, s.

    See Also
    --------
    coalloc.extend.Constraint : The base class, whose ``declare`` returns several.

    Notes
    -----
    With such rows every order of the jobs fits into the horizon of a model; see docs/mathematics/execution-model.md,
    "Horizons".

    Examples
    --------
    J2 starts at least 60 s after the end of J1:

    >>> from coalloc.extend import TimeRow
    >>> TimeRow(((1, "start", "J2"), (-1, "end", "J1")), 60.0).least
    60.0
    """

    holds_rounded_down: ClassVar[bool] = True
    terms: tuple[tuple[int, Literal["start", "end"], str], ...]
    least: float

    @property
    def jobs(self) -> tuple[str, ...]:
        """The jobs that it names."""
        return tuple(job for _, _, job in self.terms)

    @property
    def asks_for_late_ends(self) -> bool:
        """Whether an end has to be late: the sum of a start and a run time that are rounded down may be a slot less."""
        return (1, "end") in [(factor, which) for factor, which, _ in self.terms]

    @property
    def is_precedence(self) -> bool:
        """Whether it says that one job starts when another has ended, and no more."""
        return self.least == 0.0 and [term[:2] for term in sorted(self.terms)] == [(-1, "end"), (1, "start")]

    @property
    def is_wait(self) -> bool:
        """Whether it says that a job waits for the start or the end of another, and by a least time only."""
        late = [which for factor, which, _ in self.terms if factor > 0]
        return self.least >= 0.0 and len(self.terms) == 2 and late == ["start"]

    def __post_init__(self) -> None:
        """Refuse other factors."""
        factors = sorted(factor for factor, _, _ in self.terms)
        if factors not in ([1], [-1], [-1, 1]):
            raise CoallocError(
                "a TimeRow must hold one time, or the difference of two times (factors 1 and -1), got factors "
                f"{factors}"
            )

    def broken(self, placed: Placed) -> Iterator[str]:
        """Yield a sentence if the sum is too small by more than the tolerance of times."""
        found = sum(factor * getattr(placed.timed[job], which) for factor, which, job in self.terms)
        if found < self.least - placed.tolerance:
            positive, *others = sorted(self.terms, reverse=True)
            factor, which, job = positive
            what = f"the {which} of job {quoted(job)}"
            if others:
                what += f" less the {others[0][1]} of job {quoted(others[0][2])}"
            compared = "at least" if factor > 0 else "at most"
            yield f"{what} is {factor * found:g} s, must be {compared} {factor * self.least:g} s"


@dataclass(frozen=True, slots=True)
class Cumulative(Single):
    """Declaration: the amounts of those of these jobs that run at a time sum to at most a capacity.

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
    coalloc.extend.Constraint : The base class, whose ``declare`` returns several.
    coalloc.Limit : The same as a field of an instance.

    Examples
    --------
    At most two of three jobs run at a time:

    >>> from coalloc.extend import Cumulative
    >>> Cumulative(("J1", "J2", "J3"), capacity=2.0).each
    (1.0, 1.0, 1.0)
    """

    holds_rounded_down: ClassVar[bool] = True
    jobs: tuple[str, ...]
    amounts: tuple[float, ...] = ()
    capacity: float = 1.0

    def __post_init__(self) -> None:
        """Refuse amounts of another number, a job that stands twice, and numbers below 0."""
        if self.amounts and len(self.amounts) != len(self.jobs):
            numbers = f"{len(self.jobs)}, got {len(self.amounts)}"
            raise CoallocError(f"a Cumulative must have one amount per job, {numbers}")
        _refuse_repeated(self.jobs, "a Cumulative")
        if not all(0.0 <= number < math.inf for number in (*self.amounts, self.capacity)):
            raise CoallocError("the amounts and the capacity of a Cumulative must be finite and at least 0")

    @property
    def each(self) -> tuple[float, ...]:
        """The amount of each job."""
        return self.amounts or (1.0,) * len(self.jobs)

    def broken(self, placed: Placed) -> Iterator[str]:
        """Yield a sentence for the first time at which placed jobs exceed the capacity."""
        timed, slack = placed.timed, placed.tolerance
        amounts = {job: amount for job, amount in zip(self.jobs, self.each, strict=True) if amount and job in timed}
        for time in sorted({timed[job].start for job in amounts}):
            active = [job for job in amounts if timed[job].start - slack <= time < timed[job].end - slack]
            total = math.fsum(amounts[job] for job in active)
            if total > capacity_limit(self.capacity) and not placed.by_id.keys().isdisjoint(active):
                listed = ", ".join(map(quoted, active))
                yield f"jobs {listed} take {total:g} at {instant_text(time)}, must be at most {self.capacity:g}"
                return


@dataclass(frozen=True, slots=True)
class OfClusters(Single):
    """A declaration about the clusters of several jobs."""

    holds_rounded_down: ClassVar[bool] = True
    jobs: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse a job that stands twice."""
        _refuse_repeated(self.jobs, f"a {type(self).__name__}")

    def by_cluster(self, placed: Placed) -> dict[str, list[str]]:
        """Return the jobs that have tasks in each cluster that they use, all by name as messages have them."""
        tasks = {job: placed.tasks(job) for job in self.jobs}
        inside = {
            quoted(cluster.name): [quoted(job) for job in self.jobs if tasks[job][c]]
            for c, cluster in enumerate(placed.instance.platform.clusters)
        }
        return {name: jobs for name, jobs in inside.items() if jobs}


@dataclass(frozen=True, slots=True)
class SameCluster(OfClusters):
    """Declaration: all tasks of all these jobs are in one cluster.

    Parameters
    ----------
    jobs : tuple of str
        Ids of the jobs.

    See Also
    --------
    coalloc.extend.Constraint : The base class, whose ``declare`` returns several.

    Examples
    --------
    >>> from coalloc.extend import SameCluster
    >>> SameCluster(("J1", "J2")).jobs
    ('J1', 'J2')
    """

    def broken(self, placed: Placed) -> Iterator[str]:
        """Yield a sentence where they have tasks in several."""
        used = self.by_cluster(placed)
        if len(used) > 1:
            yield f"jobs {', '.join(map(quoted, self.jobs))} must be in one cluster, but use {', '.join(used)}"


@dataclass(frozen=True, slots=True)
class DifferentClusters(OfClusters):
    """Declaration: no cluster has tasks of two of these jobs, even at different times.

    Parameters
    ----------
    jobs : tuple of str
        Ids of the jobs.

    See Also
    --------
    coalloc.extend.Constraint : The base class, whose ``declare`` returns several.

    Examples
    --------
    >>> from coalloc.extend import DifferentClusters
    >>> DifferentClusters(("J1", "J2")).jobs
    ('J1', 'J2')
    """

    def broken(self, placed: Placed) -> Iterator[str]:
        """Yield a sentence for each cluster that several of them use."""
        for cluster, jobs in self.by_cluster(placed).items():
            if len(jobs) > 1:
                yield f"jobs {', '.join(jobs)} must be in different clusters, but have tasks in {cluster}"


def _refuse_repeated(jobs: Sequence[str], what: str) -> None:
    if len(set(jobs)) < len(jobs):
        raise CoallocError(f"{what} must name each job once")


@dataclass(frozen=True, slots=True)
class Budget(Single):
    """Declaration: the weights of the allocations of all jobs sum to at most a limit.

    Parameters
    ----------
    weight : callable
        Weight of an allocation, of a job and the tuple of its tasks in each cluster; asked once per job and tuple. A
        moldable job is given in the shape that it has.
    limit : float
        Largest sum, in the unit of the weights.

    See Also
    --------
    coalloc.extend.Constraint : The base class, whose ``declare`` returns several.

    Examples
    --------
    At most three jobs are co-allocated:

    >>> from coalloc.extend import Budget
    >>> budget = Budget(lambda job, tasks: sum(count > 0 for count in tasks) > 1, 3)
    >>> budget.weight(None, (2, 0, 1))
    True
    """

    holds_rounded_down: ClassVar[bool] = True
    jobs: ClassVar[tuple[str, ...]] = ()
    weight: Callable[[Job, Tasks], float]
    limit: float

    def __post_init__(self) -> None:
        """Refuse a limit that is no number."""
        if not math.isfinite(self.limit):
            raise CoallocError(f"the limit of a Budget must be finite, got {self.limit:g}")

    @property
    def margin(self) -> float:
        """By how much rounding errors may exceed the limit."""
        return RELATIVE_TOLERANCE * max(1.0, abs(self.limit))

    def broken(self, placed: Placed) -> Iterator[str]:
        """Yield a sentence where the allocations of the jobs take more."""
        taken = []
        for job in (job for job in placed.instance.jobs if job.id in placed.by_id):
            tasks = placed.tasks(job.id)
            taken.append(self.weight(next((s for s in job.in_shapes if s.tasks == sum(tasks)), job), tasks))
        total = math.fsum(taken)
        if total > self.limit + self.margin:
            yield f"the allocations take {total:g} of a budget, must be at most {self.limit:g}"


Declaration = (
    TimeBounds
    | AllowedStarts
    | AllowedNodes
    | MostTasks
    | AllowedShapes
    | AllowedSpreads
    | NotTogether
    | TimeRow
    | Cumulative
    | SameCluster
    | DifferentClusters
    | Budget
)
"""All declarations of the language."""


@dataclass(frozen=True, slots=True)
class LatestEnd(Constraint):
    """No job ends after ``instant`` (s)."""

    instant: float

    def declare(self, instance: Instance) -> Iterator[Declaration]:
        """Yield a bound for each job."""
        return (TimeBounds(job.id, latest_end=self.instant) for job in instance.jobs)


@dataclass(frozen=True, slots=True)
class Kept(Constraint):
    """Rest of a constraint of ``num_jobs`` jobs: ``declared``, but no budget in a part of its instance."""

    constraint: Constraint
    declared: tuple[Declaration, ...]
    num_jobs: int

    def declare(self, instance: Instance) -> Iterable[Declaration]:
        """Return what is left."""
        is_whole = len(instance.jobs) == self.num_jobs
        return self.declared if is_whole else [one for one in self.declared if not isinstance(one, Budget)]

    @property
    def is_declared(self) -> bool:
        """Whether its faults forbid no more than it declares."""
        return self.constraint.is_declared


def name_of(constraint: Constraint) -> str:
    """Return what messages call a constraint."""
    return type(constraint.constraint if isinstance(constraint, Kept) else constraint).__name__
