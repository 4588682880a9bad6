"""The rule on execution times: duration.

The execution time on nodes of speeds Gamma is ``Te = Tb * (sigma * SP + (1 - sigma) * SC)``, with SP the largest
1/Gamma of them, and SC the communication slowdown: 1 with strict links, the load of the most loaded link over time with
shared ones. Source: thesis, chapter 2, as corrected in errata 3.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from operator import attrgetter

import numpy as np

from coalloc.checker.processor_sets import Floats
from coalloc.checker.rows import CheckedRows
from coalloc.checker.rule import Case, Rule, Violation, seconds
from coalloc.checker.totals import totals_over_time
from coalloc.instance import Instance, Job, Link, NodeGroup, visible
from coalloc.instance.rounding import RELATIVE_TOLERANCE, slots_up
from coalloc.schedule import Placement

_NamedParts = dict[int, list[tuple[float, float]]]
"""Of each row whose job names times, and each group of nodes it uses: what takes a fixed time there, and what SC
stretches, s. The slowest group decides."""


def _made(case: Case, named: _NamedParts) -> tuple[Floats, Floats] | None:
    """Return progress and highest rate of each row (:func:`_progress`) where shared nodes or links set its pace."""
    if case.instance.shares_nodes:
        rows = case.shared_rows
        return np.array([row.progress for row in rows]), np.array([row.fastest for row in rows])
    return _progress(case.rows, case.loads, case.instance.platform.links, named) if case.links == "shared" else None


def _named_parts(rows: CheckedRows, instance: Instance) -> _NamedParts:
    """Return the parts of the rows whose jobs name times."""
    groups = [group for cluster in instance.platform.clusters for group in cluster.nodes]
    parts: _NamedParts = {}
    for row, _, job in rows.known(attrgetter("times")):
        used = sorted({g for _, _, g in rows.parts(row)})
        if used and not math.isnan(rows.slowdown[row]):
            parts[row] = [_named_part(job, groups[g]) for g in used]
    return parts


def _named_part(job: Job, group: NodeGroup) -> tuple[float, float]:
    """Return ``T * sigma / A`` and ``T * (1 - sigma)`` with the time T named for a group, else as of any job, s."""
    share = job.processing_share
    for feature in group.features:
        if feature in job.times:
            return job.times[feature] * share / group.availability, job.times[feature] * (1.0 - share)
    return job.base_time * share / group.effective_power, job.base_time * (1.0 - share)


def _times_of(parts: Sequence[tuple[float, float]], slowdown: Floats) -> Floats:
    """Return how long a job that names times takes on the slowest group at each SC, s."""
    times = [fixed + communicating * slowdown for fixed, communicating in parts]
    return np.asarray(np.max(times, axis=0), dtype=np.float64)


def _durations(case: Case) -> Iterator[Violation]:
    """Yield jobs whose end does not follow from their start, nor from the progress that they made."""
    rows, slot = case.rows, case.schedule.slot
    named = _named_parts(rows, case.instance) if "times" in case.instance.features else {}
    made = _made(case, named)
    lengths = np.asarray(sum(_parts(rows)), dtype=np.float64)
    for row, parts in named.items():
        lengths[row] = max(fixed + communicating for fixed, communicating in parts)
    tolerance, lasted = rows.summed_up(rows.tolerance), rows.summed_up(rows.end - rows.start)
    if made is not None:
        progress, fastest = made = rows.summed_up(made[0]), made[1]
        is_right = np.abs(progress - 1.0) <= RELATIVE_TOLERANCE + fastest * tolerance
    else:
        is_right = np.abs(lasted - lengths) <= tolerance
    is_right |= rows.next_run >= 0  # the run that continues it counts
    is_right &= (rows.end >= rows.start) & (made is not None or slot is None)
    for row, placement, job in rows.placed(~is_right):  # where a number is none, it is looked at closely
        if placement.end < placement.start - tolerance[row]:
            length = placement.end - placement.start
            sentence = (
                f"job {visible(placement.job)} ends at {seconds(placement.end)}, "
                f"before its start at {seconds(placement.start)}"
            )
            yield Violation("duration", (placement.job,), "", placement.end, length, 0, sentence)
        elif job is None or math.isnan(rows.slowdown[row]):
            continue  # its execution time is not defined; other rules say why
        elif rows.next_run[row] >= 0:
            continue
        elif made is not None:
            yield from _progress_violation(
                placement, float(made[0][row]), float(made[1][row]), slot, float(tolerance[row])
            )
        else:
            lasts = float(lasted[row])
            yield from _length_violation(placement, lasts, float(lengths[row]), slot, float(tolerance[row]))


def _length_violation(
    placement: Placement, length: float, execution_time: float, slot: float | None, tolerance: float
) -> Iterator[Violation]:
    """Yield a job that does not last its execution time (killed: lasts longer), where SC = 1; ``length`` is in s."""
    killed = placement.outcome == "killed"
    slotted = slot is not None and not killed and math.isfinite(execution_time / slot)
    limit = slot * slots_up(execution_time, slot) if slot is not None and slotted else execution_time
    if abs(length - limit) <= tolerance or (killed and length < limit):
        return
    verdict = "too early" if length < limit else "too late"
    allowed = f"at most {seconds(limit)}" if killed else seconds(limit)
    in_slots = f" (whole time slots of {seconds(slot)})" if slot is not None and slotted else ""
    sentence = (
        f"job {visible(placement.job)} ends {verdict}: it lasts {seconds(length)}, but must last {allowed}{in_slots}"
    )
    yield Violation("duration", (placement.job,), "", placement.end, length, limit, sentence)


def _progress_violation(
    placement: Placement, progress: float, fastest: float, slot: float | None, tolerance: float
) -> Iterator[Violation]:
    """Yield a job that is not done at its end, or was done before; ``fastest`` is its highest rate, 1/s."""
    margin = RELATIVE_TOLERANCE + fastest * tolerance
    killed = placement.outcome == "killed"
    too_little = progress < 1.0 - margin and not killed
    too_much = progress > 1.0 + margin and (killed or slot is None)
    if not too_little and not too_much:
        return
    verdict = "too early" if too_little else "too late"
    sentence = (
        f"job {visible(placement.job)} ends {verdict}: at {seconds(placement.end)} "
        f"{progress:.12g} of its work is done, at the speed of shared links or nodes"
    )
    yield Violation("duration", (placement.job,), "", placement.end, progress, 1, sentence)


def _progress(rows: CheckedRows, loads: Floats, network: Sequence[Link], named: _NamedParts) -> tuple[Floats, Floats]:
    """Return the integral of ``1/Te(t)`` from start to end, and the highest ``1/Te(t)`` (1/s), per row.

    Rows that load the same links meet the same SC, so it is computed once for all of them. Where nobody
    loads a link of no bandwidth SC is undefined (0/0), but then no row loads it.
    """
    fixed, communicating = _parts(rows)
    fastest = 1.0 / (fixed + communicating)
    for row, parts in named.items():
        fastest[row] = 1.0 / _times_of(parts, np.ones(1))[0]
    progress = (rows.end - rows.start) * fastest
    saturations = np.stack([totals_over_time(rows, loads[:, k])[0] / link.bandwidth for k, link in enumerate(network)])
    steps = np.diff(rows.instants)
    affected = np.flatnonzero((communicating > 0.0) & (loads > 0.0).any(axis=1) & (rows.begin < rows.finish))
    masks, group = np.unique(loads[affected] > 0.0, axis=0, return_inverse=True)
    for g, mask in enumerate(masks):
        slowdown = np.maximum(1.0, saturations[mask].max(axis=0))
        num_slow = np.concatenate([[0], np.cumsum(slowdown > 1.0)])
        members = affected[group.ravel() == g]
        for row in members[num_slow[rows.finish[members]] > num_slow[rows.begin[members]]]:
            span = slice(rows.begin[row], rows.finish[row])
            parts = named.get(int(row), [(fixed[row], communicating[row])])
            rates = 1.0 / _times_of(parts, slowdown[span])
            progress[row] = rates @ steps[span]
            fastest[row] = rates.max()
    return progress, fastest


def _parts(rows: CheckedRows) -> tuple[Floats, Floats]:
    """Return ``Tb * sigma * SP`` and ``Tb * (1 - sigma)`` of each row, s; SC stretches only the second."""
    base_time = rows.column("base_time", math.nan)
    share = rows.column("processing_share", math.nan)
    return base_time * share * rows.slowdown, base_time * (1.0 - share)


RULES = (
    Rule(
        {
            "duration": "a job lasts exactly its execution time, rounded up to whole time slots in a slotted schedule; "
            "with shared links its progress between start and end is 1 (slotted: at least 1); a killed job has at most "
            "that duration or progress; runs before suspensions count; no job ends before it starts"
        },
        _durations,
        {"times"},
        runs_without=True,
        on_shared_nodes=False,
    ),
)
