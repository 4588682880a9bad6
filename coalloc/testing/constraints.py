"""Constraints for tests: precedence, lags, two jobs apart, latest ends, clusters that jobs avoid, share or divide.

:func:`small_declarations` draws plain declarations, of any jobs.

Each says the same twice: as declarations for methods, and independently as faults of schedules, for brute force.
:func:`small_constraint` draws one for a small instance; some make it infeasible. For all that it draws an optimal
schedule exists in which every job starts at its arrival or at the end of another, as brute force asks for; for a
:class:`TimeLag` brute force needs a horizon.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Literal, get_args

import numpy as np

from coalloc.instance import Instance, Job
from coalloc.instance.calendar import Calendar
from coalloc.instance.constraints import (
    AllowedNodes,
    AllowedSpreads,
    AllowedStarts,
    Budget,
    Constraint,
    Cumulative,
    Declaration,
    DifferentClusters,
    MostTasks,
    NotTogether,
    PlacedJob,
    SameCluster,
    TimeBounds,
    TimeRow,
)
from coalloc.problem.execution import execution_time

SLACK = 1e-6
"""Seconds by which a schedule may break a constraint on times."""

Time = tuple[Literal["start", "end"], str]
"""A time of a job by id."""

Kind = Literal["precedence", "apart", "latest end", "not on cluster", "same cluster", "different clusters"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""Kinds of constraints that :func:`small_constraint` samples."""


@dataclass(frozen=True, slots=True)
class Precedence(Constraint):
    """A job starts when another has ended, or later."""

    before: str
    after: str

    def declare(self, instance: Instance) -> Iterable[Declaration]:
        """Yield start less end, at least 0."""
        yield TimeRow(((1, "start", self.after), (-1, "end", self.before)), 0.0)

    def faults(self, instance: Instance, schedule: Iterable[PlacedJob]) -> Iterable[str]:
        """Yield a sentence where the one starts too early."""
        placed = {p.job: p for p in schedule}
        if placed[self.after].start < placed[self.before].end - SLACK:
            yield f"{self.after} starts before {self.before} ends"


@dataclass(frozen=True, slots=True)
class TimeLag(Constraint):
    """A time of one job is at least ``least`` (s) after a time of another, or before it where that is negative.

    Each time is a start or an end of a job, by id; of one and the same job they say how long it takes at least.
    """

    later: Time
    earlier: Time
    least: float

    def declare(self, instance: Instance) -> Iterable[Declaration]:
        """Yield the one time less the other."""
        yield TimeRow(((1, *self.later), (-1, *self.earlier)), self.least)

    def faults(self, instance: Instance, schedule: Iterable[PlacedJob]) -> Iterable[str]:
        """Yield a sentence where the lag is too short."""
        lag = self._lag({p.job: (p.start, p.end) for p in schedule})
        if lag < self.least - SLACK:
            yield f"the {' of '.join(self.later)} is {lag:g} s after the {' of '.join(self.earlier)}"

    def _lag(self, spans: Mapping[str, tuple[float, float]]) -> float:
        return spans[self.later[1]][self.later[0] == "end"] - spans[self.earlier[1]][self.earlier[0] == "end"]


@dataclass(frozen=True, slots=True)
class Spend(Constraint):
    """Jobs cost their weight (by id) for each cluster that they use beyond the first, and a price for each task there.

    ``prices`` has one per cluster; all together cost at most a limit.
    """

    weights: Mapping[str, float]
    prices: tuple[float, ...]
    limit: float

    def declare(self, instance: Instance) -> Iterable[Declaration]:
        """Yield the limit."""
        yield Budget(self._cost, self.limit)

    def _cost(self, job: Job, tasks: Sequence[int]) -> float:
        more = len([count for count in tasks if count]) - 1
        return self.weights[job.id] * more + sum(p * count for p, count in zip(self.prices, tasks, strict=True))

    def faults(self, instance: Instance, schedule: Iterable[PlacedJob]) -> Iterable[str]:
        """Yield a sentence where they cost more, counted from the names of processors."""
        names, total = [cluster.name for cluster in instance.platform.clusters], 0.0
        for placed in schedule:
            used = [node.rsplit("/", 1)[0].split("/")[0] for node in placed.nodes]
            total += self.weights[placed.job] * (len(set(used)) - 1)
            total += sum(self.prices[names.index(name)] for name in used)
        if total > self.limit + SLACK:
            yield f"all jobs cost {total:g}"


@dataclass(frozen=True, slots=True)
class Apart(Constraint):
    """Two jobs do not run at the same time."""

    one: str
    other: str

    def declare(self, instance: Instance) -> Iterable[Declaration]:
        """Yield the row that says so."""
        yield NotTogether((self.one, self.other))

    def faults(self, instance: Instance, schedule: Iterable[PlacedJob]) -> Iterable[str]:
        """Yield a sentence where they overlap."""
        placed = {p.job: p for p in schedule}
        one, other = placed[self.one], placed[self.other]
        if one.start < other.end - SLACK and other.start < one.end - SLACK:
            yield f"{self.one} and {self.other} run at the same time"


@dataclass(frozen=True, slots=True)
class EndBy(Constraint):
    """One job ends by an instant, s."""

    job: str
    instant: float

    def declare(self, instance: Instance) -> Iterable[Declaration]:
        """Yield the instant, for that job."""
        yield TimeBounds(self.job, latest_end=self.instant)

    def faults(self, instance: Instance, schedule: Iterable[PlacedJob]) -> Iterable[str]:
        """Yield a sentence where it ends later."""
        for placement in schedule:
            if placement.job == self.job and placement.end > self.instant + SLACK:
                yield f"{self.job} ends after {self.instant:g} s"


@dataclass(frozen=True, slots=True)
class NotOnCluster(Constraint):
    """One job has no task in a cluster, by index."""

    job: str
    cluster: int

    def declare(self, instance: Instance) -> Iterable[Declaration]:
        """Yield the nodes of the other clusters."""
        others = (n for n, node in enumerate(instance.platform.nodes) if node.cluster != self.cluster)
        yield AllowedNodes(self.job, frozenset(others))

    def faults(self, instance: Instance, schedule: Iterable[PlacedJob]) -> Iterable[str]:
        """Yield a sentence where it has a task there."""
        name = instance.platform.clusters[self.cluster].name
        for placement in schedule:
            if placement.job == self.job and any(node.startswith(f"{name}/") for node in placement.nodes):
                yield f"{self.job} has tasks in {name}"


@dataclass(frozen=True, slots=True)
class InClusters(Constraint):
    """Jobs are all in one cluster (``is_same``), or each in clusters that no other of them uses."""

    jobs: tuple[str, ...]
    is_same: bool

    def declare(self, instance: Instance) -> Iterable[Declaration]:
        """Yield which of the two."""
        yield SameCluster(self.jobs) if self.is_same else DifferentClusters(self.jobs)

    def faults(self, instance: Instance, schedule: Iterable[PlacedJob]) -> Iterable[str]:
        """Yield a sentence where the pairs of a job and a cluster, by the names of its processors, say otherwise."""
        pairs = {(p.job, node.split("/")[0]) for p in schedule if p.job in self.jobs for node in p.nodes}
        clusters = {cluster for _, cluster in pairs}
        if len(clusters) > 1 if self.is_same else len(clusters) < len(pairs):
            yield f"{len(self.jobs)} jobs are in {len(clusters)} clusters"


def small_constraint(kind: Kind, seed: int, instance: Instance, slot: float) -> Constraint | None:
    """Return a random constraint of a kind, the same for the same arguments; None where there is but one job to order.

    A latest end is between what is too early for the job alone and what hardly binds; a job that must keep off a
    cluster may find too little room in the others.
    """
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    jobs = [instance.jobs[j] for j in rng.permutation(len(instance.jobs))]
    if kind == "not on cluster":
        return NotOnCluster(jobs[0].id, int(rng.integers(len(instance.platform.clusters))))
    if kind == "latest end":
        return EndBy(jobs[0].id, _instant(rng, jobs[0], instance, slot))
    if len(jobs) == 1:
        return None
    if kind in ("same cluster", "different clusters"):
        number = int(rng.integers(2, len(jobs) + 1))
        return InClusters(tuple(job.id for job in jobs[:number]), kind == "same cluster")
    return (Precedence if kind == "precedence" else Apart)(jobs[0].id, jobs[1].id)


def _instant(rng: np.random.Generator, job: Job, instance: Instance, slot: float) -> float:
    """Return an instant, s: of the job alone, after running jobs, or a whole number of slots."""
    seconds = execution_time(job, 1.0)
    last = max([job.arrival, *(run.end for run in instance.running)])
    return float(
        rng.choice(
            (
                round(job.arrival + seconds * rng.uniform(0.7, 2.5), 2),
                last + seconds * rng.uniform(1.0, 3.0),
                slot * int(rng.integers(1, 8)),
            )
        )
    )


# ------------------------------------------------------------------------------ plain declarations


def small_declarations(kind: str, rng: np.random.Generator, instance: Instance, slot: float) -> list[Declaration]:
    """Return random declarations of a kind of :data:`DECLARED`; in slots they leave most jobs a start."""
    return [*DECLARED[kind](rng, instance, slot)]


def _calendars(rng: np.random.Generator, instance: Instance, slot: float) -> Iterator[Declaration]:
    """Yield a calendar for most jobs: one or some of two to four slots."""
    period = int(rng.integers(2, 5))
    first = int(rng.integers(period))
    windows = ((first * slot, int(rng.integers(first, period)) * slot),)
    calendar = Calendar(period * slot, windows, offset=float(rng.integers(2)) * slot)
    yield from (AllowedStarts(job.id, calendar) for job in instance.jobs if rng.random() < 0.7)


def _budget(rng: np.random.Generator, instance: Instance, _: float) -> Iterator[Declaration]:
    """Yield a number of co-allocated jobs, or what all tasks cost: a price for each in every cluster."""
    if rng.random() < 0.5:
        yield Budget(lambda _, tasks: sum(map(bool, tasks)) > 1, float(rng.integers(3)))
        return
    prices = [float(rng.choice((-1.0, 0.0, 0.7, 2.0))) for _ in instance.platform.clusters]
    tasks = sum(job.tasks for job in instance.jobs)
    yield Budget(lambda _, tasks: float(np.dot(prices, tasks)), float(rng.uniform(-0.2, 1.5)) * tasks)


def _spreads(rng: np.random.Generator, instance: Instance, _: float) -> Iterator[Declaration]:
    """Yield for half the jobs that clusters have few of their tasks, or that not just two clusters are used."""
    few = int(rng.integers(1, 4))
    allows = (lambda tasks: max(tasks) <= few) if rng.random() < 0.5 else (lambda tasks: sum(map(bool, tasks)) != 2)
    yield from (AllowedSpreads(job.id, allows) for job in instance.jobs if rng.random() < 0.5)


def _time_bounds(rng: np.random.Generator, instance: Instance, slot: float) -> Iterator[Declaration]:
    """Yield an earliest start, a latest start or a latest end for half the jobs."""
    for job in instance.jobs:
        instant = _instant(rng, job, instance, slot)
        which = str(rng.choice(("earliest_start", "latest_start", "latest_end")))
        if rng.random() < 0.5:
            yield TimeBounds(job.id, **{which: instant})


def _most_tasks(rng: np.random.Generator, instance: Instance, _: float) -> Iterator[Declaration]:
    """Yield for half the jobs at most so many tasks on the nodes of a group."""
    nodes = instance.platform.nodes
    for job in instance.jobs:
        one = nodes[int(rng.integers(len(nodes)))]
        alike = [n for n, node in enumerate(nodes) if (node.cluster, node.group) == (one.cluster, one.group)]
        if rng.random() < 0.5:
            yield MostTasks(job.id, alike, int(rng.integers(job.tasks + 1)))


def _cumulative(rng: np.random.Generator, instance: Instance, _: float) -> Iterator[Declaration]:
    """Yield a number of jobs, waiting or running, at a time, or amounts of them."""
    ids = [job.id for job in (*instance.jobs, *(run.job for run in instance.running))]
    jobs = tuple(job for job in ids if rng.random() < 0.7)
    amounts = tuple(float(rng.choice((0.0, 0.5, 1.0, 2.0))) for _ in jobs) if rng.random() < 0.5 else ()
    yield Cumulative(jobs, amounts, max((1.0, *amounts)) + float(rng.choice((0.0, 0.5, 1.0))))


def _not_together(rng: np.random.Generator, instance: Instance, _: float) -> Iterator[Declaration]:
    """Yield two or three jobs, if there are as many."""
    yield NotTogether(_some(rng, instance, int(rng.integers(2, 4))))


def _same_start(rng: np.random.Generator, instance: Instance, _: float) -> Iterator[Declaration]:
    """Yield two rows of two jobs, if there are two."""
    for one, other in permutations(_some(rng, instance, 2), 2):
        yield TimeRow(((1, "start", one), (-1, "start", other)), 0.0)


def _some(rng: np.random.Generator, instance: Instance, number: int) -> tuple[str, ...]:
    """Return the ids of so many jobs, or of all."""
    return tuple(instance.jobs[j].id for j in rng.permutation(len(instance.jobs))[:number])


DECLARED: Mapping[str, Callable[[np.random.Generator, Instance, float], Iterable[Declaration]]] = {
    "AllowedStarts": _calendars,
    "Budget": _budget,
    "AllowedSpreads": _spreads,
    "NotTogether": _not_together,
    "TimeBounds": _time_bounds,
    "MostTasks": _most_tasks,
    "Cumulative": _cumulative,
    "TimeRow": _same_start,
}
"""Functions that sample each kind of declaration."""
