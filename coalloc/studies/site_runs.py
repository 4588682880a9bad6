"""Runs of a log on its machine as it is, with all that restricts its jobs, and bounds on them.

What-if studies and audits share them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from coalloc.api.simulating import simulate
from coalloc.api.solving import lower_bound
from coalloc.bench.outcomes import Outcome
from coalloc.instance import CoallocError, Instance, Job, NodeGroup
from coalloc.instance.limits import within


def restricted(instance: Instance, rows: np.ndarray[Any, np.dtype[np.int64]]) -> Instance:
    """Return an instance with some of its jobs, and what they have to do with each other."""
    jobs = [instance.jobs[row] for row in rows.tolist()]
    there = {*(job.id for job in jobs), *(run.job.id for run in instance.running)}
    limits = [left for limit in instance.limits if (left := within(limit, there)) is not None]
    return instance.replace(
        jobs=[
            job.replace(
                after=[other for other in job.after if other in there],
                lags=[lag for lag in job.lags if lag.after in there],
            )
            if job.after or job.lags
            else job
            for job in jobs
        ],
        limits=limits,
    )


def refuse_unbounded(instance: Instance, study: str, *others: str) -> None:
    """Raise where no bound on the waits of simulated jobs holds, or for other faults of a study."""
    faults = [f"{study} {fault}" for fault in others]
    if instance.shares_nodes:
        faults.append(f"{study} does not support time-shared nodes")
    if any(job.task_bandwidth > 0.0 and job.tasks > 1 for job in instance.jobs) and len(instance.platform.clusters) > 1:
        faults.append(f"{study} requires jobs without communication, which links could slow down")
    if faults:
        raise CoallocError("\n".join(faults))


def of_any_policy(instance: Instance) -> Instance:
    """Return an instance without requested walltimes and deadlines, which do not hold a policy to a bound."""

    def changed(job: Job) -> Job:
        shapes = [shape.replace(estimate=shape.base_time) for shape in job.shapes]
        return job.replace(estimate=job.base_time, deadline=None, shapes=shapes)

    return instance.replace(jobs=[changed(job) for job in instance.jobs])


def unrestricted(instance: Instance) -> Instance | None:
    """Return an instance without limits, partitions and levels; None where these decide run times or outages.

    Its bound holds for the instance, too, and scenarios that differ in these alone share it.
    """
    has_parts_out = any(window.group is not None for window in instance.platform.unavailable)
    if has_parts_out or any(job.times for job in instance.jobs):
        return None
    free: dict[str, Any] = {"requires": (), "eligible": (), "level": None, "max_clusters": None}
    free |= {"min_tasks_per_cluster": None, "slices": None}
    clusters = [cluster.replace(nodes=_merged(cluster.nodes)) for cluster in instance.platform.clusters]
    return instance.replace(
        platform=instance.platform.replace(clusters=clusters),
        jobs=[job.replace(**free) for job in instance.jobs],
        limits=(),
    )


def _merged(groups: Sequence[NodeGroup]) -> list[NodeGroup]:
    """Return node groups without features; neighbours that do not differ otherwise are one."""
    merged: list[NodeGroup] = []
    for group in groups:
        plain = group.replace(features=())
        if merged and merged[-1].replace(count=plain.count) == plain:
            merged[-1] = plain.replace(count=merged[-1].count + plain.count)
        else:
            merged.append(plain)
    return merged


def simulated_run(options: Mapping[str, Any], instance: Instance) -> Outcome:
    """Return starts and ends of the jobs under a policy, s; called in a process of its own."""
    policy = dict(options["policy"])
    run = simulate(instance, policy.pop("policy"), **policy)
    placed = [run.schedule[job.id] for job in instance.jobs]
    times = {"starts": [place.start for place in placed], "ends": [place.end for place in placed]}
    return {"status": "done", "utilization": run.metrics["utilization"], **times}


def bounded(options: Mapping[str, Any], instance: Instance) -> Outcome:
    """Return a lower bound on the mean wait, s; called in a process of its own."""
    return {"status": "done", "bound": lower_bound(instance, "mean-wait", time_limit=options["time_limit"])}
