"""One step of the dynamic programme over free processors, compiled: what :class:`LargeTablePricing` runs.

States are in order of their free processors, those of the last speed next to each other: a row is the states that have
as many of the others free. Compiled by numba, for which functions take plain arrays.
"""

from __future__ import annotations

from coalloc.solvers.machine_code import inlined, uncounted


@inlined
def _take(free, tasks, last):
    """Take tasks from the free processors of a speed, then of faster ones; return how many find none."""
    for speed in range(last, -1, -1):
        taken = min(free[speed], tasks)
        free[speed] -= taken
        tasks -= taken
    return tasks


@inlined
def _place(free, strides, num_speeds):
    """Return where the row of free processors begins."""
    place = 0
    for speed in range(num_speeds):
        place += free[speed] * strides[speed]
    return place


@uncounted
def with_job(shape, strides, bounds, prices, before, after, choices, free, rest):
    """Write the value of each state with one more job, and the level that it has there, 0 where it has none.

    ``bounds`` are the tasks that each level, from 1 on, has to have on processors of a speed or faster and not of the
    one before, ``prices`` what it is worth; a level that is worth 0 is left. ``before`` are the values without the job.
    ``free`` and ``rest`` are written over.
    """
    last = len(shape) - 1
    length = shape[last]
    for row in range(0, len(before), length):
        for i in range(length):
            after[row + i] = before[row + i]
            choices[row + i] = 0
        for level in range(len(prices)):
            price = prices[level]
            if price <= 0.0:
                continue
            left = row
            for speed in range(last):
                free[speed] = left // strides[speed]
                left -= free[speed] * strides[speed]
            fits = True
            for prefix in range(last):
                if bounds[level, prefix] and _take(free, bounds[level, prefix], prefix) > 0:
                    fits = False
                    break
            if not fits:
                continue
            tasks = bounds[level, last]
            source = _place(free, strides, last) - tasks
            for i in range(tasks, length):
                value = price + before[source + i]
                if value > after[row + i]:
                    after[row + i] = value
                    choices[row + i] = level + 1
            for i in range(min(tasks, length) - 1, -1, -1):
                for speed in range(last):
                    rest[speed] = free[speed]
                if _take(rest, tasks - i, last - 1) > 0:
                    break
                value = price + before[_place(rest, strides, last)]
                if value > after[row + i]:
                    after[row + i] = value
                    choices[row + i] = level + 1
