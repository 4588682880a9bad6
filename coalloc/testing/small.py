"""Small random instances on which every exact method can be compared with brute force.

Few jobs on few nodes, but with everything that makes an instance hard to get right: mixed powers, also
within a cluster, links that bind, cascaded switches, arrivals, processors that are still busy, and
times that are sometimes whole slots to the digit. Every job can run alone on the empty platform, so
that OAS always has a solution, unless memory is given out as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform, RunningJob, Switch
from coalloc.instance.rounding import slots_up
from coalloc.problem.execution import execution_time, link_loads

POWERS = (1.0, 0.8, 0.75, 0.5, 1.25)
SHARES = (0.0, 0.25, 0.5, 0.7, 1.0)
AMPLE_BANDWIDTH = 1000.0
"""MB/s that no small instance can use up."""
TASK_MEMORIES = (None, 200.0, 300.0, 400.0, 600.0, 1000.0)
"""Memory that a task asks for, MB."""


@dataclass(frozen=True, slots=True)
class SmallSize:
    """Limits of the family: jobs, clusters, processors per cluster and in all, and slots.

    ``max_slots`` limits what a serial schedule on the slowest processors would take, so that it limits the
    horizon of every model; it must leave a slot per job and two for arrivals and running jobs. Of the node groups
    ``multi_core_share`` are one node of several cores.
    """

    max_jobs: int = 5
    max_clusters: int = 3
    max_per_cluster: int = 3
    max_processors: int = 9
    max_slots: int = 24
    multi_core_share: float = 0.1


NODE_MODEL_SIZE = SmallSize(max_jobs=3, max_processors=5, max_slots=8)
"""Size that the node-indexed formulation still solves in a moment."""


def small_instance(seed: int, size: SmallSize | None = None) -> tuple[Instance, float]:
    """Return an instance of the family and a slot length, s; the same for the same arguments.

    In 3 instances of 4 most links are about as wide as what one task asks (in 1 of 6 they change the least
    makespan, in 1 of 4 the least total response time); 2 in 5 have arrivals after 0, as many have
    running jobs, and of those with several clusters 1 in 4 has a cascaded switch.
    """
    size = size or SmallSize()
    rng = np.random.default_rng(seed)
    platform = _platform(rng, size)
    jobs = _jobs(rng, platform, size)
    running = _running(rng, platform) if rng.random() < 0.4 else ()
    platform = _with_bandwidths(rng, platform, jobs, running)
    instance = Instance(platform, jobs, running, name=f"small-{seed}")
    return instance, _slot(rng, instance, size.max_slots)


def small_equal_instance(seed: int, size: SmallSize | None = None) -> tuple[Instance, float]:
    """Return a small instance in which most jobs are copies of others, and a slot length, s."""
    instance, slot = small_instance(seed, size)
    return with_equal_jobs(instance, seed), slot


def with_equal_jobs(instance: Instance, seed: int) -> Instance:
    """Return an instance in which many jobs are equal but for their ids.

    Of two in a row often both are what the shorter was, so that nothing takes longer.
    """
    rng = np.random.default_rng([seed, 2])
    jobs = list(instance.jobs)
    for j in range(1, len(jobs)):
        if rng.random() < 0.7:
            model = min(jobs[j - 1 : j + 1], key=lambda job: job.base_time)
            jobs[j - 1 : j + 1] = [model.replace(id=job.id) for job in jobs[j - 1 : j + 1]]
    return instance.replace(jobs=tuple(jobs), name=f"{instance.name}-equal")


def small_memory_instance(seed: int, size: SmallSize | None = None) -> tuple[Instance, float]:
    """Return a small instance whose nodes have little memory, and a slot length, s.

    Most node groups are one node of several cores; of the jobs, some fit on no node, others only alone on one.
    """
    size = replace(size or SmallSize(), multi_core_share=0.6)
    instance, slot = small_instance(seed, size)
    return with_memory(instance, seed), slot


def with_memory(instance: Instance, seed: int) -> Instance:
    """Return an instance in which jobs ask for memory, running ones too, and nodes have enough for a few tasks."""
    rng = np.random.default_rng([seed, 1])

    def asking(job: Job) -> Job:
        return job.replace(memory=TASK_MEMORIES[rng.integers(len(TASK_MEMORIES))])

    jobs = tuple(map(asking, instance.jobs))
    running = tuple(run.replace(job=asking(run.job)) for run in instance.running)
    asked = [job.memory or 0.0 for job in (*jobs, *(run.job for run in running))]

    def limited(group: NodeGroup) -> NodeGroup:
        if rng.random() < 0.15:
            return group
        tasks = int(rng.integers(1, group.cores + 1))
        return group.replace(memory=tasks * max(rng.choice(asked, size=2).tolist()))

    clusters = tuple(c.replace(nodes=tuple(map(limited, c.nodes))) for c in instance.platform.clusters)
    platform = instance.platform.replace(clusters=clusters)
    is_kept = (rng.random() < 0.1 or _memory_for(platform, job.memory) >= job.tasks for job in jobs)
    jobs = tuple(job if kept else job.replace(memory=None) for job, kept in zip(jobs, is_kept, strict=True))
    return instance.replace(platform=platform, jobs=jobs, running=running, name=f"{instance.name}-memory")


def small_metered_instance(seed: int) -> tuple[Instance, float]:
    """Return a small instance of up to 3 jobs whose nodes have watts, and a slot length, s.

    Of the node groups 2 in 3 have several cores; idle watts are 0 in 2 of 5 instances, static watts those or more.
    """
    rng = np.random.default_rng([seed, 3])
    size = SmallSize(max_jobs=3, max_clusters=2, max_processors=5, max_slots=8, multi_core_share=2.0 / 3.0)
    instance, slot = small_instance(seed, size)
    idles = (0.0,) if rng.random() < 0.4 else (0.0, 1.0, 2.5)

    def metered(group: NodeGroup) -> NodeGroup:
        idle = float(rng.choice(idles))
        static = idle + float(rng.choice([0.0, 1.0, 4.0, 10.0]))
        return group.replace(idle_watts=idle, static_watts=static, core_watts=float(rng.choice([0.5, 1.0, 3.0, 5.0])))

    clusters = tuple(c.replace(nodes=tuple(map(metered, c.nodes))) for c in instance.platform.clusters)
    named = instance.replace(platform=instance.platform.replace(clusters=clusters), name=f"{instance.name}-metered")
    return (with_memory(named, seed) if rng.random() < 0.15 else named), slot


def with_due_dates(instance: Instance, seed: int) -> Instance:
    """Return an instance whose jobs have weights, one in six of them 0, and due dates, but for one in four.

    A due date is up to three times the base time after the arrival, so that most schedules make some jobs late.
    """
    rng = np.random.default_rng([seed, 2])

    def due(job: Job) -> Job:
        weight = float(rng.choice([0.0, 0.5, 1.0, 1.0, 2.0, 3.25]))
        date = None if rng.random() < 0.25 else float(job.arrival + rng.uniform(0.5, 3.0) * job.base_time)
        return job.replace(weight=weight, due_date=date)

    jobs = [due(job) for job in instance.jobs]
    if jobs[0].due_date is None:
        jobs[0] = jobs[0].replace(due_date=jobs[0].arrival + jobs[0].base_time)
    return instance.replace(jobs=jobs, name=f"{instance.name}-due")


def _memory_for(platform: Platform, asked: float | None) -> int:
    """Return how many tasks that ask for this much memory, MB, fit on an empty platform."""
    groups = [group for cluster in platform.clusters for group in cluster.nodes]
    return sum(
        g.count * min(g.cores, int(g.memory / asked) if asked and g.memory is not None else g.cores) for g in groups
    )


def small_package(seed: int, size: SmallSize | None = None) -> Instance:
    """Return an instance whose jobs fit together, by count, on the processors free at the latest arrival.

    It is :func:`small_instance` with its jobs, in order, cut to the processors that are left, and without
    those for which none is; running jobs that hold the whole platform by then are left out. Links may make it
    infeasible.
    """
    instance, _ = small_instance(seed, size)
    start = max(job.arrival for job in instance.jobs)
    free = instance.platform.num_processors
    taken = sum(run.job.tasks for run in instance.running if run.end > start)
    running = instance.running if taken < free else ()
    free -= taken if running else 0
    selected = []
    for job in instance.jobs:
        if free > 0:
            selected.append(job.replace(tasks=min(job.tasks, free)))
            free -= selected[-1].tasks
    selected[-1] = selected[-1].replace(arrival=start)
    return instance.replace(jobs=tuple(selected), running=running)


def _platform(rng: np.random.Generator, size: SmallSize) -> Platform:
    """Return a platform whose links have no bandwidth yet."""
    num_clusters = max(int(rng.integers(1, size.max_clusters + 1)) for _ in range(2))
    cascaded = num_clusters > 1 and rng.random() < 0.25
    powers = rng.choice(POWERS, size=2).tolist()
    clusters, left = [], size.max_processors
    for c in range(num_clusters):
        processors = int(rng.integers(1, min(size.max_per_cluster, left - (num_clusters - c - 1)) + 1))
        left -= processors
        switch = "S1" if cascaded and c < max(1, num_clusters - 1) else None
        groups = _groups(rng, processors, powers, size.multi_core_share)
        clusters.append(Cluster(f"C{c + 1}", groups, link_bandwidth=0.0, switch=switch))
    return Platform(tuple(clusters), (Switch("S1", "S0", bandwidth=0.0),) if cascaded else ())


def _groups(
    rng: np.random.Generator, processors: int, powers: Sequence[float], multi_core_share: float
) -> tuple[NodeGroup, ...]:
    """Return one or two node groups with this many processors, a share of them one node of several cores."""
    first = int(rng.integers(1, processors)) if processors > 1 and rng.random() < 0.4 else processors
    groups = []
    for count in (first, processors - first):
        if count:
            power = float(rng.choice(powers))
            availability = 0.8 if rng.random() < 0.2 else 1.0
            nodes, cores = (1, count) if rng.random() < multi_core_share else (count, 1)
            groups.append(NodeGroup(nodes, power, availability, cores))
    return tuple(groups)


def _jobs(rng: np.random.Generator, platform: Platform, size: SmallSize) -> tuple[Job, ...]:
    """Return the jobs; base times are 10 to 60 s, half of them multiples of 10."""
    largest = platform.num_processors
    released = rng.random() < 0.4
    jobs = []
    num_jobs = max(int(rng.integers(1, size.max_jobs + 1)) for _ in range(2))
    for j in range(num_jobs):
        whole = rng.random() < 0.5
        base_time = 10.0 * rng.integers(1, 7) if whole else round(rng.uniform(10.0, 60.0), 2)
        share = float(rng.choice(SHARES)) if rng.random() < 0.7 else round(rng.random(), 3)
        bandwidth = round(rng.uniform(1.0, 10.0), 1) if rng.random() < 0.9 else 0.0
        arrival = float(rng.choice((0.0, 5.0, 10.0, 20.0, round(rng.uniform(0.0, 40.0), 1)))) if released else 0.0
        tasks = int(rng.integers(1, (largest if rng.random() < 0.25 else min(4, largest)) + 1))
        jobs.append(Job(f"J{j + 1}", tasks, float(base_time), share, bandwidth, arrival))
    return tuple(jobs)


def _running(rng: np.random.Generator, platform: Platform) -> tuple[RunningJob, ...]:
    """Return one or two running jobs on random processors, with ends from 5 to 40 s, one in eight much later."""
    free = [platform.processor_names[p] for p in rng.permutation(platform.num_processors)]
    running = []
    for r in range(int(rng.integers(1, 3))):
        if not free:
            break
        tasks = int(rng.integers(1, len(free) + 1))
        nodes, free = tuple(free[:tasks]), free[tasks:]
        end = float(rng.choice((5.0, 10.0, 20.0, round(rng.uniform(5.0, 40.0), 1))))
        if rng.random() < 0.125:
            end *= 6.0  # often later than the schedule of the jobs
        job = Job(f"R{r + 1}", tasks, 100.0, 0.5, task_bandwidth=round(rng.uniform(0.0, 5.0), 1))
        running.append(RunningJob(job, nodes, end))
    return tuple(running)


def _with_bandwidths(
    rng: np.random.Generator, platform: Platform, jobs: Sequence[Job], running: Sequence[RunningJob]
) -> Platform:
    """Return the platform with bandwidths: tight or ample, enough for the running jobs and for each job alone.

    A job alone fits if the links carry it spread over the largest clusters first, which is what the
    lower limit of each bandwidth ensures; a tight link often has exactly this.
    """
    sizes = [cluster.num_processors for cluster in platform.clusters]
    needed = np.zeros(len(platform.links))
    for job in jobs:
        needed = np.maximum(needed, link_loads(job, _largest_first(job.tasks, sizes), platform))
    needed = np.maximum(needed, _running_loads(platform, running))
    scale = max(job.task_bandwidth for job in jobs)
    tight = 0.2 if rng.random() < 0.25 else 0.9
    drawn = [scale * rng.uniform(0.0, 0.8) if rng.random() < tight else AMPLE_BANDWIDTH for _ in needed]
    bandwidths = np.maximum(needed, drawn).tolist()
    clusters = [c.replace(link_bandwidth=b) for c, b in zip(platform.clusters, bandwidths, strict=False)]
    above = bandwidths[len(clusters) :]
    switches = [s.replace(bandwidth=b) for s, b in zip(platform.switches, above, strict=True)]
    return Platform(tuple(clusters), tuple(switches))


def _largest_first(tasks: int, sizes: Sequence[int]) -> list[int]:
    """Return tasks per cluster, when the largest clusters are filled first."""
    spread = [0] * len(sizes)
    for c in sorted(range(len(sizes)), key=lambda c: -sizes[c]):
        spread[c] = min(tasks, sizes[c])
        tasks -= spread[c]
    return spread


def _running_loads(platform: Platform, running: Sequence[RunningJob]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return the load of the running jobs on each link, MB/s."""
    cluster_of = {
        name: platform.nodes[n].cluster
        for name, n in zip(platform.processor_names, platform.processor_node, strict=True)
    }
    total = np.zeros(len(platform.links))
    for run in running:
        tasks = [0] * len(platform.clusters)
        for name in run.nodes:
            tasks[cluster_of[name]] += 1
        total += link_loads(run.job, tasks, platform)
    return total


def _slot(rng: np.random.Generator, instance: Instance, max_slots: int) -> float:
    """Return a slot length, s, of which a serial schedule takes at most ``max_slots``."""
    slot = float(rng.choice((5.0, 7.5, 10.0, 12.5, 20.0)))
    while _serial_slots(instance, slot) > max_slots:
        slot *= 1.25
    return slot


def _serial_slots(instance: Instance, slot: float) -> int:
    """Return the slots of a schedule that waits for all, then runs one job after the other on the slowest nodes."""
    slowdown = max(1.0 / group.effective_power for cluster in instance.platform.clusters for group in cluster.nodes)
    ready = max([0.0, *(job.arrival for job in instance.jobs), *(run.end for run in instance.running)])
    return slots_up(ready, slot) + sum(slots_up(execution_time(job, slowdown), slot) for job in instance.jobs)
