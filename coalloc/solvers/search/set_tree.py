"""Branch and bound over running sets: some million nodes in a second, on any platform.

At each instant at which something ends, arrives or may start at last, jobs start or do not: a schedule whose jobs start
as early as their order allows is among those, and one of these is optimal. The engine goes through the tree
(``set_tree.c``). Running sets, each with every choice of modes that fits, are numbers there, and which set another
becomes is looked up: there are few thousands of them where there are millions of nodes
(:mod:`coalloc.solvers.search.set_tables`). Nodes are bounded at some dozen prices: now and then the search looks along
its path for what is left at each node of each job, and where the prices that are best for that show that nothing better
can follow, all nodes are bounded at these as well (:mod:`coalloc.solvers.bounds.remainder_prices`).
Derivation: docs/mathematics/exact-tree.md.
Source: J. Stinson, E. Davis, B. Khumawala, "Multiple resource-constrained scheduling using branch and bound", AIIE
Transactions 10 (1978); E. Demeulemeester, W. Herroelen, "A branch-and-bound procedure for the multiple
resource-constrained project scheduling problem", Management Science 38 (1992).
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import numpy as np
from numpy.typing import NDArray

from coalloc.engine import LONGEST_CALL, Handle, engine
from coalloc.problem import Assignment, Problem
from coalloc.rules.tuning import CHOICES, FEW_JOBS, FIRST_NODES, HALF, MANY_JOBS, MOST, NODES
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Method
from coalloc.solvers.search.ceilings import beyond_noise, ceiling_below, mirrored_kind
from coalloc.solvers.search.lags import latest_start
from coalloc.solvers.search.node_prices import NodePrices
from coalloc.solvers.search.parallel import Memories, divided
from coalloc.solvers.search.pool_tree import pool_of
from coalloc.solvers.search.refutation import ENDED, Refutation
from coalloc.solvers.search.set_tables import SetTables, TooManyError
from coalloc.solvers.search.waits_of_kinds import WaitsOfKinds
from coalloc.solvers.traits import Trait

Floats = NDArray[np.float64]

MAX_WAITING, MOST_EQUAL = 2**20, 64
"""Numbers of jobs of each kind that may wait, and jobs of one kind, up to which more jobs are searched."""
MEMORY = 64_000_000
"""Bytes in which nodes are remembered, by all threads: some half a million."""
FIRST_SEARCH, MAX_PRICES = 500_000, 32
"""Nodes of the first search, for what is better than the best that is known; prices that bound nodes."""
FEWEST_LEFT = 3
"""Jobs that wait at nodes at which better prices are looked for."""
EXCEEDED = len(ENDED)
"""Return value of the engine where there are too many running sets."""
STEPS = 15
"""First steps of the ceilings, in continuous time, that the gap has room for."""
NEAR, FAR = 0.64, 1.6
"""Gaps, as shares, times the jobs beyond ``FEW_JOBS``, up to which it begins before the heuristics, and at all.

It refutes ends from the bound on: where the best end is far from it, it spends its time on what nobody asks.
"""


class SetTree:
    """The search of a problem for a schedule that ends by a ceiling, ticks, with tables that trees share.

    Nodes are remembered in ``memory`` bytes. Running it raises :class:`TooManyError` where there are too many running
    sets.
    """

    def __init__(
        self, problem: Problem, tables: SetTables, prices: NodePrices, ceiling: float, memory: int | None = None
    ) -> None:
        self._problem, self._tables, self._prices, self._ceiling = problem, tables, prices, ceiling
        self._tree = tree_in_engine(problem, tables, mirrored_kind(problem, tables.packed), prices.first, memory)
        self._lesson, self._until_lesson = FIRST_NODES, FIRST_NODES
        self._news: list[list[float]] = []

    @property
    def proven(self) -> float:
        """The latest end, ticks, that is proved once everything was seen."""
        return self._ceiling if self._problem.slot is None else math.floor(self._ceiling) + 1.0

    def lower(self, ceiling: float) -> None:
        """Look for what ends by an earlier ceiling, ticks, from now on."""
        self._ceiling = min(self._ceiling, ceiling)

    def run(self, max_nodes: int, deadline: float = math.inf) -> tuple[str, int]:
        """Search on; return "everything" where all was seen, "better" at a schedule, else "stopped", and the nodes.

        ``deadline`` is an instant of ``time.perf_counter()``, s, at which it stops as well.
        """
        ceiling, left = beyond_noise(self._problem, self._ceiling), max_nodes
        while left > 0 and (seconds := min(LONGEST_CALL, deadline - time.perf_counter())) > 0.0:
            slacks = self._slacks(ceiling)
            if (slacks < 0.0).any():
                return "everything", max_nodes - left
            ended, nodes = self._call(min(left, self._until_lesson), ceiling, seconds, slacks)
            left -= nodes
            self._until_lesson -= nodes
            if ended != "stopped":
                return ended, max_nodes - left
            if self._until_lesson <= 0:
                self._learn(ceiling, deadline)
        return "stopped", max_nodes - left

    def _call(self, max_nodes: int, ceiling: float, seconds: float, slacks: Floats) -> tuple[str, int]:
        """Let the engine search on; return how that ended, and the nodes."""
        nodes, hits = np.zeros(1, np.int64), self._prices.hits[: len(slacks)]
        ended = engine().set_tree_run(self._tree, len(slacks), max_nodes, ceiling, seconds, slacks, hits, nodes)
        return how_ended(ended), int(nodes[0])

    def share(self, other: SetTree, least_waiting: int) -> bool:
        """Give a part, at which so many jobs wait if may be, to a tree that has none; return whether there was one."""
        return is_shared(self._tree, other._tree, least_waiting)

    def lessons(self) -> list[list[float]]:
        """Return the prices that bound nodes."""
        return self._prices.rows

    def news(self) -> list[list[float]]:
        """Return the prices that were learned since this was asked."""
        news, self._news = self._news, []
        return news

    def adopt(self, lesson: list[float]) -> None:
        """Bound nodes at prices that another tree has learned."""
        if lesson not in self._prices.rows:
            engine().set_tree_lose(self._tree, self._prices.keep(lesson))

    def assignments(self) -> list[Assignment]:
        """Return the schedule that was found."""
        return found_by(self._tree, self._problem, self._tables)

    # ------------------------------------------------------------------ bounds

    def _slacks(self, ceiling: float) -> Floats:
        """Return what may be lost at each price."""
        slacks: Floats = ceiling - min(self._problem.releases) - self._prices.worths
        return slacks

    def _learn(self, ceiling: float, deadline: float) -> None:
        """Look along the path for a node that better prices would have left, and take them."""
        row = None
        for level in range(1, engine().set_tree_level(self._tree) + 1):
            left, now = self._left(level)
            if (left >= 1.0).sum() < FEWEST_LEFT or time.perf_counter() > deadline:
                break
            row = self._prices.learn(left, ceiling - now, deadline)
            if row is not None:
                self._news.append(self._prices.rows[row])
                engine().set_tree_lose(self._tree, row)
                break
        more = 2 * self._lesson if row is None else self._lesson // 2
        self._lesson = self._until_lesson = min(NODES, max(FIRST_NODES, more))

    def _left(self, level: int) -> tuple[Floats, float]:
        """Return what share of each job is left at a level, before others start there, and when that is, ticks.

        Of equal jobs it is the mean.
        """
        kinds = [self._tables.packed.kinds[kind] for kind in self._tables.kinds]
        numbers, now = np.zeros(len(kinds)), np.zeros(1)
        engine().set_tree_left(self._tree, level, len(kinds), numbers, now)
        left = np.zeros(len(self._problem.jobs))
        for of_kind, number in zip(kinds, numbers.tolist(), strict=True):
            left[of_kind] = number / len(of_kind)
        return left, float(now[0])


def how_ended(code: int) -> str:
    """Return what the engine says of how a call has ended; "awaited" where another thread has nothing left to do."""
    if code == EXCEEDED:
        raise TooManyError
    return ENDED[code] if code < EXCEEDED else "awaited"


def is_shared(tree: Handle, other: Handle, least_waiting: int) -> bool:
    """Give a part of what is left in a tree to another; return whether there was one."""
    given = engine().set_tree_share(tree, other, least_waiting)
    if given == EXCEEDED:
        raise TooManyError
    return bool(given)


def found_by(tree: Handle, problem: Problem, tables: SetTables) -> list[Assignment]:
    """Return the schedule that a tree in the engine has found."""
    packed = tables.packed
    num_jobs = sum(len(packed.kinds[kind]) for kind in tables.kinds)
    keys, modes, starts = np.zeros(num_jobs, np.int64), np.zeros(num_jobs, np.int64), np.zeros(num_jobs)
    engine().set_tree_schedule(tree, num_jobs, keys, starts, modes)
    left, found = [iter(of_kind) for of_kind in packed.kinds], []
    for number, start, mode in zip(keys.tolist(), starts.tolist(), modes.tolist(), strict=True):
        key = tables.keys[number]
        job = next(left[key[0]])
        found.append(Assignment(job, start, problem.modes[job][packed.mode(key, mode)]))
    occupying_nothing = (kind for kind in range(len(packed.kinds)) if kind not in tables.kinds)
    for kind in occupying_nothing:
        modes_of = ((j, problem.modes[j][packed.mode((kind, 0), 0)]) for j in left[kind])
        found += [Assignment(j, problem.releases[j], mode) for j, mode in modes_of]
    return found


def tree_in_engine(
    problem: Problem, tables: SetTables, mirrored: int | None, first_price: int = 0, memory: int | None = None
) -> Handle:
    """Return the tree of a problem in the engine, with nothing but its first node, and so many bytes for those it sees.

    ``mirrored`` is the kind that is in the first half of the schedule, if any; ``first_price`` the first row of prices.
    """
    packed, release = tables.packed, min(problem.releases)
    waits = WaitsOfKinds.of(problem, tables)
    busy = [b for b, running in enumerate(problem.busy) if running.end > release]
    place = {kind: number for number, kind in enumerate(tables.kinds)}
    handle: Handle = engine().set_tree_new(
        tables.handle,
        len(place),
        tables.num_keys,
        len(busy),
        len(tables.blocks),
        len(waits.lag_of),
        len(waits.opens),
        -1 if mirrored is None else place.get(mirrored, -1),
        first_price,
        MEMORY if memory is None else memory,
        release,
        waits.early,
        np.array([place[kind] for kind, _ in tables.keys[: tables.num_keys]], dtype=np.int64),
        tables.durations,
        np.array([len(packed.kinds[kind]) for kind in place]),
        _times(problem, tables, waits.tails),
        np.array([tables.num_keys + b for b in busy], dtype=np.int64),
        np.array([problem.busy[b].end for b in busy], dtype=float),
        np.array([block.start for block in tables.blocks], dtype=float),
        np.array([block.end for block in tables.blocks], dtype=float),
        waits.lag_first,
        waits.lag_of,
        waits.lag_ends,
        waits.lag_least,
        waits.apart,
        waits.span_first,
        waits.opens,
        waits.closes,
        len(waits.rows),
        len(waits.offsets),
        np.array([row.late for row in waits.rows], dtype=np.int64),
        np.array([row.early for row in waits.rows], dtype=np.int64),
        np.array([row.is_late_end + 2 * row.is_early_end for row in waits.rows], dtype=np.int64),
        np.array([row.least for row in waits.rows], dtype=float),
        waits.offset_first,
        waits.offsets,
    )
    return handle


def _times(problem: Problem, tables: SetTables, tails: Sequence[float]) -> Floats:
    """Return the times of each kind, ticks, kind by kind.

    When it arrives, by when it starts and ends, its least duration, and what passes until all that waits for it ended.
    """
    first = [tables.packed.kinds[kind][0] for kind in tables.kinds]
    times = [
        [problem.releases[j] for j in first],
        [latest_start(problem, j) for j in first],
        [problem.latest_ends[j] for j in first],
        tables.shortest,
        tails,
    ]
    return np.ascontiguousarray(np.array(times, dtype=float).T)


class TreesOfThreads:
    """Running sets of each thread, in common or of its own, and its prices, for trees up to a latest end, ticks."""

    def __init__(self, incumbent: Incumbent, problem: Problem, dual_prices: Sequence[float], latest: float) -> None:
        self._problem, self._dual_prices, self._latest = problem, dual_prices, latest
        self._memories = Memories.of(incumbent)
        self._known: list[tuple[SetTables, NodePrices]] = []

    def tree(self, ceiling: float, thread: int) -> SetTree:
        """Return a tree of a ceiling, ticks, for a thread."""
        if thread == len(self._known):
            self._known.append(self._begun(thread))
        return SetTree(self._problem, *self._known[thread], ceiling, self._memories.size(MEMORY))

    def _begun(self, thread: int) -> tuple[SetTables, NodePrices]:
        if thread and self._memories.are_one:
            tables = self._known[0][0]
            return tables, NodePrices(self._problem, tables, self._dual_prices, thread)
        tables = SetTables(self._problem, self._latest, MAX_PRICES, threads=self._memories.sharers)
        return tables, NodePrices(self._problem, tables, self._dual_prices)


def search_in_time(
    incumbent: Incumbent, problem: Problem, dual_prices: Sequence[float], name: str, max_nodes: int = 2**62
) -> bool:
    """Look for any schedule of a problem that ends in time, whatever it costs; return whether everything was seen.

    What is found is taken in the name of a method.
    """
    latest, left = min(max(problem.latest_ends), problem.horizon_in_turn), incumbent.limited(max_nodes)
    tree = divided(partial(TreesOfThreads(incumbent, problem, dual_prices, latest).tree, latest), incumbent)
    try:
        while left > 0 and incumbent.time_left > 0.0 and not incumbent.is_closed:
            ended, _ = tree.run(min(left, NODES), incumbent.deadline)
            if ended == "better":
                incumbent.take_if_valid(tree.assignments(), name)
            if ended != "stopped":
                return ended == "everything"
            left -= NODES
            incumbent.hear()
    except TooManyError:
        pass
    return False


def _find(incumbent: Incumbent, max_nodes: int = 2**62) -> None:
    """Find a schedule where none is known, or that there is none."""
    if incumbent.best:
        return
    if (
        search_in_time(incumbent, incumbent.problem, incumbent.dual_prices, METHOD.name, max_nodes)
        and not incumbent.best
    ):
        incumbent.exclude()


def _run(incumbent: Incumbent) -> None:
    """Find a schedule; in the first round a better one, then refute ends."""
    is_first = incumbent.round == 0
    _find(incumbent, FIRST_SEARCH if is_first else 2**62)
    if incumbent.best:
        with _refutation(incumbent) as refutation:
            if is_first:
                refutation.improve(incumbent, FIRST_SEARCH)
            else:
                refutation.run(incumbent)


@contextmanager
def _refutation(incumbent: Incumbent) -> Iterator[Refutation]:
    """Yield the refutation of a problem, which goes on where it was stopped, until there are too many running sets."""
    refutation = incumbent.kept(Refutation)
    if refutation is None:
        refutation = _begun(incumbent)
        incumbent.keep(refutation)
    try:
        yield refutation
    except TooManyError:
        refutation.is_exhausted = True


def _begun(incumbent: Incumbent) -> Refutation:
    """Return the refutation of ends of a problem, of which none is refuted yet."""
    problem, latest = incumbent.problem, ceiling_below(incumbent.problem, incumbent.cost)
    trees = TreesOfThreads(incumbent, problem, incumbent.dual_prices, latest)
    unit = 1.0 if problem.slot is not None else (incumbent.cost - incumbent.proven) / STEPS
    return Refutation(
        lambda ceiling: divided(partial(trees.tree, ceiling), incumbent),
        lambda cost: ceiling_below(problem, cost),
        unit,
        METHOD.name,
    )


def _applies(incumbent: Incumbent) -> bool:
    """Return whether the tree is for a problem, whatever its gap, and has not gone as far as it goes."""
    begun, problem = incumbent.kept(Refutation), incumbent.problem
    is_exhausted = begun is not None and begun.is_exhausted
    return takes(problem) and not is_exhausted and (Trait.UNTIED not in incumbent.traits or pool_of(problem) is None)


def takes(problem: Problem) -> bool:
    """Return whether a problem is of the size, and the kind, that the tree is for."""
    return problem.declared.is_searched and is_of_size(problem)


def is_of_size(problem: Problem) -> bool:
    """Return whether a problem is of the size that the tree is for."""
    if problem.allocations.number > CHOICES or not is_small(problem.kinds):
        return False
    least = [levels[0].duration for levels in problem.levels]
    waits = bool(problem.busy or problem.blocks or problem.rows or problem.calendars)
    # Jobs of no slot occupy nothing, but what comes after them, or holds all, is to be kept to.
    return any(least) and (all(least) or not waits)


def is_small(kinds: Sequence[int]) -> bool:
    """Return whether there are few jobs, or more of few kinds."""
    counts = Counter(kinds).values()
    return len(kinds) <= MANY_JOBS or (math.prod(1 + n for n in counts) <= MAX_WAITING and max(counts) <= MOST_EQUAL)


def is_within(incumbent: Incumbent, far: float) -> bool:
    """Return whether the gap, as a share, times the jobs beyond few is at most so much, and the tree applies."""
    beyond = len(incumbent.problem.jobs) - FEW_JOBS
    is_near = not incumbent.best or (incumbent.cost - incumbent.proven) * beyond <= far * incumbent.cost
    return is_near and _applies(incumbent)


def _accepts(incumbent: Incumbent) -> bool:
    """Return whether the tree applies; ends are refuted where the gap is near at first, and not too far later.

    Of more than few jobs that arrive over time the bound on the best end is as often right, so schedules come before.
    """
    if incumbent.round == 0:
        return _applies(incumbent)
    is_early = Trait.EQUAL_ARRIVALS in incumbent.traits or len(incumbent.problem.jobs) <= FEW_JOBS
    return (incumbent.round > 1 or is_early) and is_within(incumbent, NEAR if incumbent.round == 1 else FAR)


NEEDS = Trait.MAKESPAN | Trait.PRICES
METHOD = Method(
    "branch and bound over running sets",
    _run,
    NEEDS,
    _accepts,
    shares={Trait.EQUAL_ARRIVALS: (HALF,), Trait.NONE: (HALF, HALF, MOST)},
)
