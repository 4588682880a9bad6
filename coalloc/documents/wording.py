"""Wording of ids, times, amounts and shares in pictures. Ids are data: they are shown escaped and kept short."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from coalloc.documents.text import visible


@dataclass(frozen=True, slots=True)
class TimeUnit:
    """A unit of the time axis: its symbol and its length in seconds."""

    symbol: str
    seconds: float


SECOND = TimeUnit("s", 1.0)
HOUR = TimeUnit("h", 3600.0)
UNITS = (TimeUnit("d", 86400.0), HOUR, TimeUnit("min", 60.0))
UNIT_OF: Mapping[str, TimeUnit] = {unit.symbol: unit for unit in (*UNITS, SECOND)}
"""The units by symbol."""


def unit_for(seconds: float) -> TimeUnit:
    """Return the largest unit of which a span of time holds at least three."""
    return next((unit for unit in UNITS if seconds >= 3 * unit.seconds), SECOND)


DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(s|min|h|d|w)?")
LENGTHS = {"": 1.0, "s": 1.0, "min": 60.0, "h": 3_600.0, "d": 86_400.0, "w": 7 * 86_400.0}


def seconds_of(text: str) -> float | None:
    """Return a duration (``7d``, ``12 h``, ``3600``) in s; None where it is none."""
    match = DURATION.fullmatch(text.strip())
    return None if match is None else float(match[1]) * LENGTHS[match[2] or ""]


def duration_text(seconds: float, unit: TimeUnit | None = None) -> str:
    """Return a duration with four digits in a unit, without one in its own: ``7.755 d``."""
    unit = unit or unit_for(abs(seconds))
    return f"{seconds / unit.seconds:.4g} {unit.symbol}"


LARGE_DURATION = 1e5
"""From this duration on, s, a number of seconds is hard to read."""

LARGE_INSTANT = 1e6
"""From this instant on, s, six digits do not tell seconds apart, as in Unix time."""


def instant_text(seconds: float) -> str:
    """Return an instant with six digits, or twelve where it is large: ``17.5 s``, ``1700000017.5 s``."""
    return f"{seconds:g} s" if abs(seconds) < LARGE_INSTANT else f"{seconds:.12g} s"


PREFIXES = (("G", 1e9), ("M", 1e6), ("k", 1e3))
"""SI prefixes of large amounts, and what they stand for."""


def prefix_for(amount: float) -> tuple[str, float]:
    """Return the largest SI prefix of which an amount holds at least ten, and what it stands for; ``""`` is 1."""
    return next((prefix for prefix in PREFIXES if amount >= 10 * prefix[1]), ("", 1.0))


def amount_text(amount: float, unit: str, digits: int = 4) -> str:
    """Return an amount with an SI prefix: ``1912 MJ``."""
    prefix, factor = prefix_for(abs(amount))
    return f"{amount / factor:.{digits}g} {prefix}{unit}"


def with_unit(number: str, unit: str) -> str:
    """Return a number with its unit: ``1 s``; that of a ratio, ``-``, is not shown."""
    return number if unit in ("", "-") else f"{number} {unit}"


def number_text(number: float) -> str:
    """Return a number with six digits; a large one rounded to tenths, so that it has no exponent: ``1557769.9``."""
    return f"{number:.6g}" if abs(number) < LARGE_DURATION else f"{number:.1f}".removesuffix(".0")


def quantity_text(number: float, unit: str) -> str:
    """Return an objective or a bound with its unit; seconds from 100,000 on as hours: ``2419.44 h``."""
    if unit == SECOND.symbol and abs(number) >= LARGE_DURATION:
        number, unit = number / HOUR.seconds, HOUR.symbol
    return with_unit(number_text(number), unit)


def share_text(share: float) -> str:
    """Return a share of capacity: ``83 %``, never ``100 %`` for what is above it."""
    if math.isinf(share):
        return "∞"
    digits = 1 if 0.99 < share < 1.01 and not math.isclose(share, 1.0) else 0
    return f"{100 * share:.{digits}f} %"


def percent_text(share: float, sign: str = "") -> str:
    """Return a share with two digits in percent: ``1.50 %``; with the sign ``"+"`` also ``+1.50 %``."""
    return f"{round(100.0 * share, 2) + 0.0:{sign}.2f} %"  # what rounds to 0 has no minus


def between(low: str, high: str) -> str:
    """Return the text of a range from the texts of its ends, once if they are equal."""
    return low if low == high else f"{low} to {high}"


def plural(count: int, noun: str) -> str:
    """Return ``1 job``, ``2 jobs``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def shortened(text: str, limit: int) -> str:
    """Return ``text`` with unprintable characters escaped, at most ``limit`` long.

    What is too long loses its middle, because ids often differ only at their end.
    """
    text = visible(text)
    if len(text) <= limit:
        return text
    head = (limit - 1) // 2
    return f"{text[:head]}…{text[len(text) - (limit - 1 - head) :]}"
