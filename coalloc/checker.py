"""The independent checker: is a schedule of any origin valid for an instance, and if not, why.

It shares no formula with the rooms that make schedules: slowdowns, link loads and durations are
computed here a second time, from the definitions of the thesis (chapter 2, as corrected in errata
3), on purpose, so that a mistake there cannot hide itself. Only what an instance is and when two
numbers count as equal (:mod:`coalloc.instance.rounding`) is common ground.

Every violation is reported. The names of the rules are stable; :data:`RULES` defines each. Time is
a list of instants at which something starts or ends; instants closer than the time tolerance are
one, so that jobs back to back do not overlap by rounding. Intervals are half-open, and what lasts
no longer than the tolerance occupies nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from coalloc import checker_shared_nodes as shared_nodes
from coalloc.instance import CoallocError, Instance, Job, Link, Platform, public, visible
from coalloc.instance.rounding import RELATIVE_TOLERANCE, capacity_limit, merge_instants, slots_up, time_tolerance
from coalloc.schedule import Placement, Schedule

Links = Literal["strict", "shared", "ignore"]
Scope = Literal["platform", "cluster", "node"]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Pair = tuple[int, int, int]
"""Two rows that hold a processor at once, and the processor."""

RULES = {
    "missing-job": "every job of the instance is placed",
    "duplicate-job": "no job is placed more than once",
    "unknown-job": "every placement is of a job to schedule, not of another or of one that runs already",
    "task-count": "a job names as many processors as it has tasks",
    "repeated-processor": "a job names no processor twice",
    "unknown-processor": "every processor named is one of the platform",
    "scope": "a job stays within one cluster, or one node, where the scope asks it",
    "arrival": "a job starts at its arrival or later",
    "duration": "a job lasts its execution time exactly, rounded up to whole slots in a slotted schedule; with shared "
    "links the progress made between start and end is 1 (slotted: at least 1); a killed job lasts, or makes, at most "
    "that; no job ends before it starts",
    "overlap": "no processor is held by two jobs at one instant; running jobs hold theirs until their end",
    "link-load": "with strict links no link carries more than (1 + saturation) times its bandwidth at any instant at "
    "which a job of the schedule loads it",
    "memory": "the tasks on a node ask together for no more than its memory at any instant at which a job of the "
    "schedule asks for some there; nodes without memory are not limited; where nodes are shared, and tasks are stopped "
    "when there is too little, a task asks for no more than its node can ever give it",
    **shared_nodes.RULES,
}
"""Name and meaning of each rule, in the order in which violations are reported."""

OVERLAP_PAIRS = 200_000
"""Overlaps, counted per processor, up to which every pair is named; beyond, each job that starts on a
busy processor is named with the one that holds it longest, or a hopeless schedule would exhaust memory."""

NAMED_JOBS = 1_000
"""Jobs that one violation of a link, or of a node's memory, names at most."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule.

    ``jobs`` are ids; ``where`` names processors (separated by ``", "``), a link, a node, or nothing; ``when``
    is the instant, s, at which it begins, if there is one; ``amount`` and ``limit`` are in the unit
    of the rule: jobs, processors, s, MB/s, MB, or the share of a job's work.
    """

    rule: str
    jobs: tuple[str, ...]
    where: str
    when: float | None
    amount: float
    limit: float
    sentence: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.sentence}"


@public
def check(
    instance: Instance,
    schedule: Schedule,
    links: Links = "strict",
    saturation: float = 0.0,
    scope: Scope = "platform",
) -> list[Violation]:
    """Return every violation of the rules in :data:`RULES`; an empty list if the schedule is valid.

    Parameters
    ----------
    links
        ``strict``: links must not saturate, SC is 1; ``shared``: they may, and SC follows the load
        over time; ``ignore``: SC is 1 and loads are not checked.
    saturation
        Share above its bandwidth that a strict link may carry; SC still counts as 1.
    scope
        Where the tasks of one job may be: anywhere, in one ``cluster``, on one ``node``.

    Raises
    ------
    CoallocError
        If an option, or a combination of options, is not supported; never because of what the schedule says.
    """
    _refuse_unsupported(links, saturation)
    with np.errstate(all="ignore"):  # finite numbers of any size are allowed, and their sums may overflow
        rows = _rows(instance, schedule)
        loads = _loads(rows, instance)
        return [
            *_job_violations(rows, instance),
            *_processor_violations(rows, instance),
            *_scope_violations(rows, instance, scope),
            *_arrival_violations(rows),
            *_duration_violations(rows, schedule.slot, _made(rows, instance, links, loads)),
            *_overlap_violations(rows, instance),
            *(_link_violations(rows, loads, instance.platform.links, saturation) if links == "strict" else ()),
            *_node_violations(rows, instance, loads),
        ]


def _refuse_unsupported(links: Links, saturation: float) -> None:
    """Raise :class:`CoallocError` where a saturation is none, or is tolerated where links may saturate anyway."""
    if not 0.0 <= saturation < math.inf:
        raise CoallocError(f"saturation: must be finite and at least 0, got {saturation!r}")
    if saturation > 0.0 and links != "strict":
        raise CoallocError(f"saturation={saturation!r} is for links='strict', not for links={links!r}")


# ------------------------------------------------------------------------------ what the schedule says


@dataclass(frozen=True, slots=True)
class _Rows:
    """The running jobs (the first ``num_running`` rows), then the placements, as columns.

    ``jobs`` holds None where the id is unknown; ``slowdown`` is SP, NaN where a processor is unknown
    or none is named. ``begin`` and ``finish`` index ``instants`` (s). Row ``held_by[i]`` holds
    processor ``held[i]``; a processor named twice by one job counts once.
    """

    placements: tuple[Placement, ...]
    num_running: int
    ids: list[str]
    jobs: list[Job | None]
    slowdown: list[float]
    instants: Floats
    begin: Ints
    finish: Ints
    held: Ints
    held_by: Ints

    def placed(self) -> Iterator[tuple[int, Placement, Job | None]]:
        """Yield row, placement and job of each placement."""
        for row, placement in enumerate(self.placements, self.num_running):
            yield row, placement, self.jobs[row]


def _rows(instance: Instance, schedule: Schedule) -> _Rows:
    """Return running jobs and placements as columns; running jobs hold their nodes from 0, which is now."""
    entries: list[tuple[str, Job | None, tuple[str, ...], float, float]]
    entries = [(r.job.id, r.job, r.nodes, 0.0, r.end) for r in instance.running]
    entries += [(p.job, instance.job_by_id.get(p.job), p.nodes, p.start, p.end) for p in schedule.placements]
    known = [_known(instance, nodes) for _, _, nodes, _, _ in entries]
    slowness = _slowness(instance)
    instants, index = merge_instants([*(entry[3] for entry in entries), *(entry[4] for entry in entries)])
    return _Rows(
        placements=schedule.placements,
        num_running=len(instance.running),
        ids=[entry[0] for entry in entries],
        jobs=[entry[1] for entry in entries],
        slowdown=[
            max(map(slowness.__getitem__, held)) if held and len(held) == len(set(entry[2])) else math.nan
            for held, entry in zip(known, entries, strict=True)
        ],
        instants=instants,
        begin=index[: len(entries)],
        finish=index[len(entries) :],
        held=np.fromiter((processor for held in known for processor in held), np.int64),
        held_by=np.repeat(np.arange(len(known)), [len(held) for held in known]),
    )


def _slowness(instance: Instance) -> list[float]:
    """Return 1/Gamma of every processor."""
    powers = [instance.platform.group_of(node).effective_power for node in instance.platform.nodes]
    return [1.0 / powers[node] for node in instance.platform.processor_node]


def _known(instance: Instance, nodes: Iterable[str]) -> set[int]:
    """Return the indices of the processors named that exist."""
    index = instance.platform.processor_index
    return {index[name] for name in nodes if name in index}


def _loads(rows: _Rows, instance: Instance) -> Floats:
    """Return the load of every row on every link, MB/s, shape ``(num_rows, num_links)``.

    With t of n tasks on one side of a link: ``t * PTBW * (n - t)/(n - 1)``. Tasks are those placed
    on known processors, so that a job with a task too few is not taken for a co-allocated one.
    """
    platform = instance.platform
    cluster = np.array([platform.nodes[node].cluster for node in platform.processor_node])
    num_clusters = len(platform.clusters)
    cells = np.bincount(rows.held_by * num_clusters + cluster[rows.held], minlength=len(rows.ids) * num_clusters)
    tasks = cells.reshape(len(rows.ids), num_clusters)
    total = tasks.sum(axis=1)
    bandwidth = np.array([0.0 if job is None else job.task_bandwidth for job in rows.jobs])
    loads = np.zeros((len(rows.ids), len(platform.links)))
    for k, link in enumerate(platform.links):
        inside = tasks[:, sorted(link.clusters)].sum(axis=1)
        loads[:, k] = bandwidth * (inside * (total - inside) / np.maximum(1, total - 1))
    return loads


# ------------------------------------------------------------------------------ the rules, job by job


def _job_violations(rows: _Rows, instance: Instance) -> Iterator[Violation]:
    """Yield jobs that are missing, placed twice, or not to be placed at all."""
    times = Counter(placement.job for placement in rows.placements)
    for name in instance.job_by_id:
        if name not in times:
            yield Violation("missing-job", (name,), "", None, 0, 1, f"job {visible(name)} is not placed")
    for name, count in times.items():
        if count > 1:
            sentence = f"job {visible(name)} is placed {count} times"
            yield Violation("duplicate-job", (name,), "", None, count, 1, sentence)
    running = set(rows.ids[: rows.num_running])
    for _, placement, job in rows.placed():
        if job is None:
            name = placement.job
            reason = "runs already" if name in running else "is not a job of the instance"
            sentence = f"job {visible(name)} {reason} and must not be placed"
            yield Violation("unknown-job", (name,), "", placement.start, 1, 0, sentence)


def _processor_violations(rows: _Rows, instance: Instance) -> Iterator[Violation]:
    """Yield placements that do not name exactly ``tasks`` distinct processors of the platform."""
    exists = instance.platform.processor_index
    for row, placement, job in rows.placed():
        count = len(placement.nodes)
        if job is not None and count != job.tasks:
            sentence = f"job {visible(job.id)} has {_counted(job.tasks, 'task')} but {_counted(count, 'processor')}"
            yield Violation("task-count", (job.id,), "", placement.start, count, job.tasks, sentence)
        if len(set(placement.nodes)) < count:
            yield from _repeated_processors(placement)
        if math.isnan(rows.slowdown[row]):
            for name in dict.fromkeys(name for name in placement.nodes if name not in exists):
                sentence = f"job {visible(placement.job)} is on {visible(name)}, which is no processor of the platform"
                yield Violation("unknown-processor", (placement.job,), name, placement.start, 1, 0, sentence)


def _repeated_processors(placement: Placement) -> Iterator[Violation]:
    """Yield each processor that a placement names more than once."""
    for name, count in Counter(placement.nodes).items():
        if count > 1:
            sentence = f"job {visible(placement.job)} names processor {visible(name)} {count} times"
            yield Violation("repeated-processor", (placement.job,), name, placement.start, count, 1, sentence)


def _scope_violations(rows: _Rows, instance: Instance, scope: Scope) -> Iterator[Violation]:
    """Yield placements over more clusters, or more nodes, than one."""
    if scope == "platform":
        return
    nodes = instance.platform.nodes
    node_of = np.array(instance.platform.processor_node)
    home = node_of if scope == "node" else np.array([node.cluster for node in nodes])[node_of]
    used = np.unique(rows.held_by * len(nodes) + home[rows.held]) // len(nodes)
    parts = np.bincount(used, minlength=len(rows.ids)).tolist()
    for row, placement, _ in rows.placed():
        if parts[row] > 1:
            sentence = f"job {visible(placement.job)} is spread over {parts[row]} {scope}s, allowed is one"
            yield Violation("scope", (placement.job,), "", placement.start, parts[row], 1, sentence)


def _arrival_violations(rows: _Rows) -> Iterator[Violation]:
    """Yield jobs that start before they arrive."""
    for _, placement, job in rows.placed():
        if job is not None and placement.start < job.arrival - time_tolerance(job.arrival, placement.start):
            sentence = (
                f"job {visible(job.id)} starts at {_seconds(placement.start)}, "
                f"before its arrival at {_seconds(job.arrival)}"
            )
            yield Violation("arrival", (job.id,), "", placement.start, placement.start, job.arrival, sentence)


# ------------------------------------------------------------------------------ durations


def _made(rows: _Rows, instance: Instance, links: Links, loads: Floats) -> tuple[Floats, Floats] | None:
    """Return progress and highest rate of each row (:func:`_progress`) where what it shares sets its pace."""
    if not instance.shares_nodes:
        return _progress(rows, loads, instance.platform.links) if links == "shared" else None
    shared = _shared_rows(rows, instance, loads)
    bandwidths = [link.bandwidth for link in instance.platform.links] if links == "shared" else None
    shared_nodes.make_progress(instance, shared, bandwidths)
    return np.array([row.progress for row in shared]), np.array([row.fastest for row in shared])


def _duration_violations(rows: _Rows, slot: float | None, made: tuple[Floats, Floats] | None) -> Iterator[Violation]:
    """Yield jobs whose end does not follow from their start, nor from the progress that they ``made``."""
    for row, placement, job in rows.placed():
        if placement.end < placement.start - time_tolerance(placement.start, placement.end):
            length = placement.end - placement.start
            sentence = (
                f"job {visible(placement.job)} ends at {_seconds(placement.end)}, "
                f"before its start at {_seconds(placement.start)}"
            )
            yield Violation("duration", (placement.job,), "", placement.end, length, 0, sentence)
        elif job is None or math.isnan(rows.slowdown[row]):
            continue  # its execution time is not defined; other rules say why
        elif made is not None:
            yield from _progress_violation(placement, float(made[0][row]), float(made[1][row]), slot)
        else:
            yield from _length_violation(placement, _execution_time(job, rows.slowdown[row]), slot)


def _execution_time(job: Job, slowdown: float) -> float:
    """Return ``Te = Tb * (sigma * SP + (1 - sigma) * SC)`` with SC = 1, s."""
    return job.base_time * (job.processing_share * slowdown + (1.0 - job.processing_share))


def _length_violation(placement: Placement, execution_time: float, slot: float | None) -> Iterator[Violation]:
    """Yield a job that does not last its execution time (killed: lasts longer), where SC = 1."""
    killed = placement.outcome == "killed"
    slotted = slot is not None and not killed and math.isfinite(execution_time / slot)
    limit = slot * slots_up(execution_time, slot) if slot is not None and slotted else execution_time
    length = placement.end - placement.start
    tolerance = time_tolerance(placement.start, placement.end)
    if abs(length - limit) <= tolerance or (killed and length < limit):
        return
    verdict = "too early" if length < limit else "too late"
    allowed = f"may last {_seconds(limit)} at most" if killed else f"takes {_seconds(limit)}"
    in_slots = f" (whole slots of {_seconds(slot)})" if slot is not None and slotted else ""
    sentence = f"job {visible(placement.job)} ends {verdict}: it lasts {_seconds(length)} and {allowed}{in_slots}"
    yield Violation("duration", (placement.job,), "", placement.end, length, limit, sentence)


def _progress_violation(
    placement: Placement, progress: float, fastest: float, slot: float | None
) -> Iterator[Violation]:
    """Yield a job that is not done at its end, or was done before; ``fastest`` is its highest rate, 1/s."""
    tolerance = RELATIVE_TOLERANCE + fastest * time_tolerance(placement.start, placement.end)
    killed = placement.outcome == "killed"
    too_little = progress < 1.0 - tolerance and not killed
    too_much = progress > 1.0 + tolerance and (killed or slot is None)
    if not too_little and not too_much:
        return
    verdict = "too early" if too_little else "too late"
    sentence = (
        f"job {visible(placement.job)} ends {verdict}: at {_seconds(placement.end)} "
        f"{progress:.12g} of its work is done, over links or on nodes that it shares"
    )
    yield Violation("duration", (placement.job,), "", placement.end, progress, 1, sentence)


def _progress(rows: _Rows, loads: Floats, network: Sequence[Link]) -> tuple[Floats, Floats]:
    """Return the integral of ``1/Te(t)`` from start to end, and the highest ``1/Te(t)`` (1/s), per row.

    Rows that load the same links meet the same SC, so it is computed once for all of them. Where nobody
    loads a link of no bandwidth SC is undefined (0/0), but then no row that loads it is there to ask.
    """
    start, end = rows.instants[rows.begin], rows.instants[rows.finish]
    fixed, communicating = _parts(rows)
    fastest = 1.0 / (fixed + communicating)
    progress = (end - start) * fastest
    saturations = np.stack([_totals(rows, loads[:, k])[0] / link.bandwidth for k, link in enumerate(network)])
    steps = np.diff(rows.instants)
    affected = np.flatnonzero((communicating > 0.0) & (loads > 0.0).any(axis=1) & (rows.begin < rows.finish))
    masks, group = np.unique(loads[affected] > 0.0, axis=0, return_inverse=True)
    for g, mask in enumerate(masks):
        slowdown = np.maximum(1.0, saturations[mask].max(axis=0))
        num_slow = np.concatenate([[0], np.cumsum(slowdown > 1.0)])
        members = affected[group.ravel() == g]
        for row in members[num_slow[rows.finish[members]] > num_slow[rows.begin[members]]]:
            span = slice(rows.begin[row], rows.finish[row])
            rates = 1.0 / (fixed[row] + communicating[row] * slowdown[span])
            progress[row] = rates @ steps[span]
            fastest[row] = rates.max()
    return progress, fastest


def _parts(rows: _Rows) -> tuple[Floats, Floats]:
    """Return ``Tb * sigma * SP`` and ``Tb * (1 - sigma)`` of each row, s; SC stretches only the second."""
    parts = np.array(
        [
            (math.nan, math.nan)
            if job is None
            else (job.base_time * job.processing_share * slowdown, job.base_time * (1.0 - job.processing_share))
            for job, slowdown in zip(rows.jobs, rows.slowdown, strict=True)
        ]
    ).reshape(-1, 2)
    return parts[:, 0], parts[:, 1]


# ------------------------------------------------------------------------------ overlaps


def _overlap_violations(rows: _Rows, instance: Instance) -> Iterator[Violation]:
    """Yield each pair of rows that hold a processor at the same time, once, with all processors they share."""
    shared: dict[tuple[int, int], list[int]] = {}
    for first, second, processor in _overlaps(rows):
        shared.setdefault((min(first, second), max(first, second)), []).append(processor)
    names = instance.platform.processor_names
    for (first, second), processors in sorted(shared.items()):
        jobs = (rows.ids[first], rows.ids[second])
        start = float(rows.instants[max(rows.begin[first], rows.begin[second])])
        end = float(rows.instants[min(rows.finish[first], rows.finish[second])])
        where = [names[processor] for processor in sorted(processors)]
        running = " (runs already)" if first < rows.num_running else ""
        sentence = (
            f"jobs {visible(jobs[0])}{running} and {visible(jobs[1])} both hold {_listed(where)} "
            f"from {_seconds(start)} to {_seconds(end)}"
        )
        yield Violation("overlap", jobs, ", ".join(where), start, 2, 1, sentence)


def _overlaps(rows: _Rows) -> Iterable[Pair]:
    """Return the overlaps, processor by processor.

    A processor and an instant make one integer key, so that all processors are swept as one line.
    The number of rows that hold an entry's processor when it begins is its position in the order of
    beginnings, less the number of entries that have finished by then.
    """
    lasting = (rows.begin < rows.finish)[rows.held_by]
    held, held_by = rows.held[lasting], rows.held_by[lasting]
    span = len(rows.instants) + 1
    order = np.argsort(held * span + rows.begin[held_by], kind="stable")
    held, held_by = held[order], held_by[order]
    finished = np.sort(held * span + rows.finish[held_by])
    busy = np.arange(len(held)) - np.searchsorted(finished, held * span + rows.begin[held_by], side="right")
    clashing = np.isin(held, held[busy > 0])
    entries = [
        (processor, row, begin, finish)
        for processor, row, begin, finish in zip(
            held[clashing].tolist(),
            held_by[clashing].tolist(),
            rows.begin[held_by[clashing]].tolist(),
            rows.finish[held_by[clashing]].tolist(),
            strict=True,
        )
    ]
    return _all_pairs(entries) if busy.sum() <= OVERLAP_PAIRS else _pairs_with_longest(entries)


def _all_pairs(entries: Iterable[tuple[int, int, int, int]]) -> Iterator[Pair]:
    """Yield every overlapping pair of entries (processor, row, begin, finish), given in this order of begin."""
    active: list[tuple[int, int, int]] = []
    for processor, row, begin, finish in entries:
        active = [other for other in active if other[0] == processor and other[2] > begin]
        yield from ((other, row, processor) for _, other, _ in active)
        active.append((processor, row, finish))


def _pairs_with_longest(entries: Iterable[tuple[int, int, int, int]]) -> Iterator[Pair]:
    """Yield each entry that begins on a busy processor with the one that holds it longest."""
    longest = (-1, -1, -1)
    for processor, row, begin, finish in entries:
        if longest[0] == processor and longest[2] > begin:
            yield longest[1], row, processor
        longest = max(longest, (processor, row, finish), key=lambda entry: (entry[0], entry[2]))


# ------------------------------------------------------------------------------ links


def _totals(rows: _Rows, load: Floats) -> tuple[Floats, Floats]:
    """Return the sum of what rows ask from each instant to the next, and how much of it may be rounding error."""
    lasting = np.flatnonzero((load > 0.0) & (rows.begin < rows.finish))
    totals = np.cumsum(_changes(rows, lasting, load[lasting]))
    noise = np.finfo(np.float64).eps * np.cumsum(np.abs(totals))
    return totals, noise


def _changes(rows: _Rows, chosen: Ints, weights: Floats) -> Floats:
    """Return what changes at each instant when each chosen row adds its weight from begin to finish."""
    num_instants = len(rows.instants)
    added = np.bincount(rows.begin[chosen], weights, num_instants)
    removed = np.bincount(rows.finish[chosen], weights, num_instants)
    return np.asarray(added - removed, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class _Excess:
    """More is asked for than there is from ``start`` to ``end`` (s), at most ``peak``, and then by ``jobs``."""

    start: float
    end: float
    peak: float
    jobs: tuple[str, ...]


def _excesses(rows: _Rows, load: Floats, limit: float) -> Iterator[_Excess]:
    """Yield when the rows together ask for more than ``limit``, each time from the first to the last instant.

    What running jobs ask by themselves is not the schedule's fault and is left out.
    """
    lasting = np.flatnonzero((load > 0.0) & (rows.begin < rows.finish))
    placed = lasting[lasting >= rows.num_running]
    num_placed = np.cumsum(_changes(rows, placed, np.ones(len(placed))))
    totals, noise = _totals(rows, load)
    is_over = (num_placed > 0) & (totals > limit + noise)
    edges = np.flatnonzero(np.diff(is_over, prepend=False, append=False)).reshape(-1, 2)
    peaks = [int(first + np.argmax(totals[first:last])) for first, last in edges]
    at_peak = _active_at(rows, lasting, peaks)
    for (first, last), peak, active in zip(edges, peaks, at_peak, strict=True):
        start, end = float(rows.instants[first]), float(rows.instants[last])
        yield _Excess(start, end, float(totals[peak]), tuple(rows.ids[row] for row in active))


def _link_violations(rows: _Rows, loads: Floats, network: Sequence[Link], saturation: float) -> Iterator[Violation]:
    """Yield each overload of each link: one violation from its first to its last instant, with the peak."""
    for k, link in enumerate(network):
        limit = link.bandwidth * (1.0 + saturation)
        for excess in _excesses(rows, loads[:, k], capacity_limit(link.bandwidth, saturation)):
            sentence = (
                f"link {visible(link.name)} carries up to {excess.peak:.12g} MB/s from {_seconds(excess.start)} to "
                f"{_seconds(excess.end)}, allowed are {limit:.12g} MB/s; then {_listed(excess.jobs)} loaded it"
            )
            yield Violation("link-load", excess.jobs, link.name, excess.start, excess.peak, limit, sentence)


def _active_at(rows: _Rows, chosen: Ints, peaks: Sequence[int]) -> Iterator[list[int]]:
    """Yield which of the chosen rows are active at each instant, by start; ``peaks`` are in order."""
    coming = chosen[np.argsort(rows.begin[chosen], kind="stable")].tolist()[::-1]
    leaving = chosen[np.argsort(rows.finish[chosen], kind="stable")].tolist()[::-1]
    active: dict[int, None] = {}
    for peak in peaks:
        while coming and rows.begin[coming[-1]] <= peak:
            active[coming.pop()] = None
        while leaving and rows.finish[leaving[-1]] <= peak:
            del active[leaving.pop()]
        yield list(islice(active, NAMED_JOBS))


# ------------------------------------------------------------------------------ nodes and memory


def _node_violations(rows: _Rows, instance: Instance, loads: Floats) -> Iterator[Violation]:
    """Yield what breaks the rules of places and memory of nodes."""
    if not instance.shares_nodes:
        yield from _memory_violations(rows, instance.platform)
        return
    for finding in shared_nodes.findings(instance, _shared_rows(rows, instance, loads)):
        yield Violation(*finding)


def _shared_rows(rows: _Rows, instance: Instance, loads: Floats) -> list[shared_nodes.Row]:
    """Return the rows as the part for shared nodes sees them; no job runs already there."""
    held: list[list[int]] = [[] for _ in rows.ids]
    for row, processor in zip(rows.held_by.tolist(), rows.held.tolist(), strict=True):
        held[row].append(instance.platform.processor_node[processor])
    return [
        shared_nodes.Row(placement.job, job, tuple(held[row]), placement.start, placement.end, tuple(loads[row]))
        for row, placement, job in rows.placed()
    ]


def _memory_violations(rows: _Rows, platform: Platform) -> Iterator[Violation]:
    """Yield each time at which the tasks on a node ask for more than its memory, with the peak.

    Memory is that of nodes (MB per node); a job asks for its memory (MB per task) once for each task on the node.
    """
    memory = [platform.group_of(node).memory for node in platform.nodes]
    limits = np.array([math.inf if limit is None else capacity_limit(limit) for limit in memory])
    asked = np.array([0.0 if job is None else job.memory or 0.0 for job in rows.jobs])
    node_of = np.array(platform.processor_node)[rows.held]
    lasting = (rows.begin < rows.finish)[rows.held_by]
    counted = lasting & (asked[rows.held_by] > 0.0) & np.isfinite(limits[node_of])
    nodes, held_by = node_of[counted], rows.held_by[counted]
    for node in _full_nodes(rows, nodes, held_by, asked, limits):
        on_node = held_by[nodes == node]
        load = np.bincount(on_node, weights=asked[on_node], minlength=len(asked)).astype(np.float64)
        name, limit = platform.nodes[node].name, memory[node] or 0.0
        for excess in _excesses(rows, load, float(limits[node])):
            sentence = (
                f"tasks on node {visible(name)} ask for up to {excess.peak:.12g} MB of memory from "
                f"{_seconds(excess.start)} to {_seconds(excess.end)}, it has {limit:.12g} MB; then "
                f"{_listed(excess.jobs)} held it"
            )
            yield Violation("memory", excess.jobs, name, excess.start, excess.peak, limit, sentence)


def _full_nodes(rows: _Rows, nodes: Ints, held_by: Ints, asked: Floats, limits: Floats) -> list[int]:
    """Return the nodes that can have too little memory at some instant: few, of what may be many.

    Task i is of row ``held_by[i]``, on node ``nodes[i]``. All nodes are swept as one line, so what rounding loses on
    one is counted against the next.
    """
    node = np.concatenate([nodes, nodes])
    instant = np.concatenate([rows.begin[held_by], rows.finish[held_by]])
    change = np.concatenate([asked[held_by], -asked[held_by]])
    order = np.lexsort((change, instant, node))
    totals = np.cumsum(change[order])
    noise = np.finfo(np.float64).eps * np.cumsum(np.abs(totals))
    is_full = ~(totals + noise <= limits[node[order]])  # not a number, after an overflow, is looked at closely
    return [int(n) for n in np.unique(node[order][is_full])]


# ------------------------------------------------------------------------------ sentences


def _seconds(seconds: float) -> str:
    """Return a time with its unit."""
    return f"{seconds:.12g} s"


def _counted(number: int, noun: str) -> str:
    """Return ``1 task`` or ``3 tasks``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _listed(names: Sequence[str], shown: int = 5) -> str:
    """Return the first names, made visible, and how many more there are."""
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(visible(name) for name in names[:shown]) + more
