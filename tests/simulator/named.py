"""Policies for tests on shared nodes: given nodes, or the first that are free."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from coalloc.extend import Start
from coalloc.problem.allocation import Scope
from coalloc.simulator.policy import State


@dataclass
class Named:
    """Starts each job on its nodes once it waits and each of them has a free place."""

    nodes: dict[str, tuple[str, ...]]
    scope: Scope = "platform"
    shares_nodes: bool = True

    def decide(self, state: State) -> list[Start]:
        """Return the jobs whose nodes have room, in order of arrival."""
        free = Counter({load.name: load.places for load in state.node_loads})
        starts = []
        for job in state.queue:
            if all(free[name] for name in self.nodes[job.id]):
                free.subtract(self.nodes[job.id])
                starts.append(Start(job.id, nodes=self.nodes[job.id]))
        return starts


@dataclass
class FirstFree:
    """Starts each job that fits on the first places that are free, one per node; it knows dedicated nodes as well."""

    scope: Scope = "platform"
    shares_nodes: bool = True

    def decide(self, state: State) -> list[Start]:
        """Return the jobs that fit, in order of arrival."""
        free, starts = list(state.free_nodes), []
        for job in state.queue:
            node_of = {place.partition(".")[0]: place for place in reversed(free)}
            chosen = sorted(node_of.values())[: job.tasks]
            if len(chosen) == job.tasks:
                free = [place for place in free if place not in chosen]
                starts.append(Start(job.id, nodes=chosen))
        return starts
