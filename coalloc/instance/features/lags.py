"""Time lags: a job starts a time after the start or the end of another, at least and at most."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from coalloc.documents.errors import Fault
from coalloc.documents.sentences import shown
from coalloc.documents.text import quoted
from coalloc.instance import read
from coalloc.instance.constraints import Declaration, TimeBounds, TimeRow
from coalloc.instance.features.feature import Condition, Feature, Stated, Wait, of_job, some_job_has
from coalloc.instance.job import Job
from coalloc.instance.lags import Lag

if TYPE_CHECKING:
    from coalloc.instance.instance import Instance


def _faults(stated: Stated) -> Iterator[Fault]:
    """Yield a fault for every lag that names no other job, or a start that is not stated, or has no room for times."""
    ids, known = stated.ids, set(stated.ids)
    begun = {read.text(read.field(run, "job"), "id") for run in stated.running if not read.from_zero(run, "start", 0.0)}
    for path, i, lag in _lags(stated.jobs):
        other, least, most = read.text(lag, "after"), _difference(lag, "min"), _difference(lag, "max")
        if None not in known and other is not None and other not in known:
            yield Fault(f"{path}.after", f"must be a job of the instance, got {quoted(other)}")
        if other is not None and other == ids[i]:
            yield Fault(f"{path}.after", f"must be another job, got {quoted(other)}")
        if other is not None and other in begun and _from_of(lag) == "start":
            yield Fault(f"{path}.from", f"must be 'end': the start of the running job {quoted(other)} is unknown")
        if most is not None and most < (least or 0.0):
            yield Fault(f"{path}.max", f"must be at least min, {least or 0.0:g}, got {shown(read.field(lag, 'max'))}")
    yield from _cycle_faults(stated.jobs, ids)


def _cycle_faults(jobs: Sequence[tuple[int, object]], ids: Sequence[str | None]) -> Iterator[Fault]:
    """Yield a fault for each set of jobs that wait for each other, one of them for a time above 0."""
    number = {name: i for i, name in enumerate(ids)}
    found = [(ids[i], read.text(lag, "after"), lag) for _, i, lag in _lags(jobs)]
    later = [pair for pair in found if pair[1] in number and (_difference(pair[2], "min") or 0.0) >= 0.0]
    if not later:
        return
    import networkx as nx

    before = {(ids[i], name) for i, job in jobs for name in read.listed(job, "after") if name in ids}
    graph: nx.DiGraph[str | None] = nx.DiGraph([*before, *((one, other) for one, other, _ in later)])
    grows = {(one, other) for one, other, lag in later if _from_of(lag) == "end" or _difference(lag, "min")}
    of_lags = {(one, other) for one, other, _ in later}
    for part in nx.strongly_connected_components(graph):
        inner = set(graph.subgraph(part).edges)
        if inner & of_lags and inner & (before | grows) and len(part) > 1:
            names = sorted(part, key=number.__getitem__)
            listed = ", ".join(quoted(name or "") for name in names)
            yield Fault(f"jobs[{number[names[0]]}].lags", f"must not form a cycle of positive lags: {listed}")


def _lags(jobs: Sequence[tuple[int, object]]) -> Iterator[tuple[str, int, object]]:
    """Yield the path of each lag, the number of its job, and the lag."""
    for i, job in jobs:
        for n, lag in enumerate(read.listed(job, "lags")):
            yield f"jobs[{i}].lags[{n}]", i, lag


def _from_of(lag: object) -> str:
    """Return the time from which a lag counts: of a value, or of a parsed object."""
    return str(read.field(lag, "from_") or read.field(lag, "from") or "end")


def _difference(lag: object, key: str) -> float | None:
    """Return a number of a lag; None where it is absent, or cannot be read."""
    number = read.field(lag, key)
    return number if isinstance(number, (int, float)) and not isinstance(number, bool) else None


def _declare(instance: Instance) -> Iterator[Declaration]:
    """Yield bounds of the start for each lag to a running job, rows for each of the others."""
    running = {run.job.id: (run.start, run.end) for run in instance.running}
    for job in instance.jobs:
        for lag in job.lags:
            if lag.after in running:
                yield _bounds(job, lag, running[lag.after][lag.from_ == "end"])
            else:
                yield from _rows(job, lag)


def _bounds(job: Job, lag: Lag, time: float) -> TimeBounds:
    """Return the bounds of the start of a job whose lag counts from a time that is known, s."""
    return TimeBounds(job.id, time + lag.min) if lag.max is None else TimeBounds(job.id, time + lag.min, time + lag.max)


def _rows(job: Job, lag: Lag) -> Iterator[TimeRow]:
    """Yield the least of a lag, and the greatest if it has one."""
    yield TimeRow(((1, "start", job.id), (-1, lag.from_, lag.after)), lag.min)
    if lag.max is not None:
        yield TimeRow(((-1, "start", job.id), (1, lag.from_, lag.after)), -lag.max)


def _waits(instance: Instance) -> Iterator[Wait]:
    """Yield the least of each lag; one below 0 counts as 0, for what time it counts from is not known before it."""
    return (Wait(job.id, lag.after, lag.from_, max(lag.min, 0.0)) for job in instance.jobs for lag in job.lags)


def _conditions(instance: Instance) -> Iterator[Condition]:
    for job in instance.jobs:
        for lag in job.lags:
            yield Condition(f"job {quoted(job.id)} must start {_words(lag)}", of_job(job, _without(lag)))


def _words(lag: Lag) -> str:
    """Return when a lag lets a job start, in words."""
    other = f"the {lag.from_} of {quoted(lag.after)}"
    if lag.is_same_start:
        return f"at {other}"
    most = "" if lag.max is None else f" and at most {lag.max:g} s"
    return f"at least {lag.min:g} s{most} after {other}"


def _without(lag: Lag) -> Callable[[Job], Job]:
    return lambda job: job.replace(lags=[other for other in job.lags if other != lag])


FEATURE = Feature(
    fields=("Job.lags",),
    is_used=some_job_has("lags"),
    faults=_faults,
    declare=_declare,
    waits=_waits,
    conditions=_conditions,
)
