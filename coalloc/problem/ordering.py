"""Consistent sets of pairs that ask one job to follow another."""

from __future__ import annotations

from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter


def acyclic(pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return pairs of different numbers without those that close a cycle with pairs before them."""
    wanted, graph = list(pairs), dict[int, list[int]]()
    for late, early in wanted:
        graph.setdefault(late, []).append(early)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError:
        return _one_by_one(wanted)
    return wanted


def _one_by_one(pairs: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the pairs that close no cycle with those kept before them."""
    import networkx as nx

    kept: nx.DiGraph[int] = nx.DiGraph()
    for late, early in pairs:
        kept.add_nodes_from((late, early))
        if not nx.has_path(kept, early, late):
            kept.add_edge(late, early)
    return list(kept.edges)
