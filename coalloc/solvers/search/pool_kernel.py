"""Annealing of lists on one pool of equal processors, compiled: what :mod:`coalloc.solvers.search.pool_annealing` runs.

Each job of a list starts as early as the profile of free processors allows. A move takes a job to another place of the
list, or swaps two; most moves for a sum are of a job that waits and one that starts meanwhile. Only what follows the
first place is decoded anew, beside those before it that have not ended by the earliest release to come; and only until
every job that starts at another time than before has ended by the earliest release to come, for from there on nothing
changes. Compiled by numba, for which functions take plain arrays.
"""

from __future__ import annotations

import math

import numpy as np

from coalloc.solvers.machine_code import compiled, inlined, uncounted
from coalloc.solvers.search.moves_kernel import draw, move, places, step_of

INSERT = 0.7
"""Probability that a move takes a job to another place; else it swaps two."""
AIMED = 0.8
"""Probability that a move for a sum is aimed: at a job that waits and one that starts while it does."""
TRIALS = 8
"""Jobs that are drawn, at most, for one that waits."""
EARLINESS = 0.1
"""Weight of the mean end of the tasks beside the latest end."""
TIDIED = 1_000
"""Steps after which a list is put in the order of its starts."""


@inlined
def _hold(times, free, size, start, end, tasks):
    """Take tasks from ``start`` to ``end`` off a profile; return how many steps it has."""
    if end <= times[0]:
        return size
    first = 0
    if start > times[0]:
        first = step_of(times, size, start)
        if first == size or times[first] > start:
            for k in range(size, first, -1):
                times[k], free[k] = times[k - 1], free[k - 1]
            times[first], free[first] = start, free[first - 1]
            size += 1
    last = step_of(times, size, end)
    if last == size or times[last] > end:
        for k in range(size, last, -1):
            times[k], free[k] = times[k - 1], free[k - 1]
        times[last], free[last] = end, free[last - 1]
        size += 1
    for k in range(first, last):
        free[k] -= tasks
    return size


@inlined
def _earliest(times, free, size, release, duration, tasks):
    """Return the first start from ``release`` on at which so many processors are free for so long."""
    i = step_of(times, size, release)
    if i == size or times[i] > release:
        i = max(0, i - 1)
    while True:
        if free[i] < tasks:
            i += 1
            continue
        start = max(times[i], release)
        k = i + 1
        while k < size and times[k] < start + duration and free[k] >= tasks:
            k += 1
        if k == size or times[k] >= start + duration:
            return start
        i = k


@inlined
def _cost(jobs, j, start):
    """Return what a job costs by its start: a ramp. Columns are release, duration, tasks, floor, slope, intercept."""
    return max(jobs[j, 3], jobs[j, 4] * start + jobs[j, 5])


@inlined
def _decode(order, first, last, jobs, alone, state, profile, capacity, held, limit):
    """Return the cost of a list that is as the current one before ``first`` and after ``last``, and where it ends.

    ``state`` are starts by job, sums of costs, least releases and sums of costs alone by place, and the new starts. A
    cost above ``limit`` is infinity.
    """
    starts, sums, releases, rests, new = state
    times, free = profile
    n = len(order)
    base = releases[first]
    times[0], free[0], size = base, capacity, 1
    for b in range(len(held)):
        size = _hold(times, free, size, base, held[b, 0], held[b, 1])
    for p in range(first):
        j = order[p]
        if starts[j] + jobs[j, 1] > base:
            size = _hold(times, free, size, max(base, starts[j]), starts[j] + jobs[j, 1], jobs[j, 2])
    done, rest, differs = sums[first], rests[first], -math.inf
    for p in range(first, n):
        j = order[p]
        start = _earliest(times, free, size, jobs[j, 0], jobs[j, 1], jobs[j, 2])
        size = _hold(times, free, size, start, start + jobs[j, 1], jobs[j, 2])
        new[j] = start
        done += _cost(jobs, j, start)
        rest -= alone[j]
        if start != starts[j]:
            differs = max(differs, max(start, starts[j]) + jobs[j, 1])
        if done + rest > limit:
            return math.inf, p
        if p >= last and p + 1 < n and differs <= releases[p + 1]:
            return done + sums[n] - sums[p + 1], p
    return done, n - 1


@inlined
def _keep(order, first, last, jobs, alone, state):
    """Take the new starts of the places from ``first`` to ``last`` into the state."""
    starts, sums, releases, rests, new = state
    n = len(order)
    before = sums[last + 1]
    for p in range(first, last + 1):
        j = order[p]
        starts[j] = new[j]
        sums[p + 1] = sums[p] + _cost(jobs, j, starts[j])
    shift = sums[last + 1] - before
    for p in range(last + 2, n + 1):
        sums[p] += shift
    for p in range(last, first - 1, -1):
        releases[p] = min(jobs[order[p], 0], releases[p + 1])
        rests[p] = rests[p + 1] + alone[order[p]]


@inlined
def _begin(order, jobs, alone, state, profile, capacity, held):
    """Decode a list from its beginning; return its cost."""
    starts, sums, releases, rests, new = state
    n = len(order)
    releases[n], rests[n], sums[0] = math.inf, 0.0, 0.0
    for p in range(n - 1, -1, -1):
        releases[p] = min(jobs[order[p], 0], releases[p + 1])
        rests[p] = rests[p + 1] + alone[order[p]]
    _decode(order, 0, n, jobs, alone, state, profile, capacity, held, math.inf)
    for p in range(n):
        starts[order[p]] = new[order[p]]
        sums[p + 1] = sums[p] + _cost(jobs, order[p], starts[order[p]])
    return sums[n]


@inlined
def _sort(order, starts):
    """Put a list, which nearly is, in the order of its starts, by insertion."""
    for p in range(1, len(order)):
        j, k = order[p], p
        while k > 0 and starts[order[k - 1]] > starts[j]:
            order[k] = order[k - 1]
            k -= 1
        order[k] = j


@uncounted
def aimed_places(order, jobs, starts, seed):
    """Return the places of a job that waits and of one that starts meanwhile, in either order; equal where none does.

    The list is about in the order of its starts.
    """
    n = len(order)
    for _ in range(TRIALS):
        i = int(draw(seed) * n)
        release = jobs[order[i], 0]
        if i == 0 or starts[order[i]] <= release:
            continue
        first = i - 1
        while first > 0 and starts[order[first - 1]] >= release:
            first -= 1
        k = first + int(draw(seed) * (i - first))
        return (i, k) if draw(seed) < 0.5 else (k, i)
    return 0, 0


@compiled
def anneal(order, best_order, best, jobs, capacity, held, steps, heats, seed, widest):
    """Anneal a list for so many steps from one temperature (cost) to another; return the best cost.

    ``order`` becomes the last list, ``best_order``, which costs ``best``, the best one. ``jobs`` has a row per job:
    release, duration, tasks, and floor, slope and intercept of its ramp; ``held`` end and processors of each running
    job. A move is over ``widest`` places at most, mostly over few.
    """
    n = len(order)
    alone = np.empty(n)
    for j in range(n):
        alone[j] = _cost(jobs, j, jobs[j, 0])
    state = (np.empty(n), np.zeros(n + 1), np.empty(n + 1), np.empty(n + 1), np.empty(n))
    profile = (np.empty(2 * (n + len(held)) + 4), np.empty(2 * (n + len(held)) + 4))
    now = _begin(order, jobs, alone, state, profile, capacity, held)
    for step in range(steps):
        if step % TIDIED == 0:
            _sort(order, state[0])
            now = _begin(order, jobs, alone, state, profile, capacity, held)
        if now < best:
            best = now
            best_order[:] = order
        heat = heats[0] * (heats[1] / heats[0]) ** (step / steps)
        is_aimed = draw(seed) < AIMED
        i, k = aimed_places(order, jobs, state[0], seed) if is_aimed else places(seed, n, widest)
        if i == k:
            continue
        is_insert = draw(seed) < INSERT
        move(order, i, k, is_insert)
        limit = now - heat * math.log(1.0 - draw(seed))
        first, last = min(i, k), max(i, k)
        cost, end = _decode(order, first, last, jobs, alone, state, profile, capacity, held, limit)
        if cost > limit:
            move(order, k, i, is_insert)
            continue
        _keep(order, first, end, jobs, alone, state)
        now = cost
    if now < best:
        best = now
        best_order[:] = order
    return best


@compiled
def starts_of(order, jobs, capacity, held):
    """Return the start of each job of a list."""
    n = len(order)
    state = (np.empty(n), np.zeros(n + 1), np.empty(n + 1), np.empty(n + 1), np.empty(n))
    profile = (np.empty(2 * (n + len(held)) + 4), np.empty(2 * (n + len(held)) + 4))
    _begin(order, jobs, np.zeros(n), state, profile, capacity, held)
    return state[0]


@inlined
def _decode_to_end(order, first, jobs, starts, new, profile, capacity, held, weights, limit):
    """Return what a list costs that is as the current one before ``first``, and its latest end; infinity above a limit.

    The cost is the latest end, and ``weights`` (by job) times the ends: what ends early leaves room to move.
    """
    times, free = profile
    times[0], free[0], size = jobs[0, 0], capacity, 1
    for j in range(1, len(jobs)):
        times[0] = min(times[0], jobs[j, 0])
    for b in range(len(held)):
        size = _hold(times, free, size, times[0], held[b, 0], held[b, 1])
    latest, early = 0.0, 0.0
    for p in range(len(order)):
        j = order[p]
        start = starts[j]
        if p >= first:
            start = _earliest(times, free, size, jobs[j, 0], jobs[j, 1], jobs[j, 2])
        end = start + jobs[j, 1]
        size = _hold(times, free, size, start, end, jobs[j, 2])
        new[j] = start
        latest = max(latest, end)
        early += weights[j] * end
        if latest + early > limit:
            return math.inf, latest
    return latest + early, latest


@compiled
def anneal_latest_end(order, best_order, best, jobs, capacity, held, steps, heats, seed, widest):
    """Anneal a list for so many steps for the latest end; return the least: as :func:`anneal` but for what it costs."""
    n = len(order)
    weights = EARLINESS * jobs[:, 2] / jobs[:, 2].sum()
    starts, new = np.empty(n), np.empty(n)
    profile = (np.empty(2 * (n + len(held)) + 4), np.empty(2 * (n + len(held)) + 4))
    now, latest = _decode_to_end(order, 0, jobs, starts, new, profile, capacity, held, weights, math.inf)
    for step in range(steps):
        if latest < best:
            best = latest
            best_order[:] = order
        starts[:] = new
        heat = heats[0] * (heats[1] / heats[0]) ** (step / steps)
        i, k = places(seed, n, widest)
        if i == k:
            continue
        is_insert = draw(seed) < INSERT
        move(order, i, k, is_insert)
        limit = now - heat * math.log(1.0 - draw(seed))
        cost, end = _decode_to_end(order, min(i, k), jobs, starts, new, profile, capacity, held, weights, limit)
        if cost > limit:
            move(order, k, i, is_insert)
            new[:] = starts
            continue
        now, latest = cost, end
    if latest < best:
        best = latest
        best_order[:] = order
    return best
