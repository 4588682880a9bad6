"""The tree of extension alternatives: at each instant at which something ends or arrives, what starts.

A schedule whose jobs start as early as their order allows starts each at such an instant, and one of these
is optimal. So a node is an instant with what runs then and how many jobs of each kind wait; its children are the sets
of waiting jobs, each at one of its durations, that start. On which nodes a job runs is decided late: a running set
holds *every* choice of a mode for each of its jobs that fits. A node is given up where a bound
shows that nothing better can follow, or where another was seen with the
same jobs waiting and running, none of them later and no dearer, or with nothing running any more; and no job starts
that could as well have started before. Windows and reservations join the running set when they begin, and where no
choice leaves them room the node is given up. What a schedule costs, and how that is bounded, is said by those who
search (:mod:`coalloc.solvers.search.branch_and_bound`, :mod:`coalloc.solvers.search.branch_and_bound_of_sums`).
Derivation: docs/mathematics.md, "Branch and bound over extension alternatives".
Source: J. Stinson, E. Davis, B. Khumawala, "Multiple resource-constrained scheduling using branch and bound", AIIE
Transactions 10 (1978); E. Demeulemeester, W. Herroelen, "A branch-and-bound procedure for the multiple
resource-constrained project scheduling problem", Management Science 38 (1992).
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from operator import le
from typing import NamedTuple

from coalloc.problem import Assignment, Problem, TimeSumRow
from coalloc.solvers.bounds.link_sets import MAX_CHOICES
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.search.coming_blocks import coming_blocks
from coalloc.solvers.search.running_sets import (
    ExtensionAlternative,
    Key,
    ModeChoice,
    RunningSet,
    RunningSets,
    TooManyError,
)
from coalloc.solvers.search.waits import Waits, is_no_later
from coalloc.system.garbage import no_collection

MAX_WAITING = 2**20
"""Numbers of jobs of each kind that may wait up to which the search is tried: 20 jobs, more where some are equal."""
NODES_BETWEEN = 1_000
"""Nodes between two looks at what other processes have found."""

OnSchedule = Callable[[list[Assignment]], bool]


@dataclass(frozen=True, slots=True)
class Node:
    """An instant (ticks): who runs until when, how many of each kind wait (packed), and the bound on all that follows.

    ``spent`` is what the jobs that have started cost: 0 where costs are not added up; ``until`` is when lags that have
    begun end (:class:`Waits`).
    """

    now: float
    running: RunningSet
    ends: tuple[float, ...]
    waiting: int
    bound: float
    spent: float = 0.0
    until: tuple[float, ...] = ()


class Choice(NamedTuple):
    """What starts at a node, the bound then, when something ends or arrives next (ticks), and what was spent then."""

    bound: float
    later: float
    start: ExtensionAlternative
    spent: float = 0.0


def _order(choice: Choice) -> tuple[float, float]:
    """Return by what choices are ordered: the least bound, then the longest job that starts."""
    return choice.bound, -choice.start.longest


class StoppedError(Exception):
    """The search came to an end before it had seen everything."""


def may_search(problem: Problem, kind_of: Sequence[int] = ()) -> bool:
    """Return whether a problem is of the size, and the kind, that the search is for; ``kind_of`` as running sets."""
    if not problem.declared.is_searched:
        return False
    waits = bool(problem.busy or problem.blocks or problem.rows or problem.calendars)
    if waits and any(levels[0].duration == 0 for levels in problem.levels):
        return False  # such jobs occupy nothing, but wait here until something ends: before what ends last, or runs on
    num_waiting = math.prod(1 + number for number in Counter(kind_of or problem.kinds).values())
    return num_waiting <= MAX_WAITING and problem.allocations.number <= MAX_CHOICES


class ExtensionSearch(ABC):
    """The search for one problem; whoever says what schedules cost gives the root, the choices and the ceiling.

    Parameters
    ----------
    running_sets
        Those of the problem.
    target
        Cost at which the search stops: a proven bound.
    on_schedule
        Hears of every better schedule, and says whether it is valid.

    ``best`` is the least cost that is known; only better ones are looked for.
    """

    def __init__(
        self,
        problem: Problem,
        running_sets: RunningSets,
        *,
        best: float,
        target: float,
        on_schedule: OnSchedule,
    ) -> None:
        self.best = best
        self._target = target
        self._on_schedule = on_schedule
        self._problem = problem
        self._running_sets = running_sets
        self._arrivals = sorted(set(problem.releases))
        self._arrived = [self._arrived_by(instant) for instant in self._arrivals]
        self._blocks = coming_blocks(problem)
        self._begins = [block.start for block in self._blocks]
        self._latest_ends = [problem.latest_ends[j] for j, *_ in running_sets.kinds]
        self._latest_starts = [latest_start(problem, j) for j, *_ in running_sets.kinds]
        self._is_timed = any(map(math.isfinite, [*self._latest_ends, *self._latest_starts]))
        self._waits = Waits(problem, running_sets)
        self._num_nodes = 0
        self._seen: dict[tuple[int, int, tuple[Key, ...]], list[Node]] = {}
        self._searched: dict[tuple[int, int], list[tuple[float, float]]] = {}
        self._path: list[tuple[Node, ExtensionAlternative]] = []

    @property
    @abstractmethod
    def proven(self) -> float:
        """What schedules are proven to cost at least, once :meth:`run` has seen everything."""

    @property
    @abstractmethod
    def _ceiling(self) -> float:
        """The cost that would be worth finding."""

    @abstractmethod
    def _root(self) -> Node:
        """Return the first node."""

    @abstractmethod
    def _choices(self, node: Node) -> Iterator[Choice]:
        """Yield the starts that may lead to something better."""

    @abstractmethod
    def _value(self, assignments: Sequence[Assignment]) -> float:
        """Return what a schedule costs."""

    def run(self, max_nodes: int, deadline: float = math.inf, is_done: Callable[[], bool] = lambda: False) -> bool:
        """Search; return whether everything was seen, so that no schedule ends before ``proven``.

        Stops after ``max_nodes`` nodes, at the deadline, an instant of ``time.perf_counter()``, s, or where
        ``is_done``, asked now and then, says so.
        """
        self._max_nodes, self._deadline, self._is_done = max_nodes, deadline, is_done
        try:
            self._visit(replace(self._root(), until=self._waits.nothing), frozenset())
        except (StoppedError, TooManyError):
            return False
        return True

    def _visit(self, node: Node, excluded: Set[Key]) -> None:
        """Search what follows a node, but for what starts one of the excluded keys now."""
        self._count()
        self._branch(node, excluded)
        self._remember(node)

    def _branch(self, node: Node, excluded: Set[Key]) -> None:
        """Visit what follows a node, the least bound first."""
        done: set[tuple[Key, ...]] = set()
        for choice in sorted(self._choices(node), key=_order):
            if choice.bound > self._ceiling:
                return  # those after it are bounded no lower, and the ceiling only falls
            start = choice.start
            if excluded.isdisjoint(start.keys):
                self._path.append((node, start))
                if node.waiting == start.jobs and self._is_last(node, start):
                    self._end()
                else:
                    child = self._after(node, choice)
                    if child is not None and not self._is_known(child):
                        self._visit(child, self._excluded(start, done))
                self._path.pop()
            done.add(start.keys)

    def _excluded(self, start: ExtensionAlternative, done: Set[tuple[Key, ...]]) -> Set[Key]:
        """Return the keys that could as well have started before, with a start that the search is done with.

        That is where one more fits beside the others in each of its modes, whatever theirs are.
        """
        always = self._running_sets.always_fitting(start.running)
        return frozenset([key for key in always if tuple(sorted((*start.keys, key))) in done])

    def _count(self) -> None:
        self._num_nodes += 1
        if self._num_nodes > self._max_nodes or time.perf_counter() > self._deadline:
            raise StoppedError
        if self._num_nodes % NODES_BETWEEN == 0 and self._is_done():
            raise StoppedError

    def _after(self, node: Node, choice: Choice) -> Node | None:
        """Return the next node; None where a block begins then that finds no room."""
        start, later = choice.start, choice.later
        ends = self._ends(node, start)
        kept = tuple([i for i, end in enumerate(ends) if end > later])
        running, lasting = self._running_sets.without(start.running, kept), tuple([ends[i] for i in kept])
        if self._blocks:
            begun = self._with_blocks(running, lasting, node.now, later)
            if begun is None:
                return None
            running, lasting = begun
        until = self._waits.after(node.until, start, node.now, later)
        return Node(later, running, lasting, node.waiting - start.jobs, choice.bound, choice.spent, until)

    def _lasting(self, now: float) -> tuple[RunningSet, tuple[float, ...]]:
        """Return what runs at the first instant, blocks that have begun with it, and until when."""
        busy = self._problem.busy
        running = [b for b, of in enumerate(busy) if of.end > now]
        ends = tuple([busy[b].end for b in running])
        together = self._with_blocks(self._running_sets.busy(running), ends, -math.inf, now)
        assert together is not None  # blocks take no more than what runs already leaves them
        return together

    def _with_blocks(
        self, running: RunningSet, ends: tuple[float, ...], since: float, now: float
    ) -> tuple[RunningSet, tuple[float, ...]] | None:
        """Return a running set and its ends with the blocks that have begun since; None where they find no room."""
        together: RunningSet | None = running
        for b in self._begun(since, now):
            assert together is not None
            together, ends = self._running_sets.with_block(together, b), (*ends, self._blocks[b].end)
            if together is None:
                return None
        assert together is not None
        return together, ends

    def _begun(self, since: float, now: float) -> list[int]:
        """Return the blocks, by index, that have begun after an instant and last beyond another."""
        numbers = range(bisect_right(self._begins, since), bisect_right(self._begins, now))
        return [b for b in numbers if self._blocks[b].end > now]

    def _next_begin(self, now: float) -> float:
        """Return when the next block begins."""
        begun = bisect_right(self._begins, now)
        return self._begins[begun] if begun < len(self._begins) else math.inf

    def _is_last(self, node: Node, start: ExtensionAlternative) -> bool:
        """Return whether no block begins before all jobs have ended, whatever else runs by then."""
        following = self._next_begin(node.now)
        ends = zip(start.running.keys, self._ends(node, start), strict=True)
        return all(end <= following for (kind, _), end in ends if kind < len(self._running_sets.kinds))

    def _in_time(self, node: Node, start: ExtensionAlternative, later: float) -> bool:
        """Return whether all that start end in time, and those that wait may, from the next instant on."""
        durations, now = self._running_sets.durations, node.now
        for kind, level in start.keys:
            if now > self._latest_starts[kind] or now + durations[kind][level] > self._latest_ends[kind]:
                return False
        waiting = self._running_sets.counts.unpacked(node.waiting - start.jobs)
        return all(
            later <= self._latest_starts[kind]
            and later + min(durations[kind], default=math.inf) <= self._latest_ends[kind]
            for kind, number in enumerate(waiting)
            if number
        )

    def _ends(self, node: Node, start: ExtensionAlternative) -> list[float]:
        """Return when those that run once a start is made will end: of one key those first that ran before."""
        durations = self._running_sets.durations
        return [
            node.now + durations[key[0]][key[1]] if before is None else node.ends[before]
            for key, before in zip(start.running.keys, _before(node.running, start.running), strict=True)
        ]

    def _ready(self, node: Node) -> tuple[int, float]:
        """Return how many of each kind wait and may start, packed, and when the next kind may or a block begins."""
        arrived = bisect_right(self._arrivals, node.now)
        ready, following = node.waiting, math.inf
        if arrived < len(self._arrivals):
            ready, following = node.waiting & self._arrived[arrived - 1], self._arrivals[arrived]
        if self._blocks:
            following = min(following, self._next_begin(node.now))
        if not self._waits.is_empty:
            ready, later = self._waits.ready(node.now, node.waiting, ready, node.running.keys, node.until)
            following = min(following, later)
        return ready, following

    def _alternatives(self, node: Node) -> Iterator[tuple[ExtensionAlternative, float]]:
        """Yield what may start at a node, and when, in ticks, something ends, arrives or may start next."""
        counts, now, waits = self._running_sets.counts, node.now, self._waits
        ready, following = self._ready(node)
        first, room, guards = min(min(node.ends, default=math.inf), following), ready + counts.guards, counts.guards
        for start in self._running_sets.starts(node.running, ready):
            if room - start.jobs & guards != guards:
                continue
            later = min(first, now + start.shortest)
            if not waits.is_empty:
                if not waits.allow(start, node.waiting):
                    continue
                later = min(later, now + waits.soonest(start))
            if not self._is_timed or self._in_time(node, start, later):
                yield start, later

    def _arrived_by(self, instant: float) -> int:
        """Return the bits of the kinds that have arrived by an instant."""
        sets = self._running_sets
        releases = [self._problem.releases[j] for j, *_ in sets.kinds]
        return sum(sets.counts.mask(kind) for kind, release in enumerate(releases) if release <= instant)

    def _remember(self, node: Node) -> None:
        """Remember a node that was searched to its end, by when all that ran there has ended, and what was spent."""
        self._seen.setdefault((*self._stage(node), node.running.keys), []).append(node)
        steps = self._searched.setdefault(self._stage(node), [])
        end, spent = max((node.now, *node.ends, *node.until)), node.spent
        place = bisect_right(steps, (end, spent))
        if not (place and steps[place - 1][1] <= spent):
            beyond = place
            while beyond < len(steps) and steps[beyond][1] >= spent:
                beyond += 1
            steps[place:beyond] = [(end, spent)]

    def _is_known(self, node: Node) -> bool:
        """Return whether a node was searched to its end that is no worse.

        Of the same jobs waiting, one of which nothing runs any more is no worse, whatever runs here. And of the same
        running.
        Source: the cutset rule of Demeulemeester and Herroelen.
        """
        steps = self._searched.get(self._stage(node), ())
        place = bisect_right(steps, (node.now, math.inf))
        if place and steps[place - 1][1] <= node.spent:
            return True
        known = self._seen.get((*self._stage(node), node.running.keys), ())
        return any(_is_no_worse(other, node) for other in known)

    def _stage(self, node: Node) -> tuple[int, int]:
        """Return what waits at a node, packed, and how many arrivals and beginnings of blocks are past."""
        return node.waiting, bisect_right(self._arrivals, node.now) + bisect_right(self._begins, node.now)

    def _end(self) -> None:
        """Offer the schedule of the path: jobs of a kind start in their order."""
        found = assignments_of(self._problem, self._running_sets, list(self._members()))
        value = self._value(found)
        if value >= self.best:
            return
        if not self._on_schedule(found):
            raise StoppedError  # another choice might be valid, so nothing would be proven
        self.best = value
        if value <= self._target:
            raise StoppedError

    def _members(self) -> Iterator[tuple[RunningSet, list[Member]]]:
        """Yield the running sets of the path, with who their members are."""
        lasting = [Member(key, -math.inf, 0, 0) for key in self._path[0][0].running.keys]
        for step, (node, start) in enumerate(self._path):
            members = [
                Member(start.running.keys[i], node.now, step, i) if before is None else lasting[before]
                for i, before in enumerate(_before(node.running, start.running))
            ]
            yield start.running, members
            after = self._path[step + 1][0].now if step + 1 < len(self._path) else math.inf
            lasting = [m for m, end in zip(members, self._ends(node, start), strict=True) if end > after]
            lasting += [Member(self._running_sets.block_key(b), after, step, 0) for b in self._begun(node.now, after)]


def latest_start(problem: Problem, j: int) -> float:
    """Return by when, in ticks, rows ask a job, by index, to start."""
    rows = [row for row in problem.rows if isinstance(row, TimeSumRow) and row.terms == ((-1, "start", j),)]
    return min((-row.least for row in rows), default=math.inf)


def search_below(
    incumbent: Incumbent, search_with: Callable[[OnSchedule], ExtensionSearch], max_nodes: int, name: str
) -> None:
    """Search exhaustively, as far as a number of nodes goes, for anything better than the best assignments.

    ``search_with`` returns the search that tells its schedules to whom it is given; ``name`` is that of its method.
    """
    search, is_seen = run_search(incumbent, search_with, max_nodes, name)
    if is_seen:
        if incumbent.best:
            incumbent.prove(search.proven, name)
        else:
            incumbent.exclude()


def run_search(
    incumbent: Incumbent, search_with: Callable[[OnSchedule], ExtensionSearch], max_nodes: int, name: str
) -> tuple[ExtensionSearch, bool]:
    """Return a search, as :func:`search_below` makes it, once it has run, and whether it has seen everything."""

    def is_taken(assignments: list[Assignment]) -> bool:
        incumbent.take_if_valid(assignments, name)
        return incumbent.cost <= incumbent.criterion.value(assignments)

    def is_closed() -> bool:
        incumbent.hear()
        return incumbent.is_closed

    search = search_with(is_taken)
    with no_collection():  # a third of the time, for nothing
        return search, search.run(incumbent.limited(max_nodes), incumbent.deadline, is_closed)


def assignments_of(
    problem: Problem, sets: RunningSets, steps: Sequence[tuple[RunningSet, Sequence[Member]]]
) -> list[Assignment]:
    """Return the assignments of running sets that follow one another, given with who their members are.

    From the last set back each takes a choice that agrees with those after it; jobs of a kind start in their order.
    """
    chosen: dict[Member, int] = {}
    for running, members in reversed(steps):
        choice = next(choice for choice in running.rooms if _agrees(members, choice, chosen))
        chosen |= zip(members, choice, strict=True)
    left, found = [iter(of_kind) for of_kind in sets.kinds], []
    for member in sorted(chosen, key=lambda member: member.start):
        kind = member.key[0]
        if kind < len(sets.kinds):
            job = next(left[kind])
            found.append(Assignment(job, member.start, problem.modes[job][sets.mode(member.key, chosen[member])]))
    return found


class Member(NamedTuple):
    """Who is in running sets: a key that started at an instant (ticks), as which member of which step of the path."""

    key: Key
    start: float
    step: int
    number: int


def _before(running: RunningSet, after: RunningSet) -> Iterator[int | None]:
    """Yield for each member which it was of those that ran before others joined; None for those."""
    i = 0
    for key in after.keys:
        if i < len(running.keys) and running.keys[i] == key:
            yield i
            i += 1
        else:
            yield None


def _is_no_worse(one: Node, other: Node) -> bool:
    """Return whether what can follow the other can follow the one; the same kinds run and wait at both.

    Each at the same duration, that is: only their choices of modes may differ. Whatever starts after the other can
    start then after the one, where nothing that runs ends later. It fits if the choice beside which it fits is there,
    too: so the one must have every choice that the other has, and what a choice leaves follows from the choice alone.
    Moved left it ends no later, in floats as well, for their sums are rounded monotonically.
    """
    is_earlier = one.now <= other.now and one.spent <= other.spent and all(map(le, one.ends, other.ends))
    is_earlier = is_earlier and is_no_later(one.until, other.until, other.now)
    return is_earlier and (one.running is other.running or one.running.rooms.keys() >= other.running.rooms.keys())


def _agrees(members: Sequence[Member], choice: ModeChoice, chosen: Mapping[Member, int]) -> bool:
    return all(chosen.get(member, index) == index for member, index in zip(members, choice, strict=True))
