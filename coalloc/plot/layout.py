"""Numbers of a Gantt chart: bands, bars and link curves, which both renderers draw.

Rows are processors, counted downwards from the top; clusters are bands with a gap between them. The
tasks of a job on adjacent rows of a cluster form one piece; a job on several clusters has several
pieces and is still one bar. Times are seconds. Pure functions: nothing here draws.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, get_args

import numpy as np

from coalloc.checker import check
from coalloc.documents.wording import TimeUnit, duration_text, plural, unit_for
from coalloc.instance import Cluster, CoallocError, Instance, Job, Platform, RunningJob
from coalloc.instance.numbering import intervals_of, unknown_ranges
from coalloc.instance.processor_names import ProcessorNames, distinct
from coalloc.instance.rounding import RELATIVE_TOLERANCE, time_tolerance
from coalloc.measures.observed_sharing import observe_sharing
from coalloc.problem.allocation import is_coallocated
from coalloc.problem.execution import link_loads
from coalloc.schedule import Schedule
from coalloc.schedule.observed import placed_jobs

SMALLEST_GAP = 0.4
GAP_SHARE = 0.012
"""The gap between bands, in rows: this share of all rows, but at least ``SMALLEST_GAP``."""

OVERLOADED = 1.0 + RELATIVE_TOLERANCE
"""A share of capacity above this is overload, not rounding."""

MOST_JOINED = 40
"""More co-allocated jobs than this are not joined by lines: the lines would hide the bars."""

MOST_HATCHED = 3000
"""More pieces than this are not hatched: they are too small for it, and it takes minutes."""

USER_SHARE = 0.16
"""Height of the mark of a local user, above the rows of his node, as a share of a row."""

MOST_SLOT_LINES = 250
"""More slots than this are not drawn: lines that close together are a grey veil."""


@dataclass(frozen=True, slots=True)
class NodeRow:
    """A node: its number within the cluster and the rows that its processors take."""

    number: int
    top: float
    bottom: float


@dataclass(frozen=True, slots=True)
class Band:
    """A cluster: its rows from ``top`` to ``bottom``, a sentence about it, and its nodes."""

    name: str
    detail: str
    top: float
    bottom: float
    nodes: tuple[NodeRow, ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """Adjacent processors of one job within one cluster: the rectangle's rows, and the processors' names."""

    cluster: int
    top: float
    bottom: float
    first: str
    last: str


Given = Literal["running", "reserved", "unavailable", "failed"]
"""Why processors are held that the schedule does not hold, as the key names it."""


@dataclass(frozen=True, slots=True)
class Bar:
    """One run in the picture: when the job runs (s), where, and how many tasks each cluster has.

    ``number`` is the job's place in its instance. ``given`` says what the schedule finds there instead, and has no
    number: a job that runs already, whose start is unknown (``start`` is then the clock's 0), one that starts later
    whatever happens, a window in which nodes are not there, or a failure of nodes.
    """

    job: Job
    number: int | None
    start: float
    end: float
    tasks: tuple[int, ...]
    pieces: tuple[Piece, ...]
    killed: bool = False
    given: Given | None = None

    @property
    def is_coallocated(self) -> bool:
        """Whether the job is spread over two or more clusters."""
        return is_coallocated(self.tasks)


@dataclass(frozen=True, slots=True)
class Presence:
    """A local user: his profile, his node by name and its rows, and when he is active there, s."""

    profile: str
    node: str
    top: float
    bottom: float
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class StoppedPart:
    """The task of a placement (by number) that stood still for a time, s: its row, and its node by name."""

    placement: int
    node: str
    top: float
    bottom: float
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Connector:
    """A vertical line that joins two pieces of a co-allocated job, at a time (s) between two rows.

    ``parts`` are the pairs of rows between which the line is visible: it passes behind the bars of other jobs.
    """

    bar: Bar
    time: float
    ends: tuple[float, float]
    parts: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class LinkCurve:
    """Load of a link over time, as share of its capacity: ``shares[i]`` from ``edges[i]`` to ``edges[i + 1]`` (s).

    ``capacity`` is in MB/s. Where ``is_resource`` it is that of a resource of the platform or of a cluster, without a
    unit, and the load is what jobs take of it.
    """

    name: str
    edges: tuple[float, ...]
    shares: tuple[float, ...]
    capacity: float
    is_resource: bool = False

    @property
    def capacity_text(self) -> str:
        """The capacity with its unit."""
        return f"{self.capacity:.6g}" if self.is_resource else f"{self.capacity:.6g} MB/s"

    @property
    def peak(self) -> float:
        """Largest share; infinite on a link without bandwidth."""
        return max(self.shares)

    @property
    def shown(self) -> float:
        """Largest share on the axis of a picture: a little above all, but not above three times the capacity."""
        return 1.15 * max(1.0, min(self.peak, 3.0))


@dataclass(frozen=True, slots=True)
class Layout:
    """Gantt chart under a ``title``, between ``start`` and ``end`` (s), on ``rows`` rows with the gaps.

    ``makespan`` is ``None`` for an empty schedule; ``slot_lines`` and ``arrivals`` are instants, s;
    ``curves`` has the links that are ever loaded, in the order of the platform, then resources that jobs take of.
    ``presences`` are those of local users before the last end, ``stopped`` the tasks that stood still on shared nodes.
    Windows that take a number of processors, of which nobody says which, count in ``num_windows`` and have no bar.
    """

    title: str
    bands: tuple[Band, ...]
    bars: tuple[Bar, ...]
    curves: tuple[LinkCurve, ...]
    start: float
    end: float
    makespan: float | None
    last_end: float
    slot: float | None
    slot_lines: tuple[float, ...]
    arrivals: tuple[float, ...]
    rows: float
    presences: tuple[Presence, ...] = ()
    stopped: tuple[StoppedPart, ...] = ()
    num_windows: int = 0
    given_unit: TimeUnit | None = None

    @property
    def unit(self) -> TimeUnit:
        """Unit of the time axis: the one that was given, or the one that suits the span of time."""
        return self.given_unit or unit_for(self.end - self.start)

    @property
    def num_coallocated(self) -> int:
        """Number of jobs of the schedule on two or more clusters."""
        return len({bar.number for bar in self.bars if bar.is_coallocated and bar.given is None})

    @property
    def num_given(self) -> int:
        """Number of bars that are not part of the schedule; they come first."""
        return sum(1 for bar in self.bars if bar.given)

    @property
    def given(self) -> str:
        """The kinds of these bars: ``running, reserved, unavailable or failed``."""
        *others, last = [kind for kind in get_args(Given) if any(bar.given == kind for bar in self.bars)] or [""]
        return f"{', '.join(others)} or {last}" if others else last

    @property
    def summary(self) -> str:
        """Summary of the chart in a line: ``8 jobs (3 co-allocated) on 12 nodes in 3 clusters``."""
        counted = Counter(bar.given for bar in self.bars)
        jobs = plural(len({bar.number for bar in self.bars if bar.given is None}), "job")
        split = f" ({self.num_coallocated} co-allocated)" if self.num_coallocated else ""
        kinds = (("running", counted["running"]), ("reserved", counted["reserved"]))
        held = [f"{count} {kind}" for kind, count in kinds if count]
        running = f" and {' and '.join(held)}" if held else ""
        windows = f", {plural(self.num_windows, 'window')}" if self.num_windows else ""
        nodes = plural(sum(len(band.nodes) for band in self.bands), "node")
        slot = f"; slot {duration_text(self.slot, self.given_unit)}" if self.slot is not None else ""
        return f"{jobs}{split}{running} on {nodes} in {plural(len(self.bands), 'cluster')}{windows}{slot}"


def layout_of(instance: Instance, schedule: Schedule, title: str | None = None, unit: TimeUnit | None = None) -> Layout:
    """Return what the picture of a schedule shows; without a title it has the name of the instance.

    Times are in ``unit``; without one, in the largest unit of which the time axis has at least three.

    The schedule need not be valid, but must name jobs of the instance and processors of its platform;
    otherwise a :class:`CoallocError` says which are unknown.
    """
    check_names(instance, schedule)
    bands = bands_of(instance.platform)
    bars = bars_of(instance, schedule)
    last_end = max((p.end for p in schedule), default=instance.origin)
    start = min([instance.origin, *(bar.start for bar in bars)])
    end = max([last_end, *(bar.end for bar in bars)])
    return Layout(
        title=instance.name if title is None else title,
        bands=bands,
        bars=bars,
        curves=(*link_curves(instance.platform, bars), *resource_curves(instance.platform, bars)),
        start=start,
        end=end if end > start else start + 1.0,
        makespan=last_end - instance.origin if len(schedule) else None,
        last_end=last_end,
        slot=schedule.slot,
        slot_lines=slot_lines_of(schedule, start, end),
        arrivals=arrivals_of(instance),
        rows=bands[-1].bottom,
        presences=presences_of(instance, bands, start, end),
        stopped=stopped_of(instance, schedule, bands),
        num_windows=len(instance.platform.unavailable),
        given_unit=unit,
    )


def check_names(instance: Instance, schedule: Schedule) -> None:
    """Raise :class:`CoallocError` if the schedule names jobs or processors that the instance has not."""
    jobs = sorted({p.job for p in schedule.runs} - set(instance.job_by_id))
    processors = sorted(unknown_ranges(instance.platform.numbering, [p.nodes for p in schedule.runs]))
    unknown = [f"{what} {names[0]!a}" for what, names in (("job", jobs), ("processor", processors)) if names]
    if unknown:
        count = len(jobs) + len(processors)
        raise CoallocError(
            f"the schedule cannot be drawn: {plural(count, 'name')} not in the instance, "
            f"such as {' and '.join(unknown)}; give the instance that it was made for"
        )


def gap_of(platform: Platform) -> float:
    """Return the gap between two bands, in rows."""
    return max(SMALLEST_GAP, GAP_SHARE * platform.num_processors)


def bands_of(platform: Platform) -> tuple[Band, ...]:
    """Return one band per cluster, from the top."""
    rows: list[list[NodeRow]] = [[] for _ in platform.clusters]
    gap = gap_of(platform)
    for node in platform.nodes:
        top = node.first_processor + gap * node.cluster
        rows[node.cluster].append(NodeRow(len(rows[node.cluster]), top, top + node.cores))
    return tuple(
        Band(cluster.name, cluster_detail(cluster), nodes[0].top, nodes[-1].bottom, tuple(nodes))
        for cluster, nodes in zip(platform.clusters, rows, strict=True)
    )


def cluster_detail(cluster: Cluster) -> str:
    """Return a cluster in a line: ``4 nodes of 2 cores, speed 1``."""
    cores = sorted({group.cores for group in cluster.nodes})
    size = plural(cluster.num_nodes, "node")
    if cores != [1]:
        size += f" of {cores[0]} cores" if len(cores) == 1 else f", {cluster.num_processors} cores"
    powers = {group.power: None for group in cluster.nodes}
    speed = ", ".join(f"{p:g}" for p in powers) if len(powers) <= 3 else f"{min(powers):g} to {max(powers):g}"
    shares = {group.availability for group in cluster.nodes}
    available = "" if shares == {1.0} else f", {100 * min(shares):.3g} % available"
    return f"{size}, speed {speed}{available}"


def bars_of(instance: Instance, schedule: Schedule) -> tuple[Bar, ...]:
    """Return the bars of what runs already, is not there or fails, then one per run, in the schedule's order."""
    running = [run for run in instance.running if run.end > 0.0]
    closed, failed = list(_closed(instance.platform)), list(_failed(instance.platform, schedule))
    number = {job.id: i for i, job in enumerate(instance.jobs)}
    held = [each.nodes for each in (*running, *closed, *failed)]
    runs = schedule.replace(placements=schedule.runs) if schedule.interrupted else schedule
    places = iter(places_of(instance.platform, [*held, *(p.nodes for p in runs)]))
    bars = [_given(run, "reserved" if run.start > 0.0 else "running", next(places)) for run in running]
    bars += [_given(window, "unavailable", next(places)) for window in closed]
    bars += [_given(failure, "failed", next(places)) for failure in failed]
    for p, job in zip(runs, placed_jobs(instance, runs), strict=True):
        killed = p.outcome == "killed"
        # One that ends before it starts (schedules need not be valid) gets no length.
        bars.append(Bar(job, number[p.job], p.start, max(p.start, p.end), *next(places), killed))
    return tuple(bars)


def _given(held: RunningJob, kind: Given, place: Places) -> Bar:
    return Bar(held.job, None, held.start, held.end, *place, given=kind)


def _closed(platform: Platform) -> Iterator[RunningJob]:
    """Yield the windows in which nodes are not there, as if a job held them."""
    for window, nodes in zip(platform.unavailable, platform.window_nodes, strict=True):
        if window.group is None:
            yield _held(platform, "unavailable", sorted(nodes), window.start, window.end)


def _failed(platform: Platform, schedule: Schedule) -> Iterator[RunningJob]:
    """Yield the failures of known nodes, up to the last end of a job, as if a job held the nodes."""
    if not schedule.failures:
        return
    index, last = {node.name: n for n, node in enumerate(platform.nodes)}, max((p.end for p in schedule), default=0.0)
    for failure in schedule.failures:
        nodes = [index[name] for name in failure.nodes if name in index]
        if nodes and failure.start < last:
            yield _held(platform, "failed", nodes, failure.start, min(last, failure.end))


def _held(platform: Platform, name: str, nodes: Iterable[int], start: float, end: float) -> RunningJob:
    """Return a job of a name that holds all processors of nodes, by index, between two times (s)."""
    members = [platform.nodes[n] for n in nodes]
    held = [p for node in members for p in range(node.first_processor, node.first_processor + node.cores)]
    processors = [platform.processor_names[p] for p in held]
    return RunningJob(Job(name, len(held), base_time=end - start), processors, end, start)


Places = tuple[tuple[int, ...], tuple[Piece, ...]]
"""Number of processors of a job in each cluster, and their contiguous pieces."""


def places_of(platform: Platform, nodes: Sequence[ProcessorNames]) -> list[Places]:
    """Return where the processors of each list of names are."""
    unique, which = distinct(nodes)
    held = intervals_of(platform.numbering, unique)
    cluster = np.searchsorted(np.cumsum([c.num_processors for c in platform.clusters]), held.first, side="right")
    tasks = np.zeros((len(unique), len(platform.clusters)), dtype=np.int64)
    np.add.at(tasks, (held.holder, cluster), held.size)
    spans: list[list[Span]] = [[] for _ in unique]
    columns = (held.holder.tolist(), held.first.tolist(), held.stop.tolist(), cluster.tolist())
    for holder, first, stop, c in zip(*columns, strict=True):
        spans[holder].append((first, stop, c))
    places = [(tuple(row), pieces_of(platform, own)) for row, own in zip(tasks.tolist(), spans, strict=True)]
    return [places[i] for i in which.tolist()]


Span = tuple[int, int, int]
"""Processors ``[first, stop)`` by index, and their cluster."""


def pieces_of(platform: Platform, spans: Iterable[Span]) -> tuple[Piece, ...]:
    """Return the rectangles' rows of processors: adjacent ones of a cluster are one piece."""
    joined: list[Span] = []
    for span in sorted(spans):
        first, stop, cluster = joined[-1] if joined else (0, -1, -1)
        if span[2] == cluster and span[0] <= stop:
            joined[-1] = first, max(stop, span[1]), cluster
        else:
            joined.append(span)
    gap, names = gap_of(platform), platform.processor_names
    return tuple(
        Piece(cluster, first + gap * cluster, stop + gap * cluster, names[first], names[stop - 1])
        for first, stop, cluster in joined
    )


def presences_of(instance: Instance, bands: Sequence[Band], start: float, end: float) -> tuple[Presence, ...]:
    """Return where local users are active between two instants, s."""
    rows = {node.name: row for node, row in zip(instance.platform.nodes, _node_rows(bands), strict=True)}
    users = [user for user in instance.local_users if user.start < end and user.end > start]
    return tuple(
        Presence(user.profile, user.node, rows[user.node].top, rows[user.node].bottom, *span)
        for user in users
        for span in [(max(start, user.start), min(end, user.end))]
    )


def stopped_of(instance: Instance, schedule: Schedule, bands: Sequence[Band]) -> tuple[StoppedPart, ...]:
    """Return the tasks that stood still where nodes are shared; of a schedule that is not valid that is not known."""
    if not instance.shares_nodes or check(instance, schedule):
        return ()
    nodes, rows, index = instance.platform.nodes, _node_rows(bands), instance.platform.processor_index
    held = [sorted(index[name] for name in placement.nodes) for placement in schedule]
    parts = []
    for stop in observe_sharing(instance, schedule).stops:
        node = nodes[stop.node]
        place = held[stop.job][bisect_left(held[stop.job], node.first_processor)] - node.first_processor
        top = rows[stop.node].top + place
        parts.append(StoppedPart(stop.job, node.name, top, top + 1.0, stop.start, stop.end))
    return tuple(parts)


def _node_rows(bands: Sequence[Band]) -> list[NodeRow]:
    return [node for band in bands for node in band.nodes]


def link_curves(platform: Platform, bars: Iterable[Bar]) -> tuple[LinkCurve, ...]:
    """Return the load curves of the links that are ever loaded, in the order of the platform."""
    intervals: list[list[tuple[float, float, float]]] = [[] for _ in platform.links]
    for bar in bars:
        if not bar.is_coallocated:
            continue
        for of_link, load in zip(intervals, link_loads(bar.job, bar.tasks, platform), strict=True):
            if load > 0.0 and bar.end > bar.start:
                of_link.append((bar.start, bar.end, load))
    curves = (
        link_curve(link.name, link.bandwidth, of_link)
        for link, of_link in zip(platform.links, intervals, strict=True)
        if of_link
    )
    return tuple(curve for curve in curves if curve.shares)


def resource_curves(platform: Platform, bars: Sequence[Bar]) -> tuple[LinkCurve, ...]:
    """Return what jobs take of each resource of the platform and of its clusters that any takes something of."""
    everywhere = range(len(platform.clusters))
    places = [(name, capacity, name, everywhere) for name, capacity in platform.resources.items()]
    for c, cluster in enumerate(platform.clusters):
        places += [(f"{name} of {cluster.name}", n, name, range(c, c + 1)) for name, n in cluster.resources.items()]
    found = []
    for title, capacity, name, inside in places:
        amounts = [(bar.start, bar.end, bar.job.amount(name, sum(bar.tasks[c] for c in inside))) for bar in bars]
        taken = [part for part in amounts if part[2] > 0.0 and part[1] > part[0]]
        if taken:
            found.append(replace(link_curve(title, capacity, taken), is_resource=True))
    return tuple(curve for curve in found if curve.shares)


def strips_title(curves: Sequence[LinkCurve]) -> str:
    """Return what stands above the strips of curves."""
    has_resources = any(curve.is_resource for curve in curves)
    return f"{'Load of links and resources' if has_resources else 'Link load'}, share of capacity"


def most_loaded(curves: Sequence[LinkCurve], count: int) -> tuple[LinkCurve, ...]:
    """Return the curves with the highest peaks, at most ``count``, in their order."""
    chosen = sorted(range(len(curves)), key=lambda i: -curves[i].peak)[:count]
    return tuple(curves[i] for i in sorted(chosen))


def link_curve(name: str, bandwidth: float, intervals: Sequence[tuple[float, float, float]]) -> LinkCurve:
    """Return the sum of loads, given as (start, end, MB/s), as share of a capacity in MB/s."""
    data = np.asarray(intervals, dtype=float)
    times = np.concatenate([data[:, 0], data[:, 1]])
    changes = np.concatenate([data[:, 2], -data[:, 2]])
    order = np.argsort(times, kind="stable")
    times, changes = times[order], changes[order]
    # Instants that are equal but for rounding count as one: no job hands over to another with a false peak.
    new = np.diff(times, prepend=-np.inf) > time_tolerance(float(times[0]), float(times[-1]))
    edges = times[new]
    loads = np.cumsum(np.bincount(np.cumsum(new) - 1, weights=changes))[:-1]
    loads[np.abs(loads) <= RELATIVE_TOLERANCE * float(data[:, 2].max())] = 0.0
    shares = loads / bandwidth if bandwidth > 0.0 else np.where(loads > 0.0, math.inf, 0.0)
    return LinkCurve(name, tuple(edges.tolist()), tuple(shares.tolist()), bandwidth)


def is_hatched(layout: Layout) -> bool:
    """Return whether the pieces are few enough for hatches."""
    return sum(len(bar.pieces) for bar in layout.bars) <= MOST_HATCHED


def is_joined(layout: Layout) -> bool:
    """Return whether there are co-allocated jobs, few enough to join the pieces of each by lines."""
    split = [len(bar.pieces) for bar in layout.bars if bar.is_coallocated]
    return 0 < len(split) <= MOST_JOINED and sum(split) <= 4 * MOST_JOINED


def connectors(layout: Layout, inset: float) -> Iterator[Connector]:
    """Yield the lines between adjacent pieces of each co-allocated job.

    A line is near the start of its job, ``inset`` seconds or a small multiple after it, or else at the first time when
    the rows between the pieces are free. Where they are never free it is on the edge of a bar, or behind the bars.
    """
    if not is_joined(layout):
        return
    for number, bar in enumerate(bar for bar in layout.bars if bar.is_coallocated):
        aside = min(inset * (1 + number % 4), (bar.end - bar.start) / 2)
        at_once = [other for other in layout.bars if other.start < bar.end and other.end > bar.start]
        for upper, lower in pairwise(bar.pieces):
            ends = upper.bottom, lower.top
            between = [
                (other, (piece.top, piece.bottom))
                for other in at_once
                for piece in other.pieces
                if piece.top < ends[1] and piece.bottom > ends[0]
            ]
            time = _clear_time(bar, aside, [other for other, _ in between])
            hidden = [rows for other, rows in between if other.start < time < other.end]
            yield Connector(bar, time, ends, tuple(_uncovered(ends, hidden)))


def _clear_time(bar: Bar, aside: float, others: Sequence[Bar]) -> float:
    """Return a time (s) at which none of the other bars is, or else that is within none of them, or else any."""
    wanted = bar.start + aside
    edges = [time for other in others for time in (other.start, other.end)]
    roomy = [wanted, *sorted(edge + side for edge in edges for side in (aside, -aside))]
    for times, room in ((roomy, aside / 2), (sorted([bar.start, *edges, bar.end]), 0.0)):
        for time in times:
            is_clear = all(time <= other.start - room or time >= other.end + room for other in others)
            if is_clear and bar.start <= time <= bar.end:
                return time
    return wanted


def _uncovered(ends: tuple[float, float], covered: Iterable[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """Yield the parts of an interval that no other interval covers."""
    first, last = ends
    for top, bottom in [*sorted(covered), (last, last)]:
        if top > first:
            yield first, top
        first = max(first, bottom)


def numbered_nodes(layout: Layout, rows: float) -> tuple[NodeRow, ...]:
    """Return every 1st, 2nd, 4th, 8th, ... node of each cluster, so that numbers are ``rows`` rows apart."""
    lowest = min(node.bottom - node.top for band in layout.bands for node in band.nodes)
    step = 1
    while step * lowest < rows:
        step *= 2
    return tuple(node for band in layout.bands for node in band.nodes[::step])


def slot_lines_of(schedule: Schedule, start: float, end: float) -> tuple[float, ...]:
    """Return the bounds of the slots between two instants, s; none for continuous time."""
    if schedule.slot is None or not len(schedule):
        return ()
    phase = min(p.start for p in schedule)
    first, last = math.ceil((start - phase) / schedule.slot), math.floor((end - phase) / schedule.slot)
    return tuple(phase + i * schedule.slot for i in range(first, last + 1)) if last - first <= MOST_SLOT_LINES else ()


def arrivals_of(instance: Instance) -> tuple[float, ...]:
    """Return the instants at which jobs arrive, s; none where all are there from the start."""
    arrivals = sorted({job.arrival for job in instance.jobs})
    return tuple(arrivals) if arrivals and arrivals[-1] > instance.origin else ()
