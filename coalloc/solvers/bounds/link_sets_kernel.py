"""The listing of sets that fit together, compiled: :mod:`coalloc.solvers.bounds.link_sets` runs it where they are many.

Depth first, each set grows by jobs that come later in an order, at each of their levels. A set is kept only if no later
job fits beside it and its last member is at the fastest level at which it fits: the others are worth no more than one
that is kept. Compiled by numba, for which functions take plain arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from coalloc.solvers.machine_code import compiled

DEPTH, STEPS, SETS, MEMBERS = range(4)
"""What the progress holds: members of the present set (-1 at the end), sets that were tried, sets and members kept."""
HAS_GROWN, IS_FASTEST, FITS = range(3)
"""What is known of a set: a later job fits beside it, its last member can be no faster, the one that is tried fits."""
Arrays = tuple[NDArray[Any], ...]


def state_of(num_jobs: int, free: NDArray[Any], left: NDArray[Any]) -> tuple[Arrays, Any]:
    """Return the state of a listing before its begin, in a room of so much, and what checks write to."""
    depth = num_jobs + 1
    rooms = [(np.tile(free, (depth, 1)), np.tile(left, (depth, 1))) for _ in range(3)]
    places, levels, following, order = (np.zeros(depth, dtype=np.int64) for _ in range(4))
    flags, members = np.zeros((depth, 3), dtype=np.int64), np.zeros((depth, 2), dtype=np.int64)
    state = (np.zeros(4, dtype=np.int64), places, levels, flags, members, *rooms[0], *rooms[1])
    return state, (rooms[2], order, following)


@compiled
def _fits(allocations, loads, choice, free, left, rest_free, rest_left):
    """Return whether a choice fits into a room, and write what it leaves."""
    for g in range(len(free)):
        rest_free[g] = free[g] - allocations[choice, g]
        if rest_free[g] < 0:
            return False
    for k in range(len(left)):
        rest_left[k] = left[k] - loads[choice, k]
        if rest_left[k] < 0.0:
            return False
    return True


@compiled
def _hold(allocations, loads, choice, free, left, rest_free, rest_left):
    """Write what a running job leaves of a room: it holds what it holds, and more than there is leaves nothing."""
    for g in range(len(free)):
        rest_free[g] = free[g] - allocations[choice, g]
    for k in range(len(left)):
        rest_left[k] = max(0.0, left[k] - loads[choice, k])


@compiled
def _next_fit(job, choices, begin, end, room, rest):
    """Return the first choice of a job from ``begin`` on that fits into a room, ``end`` where none does."""
    allocations, loads, is_running = choices
    free, left = room
    rest_free, rest_left = rest
    for choice in range(begin, end):
        if is_running[job]:
            _hold(allocations, loads, choice, free, left, rest_free, rest_left)
            return choice
        if _fits(allocations, loads, choice, free, left, rest_free, rest_left):
            return choice
    return end


@compiled
def _arranged(members, count, choices, spans, rooms, order, following, rest, most):
    """Return whether some choice fits for each member; what they leave goes to ``rest``.

    True as well where more than ``most`` have been tried: then only some of them are taken out of the room.
    """
    is_running = choices[2]
    free, left = rooms
    for i in range(count):  # those that run first, then by how many choices they have
        place = i
        j, level = members[i, 0], members[i, 1]
        size = -1 if is_running[j] else spans[j, level, 1] - spans[j, level, 0]
        while place > 0:
            other = order[place - 1]
            k, of_other = members[other, 0], members[other, 1]
            others = -1 if is_running[k] else spans[k, of_other, 1] - spans[k, of_other, 0]
            if others <= size:
                break
            order[place] = other
            place -= 1
        order[place] = i
    steps, i = 0, 0
    following[0] = spans[members[order[0], 0], members[order[0], 1], 0]
    while True:
        if i == count or steps > most:
            rest[0][:] = free[i]
            rest[1][:] = left[i]
            return True
        j, level = members[order[i], 0], members[order[i], 1]
        end = spans[j, level, 1]
        choice = _next_fit(j, choices, following[i], end, (free[i], left[i]), (free[i + 1], left[i + 1]))
        if choice == end:
            if i == 0:
                return False
            i -= 1
            continue
        steps += 1
        following[i] = choice + 1
        i += 1
        if i < count:
            following[i] = spans[members[order[i], 0], members[order[i], 1], 0]


@compiled
def grow(jobs, choices, state, trial, found, ends, most, max_steps):
    """List sets, from where ``state`` is, until all are, or so many more were tried; return how many there are now.

    ``jobs`` are their order, tasks, numbers of levels, and the first choice at each level and the one after the last;
    ``choices`` what each takes of classes and resources, and which jobs run already. ``found`` gets the members of each
    set, one set after another, as (job, level); ``ends`` where each ends. Where one of them is full the answer is -1.
    """
    order, tasks, num_levels, spans = jobs
    progress, places, levels, flags, members, free, left, known_free, known_left = state
    rooms, sorted_members, following = trial
    n = len(order)
    limit = progress[STEPS] + max_steps
    count, size = progress[SETS], progress[MEMBERS]
    depth = progress[DEPTH]
    while depth >= 0 and progress[STEPS] < limit:
        d = depth
        if places[d] == n:
            if d > 0 and not flags[d, HAS_GROWN] and flags[d, IS_FASTEST]:
                if count == len(ends) or size + d > len(found):
                    return -1
                found[size : size + d] = members[:d]
                size += d
                ends[count] = size
                count += 1
            depth -= 1
            if depth >= 0:
                levels[depth] += 1
            continue
        j = order[places[d]]
        if levels[d] == num_levels[j] or (levels[d] == 0 and tasks[j] > free[d].sum()):
            places[d] += 1
            levels[d] = 0
            flags[d, FITS] = 0
            continue
        level = levels[d]
        members[d, 0], members[d, 1] = j, level
        is_first = not flags[d, FITS]
        if is_first:
            progress[STEPS] += 1
            begin, end = spans[j, level, 0], spans[j, level, 1]
            rest = (known_free[d], known_left[d])
            if _next_fit(j, choices, begin, end, (free[d], left[d]), rest) < end or (
                d > 0 and _arranged(members, d + 1, choices, spans, rooms, sorted_members, following, rest, most)
            ):
                flags[d, FITS] = 1
        if not flags[d, FITS]:
            levels[d] += 1
            continue
        flags[d, HAS_GROWN] = 1
        depth = d + 1
        free[depth] = known_free[d]
        left[depth] = known_left[d]
        places[depth], levels[depth] = places[d] + 1, 0
        flags[depth, HAS_GROWN], flags[depth, IS_FASTEST], flags[depth, FITS] = 0, is_first, 0
    progress[DEPTH], progress[SETS], progress[MEMBERS] = depth, count, size
    return count
