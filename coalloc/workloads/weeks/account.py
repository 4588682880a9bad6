"""Account of the traces that were merged: per trace and filter, per week and per day; as JSON and as Markdown.

Table 5 of the source is the first table of the page; its figures 5 and 6 are drawn from the same numbers
(:mod:`coalloc.plot.weeks`).
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coalloc.documents.text import visible
from coalloc.workloads.swf_rules import counted
from coalloc.workloads.weeks.filters import WeekDrop

DAYS_OF_MONTH = 30
"""Days of a month on the clock of the merged weeks, which is of no calendar: 30 weeks are seven of them."""


@dataclass(frozen=True, slots=True)
class TraceAccount:
    """Account of a trace.

    ``records`` = those dropped + ``jobs``; ``broken`` lines could not be read and were left out. ``start`` (Unix time,
    s) and ``time_zone`` (s) place its 0, ``first_monday`` is the day at which its weeks begin on the clock of the
    broker, ``whole_weeks`` is how many it has from there, and ``cut`` counts jobs whose run time was cut to the
    request.
    """

    site: str
    swf: str
    start: int
    time_zone: int
    first_monday: str
    whole_weeks: int
    records: int
    broken: int
    dropped: Mapping[WeekDrop, int]
    cut: int
    jobs: int
    users: int


@dataclass(frozen=True, slots=True)
class WeekAccount:
    """A week: jobs, their users, sum of tasks x base time in processor s, and that over what the platform could do."""

    name: str
    jobs: int
    users: int
    work: float
    offered_load: float


@dataclass(frozen=True, slots=True)
class MergeAccount:
    """Account of all traces; ``time_zone`` is the broker's, ``work_by_day`` in processor s by day of arrival.

    ``without_trace`` are the sites that have none.
    """

    name: str
    platform: str
    sites: int
    without_trace: tuple[str, ...]
    processors: int
    speeds: str
    warmup_days: float
    time_zone: int
    jobs: int
    users: int
    traces: tuple[TraceAccount, ...]
    weeks: tuple[WeekAccount, ...]
    work_by_day: tuple[float, ...]

    @property
    def days(self) -> int:
        """Length of all weeks."""
        return len(self.work_by_day)

    @property
    def work_by_day_of_month(self) -> tuple[float, ...]:
        """Mean work of each day of a month of 30 days, processor s, over the months that have it."""
        days = [self.work_by_day[day::DAYS_OF_MONTH] for day in range(min(DAYS_OF_MONTH, self.days))]
        return tuple(sum(works) / len(works) for works in days)

    @property
    def document(self) -> dict[str, Any]:
        """The account as JSON holds it."""
        return dataclasses.asdict(self) | {"work_by_day_of_month": self.work_by_day_of_month}

    @property
    def json(self) -> str:
        """The account as a JSON text."""
        return json.dumps(self.document, indent=2, allow_nan=False) + "\n"

    @property
    def markdown(self) -> str:
        """The account but the days, as a page with tables."""
        return "\n".join(self._lines()) + "\n"

    @property
    def summary(self) -> str:
        """Table 5 of the source, as a table of one row."""
        head = ("grid", "sites", "processors", "jobs", "users", "time zone", "days")
        zone = f"{self.time_zone / 3600:+g} h"
        row = (self.name, self.sites, self.processors, self.jobs, self.users, zone, self.days)
        return "\n".join(_table(head, [row]))

    def _lines(self) -> Iterator[str]:
        yield f"# Weeks of a grid from traces: {_cell(self.name)}"
        yield ""
        yield self.summary
        yield ""
        yield f"Platform: {_cell(self.platform)}; speeds: {self.speeds}; warm-up: {self.warmup_days:g} days."
        yield "Times are in the time zone of the broker, the smallest UTC offset of all traces. Work is the sum of"
        yield "tasks x reference run time of the arriving jobs; offered load is work over the processor time of a week."
        if self.without_trace:
            yield ""
            yield f"Sites without a trace, and so without logged jobs: {', '.join(map(_cell, self.without_trace))}."
        yield ""
        yield "## Traces"
        yield ""
        head = ("site", "trace", "first Monday", "whole weeks", "records", "jobs", "users", "run times cut")
        yield from _table(
            head,
            [(t.site, t.swf, t.first_monday, t.whole_weeks, t.records, t.jobs, t.users, t.cut) for t in self.traces],
        )
        for trace in self.traces:
            if trace.broken:
                yield ""
                yield f"{counted(trace.broken, 'malformed line')} of {_cell(trace.swf)} skipped."
        yield ""
        yield "## Jobs dropped"
        yield ""
        yield "A job that meets several reasons is counted under the first."
        yield ""
        rows = [(drop.value, *(trace.dropped[drop] for trace in self.traces)) for drop in WeekDrop]
        yield from _table(("reason", *(trace.site for trace in self.traces)), rows)
        yield ""
        yield "## Weeks"
        yield ""
        weeks = [(w.name, w.jobs, w.users, f"{w.work:.6g}", f"{100.0 * w.offered_load:.4g}") for w in self.weeks]
        yield from _table(("week", "jobs", "users", "work, processor s", "offered load, %"), weeks)


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> Iterator[str]:
    """Yield the lines of a table: the first column to the left, others to the right."""
    for cells in (head, ["---", *["---:"] * (len(head) - 1)], *rows):
        yield f"| {' | '.join(_cell(str(cell)) for cell in cells)} |"


def _cell(text: str) -> str:
    """Return a text of unknown origin so that it stays in its cell."""
    return visible(text).replace("|", "\\|")
