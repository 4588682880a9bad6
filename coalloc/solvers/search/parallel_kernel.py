"""Parallel schedule generation, compiled: what :mod:`coalloc.solvers.search.growth` grows schedules with.

The rules, and the order of every sum, are those of :mod:`coalloc.rules.parallel_sgs`, so that the schedules are
the same to the last digit. Compiled by numba, for which functions take plain arrays: those of a
:class:`coalloc.solvers.search.problem_tables.Tables`, and one row of a :class:`coalloc.solvers.search.growth.Rows` for
each schedule.
"""

from __future__ import annotations

import math

import numpy as np

from coalloc.rules.profile import SUBTRACTION_NOISE
from coalloc.solvers.machine_code import inlined, uncounted
from coalloc.solvers.search.filling_kernel import find, load


@inlined
def _push(ends, turns, owners, size, end, turn, owner):
    """Put an end into a heap by ends, then by turns; return its size."""
    i = size
    while i > 0:
        up = (i - 1) // 2
        if ends[up] < end or (ends[up] == end and turns[up] < turn):
            break
        ends[i], turns[i], owners[i] = ends[up], turns[up], owners[up]
        i = up
    ends[i], turns[i], owners[i] = end, turn, owner
    return size + 1


@inlined
def _pop(ends, turns, owners, size):
    """Take the first end off a heap; return its size."""
    size -= 1
    end, turn, owner = ends[size], turns[size], owners[size]
    i = 0
    while 2 * i + 1 < size:
        k = 2 * i + 1
        if k + 1 < size and (ends[k + 1] < ends[k] or (ends[k + 1] == ends[k] and turns[k + 1] < turns[k])):
            k += 1
        if end < ends[k] or (end == ends[k] and turn < turns[k]):
            break
        ends[i], turns[i], owners[i] = ends[k], turns[k], owners[k]
        i = k
    ends[i], turns[i], owners[i] = end, turn, owner
    return size


@inlined
def _set_left(left, limits, used):
    """Say what is left of each contended resource."""
    for k in range(len(limits)):
        left[k] = max(0.0, limits[k] - used[k]) + SUBTRACTION_NOISE * max(1.0, limits[k])


@inlined
def _startable(j, now, asked, by, rule, free, left, tables, room, filling):
    """Return the most efficient member of a job that fits now, its allocation in ``filling``; -1 where none does."""
    _, levels, orders, fillings, loads, memories, platform = tables
    level_first, _, efficiencies, level_ticks, level_tasks, sets, _ = levels
    set_members = platform[0]
    for member in range(level_first[j], level_first[j + 1]):
        if efficiencies[member] < asked:
            return -1
        if level_ticks[member, 1] > 0.0 and now + level_ticks[member, 0] > by:
            continue
        inside = 0
        for g in range(len(free)):
            if set_members[sets[member], g]:
                inside += free[g]
        if inside < level_tasks[member]:
            continue
        if find(member, rule, free, left, levels, orders, fillings, loads, memories, room, filling):
            return member
    return -1


@inlined
def _start(row, j, member, tables, rows, allocation):
    """Start a job now on an allocation; return its end."""
    _, levels, _, fillings, loads, _, platform = tables
    durations, limits = platform[1], platform[2]
    nows, starts, ticks, allocations, frees, useds, ends, turns, owners, numbers = rows
    shape, duration = levels[6][member], 0.0
    for g in range(len(allocation)):
        if allocation[g] > 0:
            duration = max(duration, durations[shape, g])
            frees[row, g] -= allocation[g]
            allocations[row, j, g] = allocation[g]
    for k in range(len(limits)):
        useds[row, k] += load(shape, k, allocation, fillings, loads)
    starts[row, j], ticks[row, j] = nows[row], duration
    end = nows[row] + duration
    numbers[row, 0] = _push(ends[row], turns[row], owners[row], numbers[row, 0], end, numbers[row, 1], member)
    numbers[row, 1] += 1
    return end


@inlined
def _end(row, owner, tables, rows):
    """Free what one holds that ends."""
    _, levels, _, fillings, loads, _, platform = tables
    job_of, shapes = levels[1], levels[6]
    limits, held, held_loads = platform[2], platform[3], platform[4]
    allocations, frees, useds = rows[3], rows[4], rows[5]
    if owner < 0:
        for g in range(frees.shape[1]):
            frees[row, g] += held[-1 - owner, g]
        for k in range(len(limits)):
            useds[row, k] -= held_loads[-1 - owner, k]
        return
    j = job_of[owner]
    for g in range(frees.shape[1]):
        frees[row, g] += allocations[row, j, g]
    for k in range(len(limits)):
        useds[row, k] -= load(shapes[owner], k, allocations[row, j], fillings, loads)


@inlined
def _advance(row, tables, rows):
    """Go to the next instant at which something ends or arrives; return whether there is one."""
    all_releases = tables[0][2]
    nows, ends, turns, owners, numbers = rows[0], rows[6], rows[7], rows[8], rows[9]
    while numbers[row, 2] < len(all_releases) and all_releases[numbers[row, 2]] <= nows[row]:
        numbers[row, 2] += 1
    has_release = numbers[row, 2] < len(all_releases)
    if numbers[row, 0] == 0 and not has_release:
        return False
    now = all_releases[numbers[row, 2]] if has_release else math.inf
    if numbers[row, 0] > 0:
        now = min(now, ends[row, 0])
    nows[row] = now
    while numbers[row, 0] > 0 and ends[row, 0] <= now:
        _end(row, owners[row, 0], tables, rows)
        numbers[row, 0] = _pop(ends[row], turns[row], owners[row], numbers[row, 0])
    return True


@inlined
def _extend(row, tables, rows, plan, order, until, before, scratch):
    """Go on with one schedule by a plan; return whether it may end before ``before`` with every job placed."""
    releases, least_tasks, _ = tables[0]
    limits = tables[6][2]
    nows, starts = rows[0], rows[1]
    threshold, relaxed, latest, rule = plan
    waiting, left, room, filling = scratch
    free, used = rows[4][row], rows[5][row]
    num_waiting, is_relaxed = 0, False
    for place in range(len(order)):
        j = order[place]
        if math.isnan(starts[row, j]):
            waiting[num_waiting] = j
            num_waiting += 1
    while num_waiting > 0 and nows[row] < until:
        now = nows[row]
        asked = 0.0 if is_relaxed or now >= relaxed else threshold
        by = math.inf if is_relaxed else latest
        _set_left(left, limits, used)
        kept, is_late, processors = 0, False, 0
        for g in range(len(free)):
            processors += free[g]
        for w in range(num_waiting):
            j, member = waiting[w], -1
            if least_tasks[j] <= processors and releases[j] <= now:
                member = _startable(j, now, asked, by, rule, free, left, tables, room, filling)
            if member < 0:
                waiting[kept] = j
                kept += 1
                continue
            is_late = _start(row, j, member, tables, rows, filling[0]) >= before or is_late
            processors -= tables[1][4][member]
            _set_left(left, limits, used)
        if is_late:
            return False
        has_started, num_waiting = kept < num_waiting, kept
        if num_waiting > 0 and not _advance(row, tables, rows):
            if is_relaxed and not has_started:
                return False
            is_relaxed = True
    return True


@inlined
def _copy_row(source, target):
    """Copy numbers into the beginning of a row: a loop, for assignments to slices take long to compile."""
    for i in range(len(source)):
        target[i] = source[i]


@inlined
def _copy(parent, source, child, target):
    """Make a row of the target what one of the source is."""
    target[0][child] = source[0][parent]
    _copy_row(source[1][parent], target[1][child])
    _copy_row(source[2][parent], target[2][child])
    for j in range(source[3].shape[1]):
        _copy_row(source[3][parent, j], target[3][child, j])
    _copy_row(source[4][parent], target[4][child])
    _copy_row(source[5][parent], target[5][child])
    size = source[9][parent, 0]
    _copy_row(source[6][parent, :size], target[6][child])
    _copy_row(source[7][parent, :size], target[7][child])
    _copy_row(source[8][parent, :size], target[8][child])
    _copy_row(source[9][parent], target[9][child])


@uncounted
def grow(parents, tables, source, target, plans, until, before, kept, scratch):
    """Go on with a row of the source for each parent, by the plan of the same number, into rows of the target.

    Return how many of them may end before ``before``; ``kept`` are the numbers of their plans. ``scratch`` has room for
    the jobs that wait, for what is left, and for what is found to be free and filled.
    """
    orders, thresholds, relaxed, latest, rules = plans
    size = np.int64(0)  # a literal would be compiled once more
    for number in range(len(parents)):
        _copy(parents[number], source, size, target)
        plan = (thresholds[number], relaxed[number], latest[number], rules[number])
        if _extend(size, tables, target, plan, orders[number], until, before, scratch):
            kept[size] = number
            size += 1
    return size
