"""Schedules with a change, and the rules that they violate."""

from __future__ import annotations

from collections import Counter

from coalloc.checker import Violation
from coalloc.schedule import Schedule


def rules(violations: list[Violation]) -> Counter[str]:
    return Counter(violation.rule for violation in violations)


def changed(schedule: Schedule, job: str, **changes: object) -> Schedule:
    """Return the schedule with one placement changed."""
    return schedule.replace(placements=tuple(p.replace(**changes) if p.job == job else p for p in schedule.placements))
