"""Lines below the energy as a function of the makespan, and what they say of energy and EDP."""

import math

import pytest

import coalloc
from coalloc import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.models.energy_costs import costs_of
from coalloc.problem import discretise, discretise_for_energy
from coalloc.solvers.energy.bound_by_makespan import (
    EdpLine,
    EnergyByMakespan,
    MakespanSpan,
    least_worth,
    span_bound,
    spans,
)
from coalloc.solvers.energy.bound_by_sets import EnergyBySets
from coalloc.testing.brute_force_energy import brute_force_energy, brute_force_front
from tests.solvers.energy.test_bounds import two_nodes
from tests.solvers.energy.test_solving import random_instance


def test_the_least_product_of_lines_is_that_of_the_definition():
    # max(30 - 2 M, 6 + M) has its kink at M = 8 with 14; on [4, 20] the product is 88 at 4, 112 at 8 and grows after
    # it; on [7, 20] the parabola of the first line, highest at 7.5, is least at 8: 112, that is at 7: 112 as well.
    lines = [EdpLine(30.0, -2.0), EdpLine(6.0, 1.0)]
    assert least_worth(lines, 4.0, 20.0, 1) == (88.0, 4.0)
    assert least_worth(lines, 8.0, 20.0, 1) == (112.0, 8.0)
    assert least_worth(lines, 4.0, 20.0, 0) == (14.0, 8.0)


def test_jobs_leave_cores_idle_before_they_arrive():
    # Two jobs of 2 tasks and 10 s, at 0 and 6, on one node of 4 cores of 1 W each. In M s it does
    # 4 M core-seconds, less 2 * 6 before the second arrives: 40 <= 4 M - 12 leaves M >= 13. The second job alone ends
    # at 16. 40 core-seconds at 1 W and 2 W idle for 16 s: 40 + 32 J, and 16 times that.
    group = NodeGroup(1, power=1.0, cores=4, idle_watts=2.0, static_watts=2.0, core_watts=1.0)
    jobs = [Job("J1", 2, 10.0), Job("J2", 2, 10.0, arrival=6.0)]
    problem = discretise(Instance(Platform([Cluster("C1", [group], 0.0)]), jobs), None, scope="node")
    relaxation = EnergyByMakespan(problem)
    programme = relaxation.programme(math.inf)
    assert relaxation.least == pytest.approx(16.0)
    assert programme.line(16.0).at(16.0) == pytest.approx(72.0)
    assert programme.line(13.5).at(13.5) == pytest.approx(67.0)
    assert programme.line(12.5).at(12.5) > 1e3  # 12.5 s are too few: lines are steep there
    assert relaxation.programme(15.9) is None  # the second job has no room
    assert coalloc.lower_bound(problem.instance, "edp", scope="node") == pytest.approx(16.0 * 72.0)


def test_makespans_in_slots_are_whole():
    # The frugal node takes 20 s: 3 slots of 7 s, 42 core-seconds at 2 W, and 2 W idle for 21 s: 84 + 42 J.
    problem = discretise(two_nodes(Job("J1", 2, 10.0)), 7.0, scope="node")
    relaxation = EnergyByMakespan(problem)
    found = spans([span_bound(relaxation, 0)], MakespanSpan(0.0, 15.0, 30.0), math.inf, lambda _: False)
    assert found[0].bound == pytest.approx(126.0)


@pytest.mark.parametrize("seed", range(8))
def test_no_point_of_the_front_is_below_the_bound_of_a_span_around_it(seed):
    instance = random_instance(seed)
    relaxation = EnergyByMakespan(discretise(instance, None, scope="node"))
    for makespan, joules in brute_force_front(instance, None, "node"):
        for delay in (0, 1):
            bound, where = span_bound(relaxation, delay)(0.9 * makespan, 1.1 * makespan)
            assert 0.9 * makespan <= where <= 1.1 * makespan
            assert bound <= joules * makespan**delay * (1.0 + 1e-9)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("limit", [9.0, 1e3])
def test_sets_of_jobs_that_are_all_there_give_the_least_energy(seed, limit):
    # Without arrivals a node can do a set of jobs in the least time and be busy the least time at once, so that only
    # the idle watts of the makespan are left out.
    drawn = random_instance(seed)
    instance = drawn.replace(
        jobs=[job.replace(arrival=0.0) for job in drawn.jobs],
        platform=Platform(
            [c.replace(nodes=[g.replace(idle_watts=0.0) for g in c.nodes]) for c in drawn.platform.clusters]
        ),
    )
    problem = discretise_for_energy(instance, None, scope="node")
    found = EnergyBySets(problem, costs_of(problem), limit).joules(limit)
    expected = brute_force_energy(instance, None, "energy", "node", limit)
    assert found == (pytest.approx(expected.objective) if expected.feasible else math.inf)
