"""What nodes can hold, as numbers of jobs of each kind: bounds on the energy within a makespan."""

import math

import pytest

from coalloc import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.instance import RunningJob
from coalloc.models.energy_costs import costs_of
from coalloc.problem import Problem, discretise_for_energy
from coalloc.solvers.energy.bound_by_patterns import EnergyByPatterns
from coalloc.testing.brute_force_energy import brute_force_front
from tests.solvers.energy.test_solving import random_instance

ENOUGH = 10_000


def patterns_of(problem: Problem, most: int = ENOUGH) -> EnergyByPatterns:
    return EnergyByPatterns(problem, costs_of(problem), lambda: most)


def two_equal_nodes(*jobs: Job, slot: float | None = None, running: tuple[RunningJob, ...] = ()) -> Problem:
    """Return two nodes of 4 cores: 1 W a busy core, 3 W beyond the idle 1 W while one is busy."""
    group = NodeGroup(2, power=1.0, cores=4, idle_watts=1.0, static_watts=4.0, core_watts=1.0)
    instance = Instance(Platform([Cluster("C1", [group], 0.0)]), jobs, running)
    return discretise_for_energy(instance, slot, scope="node")


def test_jobs_of_a_node_follow_each_other_whole():
    # Three jobs of 4 tasks and 10 s: one node has two of them, so that they end at 20, though their area would end at
    # 15. Each takes 40 J, and its node 30 J while it runs.
    found = patterns_of(two_equal_nodes(*(Job(f"J{n}", 4, 10.0) for n in range(3))))
    assert found.joules(20.0, 1) == pytest.approx(3 * 70.0)
    assert found.joules(19.9, 1) > 1e4
    assert not found.are_too_many


def test_narrow_jobs_share_a_node():
    # Four jobs of 2 tasks: two pairs of 10 s, side by side or one after another, 2 * (40 + 30) J.
    found = patterns_of(two_equal_nodes(*(Job(f"J{n}", 2, 10.0) for n in range(4))))
    assert found.joules(10.0, 1) == pytest.approx(140.0)
    assert found.joules(40.0, 1) == pytest.approx(140.0)


def test_more_parts_say_who_arrives_when():
    # Three jobs of 4 tasks and 10 s arrive at 0, 5 and 5. The two that share a node end at 20 with the one of 0
    # among them, at 25 without. As one kind the first two to arrive may be anywhere, and so twice: then all of four
    # jobs, the last of 5 as well, seem to end by 20, though only one node can have the one of 0.
    jobs = [Job("J0", 4, 10.0), *(Job(f"J{n}", 4, 10.0, arrival=5.0) for n in range(1, 4))]
    found = patterns_of(two_equal_nodes(*jobs))
    assert found.joules(20.0, 1) == pytest.approx(4 * 70.0)
    assert found.joules(20.0, 2) > 1e4
    assert found.joules(25.0, 2) == pytest.approx(4 * 70.0)


def test_a_job_has_no_room_where_it_ends_too_late():
    # Both arrive at 0 and at 8. By 15 the second ends nowhere.
    found = patterns_of(two_equal_nodes(Job("J1", 4, 10.0), Job("J2", 4, 10.0, arrival=8.0)))
    assert found.joules(15.0, 1) > 1e4
    assert found.joules(18.0, 1) == pytest.approx(140.0)


def test_a_node_that_is_busy_anyway_takes_no_more():
    # Until 12 a job runs on two cores of the first node: one of 2 tasks and 10 s beside it takes its 20 J alone.
    running = RunningJob(Job("R", 2, 20.0), ("C1/0.0", "C1/0.1"), 12.0)
    found = patterns_of(two_equal_nodes(Job("J1", 2, 10.0), running=(running,)))
    assert found.joules(12.0, 1) == pytest.approx(20.0)


def test_too_many_patterns_say_nothing():
    # Of four jobs that all differ a node holds any set: 16.
    problem = two_equal_nodes(*(Job(f"J{n}", 1, 10.0 + n) for n in range(4)))
    assert patterns_of(problem, 16).joules(100.0, 1) == pytest.approx(46.0 + 3.0 * 13.0)  # all side by side
    found = patterns_of(problem, 15)
    assert found.joules(100.0, 1) == 0.0
    assert found.are_too_many


def test_fewer_parts_stand_in_for_too_many():
    # Four equal jobs of 4 tasks that arrive one after another: as one kind 5 patterns, as four 16.
    jobs = [Job(f"J{n}", 4, 10.0, arrival=float(n)) for n in range(4)]
    found = patterns_of(two_equal_nodes(*jobs), 8)
    assert found.joules(100.0, 4) == pytest.approx(4 * 70.0)
    assert not found.are_too_many


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("slot", [None, 2.0])
def test_no_point_of_the_front_is_below(seed, slot):
    instance = random_instance(seed)
    problem = discretise_for_energy(instance, slot, scope="node")
    idle, found = costs_of(problem).idle, patterns_of(problem)
    for makespan, joules in brute_force_front(instance, slot, "node"):
        for parts in (1, 2):
            assert 0.0 < found.joules(makespan, parts) + idle * makespan <= joules * (1.0 + 1e-9)
    assert math.isfinite(found.joules(1e-3, 1))
