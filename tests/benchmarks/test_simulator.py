"""Programs of EASY that share no code with coalloc start every job when coalloc does."""

from __future__ import annotations

import numpy as np
import pytest
from bare_easy import easy as bare
from simpy_easy import easy as simpy

import coalloc
from coalloc import Cluster, Instance, Job, NodeGroup, Platform


def random_jobs(seed):
    """Return jobs at whole seconds, many of which come and end at once; some take longer than estimated."""
    rng = np.random.default_rng(seed)
    processors, number = int(rng.integers(1, 12)), int(rng.integers(1, 40))
    arrivals = np.sort(rng.integers(0, 3 * number, number))
    return processors, [
        (float(arrival), float(rng.integers(1, 20)), int(rng.integers(1, processors + 1)), float(rng.integers(1, 25)))
        for arrival in arrivals
    ]


@pytest.mark.parametrize("program", [bare, simpy])
def test_every_job_starts_when_coalloc_starts_it(program):
    for seed in range(200):
        processors, jobs = random_jobs(seed)
        platform = Platform([Cluster("C1", [NodeGroup(processors, power=1.0)], link_bandwidth=1.0)])
        listed = [Job(f"J{n}", size, run, arrival=at, estimate=said) for n, (at, run, size, said) in enumerate(jobs)]
        run = coalloc.simulate(Instance(platform, listed), "easy")
        assert program(jobs, processors) == [placement.start for placement in run.schedule], seed
