"""Arc flow: whether sizes fit into so many bins, as paths that share arcs.

A bin is a path from 0 to the capacity: an item arc of its size for each item, in order of descending size, and loss
arcs for what stays empty. Items of the same size share their arcs, so that equal items and equal bins are counted,
never named, and the LP is as strong as the one over all patterns of a bin. A flow of whole numbers falls apart into
paths. Equations: (A1) to (A3) of docs/mathematics/searches.md. Source: J. M. Valerio de Carvalho, "Exact solution of
bin-packing problems using column generation and branch-and-bound", Annals of Operations Research 86 (1999).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyomo.environ as pyo

Arc = tuple[int, int, int]
"""Begin and end of an arc, and the index of its size; -1 for a loss."""

LOSS = -1
"""The size of what stays empty."""


def build(arcs: Sequence[Arc], copies: Sequence[int], bins: int) -> pyo.ConcreteModel:
    """Return the model over the arcs of :func:`arcs_of`; a solution packs all items, its objective is 0."""
    import pyomo.environ as pyo  # loaded where a model is built: most packings are proved without

    model = pyo.ConcreteModel("arc flow")
    model.flow = pyo.Var(arcs, domain=pyo.NonNegativeIntegers, doc="bins that have an arc on their paths")
    leaving, entering = defaultdict(list), defaultdict(list)
    of_size: dict[int, list[pyo.Var]] = defaultdict(list)
    for (begin, end, size), flow in model.flow.items():
        flow.setub(bins if size == LOSS else copies[size])
        leaving[begin].append(flow)
        entering[end].append(flow)
        of_size[size].append(flow)
    model.bins = pyo.Constraint(expr=pyo.quicksum(leaving[0]) == bins, doc="(A1): one path for each bin")
    inner = [node for node in leaving if node]
    model.carried = pyo.Constraint(
        inner,
        rule=lambda _, node: pyo.quicksum(entering[node]) == pyo.quicksum(leaving[node]),
        doc="(A2): paths end at the capacity only",
    )
    model.packed = pyo.Constraint(
        list(range(len(copies))),
        rule=lambda _, size: pyo.quicksum(of_size[size]) == copies[size],
        doc="(A3): every item is in a bin",
    )
    model.objective = pyo.Objective(expr=0.0 * model.flow[arcs[0]], doc="nothing: any packing will do")
    return model


def arcs_of(sizes: Sequence[int], copies: Sequence[int], capacity: int) -> list[Arc]:
    """Return the arcs of items of descending sizes, none above the capacity, and so many of each.

    An item begins where larger ones, or others of its size, may end.
    """
    found: set[Arc] = set()
    reached = {0}
    for index, (size, number) in enumerate(zip(sizes, copies, strict=True)):
        begins = reached
        for _ in range(number):
            begins = {begin for begin in begins if begin + size <= capacity}
            found |= {(begin, begin + size, index) for begin in begins}
            begins = {begin + size for begin in begins}
            reached = reached | begins
    nodes = sorted(reached | {capacity})
    found |= {(begin, end, LOSS) for begin, end in pairwise(nodes)}
    return sorted(found)


def extract(model: pyo.ConcreteModel) -> list[list[int]]:
    """Return for each bin the indices of the sizes in it."""
    leaving: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for (begin, end, size), flow in model.flow.items():
        leaving[begin] += [(end, size)] * round(flow.value)
    capacity = max(end for _, end, _ in model.flow)
    return [list(_path(leaving, capacity)) for _ in range(len(leaving[0]))]


def _path(leaving: dict[int, list[tuple[int, int]]], capacity: int) -> Iterator[int]:
    """Take a path out of a flow, and yield the sizes on it."""
    node = 0
    while node != capacity:
        node, size = leaving[node].pop()
        if size != LOSS:
            yield size
