"""OAS: every formulation on instances whose answer the comment proves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import coalloc
from coalloc.checker import check
from coalloc.instance import Cluster, CoallocError, Instance, Job, NodeGroup, Platform, RunningJob, Switch, Window
from coalloc.models import formulation_of, oas_count
from coalloc.objectives import Criterion
from coalloc.problem import discretise
from coalloc.rules.serial_sgs import best_list_schedule
from coalloc.solvers.backends.highs import SolverLimits, solve_model
from coalloc.solvers.oas import build_oas
from coalloc.solvers.result import SolveOptions
from coalloc.testing import brute_force_oas
from coalloc.workloads.generators import generate

Optimum = Callable[..., float]

SOLVE = SolverLimits(time=60.0)


@pytest.fixture(params=["node", "count", "mode"])
def formulation(request: pytest.FixtureRequest) -> str:
    """Return the name of each formulation."""
    name: str = request.param
    return name


@pytest.fixture
def optimum(formulation: str) -> Optimum:
    """Return a function that gives the last end (s) that a formulation proves, without the simple bounds.

    The model is solved from nothing: no start, a horizon two slots longer than the list schedule, and no lower bound
    but 0. So what it says is its own, and the schedule it describes has passed the checker.
    """

    def solve(instance: Instance, slot: float = 10.0, objective: str = "makespan", saturation: float = 0.0) -> float:
        problem = discretise(instance, slot, saturation=saturation)
        room = int(sum(max(level.duration for level in levels) for levels in problem.levels))
        horizon = int(max(a.end for a in best_list_schedule(problem))) + (room if objective != "makespan" else 2)
        models = formulation_of("oas", formulation)
        model = models.build(problem, horizon=horizon, objective=objective, lower_bound=0)
        solution = solve_model(model, SOLVE, integral=True)
        assert solution.status == "optimal"
        schedule = models.extract(model)
        assert check(instance, schedule, saturation=saturation) == []
        ends = [placement.end for placement in schedule]
        reached = max(ends) if objective == "makespan" else sum(ends)
        assert solution.objective is not None
        assert reached == pytest.approx(slot * solution.objective)
        return reached

    return solve


def star(*clusters: tuple[int, float, float]) -> Platform:
    """Return clusters C1, C2, ... of (nodes, power, link bandwidth) around one switch."""
    return Platform(tuple(Cluster(f"C{i}", (NodeGroup(n, p),), b) for i, (n, p, b) in enumerate(clusters, 1)))


def test_a_link_at_its_limit_is_not_saturated(optimum: Optimum) -> None:
    # Two tasks on each side: 2 * 10 * 2/3 = 13.33 MB/s on both links. Where they carry just that, 20 s on fast nodes;
    # where they carry less, 3 of the tasks are on slow nodes or all are: 20 / 0.5 = 40 s.
    job = Job("J1", 4, 20.0, 1.0, 10.0)
    assert optimum(Instance(star((2, 1.0, 40 / 3), (2, 1.0, 40 / 3), (4, 0.5, 40 / 3)), (job,))) == 20.0
    assert optimum(Instance(star((2, 1.0, 13.3), (2, 1.0, 13.3), (4, 0.5, 13.3)), (job,))) == 40.0


def test_jobs_that_would_saturate_a_link_together_run_one_after_the_other(optimum: Optimum) -> None:
    # A job of 3 tasks is on two clusters of 2 nodes at least, and loads the link of each with 10 MB/s: 2 * 10 * 1/2 or
    # 1 * 10 * 2/2. Two jobs load three links four times or more, so one link carries 20 MB/s if they run at once.
    jobs = (Job("J1", 3, 10.0, 1.0, 10.0), Job("J2", 3, 10.0, 1.0, 10.0))
    assert optimum(Instance(star(*[(2, 1.0, 20.0)] * 3), jobs)) == 10.0
    assert optimum(Instance(star(*[(2, 1.0, 19.0)] * 3), jobs)) == 20.0


@pytest.mark.parametrize("unit", [1.0, 1e-9])
def test_what_saturates_a_link_does_not_depend_on_the_unit(optimum: Optimum, unit: float) -> None:
    # As above, links a millionth too narrow. Solvers keep rows to an absolute 1e-6 only.
    jobs = (Job("J1", 3, 10.0, 1.0, 10.0 * unit), Job("J2", 3, 10.0, 1.0, 10.0 * unit))
    assert optimum(Instance(star(*[(2, 1.0, 20.0 * unit)] * 3), jobs)) == 10.0
    assert optimum(Instance(star(*[(2, 1.0, 20.0 * unit * (1 - 1e-6))] * 3), jobs)) == 20.0


def test_the_saturation_tolerance_widens_every_link(optimum: Optimum) -> None:
    # R1 and R2 leave one node in each cluster until 30 s. Until then a job of 2 tasks is split, with 10 MB/s on both
    # links. They carry 9: both jobs wait, and run at once in a cluster each. With 12 % more, 10.08, they need not wait.
    busy = (RunningJob(Job("R1", 1, 30.0), ("C1/0",), 30.0), RunningJob(Job("R2", 1, 30.0), ("C2/0",), 30.0))
    jobs = (Job("J1", 2, 10.0, 1.0, 10.0), Job("J2", 2, 10.0, 1.0, 10.0))
    instance = Instance(star((2, 1.0, 9.0), (2, 1.0, 9.0)), jobs, busy)
    assert optimum(instance) == 40.0
    assert optimum(instance, saturation=0.12) == 20.0


def test_a_job_waits_for_its_release(optimum: Optimum) -> None:
    # J2 arrives at 25 s, in the third slot, and may start with the fourth, at 30 s.
    jobs = (Job("J1", 2, 20.0), Job("J2", 1, 10.0, arrival=25.0))
    assert optimum(Instance(star((2, 1.0, 1.0)), jobs)) == 40.0


def test_the_order_minds_releases(optimum: Optimum) -> None:
    # J1 takes both nodes for 30 s. J2 arrives at 20 s: after J1 it ends at 50 s, before J1, J1 ends at 70 s.
    jobs = (Job("J1", 2, 30.0), Job("J2", 1, 20.0, arrival=20.0))
    assert optimum(Instance(star((2, 1.0, 1.0)), jobs)) == 50.0


def test_a_running_job_holds_its_nodes_until_its_last_slot_ends(optimum: Optimum) -> None:
    # R holds one of two nodes until 15 s, that is two slots. J1 needs both: 20..30.
    running = (RunningJob(Job("R", 1, 15.0), ("C1/1",), 15.0),)
    assert optimum(Instance(star((2, 1.0, 1.0)), (Job("J1", 2, 10.0),), running)) == 30.0
    # A job of one task takes the free node at once.
    assert optimum(Instance(star((2, 1.0, 1.0)), (Job("J1", 1, 10.0),), running)) == 10.0


def test_a_running_job_loads_links(optimum: Optimum) -> None:
    # R has a task in each cluster and loads both links with 10 MB/s until 20 s. J1 is split too, with 10 MB/s.
    running = (RunningJob(Job("R", 2, 20.0, 1.0, 10.0), ("C1/0", "C2/0"), 20.0),)
    job = Job("J1", 2, 10.0, 1.0, 10.0)
    assert optimum(Instance(star((2, 1.0, 15.0), (2, 1.0, 15.0)), (job,), running)) == 30.0
    assert optimum(Instance(star((2, 1.0, 20.0), (2, 1.0, 20.0)), (job,), running)) == 10.0


def test_a_link_that_running_jobs_saturate_has_no_bandwidth_left_and_owes_none(optimum: Optimum) -> None:
    # R puts 10 MB/s on links of 5. A job without traffic across them starts beside it, one with traffic at 20 s.
    running = (RunningJob(Job("R", 2, 20.0, 1.0, 10.0), ("C1/0", "C2/0"), 20.0),)
    platform = star((2, 1.0, 5.0), (2, 1.0, 5.0))
    assert optimum(Instance(platform, (Job("J1", 2, 10.0),), running)) == 10.0
    assert optimum(Instance(platform, (Job("J1", 2, 10.0, 1.0, 5.0),), running)) == 30.0


def test_the_slowest_node_used_decides(optimum: Optimum) -> None:
    # Two fast nodes and one of power 0.5. J1 of 3 tasks takes 10 / 0.5 = 20 s; J2 of 2 tasks takes the fast ones, 10 s.
    platform = star((2, 1.0, 1.0), (1, 0.5, 1.0))
    assert optimum(Instance(platform, (Job("J1", 3, 10.0),))) == 20.0
    assert optimum(Instance(platform, (Job("J2", 2, 10.0),))) == 10.0


def test_waiting_for_a_fast_node_can_be_better_than_a_slow_one(optimum: Optimum) -> None:
    # One node of power 1, one of 0.25. Two jobs of 10 s: 20 s one after the other, 40 s if one takes the slow node.
    jobs = (Job("J1", 1, 10.0), Job("J2", 1, 10.0))
    assert optimum(Instance(star((1, 1.0, 1.0), (1, 0.25, 1.0)), jobs)) == 20.0


def test_co_allocation_where_no_cluster_is_large_enough(optimum: Optimum) -> None:
    # 3 tasks on 2 + 1 nodes, in spite of slower nodes: 10 * (0.5/0.8 + 0.5) = 11.25 s, two slots.
    assert optimum(Instance(star((2, 1.0, 100.0), (1, 0.8, 100.0)), (Job("J1", 3, 10.0, 0.5, 10.0),))) == 20.0


@pytest.mark.parametrize("seconds", [30.0, 30.0 * (1 - 1e-12), 30.0 * (1 + 1e-12)])
def test_a_multiple_of_the_slot_takes_no_further_slot(optimum: Optimum, seconds: float) -> None:
    # Exactly three slots, whatever floating point makes of it; twice on one node: six slots, 60 s.
    jobs = (Job("J1", 1, seconds), Job("J2", 1, seconds))
    assert optimum(Instance(star((1, 1.0, 1.0)), jobs)) == 60.0


def test_a_slot_that_no_float_divides(optimum: Optimum) -> None:
    # 0.7 / 0.1 = 6.999... and 0.3 / 0.1 = 2.999... in floating point: 7 + 3 slots of 0.1 s.
    jobs = (Job("J1", 1, 0.7), Job("J2", 1, 0.3))
    assert optimum(Instance(star((1, 1.0, 1.0)), jobs), slot=0.1) == pytest.approx(1.0)


def test_the_part_of_a_slot_counts_as_a_slot(optimum: Optimum) -> None:
    # 10.01 s take two slots of 10 s: two jobs on one node 40 s, though they run for 20.02 s.
    jobs = (Job("J1", 1, 10.01), Job("J2", 1, 10.01))
    assert optimum(Instance(star((1, 1.0, 1.0)), jobs)) == 40.0


def test_a_slot_longer_than_everything(optimum: Optimum) -> None:
    # Every job takes one slot of 1000 s. Three jobs on two nodes: two slots.
    jobs = tuple(Job(f"J{i}", 1, 10.0) for i in range(3))
    assert optimum(Instance(star((1, 1.0, 1.0), (1, 0.5, 1.0)), jobs), slot=1000.0) == 2000.0


def test_pure_communication_does_not_feel_slow_nodes(optimum: Optimum) -> None:
    # sigma = 0: Te = Tb on any node as long as no link saturates. Both jobs at once, one of them on power 0.25.
    jobs = (Job("J1", 1, 10.0, 0.0, 1.0), Job("J2", 1, 10.0, 0.0, 1.0))
    assert optimum(Instance(star((1, 1.0, 1.0), (1, 0.25, 1.0)), jobs)) == 10.0


def test_jobs_without_traffic_need_no_link(optimum: Optimum) -> None:
    # Links of 0 MB/s carry a job that asks for nothing, split over three clusters.
    platform = star((1, 1.0, 0.0), (1, 1.0, 0.0), (1, 1.0, 0.0))
    assert optimum(Instance(platform, (Job("J1", 3, 10.0, 0.5, 0.0),))) == 10.0


def test_a_single_task_loads_no_link(optimum: Optimum) -> None:
    # tau = 1: no traffic, whatever it asks for; two of them at once behind links of 0 MB/s.
    jobs = (Job("J1", 1, 10.0, 0.5, 99.0), Job("J2", 1, 10.0, 0.5, 99.0))
    assert optimum(Instance(star((1, 1.0, 0.0), (1, 1.0, 0.0)), jobs)) == 10.0


def test_clusters_of_several_classes(optimum: Optimum) -> None:
    # C1 has a node of power 1 and two of 0.5, behind a link of 1 MB/s, C2 one of power 1. J1 (2 tasks, 10 MB/s if
    # split) cannot join the fast nodes over the link: in C1, 10 / 0.5 = 20 s. J2 takes C2 meanwhile, 20 s.
    clusters = (
        Cluster("C1", (NodeGroup(1, 1.0), NodeGroup(2, 0.5)), 1.0),
        Cluster("C2", (NodeGroup(1, 1.0),), 1.0),
    )
    jobs = (Job("J1", 2, 10.0, 1.0, 10.0), Job("J2", 1, 20.0))
    assert optimum(Instance(Platform(clusters), jobs)) == 20.0
    # Without C2's node J2 has the fast node of C1 beside J1.
    assert optimum(Instance(Platform(clusters[:1]), jobs)) == 20.0


def test_availability_slows_a_node_like_power(optimum: Optimum) -> None:
    # Gamma = 0.8 * 0.625 = 0.5: 20 s.
    platform = Platform((Cluster("C1", (NodeGroup(1, 0.8, availability=0.625),), 1.0),))
    assert optimum(Instance(platform, (Job("J1", 1, 10.0),))) == 20.0


def test_the_cores_of_a_node_are_processors(optimum: Optimum) -> None:
    # Two nodes of two cores hold 4 tasks: jobs of 3 and 1 at once.
    platform = Platform((Cluster("C1", (NodeGroup(2, 1.0, cores=2),), 1.0),))
    assert optimum(Instance(platform, (Job("J1", 3, 10.0), Job("J2", 1, 10.0)))) == 10.0


def cascade(switches: int, upper: float) -> Platform:
    """Return switches S0, S1, ... below a root over links of ``upper`` MB/s, each with two clusters of one node."""
    names = [f"S{i}" for i in range(switches)]
    clusters = (Cluster(f"{name}{half}", (NodeGroup(1, 1.0),), 10.0, name) for name in names for half in "ab")
    return Platform(tuple(clusters), tuple(Switch(name, "root", upper) for name in names))


def test_jobs_below_one_switch_do_not_load_its_upper_link(optimum: Optimum) -> None:
    # Two tasks load the links of two clusters below the same switch with 10 MB/s each, and the link above with nothing.
    jobs = (Job("J1", 2, 10.0, 1.0, 10.0), Job("J2", 2, 10.0, 1.0, 10.0))
    assert optimum(Instance(cascade(2, 0.0), jobs)) == 10.0


def test_the_link_above_a_switch_carries_the_jobs_of_all_its_clusters(optimum: Optimum) -> None:
    # As with clusters of two nodes above: two jobs of 3 tasks put 20 MB/s on the upper link of one of three switches,
    # while every cluster's link carries the 10 MB/s of its one node.
    jobs = (Job("J1", 3, 10.0, 1.0, 10.0), Job("J2", 3, 10.0, 1.0, 10.0))
    assert optimum(Instance(cascade(3, 20.0), jobs)) == 10.0
    assert optimum(Instance(cascade(3, 19.0), jobs)) == 20.0


def test_perfect_packing_is_found() -> None:
    """The rectangle of a generated packing is the optimum (formulations that solve it in a moment)."""
    instance = generate("perfect-packing", seed=3, jobs=6, nodes=5, makespan=12.0, steps=12)
    for name in ("count", "mode"):
        problem = discretise(instance, 1.0)
        models = formulation_of("oas", name)
        horizon = int(max(a.end for a in best_list_schedule(problem)))
        model = models.build(problem, horizon=horizon, objective="makespan", lower_bound=0)
        assert solve_model(model, SOLVE, integral=True).objective == 12


def test_total_response_time_prefers_short_jobs_first(optimum: Optimum) -> None:
    # One node: 10, then 20 more: ends 10 + 30 = 40; the long one first would give 20 + 30 = 50.
    jobs = (Job("J1", 1, 20.0), Job("J2", 1, 10.0))
    assert optimum(Instance(star((1, 1.0, 1.0)), jobs), objective="total-response-time") == 40.0


def test_total_response_time_can_cost_makespan(optimum: Optimum) -> None:
    # 2 nodes: J1 (2 tasks, 30 s) after J2, J3 (1 task, 10 s): ends 10 + 10 + 40 = 60. First: 30 + 40 + 40.
    jobs = (Job("J1", 2, 30.0), Job("J2", 1, 10.0), Job("J3", 1, 10.0))
    assert optimum(Instance(star((2, 1.0, 1.0)), jobs), objective="total-response-time") == 60.0


def test_an_unknown_objective_lists_those_there_are(formulation: str) -> None:
    problem = discretise(Instance(star((1, 1.0, 1.0)), (Job("J1", 1, 10.0),)), 10.0)
    with pytest.raises(CoallocError, match="maximum-lateness, got 'energy'"):
        formulation_of("oas", formulation).build(problem, horizon=3, objective="energy", lower_bound=0)


def test_an_unknown_formulation_lists_those_there_are() -> None:
    with pytest.raises(CoallocError, match="auto, node, count, mode, got 'nodes'"):
        formulation_of("oas", "nodes")


@pytest.mark.parametrize("objective", ["makespan", "total-response-time"])
def test_a_start_is_a_solution_of_the_model(formulation: str, objective: str) -> None:
    """With the values of a list schedule every row holds: each formulation describes what really happens."""
    clusters = (Cluster("C1", (NodeGroup(1, 1.0), NodeGroup(1, 0.5)), 20.0), Cluster("C2", (NodeGroup(2, 0.8),), 20.0))
    jobs = (Job("J1", 3, 25.0, 0.5, 5.0), Job("J2", 2, 14.0, 0.7, 8.0, arrival=12.0), Job("J3", 1, 10.0))
    running = (RunningJob(Job("R", 2, 15.0, 0.5, 3.0), ("C1/1", "C2/0"), 15.0),)
    problem = discretise(Instance(Platform(clusters), jobs, running), 10.0)
    first = best_list_schedule(problem)
    models: Any = formulation_of("oas", formulation)
    horizon = int(max(a.end for a in first)) + 1
    model = models.build(problem, horizon=horizon, objective=objective, lower_bound=2)
    models.set_start(model, first)
    # No branching, no heuristics beyond the start: HiGHS completes it and returns it.
    solution = solve_model(model, SolverLimits(work=0), integral=True, start=True)
    ends = [a.end for a in first]
    assert solution.objective is not None
    assert solution.objective <= (max(ends) if objective == "makespan" else sum(ends))


def test_no_variable_that_cannot_be_one() -> None:
    # J1 (20 s) arrives at 10 s, the horizon is 5 slots: starts 1, 2, 3. Two free nodes hold its 2 tasks in one way.
    problem = discretise(Instance(star((2, 1.0, 1.0)), (Job("J1", 2, 20.0, arrival=10.0),)), 10.0)
    grid: dict[str, Any] = {"horizon": 5, "objective": "makespan", "lower_bound": 0}
    assert list(formulation_of("oas", "mode").build(problem, **grid).x) == [(0, 0, 1), (0, 0, 2), (0, 0, 3)]
    assert list(formulation_of("oas", "count").build(problem, **grid).w) == [(0, 0, 1), (0, 0, 2), (0, 0, 3)]
    slots = {t for _, _, t in formulation_of("oas", "node").build(problem, **grid).X}
    assert slots == {2, 3, 4, 5}  # its slots count from 1, and it has no starts of its own


def test_no_start_beside_a_running_job_that_leaves_no_room() -> None:
    # R holds one of 2 nodes for 2 slots, so that J1 starts at 2 or 3; the node formulation gives no slot of that node.
    running = (RunningJob(Job("R", 1, 20.0), ("C1/1",), 20.0),)
    problem = discretise(Instance(star((2, 1.0, 1.0)), (Job("J1", 2, 10.0),), running), 10.0)
    grid: dict[str, Any] = {"horizon": 4, "objective": "makespan", "lower_bound": 0}
    assert list(formulation_of("oas", "mode").build(problem, **grid).x) == [(0, 0, 2), (0, 0, 3)]
    held = [t for _, r, t in formulation_of("oas", "node").build(problem, **grid).X if r == "C1/1"]
    assert held == [3, 4]


def test_allocations_that_saturate_a_link_alone_have_no_variable() -> None:
    # 2 tasks over two clusters load both links with 10 MB/s; they carry 9. Left: (2, 0) and (0, 2).
    problem = discretise(Instance(star((2, 1.0, 9.0), (2, 1.0, 9.0)), (Job("J1", 2, 10.0, 1.0, 10.0),)), 10.0)
    assert [c.allocation for c in problem.modes[0]] == [(0, 2), (2, 0)]
    model = oas_count.build(problem, horizon=1)
    # With the count formulation: numbers 0 and 2 of its tasks below each link, never 1.
    assert {i for *_, i in model.q} == {0, 2}


def test_links_that_nothing_can_saturate_cost_no_rows() -> None:
    # 13.3 MB/s at most against 100.
    problem = discretise(Instance(star((2, 1.0, 100.0), (2, 1.0, 100.0)), (Job("J1", 4, 10.0, 1.0, 10.0),)), 10.0)
    grid: dict[str, Any] = {"horizon": 2, "objective": "makespan", "lower_bound": 0}
    assert problem.contended_links == ()
    assert len(formulation_of("oas", "mode").build(problem, **grid).bandwidth) == 0
    assert len(oas_count.build(problem, horizon=2).q) == 0


def test_the_node_formulation_needs_slots_rounded_up() -> None:
    instance = Instance(star((1, 1.0, 1.0)), (Job("J1", 1, 15.0),))
    for problem in (discretise(instance, None), discretise(instance, 10.0, "down")):
        with pytest.raises(CoallocError, match="requires a time slot and durations rounded up"):
            formulation_of("oas", "node").build(problem, horizon=3, objective="makespan", lower_bound=0)


@pytest.mark.parametrize("name", ["count", "mode"])
def test_durations_rounded_down_to_nothing_occupy_nothing(name: str) -> None:
    # 9 s are no slot of 10 s: five such jobs beside one of 15 s, which is one slot, on one node: last end 1.
    jobs = (Job("J0", 1, 15.0), *(Job(f"J{i}", 1, 9.0) for i in range(1, 6)))
    problem = discretise(Instance(star((1, 1.0, 1.0)), jobs), 10.0, "down")
    model = formulation_of("oas", name).build(problem, horizon=3, objective="makespan", lower_bound=0)
    assert solve_model(model, SOLVE, integral=True).objective == 1


def test_a_built_model_takes_further_rows_and_solves(formulation: str) -> None:
    """``build_model`` is for extension: a row that forbids the first slot costs one slot."""
    instance = Instance(star((1, 1.0, 1.0)), (Job("J1", 1, 10.0), Job("J2", 1, 10.0, arrival=5.0)))
    model = build_oas(instance, SolveOptions(formulation=formulation, slot=10.0), formulation)
    assert solve_model(model, SOLVE, integral=True).objective == 2
    assert model.name == f"OAS {formulation}"


@pytest.mark.parametrize("formulation", ["mode", "count", "node"])
def test_a_pool_is_there_though_the_first_job_arrives_late(formulation):
    # From 20 s on; from 25 to 35 s a window takes one of two processors, so both are there again in the slot from 40 s.
    platform = Platform(
        [Cluster("C1", [NodeGroup(2, power=1.0)], link_bandwidth=1.0)],
        unavailable=[Window("C1", 25.0, 35.0, group=0, processors=1)],
    )
    instance = Instance(platform, [Job("J1", 2, 10.0, arrival=20.0)])
    result = coalloc.solve(instance, slot=10.0, formulation=formulation)
    assert (result.status, result.schedule["J1"].start) == ("optimal", 40.0)


@pytest.mark.parametrize("formulation", ["count", "mode", "auto"])
def test_no_job_is_held_for_longer_than_it_runs_to_look_less_slowed_down(formulation: str) -> None:
    # Of 20 s: on the fast node from 10 s to 20 s, (20 - 0)/10 = 2; on the slow one from 40 s to 60 s, 60/20 = 3. On the
    # fast node, but held as long as on the slow one, it would seem to be 30/20 = 1.5.
    platform = Platform([Cluster("C1", [NodeGroup(1, 2.0), NodeGroup(1, 1.0)], 1.0)])
    busy = [RunningJob(Job("R1", 1, 50.0), ["C1/0"], 10.0), RunningJob(Job("R2", 1, 50.0), ["C1/1"], 40.0)]
    instance = Instance(platform, [Job("J1", 1, 20.0)], running=busy)
    result = coalloc.solve(instance, objective="mean-bounded-slowdown", slot=10.0, formulation=formulation)
    assert (result.status, result.objective, result.lower_bound) == ("optimal", 2.0, pytest.approx(2.0))


def test_a_maximum_of_costs_of_a_thousand_million_is_bounded_by_no_more_than_there_is() -> None:
    # 30 years, for which HiGHS, with costs of 1e9 s as they are in rows of 0 and 1, proved a least lateness of 1.4e9 s
    # of these jobs: brute force finds 0.84e9 s.
    clusters = [Cluster(name, [NodeGroup(count, power=0.5)], 3.1) for name, count in (("C1", 2), ("C2", 3))]
    described = [
        (2, 166666666.66666666, 1.0, 1.4, 234457169.09451002),
        (4, 333333333.3333333, 0.89, 3.1, 336605192.96987927),
        (3, 666666666.6666666, 0.25, 2.4, 1026008075.6630983),
        (4, 191000000.0, 0.528, 1.7, 238738344.45715243),
    ]
    jobs = [
        Job(f"J{j}", tasks, seconds, share, bandwidth, due_date=due)
        for j, (tasks, seconds, share, bandwidth, due) in enumerate(described)
    ]
    problem = discretise(Instance(Platform(clusters), jobs), 84854166.66666666, "down", saturation=0.1)
    criterion = Criterion.of(problem, "maximum-lateness")
    models: Any = formulation_of("oas", "mode")
    first = best_list_schedule(problem)
    horizon = int(criterion.horizon(first))
    model = models.build(problem, horizon=horizon, objective=criterion.objective, lower_bound=0)
    models.set_start(model, criterion.in_order(first))
    solution = solve_model(model, SolverLimits(work=1, gap=1e-7, seed=1), integral=False, start=True)
    least = brute_force_oas(problem.instance, problem.slot, "maximum-lateness", "down", 0.1).objective
    assert solution.lower_bound <= least * (1.0 + 1e-9)
    assert solution.objective == pytest.approx(least)
