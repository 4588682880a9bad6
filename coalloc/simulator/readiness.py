"""Times at which jobs may join the queue: after other jobs, after lags from starts and ends, with their gang."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, Self

from coalloc.documents.columns import column
from coalloc.documents.text import quoted
from coalloc.instance import Instance
from coalloc.instance.features import FEATURES, UnsupportedFeature
from coalloc.simulator.gangs import Gang, gangs_of

Event = Literal["start", "end"]
Wait = tuple[int, Event, float]
"""A job by index, which of its times, and how long after it, s."""


@dataclass(slots=True)
class Readiness:
    """Conditions for which jobs, by index, still wait, and the time from which on they may join the queue, s."""

    waits: dict[int, int]
    followers: dict[tuple[int, Event], list[tuple[int, float]]]
    ready: dict[int, float]
    gang_of: dict[int, Gang]

    @classmethod
    def of(cls, instance: Instance) -> Readiness | None:
        """Return what the jobs of an instance wait for; None where no job waits for another.

        Raises :class:`UnsupportedFeature` where jobs wait for each other.
        """
        waiting = _waits(instance)
        if not waiting:
            return None
        gang_of = {j: gang for gang in gangs_of(instance) for j in gang.members}
        waits, followers = dict[int, int](), dict[tuple[int, Event], list[tuple[int, float]]]()
        for j, (other, event, least) in sorted(waiting):
            if j in gang_of and gang_of[j] is gang_of.get(other) and event == "start" and least == 0.0:
                continue
            waits[j] = waits.get(j, 0) + 1
            followers.setdefault((other, event), []).append((j, least))
        _refuse_circles(instance, followers, gang_of)
        return cls(waits, followers, {}, gang_of)

    def copied(self) -> Self:
        """Return what jobs wait for as something of its own."""
        return replace(self, waits=self.waits.copy(), ready=self.ready.copy())

    def is_awaited(self, job: int) -> bool:
        """Return whether a job has others wait for it."""
        return (job, "start") in self.followers or (job, "end") in self.followers

    def happened(self, job: int, event: Event, now: float) -> Iterator[int]:
        """Yield the jobs that wait for no job any more, now that a job has started or ended."""
        for follower, least in self.followers.get((job, event), ()):
            self.waits[follower] -= 1
            self.ready[follower] = max(self.ready.get(follower, 0.0), now + least)
            if not self.waits[follower]:
                yield follower


def _waits(instance: Instance) -> set[tuple[int, Wait]]:
    """Return what each job waits for, each once."""
    waits = [wait for name in instance.features for wait in FEATURES[name].waits(instance)]
    if not waits:
        return set()
    ids = [*column(instance.jobs, "id"), *(run.job.id for run in instance.running)]
    number = {job: index for index, job in enumerate(ids)}
    return {(number[wait.job], (number[wait.other], wait.event, wait.seconds)) for wait in waits}


def _refuse_circles(
    instance: Instance, followers: dict[tuple[int, Event], list[tuple[int, float]]], gang_of: dict[int, Gang]
) -> None:
    """Raise where jobs, or gangs, wait for each other: none of them would ever join the queue."""
    import networkx as nx

    def node(j: int) -> int:
        return gang_of[j].members[0] if j in gang_of else j

    graph: nx.DiGraph[int] = nx.DiGraph(
        [(node(other), node(j)) for (other, _), found in followers.items() for j, _ in found]
    )
    circle = next((part for part in nx.strongly_connected_components(graph) if len(part) > 1), None)
    circle = circle or {j for j in graph.nodes if graph.has_edge(j, j)}
    if circle:
        listed = ", ".join(quoted(instance.jobs[j].id) for j in sorted(circle))
        raise UnsupportedFeature("a simulation", ["lags"], f"jobs wait for each other because of their lags: {listed}")
