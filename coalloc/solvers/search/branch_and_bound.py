"""Branch and bound over extension alternatives: what starts each time something ends or arrives.

A schedule whose jobs start as early as their order allows starts each at such an instant, and one of these
is optimal. So a node is an instant with what runs then and how many jobs of each kind wait; its children are the sets
of waiting jobs, each at one of its durations, that start. On which nodes a job runs is decided late: a running set
holds *every* choice of a mode for each of its jobs that fits. A node is given up where a bound at
the prices of the feasible sets shows that nothing better can follow, or where another was seen with the
same jobs running and waiting, none of them later; and no job starts that could as well have started before.
Derivation: docs/mathematics.md, "Branch and bound over extension alternatives".
Source: J. Stinson, E. Davis, B. Khumawala, "Multiple resource-constrained scheduling using branch and bound", AIIE
Transactions 10 (1978); E. Demeulemeester, W. Herroelen, "A branch-and-bound procedure for the multiple
resource-constrained project scheduling problem", Management Science 38 (1992).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from coalloc.problem import Assignment, Problem
from coalloc.solvers.bounds.feasible_set import BusyPrice, FeasibleSets
from coalloc.solvers.bounds.release_prices import release_prices
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Method
from coalloc.solvers.search import pool_tree, set_tree
from coalloc.solvers.search.ceilings import ceiling_below, mirrored_kind, proven_below
from coalloc.solvers.search.coming_blocks import coming_blocks
from coalloc.solvers.search.extension_search import (
    Choice,
    ExtensionSearch,
    Node,
    OnSchedule,
    may_search,
    run_search,
    search_below,
)
from coalloc.solvers.search.running_sets import ExtensionAlternative, Key, RunningSets
from coalloc.solvers.traits import Trait

MAX_NODES = 200_000
"""Nodes of the search in a portfolio."""
FEW_NODES = 300
"""Nodes of the search without the prices of releases: many problems are done then, before those are found."""
SHARE = 0.25
"""Share of the remaining time of a portfolio after which it stops."""
BOUND_SHARE = 0.5
"""Share of what is left of that after which the bounds of a search for what ends in time stop."""


class BranchAndBound(ExtensionSearch):
    """The search for the least latest end of one problem.

    Parameters
    ----------
    dual_prices
        Dual price of each job, ticks: no jobs that fit together bring more than one tick per tick, where a job of
        ``d`` ticks brings ``price / d`` (:class:`FeasibleSets`), and running jobs what ``busy_prices`` say.
    best
        Latest end (ticks) that is known; only better ones are looked for.
    release_prices
        More such prices: what they say of the jobs that arrive later is a bound as well.
    target
        Latest end, ticks, at which the search stops: a proven bound.
    on_schedule
        Hears of every better schedule, and says whether it is valid.
    """

    def __init__(
        self,
        problem: Problem,
        dual_prices: Sequence[float],
        *,
        busy_prices: Sequence[BusyPrice] = (),
        release_prices: Sequence[Sequence[float]] = (),
        best: float,
        target: float,
        on_schedule: OnSchedule,
    ) -> None:
        sets = RunningSets(problem, dual_prices, ceiling_below(problem, best), blocks=coming_blocks(problem))
        super().__init__(problem, sets, best=best, target=target, on_schedule=on_schedule)
        self._busy_prices = busy_prices
        self._releases = [problem.releases[j] for j, *_ in sets.kinds]
        self._priced = [_Priced.of(sets, prices) for prices in release_prices]
        self._left: dict[tuple[int, int], list[list[tuple[float, float]]]] = {}
        self._longest: dict[int, float] = {0: 0.0}
        self._least_times = self._waits.least_times()
        self._ceiling_of = math.nan, math.inf
        self._mirrored = mirrored_kind(problem, sets)

    @property
    def proven(self) -> float:
        """What the latest end is proven to be at least, ticks, once :meth:`run` has seen everything."""
        return proven_below(self._problem, self.best)

    @property
    def _ceiling(self) -> float:
        """The latest end, ticks, that would be worth finding."""
        if self._ceiling_of[0] != self.best:
            self._ceiling_of = self.best, ceiling_below(self._problem, self.best)
        return self._ceiling_of[1]

    def _value(self, assignments: Sequence[Assignment]) -> float:
        """Return the latest end, ticks."""
        return max(assignment.end for assignment in assignments)

    def _root(self) -> Node:
        now, sets = self._arrivals[0], self._running_sets
        running, ends = self._lasting(now)
        left = sum(
            price.rate * (price.until - max(now, price.since)) for price in self._busy_prices if price.until > now
        )
        worth = math.fsum(price * len(of_kind) for price, of_kind in zip(sets.prices, sets.kinds, strict=True))
        return Node(now, running, ends, sets.counts.everything, now + left + worth)

    def _choices(self, node: Node) -> Iterator[Choice]:
        """Yield the starts that may lead to something better."""
        now, ceiling = node.now, self._ceiling
        for start, later in self._alternatives(node):
            if later == math.inf or now + start.longest > ceiling:
                continue
            if self._mirrored is not None and not self._in_first_half(node, start, later):
                continue
            bound = node.bound + (later - now) * (1.0 - start.running.rate)
            if self._busy_prices:
                bound -= self._busy_worth(now, later)
            left = node.waiting - start.jobs
            if bound > ceiling or later + self._longest_of(left) > ceiling or self._waits.is_late(left, later, ceiling):
                continue
            if not self._priced or self._end_by_releases(node, start, later) <= ceiling:
                yield Choice(bound, later, start)

    def _in_first_half(self, node: Node, start: ExtensionAlternative, later: float) -> bool:
        """Return whether the mirrored kind starts in the first half, or may from the next instant on."""
        kind = self._mirrored
        assert kind is not None
        latest, durations = self._arrivals[0] + self._ceiling, self._running_sets.durations[kind]
        for other, level in start.keys:
            if other == kind:
                return 2.0 * node.now + durations[level] <= latest
        return not node.waiting & self._running_sets.counts.mask(kind) or 2.0 * later + durations[0] <= latest

    def _end_by_releases(self, node: Node, start: ExtensionAlternative, later: float) -> float:
        """Return by when, in ticks, all has ended at the earliest, by the prices of releases.

        From the next instant, or a later release, on: what is left then of all that runs, and waits or arrives.
        """
        ends, keys = self._ends(node, start), start.running.keys
        most = 0.0
        for priced, left in zip(self._priced, self._left_by_release(node.waiting - start.jobs, later), strict=True):
            rests = [(end, priced.rates[key]) for end, key in zip(ends, keys, strict=True) if key in priced.rates]
            for release, worth in left:
                since = max(later, release)
                most = max(most, since + worth + sum([rate * (end - since) for end, rate in rests if end > since]))
        return most

    def _left_by_release(self, waiting: int, now: float) -> list[list[tuple[float, float]]]:
        """Return for all prices what those that wait (packed) are worth, and then those of each release to come."""
        stage = waiting, bisect_right(self._arrivals, now)
        if stage not in self._left:
            numbers = self._running_sets.counts.unpacked(waiting)
            since = [-math.inf, *self._arrivals[stage[1] :]]
            self._left[stage] = [list(self._worths(priced.prices, numbers, since)) for priced in self._priced]
        return self._left[stage]

    def _worths(
        self, prices: Sequence[float], numbers: Sequence[int], since: Sequence[float]
    ) -> Iterator[tuple[float, float]]:
        """Yield each instant with what those are worth that arrive then or later; of equal ones the last."""
        worths = [
            sum([n * price for n, price, own in zip(numbers, prices, self._releases, strict=True) if own >= release])
            for release in since
        ]
        for release, worth, following in zip(since, worths, [*worths[1:], -math.inf], strict=True):
            if worth > following:
                yield release, worth

    def _busy_worth(self, now: float, later: float) -> float:
        """Return what the running jobs are worth from one instant to another."""
        spans = ((price.rate, min(later, price.until) - max(now, price.since)) for price in self._busy_prices)
        return sum([rate * span for rate, span in spans if span > 0.0])

    def _longest_of(self, waiting: int) -> float:
        """Return the longest of the least times, ticks, that those that wait take with all that waits for them."""
        if waiting not in self._longest:
            numbers = self._running_sets.counts.unpacked(waiting)
            pairs = zip(self._least_times, numbers, strict=True)
            self._longest[waiting] = max(least for least, number in pairs if number)
        return self._longest[waiting]


@dataclass(frozen=True, slots=True)
class _Priced:
    """Prices of each kind, ticks, and what a tick of each key is worth at them."""

    prices: Sequence[float]
    rates: Mapping[Key, float]

    @classmethod
    def of(cls, sets: RunningSets, dual_prices: Sequence[float]) -> _Priced:
        """Return prices of jobs as those of the kinds of running sets, each at the mean of its jobs."""
        prices = [math.fsum(dual_prices[j] for j in of_kind) / len(of_kind) for of_kind in sets.kinds]
        rates = {
            (kind, level): price / duration
            for kind, (price, durations) in enumerate(zip(prices, sets.durations, strict=True))
            for level, duration in enumerate(durations)
            if price > 0.0 and duration
        }
        return cls(prices, rates)


def _run(incumbent: Incumbent) -> None:
    """Search; where jobs arrive over time first a little, and then with the prices of releases."""
    if incumbent.problem.has_equal_releases:
        _search(incumbent, MAX_NODES, [])
        return
    _search(incumbent, FEW_NODES, [])
    if not incumbent.is_closed:
        _search(incumbent, MAX_NODES, release_prices(incumbent.problem, incumbent.deadline))


def _search(incumbent: Incumbent, max_nodes: int, prices: Sequence[Sequence[float]]) -> None:
    """Search on so many nodes; the best prices of releases, where no jobs run already, are those of the search."""
    sets = incumbent.kept(FeasibleSets)
    is_priced = bool(prices) and not incumbent.problem.busy

    def search(on_schedule: OnSchedule) -> BranchAndBound:
        return BranchAndBound(
            incumbent.problem,
            prices[0] if is_priced else incumbent.dual_prices,
            busy_prices=sets.busy_prices if sets is not None and not is_priced else (),
            release_prices=prices,
            best=incumbent.cost,
            target=incumbent.goal,
            on_schedule=on_schedule,
        )

    search_below(incumbent, search, max_nodes, METHOD.name)


def search_in_time(incumbent: Incumbent, problem: Problem, bound_share: float, name: str) -> bool:
    """Look for any schedule of a problem that ends in time, whatever it costs; return whether everything was seen.

    Its bounds take a share of the time that is left; what is found is taken in the name of a method.
    """
    sets = FeasibleSets(problem)
    sets.bound(time_limit=bound_share * incumbent.time_left)

    def search(on_schedule: OnSchedule) -> BranchAndBound:
        return BranchAndBound(
            problem,
            sets.dual_prices,
            busy_prices=sets.busy_prices,
            best=math.inf,
            target=max(problem.latest_ends),
            on_schedule=on_schedule,
        )

    return run_search(incumbent, search, MAX_NODES, name)[1]


def _seek(incumbent: Incumbent) -> None:
    """Find a schedule that ends in time, or that there is none."""
    if search_in_time(incumbent, incumbent.problem, BOUND_SHARE, IN_TIME.name) and not incumbent.best:
        incumbent.exclude()


def _may_seek(incumbent: Incumbent) -> bool:
    """Return whether each job has a latest end, and the objective is another."""
    is_bounded = all(map(math.isfinite, incumbent.problem.latest_ends))
    return is_bounded and Trait.MAKESPAN not in incumbent.traits and may_search(incumbent.problem)


METHOD = Method(
    "branch and bound",
    _run,
    Trait.MAKESPAN | Trait.PRICES,
    lambda incumbent: may_search(incumbent.problem),
    instead_of=(pool_tree.METHOD.name, set_tree.FIRST.name),  # the trees in the engine
    share=SHARE,
)
NEEDS = Trait.DEADLINES | Trait.NO_SCHEDULE
IN_TIME = Method("branch and bound for deadlines", _seek, NEEDS, _may_seek, share=SHARE)
