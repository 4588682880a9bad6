"""Schedules to draw: a list scheduler that fills the first free processors, and instances of any size."""

from __future__ import annotations

import numpy as np

from coalloc.instance import Cluster, Instance, Job, LocalUser, NodeGroup, Platform, Sharing
from coalloc.problem.allocation import node_classes
from coalloc.problem.execution import execution_time, processing_slowdown
from coalloc.schedule import Placement, Schedule

SHARED = Instance(
    Platform(
        [Cluster("C1", [NodeGroup(2, power=1.0, multiprogramming=2, memory=100.0)], link_bandwidth=5.0)],
        sharing=Sharing(contract=1.0),
    ),
    [Job("J1", 2, 100.0, memory=60.0), Job("J2", 1, 100.0, memory=50.0, arrival=50.0)],
    local_users=[LocalUser("C1/0", 10.0, 20.0, profile="shell"), LocalUser("C1/0", 300.0, 310.0, profile="late")],
)
"""J1 (120 MB in all) is stopped on node 1 while J2 is there, from 50 to 150, then needs 50 s; a user is at node 0."""
SHARED_SCHEDULE = Schedule(
    (Placement("J1", 0.0, 200.0, ("C1/0.0", "C1/1.0")), Placement("J2", 50.0, 150.0, ("C1/1.1",)))
)


def list_schedule(instance: Instance, slot: float | None = None) -> Schedule:
    """Start each job, in order, as soon as enough processors are free, on those that are free first."""
    platform = instance.platform
    classes = node_classes(platform)
    free = np.zeros(platform.num_processors)
    for run in instance.running:
        free[[platform.processor_index[name] for name in run.nodes]] = run.end
    power = np.concatenate([np.full(c.capacity, c.effective_power) for c in classes])
    placements = []
    for job in instance.jobs:
        ready = np.maximum(free, job.arrival)
        chosen = np.sort(np.lexsort((np.arange(len(free)), ready))[: job.tasks])
        start = float(ready[chosen].max())
        duration = execution_time(job, processing_slowdown(power[chosen].tolist()))
        if slot is not None:
            start, duration = slot * np.ceil(start / slot), slot * np.ceil(duration / slot)
        free[chosen] = start + duration
        names = tuple(platform.processor_names[p] for p in chosen)
        placements.append(Placement(job.id, float(start), float(start + duration), names))
    return Schedule(tuple(placements), slot, instance.name)


def random_instance(
    seed: int,
    jobs: int,
    sizes: tuple[int, ...],
    largest: int,
    bandwidth: float = 125.0,
    spread: float = 0.0,
    cores: int = 1,
) -> Instance:
    """Return an instance with one cluster per size, whose jobs have 1 to ``largest`` tasks."""
    rng = np.random.default_rng(seed)
    clusters = [
        Cluster(f"C{c + 1}", [NodeGroup(size, power=1.0 - 0.25 * (c % 3), cores=cores)], link_bandwidth=bandwidth)
        for c, size in enumerate(sizes)
    ]
    made = [
        Job(
            f"J{i + 1}",
            tasks=int(rng.integers(1, largest + 1)),
            base_time=float(rng.weibull(1.5) * 3600 + 60),
            processing_share=0.7,
            task_bandwidth=float(rng.uniform(5, 20)),
            arrival=float(rng.uniform(0, spread)) if spread else 0.0,
        )
        for i in range(jobs)
    ]
    return Instance(Platform(clusters), made, name=f"random-{seed}")
