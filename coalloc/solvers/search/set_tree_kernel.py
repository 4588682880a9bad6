"""The tree of running sets, compiled: what :mod:`coalloc.solvers.search.set_tree` runs.

Depth first, a start at a time: at the instant of a level each key, a kind of jobs at a duration, in the order of the
numbers, starts or does not, and the next instant is the first end of what runs then, or the next arrival. Which
running set another becomes is looked up in tables; where they do not know it yet the search asks for it, and goes on
when it is called again. Compiled by numba, for which functions take plain arrays, gathered in named tuples: ``keys``,
``path`` and ``memory`` are those of :class:`coalloc.solvers.search.set_tree.SetTree`, ``tables`` those of
:class:`coalloc.solvers.search.set_tables.SetTables`. No function makes an array, so no references are counted: they
would take three quarters of the time. Times are ticks.
"""

from __future__ import annotations

import math

import numpy as np

from coalloc.solvers.machine_code import MULTIPLIER, inlined, uncounted
from coalloc.solvers.search.set_tables import MOST_COMPARED, NONE, UNKNOWN

LEVEL, IS_FORWARD, ASKED_SET, ASKED_KEY = 0, 1, 2, 3
"""Which number of a search is what."""
EVERYTHING, BETTER, STOPPED, JOINING, LEAVING = 0, 1, 2, 3, 4
"""How a run ends: with everything seen, at a schedule that ends by the ceiling, with its nodes used up, or with a
question: which running set another is once a key joins, or without the first of a key."""
IDLE, ASKING = -1, -2
"""Instead of the place of the next start: too much stays idle, and a question."""
NO, YES, UNANSWERED = 0, 1, 2
"""Whether a node is known."""
LOW_BITS = 20
"""Bits of the product that are not used for it."""
NEIGHBOURS = 8
"""Places of the memory in which one thing may stand."""


@inlined
def _number(waiting, kind, keys):
    """Return how many of a kind are among those that wait, packed."""
    return np.int64(waiting >> keys.shifts[kind]) & keys.masks[kind]


@inlined
def _enter(level, keys, path, ceiling, tables):
    """Note which keys may start at a level, and when what runs there ends first, or another job arrives.

    What had room all the time before waits on, for it could have started then; so has all that was there where nothing
    has ended.
    """
    now, number, waiting, first = path.instants[level], np.int64(0), path.waiting[level], math.inf
    before = path.sets[level - 1, path.counts[level - 1]] if level else np.int64(-1)
    has_ended = level > 0 and path.num_members[level] < path.num_members[level - 1]
    for key in range(len(keys.ticks)):
        kind = keys.kinds[key]
        if _number(waiting, kind, keys) == 0:
            continue
        if keys.releases[kind] > now:
            first = min(first, keys.releases[kind])
            continue
        end = now + keys.ticks[key]
        if end > ceiling or (kind == keys.mirrored[0] and now + end > ceiling + path.instants[0]):
            continue
        if before < 0 or keys.releases[kind] == now or (has_ended and not tables.always[before, key]):
            path.candidates[level, number] = key
            number += 1
    path.num_candidates[level] = number
    path.counts[level], path.places[level] = 0, 0
    for i in range(path.num_members[level]):
        first = min(first, path.ends[level, i])
    path.firsts[level, 0] = first


@inlined
def _next_to_start(level, keys, path, numbers, tables, slacks):
    """Return the place of the next candidate that starts; their number if there is none, or IDLE, or ASKING."""
    running, number = path.sets[level, path.counts[level]], path.num_candidates[level]
    rate, step = tables.rates[running, 0], path.firsts[level, path.counts[level]] - path.instants[level]
    found, last = number, np.int64(-1)
    for place in range(path.places[level], number):
        key = path.candidates[level, place]
        kind = keys.kinds[key]
        waiting = _number(path.waiting[level], kind, keys)
        joined = tables.joined[running, key] if waiting else NONE
        if joined == UNKNOWN:
            numbers[ASKED_SET], numbers[ASKED_KEY] = running, key
            return ASKING
        if joined == NONE:
            continue
        found, step = min(found, place), min(step, keys.ticks[key])
        if kind != last:  # at the first of its durations that fits: it is worth no more at others
            rate, last = rate + keys.rates[0, key] * waiting, kind
            if rate >= 1.0:
                return found
    return IDLE if path.losses[level, 0] + (1.0 - rate) * step > slacks[0] else found


@inlined
def _loses_too_much(level, later, path, tables, slacks, hits):
    """Note what is lost at each price up to an instant; return whether that is more than there is."""
    running, span = path.sets[level, path.counts[level]], later - path.instants[level]
    for p in range(len(slacks)):
        lost = path.losses[level, p] + (1.0 - tables.rates[running, p]) * span
        if lost > slacks[p]:
            hits[p] += 1
            return True
        path.losses[level + 1, p] = lost
    return False


@inlined
def _has_a_hole(level, later, keys, path, ceiling, tables):
    """Note since when there is room for each key that waits; return whether one could have run, or will be too late."""
    running, waiting = path.sets[level, path.counts[level]], path.waiting[level]
    for kind in range(len(keys.shifts)):
        if _number(waiting, kind, keys):
            end = max(later, keys.releases[kind]) + keys.shortest[kind]
            if end > ceiling or (kind == keys.mirrored[0] and later + end > ceiling + path.instants[0]):
                return True
    for key in range(len(keys.ticks)):
        if not tables.always[running, key]:
            path.rooms[level + 1, key] = math.inf
            continue
        kind, since = keys.kinds[key], min(path.rooms[level, key], path.instants[level])
        if max(since, keys.releases[kind]) + keys.ticks[key] <= later and _number(waiting, kind, keys):
            return True
        path.rooms[level + 1, key] = since
    return False


@inlined
def _lasting(level, later, path):
    """Write keys and ends of what runs beyond an instant, in the order of keys, then of ends; return how many."""
    size = np.int64(0)
    for i in range(path.num_members[level]):
        key, end = path.members[level, i], path.ends[level, i]
        if end <= later:
            continue
        k = size
        while k > 0 and (
            path.lasting_keys[k - 1] > key or (path.lasting_keys[k - 1] == key and path.lasting_ends[k - 1] > end)
        ):
            path.lasting_keys[k], path.lasting_ends[k] = path.lasting_keys[k - 1], path.lasting_ends[k - 1]
            k -= 1
        path.lasting_keys[k], path.lasting_ends[k] = key, end
        size += 1
    return size


@inlined
def _left(running, key, numbers, tables):
    """Return a running set without the first of a key; UNKNOWN, and it is asked for, where that is not known."""
    left = tables.left[running, key]
    if left == UNKNOWN:
        numbers[ASKED_SET], numbers[ASKED_KEY] = running, key
    return left


@inlined
def _runs_no_longer(at, size, later, path, tables, memory):
    """Return whether all that still runs of what is remembered runs here, too, and ends here no earlier.

    Both are looked at from the last of each key on: of those of one key the last ends are compared.
    """
    k = size - 1
    for i in range(memory.sizes[at] - 1, -1, -1):
        if memory.ends[at, i] <= later:
            continue
        key = tables.keys[memory.sets[at], i]
        while k >= 0 and path.lasting_keys[k] > key:
            k -= 1
        if k < 0 or path.lasting_keys[k] != key or path.lasting_ends[k] < memory.ends[at, i]:
            return False
        k -= 1
    return True


@inlined
def _is_no_worse(at, running, size, later, numbers, path, tables, memory):
    """Return whether what can follow a running set can follow what is remembered: NO, YES or UNANSWERED.

    Without what has ended, or runs here alone, the one must have all choices of the other.
    """
    if not _runs_no_longer(at, size, later, path, tables, memory):
        return NO
    one, other = np.int64(memory.sets[at]), np.int64(running)
    i, k = np.int64(memory.sizes[at]) - 1, size - 1
    while i >= 0 or k >= 0:
        is_over = i >= 0 and memory.ends[at, i] <= later
        if is_over:
            one = _left(one, tables.keys[memory.sets[at], i], numbers, tables)
        elif i < 0 or path.lasting_keys[k] != tables.keys[memory.sets[at], i]:
            other = _left(other, path.lasting_keys[k], numbers, tables)
        if min(one, other) == UNKNOWN:
            return UNANSWERED
        if is_over:
            i -= 1
            continue
        if i >= 0 and path.lasting_keys[k] == tables.keys[memory.sets[at], i]:
            i -= 1
        k -= 1
    index = tables.numbers[other]
    covers = index < MOST_COMPARED and (tables.covers[one] >> np.uint64(index)) & np.uint64(1)
    return YES if one == other or covers else NO


@inlined
def _is_known(level, later, running, numbers, path, tables, memory):
    """Return whether the same jobs waited before, no later and beside no more: NO, YES or UNANSWERED.

    Remember this where not.
    """
    size, waiting = _lasting(level, later, path), path.waiting[level]
    if size > memory.ends.shape[1]:
        return NO
    first = np.int64((waiting * np.uint64(MULTIPLIER)) >> np.uint64(LOW_BITS)) % len(memory.waiting)
    place = first
    for k in range(NEIGHBOURS):
        at = (first + k) % len(memory.waiting)
        if memory.sizes[at] < 0:
            place = at
            break
        if memory.waiting[at] == waiting and memory.instants[at] <= later:
            known = _is_no_worse(at, running, size, later, numbers, path, tables, memory)
            if known != NO:
                return known
        if memory.instants[at] > memory.instants[place]:
            place = at
    memory.waiting[place], memory.instants[place] = waiting, later
    memory.sizes[place], memory.sets[place] = size, running
    for k in range(size):
        memory.ends[place, k] = path.lasting_ends[k]
    return NO


@inlined
def _after(level, later, numbers, path, tables):
    """Return what still runs at an instant; UNKNOWN where that has to be asked."""
    running = np.int64(path.sets[level, path.counts[level]])
    for i in range(path.num_members[level]):
        if path.ends[level, i] <= later:
            running = _left(running, path.members[level, i], numbers, tables)
            if running == UNKNOWN:
                return running
    return running


@inlined
def _start(level, place, keys, path, tables):
    """Start one of the candidate at a place."""
    key, number = path.candidates[level, place], path.counts[level]
    end, member = path.instants[level] + keys.ticks[key], path.num_members[level]
    path.members[level, member], path.ends[level, member] = key, end
    path.num_members[level] = member + 1
    path.started[level, number] = place
    path.firsts[level, number + 1] = min(path.firsts[level, number], end)
    path.sets[level, number + 1] = tables.joined[path.sets[level, number], key]
    path.waiting[level] -= np.uint64(1) << keys.shifts[keys.kinds[key]]
    path.counts[level], path.places[level] = number + 1, place


@inlined
def _go_on(level, later, keys, path, numbers, ceiling, tables):
    """Go on to the next instant."""
    number = np.int64(0)
    for i in range(path.num_members[level]):
        if path.ends[level, i] > later:
            path.members[level + 1, number] = path.members[level, i]
            path.ends[level + 1, number] = path.ends[level, i]
            number += 1
    path.num_members[level + 1] = number
    path.instants[level + 1], path.waiting[level + 1] = later, path.waiting[level]
    numbers[LEVEL] = level + 1
    _enter(level + 1, keys, path, ceiling, tables)


@inlined
def _go_back(level, keys, path, numbers):
    """Take the last start back and pass its key over, or go to the level before; return whether there is none."""
    if path.counts[level]:
        path.counts[level] -= 1
        place = path.started[level, path.counts[level]]
        key = path.candidates[level, place]
        path.places[level] = place + 1
        path.num_members[level] -= 1
        path.waiting[level] += np.uint64(1) << keys.shifts[keys.kinds[key]]
        numbers[IS_FORWARD] = 1
        return False
    numbers[LEVEL] = level - 1
    return level == 0


@inlined
def _may_lead_on(level, later, keys, path, numbers, ceiling, slacks, hits, tables, memory):
    """Return whether what has started at a level may lead to a schedule that ends by the ceiling, or UNANSWERED."""
    if later > ceiling or _loses_too_much(level, later, path, tables, slacks, hits):
        return NO
    if _has_a_hole(level, later, keys, path, ceiling, tables):
        return NO
    running = _after(level, later, numbers, path, tables)
    if running == UNKNOWN:
        return UNANSWERED
    path.sets[level + 1, 0] = running
    # Where nothing has started the same jobs wait at the level before: that one is not yet seen to its end.
    known = _is_known(level, later, running, numbers, path, tables, memory) if path.counts[level] else NO
    return UNANSWERED if known == UNANSWERED else YES - known


@inlined
def _ends_in_time(level, keys, path, ceiling):
    """Return whether all jobs that run end by the ceiling, which may have fallen since they started."""
    in_time = True
    for i in range(path.num_members[level]):
        in_time &= path.members[level, i] >= len(keys.ticks) or path.ends[level, i] <= ceiling
    return in_time


@uncounted
def search(keys, path, numbers, ceiling, slacks, hits, tables, memory, max_nodes):
    """Search on, up to a number of nodes; return how it ended, and the nodes.

    ``slacks`` (ticks) are what may be lost at each price; ``hits`` count how often one ended a branch.
    """
    nodes = 0
    if numbers[LEVEL] < 0:
        numbers[LEVEL] = 0
        _enter(0, keys, path, ceiling, tables)
    while nodes < max_nodes:
        level = numbers[LEVEL]
        if not numbers[IS_FORWARD]:
            if _go_back(level, keys, path, numbers):
                return EVERYTHING, nodes
            continue
        place = _next_to_start(level, keys, path, numbers, tables, slacks)
        if place == ASKING:
            return JOINING, nodes
        if 0 <= place < path.num_candidates[level]:
            _start(level, place, keys, path, tables)
            if path.waiting[level] == 0:
                numbers[IS_FORWARD] = 0
                if _ends_in_time(level, keys, path, ceiling):
                    return BETTER, nodes
            continue
        nodes += 1
        later, leads_on = path.firsts[level, path.counts[level]], NO
        if place != IDLE:
            leads_on = _may_lead_on(level, later, keys, path, numbers, ceiling, slacks, hits, tables, memory)
        if leads_on == UNANSWERED:
            return LEAVING, nodes
        if leads_on == YES:
            _go_on(level, later, keys, path, numbers, ceiling, tables)
        else:
            numbers[IS_FORWARD] = 0
    return STOPPED, nodes
