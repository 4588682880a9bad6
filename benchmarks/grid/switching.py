"""The least energy of sites that switch off: how many small instances are proved, and how far policies are on days.

    python benchmarks/grid/switching.py grid1/week-0[1-3].json.gz -o benchmarks/grid/results/switching.md

A day is all jobs of a week that arrive on it: day k of the k-th week, from 0. No job may wait for longer than a
start-up, 20 s. "Late" jobs of a run wait for longer: the bound is none on that run.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from page import show

import coalloc
from coalloc import Cluster, Instance, Job, NodeGroup, Platform, PowerStates
from coalloc.bench.provenance import code_sentence

NUM_SMALL = 10
SMALL_WAIT = 25.0
"""Longest wait in the random instances, s."""
STARTUP = 20.0
"""Seconds of a start-up, and the longest wait in the days."""
DAY = 86_400.0
STRATEGIES = ("MST_v", "MaxAR_v", "MLp_v", "MCT", "MWT_eff", "Random")


def small(seed: int) -> Instance:
    """Return 10 jobs on 3 sites of 4 to 8 cores and different speeds; all times are multiples of 5 s."""
    draw = random.Random(seed)
    sites = []
    for name, speed in zip("ABC", (1.0, 2.0, 5.0), strict=True):
        cores = draw.randint(4, 8)
        watts = {
            "site_watts": draw.choice([0.0, 20.0, 50.0]),
            "board_watts": float(draw.randint(10, 60)),
            "core_idle_watts": float(draw.randint(5, 20)),
            "core_working_watts": float(draw.randint(20, 60)),
            "startup_watts": float(draw.randint(100, 1500)),
        }
        states = PowerStates(
            chassis=1,
            boards=cores,
            cores=1,
            chassis_watts=0.0,
            startup_time=STARTUP,
            core_grace=5.0,
            site_grace=10.0,
            **watts,
        )
        sites.append(Cluster(name, [NodeGroup(cores, power=speed)], link_bandwidth=0.0, power_states=states))
    jobs = [
        Job(f"J{k}", tasks=draw.randint(1, 3), base_time=50.0 * draw.randint(1, 10), arrival=5.0 * draw.randint(0, 60))
        for k in range(10)
    ]
    return Instance(Platform(sites), jobs)


def day_of(week: Instance, day: int) -> Instance:
    """Return the jobs of a week that arrive on a day, on a clock that begins with them."""
    jobs = [job for job in week.jobs if day * DAY <= job.arrival < (day + 1) * DAY]
    return week.replace(jobs=[job.replace(arrival=job.arrival - jobs[0].arrival) for job in jobs])


def small_rows(time_limit: float) -> Iterator[str]:
    """Yield a row for each random instance."""
    yield "| instance | status | energy, kJ | bound, kJ | CPU, s |"
    yield "|---|---|---:|---:|---:|"
    for seed in range(NUM_SMALL):
        began = time.process_time()
        result = coalloc.grid.least_energy(small(seed), SMALL_WAIT, time_limit=time_limit)
        values = ["-" if x is None else f"{x / 1e3:.3f}" for x in (result.objective, result.lower_bound)]
        yield f"| {seed} | {result.status.value} | {' | '.join(values)} | {time.process_time() - began:.1f} |"


def day_rows(name: str, day: Instance, time_limit: float) -> Iterator[str]:
    """Yield a row for the schedule that was found, and one for each strategy."""
    began = time.process_time()
    result = coalloc.grid.least_energy(day, STARTUP, time_limit=time_limit)
    seconds = time.process_time() - began
    bound = result.lower_bound or 0.0
    found = [("`least_energy`", result.schedule)] if result.schedule is not None else []
    runs = [(f"`{s}`", coalloc.simulate(day, "grid", strategy=s, power_management=True).schedule) for s in STRATEGIES]
    yield ""
    yield f"{name}: {len(day.jobs)} jobs, bound {bound / 1e6:.2f} MJ, {seconds:.0f} s of CPU."
    yield ""
    yield "| schedule | energy, MJ | gap | start-ups | late jobs |"
    yield "|---|---:|---:|---:|---:|"
    for label, schedule in [*found, *runs]:
        metered = coalloc.energy(day, schedule, power_management=True)
        late = sum(schedule[job.id].start > job.arrival + STARTUP + 1e-6 for job in day.jobs)
        gap = f"{1.0 - bound / metered.total:.1%}"
        yield f"| {label} | {metered.total / 1e6:.2f} | {gap} | {sum(metered.startups.values())} | {late} |"


def page(weeks: Sequence[Path], time_limit: float) -> Iterator[str]:
    """Yield the lines of the results."""
    yield "# Least energy with start-ups"
    yield ""
    yield f"Made with {code_sentence()}. Limit of {time_limit:g} s for each instance."
    yield ""
    yield "## 10 jobs on 3 sites"
    yield ""
    yield from small_rows(time_limit)
    yield ""
    yield "## Days of grid1"
    for k, path in enumerate(weeks):
        week = coalloc.read_instance(path)
        yield from day_rows(f"{week.name}, day {k}", day_of(week, k), time_limit)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("weeks", type=Path, nargs="*", help="weeks as of coalloc merge")
    parser.add_argument("--time-limit", type=float, default=200.0, help="seconds for each instance")
    parser.add_argument("-o", "--output", type=Path, help="page to write as well")
    options = parser.parse_args(arguments)
    show(page(options.weeks, options.time_limit), options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
