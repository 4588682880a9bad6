"""Capacity that memory, resources, eligibility and windows leave to a job of free processors, at one time.

A *room* is what is free: processors of each class, then units of memory of each node of several cores of which there
may be too little, then units of each stock of a resource, then processors of each group of which windows take a number.
Rooms are vectors of whole numbers, so what a job takes is one as well, and what holds for processors alone holds for
all: they are added, taken away and compared number by number. Where there is always enough memory, and no stock nor
such a window, a room has processors only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from coalloc.instance import Job, NodeGroup
from coalloc.instance.resources import tasks_on_node
from coalloc.instance.rounding import capacity_limit
from coalloc.instance.spread import Spread
from coalloc.problem.allocation import Allocation, NodeClass, Stock, has_too_little, shares_memory

Order = Callable[[Job, Sequence[int]], Sequence[int]]
"""A job and free processors per class, shape ``(num_classes,)``, to the classes as a rule fills them, first to last."""
UNITS = 2**40
"""Units that the memory of a node is counted in; what a task asks for is rounded up, by far less than is tolerated."""
STOCK_UNITS = 2**60
"""Units that a stock of a resource is counted in, of which many more jobs may take some."""


@dataclass(frozen=True, slots=True)
class CapacityVectors:
    """Meaning of the numbers of a room, and what of a room a job can use and takes.

    ``limits`` are the memory of a node of each class, MB, shape ``(num_classes,)``, inf where there is enough.
    ``shared`` are the classes, by index, that are one node whose tasks share the limit. Of the others every task
    has it for itself. ``places`` are the cluster and the node group of each class, none where every job may
    use all of them. ``pools`` are the classes of each group of which windows take processors, ``sizes`` its
    processors; with ``is_within_node`` a job is on one class alone. ``stocks`` are what places have of resources, and
    ``nodes`` the group of each class, and names of resources that each of its nodes has, where jobs take of some.
    ``clusters`` are the cluster of each class, by index, and ``spread`` says what a job asks of its tasks in each,
    where some job asks for anything.
    """

    limits: tuple[float, ...]
    shared: tuple[int, ...]
    places: tuple[tuple[str, NodeGroup], ...] = ()
    pools: tuple[tuple[int, ...], ...] = ()
    sizes: tuple[int, ...] = ()
    is_within_node: bool = False
    stocks: tuple[Stock, ...] = ()
    nodes: tuple[tuple[NodeGroup, tuple[str, ...]], ...] = ()
    clusters: tuple[int, ...] = ()
    spread: Callable[[Job], Spread | None] | None = None

    @property
    def is_ample(self) -> bool:
        """Whether there is always enough."""
        return all(map(math.isinf, self.limits))

    @property
    def leave_all(self) -> bool:
        """Whether every job can use every free processor."""
        return self.is_ample and not (self.places or self.pools or self.stocks or self.nodes or self.spread)

    @property
    def full(self) -> Allocation:
        """Capacity besides processors of classes where nothing runs, and no window has begun."""
        return (UNITS,) * len(self.shared) + (STOCK_UNITS,) * len(self.stocks) + self.sizes

    @property
    def first_stock(self) -> int:
        """Index of the first stock of a room: behind classes and memories."""
        return len(self.limits) + len(self.shared)

    @property
    def first_pool(self) -> int:
        """Index of the first pool of a room: behind the stocks."""
        return self.first_stock + len(self.stocks)

    def megabytes(self, room: Sequence[int]) -> tuple[float, ...]:
        """Return the memory that is left on a node of each class, MB."""
        left = list(self.limits)
        for g, units in zip(self.shared, room[len(left) :], strict=False):
            left[g] *= units / UNITS
        return tuple(left)

    def usable(self, job: Job, room: Sequence[int], order: Order | None = None) -> Sequence[int]:
        """Return how many tasks of a job the free processors of each class can take together, where it may be.

        Where a cluster has too little of a resource for all of them, the first classes by ``order`` get it; without
        one the first that the platform lists. Of a job that restricts its tasks in each cluster they are exactly its
        tasks, most on the first clusters of the order, or none where it does not fit.
        """
        num_classes = len(self.limits)
        free: Sequence[int] = room[:num_classes]
        if self.places and job.is_choosy:
            free = [count if job.may_use(*place) else 0 for count, place in zip(free, self.places, strict=True)]
        if job.memory:
            free = self.with_memory(job.memory, free, room[num_classes:])
        takes, left = self.nodes and job.asks_resources, room[self.first_stock : self.first_pool]
        if takes:
            free = self._within_nodes(job, free, left)
        if self.pools:
            free = self._within_pools(free, room[self.first_pool :])
        if takes:
            free = self._within_stocks(job, free, left, order)
        spread = self.spread(job) if self.spread is not None else None
        return free if spread is None else self._as_spread(job, spread, free, order)

    def _as_spread(self, job: Job, spread: Spread, free: Sequence[int], order: Order | None) -> Sequence[int]:
        """Return the tasks of a job on each class, as they are to be spread; none where they do not fit."""
        ranked = range(len(free)) if order is None else order(job, free)
        clusters, held = list(dict.fromkeys(self.clusters[g] for g in ranked)), [0] * (max(self.clusters) + 1)
        for g, count in enumerate(free):
            held[self.clusters[g]] = (
                max(held[self.clusters[g]], count) if self.is_within_node else (held[self.clusters[g]] + count)
            )
        rest, cut = list(next(spread.found(job.tasks, held, clusters), (0,) * len(held))), [0] * len(free)
        for g in ranked:
            if self.is_within_node and free[g] < job.tasks:
                continue
            cut[g] = min(rest[self.clusters[g]], free[g])
            rest[self.clusters[g]] -= cut[g]
        return cut

    def with_memory(self, asked: float, free: Sequence[int], left: Sequence[int]) -> Sequence[int]:
        """Return how many of the free processors have so much memory, MB each; ``left`` are units of it."""
        counts = [count if asked <= limit else 0 for count, limit in zip(free, self.limits, strict=True)]
        for g, units in zip(self.shared, left, strict=False):
            if counts[g]:
                counts[g] = min(counts[g], units // self._units(asked, g))
        return counts

    def taken(self, job: Job, counts: Sequence[int]) -> Allocation:
        """Return what a job takes of a room on so many processors of each class, which have the memory."""
        if not self.shared and not self.pools and not self.stocks:
            return tuple(counts)
        asked = job.memory or 0.0
        units = (counts[g] * self._units(asked, g) if asked and counts[g] else 0 for g in self.shared)
        taken = (_units_taken(stock, job, sum([counts[g] for g in stock.classes])) for stock in self.stocks)
        pools = (sum([counts[g] for g in pool]) for pool in self.pools)
        return (*counts[: len(self.limits)], *units, *taken, *pools)

    def _within_nodes(self, job: Job, free: Sequence[int], left: Sequence[int]) -> Sequence[int]:
        """Return free processors cut to what their nodes have left of resources."""
        cut = [count if tasks_on_node(*node_of, job) else 0 for count, node_of in zip(free, self.nodes, strict=True)]
        for stock, units in zip(self.stocks, left, strict=True):
            if stock.level == "node":
                (g,) = stock.classes
                cut[g] = min(cut[g], max(0, _tasks_of(stock, job, units)))
        return cut

    def _within_stocks(self, job: Job, free: Sequence[int], left: Sequence[int], order: Order | None) -> Sequence[int]:
        """Return free processors cut to what is left of resources of clusters: those of the last classes first.

        A rule that fills classes in this order loses nothing by it: of each cluster it fills the first ones first. Of
        the platform as a whole there is enough for all tasks of the job, or for none. All that holds for fewer classes
        has cut them before.
        """
        cut, place = list(free), [0] * len(free)
        for n, g in enumerate(order(job, free) if order is not None else ()):
            place[g] = n
        for stock, units in zip(self.stocks, left, strict=True):
            most = max(0, _tasks_of(stock, job, units))
            if stock.level == "platform" and most < job.tasks:
                return [0] * len(cut)
            for g in sorted(stock.classes, key=place.__getitem__) if stock.level == "cluster" else ():
                cut[g] = min(cut[g], most)
                if not self.is_within_node:
                    most -= cut[g]
        return cut

    def _within_pools(self, free: Sequence[int], left: Sequence[int]) -> Sequence[int]:
        """Return free processors cut to what windows leave of their groups: of the last classes first."""
        cut = list(free)
        for pool, units in zip(self.pools, left, strict=True):
            rest = max(0, units)
            for g in pool:
                cut[g] = min(cut[g], rest)
                if not self.is_within_node:
                    rest -= cut[g]
        return cut

    def _units(self, asked: float, g: int) -> int:
        limit = Fraction(self.limits[g])
        return math.ceil(Fraction(asked) * UNITS / limit) if limit else UNITS


@lru_cache(100_000)
def _stock_units(amount: float, limit: float) -> int:
    """Return an amount of a stock in units; more than all of it where there is none of it."""
    return math.ceil(Fraction(amount) * STOCK_UNITS / Fraction(limit)) if limit else (STOCK_UNITS + 1) * (amount > 0.0)


def _units_taken(stock: Stock, job: Job, tasks: int) -> int:
    """Return the units that so many tasks of a job take of a stock."""
    if tasks == 0 or not job.asks_resources:
        return 0
    whole, per_task = stock.parts(job)
    return _stock_units(whole, stock.limit) + tasks * _stock_units(per_task, stock.limit)


def _tasks_of(stock: Stock, job: Job, left: int) -> int:
    """Return how many tasks of a job so many units of a stock are enough for: any number where tasks take none."""
    whole, per_task = (_stock_units(amount, stock.limit) for amount in stock.parts(job))
    if whole > left:
        return 0
    return (left - whole) // per_task if per_task else STOCK_UNITS


def capacity_vectors_of(
    classes: Sequence[NodeClass],
    task_memory: float,
    clusters: Sequence[str] = (),
    pools: Iterable[tuple[int, ...]] = (),
    *,
    is_within_node: bool = False,
    stocks: Iterable[Stock] = (),
    resources: tuple[str, ...] | None = None,
    spread: Callable[[Job], Spread | None] | None = None,
) -> CapacityVectors:
    """Return the capacity vectors of classes, where tasks ask for ``task_memory`` MB at most.

    ``clusters`` are the names of all where some jobs say which clusters or nodes they may use, ``pools`` the classes of
    groups of which windows take processors. ``stocks`` are what places have of resources that jobs take, and
    ``resources`` those of them that nodes have; None where jobs take nothing. ``spread`` says what a job asks of its
    tasks in each cluster, None where none does.
    """
    limits = [
        capacity_limit(c.group.memory)
        if c.group.memory is not None and has_too_little(c.group, task_memory)
        else math.inf
        for c in classes
    ]
    shared = (g for g, c in enumerate(classes) if shares_memory(c.group, task_memory))
    places = tuple((clusters[c.cluster], c.group) for c in classes if clusters)
    pools = tuple(pools)
    sizes = tuple(sum(classes[g].capacity for g in pool) for pool in pools)
    nodes = () if resources is None else tuple((c.group, resources) for c in classes)
    inside = tuple(c.cluster for c in classes) if spread is not None else ()
    return CapacityVectors(
        tuple(limits), tuple(shared), places, pools, sizes, is_within_node, tuple(stocks), nodes, inside, spread
    )
