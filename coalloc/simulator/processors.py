"""Sets of processors as the bits of one integer: bit p stands for processor p of the platform.

Taking, releasing and comparing sets of hundreds of processors are then single operations, and the nodes
of a job are kept in some 60 bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from coalloc.instance.numbering import Intervals
from coalloc.instance.processor_names import Ints

Processors = int
"""A set of processors by index, one bit each."""

BYTES_AT_ONCE = 4_000_000
"""Sets whose intervals are found in one go, in bytes of bits."""

FEW = 12
"""Members that are quicker taken one by one."""


def processors_of(indices: Iterable[int]) -> Processors:
    """Return the set of the given processors."""
    members = list(indices)
    if len(members) > FEW:
        bits = np.zeros(max(members) + 1, dtype=np.bool_)
        bits[members] = True
        return int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")
    processors = 0
    for index in members:
        processors |= 1 << index
    return processors


def indices_of(processors: Processors) -> Iterator[int]:
    """Yield the indices of a set, in order."""
    while processors:
        lowest = processors & -processors
        yield lowest.bit_length() - 1
        processors ^= lowest


def lowest_of(processors: Processors, count: int) -> Processors:
    """Return the ``count`` processors of a set that have the lowest indices; the set has at least so many."""
    first = processors & -processors
    in_a_row = (first << count) - first
    if processors & in_a_row == in_a_row:
        return in_a_row
    if count <= FEW:
        rest = processors
        for _ in range(count):
            rest &= rest - 1  # without its lowest bit
        return processors ^ rest
    part, num_below, width = processors, 0, processors.bit_length()
    while width > 1:  # the least number of low bits that hold ``count`` members, in ever smaller parts of the set
        half = width // 2
        lower = part & ((1 << half) - 1)
        in_lower = lower.bit_count()
        if in_lower >= count:
            part, width = lower, half
        else:
            part, count, num_below, width = part >> half, count - in_lower, num_below + half, width - half
    return processors & ((2 << num_below) - 1)


def preferred_of(processors: Processors, count: int, preferred: Processors) -> Processors:
    """Return the lowest ``count`` processors of a set among those that are preferred, then among the others."""
    first = processors & preferred
    if not first:
        return lowest_of(processors, count)
    num_first = first.bit_count()
    if num_first >= count:
        return lowest_of(first, count)
    return first | lowest_of(processors ^ first, count - num_first)


def intervals_of(sets: Sequence[Processors], num_processors: int) -> Intervals:
    """Return the intervals of adjacent processors that sets consist of, in order."""
    width = num_processors // 8 + 1
    at_once = max(1, BYTES_AT_ONCE // width)
    parts = [np.empty((0, 2), dtype=np.int64)]
    for begin in range(0, len(sets), at_once):
        # Where a member has no member before it, or the other way round, an interval begins or ends.
        edges = b"".join([(p ^ (p << 1)).to_bytes(width, "little") for p in sets[begin : begin + at_once]])
        parts.append(_ones(np.frombuffer(edges, dtype=np.uint8)).reshape(-1, 2) + begin * width * 8)
    places = np.concatenate(parts)
    return Intervals(places[:, 0] // (width * 8), places[:, 0] % (width * 8), places[:, 1] % (width * 8))


def _ones(content: NDArray[np.uint8]) -> Ints:
    """Return the places of the bits of bytes that are 1, from the lowest on."""
    used = np.flatnonzero(content)
    byte, bit = np.nonzero(np.unpackbits(content[used, None], axis=1, bitorder="little"))
    return used[byte] * 8 + bit
