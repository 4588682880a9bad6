"""The accounting export of Slurm, ``sacct --parsable2``: a line that names the fields, then a line for each record.

Source: the manual page of sacct (job accounting fields, time formats, job state codes).
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, NamedTuple

from coalloc.instance import Fault, InstanceError
from coalloc.workloads.slurm.values import (
    NO_LIMIT,
    UNKNOWN,
    FieldError,
    LineError,
    count,
    instant,
    resources,
    seconds,
)
from coalloc.workloads.trace_lines import numbered_lines

Unit = Literal["cpus", "nodes"]
"""Meaning of a processor of the platform in Slurm."""

ALLOCATED: Mapping[Unit, Sequence[str]] = {"cpus": ("AllocCPUS", "NCPUS"), "nodes": ("AllocNodes", "NNodes")}
REQUESTED: Mapping[Unit, str] = {"cpus": "ReqCPUS", "nodes": "ReqNodes"}
RESOURCE: Mapping[Unit, str] = {"cpus": "cpu", "nodes": "node"}
"""Fields that count processors, by what is counted, and what lists of resources (TRES) call it."""

WAITING = frozenset({"PENDING", "REQUEUED", "CANCELLED", "DEADLINE", "BOOT_FAIL", "NODE_FAIL", "FAILED", "PREEMPTED"})
"""States in which a job may never have started."""

RUNNING = frozenset({"RUNNING", "SUSPENDED", "COMPLETING", "RESIZING", "CONFIGURING", "STOPPED", "SIGNALING"})
"""States in which a job has not ended."""

JOB = re.compile(r"(?P<number>\d+(?:_(?:\d+|\[.*\]))?(?:\+\d+)?)(?P<step>\..+)?")
DELIMITER = re.compile(r"\w+([^\w\s]+)\w")
MEMORY = re.compile(r"(?P<amount>\d+(?:\.\d+)?)(?P<prefix>[KMGTP]?)(?P<per>[cn]?)")
MEGABYTES = {"K": 1 / 1024, "": 1.0, "M": 1.0, "G": 1024.0, "T": 1024.0**2, "P": 1024.0**3}


class RecordDrop(StrEnum):
    """Why a record is no job of the instance, whatever the platform is."""

    STEP = "job step"
    NEVER_STARTED = "never started"
    STILL_RUNNING = "still running at the time of the export"
    PARTITION = "other partition"
    REQUEUED = "requeued; a later run of the same job is kept"


class SacctRecord(NamedTuple):
    """A run of a job: times in s since 1970 on the clock of the export; 0 processors where none are said.

    ``run`` is None where the job had not ended. ``memory`` is what a processor asks for, MB; ``limit`` and ``memory``
    are None where they are not known.
    """

    id: str
    submit: float
    eligible: float
    start: float
    run: float | None
    allocated: int
    requested: int
    limit: float | None
    memory: float | None
    user: str | None


FEWEST_DELIMITERS = 4
"""Delimiters in the first line from which on a file is taken for an export of ``sacct`` without names of fields."""


def is_sacct(path: str) -> bool:
    """Return whether the first line of a file has fields as ``sacct --parsable2`` prints them, be it without names."""
    try:
        first = next((line for _, line in numbered_lines(path) if line), b"")
    except InstanceError:
        return False
    return "JobID" in _names(first) or max(map(first.count, (b"|", b"^"))) >= FEWEST_DELIMITERS


class RecordLine(NamedTuple):
    """A record of an export: its place; a run of a job, dropped, or broken; and its fields."""

    place: str
    found: SacctRecord | RecordDrop | Fault
    fields: Mapping[str, str]


def read_records(path: str, unit: Unit, partition: str | None) -> Iterator[RecordLine]:
    """Yield what each line of an export is, in order.

    Raises
    ------
    InstanceError
        The file cannot be read, is none, or lacks fields: a line for each.
    """
    lines = ((number, line) for number, line in numbered_lines(path) if line)
    number, first = next(lines, (1, b""))
    delimiter = delimiter_of(first)
    names = _names(first)
    if "JobID" not in names:
        sentence = "must list the field names (JobID|Submit|Start|End|...), as sacct --parsable2 prints them"
        sentence += " (without --noheader)"
        raise InstanceError([Fault(f"line {number}", sentence)], path)
    missing = list(_missing(names, unit))
    if missing:
        raise InstanceError([Fault(f"line {number}", f"must contain the field {field}") for field in missing], path)
    ends = first.endswith(delimiter.encode())
    parser = _Parser(names, delimiter, ends, unit, partition)
    for number, line in lines:
        place = f"line {number}"
        try:
            yield RecordLine(place, *parser.record(line.decode(errors="replace")))
        except LineError as error:
            yield RecordLine(place, Fault(place, str(error)), {})


def _names(line: bytes) -> list[str]:
    """Return the fields that a line names; ``--parsable`` leaves an empty one behind the last."""
    delimiter = delimiter_of(line)
    return line.decode(errors="replace").removeprefix("\ufeff").removesuffix(delimiter).split(delimiter)


def delimiter_of(line: bytes) -> str:
    """Return what separates the fields that a line names: a bar, or what ``--delimiter`` says."""
    match = DELIMITER.match(line.decode(errors="replace").removeprefix("\ufeff"))
    return match[1] if match else "|"


def _missing(names: Sequence[str], unit: Unit) -> Iterator[str]:
    """Yield the fields that an export needs and does not have."""
    yield from (name for name in ("Submit", "Start") if name not in names)
    if not {"End", "Elapsed", "ElapsedRaw"} & set(names):
        yield "End (or Elapsed)"
    if not {*ALLOCATED[unit], "AllocTRES"} & set(names):
        yield " or ".join((*ALLOCATED[unit], "AllocTRES"))


@dataclass(frozen=True, slots=True)
class _Parser:
    """Parser of lines into records: the fields in their order, what is counted, and the partition that is wanted.

    ``has_end``: the delimiter stands behind the last field, too (``--parsable``).
    """

    names: Sequence[str]
    delimiter: str
    has_end: bool
    unit: Unit
    partition: str | None

    def record(self, line: str) -> tuple[SacctRecord | RecordDrop, Mapping[str, str]]:
        """Return what is on a line, and its fields."""
        texts = line.split(self.delimiter)
        if self.has_end and not texts[-1]:
            texts.pop()
        if len(texts) != len(self.names):
            raise LineError(f"must have {len(self.names)} fields, as in the first line, got {len(texts)}")
        fields = dict(zip(self.names, map(str.strip, texts) if " " in line else texts, strict=True))
        if fields["JobID"].isdecimal():
            return self._job(fields["JobID"], fields), fields
        job = JOB.fullmatch(fields["JobID"])
        if job is None:
            raise FieldError("JobID", "the number of a job (7), an array task (7_1) or a step (7.0)", fields["JobID"])
        return RecordDrop.STEP if job["step"] else self._job(job["number"], fields), fields

    def _job(self, id: str, fields: Mapping[str, str]) -> SacctRecord | RecordDrop:
        """Return what a job is: it has run, or is dropped."""
        if self.partition is not None and self.partition not in fields.get("Partition", "").split(","):
            return RecordDrop.PARTITION
        state = (fields.get("State", "").split() or [""])[0]
        start = instant("Start", fields["Start"])
        if start is None and (not state or state in WAITING):
            return RecordDrop.NEVER_STARTED
        if start is None:
            raise FieldError("Start", f"known for a job of state {state}", fields["Start"])
        submit = instant("Submit", fields["Submit"])
        if submit is None:
            raise FieldError("Submit", "a time such as 2026-10-01T12:00:00", fields["Submit"])
        allocated, eligible = self._allocated(fields), fields.get("Eligible", "")
        return SacctRecord(
            id,
            submit,
            submit if eligible == fields["Submit"] else instant("Eligible", eligible) or submit,
            start,
            self._run(start, state, fields),
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
            return elapsed(fields)
        end = instant("End", fields["End"])
        if end is None and state:
            raise FieldError("End", f"known for a job of state {state}", fields["End"])
        return None if end is None else end - start

    def _allocated(self, fields: Mapping[str, str]) -> int:
        """Return the processors that a job had, 0 where none are said."""
        for name in ALLOCATED[self.unit]:
            if name in fields and (said := count(name, fields[name])):
                return said
        return _of_resources(fields, "AllocTRES", self.unit)

    def _requested(self, fields: Mapping[str, str]) -> int:
        """Return the processors that were asked for, 0 where none are said."""
        name = REQUESTED[self.unit]
        return count(name, fields.get(name, "")) or _of_resources(fields, "ReqTRES", self.unit)


def elapsed(fields: Mapping[str, str]) -> float:
    """Return how long a job has run, s; 0 where the export does not say that."""
    if "ElapsedRaw" in fields:
        return float(count("ElapsedRaw", fields["ElapsedRaw"]))
    return seconds("Elapsed", fields.get("Elapsed", "0:00"))


def _user(fields: Mapping[str, str]) -> str | None:
    """Return whose job it is, None where that is not said."""
    user = fields.get("User") or None
    if user is not None and not user.isprintable():
        raise FieldError("User", "without control or format characters", user)
    return user


def _limit(fields: Mapping[str, str]) -> float | None:
    """Return the time limit, s; None where a job has none."""
    if "TimelimitRaw" in fields and fields["TimelimitRaw"] not in NO_LIMIT:
        return 60.0 * count("TimelimitRaw", fields["TimelimitRaw"])  # minutes
    text = fields.get("Timelimit", "")
    return None if text in NO_LIMIT else seconds("Timelimit", text)


def _of_resources(fields: Mapping[str, str], field: str, unit: Unit) -> int:
    """Return what a list of resources (``cpu=8,mem=16G,node=1``) says, 0 where it says nothing."""
    return int(resources(field, fields.get(field, "")).get(RESOURCE[unit], 0.0))


def _memory(fields: Mapping[str, str], unit: Unit, processors: int) -> float | None:
    """Return the memory that each processor asks for, MB; None where it is not known."""
    text = fields.get("ReqMem", "")
    if text in UNKNOWN or text.startswith("?"):
        return None
    amount, per = _asked_memory(text)
    nodes = count("NNodes", fields.get("NNodes", "")) or 1
    cpus = count("NCPUS", fields.get("NCPUS", "")) or processors
    in_all = amount * {"c": cpus, "n": nodes, "": 1}[per]
    shares = processors if unit == "cpus" else nodes
    return in_all / shares if shares and math.isfinite(in_all) else None


@functools.lru_cache(1 << 12)
def _asked_memory(text: str) -> tuple[float, str]:
    """Return an amount of memory, MB, and what has it: each CPU, each node or the job."""
    match = MEMORY.fullmatch(text)
    if match is None:
        raise FieldError("ReqMem", "an amount such as 4000M, 4Gc or 16Gn", text)
    return float(match["amount"]) * MEGABYTES[match["prefix"]], match["per"]
