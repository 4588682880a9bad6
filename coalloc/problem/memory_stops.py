"""Memory stops: which tasks of a node are stopped, and leave memory, because all together ask for too much.

Source: Hanzich et al., section 2.1.1 (the application with the largest requirements is stopped and leaves memory);
in which order they come back is ours.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

Rank = tuple[float, int, float, int]
"""Rank by which jobs stop, largest first: memory of all tasks (MB), number of its start, arrival (s), job number."""


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Memory that a task of a job requires of a node, MB, and the job's rank when tasks are stopped."""

    memory: float
    rank: Rank


def stopped_tasks(
    tasks: Iterable[int], stopped: Sequence[int], uses: Mapping[int, MemoryUse], limit: float
) -> tuple[int, ...]:
    """Return which tasks of a node are stopped from now on, in the order in which they were.

    ``tasks`` are those on the node, by job, ``stopped`` are so already, and ``limit`` (MB) is what tasks may hold.
    While those in memory hold more, the one of highest rank is stopped. Then each of those that were stopped, in this
    order, comes back if it fits.
    """
    resident = {task for task in tasks if task not in stopped}
    if not stopped and _held(resident, uses) <= limit:
        return ()
    out = list(stopped)
    while _held(resident, uses) > limit:
        largest = max(resident, key=lambda task: uses[task].rank)
        resident.remove(largest)
        out.append(largest)
    for task in tuple(out):
        if _held(resident, uses) + uses[task].memory <= limit:
            resident.add(task)
            out.remove(task)
    return tuple(out)


def _held(resident: Iterable[int], uses: Mapping[int, MemoryUse]) -> float:
    """Return what tasks hold together, MB; in whatever order they are added, it is the same."""
    return math.fsum(uses[task].memory for task in resident)
