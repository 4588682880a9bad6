"""Schedules as values, and the colouring of intervals with processors."""

from __future__ import annotations

import gc
import pickle
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

import coalloc
from coalloc.checker import check
from coalloc.instance import Cluster, Instance, InstanceError, Job, NodeGroup, Platform, RunningJob
from coalloc.problem.allocation import allocation_of, node_classes
from coalloc.schedule import Occupation, Placement, Schedule, assign_nodes
from coalloc.schedule.files import read_schedule, write_schedule
from tests.strategies import LAW, instances, list_schedule

PLATFORM = Platform((Cluster("C1", (NodeGroup(2, 1.0), NodeGroup(2, 0.5)), 1.0),))
CLASSES = node_classes(PLATFORM)


def test_a_schedule_is_a_collection_of_placements():
    first, second = Placement("A", 0.0, 1.0, ("C1/0",)), Placement("B", 1.0, 3.0, ("C1/0", "C1/1"), "killed")
    schedule = Schedule((first, second))
    assert list(schedule) == [first, second]
    assert len(schedule) == 2
    assert schedule["B"] is second
    with pytest.raises(KeyError):
        schedule["C"]
    frame = schedule.to_frame()
    assert list(frame.columns) == ["job", "start", "end", "nodes", "outcome"]
    assert frame.to_numpy().tolist()[1] == ["B", 1.0, 3.0, ("C1/0", "C1/1"), "killed"]
    assert list(Schedule(()).to_frame().columns) == list(frame.columns)


def test_a_simulated_schedule_is_that_of_its_placements(tmp_path):
    # J1 holds one processor from 1 to 11 s, J2 two from 2 to 22 s; until then three are not free for J3.
    pool = Platform([Cluster("C1", [NodeGroup(4, power=1.0)], link_bandwidth=10.0)])
    jobs = [Job(f"J{n}", tasks=n, base_time=10.0 * n, arrival=float(n)) for n in (1, 2, 3)]
    schedule = coalloc.simulate(Instance(pool, jobs), "fcfs").schedule
    same = Schedule(
        [
            Placement("J1", 1.0, 11.0, ["C1/0"]),
            Placement("J2", 2.0, 22.0, ["C1/1-2"]),
            Placement("J3", 22.0, 52.0, ["C1/0-2"]),
        ]
    )
    assert (schedule, hash(schedule), repr(schedule)) == (same, hash(same), repr(same))
    assert (schedule["J2"], schedule.placements[-1]) == (same["J2"], same.placements[-1])
    assert schedule.placements[:2] == same.placements[:2]
    assert schedule.to_frame().equals(same.to_frame())
    assert pickle.loads(pickle.dumps(schedule)) == same
    for number, written in enumerate((schedule, same)):
        write_schedule(written, tmp_path / f"{number}.json")
    assert (tmp_path / "0.json").read_bytes() == (tmp_path / "1.json").read_bytes()
    assert read_schedule(tmp_path / "0.json") == schedule
    with pytest.raises(KeyError, match="no placement of job 'J4'"):
        schedule["J4"]


def test_a_simulated_placement_takes_its_times_and_the_number_of_its_processors():
    # Id, start and end 8 each, the texts of the ids being those of the jobs, and 4 for which of the sets of processors,
    # of which there is one here. All else, such as that set, takes less than 4 a job.
    pool = Platform([Cluster("C1", [NodeGroup(1, power=1.0)], link_bandwidth=10.0)])
    instance = Instance(pool, [Job(f"J{n}", tasks=1, base_time=1.0, arrival=float(n)) for n in range(4000)])
    coalloc.simulate(instance, "fcfs")
    tracemalloc.start()
    try:
        schedule = coalloc.simulate(instance, "fcfs").schedule
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(schedule) == 4000
    assert held <= (3 * 8 + 4 + 4) * 4000


@pytest.mark.parametrize(
    "fields", [{"start": float("nan")}, {"end": float("inf")}, {"outcome": "lost"}, {"job": ""}, {"nodes": "C1/0"}]
)
def test_a_placement_is_validated(fields):
    with pytest.raises(InstanceError):
        Placement(**({"job": "A", "start": 0.0, "end": 1.0, "nodes": ()} | fields))


def test_the_lowest_free_processors_are_taken_by_start_and_intervals_are_half_open():
    intervals = [
        Occupation("late", 10.0, 20.0, (2, 0)),  # takes what "first" and "second" give back at 10
        Occupation("first", 0.0, 10.0, (1, 1)),
        Occupation("second", 5.0, 10.0, (1, 0)),
    ]
    assert assign_nodes(Instance(PLATFORM, ()), CLASSES, intervals) == [("C1/0", "C1/1"), ("C1/0", "C1/2"), ("C1/1",)]


def test_running_jobs_keep_their_processors():
    instance = Instance(PLATFORM, (), (RunningJob(Job("R", 1, 1.0), ("C1/0",), 10.0),))
    before, after = Occupation("before", 0.0, 99.0, (1, 0)), Occupation("after", 10.0, 20.0, (1, 0))
    assert assign_nodes(instance, CLASSES, [before, after]) == [("C1/1",), ("C1/0",)]
    with pytest.raises(ValueError, match=r"2 tasks of job 'both' do not fit on node class 0 at 9\.0 s"):
        assign_nodes(instance, CLASSES, [Occupation("both", 9.0, 20.0, (2, 0))])


def test_back_to_back_within_rounding_is_no_conflict():
    intervals = [Occupation("A", 0.0, 0.1 + 0.2, (2, 0)), Occupation("B", 0.3, 1.0, (2, 0))]
    assert assign_nodes(Instance(PLATFORM, ()), CLASSES, intervals) == [("C1/0", "C1/1")] * 2


def test_what_lasts_no_time_occupies_nothing():
    # Whoever holds both nodes; what comes after it is not hindered by it either.
    intervals = [
        Occupation("A", 0.0, 10.0, (2, 0)),
        Occupation("none", 5.0, 5.0, (2, 0)),
        Occupation("B", 10.0, 20.0, (2, 0)),
    ]
    names = assign_nodes(Instance(PLATFORM, ()), CLASSES, intervals)
    assert [sorted(of_job) for of_job in names[::2]] == [sorted(names[0])] * 2
    assert names[1] == tuple(sorted(names[0])[:2])


@LAW
@given(instances(max_jobs=8, max_cores=2, max_running=2), st.sampled_from(("platform", "cluster", "node")))
def test_counts_that_fit_can_always_be_coloured(instance, scope):
    # The list schedule names processors, so its counts fit; coloured anew from the counts alone it stays valid.
    reduced, schedule = list_schedule(instance, scope)
    classes = node_classes(instance.platform, scope)
    index = instance.platform.processor_index
    intervals = [
        Occupation(p.job, p.start, p.end, allocation_of((index[n] for n in p.nodes), classes)) for p in schedule
    ]
    coloured = assign_nodes(reduced, classes, intervals)
    renamed = tuple(p.replace(nodes=nodes) for p, nodes in zip(schedule, coloured, strict=True))
    assert check(reduced, Schedule(renamed), scope=scope) == []


def test_a_job_that_is_not_placed_is_named():
    with pytest.raises(KeyError, match=r"no placement of job 0; schedule\.placements lists all placements"):
        Schedule((Placement("J1", 0.0, 1.0, ("C1/0",)),))[0]
