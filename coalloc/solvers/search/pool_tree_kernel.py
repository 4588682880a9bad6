"""The tree of one pool, compiled: what :mod:`coalloc.solvers.search.pool_tree` runs.

Depth first, a job at a time: at the instant of a level each waiting job, in the order of the numbers, starts or does
not, and the next instant is the first end of what runs then. Times are whole units. Compiled by numba, for which
functions take plain arrays, gathered in the named tuples that :class:`coalloc.solvers.search.pool_tree.PoolTree` makes.
No function makes an array, so no references are counted: the tree would be half as fast with them.
"""

from __future__ import annotations

import numpy as np

from coalloc.solvers.machine_code import MULTIPLIER, inlined, uncounted

WAITING, RUNNING, DONE = 0, 1, 2
"""What a job, or what runs from the beginning, may be."""
LEVEL, IS_FORWARD, CEILING, NUM_WAITING, CAPACITY = 0, 1, 2, 3, 4
"""Which number of a search is what."""
EVERYTHING, BETTER, STOPPED = 0, 1, 2
"""How a run ends: with everything seen, at a schedule that ends by the ceiling, or with its nodes used up."""
BITS = 64
"""Bits of a word."""
NEIGHBOURS = 4
"""Places of the memory in which one thing may stand."""


@inlined
def _enter(level, jobs, state, path, numbers):
    """Note who may start at a level, and when what runs there ends first; beyond the ceiling where nothing does.

    What had room all the time before waits on, for it could have started then.
    """
    now, ceiling, number = path.instants[level], numbers[CEILING], np.int64(0)
    first = ceiling + 1
    for i in range(len(state.status)):
        if state.status[i] == RUNNING:
            first = min(first, state.ends[i])
        elif state.status[i] == WAITING and path.before[level] < jobs.tasks[i] <= path.free[level]:
            end = now + jobs.ticks[i]
            if end <= ceiling and (i != jobs.mirrored or now + end <= ceiling):
                path.candidates[level, number] = i
                number += 1
    path.firsts[level, 0], path.num_candidates[level] = first, number
    path.counts[level], path.places[level] = 0, 0


@inlined
def _next_to_start(level, jobs, state, path, numbers, prices):
    """Return the place of the next candidate that starts; their number if there is none, -1 if too much stays idle."""
    tasks, ticks, twins, status, candidates = jobs.tasks, jobs.ticks, jobs.twins, state.status, path.candidates
    lost, slack, capacity = path.losses[level, 0], prices.slacks[0], numbers[CAPACITY]
    found, free = path.num_candidates[level], path.free[level]
    idle, step = free, path.firsts[level, path.counts[level]] - path.instants[level]
    for place in range(found - 1, path.places[level] - 1, -1):
        j = candidates[level, place]
        if tasks[j] <= free:
            idle, step = idle - tasks[j], min(step, ticks[j])
            if twins[j] < 0 or status[twins[j]] != WAITING:
                found = place
    return -1 if idle > 0 and lost + idle * step / capacity > slack else found


@inlined
def _loses_too_much(level, later, state, path, prices):
    """Note what is lost at each price up to an instant; return whether that is more than there is."""
    status, losses, span = state.status, path.losses, later - path.instants[level]
    rates, slacks = prices.rates, prices.slacks
    for p in range(len(slacks)):
        rate = 0.0
        for i in range(len(status)):
            if status[i] == RUNNING:
                rate += rates[p, i]
        lost = losses[level, p] + (1.0 - rate) * span
        if lost > slacks[p]:
            return True
        losses[level + 1, p] = lost
    return False


@inlined
def _has_a_hole(level, later, jobs, state, path, numbers):
    """Note since when there is room for each waiting job; return whether one could have run, or will be too late."""
    tasks, ticks, mirrored, status, rooms = jobs.tasks, jobs.ticks, jobs.mirrored, state.status, path.rooms
    now, free, ceiling = path.instants[level], path.free[level], numbers[CEILING]
    for j in range(len(ticks)):
        if status[j] != WAITING:
            continue
        end = later + ticks[j]
        if end > ceiling or (j == mirrored and later + end > ceiling):
            return True
        if tasks[j] > free:
            rooms[level + 1, j] = -1
            continue
        since = rooms[level, j] if rooms[level, j] >= 0 else now
        if later - since >= ticks[j]:
            return True
        rooms[level + 1, j] = since
    return False


@inlined
def _add_up(words, size, ticks):
    """Let sums be, or not be, so many ticks more: sums are the bits of words."""
    shift, rest = ticks // BITS, np.uint64(ticks % BITS)
    for k in range(size - 1, shift - 1, -1):
        moved = words[k - shift] << rest
        if rest and k > shift:
            moved |= words[k - shift - 1] >> (np.uint64(BITS) - rest)
        words[k] |= moved


@inlined
def _greatest_sum(words, most):
    """Return the greatest sum that is no more than a number of ticks."""
    k = most // BITS
    word = words[k] & (~np.uint64(0) >> np.uint64(BITS - 1 - most % BITS))
    while not word:
        k -= 1
        word = words[k]
    bit = np.int64(0)
    step = np.int64(32)
    while step:
        if word >> np.uint64(step):
            word >>= np.uint64(step)
            bit += step
        step //= 2
    return k * BITS + bit


@inlined
def _idle_in_the_end(level, later, jobs, state, path, numbers, words):
    """Return the processor units that stay idle after what runs has ended, for no waiting jobs last just as long."""
    tasks, ticks, status, ends = jobs.tasks, jobs.ticks, state.status, state.ends
    free, ceiling = path.free[level], numbers[CEILING]
    size = (ceiling - later) // BITS + 1
    words[:size] = 0
    words[0] = 1
    for j in range(len(ticks)):
        if status[j] == WAITING:
            _add_up(words, size, ticks[j])
    idle = (ceiling - later - _greatest_sum(words, ceiling - later)) * free
    for i in range(len(status)):
        if status[i] == RUNNING and ends[i] < ceiling:
            idle += (ceiling - ends[i] - _greatest_sum(words, ceiling - ends[i])) * tasks[i]
    return idle


@inlined
def _profile(later, tasks, state, profile):
    """Write ends and tasks of what runs beyond an instant, in the order of ends; return how many, and what waits."""
    status, ends = state.status, state.ends
    size, waiting = np.int64(0), np.uint64(0)
    for i in range(len(status)):
        if status[i] == WAITING:
            waiting |= np.uint64(1) << np.uint64(i)
        if status[i] != RUNNING or ends[i] <= later:
            continue
        k = size
        while k > 0 and profile[k - 1, 0] > ends[i]:
            profile[k, 0], profile[k, 1] = profile[k - 1, 0], profile[k - 1, 1]
            k -= 1
        profile[k, 0], profile[k, 1] = ends[i], tasks[i]
        size += 1
    return size, waiting


@inlined
def _holds_no_more(known, num_known, profile, size, later):
    """Return whether one profile never holds more than another from an instant on; both end in the order of ends."""
    a, excess = 0, 0
    for k in range(num_known):
        if known[k, 0] > later:
            excess += known[k, 1]
        else:
            a = k + 1
    for b in range(size):
        excess -= profile[b, 1]
    if excess > 0:
        return False
    for b in range(size):  # what the other holds ends: by then as much of the one must have
        end = profile[b, 0]
        excess += profile[b, 1]
        while a < num_known and known[a, 0] <= end:
            excess -= known[a, 1]
            a += 1
        if excess > 0 and (b + 1 == size or profile[b + 1, 0] > end):
            return False
    return True


@inlined
def _is_known(later, tasks, state, memory, profile):
    """Return whether the same jobs waited before, no later and beside no more; remember this where not."""
    keys, instants, sizes, profiles = memory.waiting, memory.instants, memory.sizes, memory.profiles
    size, waiting = _profile(later, tasks, state, profile)
    if size > profiles.shape[1]:
        return False
    first = np.int64((waiting * np.uint64(MULTIPLIER)) % np.uint64(len(keys)))
    place = first
    for k in range(NEIGHBOURS):
        at = (first + k) % len(keys)
        if sizes[at] < 0:
            place = at
            break
        is_alike = keys[at] == waiting and instants[at] <= later
        if is_alike and _holds_no_more(profiles[at], sizes[at], profile, size, later):
            return True
        if instants[at] > instants[place]:
            place = at
    keys[place], instants[place], sizes[place] = waiting, later, size
    for k in range(size):
        profiles[place, k, 0], profiles[place, k, 1] = profile[k, 0], profile[k, 1]
    return False


@inlined
def _may_lead_on(level, later, jobs, state, path, numbers, prices, memory, profile, words):
    """Return whether what has started at a level may lead to a schedule that ends by the ceiling."""
    if later > numbers[CEILING] or _loses_too_much(level, later, state, path, prices):
        return False
    if _has_a_hole(level, later, jobs, state, path, numbers):
        return False
    if len(words):
        idle = _idle_in_the_end(level, later, jobs, state, path, numbers, words)
        if path.losses[level + 1, 0] + idle / numbers[CAPACITY] > prices.slacks[0]:
            return False
    # Where nothing has started the same jobs wait at the level before: that one is not yet seen to its end.
    return path.counts[level] == 0 or not _is_known(later, jobs.tasks, state, memory, profile)


@inlined
def _start(level, place, jobs, state, path, numbers):
    """Start the candidate at a place."""
    j, number, now = path.candidates[level, place], path.counts[level], path.instants[level]
    end = now + jobs.ticks[j]
    state.status[j], state.starts[j], state.ends[j] = RUNNING, now, end
    path.free[level] -= jobs.tasks[j]
    path.started[level, number] = place
    path.firsts[level, number + 1] = min(path.firsts[level, number], end)
    path.counts[level], path.places[level] = number + 1, place + 1
    numbers[NUM_WAITING] -= 1


@inlined
def _go_on(level, later, jobs, state, path, numbers):
    """Go on to the next instant."""
    number, room = np.int64(0), path.free[level]
    for i in range(len(state.status)):
        if state.status[i] == RUNNING and state.ends[i] == later:
            state.status[i] = DONE
            path.ended[level + 1, number] = i
            number += 1
            room += jobs.tasks[i]
    path.num_ended[level + 1], path.before[level + 1] = number, path.free[level]
    path.instants[level + 1], path.free[level + 1] = later, room
    numbers[LEVEL] = level + 1
    _enter(level + 1, jobs, state, path, numbers)


@inlined
def _go_back(level, jobs, state, path, numbers):
    """Take the last start back and pass the job over, or go to the level before; return whether there is none."""
    if path.counts[level]:
        path.counts[level] -= 1
        place = path.started[level, path.counts[level]]
        j = path.candidates[level, place]
        state.status[j], path.places[level] = WAITING, place + 1
        path.free[level] += jobs.tasks[j]
        numbers[NUM_WAITING] += 1
        numbers[IS_FORWARD] = 1
        return False
    for k in range(path.num_ended[level]):
        state.status[path.ended[level, k]] = RUNNING
    numbers[LEVEL] = level - 1
    return level == 0


@inlined
def _ends_in_time(num_jobs, state, numbers):
    """Return whether all jobs end by the ceiling, which may have fallen since they started."""
    in_time = True
    for j in range(num_jobs):
        in_time &= state.ends[j] <= numbers[CEILING]
    return in_time


@uncounted
def search(jobs, state, path, numbers, prices, memory, profile, words, max_nodes):
    """Search on, up to a number of nodes; return how it ended: :data:`EVERYTHING`, :data:`BETTER`, :data:`STOPPED`.

    ``profile`` and ``words`` are written anew at each node: the steps of what runs there, and the bits of sums.
    """
    num_jobs, nodes = len(jobs.ticks), np.int64(0)
    if numbers[NUM_WAITING] == num_jobs and numbers[LEVEL] == 0 and path.counts[0] == 0 and path.places[0] == 0:
        _enter(0, jobs, state, path, numbers)
    while True:
        level = numbers[LEVEL]
        if not numbers[IS_FORWARD]:
            if _go_back(level, jobs, state, path, numbers):
                return EVERYTHING
            continue
        place = _next_to_start(level, jobs, state, path, numbers, prices)
        if 0 <= place < path.num_candidates[level]:
            _start(level, place, jobs, state, path, numbers)
            if numbers[NUM_WAITING] == 0:
                numbers[IS_FORWARD] = 0
                if _ends_in_time(num_jobs, state, numbers):
                    return BETTER
            continue
        later = path.firsts[level, path.counts[level]]
        if place >= 0 and _may_lead_on(level, later, jobs, state, path, numbers, prices, memory, profile, words):
            _go_on(level, later, jobs, state, path, numbers)
        else:
            numbers[IS_FORWARD] = 0
        nodes += 1
        if nodes >= max_nodes:
            return STOPPED
