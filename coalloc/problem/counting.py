"""Vectors of whole numbers, and kinds among values: what is counted of allocations and jobs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import accumulate


def numbered(values: Iterable[Hashable]) -> tuple[int, ...]:
    """Return for each value the number, from 0 on, at which it came first among the different ones."""
    numbers: dict[Hashable, int] = {}
    return tuple([numbers.setdefault(value, len(numbers)) for value in values])


def num_compositions(most: int, limits: Sequence[int]) -> list[int]:
    """Return how many vectors :func:`compositions` yields for each total from 0 to ``most``."""
    ways = [1] + [0] * most
    for limit in limits:
        sums = [0, *accumulate(ways)]
        ways = [sums[n + 1] - sums[max(0, n - limit)] for n in range(most + 1)]
    return ways


def compositions(total: int, limits: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield every vector of whole numbers with this total, each between 0 and its limit."""
    if total == 0:
        yield (0,) * len(limits)
        return
    if not limits:
        return
    rest = sum(limits[1:])
    for count in range(max(0, total - rest), min(total, limits[0]) + 1):
        for tail in compositions(total - count, limits[1:]):
            yield (count, *tail)
