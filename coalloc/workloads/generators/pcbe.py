"""The comparative experiments of PCBE: two nodes of four cores, one fast and one frugal, and 22 tasks.

Source: PCBE, section 4.2.1: nodes of 3.4 and 1.5 GHz; jobs of three profiles, which do not decide their tasks; all
arrive between 0 and 2 s. The workloads there were made by hand, each to favour one policy; these are drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import numpy as np
from pydantic import Field

from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.instance.values import Count, Positive, PositiveSeconds, Seconds, Share, value
from coalloc.workloads.generator import TIME_DIGITS, Generator

CORES = 4
"""Cores of each node."""

SIZES = (2, 4)
"""Tasks of a job, while so many are left to give."""

SLOW_CLOCK, FAST_CLOCK = 1.5, 3.4
"""GHz; the slow node is the reference, both do one operation per cycle."""

NumTasks = Annotated[int, Field(strict=True, ge=1, le=1_000_000)]


@value()
class Pcbe(Generator):
    """Jobs of three profiles on two nodes of four cores: 3.4 GHz, and 1.5 GHz at 0.3 to 0.4 of the watts."""

    tasks: Annotated[NumTasks, "tasks of all jobs together"] = 22
    last_arrival: Annotated[Seconds, "arrivals: uniform from 0, where the first job arrives, to this, s"] = 2.0
    high: Annotated[PositiveSeconds, "time of the high-intensity profile at 1 GHz, s"] = 10.0
    medium: Annotated[PositiveSeconds, "time of the medium-intensity profile at 1 GHz, s"] = 5.0
    low: Annotated[PositiveSeconds, "time of the low-intensity profile at 1 GHz, s"] = 1.0
    slow_static_watts: Annotated[Positive, "static watts of the slow node"] = 2.31
    slow_core_watts: Annotated[Positive, "watts of a busy core of the slow node"] = 1.59
    fast_static_watts: Annotated[Positive, "static watts of the fast node"] = 6.14
    fast_core_watts: Annotated[Positive, "watts of a busy core of the fast node"] = 5.59
    idle_share: Annotated[Share, "idle watts, as a share of the static watts"] = 0.05

    def draw(self, rng: np.random.Generator, name: str) -> Instance:
        """Return one instance."""
        sizes = self.draw_sizes(rng)
        times = rng.choice((self.high, self.medium, self.low), len(sizes))
        arrivals = np.round(np.sort(rng.uniform(0.0, self.last_arrival, len(sizes))), TIME_DIGITS)
        arrivals[0] = 0.0
        jobs = (
            self.job(f"J{number}", *row)
            for number, row in enumerate(zip(sizes, times.tolist(), arrivals.tolist(), strict=True), start=1)
        )
        return Instance(self.platform(), tuple(jobs), name=name)

    def platform(self) -> Platform:
        """Return the two nodes, the fast one first."""
        fast = self.node(FAST_CLOCK, self.fast_static_watts, self.fast_core_watts)
        slow = self.node(SLOW_CLOCK, self.slow_static_watts, self.slow_core_watts)
        return Platform((Cluster("C1", (fast, slow), link_bandwidth=0.0),))

    def node(self, clock: float, static_watts: float, core_watts: float) -> NodeGroup:
        """Return one of the nodes; clock in GHz."""
        return NodeGroup(
            1,
            power=clock / SLOW_CLOCK,
            cores=CORES,
            idle_watts=self.idle_share * static_watts,
            static_watts=static_watts,
            core_watts=core_watts,
            clock=clock,
            flops_per_cycle=1.0,
        )

    def draw_sizes(self, rng: np.random.Generator) -> list[Count]:
        """Return the tasks of each job: 2 or 4, as long as they last."""
        sizes: list[int] = []
        left = self.tasks
        while left:
            sizes.append(min(left, int(rng.choice(SIZES))))
            left -= sizes[-1]
        return sizes

    def job(self, id: str, tasks: int, seconds: float, arrival: float) -> Job:
        """Return a job that takes so many seconds at 1 GHz; its user takes them to be at the slowest clock.

        The energy estimate follows PCBE, section 4.2.2: estimated time times the core watts of the frugal node.
        """
        return Job(
            id,
            tasks,
            base_time=seconds / SLOW_CLOCK,
            arrival=arrival,
            estimate=seconds,
            energy_estimate=seconds * self.slow_core_watts,
        )


GENERATORS: Mapping[str, type[Generator]] = {"pcbe": Pcbe}
