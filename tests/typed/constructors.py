"""Each public constructor with lists, as people write them; type checkers read this file, and a test runs it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

import coalloc
from coalloc import (
    Cluster,
    Instance,
    Job,
    NodeGroup,
    Placement,
    Platform,
    Policy,
    PowerStates,
    RunningJob,
    Schedule,
    SolveResult,
    Switch,
)
from coalloc.extend import Start, State
from coalloc.results import SimulationResult, SolveStatus, TracePoint

groups = [NodeGroup(2, power=1.0), NodeGroup(count=2, power=0.5, availability=0.9, cores=4, idle_watts=30)]
clusters = [Cluster("C1", groups, link_bandwidth=125.0, switch="S1"), Cluster("C2", [NodeGroup(1, 1.0)], 125, "S1")]
states = PowerStates(1, 2, 2, 50, 0, 110, 17.8, 26, startup_time=20, core_grace=5, site_grace=10, startup_watts=None)
powered = Cluster("C3", [NodeGroup(4, 1.0)], 0, efficiency=1.75, power_states=states)
switches = [Switch("S1", parent="S0", bandwidth=250.0)]
platform = Platform(clusters, switches)
jobs = [Job("J1", tasks=2, base_time=600.0), Job("J2", 1, 300.0, processing_share=0.7, arrival=3, user="me")]
running = [RunningJob(Job("J0", 1, 60.0), ["C2/0"], end=60.0)]
instance = Instance(platform, jobs, running, name="typed")
star = [cluster.replace(switch=None) for cluster in clusters]
same = Instance(Platform(clusters=tuple(star), switches=()), jobs=tuple(jobs), name="typed")
schedule = Schedule([Placement("J1", 0.0, 600.0, ["C1/0", "C1/1"]), Placement("J2", 60.0, 360.0, ("C2/0",))], slot=60.0)

held: Sequence[str] = schedule["J1"].nodes
placed: tuple[Placement, ...] = schedule.placements
known: tuple[Job, ...] = instance.jobs
links: tuple[Cluster, ...] = instance.platform.clusters


class FirstFit:
    """A policy of the user's own: the first job that fits on the first class."""

    scope: Final = "platform"

    def decide(self, state: State) -> Iterable[Start]:
        """Start what fits."""
        return [Start(job.id, [job.tasks, 0, 0]) for job in state.queue[:1] if job.tasks <= state.free[0]]


mine: Policy = FirstFit()
run: SimulationResult = coalloc.simulate(instance.replace(jobs=[jobs[0]], running=[]), mine)
result: SolveResult = coalloc.solve(same, slot="50%", start=None, time_limit=None)
points: list[TracePoint] = list(result.trace)
is_proven: bool = result.status is SolveStatus.OPTIMAL
