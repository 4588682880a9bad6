"""What jobs pay at their own prices, and the sets that bring most: for :mod:`coalloc.solvers.bounds.job_prices`.

The prices of a job are a stretch of one array, a price for each cell of its span; outside it pays nothing.
"""

from __future__ import annotations

import math

import numpy as np

from coalloc.solvers.bounds.prices_kernel import walk
from coalloc.solvers.machine_code import compiled


@compiled
def share_cells(prices, first, columns, places, low, offsets, edges, heat, shares, seen):
    """Return what all jobs cost and pay at their cheapest starts, and the magnitude of the terms.

    ``first``, ``columns`` and ``seen`` are those of :func:`coalloc.solvers.bounds.prices_kernel.add_soft_minima`;
    ``places`` are counted from the first cell of the job's span, ``low``. The prices of a job are those from its offset
    on; ``shares`` gets the share of each of these cells in which it runs, at soft minima by ``heat`` (temperature, and
    the cost above the least from which on a start has no share).
    """
    temperature, cut = heat
    values, cells, shared = seen
    longest = 0
    for j in range(len(low)):
        longest = max(longest, offsets[j + 1] - offsets[j])
    sums, flow = np.zeros((1, longest + 2)), np.empty(longest + 2)
    kind, needs = np.zeros(columns.shape[1], dtype=np.int64), np.ones((1, 1))
    total, magnitude = 0.0, 0.0
    for j in range(len(low)):
        num_cells = offsets[j + 1] - offsets[j]
        within = edges[low[j] : low[j] + num_cells + 1]
        for k in range(num_cells):
            sums[0, k + 1] = sums[0, k] + prices[offsets[j] + k] * (within[k + 1] - within[k])
        sums[0, num_cells + 1] = sums[0, num_cells]
        best, count = math.inf, 0
        for way in range(first[j], first[j + 1]):
            best, count = walk(way, columns, kind, needs, places, within, sums, cut, best, count, seen)
        total += best
        magnitude += abs(best) + sums[0, num_cells]
        weight = 0.0
        for k in range(count):
            values[k] = math.exp((best - values[k]) / temperature) if values[k] < best + cut else 0.0
            weight += values[k]
        flow[: num_cells + 2] = 0.0
        for k in range(count):
            share, begin, end = values[k] / weight, cells[k, 0], cells[k, 1]
            flow[end] += share * (1.0 - shared[k, 1])
            flow[end + 1] += share * shared[k, 1]
            flow[begin] -= share * (1.0 - shared[k, 0])
            flow[begin + 1] -= share * shared[k, 0]
        left = flow[num_cells + 1]
        for k in range(num_cells - 1, -1, -1):
            left += flow[k + 1]
            shares[offsets[j] + k] = left
    return total, magnitude


@compiled
def choose_sets(prices, cells, entries, tasks, capacities, chosen, values):
    """Find for each cell the jobs that bring most of those that fit: a knapsack, by dynamic programming.

    ``entries[cells[k]:cells[k + 1]]`` are the places in ``prices`` of the jobs that may run in cell k, ``tasks`` what
    each place takes. ``chosen`` gets 1 at the places that are in the set, else 0; ``values`` what each set brings.
    """
    most = 0
    for k in range(len(capacities)):
        most = max(most, cells[k + 1] - cells[k])
    room = capacities.max() + 1
    best, is_taken, listed = np.empty(room), np.empty((most, room), dtype=np.bool_), np.empty(most, dtype=np.int64)
    for k in range(len(capacities)):
        capacity, count, demand = capacities[k], 0, 0
        for place in range(cells[k], cells[k + 1]):
            e = entries[place]
            chosen[e] = 0.0
            if prices[e] > 0.0 and tasks[e] <= capacity:
                listed[count] = e
                count += 1
                demand += tasks[e]
        values[k] = 0.0
        if demand <= capacity:
            for i in range(count):
                values[k] += prices[listed[i]]
                chosen[listed[i]] = 1.0
            continue
        best[: capacity + 1] = 0.0
        for i in range(count):
            need, price = tasks[listed[i]], prices[listed[i]]
            is_taken[i, :need] = False
            for c in range(capacity, need - 1, -1):
                is_taken[i, c] = best[c - need] + price > best[c]
                if is_taken[i, c]:
                    best[c] = best[c - need] + price
        values[k], left = best[capacity], capacity
        for i in range(count - 1, -1, -1):
            if is_taken[i, left]:
                chosen[listed[i]] = 1.0
                left -= tasks[listed[i]]
