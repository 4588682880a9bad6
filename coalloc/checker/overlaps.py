"""The rule on processors held twice: overlap."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from coalloc.checker.processor_sets import Ints, Sets, common, counting, processor_texts
from coalloc.checker.rows import CheckedRows
from coalloc.checker.rule import Case, Rule, Violation, listed, seconds
from coalloc.instance import visible

Pair = tuple[int, int]
"""Two rows that hold a processor at once."""

OVERLAP_PAIRS = 200_000
"""Jobs compared with one that starts on a busy processor, in all, up to which every pair is named; beyond, each such
job is named with those that hold its processors longest, or a hopeless schedule would exhaust time and memory."""

MOST_BITS = 100_000_000
"""Size of the sets of processors, in bits, that are kept to be used again."""

SORTED_AT_ONCE = 1_000_000
"""Processors of jobs that are sorted in one go, so that memory stays small."""

WIDE = 64
"""Processors of a job, in the mean, from which on bits are quicker than a list of them."""

EVENTS_AT_ONCE = 50_000
"""Starts and ends that are taken out of columns in one go, so that memory stays small."""


def _overlaps(case: Case) -> Iterator[Violation]:
    """Yield each pair of rows that hold a processor at the same time, once, with all processors they share."""
    rows = case.rows
    if _are_disjoint(rows):
        return
    for first, second in sorted(_pairs(rows)):
        jobs = (rows.ids[first], rows.ids[second])
        start = float(rows.instants[max(rows.begin[first], rows.begin[second])])
        end = float(rows.instants[min(rows.finish[first], rows.finish[second])])
        where = processor_texts(common(*(rows.spans(row) for row in (first, second))), rows.groups)
        running = " (runs already)" if first < rows.num_running else ""
        sentence = (
            f"jobs {visible(jobs[0])}{running} and {visible(jobs[1])} both hold {listed(where)} "
            f"from {seconds(start)} to {seconds(end)}"
        )
        yield Violation("overlap", jobs, ", ".join(where), start, 2, 1, sentence)


def _are_disjoint(rows: CheckedRows) -> bool:
    """Return whether no two rows hold a processor at once; False also where rows are wide, and others have to say.

    Of the rows that hold a processor, in the order of their begins, each must end before the next one begins.
    """
    lasting = np.flatnonzero(rows.begin < rows.finish)
    order = lasting[np.argsort(rows.begin[lasting], kind="stable")]
    begins, held = rows.sets.begin, rows.held[order]
    counts = begins[held + 1] - begins[held]
    own, rank = np.repeat(begins[held], counts) + counting(counts), np.repeat(np.arange(len(order)), counts)
    first, stop = rows.sets.first[own], rows.sets.stop[own]
    number = int((stop - first).sum())
    if number > WIDE * len(order):
        return False
    bounds = np.linspace(0, rows.groups.num_processors, number // SORTED_AT_ONCE + 2).astype(np.int64)
    begin, finish = rows.begin[order], rows.finish[order]
    return all(
        _follow(begin, finish, rank, np.maximum(first, low), np.minimum(stop, high)) for low, high in pairwise(bounds)
    )


def _follow(begin: Ints, finish: Ints, rank: Ints, first: Ints, stop: Ints) -> bool:
    """Return whether rows in the order of their begins follow each other on each processor of their intervals."""
    sizes, bits = np.maximum(stop - first, 0), len(begin).bit_length()
    entries = (np.repeat(first, sizes) + counting(sizes)) << bits | np.repeat(rank, sizes)
    entries.sort()
    processor, row = entries >> bits, entries & ((1 << bits) - 1)
    return not ((processor[1:] == processor[:-1]) & (finish[row[:-1]] > begin[row[1:]])).any()


def _pairs(rows: CheckedRows) -> set[Pair]:
    """Return the pairs of rows that overlap.

    Rows are swept in the order of time, ends first. Busy processors are the bits of an integer, so that a
    start costs few operations however many processors it takes; those held twice are in a further layer of bits.
    """
    active: dict[int, tuple[int, int]] = {}
    layers = [0]
    pairs: set[Pair] = set()
    compared, bits_of = 0, _Bits(rows.sets)
    for row, held, is_end in _events(rows):
        if is_end:
            layer, bits = active.pop(row)
            layers[layer] ^= bits
            continue
        bits = bits_of[held]
        free = [layer for layer, busy in enumerate(layers) if not busy & bits]
        if len(free) < len(layers):
            compared += len(active)
            if compared > OVERLAP_PAIRS:
                return _pairs_with_longest(rows)
            pairs |= {(min(row, other), max(row, other)) for other, (_, taken) in active.items() if taken & bits}
        if not free:
            free = [len(layers)]
            layers.append(0)
        layers[free[0]] |= bits
        active[row] = free[0], bits
    return pairs


class _Bits(dict[int, int]):
    """The processors of sets as the bits of integers; as many as take little memory are kept."""

    def __init__(self, sets: Sets) -> None:
        super().__init__()
        self._size = 0
        self._begin, self._first, self._stop = sets.begin.data, sets.first.data, sets.stop.data  # faster to index

    def __missing__(self, holder: int) -> int:
        bits = 0
        for i in range(self._begin[holder], self._begin[holder + 1]):
            first = self._first[i]
            bits |= ((1 << self._stop[i] - first) - 1) << first
        self._size += bits.bit_length()
        if self._size <= MOST_BITS:
            self[holder] = bits
        return bits


def _events(rows: CheckedRows) -> Iterator[tuple[int, int, bool]]:
    """Yield row, set and whether the row ends, for each row that lasts when it begins and when it ends, in order."""
    lasting = np.flatnonzero(rows.begin < rows.finish)
    order = np.argsort(np.concatenate([2 * rows.begin[lasting] + 1, 2 * rows.finish[lasting]]), kind="stable")
    for begin in range(0, len(order), EVENTS_AT_ONCE):
        chosen = order[begin : begin + EVENTS_AT_ONCE]
        row = lasting[chosen % len(lasting)]
        yield from zip(row.tolist(), rows.held[row].tolist(), (chosen >= len(lasting)).tolist(), strict=True)


def _pairs_with_longest(rows: CheckedRows) -> set[Pair]:
    """Return the pairs of each row that begins on busy processors and those that hold these longest."""
    until = np.zeros(rows.groups.num_processors, dtype=np.int64)
    holder = np.zeros(rows.groups.num_processors, dtype=np.int64)
    pairs: set[Pair] = set()
    for row, held, is_end in _events(rows):
        for first, stop in [] if is_end else rows.sets.spans(held):
            of_span, by_row = until[first:stop], holder[first:stop]
            others = np.unique(by_row[of_span > rows.begin[row]]).tolist()
            pairs |= {(min(row, other), max(row, other)) for other in others}
            is_longer = of_span < rows.finish[row]
            by_row[is_longer] = row
            of_span[is_longer] = rows.finish[row]
    return pairs


RULES = (
    Rule(
        {
            "overlap": "no two jobs hold a processor at the same time; running jobs hold theirs until their end",
        },
        _overlaps,
        {"start"},
        runs_without=True,
    ),
)
