"""Seconds that the energy meter, the PCBE policies, and the proofs of least energy and EDP take.

The meter gets 200,000 placements on 240 nodes of four cores. The policies get the large experiment of the source where
``--data`` names the folder of its files, else a stream of 891 jobs on twelve nodes of the same sizes. The exact models
get the comparatives of the source, else one of its size: energy and EDP in continuous time and in slots, and fronts.
Processor seconds are those of the process, whatever else runs on the machine.
"""

from __future__ import annotations

import argparse
import itertools
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

COMPARATIVES = ("energy_1", "energy_2", "energy_3", "edp_2", "edp_3")
"""Folders of the comparatives on two nodes."""
SLOT = 0.25
"""Slots of the slotted runs, s."""

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


def comparatives(data: Path | None) -> list[Instance]:
    """Return the comparatives, or an instance of their size."""
    if data is None:
        return [coalloc.generate("pcbe", seed=1)]
    folders = [data / name for name in COMPARATIVES]
    return [
        coalloc.read_irmasim(folder / "platform.json", folder / "workload.json").replace(name=folder.name)
        for folder in folders
    ]


def print_proofs(instance: Instance, time_limit: float) -> None:
    """Print what is proved of the least energy and EDP of an instance, and how soon."""
    for objective, slot in itertools.product(("energy", "edp"), (None, SLOT)):
        began, busy = time.perf_counter(), time.process_time()
        found = coalloc.solve(instance, objective=objective, scope="node", slot=slot, time_limit=time_limit)
        spent = f"{time.perf_counter() - began:.1f} | {time.process_time() - busy:.1f}"
        gap = "-" if found.gap is None else f"{100 * found.gap:.4f}"
        print(f"| {instance.name} | {objective} | {slot or '-'} | {found.status.value} | {gap} | {spent} |", flush=True)


def print_front(instance: Instance) -> None:
    """Print how many points of a front are proved, and how soon."""
    began, busy = time.perf_counter(), time.process_time()
    table = coalloc.studies.energy_front(instance)
    spent = f"{time.perf_counter() - began:.1f} | {time.process_time() - busy:.1f}"
    proven = f"{(table['gap'] == 0.0).sum()} of {len(table)} points" + (", complete" if table.attrs["complete"] else "")
    print(f"| {instance.name} | front | - | {proven} | - | {spent} |", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--data", type=Path, help="folder with the folders of the PCBE experiments")
    parser.add_argument("--placements", type=int, default=200_000)
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for each proof")
    options = parser.parse_args(arguments)
    print("| what | s |\n|---|---|")
    case = long_schedule(options.placements)
    print(f"| energy of {options.placements:,} placements | {seconds(lambda: coalloc.energy(*case)):.2f} |", flush=True)
    instance = large_experiment(options.data)
    for policy, chosen in POLICIES:
        taken = seconds(lambda policy=policy, chosen=chosen: coalloc.simulate(instance, policy, **chosen))
        label = ", ".join([policy, *chosen.values()])
        print(f"| {label}: {len(instance.jobs)} jobs, {len(instance.platform.nodes)} nodes | {taken:.2f} |", flush=True)
    print("\n| instance | objective | slot, s | status | gap, % | s | processor s |\n|---|---|---|---|---|---|---|")
    for small in comparatives(options.data):
        print_proofs(small, options.time_limit)
        print_front(small)
    return 0


if __name__ == "__main__":
    sys.exit(main())
