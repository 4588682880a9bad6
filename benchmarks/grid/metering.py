"""CPU seconds that the meter needs for 200,000 placements on the seven sites of grid1, switched off and on or not.

The jobs are made up: as many tasks as traces have, a quarter of them one, and so many jobs that most sites go off
between them.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

import numpy as np

import coalloc

NUM_PLACEMENTS = 200_000
ROUNDS = 3


def example(num_jobs: int) -> coalloc.Instance:
    """Return jobs of 1 to 1368 tasks, 41 on average, on grid1 with speeds per processor."""
    rng = np.random.default_rng(1)
    tasks = np.clip(2.0 ** rng.gamma(4.0, 1.0, num_jobs), 1, 1368).astype(int)
    tasks[rng.random(num_jobs) < 0.25] = 1
    arrivals, seconds = np.cumsum(rng.exponential(90.0, num_jobs)), rng.lognormal(7.0, 2.0, num_jobs)
    rows = zip(tasks.tolist(), seconds.tolist(), arrivals.tolist(), strict=True)
    jobs = [coalloc.Job(f"J{j}", n, t, arrival=arrival) for j, (n, t, arrival) in enumerate(rows)]
    return coalloc.Instance(coalloc.grid.platform("grid1", speeds="processor"), jobs)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--placements", type=int, default=NUM_PLACEMENTS, help=f"default {NUM_PLACEMENTS:,}")
    options = parser.parse_args(arguments)
    instance = example(options.placements)
    run = coalloc.simulate(instance, "grid", strategy="MLp", power_management=True)
    held = sum(job.tasks for job in instance.jobs)
    print(f"{options.placements:,} placements that hold {held:,} processors")
    for _ in range(ROUNDS):
        for power_management in (True, False):
            began = time.process_time()
            metered = coalloc.energy(instance, run.schedule, power_management=power_management)
            seconds, startups = time.process_time() - began, sum(metered.startups.values())
            print(f"power management {power_management!s:<5}: {seconds:5.2f} s, {startups:,} start-ups")
    return 0


if __name__ == "__main__":
    sys.exit(main())
