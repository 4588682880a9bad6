"""Branch and bound over packages: jobs, one after the other, on every allocation that the links carry.

A node has placed some jobs. It is given up where what is placed and the bound of the rest cost no less than the
best package, where a job of the rest fits nowhere any more, or where the same was left for less. A search that
comes to its end has proved the best package, or that there is none; its work is counted in allocations tried.
What jobs cost, and in which order they are placed, is said by :class:`PackageCosts`. Derivation:
docs/mathematics/packages.md, "Packages without a MIP". Jobs as tasks and clusters as agents make it a generalised
assignment problem: G. Ross, R. Soland, "A branch and bound algorithm for the generalized assignment problem",
Mathematical Programming 8 (1975); bounds and allocations are our own.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import add, sub
from typing import NamedTuple, Protocol

from coalloc.problem import Mode, Problem
from coalloc.problem.allocation import Allocation
from coalloc.rules.package_modes import package_limits
from coalloc.rules.spreading import Spreading

PRICE_NOISE = 1e-9
"""Share by which a package must cost less than another to be better.

Sums of prices lose about 1e-15 of themselves, and ``optimal`` allows for a millionth: what is lost by this is neither.
"""

Price = tuple[float, ...]
"""Price to pay: one number for each objective, in order of priority."""
OnBetter = Callable[[Sequence[Mode]], None]
"""Gets a package, a mode for each job, that is better than those before."""


@dataclass(frozen=True, slots=True)
class PackageOption:
    """Classes that a job may use, in the order in which it fills those of a cluster, and what that costs at least.

    Where all its tasks are on classes of ``before``, that is an allocation of an earlier option.
    """

    classes: tuple[int, ...]
    before: frozenset[int] = frozenset()


class PackageCosts(Protocol):
    """Costs of a package, by job and allocation; jobs are numbered as in the problem, or by their place."""

    @property
    def order(self) -> Sequence[int]:
        """The jobs in the order in which they are placed."""

    def options(self, j: int) -> Sequence[PackageOption]:
        """Return the options of a job, the cheapest first."""

    def allocations(
        self, j: int, option: PackageOption, free: Sequence[int], left: Sequence[float]
    ) -> Iterator[Allocation]:
        """Yield the allocations of an option that must be tried, on free processors and what is left of resources."""

    def price(self, j: int, mode: Mode) -> Price:
        """Return what a job costs in a mode."""

    def bound(self, place: int, free: Sequence[int], option: int | None = None) -> Price:
        """Return what the jobs from a place on cost at least; the first of them with one of its options, if given."""


@dataclass(slots=True)
class WorkLeft:
    """Remaining work of a search: allocations to try, and the time (``perf_counter``, s) until which it may."""

    left: float
    until: float = math.inf
    is_spent: bool = False

    def spend(self) -> bool:
        """Return whether one more may be tried, and count it."""
        self.is_spent = self.left < 1 or time.perf_counter() >= self.until
        self.left -= not self.is_spent
        return not self.is_spent

    def part(self, share: float, least: int = 1) -> WorkLeft:
        """Return a share of what is left, some allocations at the least, and take it away from here."""
        taken = max(least, share * self.left)
        self.left -= taken
        return WorkLeft(taken, self.until)


class _Node(NamedTuple):
    """Jobs placed so far: how many, what is free and left of resources, what they cost, and how they are placed."""

    place: int
    free: tuple[int, ...]
    left: tuple[float, ...]
    price: Price
    modes: tuple[Mode, ...]


@dataclass(frozen=True, slots=True)
class _Tree:
    """One run of the search: its costs and work, and the least price at which each state was reached."""

    costs: PackageCosts
    work: WorkLeft
    known: dict[tuple[int, object], Price]
    most_tasks: Sequence[int]
    """Of the jobs from each place on that can load a link; 0 beyond the last."""


class PackageSearch:
    """A search for the cheapest package of a problem, which may be run with several costs in turn.

    ``best`` are the modes of the jobs, once found, ``price`` is what they cost, and no package costs less than
    ``lower_bound``, but for rounding errors.
    """

    def __init__(
        self, problem: Problem, spreading: Spreading, lower_bound: Price, on_better: OnBetter | None = None
    ) -> None:
        self.problem = problem
        self.best: list[Mode] | None = None
        self.price: Price | None = None
        self.lower_bound = lower_bound
        self._on_better = on_better
        self._spreading = spreading
        self._limits = [package_limits(problem, j) for j in range(len(problem.jobs))]
        self._clusters = _clusters(problem)

    def run(self, costs: PackageCosts, work: WorkLeft) -> bool:
        """Search as far as the work goes; return whether ``best`` is proved: to be the best, or that there is none."""
        package, nothing = self.problem.package, tuple(0.0 for _ in self.lower_bound)
        self.lower_bound = max(self.lower_bound, costs.bound(0, package.processors))
        tree = _Tree(costs, work, {}, self._most_tasks(costs.order))
        pending = [self._children(_Node(0, package.processors, package.limits, nothing, ()), tree)]
        while pending and self._improves(self.lower_bound):
            node = next(pending[-1], None)
            if node is None:
                pending.pop()
            elif node.place < len(self.problem.jobs):
                pending.append(self._children(node, tree))
            else:
                by_job = dict(zip(costs.order, node.modes, strict=True))
                self.best, self.price = [by_job[j] for j in range(len(by_job))], node.price
                if self._on_better is not None:
                    self._on_better(self.best)
        if work.is_spent and self._improves(self.lower_bound):
            return False
        self.lower_bound = self.lower_bound if self.price is None else self.price
        return True

    def _most_tasks(self, order: Sequence[int]) -> list[int]:
        """Return the tasks of the largest job that can load a link, of those from each place of an order on."""
        tasks = [self.problem.jobs[j].tasks if self._spreading.most_load(j) > 0.0 else 0 for j in order]
        return [*accumulate(reversed(tasks), max, initial=0)][::-1]

    def _improves(self, bound: Price) -> bool:
        """Return whether something that costs this, or more, may be better than the best package."""
        return self.price is None or is_cheaper(bound, self.price)

    def _children(self, node: _Node, tree: _Tree) -> Iterator[_Node]:
        """Yield the nodes that place one job more and may lead to a better package."""
        if not self._is_open(node, tree):
            return
        costs, j = tree.costs, tree.costs.order[node.place]
        job, left = self.problem.jobs[j], tuple(map(min, node.left, self._limits[j]))
        for number, option in enumerate(costs.options(j)):
            least = _sum(node.price, costs.bound(node.place, node.free, number))
            if sum(node.free[g] for g in option.classes) < job.tasks or not self._improves(least):
                continue
            for allocation in tree.costs.allocations(j, option, node.free, left):
                if not tree.work.spend():
                    return
                if not self._improves(least):
                    break
                if all(g in option.before for g, count in enumerate(allocation) if count):
                    continue
                mode = self.problem.allocations.mode(job, allocation)
                child = _Node(
                    node.place + 1,
                    tuple(map(sub, node.free, allocation)),
                    tuple(map(sub, node.left, mode.loads)),
                    _sum(node.price, costs.price(j, mode)),
                    (*node.modes, mode),
                )
                if self._improves(_sum(child.price, costs.bound(child.place, child.free))):
                    yield child

    def _is_open(self, node: _Node, tree: _Tree) -> bool:
        """Return whether a node may lead to a better package, is new, and leaves each job alone room; remember it."""
        if not self._improves(_sum(node.price, tree.costs.bound(node.place, node.free))):
            return False
        # What may follow, and what it adds to the price, depends on the state alone; depth first, whatever was seen at
        # this place before has been searched to its end. Floats that differ in their last digits are different states.
        state = (node.place, self._left(node))
        if state in tree.known and not is_cheaper(node.price, tree.known[state]):
            return False
        tree.known[state] = node.price
        is_wide = self._spreading.widest(node.free) >= tree.most_tasks[node.place]
        if is_wide and not self.problem.is_restricted:
            return True  # within one cluster no link is loaded
        return all(
            self._spreading.fits(j, node.free, tuple(map(min, node.left, self._limits[j])))
            for j in tree.costs.order[node.place :]
        )

    def _left(self, node: _Node) -> object:
        """Return what is free, the same where only clusters that are alike, around one switch, have changed places."""
        if self.problem.instance.platform.switches or self.problem.is_restricted:
            return node.free, node.left
        return tuple(
            sorted(
                (alike, tuple([node.free[g] for g in classes]), room)
                for (alike, classes), room in zip(self._clusters, node.left, strict=False)
            )
        )


def is_cheaper(one: Price, other: Price) -> bool:
    """Return whether one price is below another by more than rounding errors, in order of priority."""
    for a, b in zip(one, other, strict=True):
        margin = PRICE_NOISE * abs(b)
        if abs(a - b) > margin:
            return a < b
    return False


def _sum(one: Price, other: Price) -> Price:
    """Return what two prices are together."""
    return tuple(map(add, one, other))


def _clusters(problem: Problem) -> list[tuple[int, tuple[int, ...]]]:
    """Return for each cluster the first that is like it, in powers and bandwidth, and its classes by index."""
    clusters = problem.instance.platform.clusters
    classes = [tuple(g for g, node in enumerate(problem.classes) if node.cluster == c) for c in range(len(clusters))]
    traits = [
        ([problem.classes[g].effective_power for g in inside], cluster.link_bandwidth)
        for inside, cluster in zip(classes, clusters, strict=True)
    ]
    return [(traits.index(trait), inside) for trait, inside in zip(traits, classes, strict=True)]
