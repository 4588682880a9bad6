"""The public lower bounds: names, units, and never above what brute force finds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import coalloc
from coalloc import Cluster, CoallocError, Fixed, Instance, Job, Limit, NodeGroup, Platform, RunningJob
from coalloc.extend import Cumulative, TimeBounds
from coalloc.objectives import OBJECTIVES
from coalloc.results import RelaxedFeatureWarning
from coalloc.solvers.method import Bound
from coalloc.solvers.named_bounds import BOUNDS, methods_of
from coalloc.solvers.portfolio import METHODS
from coalloc.testing.brute_force import brute_force_oas
from tests.small_instances import TINY, slotted_instances
from tests.strategies import LAW

OF_SUMS = methods_of(OBJECTIVES["total-response-time"])
PAIRS = [(name, method) for name in ("makespan", "total-response-time") for method in methods_of(OBJECTIVES[name])]


def four_nodes(*jobs: Job, running: tuple[RunningJob, ...] = ()) -> Instance:
    return Instance(Platform((Cluster("C1", (NodeGroup(4, 1.0),), 1.0),)), jobs, running)


def three_on_seven() -> Instance:
    """Return 9 jobs of 3 tasks and 10 s on 7 nodes: 2 at a time."""
    platform = Platform((Cluster("C1", (NodeGroup(7, 1.0),), 1.0),))
    return Instance(platform, tuple(Job(f"J{i}", 3, 10.0) for i in range(9)))


@pytest.mark.parametrize(
    ("method", "seconds"),
    # Area, and work: 9 * 30 / 7 = 38.57. Packing: phi_2(3) = floor(9 / 7) / 2 = 1/2, 45. Sets: two at a time, 45.
    [
        ("longest-job", 10.0),
        ("work", 270.0 / 7.0),
        ("area", 270.0 / 7.0),
        ("packing", 45.0),
        ("feasible-set", 45.0),
        ("best", 45.0),
    ],
)
def test_each_method_gives_its_bound(method, seconds):
    assert coalloc.lower_bound(three_on_seven(), method=method) == pytest.approx(seconds)


def test_in_slots_the_bound_is_one_on_whole_slots():
    # 10 s are 2 slots of 6 s; two at a time, 9 jobs need 4.5 * 2 = 9 slots.
    assert coalloc.lower_bound(three_on_seven(), "makespan", "feasible-set", 6.0) == 54.0
    # In one slot of 10 s (100 % of the mean base time) each, 4.5 slots are 5.
    assert coalloc.lower_bound(three_on_seven(), slot="100%") == 50.0


def test_the_makespan_counts_from_the_first_arrival_or_from_now_where_jobs_run():
    late = Job("J1", 4, 10.0, arrival=100.0)
    for method in methods_of(OBJECTIVES["makespan"]):
        assert coalloc.lower_bound(four_nodes(late), method=method) == pytest.approx(10.0)
    held = RunningJob(Job("R", 1, 500.0), ("C1/0",), 105.0)
    assert coalloc.lower_bound(four_nodes(late, running=(held,))) == pytest.approx(115.0)


def test_response_times_alone_and_squashed():
    # Alone: 10 s each. One machine four times as fast does 10 s of 4 tasks in 10 s: ends at 10, 20, 30.
    instance = four_nodes(*(Job(f"J{i}", 4, 10.0) for i in range(3)))
    responses = {m: coalloc.lower_bound(instance, "total-response-time", m) for m in OF_SUMS}
    assert responses["longest-job"] == 30.0
    assert {m: seconds for m, seconds in responses.items() if m != "longest-job"} == {
        m: pytest.approx(60.0) for m in OF_SUMS if m != "longest-job"
    }


def test_a_bound_that_is_a_row_is_known_by_its_name(monkeypatch):
    monkeypatch.setitem(BOUNDS, "mine", Bound("mine", lambda problem, _: 7.0))
    assert coalloc.lower_bound(four_nodes(Job("J1", 4, 10.0)), method="mine") == 7.0
    with pytest.raises(CoallocError, match=r"must be one of longest-job, .*, got 'mine'"):
        coalloc.lower_bound(four_nodes(Job("J1", 4, 10.0)), "mean-wait", "mine")


def test_a_bound_of_the_portfolio_has_one_row_and_the_documentation_names_it():
    named = [part.bound.name for row in METHODS for part in (row, *row.parts) if part.bound is not None]
    assert named == ["mean-busy-time", "set-prices", "feasible-set", "prices", "job-prices"]
    assert set(named) < set(BOUNDS)
    assert [name for name in BOUNDS if f'"{name}"' not in str(coalloc.lower_bound.__doc__)] == []


def test_the_squashed_machine_interrupts_for_a_shorter_job():
    # From 0: 40 s of work; at 10 a job of 5 s arrives and ends at 15, the first at 45: 45 + (15 - 10) = 50.
    instance = four_nodes(Job("J1", 4, 40.0), Job("J2", 4, 5.0, arrival=10.0))
    assert coalloc.lower_bound(instance, "total-response-time", "area") == pytest.approx(50.0)


@pytest.mark.parametrize(("objective", "method"), PAIRS)
def test_no_jobs_take_no_time(objective, method):
    assert coalloc.lower_bound(four_nodes(), objective, method) == 0.0


def test_what_is_unknown_is_refused_with_what_is_known():
    instance = four_nodes(Job("J1", 1, 1.0))
    with pytest.raises(CoallocError, match=r"method .*longest-job, work, area, packing, feasible-set, best.*'lp'"):
        coalloc.lower_bound(instance, method="lp")
    with pytest.raises(CoallocError, match=r"objective .*makespan, total-response-time, .*energy, edp.*'joules'"):
        coalloc.lower_bound(instance, "joules")
    with pytest.raises(CoallocError, match=r"makespan_limit requires objective energy or edp"):
        coalloc.lower_bound(instance, makespan_limit=5.0)
    with pytest.raises(CoallocError, match=r"unknown keyword timelimit .*time_limit"):
        coalloc.lower_bound(instance, timelimit=3)


@LAW
@given(slotted_instances(TINY), st.sampled_from(PAIRS))
def test_no_bound_is_above_the_optimum(drawn, pair):
    (instance, slot), (objective, method) = drawn, pair
    for grid in (slot, None):
        optimum = brute_force_oas(instance, grid, objective=objective).objective
        assert coalloc.lower_bound(instance, objective, method, grid) <= optimum + 1e-6


@pytest.mark.parametrize("jobs", [5, 20, 60])
@pytest.mark.parametrize("clusters", [1, 4])
def test_no_bound_is_above_a_known_optimum(jobs, clusters):
    # The jobs fill 16 nodes for 900 s, which the area says.
    instance = coalloc.generate("perfect-packing", seed=jobs, jobs=jobs, nodes=16, clusters=clusters, makespan=900.0)
    for slot in (None, "5%"):
        bound = coalloc.lower_bound(instance, method="best", slot=slot, time_limit=2.0)
        if slot is None:
            assert bound == pytest.approx(900.0)
            assert bound <= 900.0


@pytest.mark.parametrize("objective", ["makespan", "total-response-time"])
def test_a_job_that_saturates_a_link_wherever_it_runs_has_no_bound(objective):
    # 3 tasks on two clusters of 2 nodes: 2 and 1, so that 2 * 10 * 1/2 = 10 MB/s cross links of 5.
    platform = Platform([Cluster(name, [NodeGroup(2, 1.0)], 5.0) for name in ("C1", "C2")])
    instance = Instance(platform, [Job("J1", 3, 20.0, task_bandwidth=10.0), Job("J2", 4, 10.0)])
    with pytest.raises(CoallocError, match="'J1' saturates a link on every allocation"):
        coalloc.lower_bound(instance, objective)


def half_a_node(*jobs: Job, start: float = 5.0) -> Instance:
    """Return one node of two cores, of which one is reserved from a start on, up to 100 s."""
    platform = Platform([Cluster("C1", [NodeGroup(1, 1.0, cores=2)], 1.0)])
    held = RunningJob(Job("R1", 1, 1.0), ["C1/0.1"], 100.0, start=start)
    return Instance(platform, jobs, [held], limits=[Limit("L", ["J1", "R1"], 1.0)])


def test_a_reservation_of_a_part_of_a_node_is_relaxed_and_named():
    # The job takes both cores for 10 s from its arrival at 30 s. The makespan counts from 0, since a job is running.
    instance = half_a_node(Job("J1", 2, 10.0, arrival=30.0, after=["R1"]))
    sentence = r"relaxes reservation 'R1' \(a part of a node\); it also holds without$"
    with pytest.warns(RelaxedFeatureWarning, match=f"^lower_bound with objective 'makespan' {sentence}"):
        assert coalloc.lower_bound(instance) == 40.0
    with pytest.warns(RelaxedFeatureWarning, match=sentence):
        assert coalloc.lower_bound(instance, "total-response-time") == 10.0
    with pytest.warns(RelaxedFeatureWarning, match=sentence):
        assert coalloc.lower_bound(instance, "co-allocated-jobs") == 0.0
    with pytest.warns(RelaxedFeatureWarning, match=sentence):
        assert coalloc.lower_bound(instance, fixed=[Fixed("J1", start=50.0)]) == 60.0


def test_a_constraint_that_names_such_a_reservation_is_relaxed_with_it():
    instance = half_a_node(Job("J1", 1, 10.0), Job("J2", 1, 10.0))
    named = r"reservation 'R1' \(a part of a node\), constraint Cumulative; it"
    constraints = [Cumulative(("J1", "R1")), TimeBounds("J2", earliest_start=50.0)]
    with pytest.warns(RelaxedFeatureWarning, match=named):
        assert coalloc.lower_bound(instance, constraints=constraints) == 60.0


def test_what_holds_a_part_of_a_node_from_the_beginning_is_not_relaxed():
    # By the limit J1 waits for R1, which runs up to 100 s.
    instance = half_a_node(Job("J1", 1, 10.0), Job("J2", 1, 10.0), start=0.0)
    assert coalloc.lower_bound(instance) == pytest.approx(110.0)


@pytest.mark.parametrize("objective", ["makespan", "mean-wait", "co-allocated-jobs"])
def test_a_job_without_a_place_has_no_schedule_and_no_bound(objective):
    platform = Platform([Cluster("C1", [NodeGroup(2, 1.0, features=["cpu"]), NodeGroup(1, 1.0)], 1.0)])
    instance = Instance(platform, [Job("J1", 3, 10.0, requires=["cpu"]), Job("J2", 1, 1.0)])
    assert coalloc.solve(instance).status == "infeasible"
    with pytest.raises(CoallocError, match=r"^the instance has no schedule: job 'J1' .*$"):
        coalloc.lower_bound(instance, objective)


def test_an_empty_name_is_no_default():
    instance = four_nodes(Job("J1", 1, 10.0))
    with pytest.raises(CoallocError, match="method of lower_bound must be one of"):
        coalloc.lower_bound(instance, method="")
    with pytest.raises(CoallocError, match="objective: must not be empty"):
        coalloc.solve(instance, objective="")
