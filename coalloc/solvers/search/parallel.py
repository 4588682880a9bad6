"""One tree searched in several threads, each on a part of it: the engine releases the lock of Python while it searches.

Each thread has a tree of its own, with prices. One thread begins. From then on all search in rounds, at the ends of
which schedules are exchanged. A thread that has seen its part receives the last open branch, large enough for a round,
of the one that has searched its own for longest (``set_tree_sharing.c``). Running sets and the memory of nodes are
common to all, and a round is a fixed time, so that no thread waits for others. Where work is limited the search has to
repeat exactly: a round is a fixed number of nodes, and each thread has sets and a memory of its own.
Derivation: docs/mathematics/exact-tree.md, "Parallel search".
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Generic, Protocol, Self, TypeVar

from coalloc.problem import Assignment
from coalloc.rules.tuning import NODES
from coalloc.solvers.incumbent import Incumbent

PART, SECONDS = 5_000, 0.02
"""Nodes of a part below which parts grow, also those of each thread in a round of limited work; else its seconds."""


class DivisibleTree(Protocol):
    """A search for better schedules that can give a part of what is left to another."""

    @property
    def proven(self) -> float:
        """The cost that is proved once everything was seen."""

    def lower(self, limit: float) -> None:
        """Look for what costs less from now on."""

    def run(self, max_nodes: int, deadline: float) -> tuple[str, int]:
        """Search on; return "everything", "better" or "stopped", and the nodes."""

    def share(self, other: Self, least_waiting: int) -> bool:
        """Give a part, at which so many jobs wait if may be, to a tree that has none; return whether there was one."""

    def lessons(self) -> list[list[float]]:
        """Return what bounds nodes."""

    def news(self) -> list[list[float]]:
        """Return which of the lessons were learned since this was asked."""

    def adopt(self, lesson: list[float]) -> None:
        """Bound nodes by what another tree has learned."""

    def assignments(self) -> list[Assignment]:
        """Return the schedule that was found."""


T = TypeVar("T", bound=DivisibleTree)


@dataclass(slots=True)
class _Seat(Generic[T]):
    """The tree of a thread; ``nodes`` are those since something was last given."""

    tree: T
    is_idle: bool = False
    nodes: int = 0

    def run(self, max_nodes: int, deadline: float, seconds: float) -> tuple[str, int]:
        """Search on, for so many seconds from now at most."""
        return self.tree.run(max_nodes, min(deadline, time.perf_counter() + seconds))

    def give(self, other: _Seat[T], least_waiting: int) -> bool:
        """Give a part of what is left to another that is idle; return whether there was one."""
        if not self.tree.share(other.tree, least_waiting):
            return False
        self.nodes = other.nodes = 0
        other.is_idle = False
        return True


@dataclass(slots=True)
class ParallelTree(Generic[T]):
    """The search of trees, one for each thread, which together are one tree.

    ``tree_of`` makes the tree of a thread, by number; ``cores`` says how many may search by now; ``is_limited`` says
    that work is. ``seats`` are there as far as threads have begun.
    """

    tree_of: Callable[[int], T]
    cores: Callable[[], int]
    is_limited: bool
    seats: list[_Seat[T]] = field(init=False)
    _nodes: int = field(default=0, init=False)
    _least_waiting: int = field(default=0, init=False)
    _limit: float | None = field(default=None, init=False)
    _found: list[list[Assignment]] = field(default_factory=list, init=False)
    _pool: ThreadPoolExecutor | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.seats = [_Seat(self.tree_of(0))]

    @property
    def proven(self) -> float:
        """The cost that is proved once everything was seen."""
        return self.seats[0].tree.proven

    def lower(self, limit: float) -> None:
        """Look for what costs less from now on."""
        self._limit = limit
        for seat in self.seats:
            seat.tree.lower(limit)

    def assignments(self) -> list[Assignment]:
        """Return the schedule that was found."""
        return self._found[0]

    def run(self, max_nodes: int, deadline: float) -> tuple[str, int]:
        """Search on; return "everything" where all was seen, "better" at a schedule, else "stopped", and the nodes.

        ``deadline`` is an instant of ``time.perf_counter()``, s, at which it stops as well.
        """
        left, self._found = max_nodes, self._found[1:]
        while not self._found:
            threads = self.cores()
            if threads > 1 and self._nodes >= NODES:
                self._share(threads)
            busy = [seat for seat in self.seats if not seat.is_idle]
            if not busy:
                return "everything", max_nodes - left
            if left <= 0 or time.perf_counter() >= deadline:
                return "stopped", max_nodes - left
            nodes = self._round(busy[:threads], left, deadline)
            self._nodes += nodes
            left -= nodes
        return "better", max_nodes - left

    def _share(self, threads: int) -> None:
        """Give parts to all of so many threads that have none, as far as there are parts."""
        while len(self.seats) < threads:
            tree = self.tree_of(len(self.seats))
            if self._limit is not None:
                tree.lower(self._limit)
            for lesson in self.seats[0].tree.lessons():
                tree.adopt(lesson)
            self.seats.append(_Seat(tree, is_idle=True))
        for idle in [seat for seat in self.seats if seat.is_idle]:
            busy = sorted((seat for seat in self.seats if not seat.is_idle), key=lambda seat: -seat.nodes)
            any(seat.give(idle, self._least_waiting) for seat in busy)

    def _round(self, busy: list[_Seat[T]], left: int, deadline: float) -> int:
        """Let threads search on, the first of them this one; return the nodes of all."""
        most = max(1, left // len(busy))
        if self._nodes < NODES:
            most = min(most, NODES - self._nodes)
        elif self.is_limited:
            most = min(most, PART)
        seconds = math.inf if self.is_limited or self._nodes < NODES else SECONDS
        runs = [self._begin(seat, most, deadline, seconds) for seat in busy[1:]]
        try:
            ended = [busy[0].run(most, deadline, seconds)]
        finally:
            wait(runs)
        ended += [run.result() for run in runs]
        for seat, (how, nodes) in zip(busy, ended, strict=True):
            seat.nodes += nodes
            seat.is_idle = how == "everything"
            if seat.is_idle:
                self._adapt(seat.nodes)
            if how == "better":
                self._found.append(seat.tree.assignments())
        self._teach()
        return sum(nodes for _, nodes in ended)

    def _teach(self) -> None:
        """Let all trees know what one has learned."""
        for seat in self.seats:
            for lesson in seat.tree.news():
                for other in self.seats:
                    other.tree.adopt(lesson)

    def _adapt(self, nodes: int) -> None:
        """Give larger parts where one had few nodes, and smaller ones where it had many."""
        if nodes < PART:
            self._least_waiting += 1
        elif nodes > NODES:
            self._least_waiting = max(0, self._least_waiting - 1)

    def _begin(self, seat: _Seat[T], most: int, deadline: float, seconds: float) -> Future[tuple[str, int]]:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(len(self.seats) - 1)
        return self._pool.submit(seat.run, most, deadline, seconds)


@dataclass(frozen=True, slots=True)
class Memories:
    """Whether the trees of so many threads have running sets, and a memory for nodes, in common."""

    threads: int
    are_one: bool

    @classmethod
    def of(cls, incumbent: Incumbent) -> Self:
        """Return what the trees of an incumbent have: nothing in common where they are to repeat exactly."""
        options = incumbent.state.options
        return cls(options.threads, options.threads > 1 and options.work_limit is None)

    @property
    def sharers(self) -> int:
        """Number of threads that use the same running sets."""
        return self.threads if self.are_one else 1

    def size(self, memory: int) -> int:
        """Return the bytes that the tree of a thread remembers nodes in, of so many for all."""
        return memory if self.are_one else max(1, memory // self.threads)


def divided(tree_of: Callable[[int], T], incumbent: Incumbent) -> T | ParallelTree[T]:
    """Return the tree of a search in as many threads as there are cores for it; ``tree_of`` makes that of each."""
    options = incumbent.state.options
    is_limited = options.work_limit is not None
    return tree_of(0) if options.threads == 1 else ParallelTree(tree_of, lambda: incumbent.cores, is_limited)
