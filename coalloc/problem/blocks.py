"""What holds processors for a time: jobs that run already, those that are to start later, and windows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from coalloc.instance import RunningJob
from coalloc.problem.allocation import Allocation, allocation_of
from coalloc.problem.frame import Frame


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


def busy_of(frame: Frame) -> tuple[Busy, ...]:
    """Return the jobs that run already, those that start later left out."""
    return tuple(_placed(frame, run, -math.inf) for run in frame.instance.running if run.start <= 0.0)


def blocks_of(frame: Frame, running: Sequence[Busy]) -> tuple[Busy, ...]:
    """Return what holds processors for a time to come, beside what runs already: jobs that start later, and windows.

    Rounded to slots they may overlap each other, and what runs already: of each class they take together what there
    is at most.
    """
    later = [run for run in frame.instance.running if run.start > 0.0]
    reserved = (_placed(frame, run, _begin(frame, run.start)) for run in later)
    known = [b for b in (*reserved, *_closings(frame), *_takings(frame)) if b.start < b.end]
    loading = (replace(b, allocation=(0,) * len(frame.classes)) for b in known if any(b.loads))
    return (*(piece for g in range(len(frame.classes)) for piece in _held(frame, g, known, running)), *loading)


def _placed(frame: Frame, run: RunningJob, start: float) -> Busy:
    index = frame.instance.platform.processor_index
    allocation = allocation_of((index[name] for name in run.nodes), frame.classes)
    return Busy(run.job.id, frame.tick_at(run.end), allocation, frame.loads(run.job, allocation), start)


def _begin(frame: Frame, seconds: float) -> float:
    """Return from when on, ticks, what begins at a point in time (s) is in the way: what ends by then is not."""
    return frame.last_tick(seconds) if seconds > 0.0 else 0.0


def _held(frame: Frame, g: int, blocks: Sequence[Busy], running: Sequence[Busy]) -> Iterator[Busy]:
    """Yield what blocks take of a class beside what runs already, from one change to the next."""
    pieces = taken_in_pieces(blocks, running, lambda busy: busy.allocation[g], frame.capacities[g])
    for start, end, taken in pieces:
        allocation = tuple(int(taken) if i == g else 0 for i in range(len(frame.classes)))
        yield Busy("", end, allocation, (0.0,) * len(frame.resources), start)


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


def _closings(frame: Frame) -> Iterator[Busy]:
    """Yield when each class is not there: all of it."""
    platform = frame.instance.platform
    for g, node_class in enumerate(frame.classes if platform.unavailable else ()):
        node = platform.processor_node[node_class.processors[0]]
        windows = [w for w, nodes in zip(platform.unavailable, platform.window_nodes, strict=True) if node in nodes]
        spans = ((_begin(frame, w.start), frame.tick_at(w.end)) for w in windows if w.group is None)
        allocation = tuple(frame.capacities[g] if i == g else 0 for i in range(len(frame.classes)))
        for start, end in spans:
            yield Busy("", end, allocation, (0.0,) * len(frame.resources), start)


def _takings(frame: Frame) -> Iterator[Busy]:
    """Yield the processors that windows take of groups."""
    names = [cluster.name for cluster in frame.instance.platform.clusters]
    first = len(frame.resources) - len(frame.pooled_groups)
    pools = {key: k for k, key in enumerate(frame.pooled_groups, first)}
    for window in frame.instance.platform.unavailable:
        if window.group is not None:
            taken = pools[names.index(window.cluster), window.group]
            loads = tuple(float(window.processors or 0) if k == taken else 0.0 for k in range(len(frame.resources)))
            span = _begin(frame, window.start), frame.tick_at(window.end)
            yield Busy("", span[1], (0,) * len(frame.classes), loads, span[0])
