"""What optimising policies see at an instant, as an instance whose clock starts now."""

from __future__ import annotations

from collections.abc import Iterable

from coalloc.instance import Instance, Job, RunningJob
from coalloc.simulator.policy import State


def snapshot(state: State, jobs: Iterable[Job], overdue: float) -> Instance:
    """Return some waiting jobs, all there now (0), beside the running ones until their estimated ends.

    ``overdue`` (s) is how much longer a job that should have ended is expected to run.
    """
    running = (
        RunningJob(r.job, state.names(r.processors), left if (left := r.estimated_end - state.now) > 0.0 else overdue)
        for r in state.running
    )
    return Instance(state.platform, tuple(job.replace(arrival=0.0) for job in jobs), tuple(running))
