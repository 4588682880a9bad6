"""From an instance and its schedule to a trace, and back."""

import gzip
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

import coalloc
from coalloc.instance import Cluster, CoallocError, Instance, Job, NodeGroup, Platform, RunningJob
from coalloc.schedule import Placement, Schedule
from coalloc.workloads.swf import SwfOptions, read_swf, read_swf_with_report
from coalloc.workloads.swf_records import read_records
from coalloc.workloads.swf_writing import Loss, swf_text, write_swf, write_swf_with_report
from tests.strategies import LAW

PLATFORM = Platform((Cluster("C1", (NodeGroup(2, 1.0, cores=2),), 10.0), Cluster("C2", (NodeGroup(3, 0.5),), 10.0)))
JOBS = (
    Job("7", tasks=2, base_time=100.0, arrival=5.0, estimate=120.0, user="12"),
    Job("3", tasks=1, base_time=50.0, arrival=10.0, user="4"),
)
INSTANCE = Instance(PLATFORM, JOBS, name="two")


def rows(text):
    return [line for line in text.splitlines() if not line.startswith(";")]


def test_a_job_that_has_not_run_has_no_wait_and_no_status():
    text, report = swf_text(INSTANCE)
    assert rows(text)[0] == "7 5 -1 100 2 -1 -1 2 120 -1 -1 12 -1 -1 -1 -1 -1 -1"
    assert report.sentences == ("2 jobs written",)


def test_the_header_says_what_the_trace_is_of():
    header = [line for line in swf_text(INSTANCE)[0].splitlines() if line.startswith(";")]
    assert header[0] == "; Version: 2.2"
    assert {"; Computer: clusters of 4, 3 processors", "; MaxJobs: 2", "; MaxNodes: 5", "; MaxProcs: 7"} <= set(header)
    assert {"; UnixStartTime: 0", "; Note: instance two"} <= set(header)


def test_a_schedule_fills_in_waits_runs_and_status():
    # Job 7 waits 0.2 s and is killed after 90 s; 5.2 - 5 is 0.20000000000000018 as floats.
    schedule = Schedule(
        (
            Placement("7", 5.2, 95.2, ("C1/0.0", "C1/0.1"), outcome="killed"),
            Placement("3", 10.0, 110.0, ("C2/0",)),
        )
    )
    text, report = swf_text(INSTANCE, schedule)
    assert rows(text) == [
        "7 5 0.2 90 2 -1 -1 2 120 -1 0 12 -1 -1 -1 -1 -1 -1",
        "3 10 0 100 1 -1 -1 1 50 -1 1 4 -1 -1 -1 -1 -1 -1",
    ]
    assert report.losses == {Loss.NODES: 2, Loss.OVERRUN: 1, Loss.FRACTIONS: 1}


def test_a_job_without_a_placement_has_not_run():
    text, report = swf_text(INSTANCE, Schedule((Placement("7", 5.0, 105.0, ("C1/0.0", "C1/0.1")),)))
    assert rows(text)[1] == "3 10 -1 -1 -1 -1 -1 1 50 -1 -1 4 -1 -1 -1 -1 -1 -1"
    assert report.losses == {Loss.NODES: 1, Loss.UNSCHEDULED: 1}


def test_everything_that_is_lost_is_counted_and_said(tmp_path, caplog):
    jobs = (
        Job("J1", tasks=1, base_time=10.5, arrival=9.0, user="ann", processing_share=0.5, memory=1.0),
        Job("J2", tasks=1, base_time=10.0, arrival=8.0, user="bob", task_bandwidth=1.0, estimate=5.0),
        Job("3", tasks=1, base_time=10.0, arrival=9.0, user="ann"),
    )
    running = (RunningJob(Job("J0", tasks=1, base_time=1.0), ("C2/0",), 1.0),)
    instance = Instance(PLATFORM, jobs, running, name="a b")
    path = tmp_path / "lost.swf"
    with caplog.at_level(logging.WARNING):
        write_swf(instance, path)
    sentences = [
        "3 jobs renumbered from 1 by arrival, because not all ids are integers",
        "3 jobs with users renumbered from 1 by first job, because not all users are integers",
        "2 jobs reordered by arrival",
        "2 jobs without processing share and task bandwidth",
        "1 job without memory, energy estimate, weight or due date",
        "1 job skipped: already running, which SWF cannot represent",
        "1 job with a run time above the requested time; some programs truncate it",
        "1 job with fractions of a second, which some programs cannot read",
    ]
    assert [record.getMessage() for record in caplog.records] == [f"{path}: {sentence}" for sentence in sentences]
    text = path.read_text()
    assert [line for line in text.splitlines() if line.startswith("; Note: ")] == [
        "; Note: instance a b",
        *(f"; Note: {sentence}" for sentence in sentences),
    ]
    # J2 comes first, and bob with it.
    assert [(row[0], row[1], row[11]) for row in map(str.split, rows(text))] == [
        ("1", "8", "1"),
        ("2", "9", "2"),
        ("3", "9", "2"),
    ]


@st.composite
def traceable_jobs(draw):
    """Draw jobs that the format holds: numbered, without communication, within their estimates."""
    times = st.floats(1e-6, 1e9) | st.integers(1, 10**6).map(float)
    numbers = draw(st.lists(st.integers(0, 10**15 - 1), unique=True, max_size=8))
    jobs = []
    for number in numbers:
        base_time, spare = draw(times), draw(st.just(0.0) | times)
        user = draw(st.none() | st.integers(0, 99).map(str))
        arrival = draw(st.just(0.0) | times)
        tasks = draw(st.integers(1, 7))
        jobs.append(
            Job(str(number), tasks, base_time, arrival=arrival, estimate=max(base_time, base_time + spare), user=user)
        )
    return tuple(sorted(jobs, key=lambda job: job.arrival))


@LAW
@given(traceable_jobs(), st.sampled_from(["law.swf", "law.swf.gz"]))
def test_what_is_written_is_read_back(tmp_path_factory, jobs, name):
    path = tmp_path_factory.mktemp("law") / name
    write_swf_with_report(Instance(PLATFORM, jobs), path)
    assert (path.read_bytes()[:2] == b"\x1f\x8b") == name.endswith(".gz")
    instance, report = read_swf_with_report(path, PLATFORM, SwfOptions(name="instance"))
    assert instance == Instance(PLATFORM, jobs)
    assert report.changes == {}


def test_a_solved_instance_becomes_a_trace_of_its_schedule(tmp_path):
    instance = coalloc.generate("paper-oas", seed=1, jobs=4)
    schedule = coalloc.solve(instance, slot="100%", time_limit=10).schedule
    coalloc.io.write_swf(instance, tmp_path / "run.swf", schedule)
    for record, job in zip(read_records(tmp_path / "run.swf"), instance.jobs, strict=True):
        assert record.wait == pytest.approx(schedule[job.id].start - job.arrival, abs=1e-6)
        assert record.run == pytest.approx(schedule[job.id].end - schedule[job.id].start, abs=1e-6)
        assert (record.allocated_processors, record.status) == (job.tasks, 1)


def test_a_schedule_of_another_instance_is_refused_and_nothing_is_written(tmp_path):
    path = tmp_path / "mine.swf"
    path.write_text("mine")
    with pytest.raises(CoallocError, match="places job 'J9', which is not in the instance"):
        write_swf(INSTANCE, path, Schedule((Placement("J9", 0.0, 1.0, ("C2/0",)),)))
    for start, end in ((4.0, 104.0), (50.0, 40.0)):
        with pytest.raises(CoallocError, match="starts job '7' before its arrival or ends it before its start"):
            write_swf(INSTANCE, path, Schedule((Placement("7", start, end, ("C1/0.0", "C1/0.1")),)))
    assert path.read_text() == "mine"
    with pytest.raises(CoallocError, match="cannot be written: no such file or directory"):
        write_swf(INSTANCE, tmp_path / "absent" / "x.swf")


def test_the_same_instance_gives_the_same_bytes(tmp_path):
    for name in ("a.swf.gz", "b.swf.gz"):
        write_swf(INSTANCE, tmp_path / name)
    assert (tmp_path / "a.swf.gz").read_bytes() == (tmp_path / "b.swf.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.swf.gz").read_bytes()).decode() == swf_text(INSTANCE)[0]


def test_an_instance_without_jobs_is_a_trace_of_comments(tmp_path):
    write_swf(Instance(PLATFORM, ()), tmp_path / "none.swf")
    assert read_swf(tmp_path / "none.swf", 4).jobs == ()
