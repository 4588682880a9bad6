"""Places of the jobs of a Slurm log: processors by name, which accounting does not have, on the nodes that it names.

A job takes the first CPUs that are free on each of its nodes. Where accounting does not say how many it had on which
node, they are spread evenly.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field

from coalloc.workloads.slurm.platform import NodePlace, SiteLayout, span, spans
from coalloc.workloads.slurm.values import UNKNOWN, LineError, hosts


@dataclass(slots=True)
class _Node:
    """The CPUs of a node: those free, and those held with the time until when."""

    free: list[int]
    held: list[tuple[float, list[int]]] = field(default_factory=list)

    def take(self, number: int, start: float, end: float) -> list[int] | None:
        """Return the first CPUs that are free from a start on, None where too few are."""
        while self.held and self.held[0][0] <= start:
            for cpu in heapq.heappop(self.held)[1]:
                heapq.heappush(self.free, cpu)
        if len(self.free) < number:
            return None
        taken = [heapq.heappop(self.free) for _ in range(number)]
        heapq.heappush(self.held, (end, taken))
        return taken

    def give_back(self, taken: list[int], end: float) -> None:
        """Free CPUs that were taken in vain."""
        self.held.remove((end, taken))
        heapq.heapify(self.held)
        for cpu in taken:
            heapq.heappush(self.free, cpu)


@dataclass(slots=True)
class PlaceOccupancy:
    """The nodes of a site while jobs are placed on them in the order of their starts."""

    layout: SiteLayout
    nodes: dict[str, _Node] = field(default_factory=dict)

    def place(self, node_list: str, tasks: int, start: float, end: float) -> tuple[list[str], tuple[str, ...]] | None:
        """Return the names of a job's processors, and its nodes; None where they are not known or have too few free."""
        names = known_hosts(node_list)
        places = [self.layout.places.get(name) for name in names]
        known = [place for place in places if place is not None]
        if not known or len(known) < len(places) or len(set(names)) < len(names):
            return None
        shares = _shares(known, tasks)
        taken: list[tuple[str, list[int]]] = []
        for name, place, share in zip(names, known, shares, strict=True):
            node = self.nodes.setdefault(name, _Node(list(range(place.processors))))
            cpus = node.take(share, start, end)
            if cpus is None:
                for other, back in taken:
                    self.nodes[other].give_back(back, end)
                return None
            taken.append((name, cpus))
        pairs = zip(taken, known, strict=True)
        return [text for (_, cpus), place in pairs for text in self._texts(place, cpus)], names

    def _texts(self, place: NodePlace, cpus: Sequence[int]) -> list[str]:
        """Return the names of processors of a node."""
        node = f"{self.layout.names[place.cluster]}/{place.number}"
        return [node] if place.processors == 1 else [f"{node}.{span(*run)}" for run in spans(sorted(cpus))]


def known_hosts(node_list: str) -> tuple[str, ...]:
    """Return the nodes of a job, none where accounting does not name them."""
    try:
        return hosts("NodeList", "" if node_list in UNKNOWN else node_list)
    except LineError:
        return ()


def _shares(places: Sequence[NodePlace], tasks: int) -> list[int]:
    """Return how many of the tasks of a job each of its nodes has: all of its processors, or an even part."""
    whole = [place.processors for place in places]
    if sum(whole) == tasks:
        return whole
    least, more = divmod(tasks, len(places))
    return [least + (i < more) for i in range(len(places))]
