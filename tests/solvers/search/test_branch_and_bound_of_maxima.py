"""The greatest cost of a job, proven by the tree of extension alternatives, in continuous time as well."""

from __future__ import annotations

import pytest

import coalloc
from coalloc import Cluster, Fixed, Instance, Job, NodeGroup, Platform
from coalloc.testing.brute_force import brute_force_oas
from coalloc.testing.features import small_feature_instance

SOURCE = "branch and bound for maxima"


def on_nodes(num_nodes: int, *jobs: Job) -> Instance:
    return Instance(Platform([Cluster("C1", [NodeGroup(num_nodes, 1.0)], 1.0)]), jobs)


def test_two_of_four_jobs_share_a_node():
    # On three nodes two jobs come after each other: the shortest, 10 + 10.3 s. Of all jobs together, 42.1 s, no bound
    # by areas is above 42.1/3 = 14.03 s. All are due at 10 s.
    times = (10.0, 10.3, 10.7, 11.1)
    instance = on_nodes(3, *(Job(f"J{i}", 1, seconds, due_date=10.0) for i, seconds in enumerate(times)))
    result = coalloc.solve(instance, objective="maximum-lateness", time_limit=10.0)
    assert (result.status, result.objective) == ("optimal", pytest.approx(10.3))
    assert SOURCE in {point.source for point in result.trace}


def test_where_the_optimum_is_0_it_is_proven():
    # Due when it ends, and a job without a due date that the other need not wait for.
    instance = on_nodes(1, Job("due", 1, 10.0, due_date=20.0, arrival=10.0), Job("free", 1, 15.0))
    result = coalloc.solve(instance, objective="maximum-lateness")
    assert (result.status, result.objective, result.lower_bound) == ("optimal", 0.0, 0.0)


def test_that_nothing_keeps_what_is_fixed_is_proven_where_a_job_may_end_whenever_it_does():
    # B, of 7 s, ends neither before A begins, at 6 s, nor from when it ends, at 16 s, by its deadline, 20 s.
    jobs = [Job("A", 2, 10.0, due_date=10.0), Job("B", 1, 7.0, deadline=20.0), Job("C", 1, 3.0, due_date=1.0)]
    result = coalloc.solve(
        on_nodes(2, *jobs), objective="maximum-lateness", fixed=[Fixed("A", start=6.0)], time_limit=10.0
    )
    assert result.status == "infeasible"


@pytest.mark.parametrize("seed", range(8))
def test_it_proves_what_brute_force_finds(seed):
    instance, slot = small_feature_instance(seed)
    due = [job.replace(due_date=10.0 * (j % 3)) for j, job in enumerate(instance.jobs)]
    instance = instance.replace(jobs=due)
    clock = slot if seed % 2 else None
    expected = brute_force_oas(instance, clock, objective="maximum-lateness")
    result = coalloc.solve(instance, objective="maximum-lateness", slot=clock, time_limit=10.0)
    if expected.feasible:
        assert (result.status, result.objective) == ("optimal", pytest.approx(expected.objective))
    else:
        assert result.status == "infeasible"
