"""The nine filters, a to i, that a job of a trace must pass. Source: section 5.1.1, step 6."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum

from coalloc.workloads.swf_records import SwfRecord


class WeekDrop(StrEnum):
    """Why a job of a trace is in no week, in the order in which it is asked."""

    PARTITION = "of another partition"
    NUMBER = "a: job number not above 0"
    SUBMIT = "b: submitted before time 0"
    RUN = "c: run time not above 0"
    PROCESSORS = "d: no processors allocated"
    REQUEST = "e: no time requested"
    USER = "f: no user"
    FAILED = "g: failed (status 0)"
    PARTIAL = "h: failed in its last part (status 4)"
    CANCELLED = "i: cancelled (status 5)"
    TOO_LARGE = "larger than every site"
    BEFORE = "before the first Monday"
    AFTER = "after the last week"


FILTERS: Mapping[WeekDrop, Callable[[SwfRecord], bool]] = {
    WeekDrop.NUMBER: lambda record: record.number <= 0,
    WeekDrop.SUBMIT: lambda record: record.submit < 0,
    WeekDrop.RUN: lambda record: record.run <= 0,
    WeekDrop.PROCESSORS: lambda record: record.allocated_processors <= 0,
    WeekDrop.REQUEST: lambda record: record.requested_time <= 0,
    WeekDrop.USER: lambda record: record.user <= 0,
    WeekDrop.FAILED: lambda record: record.status == 0,
    WeekDrop.PARTIAL: lambda record: record.status == 4,
    WeekDrop.CANCELLED: lambda record: record.status == 5,
}
"""Whether a record is dropped, in order: a job that several would drop counts for the first."""


def dropped_by(record: SwfRecord) -> WeekDrop | None:
    """Return the first filter that drops a record, None where it passes all."""
    return next((drop for drop, strikes in FILTERS.items() if strikes(record)), None)
