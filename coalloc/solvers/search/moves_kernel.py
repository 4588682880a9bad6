"""What annealing of a pool and of several classes share, compiled: random moves of lists, and steps of a profile."""

from __future__ import annotations

import math

import numpy as np

from coalloc.solvers.machine_code import inlined


@inlined
def draw(seed):
    """Return a random number from 0 to 1, and the next state of the generator (xorshift, G. Marsaglia 2003)."""
    x = seed[0]
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    seed[0] = x
    return (x >> np.uint64(11)) / 9007199254740992.0


@inlined
def places(seed, n, widest):
    """Return two places of ``n``, at most ``widest`` apart, mostly few."""
    i = int(draw(seed) * n)
    width = int(math.exp(draw(seed) * math.log(widest)))
    return i, min(n - 1, max(0, i + (width if draw(seed) < 0.5 else -width)))


@inlined
def move(order, i, k, is_insert):
    """Take the job at place ``i`` to place ``k``, or swap the two."""
    j = order[i]
    if is_insert:
        step = 1 if k > i else -1
        for p in range(i, k, step):
            order[p] = order[p + step]
        order[k] = j
    else:
        order[i], order[k] = order[k], j


@inlined
def step_of(times, size, instant):
    """Return the first step of a profile that does not begin before an instant; how many there are where none does."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if times[middle] < instant:
            low = middle + 1
        else:
            high = middle
    return low
