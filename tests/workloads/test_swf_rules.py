"""What the rules make of one record."""

import pytest

from coalloc.workloads.swf_records import SwfRecord
from coalloc.workloads.swf_rules import RecordChange, SwfJob, apply_rules

RECORD = SwfRecord(7, 10.0, 2.0, 300.0, 4, 290.5, -1, 8, 400.0, -1, 1, 12, 3, -1, 0, -1, -1, -1)


def ruled(invalid="drop", oversize="drop", **fields):
    return apply_rules(RECORD._replace(**fields), 16, invalid, oversize)


def test_a_complete_record_is_taken_as_it_is():
    assert ruled() == (SwfJob(processors=4, submit=10.0, run=300.0, estimate=400.0), ())


def test_requested_processors_stand_in_for_allocated_ones():
    job, changes = ruled(allocated_processors=-1)
    assert (job.processors, changes) == (8, (RecordChange.REQUESTED_PROCESSORS,))


def test_a_run_is_cut_to_the_request():
    job, changes = ruled(run=500.0)
    assert (job.run, job.estimate, changes) == (400.0, 400.0, (RecordChange.CUT,))


@pytest.mark.parametrize("requested", [-1.0, 0.0])
def test_without_a_request_the_run_time_is_the_estimate(requested):
    job, changes = ruled(requested_time=requested)
    assert (job.run, job.estimate, changes) == (300.0, 300.0, (RecordChange.NO_REQUEST,))


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"run": 0.0}, RecordChange.NO_RUN),
        ({"run": -1.0}, RecordChange.NO_RUN),
        ({"allocated_processors": -1, "requested_processors": 0}, RecordChange.NO_PROCESSORS),
        ({"submit": -5.0}, RecordChange.NEGATIVE_SUBMIT),
    ],
)
def test_an_invalid_record_is_dropped_or_a_job_of_one_second(fields, reason):
    assert ruled(**fields) == (None, (reason,))
    job, changes = ruled("one-second", **fields)
    assert (job.run, job.estimate, changes) == (1.0, 1.0, (reason,))
    assert job.processors == (1 if reason is RecordChange.NO_PROCESSORS else 4)
    assert job.submit == (0.0 if reason is RecordChange.NEGATIVE_SUBMIT else 10.0)


def test_an_oversize_job_is_dropped_or_clipped():
    assert ruled(allocated_processors=17) == (None, (RecordChange.TOO_LARGE,))
    job, changes = ruled(oversize="clip", allocated_processors=17)
    assert (job.processors, changes) == (16, (RecordChange.TOO_LARGE,))
    assert ruled(allocated_processors=16)[0].processors == 16


def test_a_job_of_one_second_may_be_oversize_too():
    assert ruled("one-second", run=-1.0, allocated_processors=17) == (None, (RecordChange.TOO_LARGE,))
    job, changes = ruled("one-second", "clip", run=-1.0, allocated_processors=17)
    assert (job.processors, job.run) == (16, 1.0)
    assert set(changes) == {RecordChange.NO_RUN, RecordChange.TOO_LARGE}


def test_several_changes_are_all_said():
    _, changes = ruled(oversize="clip", allocated_processors=0, requested_processors=20, run=500.0)
    assert set(changes) == {RecordChange.REQUESTED_PROCESSORS, RecordChange.TOO_LARGE, RecordChange.CUT}
