"""The rows of an audit: what was, is at least, and is possible in the whole period and in each of its intervals.

All ranges come from a bound and a schedule. Where the waiting comes from is told by relaxing one thing
after the other: the schedule as it was; the best that a policy with the users' estimates could have made; the best of
all; the best if jobs could be divided and interrupted; no wait at all, on a platform large enough. The mean wait of
each lies between a bound and a schedule, so what is between two of them lies in an interval; a difference of two bounds
says nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from coalloc.bench.outcomes import Outcome
from coalloc.documents.errors import InternalError
from coalloc.studies.audit_policies import AS_IT_WAS
from coalloc.studies.audit_windows import AuditWindow

if TYPE_CHECKING:
    import pandas as pd

Row = dict[str, Any]

MEASURES = ("wait", "bounded_slowdown")
"""Measures of jobs, as means over them."""

SHARES: Mapping[str, str] = {
    "capacity": "too few processors at the time",
    "fragmentation": "jobs start all tasks at once and are not preempted",
    "estimates": "arrivals and run times are not known in advance",
    "order": "order in which jobs started",
}
"""Causes of waiting, from those that only a larger platform changes to those that another schedule changes."""

OF_MEASURES = tuple(
    f"{measure}_{part}"
    for measure in MEASURES
    for part in ("as_it_was", "bound", "best", "best_by", "online", "online_by")
)
OF_MAKESPAN = tuple(f"{name}_{part}" for name in ("makespan", "utilization") for part in ("as_it_was", "bound", "best"))
OF_SHARES = ("waited", *(f"{share}_{end}" for share in SHARES for end in ("low", "high")))
STATE = ("window", "kind", "begin", "end", "jobs", "waiting", "running", "crowded_out", "most_used", "is_possible")

COLUMNS = (*STATE, *OF_MEASURES, *OF_MAKESPAN, *OF_SHARES)
"""Columns of the table; ``Audit.table`` defines them."""

TOLERANCE = 1e-6
"""Share by which a schedule may be below a bound: both are floats."""


class ValueRange(NamedTuple):
    """Between what a number lies."""

    low: float
    high: float


def row_of(window: AuditWindow, label: str, outcome: Outcome, is_whole: bool) -> Row:
    """Return the row of a window, or of the whole period, from what its sample says."""
    low, past = outcome["bounds"], window.sample.measured(window.starts)
    known = [*outcome["schedules"]]
    if window.is_possible:
        known.append({"label": AS_IT_WAS, "is_online": True, **past})
    _refuse_impossible(label, low, known)
    row: Row = {
        "window": label,
        "kind": "period" if is_whole else "window",
        "begin": window.begin,
        "end": window.end,
        "jobs": len(window.starts),
        "waiting": window.num_waiting,
        "running": len(window.sample.instance.running),
        "crowded_out": window.num_crowded_out,
        "most_used": window.most_used,
        "is_possible": window.is_possible,
    }
    for measure in MEASURES:
        row |= _measured(measure, past[measure], low[measure], known)
    row |= _makespans(window, past["makespan"], low["makespan"], known)
    return row | _shares(row, outcome["without_fragmentation"])


def best_starts(window: AuditWindow, outcome: Outcome, row: Row, simulated: Mapping[str, Any]) -> dict[str, float]:
    """Return when each job starts in the schedule of least mean wait that is held, s on the clock of the history.

    ``simulated`` are the runs under policies by label, with their ``starts`` in s on the clock of the window.
    """
    by = row["wait_best_by"]
    simulation = simulated.get(by)
    starts = np.asarray(
        window.starts if by == AS_IT_WAS else outcome["best_starts"] if simulation is None else simulation.starts
    )
    jobs = window.sample.instance.jobs
    return {job.id: start for job, start in zip(jobs, (window.begin + starts).tolist(), strict=True)}


def _measured(measure: str, past: float, bound: float, known: Sequence[Mapping[str, Any]]) -> Row:
    """Return what a measure was, is at least, and is in the best schedules."""
    best = min(known, key=lambda held: float(held[measure]))
    online = min((held for held in known if held["is_online"]), key=lambda held: float(held[measure]))
    return {
        f"{measure}_as_it_was": past,
        f"{measure}_bound": min(bound, best[measure]),  # above it by rounding alone: see _refuse_impossible
        f"{measure}_best": best[measure],
        f"{measure}_best_by": best["label"],
        f"{measure}_online": online[measure],
        f"{measure}_online_by": online["label"],
    }


def _makespans(window: AuditWindow, past: float, bound: float, known: Sequence[Mapping[str, Any]]) -> Row:
    """Return makespans, s, and which share of the processors was used until then: at most, where the bound is."""
    best = min(float(held["makespan"]) for held in known)
    found = {"as_it_was": past, "bound": min(bound, best), "best": best}
    most = window.sample.work / window.sample.instance.platform.num_processors
    makespans = {f"makespan_{part}": seconds for part, seconds in found.items()}
    return makespans | {f"utilization_{part}": most / seconds for part, seconds in found.items()}


def _shares(row: Row, fluid: Mapping[str, float]) -> Row:
    """Return between what the part of each share of the mean wait lies, s."""
    past, least, best, online = (row[f"wait_{part}"] for part in ("as_it_was", "bound", "best", "online"))
    divided = ValueRange(fluid["bound"], min(fluid["best"], best))
    low = min(divided.low, divided.high)
    waited = fluid["waited"]
    ranges = {
        "capacity": ValueRange(low - waited, divided.high - waited),
        "fragmentation": ValueRange(max(0.0, least - divided.high), best - low),
        "estimates": ValueRange(0.0, max(0.0, online - least)),
        "order": ValueRange(max(0.0, past - online), max(0.0, past - least)),
    }
    ends = {f"{share}_{end}": part for share, found in ranges.items() for end, part in found._asdict().items()}
    return {"waited": waited, **ends}


def _refuse_impossible(label: str, bounds: Mapping[str, float], known: Sequence[Mapping[str, Any]]) -> None:
    """Raise where a schedule beats a bound: then one of the two is wrong."""
    for held in known:
        for measure, bound in bounds.items():
            if bound > held[measure] * (1.0 + TOLERANCE) + TOLERANCE:
                raise InternalError(
                    f"{label}: the bound {bound:.12g} on {measure} exceeds the {held[measure]:.12g} of "
                    f"{held['label']!r}"
                )


def table_of(rows: Iterable[Row]) -> pd.DataFrame:
    """Return the table of rows, in their order."""
    import pandas as pd

    return pd.DataFrame(list(rows), columns=list(COLUMNS))
