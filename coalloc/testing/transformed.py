"""Instances and schedules after changes that keep what is optimal: other clocks, other units of time, other orders.

Written from the definitions: no code is shared with what moves instances inside the solvers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from coalloc.instance import Cluster, Instance, Job
from coalloc.instance.processor_names import ProcessorNames
from coalloc.instance.windows import Window
from coalloc.schedule import Schedule

Change = Callable[[float], float]


def shifted(instance: Instance, seconds: float) -> Instance:
    """Return an instance all times of which are so much later; without running jobs, which begin at 0."""
    assert not instance.running
    return _with_times(instance, lambda time: time + seconds, lambda duration: duration)


def scaled(instance: Instance, factor: float) -> Instance:
    """Return an instance in another unit of time: all times and durations by this factor."""
    return _with_times(instance, lambda time: time * factor, lambda duration: duration * factor)


def shifted_schedule(schedule: Schedule, seconds: float) -> Schedule:
    """Return a schedule so much later."""
    return schedule.replace(
        placements=[p.replace(start=p.start + seconds, end=p.end + seconds) for p in schedule.placements]
    )


def permuted(instance: Instance, rng: np.random.Generator) -> Instance:
    """Return an instance whose jobs, clusters, and groups of nodes within a cluster, are in a random order."""
    clusters, windows, running = [], list(instance.platform.unavailable), list(instance.running)
    for cluster in instance.platform.clusters:
        order = rng.permutation(len(cluster.nodes)).tolist()
        names = _names_after(cluster, order)
        clusters.append(cluster.replace(nodes=[cluster.nodes[g] for g in order]))
        windows = [_renamed(window, names, order) if window.cluster == cluster.name else window for window in windows]
        running = [run.replace(nodes=[_processor_after(name, names) for name in run.nodes]) for run in running]
    platform = instance.platform.replace(
        clusters=[clusters[c] for c in rng.permutation(len(clusters))],
        unavailable=[windows[w] for w in rng.permutation(len(windows))],
    )
    jobs = [instance.jobs[j] for j in rng.permutation(len(instance.jobs))]
    return instance.replace(platform=platform, jobs=jobs, running=running)


def _with_times(instance: Instance, time: Change, duration: Change) -> Instance:
    """Return an instance with all its times changed, and all its durations."""

    def changed(job: Job) -> Job:
        shapes = [
            shape.replace(
                base_time=duration(shape.base_time),
                estimate=duration(shape.estimate),
                times={feature: duration(seconds) for feature, seconds in shape.times.items()},
            )
            for shape in job.shapes
        ]
        return job.replace(
            base_time=duration(job.base_time),
            estimate=duration(job.estimate),
            times={feature: duration(seconds) for feature, seconds in job.times.items()},
            shapes=shapes,
            lags=[
                lag.replace(min=duration(lag.min), max=None if lag.max is None else duration(lag.max))
                for lag in job.lags
            ],
            arrival=time(job.arrival),
            due_date=None if job.due_date is None else time(job.due_date),
            deadline=None if job.deadline is None else time(job.deadline),
        )

    windows = [
        window.replace(start=time(window.start), end=time(window.end)) for window in instance.platform.unavailable
    ]
    running = [run.replace(job=changed(run.job), start=time(run.start), end=time(run.end)) for run in instance.running]
    platform = instance.platform.replace(unavailable=windows)
    return instance.replace(platform=platform, jobs=list(map(changed, instance.jobs)), running=running)


def _names_after(cluster: Cluster, order: list[int]) -> dict[str, str]:
    """Return the name that each node of a cluster has once its groups are in another order."""
    first, numbers = 0, dict[int, range]()
    for g, group in enumerate(cluster.nodes):
        numbers[g] = range(first, first + group.count)
        first += group.count
    before = [number for g in order for number in numbers[g]]
    return {f"{cluster.name}/{number}": f"{cluster.name}/{after}" for after, number in enumerate(before)}


def _processor_after(name: str, names: dict[str, str]) -> str:
    """Return the name of a processor on a node, which may be of another cluster, after that is renamed."""
    node, dot, core = name.partition(".")
    return f"{names.get(node, node)}{dot}{core}"


def _renamed(window: Window, names: dict[str, str], order: list[int]) -> Window:
    """Return an outage with its nodes, or its group, as they are called after the groups are in another order."""
    nodes = ProcessorNames([names[node] for node in window.nodes])
    return window.replace(nodes=nodes, group=None if window.group is None else order.index(window.group))
