"""The linear programme below the energy of every schedule."""

import math
import warnings

import numpy as np
import pytest

import coalloc
from coalloc import (
    Cluster,
    CoallocError,
    Fixed,
    Instance,
    Job,
    NodeGroup,
    Platform,
    RunningJob,
    Shape,
    Window,
)
from coalloc.extend import AllowedStarts, Budget, Calendar, Constraint, TimeBounds, TimeRow
from coalloc.instance.features import FEATURES
from coalloc.problem import discretisation
from coalloc.results import RelaxedFeatureWarning
from coalloc.testing.brute_force_energy import brute_force_energy
from coalloc.testing.features import with_features
from coalloc.testing.small import small_metered_instance
from tests.instance.test_features import EXAMPLES
from tests.simulator.test_features import with_watts
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


@pytest.mark.filterwarnings("ignore::coalloc.results.RelaxedFeatureWarning")
@pytest.mark.parametrize("objective", ["energy", "edp"])
@pytest.mark.parametrize("seed", range(15))
def test_the_bound_is_below_the_optimum_with_features(seed, objective):
    instance, slot = small_metered_instance(seed)
    rng, scope = np.random.default_rng([seed, 9]), ("platform", "cluster", "node")[seed % 3]
    names = [name for name in FEATURES if rng.random() < 0.15] or ["shapes"]
    instance = with_features(instance.replace(jobs=instance.jobs[:2]), rng, names)
    best = brute_force_energy(instance, slot, objective, scope).objective
    try:
        bound = coalloc.lower_bound(instance, objective, scope=scope)
    except CoallocError:  # a job fits nowhere
        bound = math.inf
    assert bound <= best * (1.0 + 1e-9)


def test_a_job_takes_the_times_that_it_names():
    # 4 s of two cores on the frugal node, 2 W each with the static watts, as in the first test: 16 J, and 2 W for 4 s.
    instance = two_nodes(Job("J1", 2, 10.0, times={"mic": 4.0}))
    groups = instance.platform.clusters[0].nodes
    nodes = [groups[0], groups[1].replace(features=["mic"])]
    equipped = instance.replace(platform=Platform([Cluster("C1", nodes, 0.0)]))
    assert coalloc.lower_bound(equipped, "energy") == pytest.approx(24.0)


def test_a_moldable_job_takes_its_least_work():
    # Least core-seconds on the frugal node are 30, of one task, 60 J at 2 W; the earliest end there is that of two
    # tasks, 20 s, with 2 W idle: 100 J. On the fast one 15 core-seconds take 150 J. The optimum is two tasks: 120 J.
    instance = two_nodes(Job("J1", 2, 10.0, shapes=[Shape(1, 15.0)]))
    assert brute_force_energy(instance, 5.0).objective == pytest.approx(120.0)
    assert coalloc.lower_bound(instance, "energy") == pytest.approx(100.0)


def test_what_is_relaxed_is_named():
    jobs = [Job("J1", 1, 10.0, deadline=50.0), Job("J2", 1, 10.0, after=["J1"])]
    instance = two_nodes(*jobs)
    free = coalloc.lower_bound(two_nodes(Job("J1", 1, 10.0), Job("J2", 1, 10.0, arrival=10.0)), "energy")
    with pytest.warns(RelaxedFeatureWarning) as found:
        assert coalloc.lower_bound(instance, "energy") == pytest.approx(free)  # J2 starts at 10 s or later
    assert [str(warning.message) for warning in found] == [
        "lower_bound with objective 'energy' relaxes 'deadline', 'after'; it also holds without"
    ]
    assert found[0].filename == __file__


class Late(Constraint):
    """J1 starts at 20 s or later."""

    def declare(self, instance):
        return [TimeBounds("J1", earliest_start=20.0)]


class LateByFaults(Constraint):
    def faults(self, instance, schedule):
        return [f"{p.job} starts early" for p in schedule if p.start < 20.0]


class LateByRows(Constraint):
    def declare(self, instance):
        return [TimeRow(((1, "end", "J1"),), 40.0)]


def test_constraints_and_fixed_parts_bound_energy_as_well():
    # One task takes 20 s on the frugal node at 2 W, and two nodes idle at 1 W from 0 s on: 80 J. It starts at 20 s or
    # later: 40 J more. Of faults alone nothing is known, nor that it ends by some time: 2 W idle for the 10 s that any
    # schedule takes. Rows say nothing that the programme reads.
    instance = two_nodes(Job("J1", 1, 10.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert coalloc.lower_bound(instance, "energy") == pytest.approx(80.0)
        assert coalloc.lower_bound(instance, "energy", constraints=[Late()]) == pytest.approx(120.0)
    for named, given, bound in (
        ("constraint LateByFaults", {"constraints": [LateByFaults()]}, 60.0),
        ("constraint LateByRows", {"constraints": [LateByRows()]}, 80.0),
        ("fixed", {"fixed": [Fixed("J1", start=20.0)]}, 120.0),
    ):
        with pytest.warns(RelaxedFeatureWarning, match=f"'energy' relaxes {named}; it also holds without$"):
            assert coalloc.lower_bound(instance, "energy", **given) == pytest.approx(bound)


def test_a_node_on_fixed_assignments_is_the_one_that_draws():
    instance = two_nodes(Job("J1", 2, 10.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it reads all of that
        bound = coalloc.lower_bound(instance, "energy", fixed=[Fixed("J1", nodes=("C1/0.0", "C1/0.1"))])
    assert bound == pytest.approx(220.0)  # on the fast one, as in the first test


def test_outages_and_reservations_leave_idle_watts():
    # The fast node is away up to 100 s, or reserved: the frugal one draws what it draws in the first test.
    instance = two_nodes(Job("J1", 2, 10.0))
    closed = instance.platform.replace(unavailable=[Window("C1", 0.0, 100.0, nodes=["C1/0"])])
    reserved = RunningJob(Job("R1", 2, 50.0), ("C1/0.0", "C1/0.1"), 100.0, start=50.0)
    for changed, name in (
        (instance.replace(platform=closed), "unavailable"),
        (instance.replace(running=[reserved]), "start"),
    ):
        with pytest.warns(RelaxedFeatureWarning, match=f"relaxes '{name}'"):
            assert coalloc.lower_bound(changed, "energy") == pytest.approx(120.0)


class Anywhere(Constraint):
    """A budget that forbids nothing, and a calendar."""

    def __init__(self, period):
        self.period = period

    def declare(self, instance):
        yield Budget(lambda job, tasks: 0.0, 1.0)
        yield from (AllowedStarts(job.id, Calendar(self.period)) for job in instance.jobs)


@pytest.mark.parametrize("objective", ["makespan", "energy", "mean-wait", "used-clusters"])
def test_constraints_that_no_method_supports_are_relaxed(objective, monkeypatch):
    instance = two_nodes(Job("J1", 2, 10.0), Job("J2", 1, 10.0))
    alone = coalloc.lower_bound(instance, objective)
    match = f"^lower_bound with objective '{objective}' relaxes constraint Anywhere, constraint Anywhere; it also"
    with pytest.warns(RelaxedFeatureWarning, match=match):
        assert coalloc.lower_bound(instance, objective, constraints=[Anywhere(1.0), Anywhere(math.pi)]) == alone
    monkeypatch.setattr(discretisation, "MAX_MODES", 1)
    with pytest.warns(RelaxedFeatureWarning, match="relaxes constraint Anywhere; it also"):
        assert coalloc.lower_bound(instance, objective, constraints=[Anywhere(1.0)]) == alone


@pytest.mark.parametrize("objective", ["energy", "edp"])
@pytest.mark.filterwarnings("ignore::coalloc.results.RelaxedFeatureWarning")
def test_no_feature_is_refused(objective):
    for instance in EXAMPLES.values():
        assert coalloc.lower_bound(with_watts(instance), objective) > 0.0
