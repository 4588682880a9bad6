"""Small random instances with windows of all kinds, jobs that are to start later, and bad estimates."""

from __future__ import annotations

import numpy as np

from coalloc import Cluster, Instance, InstanceError, Job, NodeGroup, Platform, RunningJob, Window


def random_instance(seed: int) -> tuple[Instance, bool]:
    """Return an instance with windows of all kinds, reservations and bad estimates, and whether jobs are killed."""
    rng = np.random.default_rng([seed, 7])

    def one(*values):
        return values[int(rng.integers(len(values)))]

    clusters = [
        Cluster(
            f"C{c}",
            [
                NodeGroup(int(rng.integers(1, 4)), power=one(1.0, 2.0, 0.5), cores=one(1, 1, 2))
                for _ in range(int(rng.integers(1, 3)))
            ],
            link_bandwidth=one(4.0, 8.0, 1000.0),
        )
        for c in range(1, int(rng.integers(2, 4)))
    ]
    platform = Platform(clusters)
    total, names = platform.num_processors, platform.processor_names
    jobs = [
        Job(
            f"J{j}",
            int(rng.integers(1, max(2, min(total, 6) + 1))) if rng.random() < 0.9 else total,
            base := float(rng.integers(1, 50)),
            one(1.0, 0.5),
            task_bandwidth=one(0.0, 8.0),
            arrival=float(rng.integers(0, 60)) if rng.random() < 0.8 else 0.0,
            estimate=base * one(0.25, 0.5, 1.0, 1.0, 1.0, 2.0),
        )
        for j in range(int(rng.integers(4, 13)))
    ]
    jobs = [job if job.tasks <= total else job.replace(tasks=total) for job in jobs]
    instance = Instance(platform, jobs, name=f"windows-{seed}")

    def window() -> Window:
        cluster = one(*clusters)
        start = float(rng.integers(0, 100)) if rng.random() < 0.9 else 0.0
        end = start + float(rng.integers(1, 60))
        kind = one("count", "count", "nodes", "nodes", "cluster")
        if kind == "count":
            group = int(rng.integers(len(cluster.nodes)))
            size = cluster.nodes[group].count * cluster.nodes[group].cores
            return Window(cluster.name, start, end, group=group, processors=int(rng.integers(1, size + 1)))
        if kind == "nodes":
            chosen = sorted(rng.permutation(cluster.num_nodes)[: int(rng.integers(1, cluster.num_nodes + 1))].tolist())
            return Window(cluster.name, start, end, nodes=[f"{cluster.name}/{n}" for n in chosen])
        return Window(cluster.name, start, end)

    def placed(name: str, start: float) -> RunningJob:
        nodes = [platform.nodes[n] for n in rng.permutation(len(platform.nodes))[: int(rng.integers(1, 3))].tolist()]
        held = [names[p] for node in nodes for p in range(node.first_processor, node.first_processor + node.cores)]
        job = Job(name, len(held), 10.0, task_bandwidth=one(0.0, 8.0))
        return RunningJob(job, held, start + float(rng.integers(1, 50)), start)

    changes = [lambda known: known.replace(running=[*known.running, placed("R1", 0.0)])] * int(rng.random() < 0.3)
    changes += [
        lambda known: known.replace(
            platform=known.platform.replace(unavailable=[*known.platform.unavailable, window()])
        )
    ] * int(rng.integers(0, 5))
    changes += [
        lambda known, r=r: known.replace(running=[*known.running, placed(f"R{r}", float(rng.integers(1, 90)))])
        for r in range(2, 2 + int(rng.integers(0, 3)))
    ]
    for change in changes:
        try:
            instance = change(instance)
        except InstanceError:
            continue  # it would contradict what the instance says already
    return instance, bool(rng.random() < 0.3)
