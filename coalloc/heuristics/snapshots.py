"""Snapshots for optimising policies: an instance whose clock starts now, and room on the links."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import chain, compress, count

from coalloc.documents.text import quoted
from coalloc.instance import CoallocError, Instance, Job, RunningJob
from coalloc.instance.rounding import capacity_limit
from coalloc.simulator.policy import State

OVERDUE = 1.0
"""Seconds that a job which should have ended is expected to run: it may end at any moment, and holds its nodes now.

Failed nodes are expected to be repaired by then, too."""
FAILED = "failed nodes"
"""Job that holds failed nodes."""


def snapshot(state: State, jobs: Iterable[Job]) -> Instance:
    """Return some waiting jobs, all there now (0), beside the running ones until their estimated ends.

    Those that they come after have ended; deadlines are not enforced. Windows and jobs that are to start later are
    those to come, counted from now. Raises :class:`CoallocError` where jobs are suspended.
    """
    if state.suspended:
        raise CoallocError(f"job {quoted(state.suspended[0].job.id)} is suspended, which a snapshot does not support")
    waiting, platform, now = _waiting(jobs), state.platform, state.now
    if state.has_closings:
        windows = [window for window in platform.unavailable if window.end > now]
        ahead = [w.replace(start=max(0.0, w.start - now), end=w.end - now) for w in windows]
        platform = platform.replace(unavailable=tuple(ahead))
    return Instance(platform, waiting, (*_running(state), *_reservations(state, math.inf), *_failed(state, waiting)))


def snapshot_of_now(state: State, jobs: Iterable[Job]) -> Instance:
    """Return :func:`snapshot` without windows and jobs that are to start later."""
    platform = state.platform.replace(unavailable=()) if state.has_closings else state.platform
    return Instance(platform, _waiting(jobs), (*_running(state), *_reservations(state, state.now)))


def _waiting(jobs: Iterable[Job]) -> tuple[Job, ...]:
    """Return jobs as they are where all that they come after have ended."""
    return tuple(job.replace(arrival=0.0, after=(), lags=(), deadline=None) for job in jobs)


def _running(state: State) -> Iterator[RunningJob]:
    """Yield the running jobs, the clock's now as 0; where one has to go at this very instant it is gone."""
    open_until = state.open_until if state.has_closings else ()
    for run in state.running:
        left = run.estimated_end - state.now
        left = min(
            [left if left > 0.0 else OVERDUE, *(until - state.now for until in compress(open_until, run.counts))]
        )
        if left > 0.0:
            yield RunningJob(run.job, state.names(run.processors), left)


def _failed(state: State, jobs: Iterable[Job]) -> Iterator[RunningJob]:
    """Yield a job that holds the failed nodes, under a name that no other job has."""
    if state.failed_nodes:
        runs = chain((run.job for run in state.running), (run.job for run in state.reservations))
        taken = {job.id for job in chain(jobs, runs)}
        numbered = (f"{FAILED} {number}" for number in count(2))
        name = next(name for name in chain([FAILED], numbered) if name not in taken)
        yield RunningJob(Job(name, len(state.failed_nodes), OVERDUE), state.failed_nodes, OVERDUE)


def _reservations(state: State, latest: float) -> Iterator[RunningJob]:
    """Yield the running jobs that start later, up to ``latest`` (s), and are not over, the clock's now as 0."""
    for run in state.reservations:
        if run.end > state.now and run.start <= latest:
            yield run.replace(start=max(0.0, run.start - state.now), end=run.end - state.now)


def bandwidth_left(state: State) -> list[float]:
    """Return what the running jobs leave of each link before it saturates, MB/s; below 0 where it does."""
    return [
        capacity_limit(link.bandwidth) - load for link, load in zip(state.platform.links, state.link_loads, strict=True)
    ]
