"""The search for the set that is worth most, compiled: what :mod:`coalloc.solvers.bounds.link_pricing` runs.

Russian dolls: jobs stand in an order, and the best set among the last of them is found for ever more of these, for each
with the first of them in it. What the later ones can add is no more than their best set, and no more than fills the
processors that are left with the jobs that fit beside each member, in parts if need be. Compiled by numba, for which
functions take plain arrays, gathered in the named tuples of the module that calls it.
Source: G. Verfaillie, M. Lemaitre, T. Schiex, "Russian doll search for solving constraint optimization problems",
AAAI-96.
"""

from __future__ import annotations

import numpy as np

from coalloc.solvers.machine_code import MULTIPLIER, inlined, uncounted

DOLL, DEPTH, STEPS, KEPT = 0, 1, 2, 3
"""What the progress holds: the first place of the present doll (-1 at the end), members of the present set, sets that
were tried, and good ones that were kept."""
UNKNOWN, FITS, FITS_NOT = 0, 1, 2
"""What the memory says of a set."""
NEIGHBOURS = 4
"""Places of the memory in which one set may stand."""


@inlined
def _takes(allocations, loads, choice, free, left, rest_free, rest_left):
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


@inlined
def _holds(allocations, loads, choice, free, left, rest_free, rest_left):
    """Write what a running job leaves of a room: it holds what it holds, and more than there is leaves nothing."""
    for g in range(len(free)):
        rest_free[g] = free[g] - allocations[choice, g]
    for k in range(len(left)):
        rest_left[k] = max(0.0, left[k] - loads[choice, k])


@inlined
def _next_fit(job, begin, end, choices, free, left, rest_free, rest_left):
    """Return the first choice of a job from ``begin`` on that fits into a room, ``end`` where none does."""
    for choice in range(begin, end):
        if choices.is_running[job]:
            _holds(choices.allocations, choices.loads, choice, free, left, rest_free, rest_left)
            return choice
        if _takes(choices.allocations, choices.loads, choice, free, left, rest_free, rest_left):
            return choice
    return end


@inlined
def _are_arranged(members, count, choices, trial, most):
    """Return whether some choice fits for each of the first members; True as well where more than ``most`` were tried.

    Those that run already are placed first, then those with the fewest choices.
    """
    spans, order, following, free, left = choices.spans, trial.order, trial.following, trial.free, trial.left
    for i in range(count):
        place, j, level = i, members[i, 0], members[i, 1]
        size = -1 if choices.is_running[j] else spans[j, level, 1] - spans[j, level, 0]
        while place > 0 and trial.sizes[place - 1] > size:
            order[place], trial.sizes[place] = order[place - 1], trial.sizes[place - 1]
            place -= 1
        order[place], trial.sizes[place] = i, size
    steps, i = 0, 0
    following[0] = spans[members[order[0], 0], members[order[0], 1], 0]
    while i < count and steps <= most:
        j, end = members[order[i], 0], spans[members[order[i], 0], members[order[i], 1], 1]
        choice = _next_fit(j, following[i], end, choices, free[i], left[i], free[i + 1], left[i + 1])
        if choice == end:
            i -= 1
            if i < 0:
                return False
            continue
        steps += 1
        following[i] = choice + 1
        i += 1
        if i < count:
            following[i] = spans[members[order[i], 0], members[order[i], 1], 0]
    return True


@uncounted
def compare(slowest, choices, trial, most, members, fit):
    """Note which jobs, each at its slowest level, ``fit`` beside each other, shape ``(num_jobs, num_jobs)``.

    ``members`` are room for two.
    """
    for one in range(len(slowest)):
        for other in range(one):
            members[0, 0], members[0, 1] = one, slowest[one]
            members[1, 0], members[1, 1] = other, slowest[other]
            fit[one, other] = fit[other, one] = _are_arranged(members, 2, choices, trial, most)


@inlined
def _most(later, begin, free, densities, tasks, values):
    """Return what jobs, as bits of their places from ``begin`` on, bring at most in so many processors."""
    most = 0.0
    for place in range(begin, len(tasks)):
        if not (later >> np.uint64(place)) & np.uint64(1):
            continue
        if tasks[place] >= free:
            return most + max(densities[place] * free, 0.0)
        free -= tasks[place]
        most += values[place, 0]
    return most


@inlined
def _fits(num_members, choices, state, trial, memory, most):
    """Return whether the members of a set have choices that fit together; what was found is remembered."""
    key, known = state.keys[num_members], memory.fits
    product = np.uint64(0)
    for word in key:
        product = (product ^ word) * np.uint64(MULTIPLIER)
        product ^= product >> np.uint64(32)
    first = np.int64(product >> np.uint64(1)) % len(known)
    place = first
    for i in range(NEIGHBOURS):
        at = (first + i) % len(known)
        if known[at] == UNKNOWN:
            place = at
            break
        is_alike = True
        for w in range(len(key)):
            if memory.keys[at, w] != key[w]:
                is_alike = False
                break
        if is_alike:
            return known[at] == FITS
    fits = _are_arranged(state.members, num_members, choices, trial, most)
    known[place] = FITS if fits else FITS_NOT
    for w in range(len(key)):
        memory.keys[place, w] = key[w]
    return fits


@uncounted
def search(items, choices, state, trial, memory, most, max_steps):
    """Search on from where ``state`` is, until all is seen or so many more sets were tried; return whether all is.

    All but the numbers are what :mod:`coalloc.solvers.bounds.link_pricing` says, and ``choices`` those of
    :class:`coalloc.solvers.bounds.link_sets.ChoiceArrays`. A check that tries ``most`` choices lets its set pass.
    """
    tasks, num_levels, values, densities = items.tasks, items.num_levels, items.values, items.densities
    progress, dolls, places, at_levels = state.progress, state.dolls, state.places, state.at_levels
    n, limit, full = len(tasks), progress[STEPS] + max_steps, items.without_links.shape[1] - 1
    while progress[DOLL] >= 0 and progress[STEPS] < limit:
        doll, d = progress[DOLL], progress[DEPTH]
        place, k, worth = doll if d == 0 else places[d], at_levels[d], state.worths[d]
        is_over = k == num_levels[doll] if d == 0 else place == n
        if not is_over and d > 0:
            if k == num_levels[place] or not (state.laters[d] >> np.uint64(place)) & np.uint64(1):
                places[d], at_levels[d] = place + 1, 0
                continue
            if k == 0:
                least = dolls[doll] - worth
                is_over = (
                    dolls[place] <= least
                    or items.without_links[place, state.rooms[d]] <= least
                    or _most(state.laters[d], place, state.processors[d], densities, tasks, values) <= least
                )
        if is_over and d > 0:
            progress[DEPTH] = d - 1
            at_levels[d - 1] += 1
            continue
        if is_over:
            progress[DOLL], at_levels[0] = doll - 1, 0
            if doll:
                dolls[doll - 1] = dolls[doll]
            continue
        room, left = items.rooms[place, k, state.rooms[d]], state.processors[d] - tasks[place]
        worth += values[place, k]
        later, least = state.laters[d] & items.beside[place], dolls[doll] - worth
        if (
            room == full
            or (dolls[place + 1] if place + 1 < n else 0.0) <= least
            or items.without_links[place + 1, room] <= least
            or _most(later, place + 1, left, densities, tasks, values) <= least
        ):
            at_levels[d] += 1
            continue
        progress[STEPS] += 1
        j, level = items.order[place], items.levels[place, k]
        state.members[d, 0], state.members[d, 1] = j, level
        for w in range(state.keys.shape[1]):
            state.keys[d + 1, w] = state.keys[d, w]
        state.keys[d + 1, items.words[j]] |= np.uint64(level + 1) << items.shifts[j]
        if not _fits(d + 1, choices, state, trial, memory, most):
            at_levels[d] += 1
            continue
        d += 1
        if worth > dolls[doll]:
            dolls[doll] = worth
            at = progress[KEPT] % len(state.kept_worths)
            progress[KEPT] += 1
            state.kept_worths[at], state.kept_sizes[at] = worth, d
            for i in range(d):
                state.kept_members[at, i, 0], state.kept_members[at, i, 1] = state.members[i, 0], state.members[i, 1]
        progress[DEPTH], places[d], at_levels[d] = d, place + 1, 0
        state.worths[d], state.laters[d], state.processors[d], state.rooms[d] = worth, later, left, room
    return progress[DOLL] < 0
