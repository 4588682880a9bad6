"""Processors that names stand for, and the names of processors by index: for many sets of them at once.

Processors are numbered through in the order of clusters, groups and nodes. A set of them is a list of intervals
``[first, stop)`` of numbers, so that it takes no more memory where a platform is large.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coalloc.instance.clusters import Cluster
from coalloc.instance.processor_names import (
    NO_NUMBER,
    Ints,
    ProcessorNames,
    ProcessorSets,
    RangeColumns,
    distinct,
    range_columns,
)


@dataclass(frozen=True, slots=True)
class Intervals:
    """Intervals ``[first, stop)`` of processors as columns, by set and in its order; ``holder`` is the set by index."""

    holder: Ints
    first: Ints
    stop: Ints

    @property
    def size(self) -> Ints:
        """Processors of each interval."""
        return self.stop - self.first

    def taken(self, sets: Ints) -> Intervals:
        """Return the intervals of these sets, a set for each entry; they must be in the order of holders."""
        begin = np.searchsorted(self.holder, sets, side="left")
        counts = np.searchsorted(self.holder, sets, side="right") - begin
        chosen = np.repeat(begin, counts) + places_within(counts)
        return Intervals(np.repeat(np.arange(len(sets)), counts), self.first[chosen], self.stop[chosen])


def places_within(counts: Ints) -> Ints:
    """Return 0, 1, ..., count - 1 for each of the counts, one after the other."""
    stops = np.cumsum(counts)
    return np.arange(int(stops[-1]) if len(stops) else 0) - np.repeat(stops - counts, counts)


@dataclass(frozen=True, slots=True)
class Numbering:
    """The numbers of the processors of a platform, in ``clusters`` (their names) of ``num_nodes`` nodes.

    The other columns are of stretches, adjacent groups of nodes with as many processors each: ``count`` nodes of
    ``cores`` processors from node ``node`` of cluster ``cluster`` and processor ``processor`` on.
    """

    clusters: tuple[str, ...]
    num_nodes: Ints
    cluster: Ints
    node: Ints
    count: Ints
    cores: Ints
    processor: Ints


def numbering_of(clusters: Sequence[Cluster]) -> Numbering:
    """Return the numbers of the processors of clusters, in order."""
    rows: list[list[int]] = []
    processor = 0
    for c, cluster in enumerate(clusters):
        node = 0
        for group in cluster.nodes:
            if rows and rows[-1][0] == c and rows[-1][3] == group.places:
                rows[-1][2] += group.count
            else:
                rows.append([c, node, group.count, group.places, processor])
            node += group.count
            processor += group.count * group.places
    num_nodes = np.array([cluster.num_nodes for cluster in clusters], dtype=np.int64)
    return Numbering(tuple(cluster.name for cluster in clusters), num_nodes, *np.array(rows, dtype=np.int64).T)


# ------------------------------------------------------------------------------ from numbers to names


def names_of(numbering: Numbering, num_sets: int, intervals: Intervals) -> ProcessorSets:
    """Return the names of sets of processors; the intervals of a set are in order and apart."""
    holder, table = _joined(*_ranges_within_stretches(numbering, intervals))
    return ProcessorSets.of_ranges(RangeColumns(numbering.clusters, holder, *table.T), num_sets)


def _ranges_within_stretches(numbering: Numbering, intervals: Intervals) -> tuple[Ints, Ints]:
    """Return holder and range (shape ``(num_ranges, 5)``) of what each interval has of each stretch.

    On nodes of several cores that is a part of a node, whole nodes, and a part of another, as far as there are such.
    """
    low = np.searchsorted(numbering.processor, intervals.first, side="right") - 1
    high = np.searchsorted(numbering.processor, intervals.stop - 1, side="right") - 1
    stretch = np.repeat(low, high - low + 1) + places_within(high - low + 1)
    holder, first, stop = (
        np.repeat(column, high - low + 1) for column in (intervals.holder, intervals.first, intervals.stop)
    )
    cores, base = numbering.cores[stretch], numbering.processor[stretch]
    first = np.maximum(first - base, 0)
    stop = np.minimum(stop - base, numbering.count[stretch] * cores)
    whole, whole_stop = -(-first // cores), stop // cores
    spans = np.array(
        [
            [first // cores, first // cores, first % cores, np.minimum(cores, stop - first // cores * cores) - 1],
            [whole, whole_stop - 1, np.zeros_like(cores), cores - 1],
            [whole_stop, whole_stop, np.zeros_like(cores), stop % cores - 1],
        ]
    )  # part, number, interval
    exists = np.array([first % cores > 0, whole_stop > whole, (stop % cores > 0) & (whole_stop >= whole)])
    spans[:, 2:, cores == 1] = NO_NUMBER
    spans[:, :2] += numbering.node[stretch]
    clusters = np.broadcast_to(numbering.cluster[stretch], (3, 1, len(stretch)))
    table = np.concatenate([clusters, spans], axis=1).transpose(2, 0, 1)
    return np.repeat(holder, exists.sum(axis=0)), table[exists.T]


def _joined(holder: Ints, table: Ints) -> tuple[Ints, Ints]:
    """Return ranges as long as can be: those of adjacent nodes with the same cores are one."""
    cluster, first, last, *cores = table.T
    goes_on = (np.diff(holder) == 0) & (np.diff(cluster) == 0) & (first[1:] == last[:-1] + 1)
    for column in cores:
        goes_on &= np.diff(column) == 0
    begins = np.flatnonzero(np.append(True, ~goes_on)[: len(holder)])
    ends = np.append(begins[1:], len(holder))[: len(begins)] - 1
    long = table[begins]
    long[:, 2] = last[ends]
    return holder[begins], long


# ------------------------------------------------------------------------------ from names to numbers


class UnknownProcessorError(LookupError):
    """A name that no processor of the platform has, in ``args[0]``."""


def intervals_of(numbering: Numbering, sets: Sequence[ProcessorNames]) -> Intervals:
    """Return which processors sets of names stand for; raises :class:`UnknownProcessorError`.

    In the order in which they are named, a processor as often as it is.
    """
    unique, which = distinct(sets)
    ranges = range_columns(unique)
    row, stretch, is_unknown = _parts(numbering, ranges)
    for unknown in np.flatnonzero(is_unknown)[:1].tolist():
        raise UnknownProcessorError(ranges.text(unknown))
    cores = numbering.cores[stretch]
    first = np.maximum(ranges.first[row] - numbering.node[stretch], 0)
    last = np.minimum(ranges.last[row] - numbering.node[stretch], numbering.count[stretch] - 1)
    first_core, last_core = np.maximum(ranges.first_core[row], 0), np.maximum(ranges.last_core[row], 0)
    is_whole = last_core - first_core + 1 == cores
    pieces = np.where(is_whole, 1, last - first + 1)  # an interval for each node of which not all cores are meant
    size = np.where(is_whole, (last - first + 1) * cores, last_core - first_core + 1)
    begin = np.repeat(numbering.processor[stretch] + first * cores + first_core, pieces)
    begin += np.repeat(cores, pieces) * places_within(pieces)
    return Intervals(np.repeat(ranges.holder[row], pieces), begin, begin + np.repeat(size, pieces)).taken(which)


def unknown_ranges(numbering: Numbering, sets: Sequence[ProcessorNames]) -> list[str]:
    """Return the ranges in which there is a name of no processor, once each, as texts."""
    ranges = range_columns(distinct(sets)[0])
    *_, is_unknown = _parts(numbering, ranges)
    return list(dict.fromkeys(ranges.text(i) for i in np.flatnonzero(is_unknown).tolist()))


def _parts(numbering: Numbering, ranges: RangeColumns) -> tuple[Ints, Ints, NDArray[np.bool_]]:
    """Return the range and the stretch of each part of a range within one, and which ranges are not all known."""
    index = {name: c for c, name in enumerate(numbering.clusters)}
    cluster = np.array([index.get(name, -1) for name in ranges.clusters], dtype=np.int64)[ranges.cluster]
    is_unknown = (cluster < 0) | (ranges.first < 0) | (ranges.last >= numbering.num_nodes[cluster])
    before = np.cumsum(numbering.num_nodes) - numbering.num_nodes  # nodes of the clusters before
    nodes = before[numbering.cluster] + numbering.node
    low = np.searchsorted(nodes, before[cluster] + ranges.first, side="right") - 1
    high = np.searchsorted(nodes, before[cluster] + ranges.last, side="right") - 1
    counts = np.where(is_unknown, 0, high - low + 1)
    row, stretch = np.repeat(np.arange(len(counts)), counts), np.repeat(low, counts) + places_within(counts)
    cores, first_core, last_core = numbering.cores[stretch], ranges.first_core[row], ranges.last_core[row]
    has_cores = np.where(first_core == NO_NUMBER, cores == 1, (cores > 1) & (last_core < cores))
    is_unknown[row[~has_cores]] = True
    return row, stretch, is_unknown
