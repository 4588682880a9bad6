"""Branch and bound over extension alternatives for a sum of costs: what few jobs wait, respond or are late in all.

The greatest cost is searched likewise where the objective does not say latest ends
(:mod:`coalloc.solvers.search.branch_and_bound_of_maxima`).

The tree is that of :mod:`coalloc.solvers.search.extension_search`. What a job costs is known when it starts. Those that
wait cost no less than if each were alone from the next instant on; and no less than what their mean busy times
(:mod:`coalloc.solvers.bounds.mean_busy_time`) say, on a machine of which running jobs hold their part until they end.
Derivation: docs/mathematics.md, "Branch and bound over extension alternatives".
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from coalloc.objectives import Criterion
from coalloc.problem import Assignment
from coalloc.solvers.bounds.mean_busy_time import BusyTimes, Held, Work, least_cost
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Method
from coalloc.solvers.result import PROOF_TOLERANCE
from coalloc.solvers.search.ceilings import NOISE, SLOT_NOISE
from coalloc.solvers.search.coming_blocks import coming_blocks
from coalloc.solvers.search.extension_search import Choice, ExtensionSearch, Node, OnSchedule, may_search, search_below
from coalloc.solvers.search.running_sets import ExtensionAlternative, RunningSets

MAX_NODES = 400_000
"""Nodes of the search in a portfolio."""
MAX_PAIRS = 4_000_000
"""Pairs of a choice and a mode that are tried in all: 12 jobs of the thesis need up to 2 million, and 250 MB."""
SHARE = 0.5
"""Share of the remaining time of a portfolio after which it stops."""


class Waiting(NamedTuple):
    """What is known of jobs that wait, whatever the instant: how many there are of each kind, and their lines.

    ``works`` are those that have a value, ``constant`` what all lines add. Those without a value cost a weight for each
    tick until they are half done: ``others`` are (weight, release, half of the duration).
    """

    numbers: Sequence[int]
    works: Sequence[Work]
    constant: float
    others: Sequence[tuple[float, float, float]]


class BranchAndBoundOfSums(ExtensionSearch):
    """The search for the least sum of costs of one problem.

    Parameters
    ----------
    times
        Lines below the costs of the jobs, and their values, ticks: no jobs that fit together bring more than 1 a tick,
        where one of ``d`` ticks brings ``value / d``. None: nothing but each job alone is known.
    best
        Cost that is known; only better ones are looked for.
    target
        Cost at which the search stops: a proven bound.
    on_schedule
        Hears of every better schedule, and says whether it is valid.
    """

    def __init__(
        self, criterion: Criterion, times: BusyTimes | None, *, best: float, target: float, on_schedule: OnSchedule
    ) -> None:
        problem = criterion.problem
        latest = problem.horizon_in_turn
        blocks = coming_blocks(problem)
        prices = [0.0] * len(problem.jobs)
        sets = RunningSets(problem, prices, latest, criterion.kinds, blocks, max_pairs=MAX_PAIRS)
        super().__init__(problem, sets, best=best, target=target, on_schedule=on_schedule)
        self._criterion = criterion
        self._releases = [problem.releases[j] for j, *_ in sets.kinds]
        self._alone: dict[tuple[int, float], float] = {}
        self._costs: dict[tuple[int, int, float], float] = {}
        self._rates: dict[tuple[int, int], float] = {}
        self._lines: list[tuple[int, float, float, float]] = []
        self._constants = [0.0] * len(sets.kinds)
        self._waiting: dict[int, Waiting] = {}
        if times is not None and times.values:
            self._set_lines(times)
        self._ceiling_below = math.nan, math.inf
        costs = (criterion.cost(j, latest - levels[-1].duration, latest) for j, levels in enumerate(problem.levels))
        known = 0.0 if math.isinf(best) else abs(best)
        self._noise = NOISE * (known + sum(map(abs, costs)) + sum(map(abs, criterion.alone)))

    def _set_lines(self, times: BusyTimes) -> None:
        """Order the kinds that have a value by what a tick of it costs, the dearest first."""
        sets = self._running_sets
        for kind, of_kind in enumerate(sets.kinds):
            value = sum([times.values[j] for j in of_kind]) / len(of_kind)
            slope, self._constants[kind] = times.lines[of_kind[0]]
            if value > 0.0:
                self._lines.append((kind, slope / value, value, self._releases[kind]))
                for level, duration in enumerate(sets.durations[kind]):
                    self._rates[kind, level] = value / duration
            else:
                half = min(sets.durations[kind], default=0.0) / 2.0
                self._lines.append((kind, slope, 0.0, half))
        self._lines.sort(key=lambda line: -line[1])

    @property
    def proven(self) -> float:
        """What the sum is proven to cost at least, once :meth:`run` has seen everything."""
        if self._criterion.is_integral or math.isinf(self.best):
            return self.best
        divisor = self._criterion.objective.divisor(self._problem.instance)
        return self.best - 0.5 * PROOF_TOLERANCE * abs(self._criterion.reported(self.best)) * divisor

    @property
    def _ceiling(self) -> float:
        if self._ceiling_below[0] != self.best:
            ceiling = self.best - 1 + SLOT_NOISE if self._criterion.is_integral else self.proven
            self._ceiling_below = self.best, ceiling + self._noise
        return self._ceiling_below[1]

    def _value(self, assignments: Sequence[Assignment]) -> float:
        return self._criterion.value(assignments)

    def _root(self) -> Node:
        now = self._arrivals[0]
        return Node(now, *self._lasting(now), self._running_sets.counts.everything, -math.inf, self._folded([]))

    def _choices(self, node: Node) -> Iterator[Choice]:
        now = node.now
        for start, later in self._alternatives(node):
            spent = self._folded([node.spent, *[self._cost(kind, level, now) for kind, level in start.keys]])
            if spent > self._ceiling:
                continue
            waiting = node.waiting - start.jobs
            if not waiting:
                yield Choice(max(node.bound, spent), later, start, spent)
            elif later < math.inf:
                rest = self._rest(node, start, waiting, later, spent)
                bound = max(node.bound, self._folded([spent, rest]))
                if bound <= self._ceiling:
                    yield Choice(bound, later, start, spent)

    def _folded(self, costs: Sequence[float]) -> float:
        """Return the sum of costs, or the greatest."""
        return sum(costs) if self._criterion.is_sum else max(costs, default=-math.inf)

    def _cost(self, kind: int, level: int, now: float) -> float:
        """Return what a job of a kind costs that starts now at a duration; the objective is asked once."""
        key = kind, level, now
        if key not in self._costs:
            sets = self._running_sets
            self._costs[key] = self._criterion.cost(sets.kinds[kind][0], now, now + sets.durations[kind][level])
        return self._costs[key]

    def _cost_alone(self, kind: int, now: float) -> float:
        """Return what a job of a kind costs at the least that starts now or later, when it has arrived."""
        if (kind, now) not in self._alone:
            start = max(now, self._releases[kind])
            levels = range(len(self._running_sets.durations[kind]))
            self._alone[kind, now] = min([self._cost(kind, level, start) for level in levels], default=math.inf)
        return self._alone[kind, now]

    def _rest(self, node: Node, start: ExtensionAlternative, waiting: int, later: float, spent: float) -> float:
        """Return what jobs that wait (packed) cost at the least from the next instant on."""
        of_waiting = self._waiting.get(waiting) or self._look_at(waiting)
        costs = [(n, self._cost_alone(kind, later)) for kind, n in enumerate(of_waiting.numbers) if n]
        if not self._criterion.is_sum:
            return max([cost for _, cost in costs])
        alone = sum([n * cost for n, cost in costs])
        if not self._rates or spent + alone > self._ceiling:
            return alone
        ends, rates = self._ends(node, start), self._rates
        held = [
            Held(end, rates[key])
            for end, key in zip(ends, start.running.keys, strict=True)
            if end > later and key in rates
        ]
        held.sort()
        total = of_waiting.constant + least_cost(of_waiting.works, later, held)
        for weight, release, half in of_waiting.others:
            total += weight * (max(later, release) + half)
        return max(alone, total)

    def _look_at(self, waiting: int) -> Waiting:
        """Return what is known of jobs that wait (packed), and remember it."""
        numbers = self._running_sets.counts.unpacked(waiting)
        works, others, constant = [], [], 0.0
        for kind, ratio, value, offset in self._lines:
            number = numbers[kind]
            if number:
                constant += number * self._constants[kind]
                if value:
                    works.append(Work(ratio, number * value, offset))
                else:
                    others.append((number * ratio, self._releases[kind], offset))
        self._waiting[waiting] = Waiting(numbers, works, constant, others)
        return self._waiting[waiting]


def may_search_sum(criterion: Criterion) -> bool:
    """Return whether a problem is of the size, and the kind, that the search is for.

    A job of no slot occupies nothing and starts at its arrival, but here when there is room for it.
    """
    problem = criterion.problem
    has_empty = any(levels[0].duration == 0 for levels in problem.levels)
    return not has_empty and may_search(problem, criterion.kinds)


def _run(incumbent: Incumbent) -> None:
    def search(on_schedule: OnSchedule) -> BranchAndBoundOfSums:
        times = incumbent.kept(BusyTimes)
        return BranchAndBoundOfSums(
            incumbent.criterion, times, best=incumbent.cost, target=incumbent.goal, on_schedule=on_schedule
        )

    search_below(incumbent, search, MAX_NODES, METHOD.name)


def _accepts(incumbent: Incumbent) -> bool:
    criterion = incumbent.criterion
    is_folded = criterion.is_sum or not criterion.objective.has_latest_ends
    return is_folded and may_search_sum(criterion)


METHOD = Method("branch and bound for sums", _run, also=_accepts, share=SHARE)
