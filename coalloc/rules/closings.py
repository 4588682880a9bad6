"""Times at which parts of a platform are unavailable, as rooms that are taken: windows, and jobs that start later.

All nodes of a class are in the same windows, so that a class is there as a whole, or not at all. Windows of one group
that take a number of its processors add up; they take of the pool that stands for the group in a room
(:mod:`coalloc.rules.capacity_vectors`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

from coalloc.instance import Platform, RunningJob, Window
from coalloc.problem.allocation import Allocation, NodeClass, allocation_of, counted_groups
from coalloc.rules.capacity_vectors import STOCK_UNITS, CapacityVectors


class Closing(NamedTuple):
    """Capacity that is unavailable from ``start`` to ``end`` (s): so much of a room, processors of each class first."""

    start: float
    end: float
    taken: Allocation


Taking = tuple[float, float, int]
"""From when to when (s) so many processors are taken."""


def closings_of(
    platform: Platform, classes: Sequence[NodeClass], running: Iterable[RunningJob], vectors: CapacityVectors
) -> list[Closing]:
    """Return when what of a platform is not there, by start; of each class and pool nothing is taken twice.

    ``running`` are the jobs that run already, or start later; ``vectors`` say what a room has. What runs already is
    left out of what windows take of a pool, and those that start later of a stock, so that no room falls below 0.
    """
    pools = counted_groups(platform, classes)
    held = [(run, allocation_of(map(platform.processor_index.__getitem__, run.nodes), classes)) for run in running]
    found: dict[tuple[float, float], list[int]] = {}
    for place, takings in chain(
        ((g, _of_class(platform, classes, g, held)) for g in range(len(classes))),
        (
            (vectors.first_stock + n, _of_stock(vectors.first_stock + n, vectors, held))
            for n in range(len(vectors.stocks))
        ),
        (
            (vectors.first_pool + n, _of_pool(platform, classes, members, held))
            for n, members in enumerate(pools.values())
        ),
    ):
        for start, end, count in takings:
            taken = found.setdefault((start, end), [0] * (vectors.first_pool + len(pools)))
            taken[place] = count
    return [Closing(start, end, tuple(taken)) for (start, end), taken in sorted(found.items())]


Held = Sequence[tuple[RunningJob, Allocation]]


def _of_class(platform: Platform, classes: Sequence[NodeClass], g: int, held: Held) -> Iterator[Taking]:
    """Yield when a class is not there, or reserved: all of it."""
    node = platform.processor_node[classes[g].processors[0]]
    pairs = zip(platform.unavailable, platform.window_nodes, strict=True)
    spans = [(w.start, w.end, 1) for w, nodes in pairs if w.group is None and node in nodes]
    spans += [(run.start, run.end, 1) for run, counts in held if run.start > 0.0 and counts[g]]
    yield from _steps(spans, {}, 1, classes[g].capacity)


def _of_stock(place: int, vectors: CapacityVectors, held: Held) -> Iterator[Taking]:
    """Yield how many units of a stock, by its place in a room, running jobs that start later take when."""
    units = [(run, vectors.taken(run.job, counts)[place]) for run, counts in held]
    spans = [(run.start, run.end, taken) for run, taken in units if run.start > 0.0 and taken]
    already: dict[float, int] = {}
    for run, taken in units:
        if run.start <= 0.0 and taken:
            already[run.end] = already.get(run.end, 0) + taken
    yield from _steps(spans, already, STOCK_UNITS, 1)


def _of_pool(platform: Platform, classes: Sequence[NodeClass], members: Sequence[int], held: Held) -> Iterator[Taking]:
    """Yield how many processors of a group windows and reservations take when."""
    node = platform.nodes[platform.processor_node[classes[members[0]].processors[0]]]
    windows = [window for window in platform.unavailable if _is_about(window, platform, node.cluster, node.group)]
    spans = [(window.start, window.end, window.processors or 0) for window in windows]
    in_group = [(run, sum(counts[g] for g in members)) for run, counts in held]
    spans += [(run.start, run.end, count) for run, count in in_group if run.start > 0.0 and count]
    already: dict[float, int] = {}
    for run, count in in_group:
        if run.start <= 0.0 and count:
            already[run.end] = already.get(run.end, 0) + count
    yield from _steps(spans, already, sum(classes[g].capacity for g in members), 1)


def _is_about(window: Window, platform: Platform, cluster: int, group: int) -> bool:
    return window.group == group and window.cluster == platform.clusters[cluster].name


def _steps(spans: Sequence[Taking], already: Mapping[float, int], most: int, unit: int) -> Iterator[Taking]:
    """Yield the sum of what is taken as long as it stays the same, ``unit`` each, ``most`` at most.

    ``already`` is what others hold from the beginning, by their ends (s), which counts to the most that there is.
    """
    instants = sorted({instant for start, end, _ in spans for instant in (start, end)} | set(already))
    last: Taking | None = None
    for start, end in pairwise(instants if spans else ()):
        held = sum(count for until, count in already.items() if until > start)
        asked = sum(count for since, until, count in spans if since <= start < until)
        taken = max(0, min(asked, most - held)) * unit
        if last is not None and last[1] == start and last[2] == taken:
            last = last[0], end, taken
        else:
            if last is not None and last[2]:
                yield last
            last = start, end, taken
    if last is not None and last[2]:
        yield last
