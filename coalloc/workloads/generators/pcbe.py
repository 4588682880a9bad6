"""Comparative experiments of PCBE: nodes of four cores, one fast and one frugal or more of each, and 22 tasks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import numpy as np
from pydantic import Field

from coalloc.documents.values import Positive, PositiveSeconds, Seconds, Share
from coalloc.instance import Cluster, Fault, Instance, InstanceError, Job, NodeGroup, Platform
from coalloc.workloads.generator import TIME_DIGITS, Generator, NumJobs

CORES = 4
"""Cores of each node."""

NARROW, WIDE = 2, 4
"""Tasks of a job."""

PUBLISHED_JOBS, PUBLISHED_TASKS = 7, 22
"""Jobs of most published workloads, and the tasks of them all."""

SLOW_CLOCK, FAST_CLOCK = 1.5, 3.4
"""GHz; the slow node is the reference, both do one operation per cycle."""

NumNodes = Annotated[int, Field(strict=True, ge=2, le=1_000_000)]
NumTasks = Annotated[int, Field(strict=True, ge=NARROW, le=4_000_000)]


class Pcbe(Generator):
    """Jobs with three CPU profiles on four-core nodes of 3.4 GHz and of 1.5 GHz (0.3 to 0.4 of the watts).

    PCBE, section 4.2.1, has two nodes of four cores with one operation per cycle, and 22 tasks in jobs of three
    profiles, independent of the number of tasks; all arrive within 2 s. Its eight workloads were made by hand, each to
    favour one policy; these are sampled. Jobs of 2 and of 4 tasks, in random order, are those of the published files;
    the watts are theirs to three digits. The profiles are equally likely.

    Cluster C1 has the fast nodes first. The slow node is the reference (speed 1), the fast one has the speed 3.4/1.5; a
    reference run time is the time of the profile divided by 1.5. The requested walltime is the time at 1 GHz, and the
    energy figure that time times the core watts of the slow node, as in the source (section 4.2.2). Each job must be on
    one node: simulate with ``pcbe`` or ``node-list``. On this platform energy alone is a degenerate goal
    (docs/energy.md): everything on the slow node takes less than any good schedule.
    """

    jobs: Annotated[NumJobs, "number of jobs with 2 or 4 tasks each"] = PUBLISHED_JOBS
    tasks: Annotated[NumTasks | None, "total number of tasks, even; None: in proportion to 22 for 7 jobs"] = None
    nodes: Annotated[NumNodes, "number of nodes; half of them are fast"] = 2
    last_arrival: Annotated[
        Seconds, "last possible arrival, s; the first job arrives at 0, the others uniformly until then"
    ] = 2.0
    high: Annotated[PositiveSeconds, "run time of the high-intensity profile at 1 GHz, s"] = 10.0
    medium: Annotated[PositiveSeconds, "run time of the medium-intensity profile at 1 GHz, s"] = 5.0
    low: Annotated[PositiveSeconds, "run time of the low-intensity profile at 1 GHz, s"] = 1.0
    slow_static_watts: Annotated[Positive, "static watts of the slow node"] = 2.31
    slow_core_watts: Annotated[Positive, "watts of a busy core of the slow node"] = 1.59
    fast_static_watts: Annotated[Positive, "static watts of the fast node"] = 6.14
    fast_core_watts: Annotated[Positive, "watts of a busy core of the fast node"] = 5.59
    idle_share: Annotated[Share, "idle watts, as a share of the static watts"] = 0.05

    def __post_init__(self) -> None:
        if self.nodes % 2:
            raise InstanceError([Fault("nodes", f"must be even, because half of the nodes are fast, got {self.nodes}")])
        if self.num_tasks % NARROW or not NARROW * self.jobs <= self.num_tasks <= WIDE * self.jobs:
            fault = f"must be even and from {NARROW} to {WIDE} per job ({self.jobs} jobs), got {self.tasks}"
            raise InstanceError([Fault("tasks", fault)])

    @property
    def num_tasks(self) -> int:
        """Tasks of all jobs together."""
        if self.tasks is not None:
            return self.tasks
        return NARROW * round(self.jobs * PUBLISHED_TASKS / PUBLISHED_JOBS / NARROW)

    def draw(self, rng: np.random.Generator, name: str) -> Instance:
        """Return one instance."""
        sizes = self.draw_sizes(rng)
        times = rng.choice((self.high, self.medium, self.low), self.jobs)
        arrivals = np.round(np.sort(rng.uniform(0.0, self.last_arrival, self.jobs)), TIME_DIGITS)
        arrivals[0] = 0.0
        jobs = (
            self.job(f"J{number}", *row)
            for number, row in enumerate(zip(sizes, times.tolist(), arrivals.tolist(), strict=True), start=1)
        )
        return Instance(self.platform(), tuple(jobs), name=name)

    def platform(self) -> Platform:
        """Return the nodes, the fast ones first."""
        fast = self.node(FAST_CLOCK, self.fast_static_watts, self.fast_core_watts)
        slow = self.node(SLOW_CLOCK, self.slow_static_watts, self.slow_core_watts)
        return Platform((Cluster("C1", (fast, slow), link_bandwidth=0.0),))

    def node(self, clock: float, static_watts: float, core_watts: float) -> NodeGroup:
        """Return half of the nodes; clock in GHz."""
        return NodeGroup(
            self.nodes // 2,
            power=clock / SLOW_CLOCK,
            cores=CORES,
            idle_watts=self.idle_share * static_watts,
            static_watts=static_watts,
            core_watts=core_watts,
            clock=clock,
            flops_per_cycle=1.0,
        )

    def draw_sizes(self, rng: np.random.Generator) -> list[int]:
        """Return the tasks of each job, 2 or 4."""
        num_wide = (self.num_tasks - NARROW * self.jobs) // (WIDE - NARROW)
        sizes = [WIDE] * num_wide + [NARROW] * (self.jobs - num_wide)
        return [int(size) for size in rng.permutation(sizes)]

    def job(self, id: str, tasks: int, seconds: float, arrival: float) -> Job:
        """Return a job that takes so many seconds at 1 GHz; its user takes them to be at the slowest clock."""
        return Job(
            id,
            tasks,
            base_time=seconds / SLOW_CLOCK,
            arrival=arrival,
            estimate=seconds,
            energy_estimate=seconds * self.slow_core_watts,
        )


GENERATORS: Mapping[str, type[Generator]] = {"pcbe": Pcbe}
