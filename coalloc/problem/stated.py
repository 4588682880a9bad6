"""What instances state themselves, as declarations; the checker does not ask, but has rules of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from coalloc.instance import Instance, Job, Lag, Platform
from coalloc.problem.constraints import (
    AllowedNodes,
    Constraint,
    Declaration,
    TimeBounds,
    TimeRow,
)

Times = Mapping[str, tuple[float, float]]
"""Start and end, s, of jobs by id."""


class Stated(Constraint):
    """A restriction that the instance states itself, and for which the checker has a rule."""


@dataclass(frozen=True, slots=True)
class Release(Stated):
    """No job starts before its arrival."""

    def declare(self, instance: Instance) -> Iterator[Declaration]:
        """Yield a bound for each job."""
        return (TimeBounds(job.id, job.arrival) for job in instance.jobs)


@dataclass(frozen=True, slots=True)
class Deadlines(Stated):
    """Every job that has a deadline ends by it."""

    def declare(self, instance: Instance) -> Iterator[Declaration]:
        """Yield a bound for each of them."""
        return (TimeBounds(job.id, latest_end=job.deadline) for job in instance.jobs if job.deadline is not None)


@dataclass(frozen=True, slots=True)
class Precedences(Stated):
    """Every job starts when all that it comes ``after`` have ended."""

    def declare(self, instance: Instance) -> Iterator[Declaration]:
        """Yield a bound where it comes after a running job, else a row, for each pair."""
        running = _running_times(instance)
        for job in instance.jobs:
            for other in dict.fromkeys(job.after):
                if other in running:
                    yield TimeBounds(job.id, running[other][1])
                else:
                    yield TimeRow(((1, "start", job.id), (-1, "end", other)), 0.0)


@dataclass(frozen=True, slots=True)
class Lags(Stated):
    """Every job keeps its lags."""

    def declare(self, instance: Instance) -> Iterator[Declaration]:
        """Yield bounds of the start for each lag to a running job, rows for each of the others."""
        running = _running_times(instance)
        for job in instance.jobs:
            for lag in job.lags:
                if lag.after in running:
                    yield _bounds(job, lag, running[lag.after][lag.from_ == "end"])
                else:
                    yield from _rows(job, lag)


def _rows(job: Job, lag: Lag) -> Iterator[TimeRow]:
    """Yield the least of a lag, and the greatest if it has one."""
    yield TimeRow(((1, "start", job.id), (-1, lag.from_, lag.after)), lag.min)
    if lag.max is not None:
        yield TimeRow(((-1, "start", job.id), (1, lag.from_, lag.after)), -lag.max)


def _running_times(instance: Instance) -> Times:
    """Return when running jobs start and end, s, by id."""
    return {run.job.id: (run.start, run.end) for run in instance.running}


def _bounds(job: Job, lag: Lag, time: float) -> TimeBounds:
    """Return the bounds of the start of a job whose lag counts from a time that is known, s."""
    return TimeBounds(job.id, time + lag.min) if lag.max is None else TimeBounds(job.id, time + lag.min, time + lag.max)


@dataclass(frozen=True, slots=True)
class Eligibility(Stated):
    """A job uses only the clusters that it may use, and nodes with all that it requires."""

    def declare(self, instance: Instance) -> Iterator[Declaration]:
        """Yield the nodes of each job that may not use all; jobs that say the same have the same set."""
        known = dict[object, frozenset[int]]()
        for job in instance.jobs:
            if job.is_choosy:
                key = job.eligible, job.requires
                if key not in known:
                    known[key] = frozenset(_nodes_for(job, instance.platform))
                yield AllowedNodes(job.id, known[key])


def _nodes_for(job: Job, platform: Platform) -> Iterator[int]:
    """Yield the nodes, by index, that a job may use."""
    for number, node in enumerate(platform.nodes):
        cluster = platform.clusters[node.cluster]
        if job.may_use(cluster.name, cluster.nodes[node.group]):
            yield number


def stated(instance: Instance) -> Iterator[Stated]:
    """Yield the restrictions that an instance states itself."""
    yield Release()
    if any(job.deadline is not None for job in instance.jobs):
        yield Deadlines()
    if any(job.after for job in instance.jobs):
        yield Precedences()
    if any(job.lags for job in instance.jobs):
        yield Lags()
    if any(job.is_choosy for job in instance.jobs):
        yield Eligibility()
