"""Proves again, in steps that the checker takes, that no schedule ends before the best known one.

Prices of the LPs come first, of every release. Where they do not suffice, the schedules are split into cases by the
durations of a job, as long as that raises the LP, and the checker's own search closes a case that is small enough. All
that is said here is only a proposal: prices are rounded down to whole numbers, and the checker finds out by itself what
they prove.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coalloc.certificates.lessons import LearningSearch, OutOfNodesError
from coalloc.problem import Problem
from coalloc.solvers.bounds.column_generation import Allowed, ColumnGeneration, all_levels
from coalloc.solvers.bounds.feasible_set import FeasibleSets, processor_pricing, set_pricing
from coalloc.solvers.bounds.level_branching import Root, children, split_of
from coalloc.solvers.bounds.remainder_prices import RemainderPrices, jobs_that_last
from coalloc.verify import Case, NotProvedError, Resources, Steps, Table, by_split, may_reverse
from coalloc.verify import Problem as CheckedProblem

SCALE = 2**40
"""What the most precious set is worth per unit of time, about."""
FIRST_NODES = 1_500
"""Nodes of the search of a case that may be split further."""
MOST_SPLITS = 6
"""Splits within splits, beyond which a case is only searched."""
LP_SHARE = 0.3
"""Share of the time left after which the LPs of the releases stop."""
MOST_SECONDS_OF_LISTS = 2.0
"""Seconds to list the sets that links allow."""

Rule = dict[str, Any]


class UnprovedError(Exception):
    """There is no proof, for the reason that is stated."""


class _OtherResourcesError(Exception):
    """Speeds alone allow an earlier end, so groups of nodes and links have to count."""


class Prover:
    """Finds the steps of one proof; ``tables`` are the prices that they refer to, as a certificate has them."""

    def __init__(self, checked: CheckedProblem, problem: Problem, deadline: float) -> None:
        self._checked, self._problem, self._deadline = checked, problem, deadline
        self._unit = 1.0 if problem.slot is not None else float(checked.clock.unit)
        self._jobs = jobs_that_last(problem)
        self._links = tuple(checked.instance.links[k].name for k in problem.contended_links)
        self._resources: dict[str, Resources] = {}
        self._processors = "speeds" if problem.scope == "platform" else "groups"
        self._kept: list[Table] = []
        self._kept_remainders: RemainderPrices | None = None

    # ------------------------------------------------------------------ what is proved

    def proof(self, limit: int) -> tuple[list[Rule], Rule]:
        """Return tables and steps that show that no schedule ends by a limit, units; raise where none is found."""
        case = Case.root(self._checked, limit)
        if case.contradiction:
            return [], self._by_job(case)
        try:
            step = self._by_roots(case) or self._by_cases(case, all_levels(self._jobs.jobs), None, 0)
        except _OtherResourcesError:
            self._kept = []
            step = self._by_cases(case, all_levels(self._jobs.jobs), None, 0)
        return [self._written(table) for table in self._kept], step

    def _by_job(self, case: Case) -> Rule:
        """Return the longest job where that is enough, else that the case is impossible."""
        for j, job in enumerate(case.problem.instance.jobs):
            if Case.root(case.problem, 2 * case.limit + 2).earliest[j] + case.problem.levels[j][0] > case.limit:
                return {"rule": "longest-job", "job": job.id}
        return {"rule": "infeasible"}

    def _by_roots(self, case: Case) -> Rule | None:
        """Return the prices of a release that are enough; None where none are."""
        sets = FeasibleSets(self._problem)
        target = (case.limit + 1) * self._unit
        sets.bound(time_limit=LP_SHARE * (self._deadline - time.perf_counter()), target=target)
        for root in sets.roots:
            if math.ceil(root.bound / self._unit) <= case.limit * (1 - 1e-5):
                break
            for processors in dict.fromkeys((self._processors, "groups")):
                prices = dict(zip(root.suffix.numbers, root.search.values.tolist(), strict=True))
                table = self._table({j: value for j, value in prices.items() if j >= 0}, processors, case)
                if self._is_enough(table, case):
                    return {"rule": "prices", "table": self._keep(table)}
        return None

    def _by_cases(self, case: Case, allowed: Allowed, parent: tuple[Root, ColumnGeneration] | None, depth: int) -> Rule:
        """Return how a case is closed: by prices, by the search, or by cases of the durations of a job."""
        if case.contradiction:
            return {"rule": "infeasible"}
        root, search = self._solved(allowed, parent)
        table = self._table(dict(zip(self._jobs.numbers, search.values.tolist(), strict=True)), self._processors, case)
        if self._is_enough(table, case):
            return {"rule": "prices", "table": self._keep(table)}
        split = split_of(root, allowed, search.level_shares()) if depth < MOST_SPLITS else None
        found = self._by_search(case, table, math.inf if split is None else FIRST_NODES)
        if found is not None or split is None:
            return found or self._by_search(case, table, math.inf) or {}
        return self._split(case, allowed, (root, search), split, depth)

    def _split(
        self, case: Case, allowed: Allowed, parent: tuple[Root, ColumnGeneration], split: tuple[int, int], depth: int
    ) -> Rule:
        """Return the cases in which a job has at most a level, and one above it."""
        place, level = split
        j = self._jobs.numbers[place]
        longest = self._jobs.jobs[place].durations[level] / self._unit
        at = sum(duration < longest + 0.5 for duration in self._checked.levels[j])
        parts = zip(by_split(case, "level", [j], at), children(allowed, place, level), strict=True)
        cases = [self._by_cases(part, ranges, parent, depth + 1) for part, ranges in parts]
        name = self._checked.instance.jobs[j].id
        return {"rule": "cases", "split": {"kind": "level", "jobs": [name], "at": at}, "cases": cases}

    def _by_search(self, case: Case, table: Table, max_nodes: float) -> Rule | None:
        """Return the search that closes a case with so many nodes; None where it takes more."""
        half = None
        if may_reverse(case):
            jobs = case.problem.instance.jobs
            half = max(range(len(jobs)), key=lambda j: (case.shortest(j) * jobs[j].shapes[0].tasks, -j))
        left = min(max_nodes, 10.0**9)
        search = LearningSearch(case, self._of(self._processors), [table], half, self._learner(case))
        search.max_nodes, search.deadline = int(left), self._deadline
        try:
            search.run("")
        except OutOfNodesError:
            if time.perf_counter() > self._deadline:
                raise UnprovedError("no proof was found within the time limit") from None
            return None
        except NotProvedError:
            if self._processors == "groups":
                raise UnprovedError("the constraints that the checker counts allow an earlier end") from None
            self._processors, self._kept_remainders = "groups", None
            raise _OtherResourcesError from None
        rule: Rule = {"rule": "search", **self._named(self._processors)}
        rule["tables"] = [self._keep(used) for used in search.tables]
        return rule if half is None else rule | {"first_half": case.problem.instance.jobs[half].id}

    # ------------------------------------------------------------------ prices

    def _solved(self, allowed: Allowed, parent: tuple[Root, ColumnGeneration] | None) -> tuple[Root, ColumnGeneration]:
        """Return the LP of all jobs within ranges of levels, solved; ``parent`` is one with wider ranges."""
        if parent is None:
            pricing, nothing = self._pricing(), np.zeros(len(self._jobs.capacities))
            values = np.array([job.durations[0] for job in self._jobs.jobs])
            search = ColumnGeneration(self._jobs, allowed, pricing, values=values, speed_prices=nothing)
            root = Root(self._jobs, pricing, nothing, search)
        else:
            root, before = parent
            search = root.search_within(allowed, before.values, before.sets)
        for _ in search.iterations(self._deadline):
            pass
        return root, search

    def _pricing(self) -> Any:
        if self._processors == "groups" and self._links:
            now = time.perf_counter()
            return set_pricing(self._problem, self._jobs, min(self._deadline, now + MOST_SECONDS_OF_LISTS))
        return processor_pricing(self._problem, self._jobs)

    def _learner(self, case: Case) -> Any:
        """Return what gives the search prices for what is left."""

        def learn(left: NDArray[np.float64], room: float) -> Table | None:
            prices = self._remainders.best(left, self._deadline)
            if prices is None or float(prices @ left) <= room * self._unit:
                return None
            return self._table(dict(enumerate(prices.tolist())), self._processors, case)

        return learn

    @property
    def _remainders(self) -> RemainderPrices:
        """The LP for what is left of the jobs."""
        if self._kept_remainders is None:
            self._kept_remainders = RemainderPrices(self._problem, self._jobs, self._pricing())
        return self._kept_remainders

    def _table(self, values: Mapping[int, float], processors: str, case: Case) -> Table:
        """Return what jobs are worth in all, in ticks of the problem, as prices per unit at the durations of a case."""
        prices = {}
        for j, value in values.items():
            durations = enumerate(self._checked.levels[j])
            worth = SCALE * value / self._unit
            prices[j] = [int(worth / duration) if n in case.levels[j] else 0 for n, duration in durations]
        common = max(1, math.gcd(*(price for of_job in prices.values() for price in of_job)))
        return Table(self._of(processors), {j: [price // common for price in of_job] for j, of_job in prices.items()})

    def _is_enough(self, table: Table, case: Case) -> bool:
        """Return whether the prices of a table close a case."""
        jobs = [j for j, of_job in table.prices.items() if any(of_job)]
        begin = min((case.earliest[j] for j in jobs), default=0)
        try:
            greatest = table.greatest(Steps(5_000_000))
        except NotProvedError:  # too many sets
            return False
        return begin - (-sum(table.work(case, j) for j in jobs) // greatest) > case.limit

    def _of(self, processors: str) -> Resources:
        if processors not in self._resources:
            self._resources[processors] = Resources(self._checked, **self._named(processors))
        return self._resources[processors]

    def _named(self, processors: str) -> dict[str, Any]:
        return {"processors": processors, "links": list(self._links) if processors == "groups" else []}

    def _keep(self, table: Table) -> int:
        """Return the number of a table in the certificate."""
        for number, kept in enumerate(self._kept):
            if kept is table:
                return number
        self._kept.append(table)
        return len(self._kept) - 1

    def _written(self, table: Table) -> Rule:
        jobs = self._checked.instance.jobs
        prices = {jobs[j].id: of_job for j, of_job in table.prices.items()}
        return {**self._named(table.resources.processors), "prices": prices}
