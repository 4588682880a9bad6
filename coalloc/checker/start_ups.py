"""The rule on power management: start-up."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from coalloc.checker.processor_sets import Ints
from coalloc.checker.rows import CheckedRows, tasks_by_cluster
from coalloc.checker.rule import Case, Rule, Violation, seconds
from coalloc.instance import PowerStates, visible
from coalloc.instance.power import known_power_states


def _start_ups(case: Case) -> Iterator[Violation]:
    """Yield, for each time that a cluster comes on, its first job if that has not waited for the start-up."""
    if not case.power_management:
        return
    rows = case.rows
    is_there = (tasks_by_cluster(rows) > 0)[rows.held]
    for c, site in enumerate(case.instance.platform.clusters):
        states = known_power_states(site)
        for row, begun in _coming_on(rows, np.flatnonzero(is_there[:, c]), states):
            placement = rows.placements[row - rows.num_running]
            waited = placement.start - begun
            if waited < states.startup_time - rows.tolerance[row]:
                sentence = (
                    f"job {visible(placement.job)} starts at {seconds(placement.start)} on cluster "
                    f"{visible(site.name)}, which can start up at {seconds(begun)} and requires "
                    f"{seconds(states.startup_time)} for it"
                )
                where, limit = site.name, states.startup_time
                yield Violation("start-up", (placement.job,), where, placement.start, waited, limit, sentence)


def _coming_on(rows: CheckedRows, members: Ints, states: PowerStates) -> Iterator[tuple[int, float]]:
    """Yield the rows for which a cluster, on which the ``members`` run, comes on, and when it can begin to start up, s.

    It can once it is off, for a job that has arrived and has not started: this one, or one that starts later.
    """
    by_start = members[np.argsort(rows.begin[members], kind="stable")]
    start, end = rows.instants[rows.begin[by_start]], rows.instants[rows.finish[by_start]]
    is_placed = by_start >= rows.num_running
    arrival = rows.column("arrival", math.inf)[by_start]
    earliest = np.minimum.accumulate(np.where(is_placed, arrival, math.inf)[::-1])[::-1]
    off = np.append(-math.inf, np.maximum.accumulate(end + states.core_grace + states.site_grace))[:-1]
    for k in np.flatnonzero(is_placed & (start > off) & (earliest < math.inf)).tolist():
        if start[k] - off[k] > rows.base.tolerance_at(start[k]):
            yield int(by_start[k]), float(max(earliest[k], off[k]))


RULES = (
    Rule(
        {
            "start-up": "with power management the first job on a cluster that was off starts at least startup_time "
            "after the cluster can begin to start up, which requires that it is off and that a job has arrived and "
            "waits for it"
        },
        _start_ups,
    ),
)
