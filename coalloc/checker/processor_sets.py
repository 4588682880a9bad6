"""Processors by number: node groups as columns, and the sets of processors that placements name.

Processors are read as a schedule has them, as ranges of names, and are never listed one by one: a set is a few
intervals of numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coalloc.instance import Platform
from coalloc.instance.processor_names import ProcessorNames, Range, range_columns

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Spans = list[tuple[int, int]]
"""Intervals ``[first, stop)`` of processors by index, in order."""


@dataclass(frozen=True, slots=True)
class Groups:
    """The groups of nodes of a platform as columns; processors and nodes are numbered through in their order.

    ``node`` and ``processor`` are the first of each group, of ``node_in_cluster`` in its cluster; ``slowness`` is
    1/Gamma. Clusters are of ``cluster_names``.
    """

    cluster_names: tuple[str, ...]
    cluster: Ints
    node_in_cluster: Ints
    node: Ints
    count: Ints
    cores: Ints
    processor: Ints
    slowness: Floats

    @property
    def num_processors(self) -> int:
        """Processors of all groups."""
        return int((self.count * self.cores).sum())


def groups_of(platform: Platform) -> Groups:
    """Return the groups of a platform."""
    flat = [(c, group) for c, cluster in enumerate(platform.clusters) for group in cluster.nodes]
    cluster = np.array([c for c, _ in flat])
    count, cores = np.array([(group.count, group.places) for _, group in flat], dtype=np.int64).T
    node, processor = np.cumsum(count) - count, np.cumsum(count * cores) - count * cores
    first_of_cluster = node[np.searchsorted(cluster, np.arange(len(platform.clusters)))]
    return Groups(
        cluster_names=tuple(cluster.name for cluster in platform.clusters),
        cluster=cluster,
        node_in_cluster=node - first_of_cluster[cluster],
        node=node,
        count=count,
        cores=cores,
        processor=processor,
        slowness=np.array([1.0 / group.effective_power for _, group in flat]),
    )


@dataclass(frozen=True, slots=True)
class Sets:
    """Sets of names, and which processors they are: a processor that is named twice counts once.

    Set ``holder[i]`` has the processors ``[first[i], stop[i])``, all of group ``group[i]``; by set, and in order.
    Those of set h are ``begin[h]`` to ``begin[h + 1]``.
    ``sizes`` are the names of each set; ``is_known`` says whether all of them are of processors, ``is_repeated``
    whether a processor is named twice.
    """

    holder: Ints
    first: Ints
    stop: Ints
    group: Ints
    begin: Ints
    sizes: Ints
    is_known: NDArray[np.bool_]
    is_repeated: NDArray[np.bool_]

    def spans(self, holder: int) -> Spans:
        """Return the processors of a set."""
        own = slice(self.begin[holder], self.begin[holder + 1])
        return list(zip(self.first[own].tolist(), self.stop[own].tolist(), strict=True))

    def parts(self, holder: int) -> list[tuple[int, int, int]]:
        """Return the processors of a set as ``(first, stop, group)``."""
        own = slice(self.begin[holder], self.begin[holder + 1])
        return list(zip(self.first[own].tolist(), self.stop[own].tolist(), self.group[own].tolist(), strict=True))


def sets_of(names: Sequence[ProcessorNames], groups: Groups) -> Sets:
    """Return which processors names are."""
    ranges, number = range_columns(names), len(names)
    widths = (ranges.last - ranges.first + 1) * (ranges.last_core - ranges.first_core + 1)
    cluster_index = {name: c for c, name in enumerate(groups.cluster_names)}
    cluster = np.array([cluster_index.get(name, -1) for name in ranges.clusters], dtype=np.int64)[ranges.cluster]
    in_cluster = np.flatnonzero((cluster >= 0) & (ranges.first >= 0))
    # A range and each group of its cluster with nodes of these numbers make a piece.
    low = np.searchsorted(groups.cluster, cluster[in_cluster], side="left")
    parts = np.searchsorted(groups.cluster, cluster[in_cluster], side="right") - low
    source = np.repeat(in_cluster, parts)
    group = np.repeat(low, parts) + counting(parts)
    first = np.maximum(0, ranges.first[source] - groups.node_in_cluster[group])
    last = np.minimum(groups.count[group] - 1, ranges.last[source] - groups.node_in_cluster[group])
    cores, first_core, last_core = groups.cores[group], ranges.first_core[source], ranges.last_core[source]
    is_piece = (first <= last) & np.where(first_core < 0, cores == 1, (cores > 1) & (last_core < cores))
    source, group, first, last, cores, first_core, last_core = (
        column[is_piece] for column in (source, group, first, last, cores, first_core, last_core)
    )
    first_core, last_core = np.maximum(first_core, 0), np.maximum(last_core, 0)
    found = np.bincount(source, (last - first + 1) * (last_core - first_core + 1), len(widths))
    # Whole nodes are one interval, of parts of nodes there is one for each.
    is_whole = last_core - first_core + 1 == cores
    times = np.where(is_whole, 1, last - first + 1)
    length = np.where(is_whole, (last - first + 1) * cores, last_core - first_core + 1)
    begin = np.repeat(groups.processor[group] + first * cores + first_core, times)
    begin += np.repeat(cores, times) * counting(times)
    holder, group, stop = (
        ranges.holder[np.repeat(source, times)],
        np.repeat(group, times),
        begin + np.repeat(length, times),
    )
    order = np.lexsort((begin, holder))
    holder, begin, stop, group = holder[order], begin[order], stop[order], group[order]
    # Up to where the intervals of the same set before have come: sets are kept apart by a multiple of all processors.
    apart = holder * (groups.num_processors + 1)
    before = np.maximum.accumulate(np.append(-1, apart + stop)[: len(stop)]) - apart
    is_new = stop > before
    return Sets(
        holder=holder[is_new],
        first=np.maximum(begin, before)[is_new],
        stop=stop[is_new],
        group=group[is_new],
        begin=np.searchsorted(holder[is_new], np.arange(number + 1)),
        sizes=np.bincount(ranges.holder, widths, number).astype(np.int64),
        is_known=np.bincount(ranges.holder[found < widths], minlength=number) == 0,
        is_repeated=np.bincount(holder[begin < before], minlength=number) > 0,
    )


def counting(counts: Ints) -> Ints:
    """Return 0, 1, ..., count - 1 for each of the counts, one after the other."""
    return np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)


def first_and_last_nodes(sets: Sets, groups: Groups) -> tuple[Ints, Ints]:
    """Return the first and the last node of each interval of processors."""
    base, cores, node = groups.processor[sets.group], groups.cores[sets.group], groups.node[sets.group]
    return node + (sets.first - base) // cores, node + (sets.stop - 1 - base) // cores


def common(some: Spans, others: Spans) -> Spans:
    """Return what two lists of intervals have in common, in order."""
    common, i, j = [], 0, 0
    while i < len(some) and j < len(others):
        first, stop = max(some[i][0], others[j][0]), min(some[i][1], others[j][1])
        if first < stop:
            common.append((first, stop))
        if some[i][1] < others[j][1]:
            i += 1
        else:
            j += 1
    return common


def processor_texts(spans: Spans, groups: Groups) -> tuple[str, ...]:
    """Return the names of intervals of processors, adjacent ones as ranges."""
    texts = []
    for span in spans:
        first, stop = span
        while first < stop:
            g = int(np.searchsorted(groups.processor, first, side="right")) - 1
            cores, cluster = int(groups.cores[g]), groups.cluster_names[groups.cluster[g]]
            node, core = divmod(first - int(groups.processor[g]), cores)
            whole = min(stop - first, (int(groups.count[g]) - node) * cores) // cores
            number = node + int(groups.node_in_cluster[g])
            if core == 0 and whole:
                last = number + whole - 1
                texts.append(Range(cluster, number, last, *((-1, -1) if cores == 1 else (0, cores - 1))).text)
                first += whole * cores
            else:
                length = min(stop - first, cores - core)
                texts.append(Range(cluster, number, number, core, core + length - 1).text)
                first += length
    return ProcessorNames(texts).texts
