"""Branch and bound of costs: by hand, equal to brute force as a law, and with a proof for few jobs."""

from __future__ import annotations

import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalloc.api.solving import solve
from coalloc.checker import check
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform, RunningJob, Shape
from coalloc.objectives import Criterion, RegularObjective
from coalloc.objectives.objective import Aggregate
from coalloc.objectives.piecewise import PiecewiseLinear
from coalloc.problem import Assignment, discretise
from coalloc.rules.serial_sgs import best_list_schedule
from coalloc.schedule import schedule_of
from coalloc.solvers.bounds.mean_busy_time import busy_times_of
from coalloc.solvers.bounds.set_prices import SetPrices
from coalloc.solvers.search import cost_tree as module
from coalloc.solvers.search.cost_tree import CostTree, may_search
from coalloc.testing.brute_force import brute_force_oas
from tests.small_instances import equal_instances, slotted_instances
from tests.strategies import LAW

SUMS: tuple[str, ...] = (
    "total-response-time",
    "total-weighted-response-time",
    "mean-wait",
    "mean-bounded-slowdown",
    "weighted-tardiness",
)


class LateSteps(RegularObjective):
    """A job costs 2 once it ends after 100 s for each task, 3 more after 150 s, and then a little for each second."""

    name = "late-steps"
    unit = "-"
    is_monotone = True

    def cost(self, job: Job, start: float, end: float) -> float:
        first, last = self.dates(job)
        return 2.0 * (end > first) + 3.0 * (end > last) + 0.01 * max(0.0, end - last)

    def dates(self, job: Job) -> tuple[float, float]:
        return 100.0 * job.tasks, 150.0 * job.tasks

    def pieces(self, job: Job, duration: float) -> PiecewiseLinear:
        first, last = self.dates(job)
        return PiecewiseLinear([(first, 0.0), (first, 2.0), (last, 2.0), (last, 5.0)], 0.01)


class Opaque(RegularObjective):
    """A cost of which no pieces are known, and that is less for a longer run."""

    name = "opaque"
    unit = "-"

    def cost(self, job: Job, start: float, end: float) -> float:
        return (end - job.arrival) ** 2 / (end - start)


class WorstSlowdown(RegularObjective):
    """A maximum that says no latest ends."""

    name = "worst-slowdown"
    unit = "-"
    aggregate: Aggregate = "max"

    def cost(self, job: Job, start: float, end: float) -> float:
        return (end - job.arrival) / (end - start)

    def pieces(self, job: Job, duration: float) -> PiecewiseLinear:
        return PiecewiseLinear([(job.arrival, 0.0)], 1.0 / duration)


COSTS: tuple[str | RegularObjective, ...] = (*SUMS, LateSteps(), Opaque(), WorstSlowdown())


class Found:
    """The best schedule that a tree finds, and whether it saw everything."""

    def __init__(
        self, criterion: Criterion, best: float = math.inf, *, is_priced: bool = True, max_nodes: int = 100_000
    ) -> None:
        self.schedules: list[list[Assignment]] = []
        first = best_list_schedule(criterion.problem)
        times = busy_times_of(criterion) if is_priced and criterion.is_sum else None
        for _ in times.improve([first], math.inf) if times is not None else ():
            pass
        prices = SetPrices.of(criterion) if is_priced else None
        for _ in prices.improve(math.inf) if prices is not None else ():
            pass
        self.best = min(best, criterion.value(first) + 1 + abs(criterion.value(first)))
        self.tree, ended = CostTree(criterion, times, self.best, prices=prices), ""
        while max_nodes > 0 and ended != "everything":
            ended, nodes = self.tree.run(max_nodes, math.inf)
            max_nodes -= max(1, nodes)
            if ended == "better" and criterion.value(self.tree.assignments()) < self.best:
                self.schedules.append(self.tree.assignments())
                self.best = criterion.value(self.schedules[-1])
                self.tree.lower(self.best)
        self.is_complete = ended == "everything"


def on_two_nodes(*jobs: Job, objective: str = "total-response-time", slot: float | None = None) -> Criterion:
    """Return the criterion of jobs on two equal nodes."""
    platform = Platform((Cluster("C1", (NodeGroup(2, 1.0),), 1.0),))
    return Criterion.of(discretise(Instance(platform, jobs), slot), objective)


def test_the_wide_job_goes_last() -> None:
    # J1 takes both nodes 4 s, J2 and J3 one each for 3 s: 4 + 7 + 7 with J1 first, 3 + 3 + 7 = 13 s with J1 last.
    found = Found(on_two_nodes(Job("J1", 2, 4.0), Job("J2", 1, 3.0), Job("J3", 1, 3.0)))
    assert found.is_complete
    assert found.best == 13.0
    assert 13.0 * (1 - 1e-6) <= found.tree.proven <= 13.0


def test_a_job_waits_for_one_that_arrives() -> None:
    # J1 of both nodes takes 10 s, J2 arrives at 1 s and takes 1 s: J1 first ends at 10, J2 at 11 s: responses 10 + 10.
    # J1 after J2 runs from 2 to 12 s: 12 + 1 = 13 s.
    found = Found(on_two_nodes(Job("J1", 2, 10.0), Job("J2", 1, 1.0, arrival=1.0), slot=1.0))
    assert found.is_complete
    assert found.best == 12 + 2


def test_only_better_schedules_are_looked_for() -> None:
    found = Found(on_two_nodes(Job("J1", 2, 4.0), Job("J2", 1, 3.0), Job("J3", 1, 3.0), slot=1.0), best=13)
    assert (found.is_complete, found.schedules, found.tree.proven) == (True, [], 13)


def test_it_ends_without_a_proof_at_its_nodes() -> None:
    assert not Found(on_two_nodes(Job("J1", 2, 4.0), Job("J2", 1, 3.0), Job("J3", 1, 3.0)), max_nodes=1).is_complete


def test_what_an_objective_raises_leaves_the_engine() -> None:
    class Breaking(Opaque):
        is_broken = False

        def cost(self, job: Job, start: float, end: float) -> float:
            if self.is_broken:
                raise ZeroDivisionError(job.id)
            return super().cost(job, start, end)

    objective = Breaking()
    problem = on_two_nodes(Job("J1", 2, 4.0), Job("J2", 1, 3.0)).problem
    tree = CostTree(Criterion(problem, objective), None, 1e9)
    objective.is_broken = True
    with pytest.raises(ZeroDivisionError):
        tree.run(1000, math.inf)


def test_values_that_are_learned_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    # Looked for at every few nodes, more of them than there are rows.
    criterion = on_two_nodes(*(Job(f"J{n}", 1 + n % 2, 5.0 + 3 * n % 7, arrival=float(n % 3)) for n in range(8)))
    expected = Found(criterion)
    monkeypatch.setattr(module, "FIRST_NODES", 5)
    monkeypatch.setattr(module, "NODES", 5)
    found = Found(criterion)
    assert (found.is_complete, found.best) == (True, expected.best)


def test_prices_over_time_leave_branches() -> None:
    # One after another, least first: 5 + 11 + 18 + ... Nothing is better, as prices say of each job that may start.
    jobs = [Job(f"J{n}", 2, 5.0 + n) for n in range(8)]
    criterion = on_two_nodes(*jobs, slot=1.0)
    least = sum((8 - n) * (5.0 + n) for n in range(8))
    prices = SetPrices.of(criterion)
    assert prices is not None
    list(prices.improve(math.inf))
    assert prices.bound > least - 1
    nodes = []
    for tables in (None, prices):
        tree = CostTree(criterion, None, least, prices=tables)
        ended, number = tree.run(100_000, math.inf)
        assert (ended, tree.proven) == ("everything", least)
        nodes.append(number)
    assert nodes[1] <= len(jobs) + 1
    assert nodes[0] > 10 * nodes[1], nodes


def test_jobs_of_no_slot_are_left_to_others() -> None:
    # Rounded down to 10 s, 9 s are no slot: such a job starts at its arrival, whatever runs.
    problem = on_two_nodes(Job("J1", 2, 9.0, arrival=5.0), Job("J2", 2, 20.0)).problem
    assert not may_search(Criterion.of(discretise(problem.instance, 10.0, "down"), "total-response-time"))
    assert may_search(Criterion.of(discretise(problem.instance, 10.0), "total-response-time"))


def test_what_runs_already_is_waited_for() -> None:
    # R holds a node until 5 s. J1 takes both, from 5 to 7 s, J2 the other one from 0 to 2 s: 7 + 2 s.
    criterion = on_two_nodes(Job("J1", 2, 2.0), Job("J2", 1, 2.0))
    running = (RunningJob(Job("R", 1, 30.0), ("C1/0",), 5.0),)
    held = Criterion.of(discretise(criterion.problem.instance.replace(running=running), None), "total-response-time")
    found = Found(held)
    assert (found.is_complete, found.best) == (True, 9.0)


def test_prices_are_those_of_no_single_way_of_a_moldable_job() -> None:
    # J2 takes 2 s on two fast nodes, and on one. By brute force the least sum of response times is 25 s.
    nodes = (Cluster(name, (NodeGroup(2, speed),), 1000.0) for name, speed in (("A", 1.0), ("B", 0.5)))
    shapes = [Shape(1, 2.0), Shape(3, 1.0)]
    jobs = (Job("J1", 1, 6.0, arrival=1.0), Job("J2", 2, 2.0, shapes=shapes), Job("J3", 2, 2.0, arrival=1.0))
    instance = Instance(Platform(tuple(nodes)), (*jobs, Job("J4", 2, 6.0)))
    criterion = Criterion.of(discretise(instance, 1.0), "total-response-time")
    found = Found(criterion)
    assert found.is_complete
    assert criterion.reported(found.best) == brute_force_oas(instance, 1.0, "total-response-time").objective == 25.0


@LAW
@given(slotted_instances() | equal_instances(), st.sampled_from(COSTS), st.booleans(), st.booleans())
def test_it_finds_the_optimum(
    drawn: tuple[Instance, float], objective: str | RegularObjective, is_slotted: bool, is_priced: bool
) -> None:
    instance, slot = drawn[0], drawn[1] if is_slotted else None
    optimum = brute_force_oas(instance, slot, objective).objective
    criterion = Criterion.of(discretise(instance, slot), objective)
    found = Found(criterion, is_priced=is_priced)
    assert found.is_complete
    assert criterion.reported(found.best) == pytest.approx(optimum, rel=1e-6, abs=1e-9)
    assert criterion.reported(found.tree.proven) <= optimum * (1 + 1e-9) + 1e-9
    assert check(instance, schedule_of(criterion.problem, found.schedules[-1])) == []


@pytest.mark.parametrize("objective", SUMS)
def test_a_sum_over_three_jobs_is_proven_without_extras(objective: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # On a cluster of two nodes and one of half the power: in continuous time no model that is solved has a proof.
    monkeypatch.setitem(sys.modules, "ortools", None)
    platform = Platform(
        (Cluster("A", (NodeGroup(2, 1.0),), 10.0), Cluster("B", (NodeGroup(2, 0.5),), 10.0)),
    )
    jobs = (Job("J1", 3, 7.3, 0.5, 3.0, due_date=9.0), Job("J2", 2, 5.1, due_date=6.0), Job("J3", 1, 3.7, due_date=4.0))
    result = solve(Instance(platform, jobs), objective=objective, slot=None, time_limit=20.0)
    assert result.status == "optimal"
