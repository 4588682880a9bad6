"""From a trace to an instance."""

import csv
import gzip
import logging
import tracemalloc
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalloc.documents.errors import ArgumentError
from coalloc.instance import Cluster, CoallocError, InstanceError, NodeGroup, Platform
from coalloc.workloads.communication import largest_task_bandwidth, task_bandwidth
from coalloc.workloads.swf import SwfOptions, pool, read_swf, read_swf_with_report
from coalloc.workloads.swf_rules import RecordChange

SHARED = Path(__file__).parents[3] / "shared"
needs_traces = pytest.mark.skipif(not SHARED.is_dir(), reason="the folder of traces, ../shared, is absent")


def line(number, submit=0, run=100, processors=4, requested=4, request=200, user=1):
    return f"{number} {submit} -1 {run} {processors} -1 -1 {requested} {request} -1 1 {user} 1 -1 1 -1 -1 -1\n"


# Jobs 1, 2, 4, 6, 7, 8 are valid on 16 processors; 3 does not run and 5 is too large.
TRACE = "".join(
    [
        "; Version: 2.2\n; MaxProcs: 1664 (72, 1368, 224)\n",
        line(1, submit=50),
        line(2, submit=60, run=300),
        line(3, submit=61, run=0),
        line(4, submit=70, processors=-1, requested=2),
        line(5, submit=71, processors=20),
        line(6, submit=80, request=-1, user=-1),
        line(7, submit=90, processors=16),
        line(8, submit=95, run=999),
    ]
)


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "small.swf"
    path.write_text(TRACE)
    return path


def clusters(*nodes):
    return Platform(tuple(Cluster(f"C{i}", (NodeGroup(n, 1.0),), 20.0) for i, n in enumerate(nodes, start=1)))


def test_an_instance_on_one_pool(trace):
    instance = read_swf(trace, processors=16)
    assert instance.name == "small"
    assert instance.platform.num_processors == 16
    assert [(j.id, j.arrival, j.tasks, j.base_time, j.estimate, j.user) for j in instance.jobs] == [
        ("1", 50.0, 4, 100.0, 200.0, "1"),
        ("2", 60.0, 4, 200.0, 200.0, "1"),
        ("4", 70.0, 2, 100.0, 200.0, "1"),
        ("6", 80.0, 4, 100.0, 100.0, None),
        ("7", 90.0, 16, 100.0, 200.0, "1"),
        ("8", 95.0, 4, 200.0, 200.0, "1"),
    ]
    assert {(j.processing_share, j.task_bandwidth) for j in instance.jobs} == {(1.0, 0.0)}


def test_a_job_that_is_read_passes_every_check_and_users_are_one(trace):
    instance = read_swf(trace, platform=clusters(12, 4), communication="seeded", invalid="one-second")
    for job in instance.jobs:
        assert job.replace() == job
        assert [type(getattr(job, f.name)) for f in fields(job)] == [
            type(getattr(job.replace(), f.name)) for f in fields(job)
        ]
    first, second = instance.job_by_id["1"], instance.job_by_id["2"]
    assert first.user is second.user


def test_a_job_takes_its_numbers_and_its_id(tmp_path):
    # Its number as a text 64, and 8 in each of 8 columns, which have room for an eighth more; the 9 users are one each.
    path = tmp_path / "long.swf"
    path.write_text("".join(line(n, submit=10 * n, run=n % 97 + 1, user=n % 9) for n in range(1, 4001)))
    read_swf(path, 16)
    tracemalloc.start()
    try:
        instance = read_swf(path, 16)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(instance.jobs) == 4000
    assert held <= (64 + 8 * 9) * 4000


def test_every_change_is_counted_and_said(trace, caplog):
    _, report = read_swf_with_report(trace, pool(16))
    assert (report.num_records, report.num_jobs) == (8, 6)
    assert report.changes == {
        RecordChange.NO_RUN: 1,
        RecordChange.TOO_LARGE: 1,
        RecordChange.REQUESTED_PROCESSORS: 1,
        RecordChange.NO_REQUEST: 1,
        RecordChange.CUT: 2,
    }
    assert report.sentences == (
        "8 jobs read, 6 in the instance",
        "1 job dropped: run time not above 0",
        "1 job dropped: more processors than the platform",
        "1 job changed: no processors allocated, requested processors used",
        "1 job changed: no requested walltime, run time used",
        "2 jobs changed: run time cut to the requested walltime",
    )
    with caplog.at_level(logging.WARNING, logger="coalloc.workloads.swf"):
        read_swf(trace, 16)
    assert [r.getMessage() for r in caplog.records] == [f"{trace}: {s}" for s in report.sentences[1:]]


def test_invalid_and_oversize_jobs_can_be_mended(trace):
    options = SwfOptions(invalid="one-second", oversize="clip")
    instance, report = read_swf_with_report(trace, pool(16), options)
    assert [(j.id, j.tasks, j.base_time) for j in instance.jobs[2:5]] == [
        ("3", 4, 1.0),
        ("4", 2, 100.0),
        ("5", 16, 100.0),
    ]
    assert "1 job set to a run time of 1 s: run time not above 0" in report.sentences
    assert "1 job reduced to the size of the platform: more processors than the platform" in report.sentences


def test_a_slice_holds_positions_among_the_valid_jobs_and_starts_at_0(trace):
    instance = read_swf(trace, 16, slice="1:4")
    assert instance.name == "small-1-4"
    assert [(j.id, j.arrival) for j in instance.jobs] == [("2", 0.0), ("4", 10.0), ("6", 20.0)]
    assert [j.arrival for j in read_swf(trace, 16, slice="1:4", shift=False).jobs] == [60.0, 70.0, 80.0]
    assert [j.arrival for j in read_swf(trace, 16, shift=True).jobs][:2] == [0.0, 10.0]
    assert [j.id for j in read_swf(trace, 16, slice="4:").jobs] == ["7", "8"]
    assert [j.id for j in read_swf(trace, 16, slice=":2").jobs] == ["1", "2"]


def test_a_slice_counts_drops_up_to_its_end_and_other_changes_within(trace):
    # Read up to job 4 at position 2: job 3 was dropped on the way, job 2's cut is before the slice.
    _, report = read_swf_with_report(trace, pool(16), SwfOptions(slice="2:3"))
    assert report.num_records == 4
    assert report.changes == {RecordChange.NO_RUN: 1, RecordChange.REQUESTED_PROCESSORS: 1}


@given(st.integers(0, 5), st.integers(1, 6))
def test_slices_are_parts_of_the_whole(tmp_path_factory, start, length):
    path = tmp_path_factory.mktemp("slices") / "small.swf"
    path.write_text(TRACE)
    stop = min(6, start + length)
    options = {"communication": "seeded", "seed": 3, "shift": False}
    whole = read_swf(path, platform=clusters(12, 4), **options)
    part = read_swf(path, platform=clusters(12, 4), slice=f"{start}:{stop}", **options)
    assert part.jobs == whole.jobs[start:stop]


@pytest.mark.parametrize("beyond", ["4:7", "6:", "100:108"])
def test_a_trace_that_ends_before_the_slice_is_an_error(trace, beyond):
    with pytest.raises(InstanceError, match=f"slice: must be within the 6 valid jobs of the trace, got '{beyond}'"):
        read_swf(trace, 16, slice=beyond)


@pytest.mark.parametrize("wrong", ["", "5", "1:2:3", "-1:3", "a:b", "3:3", "4:2", "1.0:2"])
def test_a_slice_that_is_none_is_an_error(trace, wrong):
    with pytest.raises(ArgumentError, match="slice: must "):
        read_swf(trace, 16, slice=wrong)


def test_an_unknown_way_is_an_error_that_lists_the_known_ones(trace):
    with pytest.raises(ArgumentError, match="invalid: must be 'drop' or 'one-second', got 'keep'"):
        read_swf(trace, 16, invalid="keep")


def test_either_processors_or_a_platform(trace):
    for wrong in ({}, {"processors": 16, "platform": pool(16)}):
        with pytest.raises(CoallocError, match="either processors= or platform="):
            read_swf(trace, **wrong)


def test_communication_is_drawn_from_its_ranges_and_capped(trace):
    platform = clusters(12, 4)
    options = SwfOptions(communication="seeded", seed=1)
    instance, _ = read_swf_with_report(trace, platform, options)
    for job in instance.jobs:
        assert 0.5 <= job.processing_share <= 0.9
        assert job.task_bandwidth >= min(task_bandwidth(0.0125, job.tasks), largest_task_bandwidth(job.tasks, platform))
        assert job.task_bandwidth <= min(task_bandwidth(0.125, job.tasks), largest_task_bandwidth(job.tasks, platform))
    # Job 7 fills both clusters: 4 inside, 4 * PTBW * 12/15 <= 20, less than what any BSBW above 15 MB/s asks.
    assert instance.job_by_id["7"].task_bandwidth == pytest.approx(6.25, rel=0.2)
    assert read_swf_with_report(trace, platform, options)[0] == instance
    assert read_swf_with_report(trace, platform, SwfOptions(communication="seeded", seed=2))[0] != instance


def test_what_a_job_draws_does_not_depend_on_the_platform(trace):
    # On 4 processors job 7 is dropped; the shares of the others stay.
    options = {"communication": "seeded", "seed": 1}
    large = read_swf(trace, platform=clusters(12, 4), **options).job_by_id
    for job in read_swf(trace, platform=clusters(4), **options).jobs:
        assert job.processing_share == large[job.id].processing_share


def test_broken_lines_are_errors_with_their_numbers_all_at_once(trace):
    trace.write_text(TRACE + "9 1 2\n" + line(10) + "x\n")
    with pytest.raises(InstanceError) as caught:
        read_swf(trace, 16)
    assert [str(fault) for fault in caught.value.faults] == [
        "line 11: must have 18 numbers, got 3",
        "line 13: must have 18 numbers, got 'x' among 1 (broken=\"drop\" or --broken drop skips malformed lines)",
    ]
    assert str(caught.value).startswith(f"{trace}: line 11: ")
    # Reading stops where a slice does: what is behind it is not looked at.
    assert len(read_swf(trace, 16, slice="0:6").jobs) == 6


def test_broken_lines_can_be_left_out_and_are_said(trace):
    trace.write_text(TRACE + "9 1 2\n" + line(10))
    instance, report = read_swf_with_report(trace, pool(16), SwfOptions(broken="drop"))
    assert instance.jobs[-1].id == "10"
    assert report.num_broken == 1
    assert report.sentences[-2:] == ("1 malformed line skipped", "line 11: must have 18 numbers, got 3")


def test_of_many_broken_lines_the_first_are_named(trace):
    trace.write_text(TRACE + "x\n" * 50)
    with pytest.raises(InstanceError, match="more than 20 lines are malformed") as caught:
        read_swf(trace, 16)
    assert len(caught.value.faults) == 21
    _, report = read_swf_with_report(trace, pool(16), SwfOptions(broken="drop"))
    assert (report.num_broken, len(report.broken)) == (50, 20)


def test_arrivals_need_not_be_in_order(trace):
    trace.write_text(line(1, submit=50) + line(2, submit=40) + line(3, submit=45))
    assert [j.arrival for j in read_swf(trace, 16, slice="0:3").jobs] == [10.0, 0.0, 5.0]


def test_a_trace_without_jobs_is_an_instance_without_jobs(trace):
    trace.write_text("; nothing happened\n")
    assert read_swf(trace, 16).jobs == ()


def oracle(name):
    with gzip.open(SHARED / "oracles" / f"{name}.csv.gz", "rt") as rows:
        return list(csv.DictReader(rows))


@needs_traces
def test_the_first_jobs_of_kth_are_those_of_an_independent_reader():
    # The oracle's estimate is the longer of request and run; a run above its request says which.
    trace = SHARED / "data" / "swf" / "KTH-SP2-1996-2.1-cln.swf.gz"
    jobs = read_swf(trace, 100, slice=":4999", shift=False, invalid="one-second").jobs
    for job, row in zip(jobs, oracle("kth_first5000.fcfs_easy"), strict=False):
        assert (job.id, job.arrival, job.base_time) == (row["id"], float(row["submit"]), float(row["run"]))
        assert job.tasks == int(row["procs"])
        assert job.estimate == min(float(row["est"]), job.estimate)


@needs_traces
def test_the_changes_to_a_real_trace_are_those_counted_by_hand():
    # Counted with awk over the 28,476 records: 8 with run <= 0, one more without any processors (it
    # runs), and 475 whose run time is above the request.
    trace = SHARED / "data" / "swf" / "KTH-SP2-1996-2.1-cln.swf.gz"
    _, report = read_swf_with_report(trace, pool(100))
    assert (report.num_records, report.num_jobs) == (28476, 28467)
    assert report.changes == {RecordChange.NO_RUN: 8, RecordChange.NO_PROCESSORS: 1, RecordChange.CUT: 475}
