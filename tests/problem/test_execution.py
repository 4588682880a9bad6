"""The execution model against numbers worked by hand."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalloc.instance import Cluster, Job, NodeGroup, Platform, Switch
from coalloc.problem.execution import (
    Load,
    communication_slowdown,
    execution_time,
    link_load,
    link_loads,
    processing_slowdown,
    shared_link_ends,
)
from tests.strategies import LAW


@pytest.mark.parametrize(
    ("tasks", "base_time", "share", "powers", "expected"),
    [
        (2, 100.0, 0.5, (0.75, 0.75), 116.667),
        (3, 50.0, 0.7, (0.75, 0.75, 0.5), 85.0),  # the table prints 100 s (errata 15)
        (2, 75.0, 0.5, (0.75, 0.75), 87.5),
        (2, 100.0, 0.7, (0.75, 0.75), 123.333),
        (3, 50.0, 0.7, (0.5, 0.25, 0.15), 248.333),  # table 3.5, printed as 258.3
        (2, 100.0, 0.7, (0.5, 0.25), 310.0),  # table 3.5, printed as 330
    ],
)
def test_execution_times_of_the_mesd_example(tasks, base_time, share, powers, expected):
    job = Job("J", tasks, base_time, share)
    assert execution_time(job, processing_slowdown(powers)) == pytest.approx(expected, abs=5e-4)


@pytest.mark.parametrize(("inside", "expected"), [(0, 0.0), (1, 10.0), (2, 40.0 / 3.0), (3, 10.0), (4, 0.0)])
def test_the_load_of_a_link_is_the_traffic_across_the_cut(inside, expected):
    # 4 tasks of 10 MB/s, a third of it to each other task: inside * 10 * (4 - inside)/3.
    assert link_load(inside, Job("J", 4, 1.0, task_bandwidth=10.0)) == pytest.approx(expected)


def test_a_single_task_loads_nothing():
    assert link_load(1, Job("J", 1, 1.0, task_bandwidth=10.0)) == 0.0


def test_loads_in_cascaded_switches():
    # A and B hang on S1, S1 on S2, C on S2, D on the root S0. 5 tasks of 8 MB/s, 2 MB/s to each other task:
    # A 2*3, B 1*4, C 1*4, D 1*4, S1 (3 inside) 3*2, S2 (4 inside) 4*1 pairs, times 2 MB/s.
    group = (NodeGroup(2, 1.0),)
    platform = Platform(
        (
            Cluster("A", group, 1.0, "S1"),
            Cluster("B", group, 1.0, "S1"),
            Cluster("C", group, 1.0, "S2"),
            Cluster("D", group, 1.0),
        ),
        (Switch("S1", "S2", 1.0), Switch("S2", "S0", 1.0)),
    )
    job = Job("J", 5, 1.0, task_bandwidth=8.0)
    loads = dict(zip((link.name for link in platform.links), link_loads(job, (2, 1, 1, 1), platform), strict=True))
    assert loads == pytest.approx({"A": 12.0, "B": 8.0, "C": 8.0, "D": 8.0, "S1": 12.0, "S2": 8.0})


@given(tasks=st.integers(2, 30), data=st.data())
def test_a_link_carries_as_much_as_the_other_side_of_the_cut(tasks, data):
    job = Job("J", tasks, 1.0, task_bandwidth=data.draw(st.floats(0.0, 100.0)))
    inside = data.draw(st.integers(0, tasks))
    assert link_load(inside, job) == pytest.approx(link_load(tasks - inside, job))


def test_only_links_that_the_job_loads_slow_it_down():
    # 30/10 on the first link, 5/10 (no slowdown below 1) on the second, the third is saturated by others.
    assert communication_slowdown((10.0, 5.0, 0.0), (30.0, 5.0, 99.0), (10.0, 10.0, 1.0)) == 3.0
    assert communication_slowdown((0.0, 5.0, 0.0), (30.0, 5.0, 99.0), (10.0, 10.0, 1.0)) == 1.0
    assert communication_slowdown((1.0,), (1.0,), (0.0,)) == math.inf


def test_a_job_that_does_not_communicate_ignores_closed_links():
    assert execution_time(Job("J", 2, 100.0, 1.0), 2.0, math.inf) == 200.0
    assert execution_time(Job("J", 2, 100.0, 0.5), 2.0, math.inf) == math.inf


# Two jobs over one link of 10 MB/s, each loading it with 20: alone SC 2, together SC 4. SP is 2, sigma 0.5, Tb 100:
# alone Te = 100 * (0.5*2 + 0.5*2) = 200, together 100 * (0.5*2 + 0.5*4) = 300.
JOB = Job("J", 2, 100.0, 0.5, task_bandwidth=20.0)


def crossing(start: float, end: float | None = None, load: float = 20.0) -> Load:
    return Load(JOB, start, (load,), 2.0, end)


def test_a_job_alone_meets_its_own_saturation():
    assert shared_link_ends({"A": crossing(30.0)}, [10.0]) == {"A": 230.0}


def test_the_second_job_arrives_in_the_middle_of_the_first():
    # A: half done at 100, the other half together: 150, ends at 250. B: 150/300 done by 250, the rest alone: 100.
    ends = shared_link_ends({"A": crossing(0.0), "B": crossing(100.0)}, [10.0])
    assert ends == pytest.approx({"A": 250.0, "B": 350.0})


def test_simultaneous_starts_and_ends():
    # A and B share all the way, 300 each; C starts just when they end and is alone.
    ends = shared_link_ends({"A": crossing(0.0), "B": crossing(0.0), "C": crossing(300.0)}, [10.0])
    assert ends == pytest.approx({"A": 300.0, "B": 300.0, "C": 500.0})


def test_a_gap_between_jobs():
    assert shared_link_ends({"A": crossing(1000.0), "B": crossing(0.0)}, [10.0]) == {"B": 200.0, "A": 1200.0}


def test_a_running_job_loads_links_until_its_given_end():
    # Together until 150: half done; the rest alone takes 100.
    ends = shared_link_ends({"R": crossing(0.0, end=150.0), "A": crossing(0.0)}, [10.0])
    assert ends == pytest.approx({"R": 150.0, "A": 250.0})


@pytest.mark.parametrize("end", [0.0, -10.0])
def test_a_running_job_that_has_ended_loads_nothing(end):
    assert shared_link_ends({"R": crossing(0.0, end=end), "A": crossing(0.0)}, [10.0]) == {"R": end, "A": 200.0}


def test_a_job_without_load_shares_nothing():
    # SC = 1: Te = 100 * (0.5*2 + 0.5) = 150.
    ends = shared_link_ends({"A": crossing(0.0), "B": crossing(0.0, load=0.0)}, [10.0])
    assert ends == pytest.approx({"A": 200.0, "B": 150.0})


def test_on_a_link_of_no_bandwidth_a_job_never_ends():
    ends = shared_link_ends({"A": crossing(0.0), "B": crossing(5.0, load=0.0), "C": crossing(400.0)}, [0.0])
    assert ends == {"A": math.inf, "B": 155.0, "C": math.inf}


def test_nothing_runs():
    assert shared_link_ends({}, [10.0]) == {}


@LAW
@given(st.lists(st.tuples(st.floats(0.0, 500.0), st.sampled_from((0.0, 3.0, 8.0, 20.0))), min_size=1, max_size=6))
def test_sharing_never_shortens_a_job_and_one_more_job_never_helps(drawn):
    loads = {str(i): crossing(start, load=load) for i, (start, load) in enumerate(drawn)}
    ends = shared_link_ends(loads, [10.0])
    alone = {name: shared_link_ends({name: load}, [10.0])[name] for name, load in loads.items()}
    without_first = shared_link_ends({name: load for name, load in loads.items() if name != "0"}, [10.0])
    assert all(ends[name] >= alone[name] - 1e-6 for name in loads)
    assert all(ends[name] >= without_first[name] - 1e-6 for name in without_first)
