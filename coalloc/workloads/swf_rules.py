"""Rules for one record of a trace: the job, or that it is dropped, and what was changed.

Processors are those allocated, else those requested. A job runs for its run time, but not longer than
its request, which is its estimate; where no time was requested the run time is. Invalid jobs (no run
time, no processors, submitted before 0) and jobs larger than the platform are dropped, or mended.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from coalloc.workloads.swf_records import SwfRecord

Invalid = Literal["drop", "one-second"]
Oversize = Literal["drop", "clip"]


class RecordChange(StrEnum):
    """Why a job of the instance is not as it stands in the trace, or is not there."""

    NO_RUN = "run time not above 0"
    NO_PROCESSORS = "processors neither allocated nor requested"
    NEGATIVE_SUBMIT = "submitted before time 0"
    TOO_LARGE = "more processors than the platform"
    REQUESTED_PROCESSORS = "no processors allocated, requested processors used"
    NO_REQUEST = "no requested walltime, run time used"
    CUT = "run time cut to the requested walltime"


INVALID = (RecordChange.NO_RUN, RecordChange.NO_PROCESSORS, RecordChange.NEGATIVE_SUBMIT)
FATES = {"drop": "dropped", "one-second": "set to a run time of 1 s", "clip": "reduced to the size of the platform"}


@dataclass(frozen=True, slots=True)
class SwfJob:
    """Job made of a record by the rules; times in seconds."""

    processors: int
    submit: float
    run: float
    estimate: float


def counted(number: int, noun: str) -> str:
    """Return ``1 job``, ``2 jobs``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def apply_rules(
    record: SwfRecord, capacity: int, invalid: Invalid, oversize: Oversize
) -> tuple[SwfJob | None, tuple[RecordChange, ...]]:
    """Return the job of a record on ``capacity`` processors, None if it is dropped, and what was changed."""
    processors, changes = _processors(record)
    reason = _invalid(record, processors)
    if reason and invalid == "drop":
        return None, (reason,)
    if processors > capacity and oversize == "drop":
        return None, (RecordChange.TOO_LARGE,)
    if processors > capacity:
        processors, changes = capacity, (*changes, RecordChange.TOO_LARGE)
    if reason:
        return SwfJob(max(1, processors), max(0.0, record.submit), 1.0, 1.0), (reason, *changes)
    if record.requested_time <= 0:
        return SwfJob(processors, record.submit, record.run, record.run), (*changes, RecordChange.NO_REQUEST)
    if record.run > record.requested_time:
        changes = (*changes, RecordChange.CUT)
    run = min(record.run, record.requested_time)
    return SwfJob(processors, record.submit, run, record.requested_time), changes


def _processors(record: SwfRecord) -> tuple[int, tuple[RecordChange, ...]]:
    """Return the processors allocated, else requested, else 0, and what that changes."""
    if record.allocated_processors > 0:
        return record.allocated_processors, ()
    if record.requested_processors > 0:
        return record.requested_processors, (RecordChange.REQUESTED_PROCESSORS,)
    return 0, ()


def _invalid(record: SwfRecord, processors: int) -> RecordChange | None:
    if record.run <= 0:
        return RecordChange.NO_RUN
    if processors <= 0:
        return RecordChange.NO_PROCESSORS
    return RecordChange.NEGATIVE_SUBMIT if record.submit < 0 else None
