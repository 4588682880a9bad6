"""Rules on start and end of a job: arrival, deadline, precedence, lag."""

from __future__ import annotations

import math
from collections.abc import Iterator
from operator import attrgetter

from coalloc.checker.rule import Case, Rule, Violation, seconds
from coalloc.instance import visible


def _arrivals(case: Case) -> Iterator[Violation]:
    """Yield jobs that start before they arrive."""
    rows = case.rows
    arrival = rows.column("arrival", math.nan)
    for _, placement, job in rows.placed(rows.start < arrival - rows.tolerance):
        if job is not None:
            sentence = (
                f"job {visible(job.id)} starts at {seconds(placement.start)}, "
                f"before its arrival at {seconds(job.arrival)}"
            )
            yield Violation("arrival", (job.id,), "", placement.start, placement.start, job.arrival, sentence)


def _deadlines(case: Case) -> Iterator[Violation]:
    """Yield jobs that end after their deadlines."""
    if case.deadlines == "report":
        return
    rows = case.rows
    deadline = rows.column("deadline", math.inf, lambda time: math.inf if time is None else time)
    for row, placement, job in rows.placed(rows.end > deadline + rows.tolerance):
        if job is not None:
            limit = float(deadline[row])
            sentence = f"job {visible(job.id)} ends at {seconds(placement.end)}, after its deadline at {seconds(limit)}"
            yield Violation("deadline", (job.id,), "", placement.end, placement.end, limit, sentence)


def _precedence(case: Case) -> Iterator[Violation]:
    """Yield each pair of a job and a predecessor that ends after the start of the job."""
    rows = case.rows
    ends: dict[str, float] = {}
    for name, end in zip(rows.ids, rows.end.tolist(), strict=True):
        ends[name] = max(end, ends.get(name, end))
    for row, placement, job in rows.known(attrgetter("after")):
        for other in dict.fromkeys(job.after):
            end = ends.get(other, -math.inf)
            if placement.start < end - rows.tolerance[row]:
                sentence = (
                    f"job {visible(placement.job)} starts at {seconds(placement.start)}, "
                    f"before the end of its predecessor {visible(other)} at {seconds(end)}"
                )
                pair = placement.job, other
                yield Violation("precedence", pair, "", placement.start, placement.start, end, sentence)


def _lags(case: Case) -> Iterator[Violation]:
    """Yield each pair of jobs whose starts violate a minimal or a maximal lag."""
    rows = case.rows
    number = {name: row for row, name in enumerate(rows.ids)}
    for row, placement, job in rows.known(attrgetter("lags")):
        for lag in job.lags:
            other = number.get(lag.after)
            if other is None:
                continue
            time = float((rows.start if lag.from_ == "start" else rows.end)[other])
            tolerance = max(float(rows.tolerance[row]), float(rows.tolerance[other]))
            is_early = placement.start < time + lag.min - tolerance
            is_late = lag.max is not None and placement.start > time + lag.max + tolerance
            if is_early or (is_late and case.deadlines == "enforce"):
                limit = time + (lag.min if is_early else lag.max or 0.0)
                sentence = (
                    f"job {visible(placement.job)} starts at {seconds(placement.start)}, but must start at "
                    f"{seconds(limit)} or {'later' if is_early else 'earlier'}, because of the {lag.from_} of "
                    f"{visible(lag.after)} at {seconds(time)}"
                )
                pair = placement.job, lag.after
                yield Violation("lag", pair, "", placement.start, placement.start, limit, sentence)


RULES = (
    Rule({"arrival": "a job starts at its arrival or later"}, _arrivals),
    Rule(
        {"deadline": "a job ends by its deadline, unless misses are only reported (deadlines='report')"},
        _deadlines,
        {"deadline"},
    ),
    Rule({"precedence": "a job starts after the end of all its predecessors"}, _precedence, {"after"}),
    Rule(
        {
            "lag": "a job starts within the minimal and the maximal lag after the start or the end of another job; "
            "maximal lags are not checked with deadlines='report'"
        },
        _lags,
        {"lags"},
        on_shared_nodes=False,
    ),
)
