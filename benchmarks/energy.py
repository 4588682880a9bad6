"""Seconds that the energy meter and the PCBE policies take.

The meter gets 200,000 placements on 240 nodes of four cores. The policies get the large experiment of the source where
``--data`` names the folder of its files, else a stream of 891 jobs on twelve nodes of the same sizes.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import coalloc
from coalloc import Cluster, Instance, Job, NodeGroup, Placement, Platform, Schedule

POLICIES: Sequence[tuple[str, dict[str, Any]]] = (
    ("node-list", {}),
    ("node-list", {"job_order": "shortest", "node_order": "high-power"}),
    ("pcbe", {"job_order": "high-first"}),
    ("pcbe", {"job_order": "high-first", "criterion": "edp"}),
)
LANE = 8
"""Cores on which jobs follow each other: two nodes."""

BIG = NodeGroup(3, 1.0, cores=64, idle_watts=14.0, static_watts=35.0, core_watts=3.3)
FAST = NodeGroup(9, 1.4, cores=8, idle_watts=27.0, static_watts=69.0, core_watts=6.5)


def seconds(call: Callable[[], object], repeat: int = 3) -> float:
    """Return the least time of a call, s."""
    times = []
    for _ in range(repeat):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return min(times)


def long_schedule(placements: int) -> tuple[Instance, Schedule]:
    """Return jobs of 1 to 8 tasks that follow each other on lanes of 8 cores, with gaps."""
    group = NodeGroup(60, 1.0, cores=4, idle_watts=50.0, static_watts=100.0, core_watts=20.0)
    platform = Platform([Cluster(f"C{c}", [group], 125.0) for c in range(1, 5)])
    names = platform.processor_names
    lanes = [names[first : first + LANE] for first in range(0, len(names), LANE)]
    rng = np.random.default_rng(0)
    jobs, placed, free = [], [], [0.0] * len(lanes)
    for i in range(placements):
        lane, tasks, length = i % len(lanes), int(rng.integers(1, LANE + 1)), float(rng.uniform(1.0, 1000.0))
        start = free[lane] + float(rng.uniform(0.0, 50.0))
        free[lane] = start + length
        jobs.append(Job(f"J{i}", tasks, length))
        placed.append(Placement(f"J{i}", start, free[lane], tuple(lanes[lane][:tasks])))
    return Instance(platform, jobs), Schedule(tuple(placed))


def large_experiment(data: Path | None) -> Instance:
    """Return the large experiment, or a stream of the same length on nodes of the same sizes."""
    if data is not None:
        return coalloc.read_irmasim(data / "kit" / "platform.json", data / "kit" / "workload.json")
    stream = coalloc.generate("lublin", seed=1, jobs=891, nodes=64, clusters=1)
    return stream.replace(platform=Platform([Cluster("C1", [BIG, FAST], 0.0)]))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--data", type=Path, help="folder with the folders of the PCBE experiments")
    parser.add_argument("--placements", type=int, default=200_000)
    options = parser.parse_args(arguments)
    print("| what | s |\n|---|---|")
    case = long_schedule(options.placements)
    print(f"| energy of {options.placements:,} placements | {seconds(lambda: coalloc.energy(*case)):.2f} |", flush=True)
    instance = large_experiment(options.data)
    for policy, chosen in POLICIES:
        taken = seconds(lambda policy=policy, chosen=chosen: coalloc.simulate(instance, policy, **chosen))
        label = ", ".join([policy, *chosen.values()])
        print(f"| {label}: {len(instance.jobs)} jobs, {len(instance.platform.nodes)} nodes | {taken:.2f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
