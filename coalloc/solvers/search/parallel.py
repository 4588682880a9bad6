"""One tree searched in several threads, each on a part of it: the engine releases the lock of Python while it searches.

Each thread has a tree of its own, with running sets, prices and memory. One thread begins. From then on all search in
rounds, at the ends of which schedules are exchanged. A thread that has seen its part receives the open branch nearest
to the root of the one that has searched its own for longest (``set_tree_sharing.c``). A round is a fixed number of
nodes where work is limited, so that the search repeats exactly, else a fixed time, so that no thread waits for others.

Parts have the order in which one thread would come to them. What a rule leaves out is covered by nodes that come before
in this order: so all is proved once all parts are seen. A tree forgets its nodes before a part that precedes its last.
Derivation: docs/mathematics.md, "Parallel search".
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Generic, Protocol, Self, TypeVar

from coalloc.problem import Assignment
from coalloc.solvers.incumbent import Incumbent

ALONE = 100_000
"""Nodes before the search is divided: some 0.1 s."""
NODES, SECONDS = 5_000, 0.02
"""What each thread does in a round: nodes where work is limited, else seconds."""


class DivisibleTree(Protocol):
    """A search for better schedules that can give a part of what is left to another."""

    @property
    def proven(self) -> float:
        """The cost that is proven once everything was seen."""

    def lower(self, limit: float) -> None:
        """Look for what costs less from now on."""

    def run(self, max_nodes: int, deadline: float) -> tuple[str, int]:
        """Search on; return "everything", "better" or "stopped", and the nodes."""

    def share(self, other: Self) -> bool:
        """Give a part of what is left to another tree that has none; return whether there was one."""

    def forget(self) -> None:
        """Forget the nodes that were seen."""

    def assignments(self) -> list[Assignment]:
        """Return the schedule that was found."""


T = TypeVar("T", bound=DivisibleTree)


@dataclass(slots=True)
class _Seat(Generic[T]):
    """The tree of a thread.

    Parts are compared by ``part``: the n-th that is given away of a part p, (..., -n), comes after p and before those
    that were given before. ``nodes`` are those since something was last given.
    """

    tree: T
    part: tuple[int, ...] = ()
    is_idle: bool = False
    given: int = 0
    nodes: int = 0

    def give(self, other: _Seat[T]) -> bool:
        """Give a part of what is left to another that is idle; return whether there was one."""
        if not self.tree.share(other.tree):
            return False
        self.given, self.nodes = self.given + 1, 0
        part = (*self.part, -self.given)
        if part < other.part:
            other.tree.forget()
        other.part, other.is_idle, other.given, other.nodes = part, False, 0, 0
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
    _limit: float | None = field(default=None, init=False)
    _found: list[list[Assignment]] = field(default_factory=list, init=False)
    _pool: ThreadPoolExecutor | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.seats = [_Seat(self.tree_of(0))]

    @property
    def proven(self) -> float:
        """The cost that is proven once everything was seen."""
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
            if threads > 1 and self._nodes >= ALONE:
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
            self.seats.append(_Seat(tree, is_idle=True))
        for idle in [seat for seat in self.seats if seat.is_idle]:
            busy = sorted((seat for seat in self.seats if not seat.is_idle), key=lambda seat: -seat.nodes)
            any(seat.give(idle) for seat in busy)

    def _round(self, busy: list[_Seat[T]], left: int, deadline: float) -> int:
        """Let threads search on, the first of them this one; return the nodes of all."""
        most = max(1, left // len(busy))
        if self._nodes < ALONE:
            most = min(most, ALONE - self._nodes)
        elif self.is_limited:
            most = min(most, NODES)
        else:
            deadline = min(deadline, time.perf_counter() + SECONDS)
        runs = [self._begin(seat, most, deadline) for seat in busy[1:]]
        try:
            ended = [busy[0].tree.run(most, deadline)]
        finally:
            wait(runs)
        ended += [run.result() for run in runs]
        for seat, (how, nodes) in zip(busy, ended, strict=True):
            seat.nodes += nodes
            seat.is_idle = how == "everything"
            if how == "better":
                self._found.append(seat.tree.assignments())
        return sum(nodes for _, nodes in ended)

    def _begin(self, seat: _Seat[T], most: int, deadline: float) -> Future[tuple[str, int]]:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(len(self.seats) - 1)
        return self._pool.submit(seat.tree.run, most, deadline)


def divided(tree_of: Callable[[int], T], incumbent: Incumbent) -> T | ParallelTree[T]:
    """Return the tree of a search in as many threads as there are cores for it; ``tree_of`` makes that of each."""
    options = incumbent.state.options
    is_limited = options.work_limit is not None
    return tree_of(0) if options.threads == 1 else ParallelTree(tree_of, lambda: incumbent.cores, is_limited)
