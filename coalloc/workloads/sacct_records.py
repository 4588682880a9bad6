"""The accounting export of Slurm, ``sacct --parsable2``: a line that names the fields, then a line for each record.

Source: the manual page of sacct (job accounting fields, time formats, job state codes).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Literal

from coalloc.documents.text import quoted
from coalloc.instance import Fault, InstanceError
from coalloc.workloads.trace_lines import numbered_lines

Unit = Literal["cpus", "nodes"]
"""What a processor of the platform is to Slurm."""

ALLOCATED: Mapping[Unit, Sequence[str]] = {"cpus": ("AllocCPUS", "NCPUS"), "nodes": ("AllocNodes", "NNodes")}
REQUESTED: Mapping[Unit, str] = {"cpus": "ReqCPUS", "nodes": "ReqNodes"}
RESOURCE: Mapping[Unit, str] = {"cpus": "cpu", "nodes": "node"}
"""Fields that count processors, by what is counted, and what lists of resources (TRES) call it."""

UNKNOWN = frozenset({"", "Unknown", "None", "N/A", "INVALID"})
"""What stands where a time is not known."""

NO_LIMIT = UNKNOWN | {"UNLIMITED", "Partition_Limit"}
"""What stands where a job has no time limit of its own."""

WAITING = frozenset({"PENDING", "REQUEUED", "CANCELLED", "DEADLINE", "BOOT_FAIL", "NODE_FAIL", "FAILED", "PREEMPTED"})
"""States in which a job may never have started."""

RUNNING = frozenset({"RUNNING", "SUSPENDED", "COMPLETING", "RESIZING", "CONFIGURING", "STOPPED", "SIGNALING"})
"""States in which a job has not ended."""

JOB = re.compile(r"(?P<number>\d+(?:_(?:\d+|\[.*\]))?(?:\+\d+)?)(?P<step>\..+)?")
DURATION = re.compile(r"(?:(?P<days>\d+)-)?(?:(?P<hours>\d+):)?(?P<minutes>\d+):(?P<seconds>\d+(?:\.\d+)?)")
MEMORY = re.compile(r"(?P<amount>\d+(?:\.\d+)?)(?P<prefix>[KMGTP]?)(?P<per>[cn]?)")
MEGABYTES = {"K": 1 / 1024, "": 1.0, "M": 1.0, "G": 1024.0, "T": 1024.0**2, "P": 1024.0**3}


class Drop(StrEnum):
    """Why a record is no job of the instance, whatever the platform is."""

    STEP = "job step"
    NEVER_STARTED = "never started"
    STILL_RUNNING = "still running at the time of the export"
    PARTITION = "other partition"
    REQUEUED = "requeued; a later run of the same job is kept"


@dataclass(frozen=True, slots=True)
class SacctRecord:
    """A job that has run: times in s since 1970 on the clock of the export; 0 processors where none are said.

    ``memory`` is what a processor asks for, MB; ``limit`` and ``memory`` are None where they are not known.
    """

    id: str
    submit: float
    eligible: float
    start: float
    run: float
    allocated: int
    requested: int
    limit: float | None
    memory: float | None
    user: str | None


FEWEST_BARS = 4
"""Bars in the first line of a file from which on it is taken for an export of ``sacct`` without names of fields."""


class _LineError(Exception):
    """What is wrong with a line."""


class _FieldError(_LineError):
    """A field of a line that is not what it should be."""

    def __init__(self, field: str, wanted: str, got: str) -> None:
        super().__init__(f"{field} must be {wanted}, got {quoted(got)}")


def is_sacct(path: str) -> bool:
    """Return whether the first line of a file has fields as ``sacct --parsable2`` prints them, be it without names."""
    try:
        first = next((line for _, line in numbered_lines(path) if line), b"")
    except InstanceError:
        return False
    return "JobID" in _names(first) or first.count(b"|") >= FEWEST_BARS


def read_records(path: str, unit: Unit, partition: str | None) -> Iterator[tuple[str, SacctRecord | Drop | Fault]]:
    """Yield each record of an export in order, with what it is of: a job, dropped, or broken (its line and field).

    Raises
    ------
    InstanceError
        The file cannot be read, is none, or lacks fields: a line for each.
    """
    lines = ((number, line) for number, line in numbered_lines(path) if line)
    number, first = next(lines, (1, b""))
    names = _names(first)
    if "JobID" not in names:
        sentence = "must list the field names (JobID|Submit|Start|End|...), as sacct --parsable2 prints them"
        sentence += " (without --noheader)"
        raise InstanceError([Fault(f"line {number}", sentence)], path)
    missing = list(_missing(names, unit))
    if missing:
        raise InstanceError([Fault(f"line {number}", f"must contain the field {field}") for field in missing], path)
    parser = _Parser(names, unit, partition)
    for number, line in lines:
        try:
            yield parser.record(line.decode(errors="replace"))
        except _LineError as error:
            yield "", Fault(f"line {number}", str(error))


def _names(line: bytes) -> list[str]:
    """Return the fields that a line names; ``--parsable`` leaves an empty one behind the last."""
    return line.decode(errors="replace").removeprefix("\ufeff").rstrip("|").split("|")


def _missing(names: Sequence[str], unit: Unit) -> Iterator[str]:
    """Yield the fields that an export needs and does not have."""
    yield from (name for name in ("Submit", "Start") if name not in names)
    if not {"End", "Elapsed", "ElapsedRaw"} & set(names):
        yield "End (or Elapsed)"
    if not {*ALLOCATED[unit], "AllocTRES"} & set(names):
        yield " or ".join((*ALLOCATED[unit], "AllocTRES"))


@dataclass(frozen=True, slots=True)
class _Parser:
    """What makes records of lines: the fields in their order, what is counted, and the partition that is wanted."""

    names: Sequence[str]
    unit: Unit
    partition: str | None

    def record(self, line: str) -> tuple[str, SacctRecord | Drop]:
        """Return the id on a line, and its record."""
        texts = line.split("|")
        if len(texts) == len(self.names) + 1 and not texts[-1]:
            texts.pop()
        if len(texts) != len(self.names):
            raise _LineError(f"must have {len(self.names)} fields, as in the first line, got {len(texts)}")
        fields = dict(zip(self.names, map(str.strip, texts), strict=True))
        job = JOB.fullmatch(fields["JobID"])
        if job is None:
            raise _FieldError("JobID", "the number of a job (7), an array task (7_1) or a step (7.0)", fields["JobID"])
        return job["number"], Drop.STEP if job["step"] else self._job(job["number"], fields)

    def _job(self, id: str, fields: Mapping[str, str]) -> SacctRecord | Drop:
        """Return what a job is: it has run, or is dropped."""
        if self.partition is not None and self.partition not in fields.get("Partition", "").split(","):
            return Drop.PARTITION
        state = (fields.get("State", "").split() or [""])[0]
        start = _instant("Start", fields["Start"])
        if start is None and (not state or state in WAITING):
            return Drop.NEVER_STARTED
        if start is None:
            raise _FieldError("Start", f"known for a job of state {state}", fields["Start"])
        run = self._run(start, state, fields)
        if run is None:
            return Drop.STILL_RUNNING
        submit = _instant("Submit", fields["Submit"])
        if submit is None:
            raise _FieldError("Submit", "a time such as 2026-10-01T12:00:00", fields["Submit"])
        allocated = self._allocated(fields)
        return SacctRecord(
            id,
            submit,
            _instant("Eligible", fields.get("Eligible", "")) or submit,
            start,
            run,
            allocated,
            self._requested(fields),
            _limit(fields),
            _memory(fields, self.unit, allocated),
            _user(fields),
        )

    def _run(self, start: float, state: str, fields: Mapping[str, str]) -> float | None:
        """Return how long a job has held its processors, s; None where it had not ended."""
        if state in RUNNING:
            return None
        if "End" not in fields:
            return _elapsed(fields)
        end = _instant("End", fields["End"])
        if end is None and state:
            raise _FieldError("End", f"known for a job of state {state}", fields["End"])
        return None if end is None else end - start

    def _allocated(self, fields: Mapping[str, str]) -> int:
        """Return the processors that a job had, 0 where none are said."""
        counts = (_count(name, fields[name]) for name in ALLOCATED[self.unit] if name in fields)
        return next((count for count in counts if count), 0) or _of_resources(fields, "AllocTRES", self.unit)

    def _requested(self, fields: Mapping[str, str]) -> int:
        """Return the processors that were asked for, 0 where none are said."""
        name = REQUESTED[self.unit]
        return _count(name, fields.get(name, "")) or _of_resources(fields, "ReqTRES", self.unit)


def _instant(field: str, text: str) -> float | None:
    """Return a time as s since 1970 on the clock of the export, None where it is not known."""
    if text in UNKNOWN:
        return None
    if text.isdecimal():
        return float(text)  # SLURM_TIME_FORMAT=%s
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()
    except ValueError:
        raise _FieldError(field, "a time such as 2026-10-01T12:00:00", text) from None


def _seconds(field: str, text: str) -> float:
    """Return a duration (``1-12:00:00``, ``12:00:00``, ``12:00``), s."""
    match = DURATION.fullmatch(text)
    if match is None:
        raise _FieldError(field, "a duration such as 1-12:00:00", text)
    days, hours, minutes = (int(match[part] or 0) for part in ("days", "hours", "minutes"))
    return ((days * 24 + hours) * 60 + minutes) * 60 + float(match["seconds"])


def _elapsed(fields: Mapping[str, str]) -> float:
    if "ElapsedRaw" in fields:
        return float(_count("ElapsedRaw", fields["ElapsedRaw"]))
    return _seconds("Elapsed", fields["Elapsed"])


def _user(fields: Mapping[str, str]) -> str | None:
    """Return whose job it is, None where that is not said."""
    user = fields.get("User") or None
    if user is not None and not user.isprintable():
        raise _FieldError("User", "without control or format characters", user)
    return user


def _limit(fields: Mapping[str, str]) -> float | None:
    """Return the time limit, s; None where a job has none."""
    if "TimelimitRaw" in fields and fields["TimelimitRaw"] not in NO_LIMIT:
        return 60.0 * _count("TimelimitRaw", fields["TimelimitRaw"])  # minutes
    text = fields.get("Timelimit", "")
    return None if text in NO_LIMIT else _seconds("Timelimit", text)


def _count(field: str, text: str) -> int:
    """Return a whole number, 0 where nothing is said."""
    if text in UNKNOWN:
        return 0
    if not text.isdecimal() or len(text) > 15:
        raise _FieldError(field, "an integer", text)
    return int(text)


def _of_resources(fields: Mapping[str, str], field: str, unit: Unit) -> int:
    """Return what a list of resources (``cpu=8,mem=16G,node=1``) says, 0 where it says nothing."""
    pairs = (pair.partition("=") for pair in fields.get(field, "").split(","))
    return next((_count(field, count) for name, _, count in pairs if name == RESOURCE[unit]), 0)


def _memory(fields: Mapping[str, str], unit: Unit, processors: int) -> float | None:
    """Return the memory that each processor asks for, MB; None where it is not known."""
    text = fields.get("ReqMem", "")
    if text in UNKNOWN or text.startswith("?"):
        return None
    match = MEMORY.fullmatch(text)
    if match is None:
        raise _FieldError("ReqMem", "an amount such as 4000M, 4Gc or 16Gn", text)
    amount = float(match["amount"]) * MEGABYTES[match["prefix"]]
    nodes = _count("NNodes", fields.get("NNodes", "")) or 1
    cpus = _count("NCPUS", fields.get("NCPUS", "")) or processors
    in_all = amount * {"c": cpus, "n": nodes, "": 1}[match["per"]]
    shares = processors if unit == "cpus" else nodes
    return in_all / shares if shares and math.isfinite(in_all) else None
