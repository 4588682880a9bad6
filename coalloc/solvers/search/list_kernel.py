"""Annealing of lists on several classes, compiled: what :mod:`coalloc.solvers.search.list_annealing` runs.

A job of a list ends as early as its way allows, which is up to a slowest level, or at one level, in a filling rule:
serial generation, to the last digit that of :mod:`coalloc.rules.serial_sgs`. A move takes a job to another place
of the list, swaps two, or gives one another way; what follows the first place is decoded anew, as long as it may still
be taken. Compiled by numba, for which functions take plain arrays: those of a
:class:`coalloc.solvers.search.problem_tables.Tables`.
"""

from __future__ import annotations

import math

import numpy as np

from coalloc.rules.profile import SUBTRACTION_NOISE
from coalloc.rules.serial_sgs import FILLING_RULES
from coalloc.solvers.machine_code import inlined, uncounted
from coalloc.solvers.search.filling_kernel import find, load
from coalloc.solvers.search.moves_kernel import draw, move, places, step_of

INSERT, SWAP = 0.5, 0.3
"""Probabilities of two of the moves; else a job is given another way."""
ALONE = 0.3
"""Probability that another way is one level alone."""
NUM_RULES = len(FILLING_RULES)


@inlined
def _split(profile, size, instant):
    """Make a step of a profile begin at an instant; return which, and how many there are."""
    times, free, left = profile
    i = step_of(times, size, instant)
    if i < size and times[i] == instant:
        return i, size
    for k in range(size, i, -1):
        times[k] = times[k - 1]
        for g in range(free.shape[1]):
            free[k, g] = free[k - 1, g]
        for c in range(left.shape[1]):
            left[k, c] = left[k - 1, c]
    times[i] = instant
    for g in range(free.shape[1]):
        free[i, g] = free[i - 1, g]
    for c in range(left.shape[1]):
        left[i, c] = left[i - 1, c]
    return i, size + 1


@inlined
def _hold(profile, size, start, end, allocation, loads):
    """Book what is held from a start to an end; return how many steps there are."""
    if end <= start:
        return size
    free, left = profile[1], profile[2]
    first, size = _split(profile, size, start)
    last, size = _split(profile, size, end)
    for i in range(first, last):
        for g in range(free.shape[1]):
            free[i, g] -= allocation[g]
        for c in range(left.shape[1]):
            left[i, c] -= loads[c]
    return size


@inlined
def _begin(profile, platform):
    """Make a profile that of what runs already; return how many steps there are."""
    times, free, left = profile
    limits, held, held_loads, held_until, capacities = platform[2], platform[3], platform[4], platform[5], platform[6]
    times[0], size = -math.inf, np.int64(1)  # a literal would be compiled once more
    for g in range(free.shape[1]):
        free[0, g] = capacities[g]
    for c in range(left.shape[1]):
        left[0, c] = limits[c]
    for b in range(len(held_until)):
        size = _hold(profile, size, -math.inf, held_until[b], held[b], held_loads[b])
    return size


@inlined
def _has_room(profile, first, last, member, tables, scratch):
    """Return whether a member finds an allocation that stays the same from a step to before another: it is in scratch.

    Where there is no step, what is free at the end counts.
    """
    _, free, left = profile
    _, levels, _, _, _, _, platform = tables
    inside, limits = platform[0][levels[5][member]], platform[2]
    least, least_left = scratch[0], scratch[1]
    processors = 0
    for g in range(free.shape[1]):
        least[g] = free[first, g]
        for i in range(first + 1, last):
            least[g] = min(least[g], free[i, g])
        if inside[g]:
            processors += least[g]
    if processors < levels[4][member]:
        return False
    for c in range(left.shape[1]):
        lowest = left[first, c]
        for i in range(first + 1, last):
            lowest = min(lowest, left[i, c])
        least_left[c] = max(0.0, lowest) + SUBTRACTION_NOISE * max(1.0, limits[c])
    return True


@inlined
def _first_start(profile, size, member, rule, release, before, tables, scratch):
    """Return the first start of a member at which it fits, infinity if it would not end before ``before``.

    Its allocation is in scratch.
    """
    times, free, _ = profile
    _, levels, orders, fillings, loads, memories, platform = tables
    duration, tasks, inside = levels[3][member, 0], levels[4][member], platform[0][levels[5][member]]
    least, least_left, room, filling = scratch
    first = step_of(times, size, release)
    if first == size or times[first] > release:
        first -= 1
    start, step = release, first
    while start + duration < before:
        is_free = True
        while duration > 0.0 and step < size and times[step] < start + duration:
            processors = 0
            for g in range(free.shape[1]):
                if inside[g]:
                    processors += free[step, g]
            if processors < tasks:
                is_free = False
                break
            step += 1
        if not is_free:
            first = step
        elif _has_room(profile, first if duration > 0.0 else size - 1, step, member, tables, scratch) and find(
            member, rule, least, least_left, levels, orders, fillings, loads, memories, room, filling
        ):
            return start
        first += 1
        if duration <= 0.0 or first >= size:
            return math.inf
        start, step = times[first], max(step, first)
    return math.inf


@inlined
def _place(j, way, profile, size, tables, chosen, scratch):
    """Place a job where it ends first in a way; return the member, start and end; -1 where it has no place.

    ``chosen`` becomes its allocation.
    """
    starts_of, shapes, durations = tables[1][0], tables[1][6], tables[6][1]
    found, start, end = -1, math.inf, math.inf
    num_levels = starts_of[j + 1] - starts_of[j]
    slowest = way // NUM_RULES
    for is_any in range(2):
        lowest = 0 if is_any or slowest < num_levels else slowest - num_levels
        highest = num_levels - 1 if is_any else slowest % num_levels
        for member in range(starts_of[j] + lowest, starts_of[j] + highest + 1):
            rule = 0 if is_any else way % NUM_RULES
            first = _first_start(profile, size, member, rule, tables[0][0][j], end, tables, scratch)
            if first == math.inf:
                continue
            found, start, duration = member, first, 0.0
            for g in range(len(chosen)):
                chosen[g] = scratch[3][0][g]
                if chosen[g] > 0:
                    duration = max(duration, durations[shapes[member], g])
            end = start + duration
        if found >= 0:
            break
    return found, start, end


@inlined
def _cost(shape, start, allocation, tables, ramps):
    """Return what a job costs by its start, on the slowest class that it uses."""
    durations = tables[6][1]
    duration, slowest = -1.0, 0
    for g in range(len(allocation)):
        if allocation[g] > 0 and durations[shape, g] > duration:
            duration, slowest = durations[shape, g], g
    return max(ramps[shape, slowest, 0], ramps[shape, slowest, 1] * start + ramps[shape, slowest, 2])


@inlined
def _decode(order, ways, first, placed, tables, costs, space, limit):
    """Place what follows a place of a list, the others as they are; return what it costs, infinity above a limit.

    ``placed`` are times (start, end, and cost), allocation and loads of each job; ``costs`` whether they are summed,
    ramps, weights of ends, and what each job costs at least. Beside the cost the objective is returned.
    """
    times, allocations, held = placed
    is_sum, ramps, weights, alone = costs
    profile, scratch = space
    size = _begin(profile, tables[6])
    objective, early, rest = 0.0 if is_sum else -math.inf, 0.0, 0.0
    for j in range(len(order)):
        rest += alone[j] if is_sum else 0.0
    for p in range(len(order)):
        j = order[p]
        if p >= first:
            member, times[j, 0], times[j, 1] = _place(j, ways[j], profile, size, tables, allocations[j], scratch)
            if member < 0:
                return math.inf, math.inf
            shape = tables[1][6][member]
            for c in range(held.shape[1]):
                held[j, c] = load(shape, c, allocations[j], tables[3], tables[4])
            times[j, 2] = _cost(shape, times[j, 0], allocations[j], tables, ramps)
        size = _hold(profile, size, times[j, 0], times[j, 1], allocations[j], held[j])
        early += weights[j] * times[j, 1]
        if is_sum:
            objective += times[j, 2]
            rest -= alone[j]
        else:
            objective = max(objective, times[j, 2])
        if objective + early + rest > limit:
            return math.inf, math.inf
    return objective + early, objective


@inlined
def _take_over(order, first, source, target):
    """Make what is placed from a place of a list on that of another."""
    for p in range(first, len(order)):
        j = order[p]
        for column in range(3):
            target[0][j, column] = source[0][j, column]
        for g in range(source[1].shape[1]):
            target[1][j, g] = source[1][j, g]
        for c in range(source[2].shape[1]):
            target[2][j, c] = source[2][j, c]


@inlined
def _keep(order, ways, kept_order, kept_ways):
    """Keep a list: a loop, for assignments to slices take long to compile."""
    for p in range(len(order)):
        kept_order[p], kept_ways[p] = order[p], ways[p]


@inlined
def _another_way(j, tables, seed):
    """Return a random way to place a job."""
    num_levels = tables[1][0][j + 1] - tables[1][0][j]
    level = int(draw(seed) * num_levels)
    if draw(seed) < ALONE:
        level += num_levels
    return level * NUM_RULES + int(draw(seed) * NUM_RULES)


@uncounted
def anneal(order, ways, best_order, best_ways, best, tables, costs, placed, tried, space, steps, heats, seed):
    """Anneal a list from one step of a round to before another, of so many; return the least objective.

    The temperature (cost) falls from one to another over all of them.

    ``order`` and ``ways`` become the last list, of which ``placed`` is the schedule, ``best_order`` and ``best_ways``,
    of objective ``best``, the best one.
    """
    n, beginning = len(order), np.int64(0)  # a literal would be compiled once more
    now, objective = _decode(order, ways, beginning, placed, tables, costs, space, math.inf)
    _take_over(order, beginning, placed, tried)
    for step in range(steps[0], steps[1]):
        if objective < best:
            best = objective
            _keep(order, ways, best_order, best_ways)
        heat = heats[0] + (heats[1] - heats[0]) * (step / steps[2])
        limit = now - heat * math.log(1.0 - draw(seed))
        kind, i, k, way = draw(seed), int(draw(seed) * n), 0, ways[0]
        if kind < INSERT + SWAP:
            i, k = places(seed, n, float(max(2, n)))
            if i == k:
                continue
            move(order, i, k, kind < INSERT)
        else:
            k, way = i, ways[order[i]]
            ways[order[i]] = _another_way(order[i], tables, seed)
            if ways[order[i]] == way:
                continue
        first = min(i, k)
        cost, value = _decode(order, ways, first, tried, tables, costs, space, limit)
        if cost <= limit:
            _take_over(order, first, tried, placed)
            now, objective = cost, value
            continue
        if kind < INSERT + SWAP:
            move(order, k, i, kind < INSERT)
        else:
            ways[order[i]] = way
        _take_over(order, first, placed, tried)
    if objective < best:
        best = objective
        _keep(order, ways, best_order, best_ways)
    return best
