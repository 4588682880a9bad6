"""The independent checker: is a schedule of any origin valid for an instance, and if not, why.

It shares no formula with the rooms that make schedules: slowdowns, link loads and durations are
computed here a second time, from the definitions of the thesis (chapter 2, as corrected in errata
3), on purpose, so that a mistake there cannot hide itself. Only what an instance is and when two
numbers count as equal (:mod:`coalloc.instance.rounding`) is common ground. Processors are read as a
schedule has them, as ranges of names, and are never listed one by one.

Every violation is reported. The names of the rules are stable; :data:`RULES` defines each. Time is
a list of instants at which something starts or ends; instants closer than the time tolerance are
one, so that jobs back to back do not overlap by rounding. Intervals are half-open, and what lasts
no longer than the tolerance occupies nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from operator import attrgetter
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from coalloc.checker import shared_nodes
from coalloc.instance import CoallocError, Instance, Job, Link, NodeGroup, Platform, PowerStates, public, visible
from coalloc.instance.features import refuse_unsupported
from coalloc.instance.power import known_power_states, require_power_states
from coalloc.instance.processor_names import ProcessorNames, Range, distinct, range_columns
from coalloc.instance.rounding import (
    RELATIVE_TOLERANCE,
    capacity_limit,
    slots_up,
)
from coalloc.instance.time_base import TimeBase
from coalloc.instance.windows import Window
from coalloc.schedule import Placement, Schedule

Links = Literal["strict", "shared", "ignore"]
Scope = Literal["platform", "cluster", "node"]
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Pair = tuple[int, int]
"""Two rows that hold a processor at once."""
Spans = list[tuple[int, int]]
"""Intervals ``[first, stop)`` of processors by index, in order."""

SUPPORTED = frozenset(
    {"deadline", "after", "eligible", "requires", "times", "shapes", "unavailable", "start", "resources"}
    | {"max_clusters", "min_tasks_per_cluster", "slices", "level", "limits", "lags"}
)
"""The modelling features of which there is a rule."""
SPREADING = frozenset({"max_clusters", "min_tasks_per_cluster", "slices", "level"})
"""Those that restrict the tasks of a job in each cluster."""
ON_SHARED_NODES = frozenset({"deadline", "after", "eligible", "requires", "shapes", "unavailable", "start"})
"""Those of which there is one where nodes are time-shared."""

RULES = {
    "other-instance": "a schedule that names another instance places exactly the jobs of this one; otherwise this is "
    "the only violation reported",
    "missing-job": "every job of the instance is placed",
    "duplicate-job": "no job is placed more than once",
    "unknown-job": "every placement refers to a job to schedule, not to an unknown or running job",
    "shape": "a placement has a shape of its job",
    "task-count": "a job has one processor per task of its shape",
    "repeated-processor": "a job has no processor twice",
    "unknown-processor": "every processor belongs to the platform",
    "scope": "a job stays within one cluster or one node if the scope requires it",
    "arrival": "a job starts at its arrival or later",
    "deadline": "a job ends by its deadline, unless misses are only reported (deadlines='report')",
    "precedence": "a job starts after the end of all its predecessors",
    "lag": "a job starts within the minimal and the maximal lag after the start or the end of another job; maximal "
    "lags are not checked with deadlines='report'",
    "eligibility": "a job is only on clusters that it may use and on nodes that have all features that it requires",
    "spread": "a job uses at most max_clusters clusters, has at least min_tasks_per_cluster tasks in each of them, has "
    "as many tasks in each of exactly slices clusters, and is under one switch of the level that it requires",
    "duration": "a job lasts exactly its execution time, rounded up to whole time slots in a slotted schedule; with "
    "shared links its progress between start and end is 1 (slotted: at least 1); a killed job has at most that "
    "duration or progress; no job ends before it starts",
    "unavailable": "no job overlaps an outage of its nodes; where an outage takes a number of processors of a group, "
    "the jobs hold at most the others at any time at which a job of the schedule holds some",
    "overlap": "no two jobs hold a processor at the same time; running jobs hold theirs until their end",
    "link-load": "with strict links the load of a link is at most (1 + saturation) times its bandwidth at any time at "
    "which a job of the schedule loads it",
    "memory": "the tasks on a node require together at most its memory at any time at which a job of the schedule "
    "requires some there; nodes without memory are not limited; on time-shared nodes with paging a task requires at "
    "most what its node can ever provide",
    "resources": "the jobs require together at most the capacity of a resource of the platform, a cluster or a node at "
    "any time at which a job of the schedule requires some there; a part without the resource has capacity 0",
    "limit": "the amounts of the jobs of a limit that run sum to at most its capacity at any time at which a job of "
    "the schedule has an amount",
    **shared_nodes.RULES,
    "constraint": "the given constraints are satisfied; they are checked if each job is placed once",
    "start-up": "with power management the first job on a cluster that was off starts at least startup_time after the "
    "cluster can begin to start up, which requires that it is off and that a job has arrived and waits for it",
}
"""Name and meaning of each rule, in the order in which violations are reported."""

OVERLAP_PAIRS = 200_000
"""Jobs compared with one that starts on a busy processor, in all, up to which every pair is named; beyond, each such
job is named with those that hold its processors longest, or a hopeless schedule would exhaust time and memory."""

MOST_BITS = 100_000_000
"""Size of the sets of processors, in bits, that are kept to be used again."""

EVENTS_AT_ONCE = 50_000
"""Starts and ends that are taken out of columns in one go, so that memory stays small."""

NAMED_JOBS = 1_000
"""Jobs that one violation of a link, or of a node's memory, names at most."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A violation of one rule by a schedule; printing it shows a sentence.

    Attributes
    ----------
    rule : str
        Name of the rule, a key of ``coalloc.checker.RULES``.
    jobs : tuple of str
        Ids of the jobs.
    where : str
        Names of the processors (separated by ``", "``), the link or the node; empty if there is none.
    when : float or None
        Time at which the violation begins, s; None if the rule has no time.
    amount : float
        The measured value, in the unit of the rule: jobs, processors, s, MB/s, MB, or the share of a job's work.
    limit : float
        The permitted value, in the same unit.
    sentence : str
        The violation as a sentence.

    Examples
    --------
    >>> import coalloc
    >>> instance = coalloc.example("pas-figure-3.3")
    >>> first = coalloc.check(instance, coalloc.Schedule([], instance=instance.name))[0]
    >>> (first.rule, first.jobs)
    ('missing-job', ('J1',))
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


@runtime_checkable
class Faulting(Protocol):
    """A constraint of whoever asks: what it says of a schedule."""

    def faults(self, instance: Instance, schedule: Iterable[Any], /) -> Iterable[str]:
        """Return a sentence for each way in which a schedule breaks it."""


@public
def check(
    instance: Instance,
    schedule: Schedule,
    links: Links = "strict",
    saturation: float = 0.0,
    scope: Scope = "platform",
    *,
    power_management: bool = False,
    deadlines: Literal["enforce", "report"] = "enforce",
    constraints: Sequence[Faulting] = (),
) -> list[Violation]:
    """List every rule that a schedule violates.

    The checker recomputes all durations and loads from the definitions, independently of the code that makes schedules.

    Parameters
    ----------
    instance : Instance
        The platform and the jobs.
    schedule : Schedule
        A schedule of any origin.
    links : {"strict", "shared", "ignore"}, default "strict"
        ``"strict"``: links must not saturate, and the communication slowdown is 1. ``"shared"``: links may saturate,
        and the slowdown follows the load over time. ``"ignore"``: the slowdown is 1, and loads are not checked.
    saturation : float, default 0.0
        Share of its bandwidth by which the load of a strict link may exceed the bandwidth.
    scope : {"platform", "cluster", "node"}, default "platform"
        Where the tasks of one job may run: on several clusters, within one cluster, or on one node.
    power_management : bool, default False
        Whether clusters are off at first, start up for jobs, and go off when idle.
    deadlines : {"enforce", "report"}, default "enforce"
        ``"enforce"``: a missed deadline is a violation, and so is an exceeded maximal lag. ``"report"``: a missed
        deadline only counts in the metric ``deadlines_missed``, and maximal lags are not checked.
    constraints : sequence of objects, default ()
        Custom constraints: objects with ``faults(instance, schedule)``, as for ``coalloc.solve``.

    Returns
    -------
    list of Violation
        One entry per violation, empty if the schedule is valid.

    Raises
    ------
    CoallocError
        An option or a combination of options is not supported. The content of the schedule never raises.

    See Also
    --------
    coalloc.explain : Explain why jobs wait, or why there is no schedule.

    Notes
    -----
    ``coalloc.checker.RULES`` defines every rule. Source: thesis, chapter 2, as corrected in errata 3.

    Examples
    --------
    >>> import coalloc
    >>> instance = coalloc.example("pas-figure-3.3")
    >>> schedule = coalloc.solve(instance).schedule
    >>> coalloc.check(instance, schedule)
    []
    >>> incomplete = schedule.replace(placements=schedule.placements[1:])
    >>> [violation.rule for violation in coalloc.check(instance, incomplete)]
    ['missing-job']
    """
    _refuse_options(links, saturation)
    refuse_unsupported(instance, "check", SUPPORTED)
    if instance.shares_nodes:
        refuse_unsupported(instance, "check with time-shared nodes", ON_SHARED_NODES)
    if power_management:
        require_power_states(instance.platform)
    if other := _other_instance(instance, schedule):
        return [other]
    with np.errstate(all="ignore"):  # finite numbers of any size are allowed, and their sums may overflow
        rows = _rows(instance, schedule)
        loads = _loads(rows, instance)
        named = _named_parts(rows, instance) if "times" in instance.features else {}
        overlaps = list(_overlap_violations(rows))
        of_jobs = list(_job_violations(rows, instance))
        return [
            *of_jobs,
            *_shape_violations(instance, schedule),
            *_processor_violations(rows),
            *_scope_violations(rows, scope),
            *_arrival_violations(rows),
            *(_deadline_violations(rows) if deadlines == "enforce" and "deadline" in instance.features else ()),
            *(_precedence_violations(rows) if "after" in instance.features else ()),
            *(_lag_violations(rows, enforces_most=deadlines == "enforce") if "lags" in instance.features else ()),
            *(_eligibility_violations(rows, instance) if {"eligible", "requires"} & instance.features else ()),
            *(_spread_violations(rows, instance) if SPREADING & instance.features else ()),
            *(_window_violations(rows, instance) if instance.platform.unavailable else ()),
            *_duration_violations(rows, schedule.slot, _made(rows, instance, links, loads, named), named),
            *overlaps,
            *(_link_violations(rows, loads, instance.platform.links, saturation) if links == "strict" else ()),
            *_node_violations(rows, instance, loads, is_held_once=not overlaps),
            *(_resource_violations(rows, instance.platform) if "resources" in instance.features else ()),
            *_limit_violations(rows, instance),
            *(_constraint_violations(instance, schedule, constraints) if not of_jobs else ()),
            *(_startup_violations(rows, instance.platform) if power_management else ()),
        ]


def _refuse_options(links: Links, saturation: float) -> None:
    """Raise :class:`CoallocError` where a saturation is none, or is tolerated where links may saturate anyway."""
    if not 0.0 <= saturation < math.inf:
        raise CoallocError(f"saturation: must be finite and at least 0, got {saturation!r}")
    if saturation > 0.0 and links != "strict":
        raise CoallocError(f"saturation={saturation!r} requires links='strict', got links={links!r}")


# ------------------------------------------------------------------------------ what the schedule says


@dataclass(frozen=True, slots=True)
class _Groups:
    """The groups of nodes of a platform as columns; processors and nodes are numbered through in their order.

    ``node`` and ``processor`` are the first of each group, of ``node_in_cluster`` in its cluster; ``slowness`` is
    1/Gamma. Clusters are of ``cluster_names``.
    """

    cluster_names: tuple[str, ...]
    cluster: Ints
    node_in_cluster: Ints
    node: Ints
    count: Ints
    cores: Ints
    processor: Ints
    slowness: Floats

    @property
    def num_processors(self) -> int:
        """Processors of all groups."""
        return int((self.count * self.cores).sum())


def _groups(platform: Platform) -> _Groups:
    """Return the groups of a platform."""
    flat = [(c, group) for c, cluster in enumerate(platform.clusters) for group in cluster.nodes]
    cluster = np.array([c for c, _ in flat])
    count, cores = np.array([(group.count, group.places) for _, group in flat], dtype=np.int64).T
    node, processor = np.cumsum(count) - count, np.cumsum(count * cores) - count * cores
    first_of_cluster = node[np.searchsorted(cluster, np.arange(len(platform.clusters)))]
    return _Groups(
        cluster_names=tuple(cluster.name for cluster in platform.clusters),
        cluster=cluster,
        node_in_cluster=node - first_of_cluster[cluster],
        node=node,
        count=count,
        cores=cores,
        processor=processor,
        slowness=np.array([1.0 / group.effective_power for _, group in flat]),
    )


@dataclass(frozen=True, slots=True)
class _Sets:
    """Sets of names, and which processors they are: a processor that is named twice counts once.

    Set ``holder[i]`` has the processors ``[first[i], stop[i])``, all of group ``group[i]``; by set, and in order.
    Those of set h are ``begin[h]`` to ``begin[h + 1]``.
    ``sizes`` are the names of each set; ``is_known`` says whether all of them are of processors, ``is_repeated``
    whether a processor is named twice.
    """

    holder: Ints
    first: Ints
    stop: Ints
    group: Ints
    begin: Ints
    sizes: Ints
    is_known: NDArray[np.bool_]
    is_repeated: NDArray[np.bool_]

    def spans(self, holder: int) -> Spans:
        """Return the processors of a set."""
        begin, end = int(self.begin[holder]), int(self.begin[holder + 1])
        return list(zip(self.first[begin:end].tolist(), self.stop[begin:end].tolist(), strict=True))


def _sets(names: Sequence[ProcessorNames], groups: _Groups) -> _Sets:
    """Return which processors names are."""
    ranges, number = range_columns(names), len(names)
    widths = (ranges.last - ranges.first + 1) * (ranges.last_core - ranges.first_core + 1)
    cluster_index = {name: c for c, name in enumerate(groups.cluster_names)}
    cluster = np.array([cluster_index.get(name, -1) for name in ranges.clusters], dtype=np.int64)[ranges.cluster]
    in_cluster = np.flatnonzero((cluster >= 0) & (ranges.first >= 0))
    # A range and each group of its cluster with nodes of these numbers make a piece.
    low = np.searchsorted(groups.cluster, cluster[in_cluster], side="left")
    parts = np.searchsorted(groups.cluster, cluster[in_cluster], side="right") - low
    source = np.repeat(in_cluster, parts)
    group = np.repeat(low, parts) + _counting(parts)
    first = np.maximum(0, ranges.first[source] - groups.node_in_cluster[group])
    last = np.minimum(groups.count[group] - 1, ranges.last[source] - groups.node_in_cluster[group])
    cores, first_core, last_core = groups.cores[group], ranges.first_core[source], ranges.last_core[source]
    is_piece = (first <= last) & np.where(first_core < 0, cores == 1, (cores > 1) & (last_core < cores))
    source, group, first, last, cores, first_core, last_core = (
        column[is_piece] for column in (source, group, first, last, cores, first_core, last_core)
    )
    first_core, last_core = np.maximum(first_core, 0), np.maximum(last_core, 0)
    found = np.bincount(source, (last - first + 1) * (last_core - first_core + 1), len(widths))
    # Whole nodes are one interval, of parts of nodes there is one for each.
    is_whole = last_core - first_core + 1 == cores
    times = np.where(is_whole, 1, last - first + 1)
    length = np.where(is_whole, (last - first + 1) * cores, last_core - first_core + 1)
    begin = np.repeat(groups.processor[group] + first * cores + first_core, times)
    begin += np.repeat(cores, times) * _counting(times)
    holder, group, stop = (
        ranges.holder[np.repeat(source, times)],
        np.repeat(group, times),
        begin + np.repeat(length, times),
    )
    order = np.lexsort((begin, holder))
    holder, begin, stop, group = holder[order], begin[order], stop[order], group[order]
    # Up to where the intervals of the same set before have come: sets are kept apart by a multiple of all processors.
    apart = holder * (groups.num_processors + 1)
    before = np.maximum.accumulate(np.append(-1, apart + stop)[: len(stop)]) - apart
    is_new = stop > before
    return _Sets(
        holder=holder[is_new],
        first=np.maximum(begin, before)[is_new],
        stop=stop[is_new],
        group=group[is_new],
        begin=np.searchsorted(holder[is_new], np.arange(number + 1)),
        sizes=np.bincount(ranges.holder, widths, number).astype(np.int64),
        is_known=np.bincount(ranges.holder[found < widths], minlength=number) == 0,
        is_repeated=np.bincount(holder[begin < before], minlength=number) > 0,
    )


def _counting(counts: Ints) -> Ints:
    """Return 0, 1, ..., count - 1 for each of the counts, one after the other."""
    return np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)


@dataclass(frozen=True, slots=True)
class _Rows:
    """The running jobs (the first ``num_running`` rows), then the placements, as columns.

    ``jobs`` holds None where the id is unknown; ``slowdown`` is SP, NaN where a processor is unknown or none is named.
    ``start`` and ``end`` are in s, ``begin`` and ``finish`` index ``instants`` (s). Other times equal those of a row
    within its ``tolerance`` (s), from ``base``. Row i holds the processors of set ``held[i]`` of ``sets``.
    """

    placements: tuple[Placement, ...]
    num_running: int
    ids: list[str]
    jobs: list[Job | None]
    start: Floats
    end: Floats
    slowdown: Floats
    instants: Floats
    begin: Ints
    finish: Ints
    tolerance: Floats
    base: TimeBase
    held: Ints
    sets: _Sets
    groups: _Groups

    def placed(self, chosen: NDArray[np.bool_]) -> Iterator[tuple[int, Placement, Job | None]]:
        """Yield row, placement and job of each placement whose row is chosen."""
        for row in np.flatnonzero(chosen).tolist():
            if row >= self.num_running:
                yield row, self.placements[row - self.num_running], self.jobs[row]

    @property
    def is_unknown(self) -> NDArray[np.bool_]:
        """Whether the job of each row is unknown."""
        return np.array([job is None for job in self.jobs], dtype=bool)

    def column(self, of_job: Callable[[Job], float], otherwise: float) -> Floats:
        """Return something of the job of each row, or another number where it is unknown."""
        column = np.full(len(self.jobs), otherwise)
        known = [job for job in self.jobs if job is not None]
        column[~self.is_unknown] = np.fromiter(map(of_job, known), np.float64, len(known))
        return column


def _rows(instance: Instance, schedule: Schedule) -> _Rows:
    """Return running jobs and placements as columns; running jobs hold their nodes from 0, which is now, or later."""
    running, placements = instance.running, schedule.placements
    by_id, groups = instance.job_by_id, _groups(instance.platform)
    names, held = distinct([*(r.nodes for r in running), *(p.nodes for p in placements)])
    sets = _sets(names, groups)
    start = np.concatenate([_column(r.start for r in running), _column(p.start for p in placements)])
    end = np.concatenate([_column(r.end for r in running), _column(p.end for p in placements)])
    base = instance.time_base
    instants, index = base.merged(np.concatenate([start, end]))
    return _Rows(
        placements=placements,
        num_running=len(running),
        ids=[*(r.job.id for r in running), *(p.job for p in placements)],
        jobs=[*(r.job for r in running), *(_as_shaped(by_id.get(p.job), p.shape) for p in placements)],
        start=start,
        end=end,
        slowdown=_slowdowns(sets, groups)[held],
        instants=instants,
        begin=index[: len(start)],
        finish=index[len(start) :],
        tolerance=base.tolerances(np.where(np.abs(start) > np.abs(end), start, end)),
        base=base,
        held=held,
        sets=sets,
        groups=groups,
    )


def _as_shaped(job: Job | None, number: int) -> Job | None:
    """Return a job as the shape of a number says it: unknown where it has none of that number."""
    if job is None or not (job.shapes or number):
        return job
    if number > len(job.shapes):
        return None
    if number == 0:
        return job.replace(shapes=())
    shape = job.shapes[number - 1]
    return job.replace(tasks=shape.tasks, base_time=shape.base_time, times=shape.times, shapes=())


def _column(numbers: Iterable[float]) -> Floats:
    """Return numbers as a column."""
    return np.fromiter(numbers, np.float64)


def _slowdowns(sets: _Sets, groups: _Groups) -> Floats:
    """Return the largest 1/Gamma of each set, NaN where a processor is unknown or none is named."""
    slowdowns = np.full(len(sets.sizes), -np.inf)
    np.maximum.at(slowdowns, sets.holder, groups.slowness[sets.group])
    return np.where(sets.is_known & (sets.sizes > 0), slowdowns, np.nan)


def _tasks(rows: _Rows) -> Ints:
    """Return how many processors of each set are in each cluster, shape ``(num_sets, num_clusters)``."""
    sets, num_clusters = rows.sets, len(rows.groups.cluster_names)
    cell = sets.holder * num_clusters + rows.groups.cluster[sets.group]
    counts = np.bincount(cell, sets.stop - sets.first, len(sets.sizes) * num_clusters)
    return counts.astype(np.int64).reshape(-1, num_clusters)


def _loads(rows: _Rows, instance: Instance) -> Floats:
    """Return the load of every row on every link, MB/s, shape ``(num_rows, num_links)``.

    With t of n tasks on one side of a link: ``t * PTBW * (n - t)/(n - 1)``. Tasks are those placed
    on known processors, so that a job with a task too few is not taken for a co-allocated one.
    """
    links = instance.platform.links
    tasks = _tasks(rows)[rows.held]
    total = tasks.sum(axis=1)
    bandwidth = rows.column(attrgetter("task_bandwidth"), 0.0)
    loads = np.zeros((len(rows.ids), len(links)))
    for k, link in enumerate(links):
        inside = tasks[:, sorted(link.clusters)].sum(axis=1)
        loads[:, k] = bandwidth * (inside * (total - inside) / np.maximum(1, total - 1))
    return loads


# ------------------------------------------------------------------------------ the rules, job by job


def _other_instance(instance: Instance, schedule: Schedule) -> Violation | None:
    """Return that a schedule is of another instance: it names another, and the jobs are not the same either."""
    if schedule.instance in (instance.name, Schedule(()).instance):
        return None
    placed = dict.fromkeys(placement.job for placement in schedule.placements)
    known = {*instance.job_by_id, *(run.job.id for run in instance.running)}
    unknown = [name for name in placed if name not in known]
    missing = [name for name in instance.job_by_id if name not in placed]
    if not unknown and not missing:
        return None
    differences = ((unknown, "unknown"), (missing, "not placed"))
    said = [f"{_counted(len(names), 'job')} {how} ({_listed(names)})" for names, how in differences if names]
    names = f"the schedule belongs to instance {visible(schedule.instance)}, not to {visible(instance.name)}"
    sentence = f"{names}: {', '.join(said)}"
    jobs = (*unknown, *missing)
    return Violation("other-instance", jobs, "", None, len(jobs), 0, sentence)


def _job_violations(rows: _Rows, instance: Instance) -> Iterator[Violation]:
    """Yield jobs that are missing, placed twice, or not to be placed at all."""
    if rows.ids[rows.num_running :] == list(instance.job_by_id):
        return
    times = Counter(placement.job for placement in rows.placements)
    for name in instance.job_by_id:
        if name not in times:
            yield Violation("missing-job", (name,), "", None, 0, 1, f"job {visible(name)} is not placed")
    for name, count in times.items():
        if count > 1:
            sentence = f"job {visible(name)} is placed {count} times"
            yield Violation("duplicate-job", (name,), "", None, count, 1, sentence)
    running = set(rows.ids[: rows.num_running])
    for _, placement, _ in rows.placed(rows.is_unknown):
        name = placement.job
        if name in instance.job_by_id:
            continue  # it has not the shape that is named
        reason = "is already running" if name in running else "is not in the instance"
        sentence = f"job {visible(name)} {reason} and must not be placed"
        yield Violation("unknown-job", (name,), "", placement.start, 1, 0, sentence)


def _shape_violations(instance: Instance, schedule: Schedule) -> Iterator[Violation]:
    """Yield placements that name a shape which their job does not have."""
    for placement in schedule.placements:
        job = instance.job_by_id.get(placement.job) if placement.shape else None
        if job is not None and placement.shape > len(job.shapes):
            name, number = visible(placement.job), placement.shape
            sentence = f"job {name} has shape {number}, but its last shape is {len(job.shapes)}"
            limit = len(job.shapes)
            yield Violation("shape", (placement.job,), "", placement.start, number, limit, sentence)


def _processor_violations(rows: _Rows) -> Iterator[Violation]:
    """Yield placements that do not name exactly ``tasks`` distinct processors of the platform."""
    sizes, is_known = rows.sets.sizes[rows.held], rows.sets.is_known[rows.held]
    tasks = rows.column(attrgetter("tasks"), math.nan)
    is_repeated = rows.sets.is_repeated[rows.held]
    for row, placement, job in rows.placed((sizes != tasks) | ~is_known | is_repeated):
        count = int(sizes[row])
        if job is not None and count != job.tasks:
            sentence = f"job {visible(job.id)} has {_counted(job.tasks, 'task')} but {_counted(count, 'processor')}"
            yield Violation("task-count", (job.id,), "", placement.start, count, job.tasks, sentence)
        if is_repeated[row] or not is_known[row]:
            yield from _repeated_processors(placement)
        if not is_known[row]:
            yield from _unknown_processors(placement, rows.groups)


def _repeated_processors(placement: Placement) -> Iterator[Violation]:
    """Yield processors that a placement names more than once, adjacent ones together."""
    for repeated, count in _repeats(placement.nodes.ranges):
        noun = "processor" if repeated.size == 1 else "processors"
        sentence = f"job {visible(placement.job)} has {noun} {visible(repeated.text)} {count} times"
        yield Violation("repeated-processor", (placement.job,), repeated.text, placement.start, count, 1, sentence)


def _repeats(ranges: Iterable[Range]) -> Iterator[tuple[Range, int]]:
    """Yield what lies in several ranges, and in how many, by cluster, cores and nodes."""
    of_cluster: dict[str, list[Range]] = {}
    for r in ranges:
        of_cluster.setdefault(r.cluster, []).append(r)
    for cluster, members in of_cluster.items():
        cuts = sorted({r.first_core for r in members} | {r.last_core + 1 for r in members})
        for core, next_core in pairwise(cuts):
            spans = [(r.first, r.last + 1) for r in members if r.first_core <= core <= r.last_core]
            for first, stop, count in _covered(spans):
                yield Range(cluster, first, stop - 1, core, next_core - 1), count


def _covered(spans: Spans) -> Iterator[tuple[int, int, int]]:
    """Yield the intervals that are in two spans or more, and in how many."""
    changes: Counter[int] = Counter()
    for first, stop in spans:
        changes[first] += 1
        changes[stop] -= 1
    depth = 0
    for place, next_place in pairwise(sorted(place for place, change in changes.items() if change)):
        depth += changes[place]
        if depth > 1:
            yield place, next_place, depth


def _unknown_processors(placement: Placement, groups: _Groups) -> Iterator[Violation]:
    """Yield what a placement names that is no processor of the platform, once each."""
    parts = (part for r in placement.nodes.ranges for part in _parts_unknown(r, groups))
    for part in dict.fromkeys(parts):
        verdict = "is not a processor" if part.size == 1 else "are not processors"
        sentence = f"job {visible(placement.job)} is on {visible(part.text)}, which {verdict} of the platform"
        yield Violation("unknown-processor", (placement.job,), part.text, placement.start, 1, 0, sentence)


def _parts_unknown(asked: Range, groups: _Groups) -> Iterator[Range]:
    """Yield the parts of a range that are no processors of the platform."""
    if asked.cluster not in groups.cluster_names or asked.first < 0:
        yield asked
        return
    num_nodes = 0
    for g in np.flatnonzero(groups.cluster == groups.cluster_names.index(asked.cluster)).tolist():
        first, num_nodes = num_nodes, num_nodes + int(groups.count[g])
        part = asked._replace(first=max(asked.first, first), last=min(asked.last, num_nodes - 1))
        cores = int(groups.cores[g])
        if part.first > part.last or (cores == 1 and part.first_core < 0):
            continue
        if cores == 1 or part.first_core < 0:
            yield part
        elif part.last_core >= cores:
            yield part._replace(first_core=max(part.first_core, cores))
    if asked.last >= num_nodes:
        yield asked._replace(first=max(asked.first, num_nodes))


def _scope_violations(rows: _Rows, scope: Scope) -> Iterator[Violation]:
    """Yield placements over more clusters, or more nodes, than one."""
    if scope == "platform":
        return
    parts = ((_tasks(rows) > 0).sum(axis=1) if scope == "cluster" else _num_nodes(rows))[rows.held]
    for row, placement, _ in rows.placed(parts > 1):
        sentence = f"job {visible(placement.job)} runs on {parts[row]} {scope}s, but the scope allows one"
        yield Violation("scope", (placement.job,), "", placement.start, int(parts[row]), 1, sentence)


def _num_nodes(rows: _Rows) -> Ints:
    """Return how many nodes each set has processors of."""
    sets = rows.sets
    first, last = _nodes(sets, rows.groups)
    goes_on = np.append(False, (np.diff(sets.holder) == 0) & (first[1:] == last[:-1]))[: len(first)]
    return np.bincount(sets.holder, last - first + 1 - goes_on, len(sets.sizes)).astype(np.int64)


def _nodes(sets: _Sets, groups: _Groups) -> tuple[Ints, Ints]:
    """Return the first and the last node of each interval of processors."""
    base, cores, node = groups.processor[sets.group], groups.cores[sets.group], groups.node[sets.group]
    return node + (sets.first - base) // cores, node + (sets.stop - 1 - base) // cores


def _arrival_violations(rows: _Rows) -> Iterator[Violation]:
    """Yield jobs that start before they arrive."""
    arrival = rows.column(attrgetter("arrival"), math.nan)
    for _, placement, job in rows.placed(rows.start < arrival - rows.tolerance):
        if job is not None:
            sentence = (
                f"job {visible(job.id)} starts at {_seconds(placement.start)}, "
                f"before its arrival at {_seconds(job.arrival)}"
            )
            yield Violation("arrival", (job.id,), "", placement.start, placement.start, job.arrival, sentence)


def _deadline_violations(rows: _Rows) -> Iterator[Violation]:
    """Yield jobs that end after their deadlines."""
    deadline = rows.column(lambda job: math.inf if job.deadline is None else job.deadline, math.inf)
    for row, placement, job in rows.placed(rows.end > deadline + rows.tolerance):
        if job is not None:
            limit = float(deadline[row])
            sentence = (
                f"job {visible(job.id)} ends at {_seconds(placement.end)}, after its deadline at {_seconds(limit)}"
            )
            yield Violation("deadline", (job.id,), "", placement.end, placement.end, limit, sentence)


def _precedence_violations(rows: _Rows) -> Iterator[Violation]:
    """Yield jobs that start before one that they come after has ended, a pair each."""
    ends: dict[str, float] = {}
    for name, end in zip(rows.ids, rows.end.tolist(), strict=True):
        ends[name] = max(end, ends.get(name, end))
    comes_after = np.array([job is not None and bool(job.after) for job in rows.jobs], dtype=bool)
    for row, placement, job in rows.placed(comes_after):
        for other in dict.fromkeys(job.after if job is not None else ()):
            end = ends.get(other, -math.inf)
            if placement.start < end - rows.tolerance[row]:
                sentence = (
                    f"job {visible(placement.job)} starts at {_seconds(placement.start)}, "
                    f"before the end of its predecessor {visible(other)} at {_seconds(end)}"
                )
                pair = placement.job, other
                yield Violation("precedence", pair, "", placement.start, placement.start, end, sentence)


def _lag_violations(rows: _Rows, *, enforces_most: bool) -> Iterator[Violation]:
    """Yield jobs that start before a minimal lag is over, or after a maximal one, a pair each."""
    number = {name: row for row, name in enumerate(rows.ids)}
    has_lags = np.array([job is not None and bool(job.lags) for job in rows.jobs], dtype=bool)
    for row, placement, job in rows.placed(has_lags):
        for lag in job.lags if job is not None else ():
            other = number.get(lag.after)
            if other is None:
                continue
            time = float((rows.start if lag.from_ == "start" else rows.end)[other])
            tolerance = max(float(rows.tolerance[row]), float(rows.tolerance[other]))
            is_early = placement.start < time + lag.min - tolerance
            is_late = lag.max is not None and placement.start > time + lag.max + tolerance
            if is_early or (is_late and enforces_most):
                limit = time + (lag.min if is_early else lag.max or 0.0)
                sentence = (
                    f"job {visible(placement.job)} starts at {_seconds(placement.start)}, but must start at "
                    f"{_seconds(limit)} or {'later' if is_early else 'earlier'}, because of the {lag.from_} of "
                    f"{visible(lag.after)} at {_seconds(time)}"
                )
                pair = placement.job, lag.after
                yield Violation("lag", pair, "", placement.start, placement.start, limit, sentence)


def _eligibility_violations(rows: _Rows, instance: Instance) -> Iterator[Violation]:
    """Yield jobs that are on processors of a cluster, or without a feature, that they may not use."""
    features = [frozenset(group.features) for cluster in instance.platform.clusters for group in cluster.nodes]
    names = rows.groups.cluster_names
    is_choosy = np.array([job is not None and bool(job.eligible or job.requires) for job in rows.jobs], dtype=bool)
    for row, placement, job in rows.placed(is_choosy):
        allowed = set(job.eligible if job is not None and job.eligible else names)
        required = set(job.requires if job is not None else ())
        low, high = rows.sets.begin[rows.held[row]], rows.sets.begin[rows.held[row] + 1]
        wrong = [
            (int(rows.sets.first[i]), int(rows.sets.stop[i]))
            for i in range(low, high)
            if names[rows.groups.cluster[g := rows.sets.group[i]]] not in allowed or not required <= features[g]
        ]
        if wrong:
            where = ", ".join(_texts(wrong, rows.groups))
            sentence = f"job {visible(placement.job)} is on {visible(where)}, which it may not use"
            count = sum(stop - first for first, stop in wrong)
            yield Violation("eligibility", (placement.job,), where, placement.start, count, 0, sentence)


# ------------------------------------------------------------------------------ spreads


def _spread_violations(rows: _Rows, instance: Instance) -> Iterator[Violation]:
    """Yield jobs whose numbers of tasks in the clusters are not as they ask."""
    platform, names = instance.platform, rows.groups.cluster_names
    asks = [
        job is not None and (job.max_clusters, job.min_tasks_per_cluster, job.slices, job.level) != (None,) * 4
        for job in rows.jobs
    ]
    for row, placement, job in rows.placed(np.array(asks, dtype=bool)):
        if job is None:
            continue
        held = Counter[str]()
        for i in range(rows.sets.begin[rows.held[row]], rows.sets.begin[rows.held[row] + 1]):
            name = names[rows.groups.cluster[rows.sets.group[i]]]
            held[name] += int(rows.sets.stop[i] - rows.sets.first[i])
        where = ", ".join(held)
        for sentence, amount, limit in _spread_faults(job, held, platform):
            told = f"job {visible(placement.job)} {sentence}"
            yield Violation("spread", (placement.job,), where, placement.start, amount, limit, told)


def _spread_faults(job: Job, held: Mapping[str, int], platform: Platform) -> Iterator[tuple[str, float, float]]:
    """Yield what is wrong with the tasks of a job in each cluster, by name: a sentence, an amount and its limit."""
    fewest, most = min(held.values(), default=0), max(held.values(), default=0)
    if job.max_clusters is not None and len(held) > job.max_clusters:
        yield f"uses {len(held)} clusters, at most {job.max_clusters} are allowed", len(held), job.max_clusters
    least = job.min_tasks_per_cluster
    if least is not None and fewest < least:
        yield f"has {fewest} tasks in a cluster, at least {least} are required", fewest, least
    if job.slices is not None and (len(held) != job.slices or fewest != most):
        tasks = " + ".join(map(str, held.values()))
        yield f"has {tasks} tasks in {len(held)} clusters, not {job.slices} equal slices", len(held), job.slices
    if job.level is not None and job.level.required:
        above = [_switches_above(name, job.level.name, platform) for name in held]
        found = set.union(*above) if above else set()
        if len(found) != 1 or not all(above):
            level = visible(job.level.name)
            yield f"is not under one switch of the level {level}", len(found), 1


def _switches_above(cluster: str, level: str, platform: Platform) -> set[str]:
    """Return the switches of a level above a cluster: one or none."""
    parents = {switch.name: switch.parent for switch in platform.switches}
    levels = {switch.name: switch.level for switch in platform.switches}
    above: str | None = next(c.switch for c in platform.clusters if c.name == cluster)
    found = set()
    while above in parents:
        if levels[above] == level:
            found.add(above)
        above = parents[above]
    return found


# ------------------------------------------------------------------------------ windows


def _window_violations(rows: _Rows, instance: Instance) -> Iterator[Violation]:
    """Yield what jobs hold in windows in which it is not there: of nodes window by window, then of groups."""
    taking: dict[int, list[Window]] = {}
    for window in instance.platform.unavailable:
        c = rows.groups.cluster_names.index(window.cluster)
        overlapping = np.minimum(rows.end, window.end) - np.maximum(rows.start, window.start) > rows.tolerance
        groups = np.flatnonzero(rows.groups.cluster == c)
        if window.group is not None:
            taking.setdefault(int(groups[window.group]), []).append(window)
            continue
        closed = _closed(rows.groups, groups, window)
        for row, placement, _ in rows.placed(overlapping):
            shared = _common(rows.sets.spans(int(rows.held[row])), closed)
            if shared:
                where = ", ".join(_texts(shared, rows.groups))
                sentence = (
                    f"job {visible(placement.job)} is on {visible(where)} from {_seconds(placement.start)} to "
                    f"{_seconds(placement.end)}: unavailable from {_seconds(window.start)} to {_seconds(window.end)}"
                )
                count = sum(stop - first for first, stop in shared)
                begin = max(placement.start, window.start)
                yield Violation("unavailable", (placement.job,), where, begin, count, 0, sentence)
    for group, windows in taking.items():
        yield from _taken_violations(rows, windows, group)


def _closed(groups: _Groups, of_cluster: Ints, window: Window) -> Spans:
    """Return the processors of the nodes that a window takes."""
    spans = []
    named = [(r.first, r.last + 1) for r in window.nodes.ranges] if window.nodes else [(0, 2**62)]
    for g in of_cluster.tolist():
        base, count = int(groups.node_in_cluster[g]), int(groups.count[g])
        cores, processor = int(groups.cores[g]), int(groups.processor[g])
        for first, stop in named:
            low, high = max(first - base, 0), min(stop - base, count)
            if low < high:
                spans.append((processor + low * cores, processor + high * cores))
    return sorted(spans)


def _taken_violations(rows: _Rows, windows: Sequence[Window], group: int) -> Iterator[Violation]:
    """Yield a violation for each instant from which on jobs hold more of a group than windows leave of it."""
    sets, capacity = rows.sets, int(rows.groups.count[group] * rows.groups.cores[group])
    sizes = np.bincount(sets.holder, np.where(sets.group == group, sets.stop - sets.first, 0), len(sets.sizes))
    chosen = np.flatnonzero(sizes[rows.held] > 0)
    instants = np.unique([*rows.start[chosen].tolist(), *(window.start for window in windows)])
    for instant in instants.tolist():
        margin = rows.base.tolerance_at(instant)
        taken = [w for w in windows if w.start <= instant + margin and w.end > instant + 2.0 * margin]
        held = chosen[(rows.start[chosen] <= instant + margin) & (rows.end[chosen] > instant + 2.0 * margin)]
        count, limit = int(sizes[rows.held[held]].sum()), max(0, capacity - sum(w.processors or 0 for w in taken))
        placed = tuple(rows.ids[row] for row in held.tolist() if row >= rows.num_running)
        if taken and placed and count > limit:
            where = f"group {taken[0].group} of {taken[0].cluster}"
            sentence = (
                f"{_listed(placed)} and running jobs hold {_counted(count, 'processor')} of {visible(where)} at "
                f"{_seconds(instant)}: an outage leaves {limit}"
            )
            yield Violation("unavailable", placed, where, instant, count, limit, sentence)


# ------------------------------------------------------------------------------ durations


def _made(
    rows: _Rows, instance: Instance, links: Links, loads: Floats, named: _NamedParts
) -> tuple[Floats, Floats] | None:
    """Return progress and highest rate of each row (:func:`_progress`) where what it shares sets its pace."""
    if not instance.shares_nodes:
        return _progress(rows, loads, instance.platform.links, named) if links == "shared" else None
    shared = _shared_rows(rows, instance, loads)
    bandwidths = [link.bandwidth for link in instance.platform.links] if links == "shared" else None
    shared_nodes.make_progress(instance, shared, bandwidths)
    return np.array([row.progress for row in shared]), np.array([row.fastest for row in shared])


_NamedParts = dict[int, list[tuple[float, float]]]
"""Of each row whose job names times, and each group of nodes it uses: what takes a fixed time there, and what SC
stretches, s. The slowest group decides."""


def _named_parts(rows: _Rows, instance: Instance) -> _NamedParts:
    """Return the parts of the rows whose jobs name times."""
    groups = [group for cluster in instance.platform.clusters for group in cluster.nodes]
    parts: _NamedParts = {}
    for row, _, job in rows.placed(np.array([job is not None and bool(job.times) for job in rows.jobs], dtype=bool)):
        low, high = rows.sets.begin[rows.held[row]], rows.sets.begin[rows.held[row] + 1]
        used = sorted({int(g) for g in rows.sets.group[low:high]})
        if job is not None and used and not math.isnan(rows.slowdown[row]):
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


def _duration_violations(
    rows: _Rows, slot: float | None, made: tuple[Floats, Floats] | None, named: _NamedParts
) -> Iterator[Violation]:
    """Yield jobs whose end does not follow from their start, nor from the progress that they ``made``.

    Jobs that name times have ``named`` parts.
    """
    lengths = np.asarray(sum(_parts(rows)), dtype=np.float64)
    for row, parts in named.items():
        lengths[row] = max(fixed + communicating for fixed, communicating in parts)
    tolerance = rows.tolerance
    if made is not None:
        progress, fastest = made
        is_right = np.abs(progress - 1.0) <= RELATIVE_TOLERANCE + fastest * tolerance
    else:
        is_right = np.abs(rows.end - rows.start - lengths) <= tolerance
    is_right &= (rows.end >= rows.start) & (made is not None or slot is None)
    for row, placement, job in rows.placed(~is_right):  # where a number is none, it is looked at closely
        if placement.end < placement.start - tolerance[row]:
            length = placement.end - placement.start
            sentence = (
                f"job {visible(placement.job)} ends at {_seconds(placement.end)}, "
                f"before its start at {_seconds(placement.start)}"
            )
            yield Violation("duration", (placement.job,), "", placement.end, length, 0, sentence)
        elif job is None or math.isnan(rows.slowdown[row]):
            continue  # its execution time is not defined; other rules say why
        elif made is not None:
            yield from _progress_violation(
                placement, float(made[0][row]), float(made[1][row]), slot, float(tolerance[row])
            )
        else:
            yield from _length_violation(placement, float(lengths[row]), slot, float(tolerance[row]))


def _length_violation(
    placement: Placement, execution_time: float, slot: float | None, tolerance: float
) -> Iterator[Violation]:
    """Yield a job that does not last its execution time (killed: lasts longer), where SC = 1."""
    killed = placement.outcome == "killed"
    slotted = slot is not None and not killed and math.isfinite(execution_time / slot)
    limit = slot * slots_up(execution_time, slot) if slot is not None and slotted else execution_time
    length = placement.end - placement.start
    if abs(length - limit) <= tolerance or (killed and length < limit):
        return
    verdict = "too early" if length < limit else "too late"
    allowed = f"at most {_seconds(limit)}" if killed else _seconds(limit)
    in_slots = f" (whole time slots of {_seconds(slot)})" if slot is not None and slotted else ""
    sentence = (
        f"job {visible(placement.job)} ends {verdict}: it lasts {_seconds(length)}, but must last {allowed}{in_slots}"
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
        f"job {visible(placement.job)} ends {verdict}: at {_seconds(placement.end)} "
        f"{progress:.12g} of its work is done, at the speed of shared links or nodes"
    )
    yield Violation("duration", (placement.job,), "", placement.end, progress, 1, sentence)


def _progress(rows: _Rows, loads: Floats, network: Sequence[Link], named: _NamedParts) -> tuple[Floats, Floats]:
    """Return the integral of ``1/Te(t)`` from start to end, and the highest ``1/Te(t)`` (1/s), per row.

    Rows that load the same links meet the same SC, so it is computed once for all of them. Where nobody
    loads a link of no bandwidth SC is undefined (0/0), but then no row that loads it is there to ask.
    """
    start, end = rows.instants[rows.begin], rows.instants[rows.finish]
    fixed, communicating = _parts(rows)
    fastest = 1.0 / (fixed + communicating)
    for row, parts in named.items():
        fastest[row] = 1.0 / _times_of(parts, np.ones(1))[0]
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
            parts = named.get(int(row), [(fixed[row], communicating[row])])
            rates = 1.0 / _times_of(parts, slowdown[span])
            progress[row] = rates @ steps[span]
            fastest[row] = rates.max()
    return progress, fastest


def _parts(rows: _Rows) -> tuple[Floats, Floats]:
    """Return ``Tb * sigma * SP`` and ``Tb * (1 - sigma)`` of each row, s; SC stretches only the second."""
    base_time = rows.column(attrgetter("base_time"), math.nan)
    share = rows.column(attrgetter("processing_share"), math.nan)
    return base_time * share * rows.slowdown, base_time * (1.0 - share)


# ------------------------------------------------------------------------------ overlaps


def _overlap_violations(rows: _Rows) -> Iterator[Violation]:
    """Yield each pair of rows that hold a processor at the same time, once, with all processors they share."""
    for first, second in sorted(_overlaps(rows)):
        jobs = (rows.ids[first], rows.ids[second])
        start = float(rows.instants[max(rows.begin[first], rows.begin[second])])
        end = float(rows.instants[min(rows.finish[first], rows.finish[second])])
        where = _texts(_common(*(rows.sets.spans(int(rows.held[row])) for row in (first, second))), rows.groups)
        running = " (runs already)" if first < rows.num_running else ""
        sentence = (
            f"jobs {visible(jobs[0])}{running} and {visible(jobs[1])} both hold {_listed(where)} "
            f"from {_seconds(start)} to {_seconds(end)}"
        )
        yield Violation("overlap", jobs, ", ".join(where), start, 2, 1, sentence)


def _overlaps(rows: _Rows) -> set[Pair]:
    """Return the pairs of rows that overlap.

    Rows are swept in the order of their instants, ends first. What is busy is the bits of an integer, so that a
    start costs few operations however many processors it takes; what is held twice is in a further layer of bits.
    """
    active: dict[int, tuple[int, int]] = {}
    layers = [0]
    pairs: set[Pair] = set()
    compared, bits_of = 0, _Bits(rows.sets)
    for row, held, is_end in _events(rows):
        if is_end:
            layer, bits = active.pop(row)
            layers[layer] ^= bits
            continue
        bits = bits_of[held]
        free = [layer for layer, busy in enumerate(layers) if not busy & bits]
        if len(free) < len(layers):
            compared += len(active)
            if compared > OVERLAP_PAIRS:
                return _pairs_with_longest(rows)
            pairs |= {(min(row, other), max(row, other)) for other, (_, taken) in active.items() if taken & bits}
        if not free:
            free = [len(layers)]
            layers.append(0)
        layers[free[0]] |= bits
        active[row] = free[0], bits
    return pairs


class _Bits(dict[int, int]):
    """The processors of sets as the bits of integers; as many as take little memory are kept."""

    def __init__(self, sets: _Sets) -> None:
        super().__init__()
        self._sets, self._size = sets, 0

    def __missing__(self, holder: int) -> int:
        bits = sum((1 << stop) - (1 << first) for first, stop in self._sets.spans(holder))
        self._size += bits.bit_length()
        if self._size <= MOST_BITS:
            self[holder] = bits
        return bits


def _events(rows: _Rows) -> Iterator[tuple[int, int, bool]]:
    """Yield row, set and whether the row ends, for each row that lasts when it begins and when it ends, in order."""
    lasting = np.flatnonzero(rows.begin < rows.finish)
    order = np.argsort(np.concatenate([2 * rows.begin[lasting] + 1, 2 * rows.finish[lasting]]), kind="stable")
    for begin in range(0, len(order), EVENTS_AT_ONCE):
        chosen = order[begin : begin + EVENTS_AT_ONCE]
        row = lasting[chosen % len(lasting)]
        yield from zip(row.tolist(), rows.held[row].tolist(), (chosen >= len(lasting)).tolist(), strict=True)


def _pairs_with_longest(rows: _Rows) -> set[Pair]:
    """Return the pairs of each row that begins on busy processors and those that hold these longest."""
    until = np.zeros(rows.groups.num_processors, dtype=np.int64)
    holder = np.zeros(rows.groups.num_processors, dtype=np.int64)
    pairs: set[Pair] = set()
    for row, held, is_end in _events(rows):
        for first, stop in [] if is_end else rows.sets.spans(held):
            of_span, by_row = until[first:stop], holder[first:stop]
            others = np.unique(by_row[of_span > rows.begin[row]]).tolist()
            pairs |= {(min(row, other), max(row, other)) for other in others}
            is_longer = of_span < rows.finish[row]
            by_row[is_longer] = row
            of_span[is_longer] = rows.finish[row]
    return pairs


def _common(some: Spans, others: Spans) -> Spans:
    """Return what two lists of intervals have in common, in order."""
    common, i, j = [], 0, 0
    while i < len(some) and j < len(others):
        first, stop = max(some[i][0], others[j][0]), min(some[i][1], others[j][1])
        if first < stop:
            common.append((first, stop))
        if some[i][1] < others[j][1]:
            i += 1
        else:
            j += 1
    return common


def _texts(spans: Spans, groups: _Groups) -> tuple[str, ...]:
    """Return the names of intervals of processors, adjacent ones as ranges."""
    texts = []
    for span in spans:
        first, stop = span
        while first < stop:
            g = int(np.searchsorted(groups.processor, first, side="right")) - 1
            cores, cluster = int(groups.cores[g]), groups.cluster_names[groups.cluster[g]]
            node, core = divmod(first - int(groups.processor[g]), cores)
            whole = min(stop - first, (int(groups.count[g]) - node) * cores) // cores
            number = node + int(groups.node_in_cluster[g])
            if core == 0 and whole:
                last = number + whole - 1
                texts.append(Range(cluster, number, last, *((-1, -1) if cores == 1 else (0, cores - 1))).text)
                first += whole * cores
            else:
                length = min(stop - first, cores - core)
                texts.append(Range(cluster, number, number, core, core + length - 1).text)
                first += length
    return ProcessorNames(texts).texts


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
                f"{_seconds(excess.end)}, but its limit is {limit:.12g} MB/s; jobs then: {_listed(excess.jobs)}"
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


def _node_violations(rows: _Rows, instance: Instance, loads: Floats, *, is_held_once: bool) -> Iterator[Violation]:
    """Yield what breaks the rules of places and memory of nodes."""
    if not instance.shares_nodes:
        yield from _memory_violations(rows, instance.platform, is_held_once=is_held_once)
        return
    for finding in shared_nodes.findings(instance, _shared_rows(rows, instance, loads)):
        yield Violation(*finding)


def _shared_rows(rows: _Rows, instance: Instance, loads: Floats) -> list[shared_nodes.Row]:
    """Return the rows as the part for shared nodes sees them; no job runs already there."""
    node_of, found = instance.platform.processor_node, []
    for row, placement, job in rows.placed(np.ones(len(rows.ids), dtype=bool)):
        spans = rows.sets.spans(int(rows.held[row]))
        nodes = tuple(node_of[processor] for first, stop in spans for processor in range(first, stop))
        ends = placement.start, placement.end
        found.append(shared_nodes.Row(placement.job, job, nodes, *ends, tuple(loads[row].tolist())))
    return found


def _memory_violations(rows: _Rows, platform: Platform, *, is_held_once: bool) -> Iterator[Violation]:
    """Yield each time at which the tasks on a node ask for more than its memory, with the peak.

    Memory is that of nodes (MB per node); a job asks for its memory (MB per task) once for each task on the node.
    ``is_held_once``: no processor is held by two rows at once, so that a node has at most a task per core.
    """
    memory = [group.memory for cluster in platform.clusters for group in cluster.nodes]
    limits = np.array([math.inf if limit is None else capacity_limit(limit) for limit in memory])
    asked = rows.column(lambda job: job.memory or 0.0, 0.0)
    most = rows.groups.cores * asked.max(initial=0.0) if is_held_once else math.inf
    is_tight = np.isfinite(limits) & ~(most <= limits)
    if not is_tight.any():
        return
    use = _node_use(rows, (rows.begin < rows.finish) & (asked > 0.0), is_tight)
    for _, name, g, load in _full_nodes(rows, use, asked[use.row] * use.tasks, limits[use.group]):
        limit = memory[g] or 0.0
        for excess in _excesses(rows, load, float(limits[g])):
            sentence = (
                f"tasks on node {visible(name)} require up to {excess.peak:.12g} MB of memory from "
                f"{_seconds(excess.start)} to {_seconds(excess.end)}, but it has {limit:.12g} MB; jobs then: "
                f"{_listed(excess.jobs)}"
            )
            yield Violation("memory", excess.jobs, name, excess.start, excess.peak, limit, sentence)


def _resource_violations(rows: _Rows, platform: Platform) -> Iterator[Violation]:
    """Yield each time at which jobs take more of a resource than the platform, a cluster or a node has, with the peak.

    A job takes its amount as a whole once in each place in which it has tasks, and that of each task where it is.
    """
    tasks = _tasks(rows)[rows.held]
    known = [job for job in rows.jobs[rows.num_running :] if job is not None]
    for name in sorted({name for job in known for name in (*job.resources, *job.task_resources)}):
        whole, each = _amounts(rows, name)
        of_clusters = [cluster.resources.get(name) for cluster in platform.clusters]
        if name in platform.resources:
            found = [("the platform", platform.resources[name], _taken(whole, each, tasks.sum(axis=1)))]
        elif any(capacity is not None for capacity in of_clusters):
            columns = zip(platform.clusters, of_clusters, tasks.T, strict=True)
            found = [(cluster.name, capacity or 0.0, _taken(whole, each, t)) for cluster, capacity, t in columns]
        else:
            found = list(_taken_on_nodes(rows, platform, name, whole, each))
        for place, capacity, load in found:
            for excess in _excesses(rows, load, capacity_limit(capacity)):
                sentence = (
                    f"jobs require up to {excess.peak:.12g} {visible(name)} of {visible(place)} from "
                    f"{_seconds(excess.start)} to {_seconds(excess.end)}, but the capacity is {capacity:.12g}; jobs "
                    f"then: {_listed(excess.jobs)}"
                )
                where = "" if name in platform.resources else place
                yield Violation("resources", excess.jobs, where, excess.start, excess.peak, capacity, sentence)


def _limit_violations(rows: _Rows, instance: Instance) -> Iterator[Violation]:
    """Yield each time at which the jobs of a limit take more than its capacity, with the peak."""
    for limit in instance.limits:
        amounts = dict(zip(limit.jobs, limit.amounts or [1.0] * len(limit.jobs), strict=True))
        load = np.array([amounts.get(name, 0.0) for name in rows.ids], dtype=np.float64)
        for excess in _excesses(rows, load, capacity_limit(limit.capacity)):
            jobs = tuple(name for name in excess.jobs if amounts.get(name))
            sentence = (
                f"jobs of limit {visible(limit.name)} take up to {excess.peak:.12g} from {_seconds(excess.start)} to "
                f"{_seconds(excess.end)}, but its capacity is {limit.capacity:.12g}; jobs then: {_listed(jobs)}"
            )
            yield Violation("limit", jobs, limit.name, excess.start, excess.peak, limit.capacity, sentence)


def _amounts(rows: _Rows, name: str) -> tuple[Floats, Floats]:
    """Return what the job of each row takes of a resource as a whole, and what each of its tasks takes."""
    whole = rows.column(lambda job: job.resources.get(name, 0.0), 0.0)
    return whole, rows.column(lambda job: job.task_resources.get(name, 0.0), 0.0)


def _taken(whole: Floats, each: Floats, tasks: Ints) -> Floats:
    """Return what rows take in a place in which they have so many tasks."""
    return np.where(tasks > 0, whole + each * tasks, 0.0)


def _taken_on_nodes(
    rows: _Rows, platform: Platform, name: str, whole: Floats, each: Floats
) -> Iterator[tuple[str, float, Floats]]:
    """Yield the name of each node of which more may be taken than it has of a resource, what it has, and the rows'."""
    capacities = [group.resources.get(name, 0.0) for cluster in platform.clusters for group in cluster.nodes]
    limits = np.array([capacity_limit(capacity) for capacity in capacities])
    use = _node_use(rows, (rows.begin < rows.finish) & (whole + each > 0.0), np.ones(len(limits), dtype=bool))
    amounts = _taken(whole[use.row], each[use.row], use.tasks)
    for _, node, g, load in _full_nodes(rows, use, amounts, limits[use.group]):
        yield node, capacities[g], load


@dataclass(frozen=True, slots=True)
class _NodeUse:
    """How many ``tasks`` a row has on a node of a group, as columns by node: each row is once on each of its nodes."""

    row: Ints
    node: Ints
    group: Ints
    tasks: Ints


def _node_use(rows: _Rows, chosen: NDArray[np.bool_], is_tight: NDArray[np.bool_]) -> _NodeUse:
    """Return on which nodes of some groups the chosen rows have tasks."""
    sets, groups = rows.sets, rows.groups
    row = np.flatnonzero(chosen)
    low = sets.begin[rows.held[row]]
    counts = sets.begin[rows.held[row] + 1] - low
    row, interval = np.repeat(row, counts), np.repeat(low, counts) + _counting(counts)
    row, interval = row[is_tight[sets.group[interval]]], interval[is_tight[sets.group[interval]]]
    first, last = (column[interval] for column in _nodes(sets, groups))
    counts = last - first + 1
    row, interval, node = (
        np.repeat(row, counts),
        np.repeat(interval, counts),
        np.repeat(first, counts) + _counting(counts),
    )
    group = sets.group[interval]
    begin = groups.processor[group] + (node - groups.node[group]) * groups.cores[group]
    tasks = np.minimum(sets.stop[interval], begin + groups.cores[group]) - np.maximum(sets.first[interval], begin)
    # A row can hold several intervals of one node's cores: its tasks on them are added up.
    order = np.lexsort((row, node))
    row, node, group, tasks = (column[order] for column in (row, node, group, tasks))
    is_first = np.append(True, (np.diff(node) != 0) | (np.diff(row) != 0))[: len(node)]
    tasks = np.add.reduceat(tasks, np.flatnonzero(is_first)) if len(tasks) else tasks
    return _NodeUse(row[is_first], node[is_first], group[is_first], tasks)


def _full_nodes(rows: _Rows, use: _NodeUse, amount: Floats, limits: Floats) -> Iterator[tuple[int, str, int, Floats]]:
    """Yield the nodes of which more than there is can be taken at some instant: few, of what may be many.

    Of each its number, its name, its group, and what each row takes there. ``amount`` is what rows take and ``limits``
    what there is, for each use of a node. All nodes are swept as one line, so what rounding loses on one is counted
    against the next.
    """
    node = np.concatenate([use.node, use.node])
    instant = np.concatenate([rows.begin[use.row], rows.finish[use.row]])
    change = np.concatenate([amount, -amount])
    order = np.lexsort((change, instant, node))
    totals = np.cumsum(change[order])
    noise = np.finfo(np.float64).eps * np.cumsum(np.abs(totals))
    is_full = ~(totals + noise <= np.tile(limits, 2)[order])  # not a number, after an overflow, is looked at closely
    for n in np.unique(node[order][is_full]).tolist():
        low, high = np.searchsorted(use.node, [n, n + 1])
        g = int(use.group[low])
        load = np.bincount(use.row[low:high], amount[low:high], len(rows.ids)).astype(np.float64)
        number = n - int(rows.groups.node[g]) + int(rows.groups.node_in_cluster[g])
        yield n, f"{rows.groups.cluster_names[rows.groups.cluster[g]]}/{number}", g, load


# ------------------------------------------------------------------------------ constraints of whoever asks


def _constraint_violations(
    instance: Instance, schedule: Schedule, constraints: Sequence[Faulting]
) -> Iterator[Violation]:
    """Yield what each constraint says of a schedule that has every job once."""
    for constraint in constraints:
        for sentence in constraint.faults(instance, schedule):
            yield Violation("constraint", (), "", None, 1, 0, f"{type(constraint).__name__}: {visible(sentence)}")


# ------------------------------------------------------------------------------ start-ups


def _startup_violations(rows: _Rows, platform: Platform) -> Iterator[Violation]:
    """Yield, for each time that a cluster comes on, its first job if that has not waited for the start-up."""
    is_there = (_tasks(rows) > 0)[rows.held]
    for c, site in enumerate(platform.clusters):
        states = known_power_states(site)
        for row, begun in _coming_on(rows, np.flatnonzero(is_there[:, c]), states):
            placement = rows.placements[row - rows.num_running]
            waited = placement.start - begun
            if waited < states.startup_time - rows.tolerance[row]:
                sentence = (
                    f"job {visible(placement.job)} starts at {_seconds(placement.start)} on cluster "
                    f"{visible(site.name)}, which can start up at {_seconds(begun)} and requires "
                    f"{_seconds(states.startup_time)} for it"
                )
                where, limit = site.name, states.startup_time
                yield Violation("start-up", (placement.job,), where, placement.start, waited, limit, sentence)


def _coming_on(rows: _Rows, members: Ints, states: PowerStates) -> Iterator[tuple[int, float]]:
    """Yield the rows for which a cluster, on which the ``members`` run, comes on, and when it can begin to start up, s.

    It can once it is off, for a job that has arrived and has not started: this one, or one that starts later.
    """
    by_start = members[np.argsort(rows.begin[members], kind="stable")]
    start, end = rows.instants[rows.begin[by_start]], rows.instants[rows.finish[by_start]]
    is_placed = by_start >= rows.num_running
    arrival = rows.column(attrgetter("arrival"), math.inf)[by_start]
    earliest = np.minimum.accumulate(np.where(is_placed, arrival, math.inf)[::-1])[::-1]
    off = np.append(-math.inf, np.maximum.accumulate(end + states.core_grace + states.site_grace))[:-1]
    for k in np.flatnonzero(is_placed & (start > off) & (earliest < math.inf)).tolist():
        if start[k] - off[k] > rows.base.tolerance_at(start[k]):
            yield int(by_start[k]), float(max(earliest[k], off[k]))


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
