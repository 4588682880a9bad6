"""Values as Slurm writes them: times, durations, amounts, lists of resources (TRES) and of hosts.

Source: the manual pages of Slurm: sacct (time formats), slurm.conf (MaxTime, NodeName, Gres), scontrol (hostlist
expressions).
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Mapping
from datetime import datetime

from coalloc.documents.text import quoted

UNKNOWN = frozenset({"", "Unknown", "None", "N/A", "INVALID", "(null)", "None assigned"})
"""Text where a value is not known."""

NO_LIMIT = UNKNOWN | {"UNLIMITED", "INFINITE", "Partition_Limit"}
"""Text where there is no time limit."""

EPOCH = datetime(1970, 1, 1)
MOST_DIGITS = 15
"""Digits of a whole number that a float holds exactly."""
MOST_HOSTS = 1_000_000
"""Most names of one hostlist expression."""

DURATION = re.compile(r"(?:(?P<days>\d+)-)?(?:(?P<hours>\d+):)?(?P<minutes>\d+):(?P<seconds>\d+(?:\.\d+)?)")
DAYS = re.compile(r"(?P<days>\d+)-(?P<hours>\d+)(?::(?P<minutes>\d+))?")
AMOUNT = re.compile(r"(?P<amount>\d+(?:\.\d+)?)(?P<prefix>[KMGTP]?)")
PREFIX = {"": 1.0, "K": 1024.0, "M": 1024.0**2, "G": 1024.0**3, "T": 1024.0**4, "P": 1024.0**5}
HOSTS = re.compile(r"((?:[^\[\],]|\[[^\[\]]*\])+)(?:,|$)")
"""One host of a list, or a pattern of several."""
SPAN = re.compile(r"(\d+)(?:-(\d+))?")
"""A number between the brackets of a hostlist, or a range of them."""


class LineError(Exception):
    """Error of a line."""


class FieldError(LineError):
    """A field of a line that is not what it should be."""

    def __init__(self, field: str, wanted: str, got: str) -> None:
        super().__init__(f"{field} must be {wanted}, got {quoted(got)}")


def instant(field: str, text: str) -> float | None:
    """Return a time as s since 1970 on the clock of the site, None where it is not known."""
    if text in UNKNOWN:
        return None
    if text.isdecimal() and len(text) <= MOST_DIGITS:
        return float(text)  # SLURM_TIME_FORMAT=%s
    try:
        local = datetime.fromisoformat(text)
        return ((local if local.tzinfo is None else local.replace(tzinfo=None)) - EPOCH).total_seconds()
    except ValueError:
        raise FieldError(field, "a time such as 2026-10-01T12:00:00", text) from None


@functools.lru_cache(1 << 14)
def seconds(field: str, text: str) -> float:
    """Return a duration as accounting has it (``1-12:00:00``, ``12:00:00``, ``12:00``), s."""
    match = DURATION.fullmatch(text)
    if match is None:
        raise FieldError(field, "a duration such as 1-12:00:00", text)
    days, hours, minutes = (int(match[part] or 0) for part in ("days", "hours", "minutes"))
    return ((days * 24 + hours) * 60 + minutes) * 60 + float(match["seconds"])


def walltime(field: str, text: str) -> float | None:
    """Return a time limit as slurm.conf has it, where a number is minutes and ``1-12`` days and hours; None: no limit.

    Times are in s.
    """
    if text in NO_LIMIT or text == "-1":
        return None
    if text.isdecimal():
        return 60.0 * count(field, text)
    if match := DAYS.fullmatch(text):
        return 60.0 * ((int(match["days"]) * 24 + int(match["hours"])) * 60 + int(match["minutes"] or 0))
    return seconds(field, text)


def count(field: str, text: str) -> int:
    """Return a whole number, 0 where none is said."""
    if text in UNKNOWN:
        return 0
    if not text.isdecimal() or len(text) > MOST_DIGITS:
        raise FieldError(field, "an integer", text)
    return int(text)


def amount(field: str, text: str, prefix: str = "") -> float:
    """Return an amount with a prefix (``16G``), in units of ``prefix``, which one without any has."""
    match = AMOUNT.fullmatch(text)
    if match is None or len(text) > MOST_DIGITS:
        raise FieldError(field, "an amount such as 16 or 4G", text)
    return float(match["amount"]) * (PREFIX[match["prefix"]] / PREFIX[prefix] if match["prefix"] else 1.0)


@functools.lru_cache(1 << 14)
def resources(field: str, text: str) -> Mapping[str, float]:
    """Return a list of resources (TRES) by name: ``cpu=8,mem=16G,gres/gpu:a100=2``; memory is in MB.

    What is not an amount of something that a job holds, such as ``billing`` and ``energy``, is left out, and so is a
    limit that was taken back (``cpu=-1``).
    """
    found = {}
    for pair in text.split(",") if text not in UNKNOWN else ():
        name, equals, number = pair.partition("=")
        if not (name and equals and number):
            raise FieldError(field, "a list such as cpu=8,mem=16G,gres/gpu=1", text)
        if name not in ("billing", "energy", "pages", "vmem") and not name.startswith("fs/") and number != "-1":
            found[name] = amount(field, number, "M" if name == "mem" else "")
    return found


def generic_resources(field: str, text: str) -> dict[str, float]:
    """Return what nodes have of generic resources (``gpu:a100:4(S:0-1)``), by the names of TRES, with and without type.

    Resources that jobs do not consume are left out.
    """
    found: dict[str, float] = {}
    for entry in re.sub(r"\([^)]*\)", "", "" if text in UNKNOWN else text).split(","):
        name, *kind = entry.split(":")
        number = amount(field, kind.pop()) if kind and AMOUNT.fullmatch(kind[-1]) else 1.0
        is_consumed = "no_consume" not in kind
        if entry and (not name or len(kind) > 1 + (not is_consumed)):
            raise FieldError(field, "a list such as gpu:a100:4,gpu:v100:2", text)
        if entry and is_consumed:
            for key in (f"gres/{name}", *(f"gres/{name}:{k}" for k in kind)):
                found[key] = found.get(key, 0.0) + number
    return found


@functools.lru_cache(1 << 12)
def hosts(field: str, text: str) -> tuple[str, ...]:
    """Return the names of a hostlist expression, in order: ``n[001-003,7],login``."""
    found: list[str] = []
    position = 0
    while position < len(text):
        match = HOSTS.match(text, position)
        parts = re.split(r"\[([^\[\]]*)\]", match[1]) if match else ["["]
        if match is None or "[" in "".join(parts[::2]) or "]" in "".join(parts[::2]):
            raise FieldError(field, "a list of nodes such as n[001-128,200]", text)
        choices = [_numbers(field, text, part) if i % 2 else [part] for i, part in enumerate(parts)]
        if len(found) + math.prod(map(len, choices)) > MOST_HOSTS:
            raise FieldError(field, f"at most {MOST_HOSTS} nodes", text)
        found += map("".join, itertools.product(*choices))
        position = match.end()
    return tuple(found)


def _numbers(field: str, text: str, inside: str) -> list[str]:
    """Return the numbers between the brackets of a hostlist, with the zeros that stand before them."""
    found: list[str] = []
    for part in inside.split(","):
        match = SPAN.fullmatch(part.strip())
        first, last = (match[1], match[2] or match[1]) if match else ("1", "0")
        if len(last) > 9 or not 0 <= int(last) - int(first) < MOST_HOSTS:
            raise FieldError(field, "a list of nodes such as n[001-128,200]", text)
        form = f"%0{len(first)}d"
        found += [form % number for number in range(int(first), int(last) + 1)]
    return found
