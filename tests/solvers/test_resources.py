"""Countable resources in all exact methods: small instances whose optimum is said in a comment."""

from __future__ import annotations

import numpy as np
import pytest

import coalloc
from coalloc import Cluster, Instance, Job, NodeGroup, Platform, RunningJob, Shape
from coalloc.problem import discretise
from coalloc.solvers.bounds.pricing import GreedyPricing, MipPricing
from coalloc.solvers.bounds.release_suffixes import levelled_jobs, speed_capacities
from coalloc.solvers.bounds.simple import resource_packing, simple_bound

FORMULATIONS = ("auto", "mode", "count", "node")
ONE = Cluster("C1", [NodeGroup(4, 1.0)], link_bandwidth=100.0)
TWO = Cluster("C2", [NodeGroup(4, 1.0)], link_bandwidth=100.0)


def makespan(instance: Instance, formulation: str = "auto", **options: object) -> float:
    result = coalloc.solve(instance, formulation=formulation, time_limit=60.0, **options)
    assert result.status == "optimal"
    assert coalloc.check(instance, result.schedule, scope=options.get("scope", "platform")) == []
    return result.objective


def of_platform(**takes: dict[str, float]) -> Instance:
    """Return three jobs of 10 s on four processors and 4 licences."""
    jobs = [Job(f"J{number}", 1, 10.0, **takes) for number in range(3)]
    return Instance(Platform([ONE], resources={"licences": 4.0}), jobs)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_jobs_share_what_the_platform_has(formulation: str) -> None:
    # Each takes 2 licences, as a whole or by its only task: two run at once, the third after them.
    assert makespan(of_platform(resources={"licences": 2.0}), formulation, slot=5.0) == 20.0
    assert makespan(of_platform(task_resources={"licences": 2.0}), formulation, slot=5.0) == 20.0
    assert (
        makespan(of_platform(resources={"licences": 0.5}, task_resources={"licences": 0.5}), formulation, slot=5.0)
        == 10.0
    )


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_cluster_shares_what_it_has_among_its_nodes(formulation: str) -> None:
    # Only C1 has licences, 2 of them: both jobs take 1 in it, and 1 as a whole, so that one runs after the other.
    platform = Platform([ONE.replace(resources={"licences": 2.0}), TWO])
    job = Job("J1", 1, 10.0, resources={"licences": 1.0}, task_resources={"licences": 1.0})
    instance = Instance(platform, [job, job.replace(id="J2")])
    assert makespan(instance, formulation, slot=5.0) == 20.0
    # With as many in C2 they run beside each other, one in each.
    both = platform.replace(clusters=[platform.clusters[0], TWO.replace(resources={"licences": 2.0})])
    assert makespan(instance.replace(platform=both), formulation, slot=5.0) == 10.0


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_node_shares_what_it_has_among_its_cores(formulation: str) -> None:
    # Two nodes of two cores with a GPU each, for four tasks that take one: two rounds.
    group = NodeGroup(2, 1.0, cores=2, resources={"gpus": 1.0})
    instance = Instance(
        Platform([Cluster("C1", [group], link_bandwidth=1.0)]),
        [Job(f"J{number}", 2, 10.0, task_resources={"gpus": 1.0}) for number in range(2)],
    )
    assert makespan(instance, formulation, slot=5.0) == 20.0
    assert (
        makespan(instance.replace(jobs=[Job("J1", 2, 10.0, task_resources={"gpus": 0.5})] * 1), formulation, slot=5.0)
        == 10.0
    )


@pytest.mark.usefixtures("cpsat_or_not")
def test_continuous_time_knows_them() -> None:
    assert makespan(of_platform(resources={"licences": 2.0})) == pytest.approx(20.0)


def test_what_runs_holds_its_part() -> None:
    # The running job has 3 of 4 licences until 7 s; what is to run later has 3 from 30 s to 40 s.
    platform = Platform([ONE], resources={"licences": 4.0})
    held = Job("R1", 1, 7.0, resources={"licences": 3.0})
    running = [
        RunningJob(held, ["C1/0"], 7.0),
        RunningJob(held.replace(id="R2"), ["C1/1"], 40.0, start=30.0),
    ]
    job = Job("J1", 1, 20.0, resources={"licences": 2.0})
    assert makespan(Instance(platform, [job], running)) == pytest.approx(27.0)
    assert makespan(Instance(platform, [job.replace(base_time=25.0)], running)) == pytest.approx(65.0)


def test_a_shape_is_chosen_by_what_is_left() -> None:
    # With four tasks the job would take 4 licences, there are 3: it takes the shape with two.
    job = Job("J1", 4, 10.0, task_resources={"licences": 1.0}, shapes=[Shape(2, 18.0)])
    instance = Instance(Platform([ONE], resources={"licences": 3.0}), [job])
    assert makespan(instance) == pytest.approx(18.0)
    assert coalloc.solve(instance).schedule["J1"].shape == 1


def test_a_job_without_room_is_named() -> None:
    # Each cluster has licences for two tasks, and the scope asks for one cluster.
    clusters = [cluster.replace(resources={"licences": 2.0}) for cluster in (ONE, TWO)]
    instance = Instance(Platform(clusters), [Job("J1", 3, 10.0, task_resources={"licences": 1.0})])
    result = coalloc.solve(instance, scope="cluster")
    said = "job 'J1' requires 'licences': the capacity of one cluster suffices for 2 of its 3 tasks"
    assert (result.status, result.message) == ("infeasible", said)
    (reason,) = coalloc.explain(instance, scope="cluster").of("infeasible")
    assert (reason.kind, reason.where, reason.amount, reason.limit) == ("resource", "licences", 3, 2)


def test_links_may_forbid_where_there_is_enough() -> None:
    # In two clusters it would put 4 * 2 * 2/3 MB/s on links that carry 1, and each has licences for half of it.
    clusters = [c.replace(link_bandwidth=1.0, resources={"licences": 2.0}) for c in (ONE, TWO)]
    job = Job("J1", 4, 10.0, task_bandwidth=4.0, task_resources={"licences": 1.0})
    result = coalloc.solve(Instance(Platform(clusters), [job]), slot=5.0)
    assert result.status == "infeasible"
    assert "it saturates a link" in result.message


def test_a_deadline_that_resources_forbid_names_them() -> None:
    # Two jobs of 10 s need the only licence, both by 15 s.
    jobs = [Job(f"J{number}", 1, 10.0, resources={"licences": 1.0}, deadline=15.0) for number in range(2)]
    result = coalloc.solve(Instance(Platform([ONE], resources={"licences": 1.0}), jobs), slot=5.0)
    assert result.status == "infeasible"
    assert "the capacity of 'licences' is 1" in result.message


def test_the_bound_of_a_resource() -> None:
    # Five jobs of 10 s take 3 of 4 licences each: no two at once, so 50 s; by their area it would be 37.5 s.
    jobs = [Job(f"J{number}", 1, 10.0, resources={"licences": 3.0}) for number in range(5)]
    problem = discretise(Instance(Platform([ONE], resources={"licences": 4.0}), jobs), None)
    assert resource_packing(problem, "licences") == pytest.approx(50.0)
    assert simple_bound(problem) == pytest.approx(50.0)
    # Amounts that are no whole numbers have the area alone: 5 * 10 * 2.5 / 4.
    halves = [job.replace(resources={"licences": 2.5}) for job in jobs]
    problem = discretise(problem.instance.replace(jobs=halves), None)
    assert resource_packing(problem, "licences") == pytest.approx(31.25)


def test_amounts_of_any_size_have_a_bound() -> None:
    # Two jobs of 10 s that each take 2e99 of 3e99: one after the other; by their area 13.3 s.
    jobs = [Job(f"J{number}", 1, 10.0, resources={"units": 2e99}) for number in range(2)]
    instance = Instance(Platform([ONE], resources={"units": 3e99}), jobs)
    assert resource_packing(discretise(instance, None), "units") == pytest.approx(40.0 / 3.0)
    assert makespan(instance) == pytest.approx(20.0)


def test_pricing_has_a_row_for_each_resource() -> None:
    # Four processors hold all four jobs, but of 5 licences no three of them get 2.
    jobs = [Job(f"J{number}", 1, 10.0, resources={"licences": 2.0}) for number in range(4)]
    problem = discretise(Instance(Platform([ONE], resources={"licences": 5.0}), jobs), None)
    levelled, capacities = levelled_jobs(problem, use_links=True), speed_capacities(problem)
    prices = [[1.0]] * 4
    priced = MipPricing(capacities, levelled).price(prices, float("inf"))
    assert priced.value == pytest.approx(2.0, rel=1e-5)
    assert len(priced.sets[0]) == 2
    greedy = GreedyPricing(capacities, levelled, np.array([1.0]))
    assert {len(chosen) for chosen in greedy.sets(prices)} == {2}


def test_equal_jobs_differ_by_what_they_take() -> None:
    jobs = [Job("J1", 1, 1.0), Job("J2", 1, 1.0, resources={"licences": 1.0}), Job("J3", 1, 1.0)]
    problem = discretise(Instance(Platform([ONE], resources={"licences": 5.0}), jobs), None)
    assert problem.kinds == (0, 1, 0)


def test_why_a_job_waits_and_what_moves_the_optimum() -> None:
    instance = of_platform(resources={"licences": 4.0})
    explained = coalloc.explain(instance, coalloc.solve(instance, slot=5.0).schedule)
    waits = explained.of("wait")
    assert {(reason.kind, reason.where) for reason in waits} == {("resource", "licences")}
    assert [reason.kind for reason in explained.of("bound")][1:] == ["resource"]
    # Twice as many licences let two of the three run at once, the third after them.
    (moves,) = (reason for reason in explained.of("optimum") if reason.kind == "resource")
    assert (moves.where, round(moves.amount or 0.0, 6), moves.limit) == ("licences", 20.0, 30.0)
