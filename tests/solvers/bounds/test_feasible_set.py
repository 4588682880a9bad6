"""The area and feasible-set bounds: by hand, against brute force, and one way of pricing against another."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from coalloc.instance import Cluster, CoallocError, Instance, Job, NodeGroup, Platform, RunningJob
from coalloc.instance.constraints import NotTogether
from coalloc.problem import Problem, Rounding, discretise
from coalloc.rules.serial_sgs import best_list_schedule
from coalloc.solvers.backends.growing_lp import GrowingLp
from coalloc.solvers.bounds import feasible_set
from coalloc.solvers.bounds.area import AreaWork, area
from coalloc.solvers.bounds.feasible_set import FeasibleSets, feasible_set_bound
from coalloc.solvers.bounds.pricing import GreedyPricing, MipPricing, TablePricing
from coalloc.solvers.bounds.release_suffixes import LevelledJob, levelled_jobs, release_suffix_of
from coalloc.solvers.bounds.simple import simple_bound
from coalloc.testing.brute_force import brute_force_oas
from coalloc.testing.small import small_instance
from tests.small_instances import TINY, slotted_instances
from tests.strategies import LAW


def problem_of(
    groups: tuple[NodeGroup, ...],
    jobs: tuple[Job, ...],
    *running: RunningJob,
    slot: float | None = None,
) -> Problem:
    """Return a problem on one cluster."""
    return discretise(Instance(Platform((Cluster("C1", groups, 1.0),)), jobs, running), slot)


FIVE = (NodeGroup(5, 1.0),)


def test_sets_see_what_neither_area_nor_packing_sees() -> None:
    # On 5 nodes a job of 3 has one of 2 beside it, or nothing: two of 3 and three of 2, 10 s each, take {3,2}, {3,2}
    # and {2}: 30 s, half a set more than fractional {2,2}: 2 sets of {3,2} and one {2} left = 30. Area: 12 / 5 * 10.
    problem = problem_of(FIVE, (*(Job(f"A{i}", 3, 10.0) for i in range(2)), *(Job(f"B{i}", 2, 10.0) for i in range(3))))
    assert area(problem) == pytest.approx(24.0)
    # {3,2} twice, then {2} alone; or {2,2} for 5 s, 5 s, 5 s of pairs (15 s) and {3} alone (20 s); mixed: y of {2,2}
    # spares nothing, for {3} runs 20 s with at most 20 of the 30 s of the twos: 20 + 10 / 2 = 25 s.
    assert feasible_set_bound(problem) == pytest.approx(25.0)


def test_jobs_that_never_run_together_are_in_no_set() -> None:
    # Five jobs of 10 s in a ring, of which no neighbours run together: three sets of at most two, half of each of the
    # five pairs of others: 25 s. Two neighbours take 20 s one after the other, and five nodes hold all at once: 10 s.
    jobs = tuple(Job(f"J{j}", 1, 10.0) for j in range(5))
    apart = [NotTogether((f"J{j}", f"J{(j + 1) % 5}")) for j in range(5)]
    problem = discretise(Instance(Platform((Cluster("C1", FIVE, 1.0),)), jobs), None, constraints=apart)
    assert simple_bound(problem) == pytest.approx(20.0)
    assert feasible_set_bound(problem) == pytest.approx(25.0)


def test_in_slots_the_bound_is_whole() -> None:
    jobs = (*(Job(f"A{i}", 3, 10.0) for i in range(2)), *(Job(f"B{i}", 2, 10.0) for i in range(3)))
    # 2.5 slots of 10 s: 3.
    assert feasible_set_bound(problem_of(FIVE, jobs, slot=10.0)) == 3.0


def test_a_slow_node_is_taken_where_that_pays() -> None:
    # Three jobs of 1 task and 10 s, one node of power 1, one of 0.5 (20 s there). Speeds add up to 1.5: 30 / 1.5 = 20.
    problem = problem_of((NodeGroup(1, 1.0), NodeGroup(1, 0.5)), tuple(Job(f"J{i}", 1, 10.0) for i in range(3)))
    assert simple_bound(problem) == pytest.approx(15.0)
    assert area(problem) == pytest.approx(20.0)
    assert feasible_set_bound(problem) == pytest.approx(20.0)


def test_the_longest_job_may_not_go_where_the_area_would_send_it() -> None:
    # J1 needs 30 s on the fast node, 60 on a slow one, J2 of 20 s runs 40 s there. Area alone: 40 s of work on the
    # fast node, or speed 1.5 in all: 50 / 1.5 = 33.3. The rows of single jobs change nothing: J1 fast 30, J2 mixed.
    problem = problem_of((NodeGroup(1, 1.0), NodeGroup(1, 0.5)), (Job("J1", 1, 30.0), Job("J2", 1, 20.0)))
    assert area(problem) == pytest.approx(100.0 / 3.0, rel=1e-4)


def test_what_arrives_late_is_done_late() -> None:
    # At 100 two jobs of 3 of 5 nodes come: 100 + 20.
    jobs = (Job("J1", 5, 10.0), *(Job(f"A{i}", 3, 10.0, arrival=100.0) for i in range(2)))
    assert feasible_set_bound(problem_of(FIVE, jobs)) == pytest.approx(120.0)
    assert area(problem_of(FIVE, jobs)) == pytest.approx(112.0)


def test_a_running_job_that_outlasts_all_others_is_no_work_to_wait_for() -> None:
    # R holds 3 of 5 nodes for 1000 s; two jobs of 2 take turns on the others: 20 s.
    held = RunningJob(Job("R", 3, 2000.0), ("C1/0", "C1/1", "C1/2"), 1000.0)
    jobs = tuple(Job(f"B{i}", 2, 10.0) for i in range(2))
    problem = problem_of(FIVE, jobs, held)
    for bound in (area(problem), feasible_set_bound(problem)):
        assert 10.0 <= bound <= 20.0


def test_levels_that_no_link_carries_do_not_count() -> None:
    # Two fast nodes behind links that carry nothing, two slow ones in one cluster: J1 must take the slow ones, 20 s.
    clusters = tuple(
        Cluster(name, (NodeGroup(n, power),), 0.0) for name, n, power in (("A", 1, 1.0), ("B", 1, 1.0), ("C", 2, 0.5))
    )
    job = Job("J1", 2, 10.0, processing_share=1.0, task_bandwidth=10.0)
    problem = discretise(Instance(Platform(clusters), (job,)), None)
    assert simple_bound(problem) == 10.0
    assert feasible_set_bound(problem) == pytest.approx(20.0)


def test_large_platforms_are_no_reason_to_give_up() -> None:
    # 200 jobs on 4 clusters of 60 have more allocation vectors than are enumerated.
    platform = Platform(tuple(Cluster(f"C{i}", (NodeGroup(60, 1.0 - 0.1 * i),), 100.0) for i in range(4)))
    jobs = tuple(Job(f"J{i}", 1 + 7 * i % 64, 10.0 + i, processing_share=0.5, task_bandwidth=8.0) for i in range(200))
    problem = discretise(Instance(platform, jobs), None)
    with pytest.raises(CoallocError):
        _ = problem.modes
    assert feasible_set_bound(problem, time_limit=1.0) >= area(problem) > simple_bound(problem)


@LAW
@given(slotted_instances(TINY), st.sampled_from(["up", "down"]))
def test_no_bound_is_above_the_slotted_optimum(drawn: tuple[Instance, float], rounding: Rounding) -> None:
    instance, slot = drawn
    last_end = round((brute_force_oas(instance, slot, rounding=rounding).objective + instance.origin) / slot)
    problem = discretise(instance, slot, rounding)
    assert simple_bound(problem) <= feasible_set_bound(problem) <= last_end
    assert area(problem) <= last_end


@LAW
@given(slotted_instances(TINY))
def test_no_bound_is_above_the_continuous_optimum(drawn: tuple[Instance, float]) -> None:
    instance, slot = drawn
    last_end = brute_force_oas(instance, None).objective + instance.origin
    problem = discretise(instance, None)
    assert feasible_set_bound(problem) <= last_end * (1 + 1e-9)
    assert area(problem) <= last_end * (1 + 1e-9)
    assert slot * feasible_set_bound(discretise(instance, slot, "down")) <= last_end * (1 + 1e-9)


@LAW
@given(slotted_instances(), st.sampled_from(["cluster", "node"]), st.booleans())
def test_no_bound_is_above_a_schedule_of_a_narrower_scope(drawn, scope, continuous) -> None:
    instance, slot = drawn
    classes = discretise(instance, None, scope=scope).classes
    rooms: dict[object, int] = {}
    for c in classes:
        rooms[c.cluster if scope == "cluster" else c.processors] = (
            rooms.get(c.cluster, 0) if scope == "cluster" else 0
        ) + c.capacity
    jobs = tuple(job.replace(tasks=min(job.tasks, max(rooms.values()))) for job in instance.jobs)
    problem = discretise(instance.replace(jobs=jobs), None if continuous else slot, scope=scope)
    schedule = best_list_schedule(problem)
    last_end = max(a.end for a in schedule)
    assert feasible_set_bound(problem) <= last_end * (1 + 1e-9)
    assert area(problem) <= last_end * (1 + 1e-9)


@LAW
@given(slotted_instances())
def test_bounds_rise_and_sets_of_schedules_do_not_change_them(drawn) -> None:
    instance, _ = drawn
    problem = discretise(instance, None)
    heard: list[float] = []
    final = feasible_set_bound(problem, on_bound=heard.append)
    assert heard == sorted(heard)
    assert final == (heard[-1] if heard else simple_bound(problem))
    seeded = feasible_set_bound(problem, schedules=[best_list_schedule(problem)])
    assert seeded == pytest.approx(final, rel=1e-6)
    assert simple_bound(problem) <= feasible_set_bound(problem, time_limit=0.0) <= final * (1 + 1e-6)
    assert feasible_set_bound(problem, target=0.0) <= final * (1 + 1e-6)


def area_by_linprog(work: AreaWork, problem: Problem, jobs: list[LevelledJob], release: float) -> float:
    """Return the LP of the area bound, M - r, written down in full."""
    inside = [j for j, r in enumerate(problem.releases) if r >= release]
    columns = [(j, i) for j in inside for i in range(len(jobs[j].durations))]
    capacities = np.cumsum(release_suffix_of(problem, jobs, release, 0.0).capacities)
    ticks = [jobs[j].durations[i] for j, i in columns]
    rows = [
        [*(d * jobs[j].needs[i][s] for d, (j, i) in zip(ticks, columns, strict=True)), -capacities[s]]
        for s in range(len(capacities))
    ]
    rows += [[*(d * (j == one) for d, (j, _) in zip(ticks, columns, strict=True)), -1.0] for one in inside]
    once = [[*(float(j == one) for j, _ in columns), 0.0] for one in inside]
    cost = [*(0.0 for _ in columns), 1.0]
    return float(linprog(cost, A_ub=rows, b_ub=np.zeros(len(rows)), A_eq=once, b_eq=np.ones(len(once))).fun)


@LAW
@given(slotted_instances())
def test_the_area_bound_is_its_lp(drawn) -> None:
    instance, _ = drawn
    problem = discretise(instance.replace(running=()), None)
    jobs = levelled_jobs(problem, use_links=False)
    work = AreaWork(problem, jobs, simple_bound(problem))
    for suffix, release in enumerate(work.releases.tolist()):
        exact = area_by_linprog(work, problem, jobs, release)
        found = float(work.values(work.best_prices(suffix))[suffix]) - release
        assert found == pytest.approx(exact, rel=1e-4)
        assert found <= exact * (1 + 1e-9)


def test_a_mip_bounds_every_set_however_small_prices_are() -> None:
    # No two of these jobs fit on 3 processors, so the best set is the job worth 7 units. All differ by less than what
    # HiGHS leaves at an end, 1e-6: told of prices as they are it stops at the job worth 6.
    jobs = [LevelledJob((10.0,), ((tasks,),)) for tasks in (2, 2, 3)]
    prices = [[6e-7], [7e-7], [5e-7]]
    assert TablePricing((3,), jobs).price(prices, math.inf).value == 7e-7
    assert 7e-7 <= MipPricing((3,), jobs).price(prices, math.inf).value <= 7e-7 * (1 + 2e-3)


def test_a_mip_bounds_nothing_without_prices() -> None:
    priced = MipPricing((3,), [LevelledJob((10.0,), ((2,),))]).price([[0.0]], math.inf)
    assert priced.value == math.inf


@given(st.integers(0, 300), st.integers(0, 2**32 - 1))
@LAW
def test_table_and_mip_find_the_best_set(instance_seed: int, price_seed: int) -> None:
    instance, _ = small_instance(instance_seed)
    problem = discretise(instance, None)
    suffix = release_suffix_of(problem, levelled_jobs(problem, use_links=True), 0.0, 100.0)
    rng = np.random.default_rng(price_seed)
    prices = [np.sort(rng.uniform(0.0, 1.0, len(job.durations)))[::-1].tolist() for job in suffix.jobs]
    room = np.cumsum(suffix.capacities)

    def value(choice: tuple[int, ...]) -> float:
        """Return what levels are worth, -1 standing for a job left out; -inf where they do not fit (Hall)."""
        members = [(j, level) for j, level in enumerate(choice) if level >= 0]
        needs = sum((np.array(suffix.jobs[j].needs[level]) for j, level in members), np.zeros(len(room)))
        return sum(prices[j][level] for j, level in members) if (needs <= room).all() else -math.inf

    best = max(value(choice) for choice in product(*(range(-1, len(job.durations)) for job in suffix.jobs)))
    table = TablePricing(suffix.capacities, suffix.jobs).price(prices, math.inf)
    mip = MipPricing(suffix.capacities, suffix.jobs).price(prices, math.inf)
    assert table.value == pytest.approx(best)
    assert best * (1 - 1e-9) <= mip.value <= best * (1 + 2e-3)
    greedy = [
        members
        for speed_prices in (np.ones(len(room)), np.zeros(len(room)))  # zeros: the longest job alone decides
        for members in GreedyPricing(suffix.capacities, suffix.jobs, speed_prices).sets(prices)
    ]
    for sets, values in ((table.sets, [best]), (mip.sets, [best]), (greedy, [])):
        dual_prices = []
        for members in sets:
            assert len({j for j, _ in members}) == len(members)
            levels = dict(members)
            dual_prices.append(value(tuple(levels.get(j, -1) for j in range(len(suffix.jobs)))))
        assert all(math.isfinite(worth) for worth in dual_prices)
        assert all(dual_prices[0] == pytest.approx(v, rel=2e-3) for v in values)


def test_out_of_time_in_the_middle_of_an_lp_the_bound_before_it_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    # A node, and one at half speed; four jobs of one task and 30 s end at 90 s (three fast, one slow). No LP is solved
    # in time, so the masters have no value: in continuous time as in slots, where bounds are rounded.
    monkeypatch.setattr(GrowingLp, "solve", lambda *_: None)
    monkeypatch.setattr(feasible_set, "MAX_AT_ONCE", 0)
    platform = Platform((Cluster("C1", (NodeGroup(1, 1.0), NodeGroup(1, 0.5)), 1.0),))
    instance = Instance(platform, tuple(Job(f"J{i}", 1, 30.0) for i in range(4)))
    for slot in (None, 10.0):
        problem = discretise(instance, slot)
        sets = FeasibleSets(problem)
        assert problem.clock.seconds(simple_bound(problem)) <= problem.clock.seconds(sets.bound()) <= 90.0
        assert problem.clock.seconds(sets.branch(max_nodes=10)) <= 90.0
