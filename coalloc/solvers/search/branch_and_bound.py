"""Branch and bound over extension alternatives: at each instant at which something ends or arrives, what starts.

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
from collections.abc import Iterator, Sequence

from coalloc.problem import Assignment, Problem
from coalloc.solvers.bounds.feasible_set import BusyPrice, FeasibleSets
from coalloc.solvers.context import Context
from coalloc.solvers.method import Method
from coalloc.solvers.result import PROOF_TOLERANCE
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
from coalloc.solvers.search.running_sets import RunningSets

MAX_NODES = 200_000
"""Nodes of the search in a portfolio."""
SHARE = 0.25
"""Share of the remaining time of a portfolio after which it stops."""
BOUND_SHARE = 0.5
"""Share of what is left of that after which the bounds of a search for what ends in time stop."""
SLOT_NOISE, NOISE = 1e-6, 1e-12
"""What the sums of a bound may lose: in slots, and as a share of its size.

A bound is a sum of some hundred floats, each right to 1e-16 of its size, so both are ample; and a node that is as close
as that to the ceiling is kept, not left. In slots ends are whole: what is kept for the noise is no new end.
"""


class BranchAndBound(ExtensionSearch):
    """The search for the least latest end of one problem.

    Parameters
    ----------
    dual_prices
        Dual price of each job, ticks: no jobs that fit together bring more than one tick per tick, where a job of
        ``d`` ticks brings ``price / d`` (:class:`FeasibleSets`), and running jobs what ``busy_prices`` say.
    best
        Latest end (ticks) that is known; only better ones are looked for.
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
        best: float,
        target: float,
        on_schedule: OnSchedule,
    ) -> None:
        sets = RunningSets(problem, dual_prices, ceiling_below(problem, best), blocks=coming_blocks(problem))
        super().__init__(problem, sets, best=best, target=target, on_schedule=on_schedule)
        self._busy_prices = busy_prices
        self._longest: dict[int, float] = {0: 0.0}

    @property
    def proven(self) -> float:
        """What the latest end is proven to be at least, ticks, once :meth:`run` has seen everything."""
        return proven_below(self._problem, self.best)

    @property
    def _ceiling(self) -> float:
        """The latest end, ticks, that would be worth finding."""
        return ceiling_below(self._problem, self.best)

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
        now, ceiling, counts = node.now, self._ceiling, self._running_sets.counts
        ready, following = self._ready(node)
        first, room, guards = min(min(node.ends, default=math.inf), following), ready + counts.guards, counts.guards
        for start in self._running_sets.starts(node.running, ready):
            if room - start.jobs & guards != guards or now + start.longest > ceiling:
                continue
            later = min(first, now + start.shortest)
            if later == math.inf or (self._is_timed and not self._in_time(node, start, later)):
                continue
            bound = node.bound + (later - now) * (1.0 - start.running.rate)
            if self._busy_prices:
                bound -= self._busy_worth(now, later)
            if bound <= ceiling and later + self._longest_of(node.waiting - start.jobs) <= ceiling:
                yield Choice(bound, later, start)

    def _busy_worth(self, now: float, later: float) -> float:
        """Return what the running jobs are worth from one instant to another."""
        spans = ((price.rate, min(later, price.until) - max(now, price.since)) for price in self._busy_prices)
        return sum([rate * span for rate, span in spans if span > 0.0])

    def _longest_of(self, waiting: int) -> float:
        """Return the longest of the least durations of those that wait, ticks."""
        if waiting not in self._longest:
            numbers = self._running_sets.counts.unpacked(waiting)
            pairs = zip(self._running_sets.durations, numbers, strict=True)
            self._longest[waiting] = max(min(durations, default=math.inf) for durations, number in pairs if number)
        return self._longest[waiting]


def proven_below(problem: Problem, best: float) -> float:
    """Return the latest end, ticks, that is proven where nothing ends by the ceiling below the best."""
    if problem.slot is not None or math.isinf(best):
        return best
    return best - 0.5 * PROOF_TOLERANCE * (best - problem.instance.origin)


def ceiling_below(problem: Problem, best: float) -> float:
    """Return the latest end, ticks, that would be worth finding: better than the best, and allowed."""
    better = best - 1 if problem.slot is not None else proven_below(problem, best)
    ceiling = min(better, max(problem.latest_ends))
    return ceiling + (0.0 if problem.slot is None else SLOT_NOISE) + NOISE * ceiling


def _run(context: Context) -> None:
    sets = context.kept(FeasibleSets)

    def search(on_schedule: OnSchedule) -> BranchAndBound:
        return BranchAndBound(
            context.problem,
            context.dual_prices,
            busy_prices=sets.busy_prices if sets is not None else (),
            best=context.cost,
            target=context.goal,
            on_schedule=on_schedule,
        )

    search_below(context, search, MAX_NODES, METHOD.name)


def _accepts(context: Context) -> bool:
    is_latest_end = bool(context.dual_prices) and context.criterion.objective.is_latest_end
    return is_latest_end and may_search(context.problem)


def search_in_time(context: Context, problem: Problem, bound_share: float, name: str) -> bool:
    """Look for any schedule of a problem that ends in time, whatever it costs; return whether everything was seen.

    Its bounds take a share of the time that is left; what is found is taken in the name of a method.
    """
    sets = FeasibleSets(problem)
    sets.bound(time_limit=bound_share * context.time_left)

    def search(on_schedule: OnSchedule) -> BranchAndBound:
        return BranchAndBound(
            problem,
            sets.dual_prices,
            busy_prices=sets.busy_prices,
            best=math.inf,
            target=max(problem.latest_ends),
            on_schedule=on_schedule,
        )

    return run_search(context, search, MAX_NODES, name)[1]


def _seek(context: Context) -> None:
    """Find a schedule that ends in time, or that there is none."""
    if search_in_time(context, context.problem, BOUND_SHARE, IN_TIME.name) and not context.best:
        context.exclude()


def _may_seek(context: Context) -> bool:
    is_bounded = bool(context.problem.jobs) and all(map(math.isfinite, context.problem.latest_ends))
    is_other = is_bounded and not context.best and not context.criterion.objective.is_latest_end
    return is_other and may_search(context.problem)


METHOD = Method("branch and bound", _run, _accepts, share=SHARE)
IN_TIME = Method("branch and bound for what ends in time", _seek, _may_seek, share=SHARE)
