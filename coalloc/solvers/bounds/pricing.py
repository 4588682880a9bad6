"""Pricing for the feasible-set bound: which jobs, each at which level, are worth most at one instant.

A knapsack with one constraint per prefix of the speeds. While the states (free processors of each
speed) are few, a dynamic programme is exact (in the engine while they are not too many,
:mod:`coalloc.solvers.bounds.large_table`); beyond, a MIP with its dual bound, and a greedy
heuristic that finds sets quickly and proves nothing. Where all sets are listed, links between jobs
and all (:mod:`coalloc.solvers.bounds.link_sets`), a product does. Prices are per tick, one per job and level.
A knapsack as pricing: P. Gilmore, R. Gomory, "A linear programming approach to the cutting-stock problem", Operations
Research 9 (1961).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import highspy
import numpy as np
from numpy.typing import NDArray

from coalloc.rules.tuning import MANY_ENTRIES
from coalloc.solvers.backends.growing_lp import quiet_highs, run_quietly
from coalloc.solvers.backends.highs import checked
from coalloc.solvers.bounds.link_sets import SetList
from coalloc.solvers.bounds.release_suffixes import LevelledJob, Member

MAX_SETS = 16
"""Sets that one pricing returns."""
MIP_GAP = 1e-3
"""Relative gap at which a pricing MIP may stop; its dual bound is used, so the bound stays valid."""
MIP_MARGIN = 1e-6
"""Share by which a MIP's dual bound is raised, for the tolerances of the solver (:data:`LARGEST_PRICE`)."""
LARGEST_PRICE = 1_000.0
"""Largest price that a MIP sees, and so the least that its best set is worth.

HiGHS leaves nodes that are better by less than 1e-6, and reduced costs of 1e-7 for each job of a set: absolute
numbers, which are shares of 1e-9 and 1e-10 then, and within the margin for sets of up to 9,990 jobs.
"""
Floats = NDArray[np.float64]

GREEDY_SEED = 1
"""Seed of the greedy pricing."""
BLUR = 0.03
"""Share by which the greedy pricing misjudges what a job is worth, up or down."""
LESS = 0.9
"""Factor of the worth of a job in the next greedy set once a set has taken it."""

JobPrices = Sequence[Sequence[float]]
"""Price of a tick of each job at each of its levels."""


@dataclass(frozen=True, slots=True)
class Priced:
    """An upper bound on the value of every set (inf: none is known), and good sets, the best first."""

    value: float
    sets: tuple[tuple[Member, ...], ...]


class Pricing(Protocol):
    """Finds sets of great value, and bounds the greatest.

    Where ``is_nested`` a set that fits with a job at a fast level fits with it at a slower one, even if it is moldable.
    Where ``is_slow`` sets that are found quickly, and prove nothing, are worth trying first.
    """

    is_nested: bool
    is_slow: bool

    def price(self, prices: JobPrices, deadline: float) -> Priced:
        """Return sets, and a bound on all sets; without a bound where the deadline (perf_counter, s) passes."""


def _num_resources(jobs: Sequence[LevelledJob]) -> int:
    """Return how many resources jobs take of."""
    return max((len(job.takes[0]) for job in jobs if job.takes), default=0)


def useful_levels(prices: Sequence[float], job: LevelledJob) -> Iterator[tuple[int, float]]:
    """Yield the levels worth choosing: a slower one needs no more of any prefix, so it must not be worth as much.

    Of a moldable job those that are worth something.
    """
    if not job.is_rigid:
        yield from ((level, price) for level, price in enumerate(prices) if price > 0.0)
        return
    best = 0.0
    for level in range(len(prices) - 1, -1, -1):
        if prices[level] > best:
            best = prices[level]
            yield level, best


def may_look_up(capacities: Sequence[int], jobs: Sequence[LevelledJob]) -> bool:
    """Return whether a small table serves: the jobs take nothing but processors, and the states are few."""
    entries = math.prod(c + 1 for c in capacities) * sum(len(job.durations) for job in jobs)
    return entries <= MANY_ENTRIES and not any(job.takes for job in jobs)


class TablePricing:
    """Exact: a dynamic programme over the free processors of each speed.

    Tasks bound to a prefix take its slowest free processors first, for the faster ones serve more
    jobs; which sets fit does not depend on the order of the jobs then.
    """

    is_nested = False
    is_slow = False

    def __init__(self, capacities: Sequence[int], jobs: Sequence[LevelledJob]) -> None:
        self._jobs = jobs
        shape = tuple(capacity + 1 for capacity in capacities)
        self._free = np.indices(shape, dtype=np.int32).reshape(len(shape), -1)
        self._strides = np.array([math.prod(shape[i + 1 :]) for i in range(len(shape))])
        self.num_states = self._free.shape[1]
        self._after: dict[tuple[int, ...], NDArray[np.intp]] = {}

    def price(self, prices: JobPrices, deadline: float) -> Priced:
        """Return the greatest value of a set; the sets are the best that end with each of the jobs."""
        # A sum of n prices may lose n * 1e-16 of itself; what becomes of it is rounded with 1e-9, or proved to 1e-6.
        levels = [list(useful_levels(of_job, job)) for of_job, job in zip(prices, self._jobs, strict=True)]
        columns = [np.zeros(self.num_states + 1)]
        columns[0][-1] = -math.inf
        for j, choices in enumerate(levels):
            columns.append(self._with_job(j, choices, columns[-1]))
            if time.perf_counter() > deadline:
                return Priced(math.inf, ())
        ending = []
        for j, choices in enumerate(levels):
            for level, price in choices:
                value = price + columns[j][self.next_states(j, level)[-1]]
                ending.append((-value, j, level))
        tops = [(j, level) for value, j, level in sorted(ending)[:MAX_SETS] if value < math.inf]
        sets = tuple((top, *self._members(levels, columns, top)) for top in tops)
        return Priced(float(columns[-1][-2]), sets)

    def of_places(
        self, jobs: Sequence[int], levels: Sequence[Sequence[tuple[int, float]]]
    ) -> tuple[NDArray[np.intp], Floats]:
        """Return which state a job, at each of its levels with a price, leaves of each; and what jobs from it on bring.

        Shapes are ``(num_places, num_levels, num_states + 1)`` and ``(num_places + 1, num_states + 1)``; the last state
        stands for those that do not exist, the one before for everything free.
        """
        after = np.full((len(jobs), max(map(len, levels)), self.num_states + 1), self.num_states)
        most = np.zeros((len(jobs) + 1, self.num_states + 1))
        most[-1, -1] = -math.inf
        for place in range(len(jobs) - 1, -1, -1):
            most[place] = self._with_job(jobs[place], levels[place], most[place + 1])
            for k, (level, _) in enumerate(levels[place]):
                after[place, k, :-1] = self.next_states(jobs[place], level)
        return after, most

    def _with_job(self, j: int, choices: Iterable[tuple[int, float]], values: Floats) -> Floats:
        """Return the value of each state with one more job; the last entry stands for states that do not exist."""
        best = values.copy()
        for level, price in choices:
            candidate = values[self.next_states(j, level)]
            candidate += price
            np.maximum(best[:-1], candidate, out=best[:-1])
        return best

    def _members(
        self, levels: Sequence[Sequence[tuple[int, float]]], columns: Sequence[Floats], top: Member
    ) -> Iterator[Member]:
        """Yield the best company of a member among the jobs before it."""
        last, level = top
        state = int(self.next_states(last, level)[-1])
        for j in range(last - 1, -1, -1):
            if columns[j + 1][state] > columns[j][state]:
                worth = {i: price + columns[j][self.next_states(j, i)[state]] for i, price in levels[j]}
                chosen = max(worth, key=worth.__getitem__)
                yield j, chosen
                state = int(self.next_states(j, chosen)[state])

    def next_states(self, j: int, level: int) -> NDArray[np.intp]:
        """Return for each state the state once the job is placed, ``num_states`` where it does not fit."""
        needs = self._jobs[j].needs[level]
        if needs not in self._after:
            free, fits = self._free.copy(), np.ones(self.num_states, dtype=bool)
            for prefix, bound in enumerate(np.diff(needs, prepend=0)):
                rest = np.full(self.num_states, bound, dtype=np.int32)
                for speed in range(prefix, -1, -1):
                    taken = np.minimum(free[speed], rest)
                    free[speed] -= taken
                    rest -= taken
                fits &= rest == 0
            self._after[needs] = np.where(fits, self._strides @ free, self.num_states)
        return self._after[needs]


class ListedPricing:
    """Exact: the sets are known, and a matrix with one row per set adds up what their members are worth."""

    is_nested = True
    is_slow = False

    def __init__(self, sets: SetList, jobs: Sequence[LevelledJob]) -> None:
        from scipy.sparse import csr_matrix

        self._sets = sets
        first = np.cumsum([0, *(len(job.durations) for job in jobs)])
        owners = sets.members[:, 0]
        columns = first[owners] + sets.members[:, 1]
        num_members = np.diff(sets.ends, prepend=0)
        shape = (len(sets.ends), int(first[-1]))
        self._members = csr_matrix((np.ones(len(columns)), columns, np.append(0, sets.ends)), shape=shape)
        rows = np.repeat(np.arange(len(sets.ends)), num_members)
        self._with_job = [rows[owners == j] for j in range(len(jobs))]

    def price(self, prices: JobPrices, deadline: float) -> Priced:  # noqa: ARG002 - it takes no time
        """Return the greatest value of a set; the sets are the best with each of the jobs."""
        worth = self._members @ np.concatenate([np.asarray(of_job) for of_job in prices])
        best = {int(rows[worth[rows].argmax()]) for rows in self._with_job if len(rows)}
        in_order = sorted(best, key=lambda row: (-worth[row], row))
        return Priced(float(worth[in_order[0]]), tuple(self._sets.members_of(row) for row in in_order))


class MipPricing:
    """Choose a level for each job so that every prefix of the speeds holds its tasks, by HiGHS."""

    is_nested = False
    is_slow = True

    def __init__(self, capacities: Sequence[int], jobs: Sequence[LevelledJob]) -> None:
        self._members = [(j, level) for j, job in enumerate(jobs) for level in range(len(job.durations))]
        self._mip = quiet_highs(mip_rel_gap=MIP_GAP)
        lp = highspy.HighsLp()
        num_resources = _num_resources(jobs)
        lp.num_col_, lp.num_row_ = len(self._members), len(capacities) + len(jobs) + num_resources
        lp.sense_ = highspy.ObjSense.kMaximize
        lp.col_cost_ = np.zeros(len(self._members))
        lp.col_lower_, lp.col_upper_ = np.zeros(len(self._members)), np.ones(len(self._members))
        lp.integrality_ = [highspy.HighsVarType.kInteger] * len(self._members)
        lp.row_lower_ = np.full(lp.num_row_, -highspy.kHighsInf)
        lp.row_upper_ = np.concatenate([np.cumsum(capacities), np.ones(len(jobs) + num_resources)])
        starts, rows, coefficients = [0], [], []
        for j, level in self._members:
            used = [(s, float(need)) for s, need in enumerate(jobs[j].needs[level]) if need]
            taken = [(i, share) for i, share in enumerate(jobs[j].takes[level]) if share] if jobs[j].takes else []
            rows += [*(s for s, _ in used), len(capacities) + j, *(len(capacities) + len(jobs) + i for i, _ in taken)]
            coefficients += [*(need for _, need in used), 1.0, *(share for _, share in taken)]
            starts.append(len(rows))
        lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        lp.a_matrix_.start_, lp.a_matrix_.index_ = np.array(starts, dtype=np.int32), np.array(rows, dtype=np.int32)
        lp.a_matrix_.value_ = np.array(coefficients)
        checked(self._mip.passModel(lp), "passing the model")

    def price(self, prices: JobPrices, deadline: float) -> Priced:
        """Return the best set found, and the dual bound where the MIP has one in time."""
        left = deadline - time.perf_counter()
        if left <= 0.0:
            return Priced(math.inf, ())
        costs = np.array([prices[j][level] for j, level in self._members])
        largest = float(costs.max(initial=0.0))
        if largest <= 0.0:
            return Priced(math.inf, ())
        columns = np.arange(len(costs), dtype=np.int32)
        unit = largest / LARGEST_PRICE
        checked(self._mip.changeColsCost(len(costs), columns, costs / unit), "setting prices")
        if math.isfinite(left):
            checked(self._mip.setOptionValue("time_limit", self._mip.getRunTime() + left), "setting time_limit")
        if run_quietly(self._mip) == highspy.HighsStatus.kError:
            return Priced(math.inf, ())
        info = self._mip.getInfo()
        value = info.mip_dual_bound * unit * (1.0 + MIP_MARGIN) if info.mip_dual_bound > 0.0 else math.inf
        if info.primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
            return Priced(value, ())
        chosen = self._mip.getSolution().col_value
        members = tuple(member for member, share in zip(self._members, chosen, strict=True) if share > 0.5)
        return Priced(value, (members,) if members else ())


class GreedyPricing:
    """A heuristic: jobs by what they are worth per cost of the processors that they take; it bounds nothing.

    ``speed_prices`` are the costs of a processor of each prefix; where all are 0, as where the longest job alone
    decides, processors cost the same. The order is blurred a little, with a seed of its
    own, so that the sets differ from call to call and not from run to run.
    """

    def __init__(self, capacities: Sequence[int], jobs: Sequence[LevelledJob], speed_prices: Floats) -> None:
        nothing = (0.0,) * _num_resources(jobs)
        self._room = [*np.cumsum(capacities).tolist(), *(1.0 for _ in nothing)]
        self._last = len(capacities) - 1
        self._needs = [
            [(*needs, *(job.takes[level] if job.takes else nothing)) for level, needs in enumerate(job.needs)]
            for job in jobs
        ]
        self._jobs = jobs
        prices = speed_prices if speed_prices.any() else np.ones_like(speed_prices)
        costs = prices + 1e-3 * float(prices.mean())
        self._costs = [[float(costs @ needs) for needs in job.needs] for job in jobs]
        self._rng = np.random.default_rng(GREEDY_SEED)

    def sets(self, prices: JobPrices) -> Iterator[tuple[Member, ...]]:
        """Yield sets that complement each other: what one has taken is worth less to the next."""
        pairs = enumerate(zip(prices, self._jobs, strict=True))
        members = [(j, level) for j, (of_job, job) in pairs for level, _ in useful_levels(of_job, job)]
        keys = np.array([prices[j][level] / self._costs[j][level] for j, level in members])
        owners = np.array([j for j, _ in members])
        for _ in range(MAX_SETS if members else 0):
            order = np.argsort(-keys * self._rng.uniform(1.0 - BLUR, 1.0 + BLUR, len(keys)), kind="stable")
            chosen = tuple(self._fill(members[i] for i in order))
            yield chosen
            keys[np.isin(owners, [j for j, _ in chosen])] *= LESS

    def _fill(self, members: Iterable[Member]) -> Iterator[Member]:
        """Yield the members that fit, in order."""
        left, taken = list(self._room), set()
        for j, level in members:
            needs = self._needs[j][level]
            if j not in taken and all(need <= free for need, free in zip(needs, left, strict=True)):
                left = [free - need for need, free in zip(needs, left, strict=True)]
                taken.add(j)
                yield j, level
                if left[self._last] == 0:
                    return
