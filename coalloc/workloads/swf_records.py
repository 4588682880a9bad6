"""The Standard Workload Format, line by line: 18 numbers per job, comments behind ``;``.

Source: the definition of the format by Chapin et al., 1999, version 2.2 (Parallel Workloads Archive).
"""

from __future__ import annotations

import math
import os
import re
from array import array
from collections.abc import Iterator, Mapping
from typing import NamedTuple, get_type_hints

from coalloc.documents.storage import FilePath
from coalloc.documents.text import quoted
from coalloc.instance import Fault, InstanceError
from coalloc.workloads.trace_lines import numbered_lines

MAX_FAULTS = 20
"""Broken lines that are named one by one; so many in a row from the start are no SWF trace."""

LARGEST_WHOLE = 2**53
"""Whole numbers up to here are exact as floats."""

NUMBER = rb"[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?"
RECORD = re.compile(rb"(?:" + NUMBER + rb"\s+){17}" + NUMBER)


class SwfRecord(NamedTuple):
    """One line of a trace, as it stands there; -1 where a fact is not known, times in seconds."""

    number: int
    submit: float
    wait: float
    run: float
    allocated_processors: int
    cpu_time: float
    memory: float
    requested_processors: int
    requested_time: float
    requested_memory: float
    status: int
    user: int
    group: int
    executable: int
    queue: int
    partition: int
    preceding_job: int
    think_time: float


WHOLE_FIELDS = tuple(i for i, kind in enumerate(get_type_hints(SwfRecord).values()) if kind is int)


class JobNumbers:
    """The job numbers of a trace and the lines where they stood, 16 bytes each while numbers ascend.

    Real traces ascend; from the first number that does not, a dictionary is kept as well.
    """

    __slots__ = ("_lines", "_numbers", "_places")

    def __init__(self) -> None:
        self._numbers = array("q")
        self._lines = array("Q")
        self._places: dict[int, int] | None = None

    def __len__(self) -> int:
        return len(self._numbers)

    def note(self, number: int, line: int) -> int | None:
        """Note a number and its line; return the line where it stood before, None where it is new."""
        if self._places is None and self._numbers and number <= self._numbers[-1]:
            self._places = dict(zip(self._numbers, self._lines, strict=True))
        if self._places is not None and self._places.setdefault(number, line) != line:
            return self._places[number]
        self._numbers.append(number)
        self._lines.append(line)
        return None


def read_header(path: FilePath) -> dict[str, str]:
    """Return what the comments before the first job say, by name (``UnixStartTime``); what stands there first counts.

    Raises
    ------
    InstanceError
        If the file cannot be read, or has a line above the limit.
    """
    found: dict[str, str] = {}
    for _, line in numbered_lines(os.fspath(path)):
        if line and not line.startswith(b";"):
            break
        name, colon, text = line.removeprefix(b";").decode(errors="replace").partition(":")
        if colon:
            found.setdefault(name.strip(), text.strip())
    return found


def header_processors(header: Mapping[str, str]) -> tuple[int, str] | None:
    """Return how many processors the comments of a trace say there are, and where; None where they do not.

    Traces of machines whose nodes are one processor each may say ``MaxNodes`` alone.
    """
    for name in ("MaxProcs", "MaxNodes"):
        number = re.match(r"[1-9]\d{0,8}(?!\d)", header.get(name, ""))
        if number is not None:
            return int(number.group()), name
    return None


def read_records(path: FilePath, *, unnumbered: bool = False) -> Iterator[SwfRecord | Fault]:
    """Yield the records of a trace in their order, and a fault with its line number for each broken line.

    ``unnumbered``: job numbers of 0 and less may repeat, since the caller drops these jobs.

    Raises
    ------
    InstanceError
        If the file cannot be read, has a line above the limit, or is not SWF: no record stands before
        the ``MAX_FAULTS``-th broken line, or none at all and no comment either.
    """
    source = os.fspath(path)
    numbers = JobNumbers()
    num_broken = num_comments = 0
    for line_number, line in numbered_lines(source):
        if not line or line.startswith(b";"):
            num_comments += line.startswith(b";")
            continue
        parsed = _parsed(line, line_number, numbers, unnumbered)
        yield parsed
        num_broken += isinstance(parsed, Fault)
        if not numbers and num_broken >= MAX_FAULTS:
            break
    if not numbers and (num_broken or not num_comments):
        raise InstanceError([Fault("", "is not an SWF trace: no line consists of 18 numbers")], source)


def _parsed(line: bytes, line_number: int, seen: JobNumbers, unnumbered: bool) -> SwfRecord | Fault:
    """Return the record on a line or what is wrong with it; ``seen`` remembers the job numbers."""
    where = f"line {line_number}"
    fields = line.split()
    if not RECORD.fullmatch(line):
        return Fault(where, f"must have 18 numbers, got {_found(fields)}")
    numbers = list(map(float, fields))
    if not math.isfinite(sum(numbers)) and not all(map(math.isfinite, numbers)):
        return Fault(where, "must have finite numbers")
    for i in WHOLE_FIELDS:
        number = numbers[i]
        if not number.is_integer() or abs(number) > LARGEST_WHOLE:
            return Fault(where, f"must have an integer as {SwfRecord._fields[i]}, got {number:g}")
        numbers[i] = int(number)
    record = SwfRecord._make(numbers)
    if unnumbered and record.number <= 0:
        return record
    earlier = seen.note(record.number, line_number)
    if earlier is not None:
        return Fault(where, f"must not repeat the job number {record.number} of line {earlier}")
    return record


def _found(fields: list[bytes]) -> str:
    odd = next((field for field in fields if not re.fullmatch(NUMBER, field)), None)
    return f"{len(fields)}" if odd is None else f"{quoted(odd[:20].decode(errors='replace'))} among {len(fields)}"
