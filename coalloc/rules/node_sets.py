"""How long each set of jobs takes one node at least: all sets of a few jobs, by schedule generation.

Serial generation in chronological order meets a shortest schedule (the argument is that of
:mod:`coalloc.solvers.brute_force`, with one resource). Jobs that are equal are put in the order of their numbers.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

MAX_JOBS = 10
"""Jobs beyond which sets are not enumerated."""

State = tuple[int, tuple[float, ...], float]
"""The set of jobs that are placed (a bit each), when each core is free, sorted, and the last start."""


@functools.lru_cache(maxsize=64)
def least_ends(
    tasks: tuple[int, ...], durations: tuple[float, ...], releases: tuple[float, ...], cores: int
) -> Mapping[int, float]:
    """Return when each set of jobs can be done at the earliest on one node; sets are bit masks.

    ``durations`` and ``releases`` are in s; jobs of more tasks than ``cores`` are in no set.
    """
    kinds = list(zip(tasks, durations, releases, strict=True))
    earlier = [[i for i in range(j) if kinds[i] == kinds[j]] for j in range(len(kinds))]
    ends = {0: 0.0}
    level: set[State] = {(0, (0.0,) * cores, 0.0)}
    while level:
        following: set[State] = set()
        for done, free, last in level:
            for j, (count, duration, release) in enumerate(kinds):
                if done >> j & 1 or count > cores or any(not done >> i & 1 for i in earlier[j]):
                    continue
                start = max(release, last, free[count - 1])
                after = tuple(sorted((start + duration,) * count + free[count:]))
                after = tuple(max(start, core) for core in after)
                following.add((done | 1 << j, after, start))
        for done, free, _ in following:
            ends[done] = min(ends.get(done, free[-1]), free[-1])
        level = following
    return _of_equals(ends, earlier)


def _of_equals(ends: dict[int, float], earlier: Sequence[Sequence[int]]) -> dict[int, float]:
    """Return the ends of all sets: a set takes what the one takes in which its equal jobs have the lowest numbers."""
    num_jobs = len(earlier)
    groups: dict[int, list[int]] = {}
    for j in range(num_jobs):
        groups.setdefault(earlier[j][0] if earlier[j] else j, []).append(j)
    found = {}
    for mask in range(1 << num_jobs):
        first = 0
        for members in groups.values():
            count = sum(mask >> j & 1 for j in members)
            first |= sum(1 << j for j in members[:count])
        if first in ends:
            found[mask] = ends[first]
    return found
