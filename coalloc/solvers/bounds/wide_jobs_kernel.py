"""Whether up to three clusters hold two wide jobs together, compiled: :mod:`coalloc.solvers.bounds.wide_jobs` asks.

The load of a job on the link of a cluster grows with its tasks there up to half of them, and falls again. So beside x
tasks of one job a cluster holds few of the other, or many: two spans. All ways to put the first into the clusters are
gone through, and for each the sums of these spans. Compiled by numba, for which functions take plain arrays.
"""

from __future__ import annotations

import numpy as np

from coalloc.solvers.machine_code import compiled

NUM_CLUSTERS = 3
"""Clusters that there are; those of no capacity hold nothing."""


@compiled
def _spans(capacities, rooms, limits, loads, of_other, spans):
    """Write how few and how many tasks of the other job each cluster holds beside each number of the first.

    Of ``spans[c, x]`` the first two are the least and the most of few, the others of many; a least above a most where
    there are none.
    """
    tasks, half = len(of_other) - 1, (len(of_other) - 1) // 2
    for c in range(NUM_CLUSTERS):
        for x in range(spans.shape[1]):
            spans[c, x, 0], spans[c, x, 1], spans[c, x, 2], spans[c, x, 3] = 0, -1, 0, -1
            most = min(tasks, rooms[c, 1], capacities[c] - x)
            if x > rooms[c, 0] or most < 0 or loads[x] > limits[c]:
                continue
            low, high = 0, half + 1  # the first beyond few: a search in what grows
            while low < high:
                middle = (low + high) // 2
                if loads[x] + of_other[middle] <= limits[c]:
                    low = middle + 1
                else:
                    high = middle
            spans[c, x, 1] = min(low - 1, most)
            if low == half + 1:
                spans[c, x, 1] = most  # half of them fit, so any number does
                continue
            low, high = half + 1, tasks  # the first of many: a search in what falls, to 0 at the end
            while low < high:
                middle = (low + high) // 2
                if loads[x] + of_other[middle] <= limits[c]:
                    high = middle
                else:
                    low = middle + 1
            spans[c, x, 2], spans[c, x, 3] = low, most


@compiled
def _add_up(spans, asked, x, y, z):
    """Return whether numbers in the spans of three clusters add up to what is asked."""
    for i in range(0, 4, 2):
        if spans[0, x, i] > spans[0, x, i + 1]:
            continue
        for k in range(0, 4, 2):
            if spans[1, y, k] > spans[1, y, k + 1]:
                continue
            least, most = spans[0, x, i] + spans[1, y, k], spans[0, x, i + 1] + spans[1, y, k + 1]
            for m in range(0, 4, 2):
                is_there = spans[2, z, m] <= spans[2, z, m + 1]
                if is_there and least + spans[2, z, m] <= asked <= most + spans[2, z, m + 1]:
                    return True
    return False


@compiled
def are_held(capacities, rooms, limits, loads, of_other):
    """Return whether three clusters hold all tasks of two jobs.

    ``capacities`` are processors of each cluster for both, ``rooms``, shape ``(num_clusters, 2)``, for either job,
    ``limits`` of both loads, MB/s; ``loads`` and ``of_other`` what 0, 1, ... tasks of either job load a link with.
    """
    tasks, asked = len(loads) - 1, len(of_other) - 1
    spans = np.empty((NUM_CLUSTERS, tasks + 1, 4), np.int64)
    _spans(capacities, rooms, limits, loads, of_other, spans)
    most = np.empty((NUM_CLUSTERS, tasks + 1), np.int64)
    for c in range(NUM_CLUSTERS):
        for x in range(tasks + 1):
            most[c, x] = max(spans[c, x, 1], spans[c, x, 3]) if loads[x] <= limits[c] else -1
    for x in range(min(tasks, rooms[0, 0]), -1, -1):
        if most[0, x] < 0:
            continue
        for y in range(min(tasks - x, rooms[1, 0]), max(0, tasks - x - rooms[2, 0]) - 1, -1):
            z = tasks - x - y
            if most[1, y] < 0 or most[2, z] < 0 or most[0, x] + most[1, y] + most[2, z] < asked:
                continue
            if _add_up(spans, asked, x, y, z):
                return True
    return False
