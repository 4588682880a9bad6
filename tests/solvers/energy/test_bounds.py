"""The linear programme below the energy of every schedule."""

import pytest

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform
from coalloc.testing.brute_force_energy import brute_force_energy
from tests.solvers.energy.test_solving import random_instance


def two_nodes(*jobs: Job) -> Instance:
    """Return a fast node and a frugal one at half its speed, of two cores each."""
    fast = NodeGroup(1, power=1.0, cores=2, idle_watts=1.0, static_watts=11.0, core_watts=5.0)
    frugal = NodeGroup(1, power=0.5, cores=2, idle_watts=1.0, static_watts=3.0, core_watts=1.0)
    return Instance(Platform([Cluster("C1", [fast, frugal], 0.0)]), jobs)


def test_one_job_takes_the_frugal_node_and_a_limit_drives_it_to_the_fast_one():
    instance = two_nodes(Job("J1", 2, 10.0))
    # Frugal: 20 s, 2 * 20 * (1 + (3 - 1)/2) = 80 J, and 2 W idle for the 10 s that any schedule takes at least.
    # By area 40 core-seconds need 20 s of the node: 40 J idle. 120 J in all, as a schedule takes.
    assert coalloc.lower_bound(instance, "energy") == pytest.approx(120.0)
    # Within 10 s no task ends on the frugal node: 20 core-seconds at 10 W on the fast one, and 2 W idle: 200 + 20 J.
    assert coalloc.lower_bound(instance, "energy", makespan_limit=10.0) == pytest.approx(220.0)
    # That has an EDP of 220 J times 10 s; the frugal node, 120 J times 20 s.
    assert coalloc.lower_bound(instance, "edp") == pytest.approx(220.0 * 10.0)
    with pytest.raises(CoallocError, match="makespan_limit=9"):
        coalloc.lower_bound(instance, "energy", makespan_limit=9.0)


def test_within_a_limit_the_frugal_node_has_no_time_for_all():
    # Both jobs, of 40 core-seconds each there, do not fit into its 2 * 20 s: one goes to the fast node, 80 + 200 J, and
    # 2 W idle for 20 s.
    instance = two_nodes(Job("J1", 2, 10.0), Job("J2", 2, 10.0))
    assert coalloc.lower_bound(instance, "energy", makespan_limit=20.0) == pytest.approx(320.0)


def test_no_jobs_take_nothing():
    assert coalloc.lower_bound(two_nodes(), "energy") == 0.0


@pytest.mark.parametrize("seed", range(8))
def test_the_bound_is_below_the_optimum(seed):
    instance = random_instance(seed)
    for limit in (None, 12.0):
        optimum = brute_force_energy(instance, None, scope="node", makespan_limit=limit)
        if optimum.feasible:
            bound = coalloc.lower_bound(instance, "energy", makespan_limit=limit)
            assert 0.0 < bound <= optimum.objective * (1 + 1e-9)
