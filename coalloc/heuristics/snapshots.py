"""What optimising policies see at an instant: an instance whose clock starts now, and room on the links."""

from __future__ import annotations

from collections.abc import Iterable

from coalloc.instance import Instance, Job, RunningJob
from coalloc.instance.rounding import capacity_limit
from coalloc.simulator.policy import State

OVERDUE = 1.0
"""Seconds that a job which should have ended is expected to run: it may end at any moment, and holds its nodes now."""


def snapshot(state: State, jobs: Iterable[Job]) -> Instance:
    """Return some waiting jobs, all there now (0), beside the running ones until their estimated ends.

    Those that they come after have ended; deadlines are not enforced.
    """
    running = (
        RunningJob(r.job, state.names(r.processors), left if (left := r.estimated_end - state.now) > 0.0 else OVERDUE)
        for r in state.running
    )
    waiting = tuple(job.replace(arrival=0.0, after=(), deadline=None) for job in jobs)
    return Instance(state.platform, waiting, tuple(running))


def bandwidth_left(state: State) -> list[float]:
    """Return what the running jobs leave of each link before it saturates, MB/s; below 0 where it does."""
    return [
        capacity_limit(link.bandwidth) - load for link, load in zip(state.platform.links, state.link_loads, strict=True)
    ]
