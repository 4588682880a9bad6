"""Rules on failures of nodes and on interrupted runs: unknown-node, failed-node, interruption, suspension."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from coalloc.checker.outages import nodes_of
from coalloc.checker.processor_sets import Spans, common, processor_texts
from coalloc.checker.rows import CheckedRows
from coalloc.checker.rule import Case, Rule, Violation, seconds
from coalloc.instance import visible
from coalloc.schedule import Failure, InterruptedRun


def _failures(case: Case) -> Iterator[Violation]:
    """Yield the processors that runs hold while their nodes have failed, failure by failure."""
    rows = case.rows
    for failure in case.schedule.failures:
        failed = _failed(rows, failure)
        overlapping = np.minimum(rows.end, failure.end) - np.maximum(rows.start, failure.start) > rows.tolerance
        for row, placement, _ in rows.placed(overlapping) if failed else ():
            shared = common(rows.spans(row), failed)
            if shared:
                where = ", ".join(processor_texts(shared, rows.groups))
                sentence = (
                    f"job {visible(placement.job)} is on {visible(where)} from {seconds(placement.start)} to "
                    f"{seconds(placement.end)}: failed from {seconds(failure.start)} to {seconds(failure.end)}"
                )
                count, begin = sum(stop - first for first, stop in shared), max(placement.start, failure.start)
                yield Violation("failed-node", (placement.job,), where, begin, count, 0, sentence)


def _unknown_nodes(case: Case) -> Iterator[Violation]:
    """Yield a node for each failure that names nodes which the platform does not have."""
    known = {node.name for node in case.instance.platform.nodes} if case.schedule.failures else set()
    for failure in case.schedule.failures:
        unknown = [name for name in failure.nodes if name not in known]
        if unknown:
            name, at = visible(unknown[0]), seconds(failure.start)
            sentence = f"the failure at {at} is of {name}, which is not a node of the platform"
            yield Violation("unknown-node", (), name, failure.start, len(unknown), 0, sentence)


def _failed(rows: CheckedRows, failure: Failure) -> Spans:
    """Return the processors of the nodes that fail."""
    groups, found = rows.groups, []
    for c, name in enumerate(groups.cluster_names):
        ranges = [part for part in failure.nodes.ranges if part.cluster == name]
        if ranges:
            found += nodes_of(groups, np.flatnonzero(groups.cluster == c), ranges)
    return sorted(found)


def _interruptions(case: Case) -> Iterator[Violation]:
    """Yield interrupted runs without cause, and those that do not end before the next run of their job."""
    rows, next_start = (
        case.rows,
        {p.job: p.start for p in case.schedule.placements} if case.schedule.interrupted else {},
    )
    numbered = sorted(enumerate(case.schedule.interrupted, rows.num_running), key=lambda entry: -entry[1].start)
    for row, run in numbered:
        tolerance = float(rows.tolerance[row])
        following = next_start.get(run.job)
        next_start[run.job] = run.start
        if following is not None and run.end > following + tolerance:
            sentence = (
                f"job {visible(run.job)} runs again from {seconds(following)}, before its interrupted run ends at "
                f"{seconds(run.end)}"
            )
            yield Violation("interruption", (run.job,), "", following, run.end, following, sentence)
        if run.cause == "failure" and not _has_cause(case, row, run, tolerance):
            sentence = f"no node of job {visible(run.job)} fails when its run is interrupted at {seconds(run.end)}"
            yield Violation("interruption", (run.job,), "", run.end, 0, 1, sentence)


def _suspensions(case: Case) -> Iterator[Violation]:
    """Yield suspended runs that no run of their job on the same processors continues."""
    rows = case.rows
    for row, run in enumerate(case.schedule.interrupted, rows.num_running):
        following = int(rows.next_run[row])
        if run.cause == "suspension" and (following < 0 or rows.spans(row) != rows.spans(following)):
            sentence = f"job {visible(run.job)} is suspended at {seconds(run.end)}, but " + (
                "never resumes" if following < 0 else "resumes on other processors"
            )
            yield Violation("suspension", (run.job,), "", run.end, 0, 1, sentence)


def _has_cause(case: Case, row: int, run: InterruptedRun, tolerance: float) -> bool:
    """Return whether a failure of one of its nodes begins when a run ends."""
    begin = [failure for failure in case.schedule.failures if abs(failure.start - run.end) <= tolerance]
    return any(common(case.rows.spans(row), _failed(case.rows, failure)) for failure in begin)


RULES = (
    Rule({"unknown-node": "failures are of nodes of the platform"}, _unknown_nodes),
    Rule({"failed-node": "no run overlaps a failure of its nodes"}, _failures),
    Rule(
        {
            "interruption": "an interrupted run ends before the next run of its job starts, and when one of its nodes "
            "fails if that is its cause"
        },
        _interruptions,
    ),
    Rule({"suspension": "a job resumes on the processors on which it was suspended"}, _suspensions),
)
