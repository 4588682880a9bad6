"""Blocks of processors over time: running jobs, running jobs that start later, and maintenance windows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from coalloc.instance import RunningJob
from coalloc.problem.allocation import Allocation, allocation_of
from coalloc.problem.allocations import Allocations


@dataclass(frozen=True, slots=True)
class Busy:
    """A job that runs already: its tasks per class and its loads per resource, until ``end`` (ticks).

    One that is to start later, or a window in which processors are not there, begins at ``start`` (ticks).
    """

    job: str
    end: float
    allocation: Allocation
    loads: tuple[float, ...]
    start: float = -math.inf


def busy_of(allocations: Allocations) -> tuple[Busy, ...]:
    """Return the jobs that run already, those that start later left out."""
    return tuple(_placed(allocations, run, -math.inf) for run in allocations.instance.running if run.start <= 0.0)


def blocks_of(allocations: Allocations, running: Sequence[Busy]) -> tuple[Busy, ...]:
    """Return what holds processors for a time to come, beside what runs already: jobs that start later, and windows.

    Rounded to slots they may overlap each other, and what runs already: of each class they take together what there
    is at most.
    """
    later = [run for run in allocations.instance.running if run.start > 0.0]
    reserved = (_placed(allocations, run, _begin(allocations, run.start)) for run in later)
    known = [b for b in (*reserved, *_closings(allocations), *_takings(allocations)) if b.start < b.end]
    loading = (replace(b, allocation=(0,) * len(allocations.classes)) for b in known if any(b.loads))
    return (
        *(piece for g in range(len(allocations.classes)) for piece in _held(allocations, g, known, running)),
        *loading,
    )


def _placed(allocations: Allocations, run: RunningJob, start: float) -> Busy:
    index = allocations.instance.platform.processor_index
    allocation = allocation_of((index[name] for name in run.nodes), allocations.classes)
    return Busy(
        run.job.id, allocations.clock.tick_at(run.end), allocation, allocations.loads(run.job, allocation), start
    )


def _begin(allocations: Allocations, seconds: float) -> float:
    """Return from when on, ticks, what begins at a point in time (s) is in the way: what ends by then is not."""
    return allocations.clock.last_tick(seconds) if seconds > 0.0 else 0.0


def _held(allocations: Allocations, g: int, blocks: Sequence[Busy], running: Sequence[Busy]) -> Iterator[Busy]:
    """Yield what blocks take of a class beside what runs already, from one change to the next."""
    pieces = taken_in_pieces(blocks, running, lambda busy: busy.allocation[g], allocations.capacities[g])
    for start, end, taken in pieces:
        allocation = tuple(int(taken) if i == g else 0 for i in range(len(allocations.classes)))
        yield Busy("", end, allocation, (0.0,) * len(allocations.resources), start)


def taken_in_pieces(
    blocks: Iterable[Busy], running: Iterable[Busy], amount: Callable[[Busy], float], limit: float
) -> Iterator[tuple[float, float, float]]:
    """Yield (start, end, amount) of what blocks take beside what runs already, from one change to the next.

    Together with that they take what there is at most.
    """
    own, running = [block for block in blocks if amount(block)], list(running)
    changes = {instant for block in own for instant in (block.start, block.end)}
    changes |= {busy.end for busy in running} if own else set()
    for start, end in pairwise(sorted(changes)):
        held = sum(amount(busy) for busy in running if busy.end > start)
        asked = sum(amount(block) for block in own if block.start <= start < block.end)
        taken = min(asked, limit - held)
        if taken > 0.0:
            yield start, end, taken


def _closings(allocations: Allocations) -> Iterator[Busy]:
    """Yield when each class is not there: all of it."""
    platform = allocations.instance.platform
    for g, node_class in enumerate(allocations.classes if platform.unavailable else ()):
        node = platform.processor_node[node_class.processors[0]]
        windows = [w for w, nodes in zip(platform.unavailable, platform.window_nodes, strict=True) if node in nodes]
        spans = ((_begin(allocations, w.start), allocations.clock.tick_at(w.end)) for w in windows if w.group is None)
        allocation = tuple(allocations.capacities[g] if i == g else 0 for i in range(len(allocations.classes)))
        for start, end in spans:
            yield Busy("", end, allocation, (0.0,) * len(allocations.resources), start)


def _takings(allocations: Allocations) -> Iterator[Busy]:
    """Yield the processors that windows take of groups."""
    names = [cluster.name for cluster in allocations.instance.platform.clusters]
    first = len(allocations.resources) - len(allocations.pooled_groups)
    pools = {key: k for k, key in enumerate(allocations.pooled_groups, first)}
    for window in allocations.instance.platform.unavailable:
        if window.group is not None:
            taken = pools[names.index(window.cluster), window.group]
            loads = tuple(
                float(window.processors or 0) if k == taken else 0.0 for k in range(len(allocations.resources))
            )
            span = _begin(allocations, window.start), allocations.clock.tick_at(window.end)
            yield Busy("", span[1], (0,) * len(allocations.classes), loads, span[0])
