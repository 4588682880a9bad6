"""Proves again, in steps that the checker takes, that nothing is better than the best known schedule, or feasible.

Prices come first. For the latest end they are those of the LPs of the feasible sets, of every release; where costs or
deadlines count, those of intervals of time (:mod:`coalloc.certificates.interval_prices`). Where they do not suffice,
the schedules are split into cases by the durations of a job, as long as that raises the LP, and the checker's own
search closes a case that is small enough. All that is said here is only a proposal: prices are rounded down to whole
numbers, and the checker finds out by itself what they prove.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from coalloc.certificates.interval_prices import IntervalPrices, grid_of
from coalloc.certificates.lessons import Learn, LearningSearch, OutOfNodesError
from coalloc.problem import Problem
from coalloc.solvers.bounds.column_generation import Allowed, ColumnGeneration, all_levels
from coalloc.solvers.bounds.feasible_set import FeasibleSets, processor_pricing, set_pricing
from coalloc.solvers.bounds.level_branching import Root, children, split_of
from coalloc.solvers.bounds.remainder_prices import RemainderPrices, jobs_that_last
from coalloc.verify import Bound, Case, NotProvedError, Resources, Steps, Table
from coalloc.verify import Problem as CheckedProblem

SCALE = 2**40
"""Approximate worth of the most valuable set per unit of time."""
FIRST_NODES = 100
"""Nodes of the search of a case that may be split further."""
MOST_SPLITS = 6
"""Splits within splits, beyond which a case is only searched."""
ROUNDING = 1e-6
"""Share by which an LP has to exceed a limit so that its prices, rounded, still do."""
NEAR = 1e-3
"""Share of its value by which an LP that closes no case may miss its optimum."""
LP_SHARE = 0.3
"""Share of the time left after which the LPs of the releases stop."""
MOST_SECONDS_OF_LISTS = 2.0
"""Seconds to list the sets that links allow."""

Rule = dict[str, Any]


class UnprovedError(Exception):
    """There is no proof, for the reason that is stated."""


class _OtherResourcesError(Exception):
    """Speeds alone allow what is to be refuted, so groups of nodes and links have to count."""


class Proposal:
    """State that all proofs share: the problem, the tables that their steps refer to, resources, and the search."""

    def __init__(self, checked: CheckedProblem, links: Sequence[str], deadline: float) -> None:
        self.checked, self.deadline, self._links = checked, deadline, tuple(links)
        self.processors = "speeds" if checked.scope == "platform" else "groups"
        self.tables: list[Table] = []
        self._resources: dict[str, Resources] = {}

    def resources(self, processors: str | None = None) -> Resources:
        """Return the resources of a kind, or of the current one."""
        kind = processors or self.processors
        if kind not in self._resources:
            self._resources[kind] = Resources(self.checked, kind, self._links if kind == "groups" else ())
        return self._resources[kind]

    def prices(self, table: Table, case: Case) -> Rule | None:
        """Return the rule of prices where they close a case."""
        if not Bound(table, case, Steps()).is_exceeded(0, (1 << len(case.levels)) - 1, 0, ()):
            return None
        return {"rule": "prices", "table": self.keep(table)}

    def search(self, case: Case, tables: Sequence[Table], learn: Learn, max_nodes: float = math.inf) -> Rule | None:
        """Return the search that closes a case with so many nodes; None where it takes more."""
        if case.may_reverse:
            jobs = self.checked.jobs
            j = max(range(len(jobs)), key=lambda j: (case.shortest(j) * jobs[j].shapes[0].tasks, -j))
            (part,) = case.split("half", j, 0)
            found = {"rule": "infeasible"} if part.is_empty else self.search(part, tables, learn, max_nodes)
            return found and {"rule": "cases", "split": "half", "job": jobs[j].id, "cases": [found]}
        search = LearningSearch(case, self.resources(), tables, learn)
        search.max_nodes, search.deadline = int(min(max_nodes, 10.0**9)), self.deadline
        try:
            search.run("")
        except OutOfNodesError:
            if time.perf_counter() > self.deadline:
                raise UnprovedError("no proof was found within the time limit") from None
            return None
        except NotProvedError:
            if self.processors == "groups":
                raise UnprovedError("the constraints that the checker counts allow a better schedule") from None
            self.processors = "groups"
            raise _OtherResourcesError from None
        return {"rule": "search", **named(self.resources()), "tables": [self.keep(used) for used in search.tables]}

    def keep(self, table: Table) -> int:
        """Return the number of a table in the certificate."""
        for number, kept in enumerate(self.tables):
            if kept is table:
                return number
        self.tables.append(table)
        return len(self.tables) - 1

    def written(self) -> list[Rule]:
        """Return the tables as a certificate has them."""
        jobs = self.checked.jobs
        return [
            {
                **named(table.resources),
                "weight": table.weight,
                "pieces": [
                    {"from": begin, "to": end, "prices": {jobs[j].id: list(of_job) for j, of_job in prices.items()}}
                    for begin, end, prices in table.pieces
                ],
            }
            for table in self.tables
        ]


def named(resources: Resources) -> Rule:
    """Return the names of resources."""
    return {"processors": resources.processors, "links": list(resources.links)}


def proof_of_costs(proposal: Proposal, case: Case, times: Sequence[int]) -> Rule:
    """Return how a case with costs or deadlines is closed; ``times`` are those of a known schedule, if any."""
    if case.is_empty:
        return {"rule": "infeasible"}
    try:
        return _by_intervals(proposal, case, times)
    except _OtherResourcesError:
        proposal.tables = []
        return _by_intervals(proposal, case, times)


def _by_intervals(proposal: Proposal, case: Case, times: Sequence[int]) -> Rule:
    """Return prices of intervals of time where they are enough, else the search with them."""
    begin, everything = min(case.earliest), (1 << len(case.levels)) - 1
    try:
        prices = IntervalPrices(case, proposal.resources(), grid_of(case, times))
    except NotProvedError:  # too many sets
        return proposal.search(case, [], lambda *_: None) or {}

    def learn(now: int, waiting: int, running: Sequence[tuple[int, int, int]]) -> Table | None:
        return prices.table(now, waiting, running, proposal.deadline)

    table = learn(begin, everything, ())
    tables = [] if table is None else [table]
    rule = None if table is None else proposal.prices(table, case)
    return rule or proposal.search(case, tables, learn) or {}


class LatestEnds:
    """Finds the steps of a proof that no schedule ends by a limit."""

    def __init__(self, proposal: Proposal, problem: Problem) -> None:
        self._proposal, self._problem = proposal, problem
        self._unit = 1.0 if problem.slot is not None else float(proposal.checked.clock.unit)
        self._jobs = jobs_that_last(problem)
        self._kept_remainders: tuple[str, RemainderPrices] | None = None

    def proof(self, case: Case) -> Rule:
        """Return the step that closes the case of all schedules."""
        if case.is_empty:
            return {"rule": "infeasible"}
        try:
            step = self._by_roots(case)
            return step or self._by_cases(case, all_levels(self._jobs.jobs), None, 0)
        except _OtherResourcesError:
            self._proposal.tables = []
            return self._by_cases(case, all_levels(self._jobs.jobs), None, 0)

    def _by_roots(self, case: Case) -> Rule | None:
        """Return the prices of a release that are enough; None where none are."""
        sets, deadline = FeasibleSets(self._problem), self._proposal.deadline
        limit = max(case.ends)
        sets.bound(time_limit=LP_SHARE * (deadline - time.perf_counter()), target=(limit + 1) * self._unit)
        for root in sets.roots:
            if math.ceil(root.bound / self._unit) <= limit * (1 - 1e-5):
                break
            for processors in dict.fromkeys((self._proposal.processors, "groups")):
                prices = dict(zip(root.suffix.numbers, root.search.values.tolist(), strict=True))
                table = self._table({j: value for j, value in prices.items() if j >= 0}, case, processors)
                rule = None if table is None else self._proposal.prices(table, case)
                if rule is not None:
                    return rule
        return None

    def _by_cases(self, case: Case, allowed: Allowed, parent: tuple[Root, ColumnGeneration] | None, depth: int) -> Rule:
        """Return how a case is closed: by prices, by the search, or by cases of the durations of a job."""
        if case.is_empty:
            return {"rule": "infeasible"}
        root, search = self._solved(case, allowed, parent)
        table = self._table(dict(zip(self._jobs.numbers, search.values.tolist(), strict=True)), case)
        rule = None if table is None else self._proposal.prices(table, case)
        if rule is not None:
            return rule
        split = split_of(root, allowed, search.level_shares()) if depth < MOST_SPLITS else None
        tables, learn = [] if table is None else [table], self._learner(case)
        found = self._proposal.search(case, tables, learn, math.inf if split is None else FIRST_NODES)
        if found is not None or split is None:
            return found or self._proposal.search(case, tables, learn) or {}
        return self._split(case, allowed, (root, search), split, depth)

    def _split(
        self, case: Case, allowed: Allowed, parent: tuple[Root, ColumnGeneration], split: tuple[int, int], depth: int
    ) -> Rule:
        """Return the cases in which a job has at most a level, and one above it."""
        place, level = split
        j, checked = self._jobs.numbers[place], self._proposal.checked
        longest = self._jobs.jobs[place].durations[level] / self._unit
        at = sum(duration < longest + 0.5 for duration in checked.levels[j])
        parts = zip(case.split("level", j, at), children(allowed, place, level), strict=True)
        cases = [self._by_cases(part, ranges, parent, depth + 1) for part, ranges in parts]
        return {"rule": "cases", "split": "level", "job": checked.jobs[j].id, "at": at, "cases": cases}

    def _solved(
        self, case: Case, allowed: Allowed, parent: tuple[Root, ColumnGeneration] | None
    ) -> tuple[Root, ColumnGeneration]:
        """Return the LP of all jobs within ranges of levels, solved as far as the case needs it.

        ``parent`` is one with wider ranges.
        """
        if parent is None:
            pricing, nothing = self._pricing(), np.zeros(len(self._jobs.capacities))
            values = np.array([job.durations[0] for job in self._jobs.jobs])
            search = ColumnGeneration(self._jobs, allowed, pricing, values=values, speed_prices=nothing)
            root = Root(self._jobs, pricing, nothing, search)
        else:
            root, before = parent
            search = root.search_within(allowed, before.values, before.sets)
        limit = max(case.ends) * self._unit * (1 + ROUNDING) - root.suffix.release
        for lower, upper in search.iterations(self._proposal.deadline):
            if lower > limit or (upper < limit and upper - lower < NEAR * upper):
                break
        return root, search

    def _pricing(self) -> Any:
        if self._proposal.processors == "groups" and self._problem.contended_links:
            now = time.perf_counter()
            return set_pricing(self._problem, self._jobs, min(self._proposal.deadline, now + MOST_SECONDS_OF_LISTS))
        return processor_pricing(self._problem, self._jobs)

    def _learner(self, case: Case) -> Learn:
        """Return what gives the search prices for what is left."""

        def learn(now: int, waiting: int, running: Sequence[tuple[int, int, int]]) -> Table | None:
            left = np.array([float(waiting >> j & 1) for j in range(len(case.levels))])
            for end, j, n in running:
                left[j] = (end - now) / case.problem.levels[j][n]
            prices = self._remainders.best(left, self._proposal.deadline)
            if prices is None or float(prices @ left) <= (max(case.ends) - now) * self._unit:
                return None
            return self._table(dict(enumerate(prices.tolist())), case)

        return learn

    @property
    def _remainders(self) -> RemainderPrices:
        """The LP for what is left of the jobs."""
        processors = self._proposal.processors
        if self._kept_remainders is None or self._kept_remainders[0] != processors:
            self._kept_remainders = processors, RemainderPrices(self._problem, self._jobs, self._pricing())
        return self._kept_remainders[1]

    def _table(self, values: Mapping[int, float], case: Case, processors: str | None = None) -> Table | None:
        """Return what jobs are worth in all, in ticks of the problem, as prices per unit at the durations of a case."""
        prices = {}
        for j, value in values.items():
            durations = enumerate(case.problem.levels[j])
            worth = SCALE * value / self._unit
            of_job = [int(worth / duration) if n in case.levels[j] else 0 for n, duration in durations]
            if any(of_job):
                prices[j] = of_job
        if not prices:
            return None
        common = math.gcd(*(price for of_job in prices.values() for price in of_job))
        prices = {j: [price // common for price in of_job] for j, of_job in prices.items()}
        begin, end = min(case.earliest[j] for j in prices), max(case.ends[j] for j in prices)
        try:
            return Table(self._proposal.resources(processors), 0, [(begin, end, prices)], Steps(5_000_000))
        except NotProvedError:  # too many sets
            return None
