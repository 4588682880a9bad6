"""Branch and bound over extension alternatives: by hand, equal to brute force as a law, and within its limits."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalloc.checker import check
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform, RunningJob
from coalloc.problem import Assignment, Problem, Rounding, discretise, slot_seconds
from coalloc.rules.serial_sgs import best_list_schedule
from coalloc.schedule import schedule_of
from coalloc.solvers.bounds.feasible_set import BusyPrice, FeasibleSets
from coalloc.solvers.bounds.release_prices import release_prices
from coalloc.solvers.search.branch_and_bound import BranchAndBound
from coalloc.solvers.search.extension_search import MAX_WAITING, may_search
from coalloc.testing.brute_force import brute_force_oas
from coalloc.workloads.generators import generate
from tests.small_instances import TINY, equal_instances, slotted_instances
from tests.strategies import LAW


def fast_and_slow(*jobs: Job, slot: float | None = None) -> Problem:
    """Return jobs on a fast node and one at half speed."""
    platform = Platform((Cluster("C1", (NodeGroup(1, 1.0), NodeGroup(1, 0.5)), 1.0),))
    return discretise(Instance(platform, jobs), slot)


class Found:
    """What a search finds from ``best`` (ticks) on, and whether it saw everything."""

    def __init__(
        self,
        problem: Problem,
        best: float,
        dual_prices: list[float] | None = None,
        target: float = -math.inf,
        busy_prices: list[BusyPrice] | None = None,
        release_prices: list[list[float]] | None = None,
        **limits: float,
    ) -> None:
        self.schedules: list[list[Assignment]] = []
        self.search = BranchAndBound(
            problem,
            dual_prices or [0.0] * len(problem.jobs),
            busy_prices=busy_prices or [],
            release_prices=release_prices or [],
            best=best,
            target=target,
            on_schedule=lambda found: self.schedules.append(found) is None,
        )
        self.is_complete = self.search.run(**{"max_nodes": 10_000, **limits})  # type: ignore[arg-type]

    @property
    def end(self) -> float:
        """The latest end found, ticks."""
        return max(a.end for a in self.schedules[-1])


def test_the_slow_node_takes_the_short_job() -> None:
    # Both fast 30 + 20 = 50 s; the short one slow: max(30, 40) = 40 s.
    found = Found(fast_and_slow(Job("J1", 1, 30.0), Job("J2", 1, 20.0)), best=100.0)
    assert found.is_complete
    assert found.end == 40.0
    assert found.search.proven == pytest.approx(40.0)
    assert found.search.proven < 40.0


def test_a_job_waits_for_one_that_has_not_arrived() -> None:
    # J1 of 2 tasks takes both nodes 20 s (half speed), J2 arrives at 1 s: first J2 fast 1..2 s, then J1: 22 s at best
    # with J1 second; J1 first ends at 20, J2 at 21 s.
    found = Found(fast_and_slow(Job("J1", 2, 10.0), Job("J2", 1, 1.0, arrival=1.0)), best=100.0)
    assert found.is_complete
    assert found.end == 21.0
    # A long J2 has to start at once: 1 + 30 s, J1 afterwards 51 s; J1 first: 20 + 30 = 50 s.
    found = Found(fast_and_slow(Job("J1", 2, 10.0), Job("J2", 1, 30.0, arrival=1.0)), best=100.0)
    assert found.end == 50.0


def test_nodes_are_chosen_with_what_comes_later_in_view() -> None:
    # Clusters of 2 behind links of 10 MB/s. J1 (1 task) takes 20 s, J2 (2 tasks) and J3 (3 tasks) take 10 s each, one
    # after the other beside J1. J3 crosses with 10 MB/s, and J2, which would put 20 MB/s on both links, must not cross:
    # it takes the cluster without J1. All is done after 20 s, as early as J1.
    platform = Platform(tuple(Cluster(name, (NodeGroup(2, 1.0),), 10.0) for name in ("A", "B")))
    jobs = (Job("J1", 1, 20.0), Job("J2", 2, 10.0, 0.5, 20.0), Job("J3", 3, 10.0, 0.5, 10.0))
    problem = discretise(Instance(platform, jobs), None)
    found = Found(problem, best=100.0)
    assert found.end == 20.0
    assert check(problem.instance, schedule_of(problem, found.schedules[-1])) == []


def test_a_job_of_no_slot_occupies_nothing() -> None:
    # Rounded down to 10 s, 9 s are no slot: both jobs of 2 tasks are done with the 10 s of the third.
    platform = Platform((Cluster("C1", (NodeGroup(2, 1.0),), 1.0),))
    jobs = (Job("J1", 2, 9.0), Job("J2", 2, 9.0), Job("J3", 2, 10.0))
    found = Found(discretise(Instance(platform, jobs), 10.0, "down"), best=9)
    assert (found.is_complete, found.end) == (True, 1)


def test_where_a_job_alone_takes_as_long_there_is_nothing_better() -> None:
    # 30 s on the fast node.
    found = Found(fast_and_slow(Job("J1", 1, 30.0), Job("J2", 1, 20.0), slot=1.0), best=30)
    assert found.is_complete
    assert found.schedules == []


def test_only_better_schedules_are_looked_for() -> None:
    found = Found(fast_and_slow(Job("J1", 1, 30.0), Job("J2", 1, 20.0), slot=1.0), best=40)
    assert found.is_complete
    assert found.schedules == []
    assert found.search.proven == 40


@pytest.mark.parametrize("slot", [None, 5.0])
def test_nothing_is_looked_for_after_every_job_has_to_have_ended(slot: float | None) -> None:
    # On one node each job is worth its duration, 60 s together: the root alone shows that 55 s are too few.
    platform = Platform((Cluster("C1", (NodeGroup(1, 1.0),), 1.0),))
    jobs = [Job(f"J{k}", 1, 10.0 * k, deadline=55.0) for k in (1, 2, 3)]
    problem = discretise(Instance(platform, jobs), slot)
    prices = [levels[0].duration for levels in problem.levels]
    found = Found(problem, best=math.inf, dual_prices=prices, max_nodes=1)
    assert found.is_complete
    assert found.schedules == []


@pytest.mark.parametrize("slot", [None, 5.0])
def test_a_schedule_that_ends_when_every_job_has_to_is_found(slot: float | None) -> None:
    platform = Platform((Cluster("C1", (NodeGroup(1, 1.0),), 1.0),))
    jobs = [Job(f"J{k}", 1, 10.0 * k, deadline=60.0) for k in (1, 2, 3)]
    problem = discretise(Instance(platform, jobs), slot)
    found = Found(problem, best=math.inf, dual_prices=[levels[0].duration for levels in problem.levels])
    assert problem.clock.seconds(found.end) == pytest.approx(60.0)


@pytest.mark.parametrize("limits", [{"max_nodes": 0}, {"target": 50.0}])
def test_it_ends_at_its_limits_without_a_proof(limits: dict[str, float]) -> None:
    assert not Found(fast_and_slow(Job("J1", 1, 30.0), Job("J2", 1, 20.0)), best=100.0, **limits).is_complete


def test_it_ends_at_its_deadline() -> None:
    jobs = [Job(f"J{i}", 1, 10.0 + i) for i in range(10)]
    assert not Found(fast_and_slow(*jobs), best=1000.0, deadline=-math.inf).is_complete


def test_a_schedule_that_is_refused_ends_it_without_a_proof() -> None:
    problem = fast_and_slow(Job("J1", 1, 30.0), Job("J2", 1, 20.0))
    search = BranchAndBound(problem, [0.0, 0.0], best=100.0, target=0.0, on_schedule=lambda _: False)
    assert not search.run(1000)
    assert search.best == 100.0


def test_equal_jobs_start_in_their_order() -> None:
    # One processor; the two jobs of 20 s are one kind, and so are those of 10 s: 60 s in all.
    platform = Platform((Cluster("C1", (NodeGroup(1, 1.0),), 1.0),))
    jobs = (Job("J1", 1, 20.0), Job("J2", 1, 10.0), Job("J3", 1, 20.0), Job("J4", 1, 10.0))
    found = Found(discretise(Instance(platform, jobs), None), best=100.0)
    start = {jobs[a.job].id: a.start for a in found.schedules[-1]}
    assert found.end == 60.0
    assert start["J1"] < start["J3"]
    assert start["J2"] < start["J4"]


def test_equal_jobs_are_not_searched_in_every_order() -> None:
    # Twelve jobs of 7 s and twelve of 10 s on three processors, one after the other: 12 * 17 / 3 = 68 s of work each.
    # 68 = 4 * 7 + 4 * 10, so that is the optimum; to look for 67 s, with prices 0, all is to be seen. In any order
    # there would be 24!/(8!)^3 ways; of two kinds the nodes are so few that the search ends.
    platform = Platform((Cluster("C1", (NodeGroup(3, 1.0),), 1.0),))
    jobs = [Job(f"J{i}", 1, 7.0 if i % 2 else 10.0) for i in range(24)]
    problem = discretise(Instance(platform, tuple(jobs)), 1.0)
    found = Found(problem, best=70)
    assert (found.is_complete, found.end) == (True, 68)


def test_what_runs_already_keeps_its_nodes_until_it_ends() -> None:
    # R holds the fast node until 30 s. J1 takes 20 s there, from 30 s on, or 40 s on the slow one: 40 s.
    problem = fast_and_slow(Job("J1", 1, 20.0))
    running = (RunningJob(Job("R", 1, 30.0), ("C1/0",), 30.0),)
    found = Found(discretise(problem.instance.replace(running=running), None), best=100.0)
    assert (found.is_complete, found.end) == (True, 40.0)
    # With J2 as well, one of them waits for R: 30 + 20 = 50 s, the other on the slow node.
    running = (RunningJob(Job("R", 1, 30.0), ("C1/0",), 30.0),)
    instance = fast_and_slow(Job("J1", 1, 20.0), Job("J2", 1, 20.0)).instance.replace(running=running)
    found = Found(discretise(instance, None), best=100.0)
    assert (found.is_complete, found.end) == (True, 50.0)


def test_what_runs_already_may_overload_a_link() -> None:
    # R0 and R1 put 10 MB/s each on links of 15 MB/s until 5 and 8 s. J asks for a node in each cluster and 6 MB/s: at
    # 5 s one node is free in each, but only 5 MB/s, so it starts at 8 s.
    platform = Platform(tuple(Cluster(name, (NodeGroup(2, 1.0),), 15.0) for name in ("A", "B")))
    running = tuple(
        RunningJob(Job(f"R{i}", 2, 10.0, 0.5, 10.0), (f"A/{i}", f"B/{i}"), end) for i, end in enumerate((5.0, 8.0))
    )
    problem = discretise(Instance(platform, (Job("J", 2, 10.0, 0.5, 6.0),), running), None)
    found = Found(problem, best=100.0)
    assert (found.is_complete, found.end) == (True, 18.0)


def test_jobs_of_no_slot_beside_running_ones_are_left_to_others() -> None:
    # R holds both nodes until 10 s. Rounded down J is no slot and occupies nothing: it need not wait, but would here.
    instance = fast_and_slow(Job("J", 1, 4.0)).instance
    running = (RunningJob(Job("R", 2, 30.0), ("C1/0", "C1/1"), 10.0),)
    problem = discretise(instance.replace(running=running), 5.0, "down")
    assert problem.levels[0][0].duration == 0
    assert not may_search(problem)
    assert may_search(discretise(problem.instance, 5.0))


def test_what_arrives_later_bounds_what_starts_before() -> None:
    # One processor. J2 takes all the time from 10 to 110 s, J3 10 s more: 120 s, unless J1, of 20 s, is in the way.
    # J1 from 0 to 20 s leaves J2 and J3 130 s; J1 last is 140 s. Worth their durations from 10 s on, J2, J3 and what
    # is left of J1 say so at once: neither start at 0 is one to look below for 129 s.
    platform = Platform((Cluster("C1", (NodeGroup(1, 1.0),), 1.0),))
    jobs = (Job("J1", 1, 20.0), Job("J2", 1, 100.0, arrival=10.0), Job("J3", 1, 10.0, arrival=10.0))
    problem = discretise(Instance(platform, jobs), 1.0)
    late = [0.0, 100.0, 10.0]
    assert not Found(problem, best=130, dual_prices=late, max_nodes=1).is_complete
    found = Found(problem, best=130, dual_prices=late, release_prices=[[20.0, 100.0, 10.0]], max_nodes=1)
    assert (found.is_complete, found.schedules) == (True, [])


def test_prices_of_releases_show_in_hundreds_of_nodes_what_takes_thousands() -> None:
    # Ten jobs that arrive one after the other: 219 slots are optimal, as CP-SAT proves.
    instance = generate("thesis-oas", seed=8, jobs=10, interarrival_mean=2e5)
    problem = discretise(instance, slot_seconds(instance, "5%"))
    known = {"best": 220, "dual_prices": prices_of(problem)["dual_prices"], "max_nodes": 1_500}
    assert not Found(problem, **known).is_complete
    found = Found(problem, **known, release_prices=release_prices(problem))
    assert (found.is_complete, found.end) == (True, 219)


def test_what_nothing_runs_at_any_more_leaves_out_nodes() -> None:
    # 35 slots are optimal, as CP-SAT proves; to see it takes 482 nodes where only those are left out
    # that run the same jobs as another, and 434 where nodes of which nothing runs any more leave out others as well.
    instance = generate("thesis-oas", seed=1005)
    problem = discretise(instance, slot_seconds(instance, "25%"))
    found = Found(problem, best=38, dual_prices=prices_of(problem)["dual_prices"], max_nodes=450)
    assert (found.is_complete, found.end) == (True, 35)


def test_it_is_for_few_jobs_or_few_kinds() -> None:
    jobs = [Job(f"J{i}", 1, 10.0 + i) for i in range(int(math.log2(MAX_WAITING)) + 1)]
    assert may_search(fast_and_slow(*jobs[:-1]))
    assert not may_search(fast_and_slow(*jobs))
    assert may_search(fast_and_slow(*(job.replace(base_time=10.0) for job in jobs)))


@LAW
@given(
    slotted_instances(TINY) | equal_instances(TINY) | equal_instances(), st.sampled_from(["up", "down"]), st.booleans()
)
def test_it_finds_the_slotted_optimum(drawn: tuple[Instance, float], rounding: Rounding, is_priced: bool) -> None:
    instance, slot = drawn
    if rounding == "down":  # beside running jobs those of no slot, which occupy nothing, are not searched
        instance = instance.replace(running=())
    optimum = round((brute_force_oas(instance, slot, rounding=rounding).objective + instance.origin) / slot)
    problem = discretise(instance, slot, rounding)
    found = Found(problem, optimum + 3, **(prices_of(problem) if is_priced else {}))
    assert found.is_complete
    assert found.end == optimum == found.search.proven


@LAW
@given(slotted_instances(TINY) | equal_instances(TINY), st.booleans())
def test_it_finds_the_continuous_optimum(drawn: tuple[Instance, float], is_priced: bool) -> None:
    instance = drawn[0]
    optimum = brute_force_oas(instance, None).objective + instance.origin
    problem = discretise(instance, None)
    found = Found(problem, 2.0 * optimum, **(prices_of(problem) if is_priced else {}))
    assert found.is_complete
    assert found.search.proven <= optimum * (1 + 1e-9)
    assert optimum <= found.end * (1 + 1e-9) <= found.search.proven * (1 + 1e-6)
    assert check(instance, schedule_of(problem, found.schedules[-1])) == []


@LAW
@given(slotted_instances() | equal_instances())
def test_prices_and_dominance_lose_nothing(drawn: tuple[Instance, float]) -> None:
    instance, slot = drawn
    problem = discretise(instance, slot)
    first = max(a.end for a in best_list_schedule(problem))
    ends = [Found(problem, first + 1, **prices).search.best for prices in ({}, prices_of(problem))]
    assert ends[0] == ends[1] <= first


def prices_of(problem: Problem) -> dict[str, Any]:
    """Return what the jobs, and those that run already, are worth by the feasible sets."""
    sets = FeasibleSets(problem)
    sets.bound()
    of_running = sum(price.rate * (price.until - price.since) for price in sets.busy_prices)
    assert min(problem.releases) + sum(sets.dual_prices) + of_running <= sets.best * (1 + 1e-9) + 1e-9
    return {
        "dual_prices": sets.dual_prices,
        "busy_prices": sets.busy_prices,
        "release_prices": release_prices(problem),
    }
