"""Seconds that the checker needs for 100,000 placements on 240 processors, with each rule for links.

The schedule is greedy: every job takes the processors that are free first, in three clusters. With wide
links it is valid whatever the rule; narrow ones are overloaded nearly always, and jobs that share them are slowed.
"""

from __future__ import annotations

import argparse
import heapq
import sys
import time
from collections.abc import Sequence

import numpy as np

import coalloc
from coalloc.checker import Links

NUM_PLACEMENTS = 100_000
NODES = 80
LINKS: tuple[Links, ...] = ("strict", "ignore", "shared")
BANDWIDTHS = {"wide": 1e6, "narrow": 50.0}
"""Bandwidth of each cluster's link, MB/s."""


def example(num_placements: int, bandwidth: float) -> tuple[coalloc.Instance, coalloc.Schedule]:
    """Return an instance of jobs with 1 to 16 tasks, and its greedy schedule."""
    rng = np.random.default_rng(1)
    clusters = tuple(coalloc.Cluster(f"C{c}", (coalloc.NodeGroup(NODES, 1.0),), bandwidth) for c in (1, 2, 3))
    tasks = (2 ** rng.integers(0, 5, num_placements)).tolist()
    base_times = rng.uniform(10.0, 1000.0, num_placements).tolist()
    jobs = tuple(
        coalloc.Job(f"J{j}", n, t, processing_share=0.7, task_bandwidth=5.0)
        for j, (n, t) in enumerate(zip(tasks, base_times, strict=True))
    )
    instance = coalloc.Instance(coalloc.Platform(clusters), jobs)
    free = [(0.0, name) for name in instance.platform.processor_names]
    placements = []
    for job in jobs:
        taken = [heapq.heappop(free) for _ in range(job.tasks)]
        start = max(since for since, _ in taken)
        names = tuple(name for _, name in taken)
        placements.append(coalloc.Placement(job.id, start, start + job.base_time, names))
        for name in names:
            heapq.heappush(free, (start + job.base_time, name))
    return instance, coalloc.Schedule(tuple(placements))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--placements", type=int, default=NUM_PLACEMENTS, help=f"default {NUM_PLACEMENTS:,}")
    options = parser.parse_args(arguments)
    print(f"{options.placements:,} placements on {3 * NODES} processors")
    for name, bandwidth in BANDWIDTHS.items():
        instance, schedule = example(options.placements, bandwidth)
        for links in LINKS:
            began = time.perf_counter()
            violations = coalloc.check(instance, schedule, links=links)
            print(f"{name:<6} links, {links:<6}: {time.perf_counter() - began:6.2f} s, {len(violations):,} violations")
    return 0


if __name__ == "__main__":
    sys.exit(main())
