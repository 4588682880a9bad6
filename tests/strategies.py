"""Hypothesis strategies for platforms, jobs and instances, and a plain list scheduler that makes valid schedules.

Numbers are chosen so that things happen: few processors, mixed powers, links that two jobs saturate
together, and some that carry nothing at all.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform, RunningJob, Switch
from coalloc.instance.rounding import capacity_limit, slots_up
from coalloc.problem.execution import execution_time, link_loads, processing_slowdown
from coalloc.schedule import Placement, Schedule

LAW = settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
"""Settings of the laws: few examples each, for there are many laws."""

POWERS = (0.15, 0.25, 0.5, 0.75, 1.0, 1.3)
LINK_BANDWIDTHS = (0.0, 1.0, 5.0, 40.0 / 3.0, 125.0)
TASK_BANDWIDTHS = (0.0, 0.1, 1.0, 10.0, 12.5)


def node_groups(max_nodes: int = 3, max_cores: int = 1) -> st.SearchStrategy[NodeGroup]:
    """Return groups of 1 to ``max_nodes`` nodes of 1 to ``max_cores`` cores."""
    return st.builds(
        NodeGroup,
        count=st.integers(1, max_nodes),
        power=st.sampled_from(POWERS),
        availability=st.sampled_from((1.0, 1.0, 0.5)),
        cores=st.integers(1, max_cores),
    )


@st.composite
def platforms(
    draw: st.DrawFn,
    max_clusters: int = 3,
    max_groups: int = 2,
    max_nodes: int = 3,
    max_cores: int = 1,
    switches: int = 0,
) -> Platform:
    """Draw a star of clusters, or a tree with up to ``switches`` switches below the root ``S0``."""
    tree = [
        Switch(f"S{i}", draw(st.sampled_from([f"S{k}" for k in range(i)])), draw(st.sampled_from(LINK_BANDWIDTHS)))
        for i in range(1, draw(st.integers(0, switches)) + 1)
    ]
    uppers = st.sampled_from([None, *(switch.name for switch in tree)])
    clusters = [
        Cluster(
            f"C{i}",
            tuple(draw(st.lists(node_groups(max_nodes, max_cores), min_size=1, max_size=max_groups))),
            draw(st.sampled_from(LINK_BANDWIDTHS)),
            draw(uppers),
        )
        for i in range(1, draw(st.integers(1, max_clusters)) + 1)
    ]
    return Platform(tuple(clusters), tuple(tree))


@st.composite
def jobs(draw: st.DrawFn, id: str = "J1", max_tasks: int = 4, arrivals: bool = True) -> Job:
    """Draw a job of 1 to ``max_tasks`` tasks; base times are whole or not, arrivals often coincide."""
    return Job(
        id,
        tasks=draw(st.integers(1, max_tasks)),
        base_time=draw(st.sampled_from((10.0, 100.0, 1000.0 / 3.0)) | st.floats(1.0, 1e4)),
        processing_share=draw(st.sampled_from((0.0, 0.5, 0.7, 1.0))),
        task_bandwidth=draw(st.sampled_from(TASK_BANDWIDTHS)),
        arrival=draw(st.sampled_from((0.0, 50.0)) | st.floats(0.0, 1e3)) if arrivals else 0.0,
    )


@st.composite
def running_jobs(draw: st.DrawFn, platform: Platform, max_running: int = 2) -> tuple[RunningJob, ...]:
    """Draw jobs that hold distinct processors of a platform."""
    free = draw(st.permutations(platform.processor_names))
    running = []
    for i in range(1, draw(st.integers(0, max_running)) + 1):
        if not free:
            break
        job = draw(jobs(id=f"R{i}", max_tasks=len(free), arrivals=False))
        running.append(
            RunningJob(job, tuple(free[: job.tasks]), draw(st.sampled_from((0.0, 75.0)) | st.floats(0, 500)))
        )
        free = free[job.tasks :]
    return tuple(running)


@st.composite
def instances(
    draw: st.DrawFn,
    max_jobs: int = 5,
    min_jobs: int = 1,
    max_tasks: int = 6,
    max_clusters: int = 3,
    max_nodes: int = 3,
    max_cores: int = 1,
    switches: int = 0,
    max_running: int = 0,
    arrivals: bool = True,
) -> Instance:
    """Draw an instance; jobs never have more tasks than the platform has processors."""
    platform = draw(platforms(max_clusters=max_clusters, max_nodes=max_nodes, max_cores=max_cores, switches=switches))
    largest = min(max_tasks, platform.num_processors)
    return Instance(
        platform,
        tuple(draw(jobs(f"J{i}", largest, arrivals)) for i in range(1, draw(st.integers(min_jobs, max_jobs)) + 1)),
        draw(running_jobs(platform, max_running)),
    )


@dataclass
class _Running:
    """What a started job holds: its end, s, and its loads per link, MB/s."""

    end: float
    loads: tuple[float, ...]


def list_schedule(instance: Instance, scope: str = "platform", slot: float | None = None) -> tuple[Instance, Schedule]:
    """Return a valid schedule with strict links, and the instance reduced to the jobs that fit at all.

    Jobs start in the order given, none before its predecessor, each at the first instant at which
    one of a few allocations fits: the fastest free processors, of all clusters or of one.
    """
    state = [_Running(run.end, tasks_loads(instance, run.job, run.nodes)) for run in instance.running]
    free_at = dict.fromkeys(instance.platform.processor_names, 0.0)
    free_at |= {name: run.end for run in instance.running for name in run.nodes}
    now = 0.0
    placements = []
    for job in instance.jobs:
        earliest = max(now, job.arrival)
        for start in sorted({earliest, *(running.end for running in state if running.end > earliest)}):
            free = [name for name, until in free_at.items() if until <= start]
            loads = [running.loads for running in state if running.end > start]
            nodes = _choose(instance, job, free, loads, scope)
            if nodes:
                duration = execution_time(job, slowdown_on(instance, nodes))
                end = start + (slot * slots_up(duration, slot) if slot else duration)
                placements.append(Placement(job.id, start, end, nodes))
                state.append(_Running(end, tasks_loads(instance, job, nodes)))
                free_at |= dict.fromkeys(nodes, end)
                now = start
                break
    placed = {placement.job for placement in placements}
    reduced = instance.replace(jobs=tuple(job for job in instance.jobs if job.id in placed))
    return reduced, Schedule(tuple(placements), slot=slot)


def cluster_of(instance: Instance, name: str) -> int:
    """Return the index of the cluster of a processor."""
    platform = instance.platform
    return platform.nodes[platform.processor_node[platform.processor_index[name]]].cluster


def power_of(instance: Instance, name: str) -> float:
    """Return the effective power of a processor."""
    platform = instance.platform
    return platform.group_of(platform.nodes[platform.processor_node[platform.processor_index[name]]]).effective_power


def slowdown_on(instance: Instance, nodes: tuple[str, ...]) -> float:
    """Return SP on the processors named."""
    return processing_slowdown(power_of(instance, name) for name in nodes)


def tasks_loads(instance: Instance, job: Job, nodes: tuple[str, ...]) -> tuple[float, ...]:
    """Return the loads per link, MB/s, of a job on the processors named."""
    tasks = [0] * len(instance.platform.clusters)
    for name in nodes:
        tasks[cluster_of(instance, name)] += 1
    return link_loads(job, tasks, instance.platform)


def _choose(
    instance: Instance, job: Job, free: list[str], loads: list[tuple[float, ...]], scope: str
) -> tuple[str, ...]:
    """Return free processors for a job that saturate no link, or nothing; ``loads`` are those of the active jobs."""
    limits = [capacity_limit(link.bandwidth) for link in instance.platform.links]
    for pool in _pools(instance, free, scope):
        nodes = tuple(sorted(pool, key=lambda name: -power_of(instance, name))[: job.tasks])
        own = tasks_loads(instance, job, nodes)
        totals = [sum(column) for column in zip(own, *loads, strict=True)]
        fits = all(total <= limit for mine, total, limit in zip(own, totals, limits, strict=True) if mine > 0.0)
        if len(nodes) == job.tasks and fits:
            return nodes
    return ()


def _pools(instance: Instance, free: list[str], scope: str) -> list[list[str]]:
    """Return the sets of processors that may serve one job: all, those of each cluster, or of each node."""
    by_cluster = [list(pool) for _, pool in groupby(free, key=lambda name: cluster_of(instance, name))]
    by_node = [list(pool) for _, pool in groupby(free, key=lambda name: name.split(".")[0])]
    return {"platform": [free, *by_cluster], "cluster": by_cluster, "node": by_node}[scope]
