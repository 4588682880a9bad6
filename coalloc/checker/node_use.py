"""The tasks of rows on each node, and the nodes on which rows can require more than there is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coalloc.checker.processor_sets import Floats, Ints, counting, first_and_last_nodes
from coalloc.checker.rows import CheckedRows


@dataclass(frozen=True, slots=True)
class NodeUse:
    """Number of ``tasks`` of a row on a node of a group, as columns by node: each row is once on each of its nodes."""

    row: Ints
    node: Ints
    group: Ints
    tasks: Ints


def node_use(rows: CheckedRows, chosen: NDArray[np.bool_], is_tight: NDArray[np.bool_]) -> NodeUse:
    """Return on which nodes of some groups the chosen rows have tasks."""
    sets, groups = rows.sets, rows.groups
    row = np.flatnonzero(chosen)
    low = sets.begin[rows.held[row]]
    counts = sets.begin[rows.held[row] + 1] - low
    row, interval = np.repeat(row, counts), np.repeat(low, counts) + counting(counts)
    row, interval = row[is_tight[sets.group[interval]]], interval[is_tight[sets.group[interval]]]
    first, last = (column[interval] for column in first_and_last_nodes(sets, groups))
    counts = last - first + 1
    row, interval, node = (
        np.repeat(row, counts),
        np.repeat(interval, counts),
        np.repeat(first, counts) + counting(counts),
    )
    group = sets.group[interval]
    begin = groups.processor[group] + (node - groups.node[group]) * groups.cores[group]
    tasks = np.minimum(sets.stop[interval], begin + groups.cores[group]) - np.maximum(sets.first[interval], begin)
    # A row can hold several intervals of one node's cores: its tasks on them are added up.
    order = np.lexsort((row, node))
    row, node, group, tasks = (column[order] for column in (row, node, group, tasks))
    is_first = np.append(True, (np.diff(node) != 0) | (np.diff(row) != 0))[: len(node)]
    tasks = np.add.reduceat(tasks, np.flatnonzero(is_first)) if len(tasks) else tasks
    return NodeUse(row[is_first], node[is_first], group[is_first], tasks)


def full_nodes(rows: CheckedRows, use: NodeUse, amount: Floats, limits: Floats) -> Iterator[tuple[str, int, Floats]]:
    """Yield the nodes of which rows can take more than there is at some time: few of many.

    Of each its name, its group, and what each row takes there. ``amount`` is what rows take and ``limits``
    what there is, for each use of a node. All nodes are swept as one line, so what rounding loses on one is counted
    against the next.
    """
    node = np.concatenate([use.node, use.node])
    instant = np.concatenate([rows.begin[use.row], rows.finish[use.row]])
    change = np.concatenate([amount, -amount])
    order = np.lexsort((change, instant, node))
    totals = np.cumsum(change[order])
    noise = np.finfo(np.float64).eps * np.cumsum(np.abs(totals))
    is_full = ~(totals + noise <= np.tile(limits, 2)[order])  # not a number, after an overflow, is looked at closely
    for n in np.unique(node[order][is_full]).tolist():
        low, high = np.searchsorted(use.node, [n, n + 1])
        g = int(use.group[low])
        load = np.bincount(use.row[low:high], amount[low:high], len(rows.ids)).astype(np.float64)
        number = n - int(rows.groups.node[g]) + int(rows.groups.node_in_cluster[g])
        yield f"{rows.groups.cluster_names[rows.groups.cluster[g]]}/{number}", g, load
