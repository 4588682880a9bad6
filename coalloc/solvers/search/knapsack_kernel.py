"""Growth by knapsacks on one pool of processors, compiled: what :mod:`coalloc.solvers.search.knapsack_growth` runs.

Whenever processors are free and jobs wait, a knapsack chooses which of these start: those that are worth most together.
Compiled by numba, for which functions take plain arrays.
"""

from __future__ import annotations

import math

from coalloc.solvers.machine_code import inlined, uncounted


@inlined
def _fill(free, number, candidates, tasks, values, scratch):
    """Choose those of the candidates that are worth most among all that fit; return how many there are, and which."""
    best, is_taken, chosen = scratch
    for c in range(free + 1):
        best[c] = 0.0
    for i in range(number):
        j = candidates[i]
        for c in range(tasks[j]):
            is_taken[i, c] = False
        for c in range(free, tasks[j] - 1, -1):
            worth = best[c - tasks[j]] + values[j]
            is_taken[i, c] = worth > best[c]
            if is_taken[i, c]:
                best[c] = worth
    left, size = free, 0
    for i in range(number - 1, -1, -1):
        j = candidates[i]
        if is_taken[i, left]:
            chosen[size] = j
            size += 1
            left -= tasks[j]
    return size


@inlined
def _valued(waiting, number, now, free, ends, num_ends, jobs, worths, bonus, nearness, scratch):
    """List the jobs that wait and are no wider than what is free, with what each is worth; return how many there are.

    One that ends near something that runs is worth more: what ends together leaves room for wide jobs.
    """
    releases, ticks, tasks = jobs
    candidates, values = scratch
    size = 0
    for i in range(number):
        j = waiting[i]
        if tasks[j] > free or releases[j] > now:
            continue
        values[j] = worths[j]
        if bonus > 0.0:
            nearest = nearness
            for q in range(num_ends):
                nearest = min(nearest, abs(ends[q] - now - ticks[j]))
            values[j] *= 1.0 + bonus * (1.0 - nearest / nearness)
        candidates[size] = j
        size += 1
    return size


@inlined
def _extend(starts, now, until, capacity, jobs, held, worths, bonus, nearness, scratch):
    """Start jobs from an instant on, until another; return the first instant that is left."""
    releases, ticks, tasks = jobs
    waiting, ends, widths, pricing, filling = scratch
    candidates, values = pricing
    chosen = filling[2]
    number, num_ends, free = 0, 0, capacity
    for j in range(len(ticks)):
        if starts[j] == math.inf:
            waiting[number] = j
            number += 1
        elif starts[j] + ticks[j] > now:
            ends[num_ends], widths[num_ends] = starts[j] + ticks[j], tasks[j]
            free -= tasks[j]
            num_ends += 1
    for b in range(len(held)):
        if held[b, 0] > now:
            ends[num_ends], widths[num_ends] = held[b, 0], int(held[b, 1])
            free -= int(held[b, 1])
            num_ends += 1
    while number > 0 and now < until:
        size = _valued(waiting, number, now, free, ends, num_ends, jobs, worths, bonus, nearness, pricing)
        size = _fill(free, size, candidates, tasks, values, filling)
        for i in range(size):
            j = chosen[i]
            starts[j] = now
            ends[num_ends], widths[num_ends] = now + ticks[j], tasks[j]
            free -= tasks[j]
            num_ends += 1
        left, following = 0, math.inf
        for i in range(number):
            j = waiting[i]
            if starts[j] == math.inf:
                waiting[left] = j
                left += 1
                if releases[j] > now:
                    following = min(following, releases[j])
        number = left
        for q in range(num_ends):
            following = min(following, ends[q])
        left, now = 0, following
        for q in range(num_ends):
            if ends[q] > now:
                ends[left], widths[left] = ends[q], widths[q]
                left += 1
            else:
                free += widths[q]
        num_ends = left
    return now


@inlined
def _least_end(starts, until, jobs, prices):
    """Return what the latest end of a schedule is, where nothing waits; else a bound on it, at prices per tick."""
    ticks = jobs[1]
    latest, left, waits = 0.0, 0.0, False
    for j in range(len(ticks)):
        if starts[j] == math.inf:
            waits = True
            left += prices[j] * ticks[j]
        else:
            end = starts[j] + ticks[j]
            latest = max(latest, end)
            left += prices[j] * max(0.0, end - max(until, starts[j]))
    return max(latest, until + left) if waits else latest


@uncounted
def grow(parents, given, made, capacity, jobs, held, worths, bonuses, nearness, until, before, prices, scratch):
    """Let parents, rows of what is given, go on until an instant; return how many children are made.

    Left out are those that cannot end before ``before``. Schedules are starts (rows by job, infinity where one waits)
    and the instants they have come to. ``jobs`` are releases, ticks and tasks, ``held`` has end and processors of each
    running job. By child: ``worths`` per tick (and by job), ``bonuses`` of what ends near something else, and
    ``nearness``, ticks.
    """
    size = 0
    for number in range(len(parents)):
        parent, starts = parents[number], made[0][size]
        for j in range(len(starts)):
            starts[j] = given[0][parent, j]
        made[1][size] = _extend(
            starts,
            given[1][parent],
            until,
            capacity,
            jobs,
            held,
            worths[number],
            bonuses[number],
            nearness[number],
            scratch,
        )
        if _least_end(starts, until, jobs, prices) < before:
            size += 1
    return size
