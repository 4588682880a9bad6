"""The optimum rounded down: by hand, against brute force, and below every schedule in continuous time."""

import pytest
from hypothesis import given, settings

from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform
from coalloc.solvers.backends import cpsat
from coalloc.solvers.slotting_bound import RoundedDown, rounded_down_makespan
from coalloc.testing.brute_force import brute_force_oas
from tests.small_instances import TINY, slotted_instances, small_instance


def one_node(*base_times, arrival=0.0):
    """Return jobs of these base times, s, that run one after the other."""
    platform = Platform([Cluster("C1", [NodeGroup(1, power=1.0)], link_bandwidth=1.0)])
    return Instance(platform, [Job(f"J{i}", 1, time, arrival=arrival) for i, time in enumerate(base_times)])


@pytest.mark.parametrize(
    ("slot", "floor"),
    # 25, 14 and 9 s: 2 + 1 + 0 slots of 10 s; 1 + 0 + 0 of 20 s; 5 + 2 + 1 of 5 s; none of 30 s.
    [(10.0, 30.0), (20.0, 20.0), (5.0, 40.0), (30.0, 0.0)],
)
def test_durations_are_rounded_down_and_a_job_of_no_slot_occupies_nothing(slot, floor):
    assert rounded_down_makespan(one_node(25.0, 14.0, 9.0), slot) == RoundedDown(floor, is_proven=True)


def test_the_makespan_counts_from_the_arrival_as_it_is():
    # It arrives at 15 s, in slot 1, and takes 2 slots of 10 s: to 30 s, which is 15 s after it arrived.
    assert rounded_down_makespan(one_node(25.0, arrival=15.0), 10.0) == RoundedDown(15.0, is_proven=True)


def test_no_jobs_take_no_time():
    assert rounded_down_makespan(one_node(), 10.0) == RoundedDown(0.0, is_proven=True)


def test_an_instance_without_a_schedule_has_no_floor():
    clusters = [Cluster(name, [NodeGroup(1, power=1.0)], link_bandwidth=1.0) for name in ("C1", "C2")]
    job = Job("J1", tasks=2, base_time=100.0, processing_share=0.5, task_bandwidth=10.0)
    with pytest.raises(CoallocError, match="'J1' saturates a link on every allocation"):
        rounded_down_makespan(Instance(Platform(clusters), [job]), 10.0)


@pytest.mark.parametrize("with_cpsat", [pytest.param(True, marks=pytest.mark.extras), False])
@pytest.mark.parametrize("seed", range(8))
def test_it_is_the_optimum_of_brute_force(monkeypatch, seed, with_cpsat):
    if with_cpsat and not cpsat.is_installed():
        pytest.skip("the extra cpsat is not installed")
    monkeypatch.setattr(cpsat, "is_installed", lambda: with_cpsat)
    instance, slot = small_instance(seed)
    floor = brute_force_oas(instance, slot, rounding="down").objective
    found = rounded_down_makespan(instance, slot)
    assert found.is_proven
    assert found.lower_bound == pytest.approx(max(0.0, floor), rel=1e-9, abs=1e-9)


@given(slotted_instances(TINY))
@settings(max_examples=15, deadline=None)
def test_it_is_never_above_the_optimum_in_continuous_time(given_pair):
    instance, slot = given_pair
    continuous = brute_force_oas(instance, None).objective
    assert rounded_down_makespan(instance, slot).lower_bound <= continuous * (1.0 + 1e-9) + 1e-9
