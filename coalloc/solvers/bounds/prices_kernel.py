"""Soft minima over the starts of jobs at prices, compiled: what :mod:`coalloc.solvers.bounds.smooth_prices` runs.

The starts of a way are walked in order, each in the cells where it starts and ends, until its ramp alone exceeds the
cheapest start of the job by more than a soft minimum can see: so none has to be known, or kept, beforehand.
"""

from __future__ import annotations

import math

from coalloc.solvers.machine_code import compiled


@compiled
def _share(edges, cell, instant):
    """Return at which share of a cell an instant is; 0 after the last edge."""
    if cell >= len(edges) - 1:
        return 0.0
    return min(1.0, max(0.0, (instant - edges[cell]) / (edges[cell + 1] - edges[cell])))


@compiled
def walk(way, columns, kind, needs, places, edges, sums, cut, best, count, seen):
    """Write down the starts of a way behind the first ``count``; return the cheapest value so far, and their number."""
    values, cells, shares = seen
    release, duration, floor, slope, least = columns[:, way]
    begin, end, num_cells = places[0, way], places[1, way], len(edges) - 1
    start, kink = release, math.inf
    if slope > 0.0 and 0.0 < (floor - least) / slope < edges[num_cells] - release:
        kink = release + (floor - least) / slope
    while True:
        value = max(floor, slope * (start - release) + least)
        if value > best + cut:
            return best, count
        begin_share, end_share = _share(edges, begin, start), _share(edges, end, start + duration)
        for q in range(len(sums)):
            paid = sums[q, end] + end_share * (sums[q, end + 1] - sums[q, end])
            paid -= sums[q, begin] + begin_share * (sums[q, begin + 1] - sums[q, begin])
            value += needs[kind[way], q] * paid
        values[count] = value
        cells[count, 0], cells[count, 1], cells[count, 2] = begin, end, kind[way]
        shares[count, 0], shares[count, 1] = begin_share, end_share
        best, count = min(best, value), count + 1
        if begin >= num_cells:
            return best, count
        by_start = edges[begin + 1]
        by_end = edges[end + 1] - duration if end < num_cells else math.inf
        start = max(start, min(by_start, by_end, kink))
        if start >= by_start:
            begin += 1
        if start >= by_end:
            end += 1
        if start >= kink:
            kink = math.inf


@compiled
def add_soft_minima(span, first, columns, kind, needs, places, edges, sums, heat, flow, seen):
    """Return what the jobs of a span pay at soft minima over their starts, and how many starts were looked at.

    ``columns`` has a column per way: release, duration, floor, slope, least; ``places`` the cells of its release, and
    of its end if it starts then. ``first`` has where the ways of each job begin, and their number behind. ``sums`` are
    the prices added up until each edge; ``flow`` gets what a unit more of each of them costs. ``heat``
    is the temperature, and the cost above the least from which on a start has no share; ``seen`` has room for the
    starts of a job: values, cells, shares of cells.
    """
    temperature, cut = heat
    values, cells, shares = seen
    total, num_starts = 0.0, 0
    for j in range(span[0], span[1]):
        best, count = math.inf, 0
        for way in range(first[j], first[j + 1]):
            best, count = walk(way, columns, kind, needs, places, edges, sums, cut, best, count, seen)
        weight = 0.0
        for k in range(count):
            values[k] = math.exp((best - values[k]) / temperature) if values[k] < best + cut else 0.0
            weight += values[k]
        total += best - temperature * math.log(weight)
        num_starts += count
        for k in range(count):
            if values[k] > 0.0:
                begin, end = cells[k, 0], cells[k, 1]
                for q in range(len(sums)):
                    need = values[k] / weight * needs[cells[k, 2], q]
                    flow[q, end] += need * (1.0 - shares[k, 1])
                    flow[q, end + 1] += need * shares[k, 1]
                    flow[q, begin] -= need * (1.0 - shares[k, 0])
                    flow[q, begin + 1] -= need * shares[k, 0]
    return total, num_starts
