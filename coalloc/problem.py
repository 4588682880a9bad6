"""What exact methods see: the jobs as choices between modes, time as slots or seconds.

A mode is an allocation vector of one job; its duration and its link loads are constants,
so the maximum in SP, the quadratic bandwidth (2.6) and every other max() are gone before a model
is built (thesis 3.2.1 with errata 1 to 4). Times are in *ticks*: whole slots of a slotted problem,
seconds of a continuous one; no problem mixes them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal

from coalloc.allocation import (
    Allocation,
    NodeClass,
    Scope,
    allocation_of,
    node_classes,
    switched_classes,
)
from coalloc.execution import execution_time, link_load, processing_slowdown
from coalloc.instance import CoallocError, Instance, Job, RunningJob
from coalloc.instance.rounding import capacity_limit, slots_down, slots_up, time_tolerance

Rounding = Literal["up", "down"]
Links = Literal["strict", "shared", "ignore"]

MAX_MODES = 200_000
"""Allocation vectors, over all jobs, beyond which they are not enumerated."""


@dataclass(frozen=True, slots=True)
class Mode:
    """One way to place a job.

    ``allocation`` has shape ``(num_classes,)``, ``loads`` (MB/s) shape ``(num_links,)``;
    ``execution_time`` is Te in seconds with SC = 1, ``duration`` the same in ticks.
    """

    allocation: Allocation
    execution_time: float
    duration: float
    loads: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class SpeedLevel:
    """The classes that a job may use if it is given ``duration`` ticks, by index."""

    duration: float
    classes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Busy:
    """A job that runs already: its tasks per class and loads per link (MB/s), until ``end`` (ticks)."""

    job: str
    end: float
    allocation: Allocation
    loads: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Package:
    """All jobs of a problem, started together at ``start`` (ticks), the latest of their arrivals.

    ``processors`` are free then, shape ``(num_classes,)``, and ``bandwidths`` (MB/s, shape
    ``(num_links,)``; inf where links may saturate). ``running`` jobs outlast the start and put
    ``busy_loads`` (MB/s) on the links.
    """

    start: float
    processors: tuple[int, ...]
    bandwidths: tuple[float, ...]
    running: tuple[RunningJob, ...]
    busy_loads: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Assignment:
    """A decision: job ``job`` (by index) starts at ``start`` (ticks) in ``mode``."""

    job: int
    start: float
    mode: Mode

    @property
    def end(self) -> float:
        """Ticks."""
        return self.start + self.mode.duration


@dataclass(frozen=True)
class Problem:
    """An instance, discretised: see :func:`discretise`."""

    instance: Instance
    classes: tuple[NodeClass, ...]
    slot: float | None
    rounding: Rounding
    links: Links
    saturation: float
    scope: Scope

    @property
    def jobs(self) -> tuple[Job, ...]:
        """The jobs to schedule; everything else is indexed like them."""
        return self.instance.jobs

    @cached_property
    def capacities(self) -> tuple[int, ...]:
        """Processors of each class, shape ``(num_classes,)``."""
        return tuple(node_class.capacity for node_class in self.classes)

    @cached_property
    def bandwidths(self) -> tuple[float, ...]:
        """Largest total load allowed on each link, MB/s, shape ``(num_links,)``; inf where links may saturate."""
        if self.links != "strict":
            return tuple(math.inf for _ in self.instance.platform.links)
        return tuple(capacity_limit(link.bandwidth, self.saturation) for link in self.instance.platform.links)

    @cached_property
    def releases(self) -> tuple[float, ...]:
        """Earliest start of each job, ticks."""
        return tuple(self.ticks(job.arrival) for job in self.jobs)

    @cached_property
    def busy(self) -> tuple[Busy, ...]:
        """The jobs that run already."""
        index = self.instance.platform.processor_index
        busy = []
        for run in self.instance.running:
            allocation = allocation_of((index[name] for name in run.nodes), self.classes)
            busy.append(Busy(run.job.id, self.ticks(run.end), allocation, self.loads(run.job, allocation)))
        return tuple(busy)

    @cached_property
    def package(self) -> Package:
        """What is free when all jobs start together; jobs that end by then hold nothing any more."""
        start = max(self.releases, default=0.0)
        pairs = zip(self.instance.running, self.busy, strict=True)
        lasting = [(run, busy) for run, busy in pairs if busy.end > start + time_tolerance(start)]
        held = [sum(busy.allocation[g] for _, busy in lasting) for g in range(len(self.classes))]
        loads = tuple(math.fsum(busy.loads[k] for _, busy in lasting) for k in range(len(self.bandwidths)))
        return Package(
            start=start,
            processors=tuple(capacity - taken for capacity, taken in zip(self.capacities, held, strict=True)),
            bandwidths=tuple(max(0.0, limit - load) for limit, load in zip(self.bandwidths, loads, strict=True)),
            running=tuple(run for run, _ in lasting),
            busy_loads=loads,
        )

    def ticks(self, seconds: float) -> float:
        """Return a time in ticks: slots, rounded as the problem says, or the seconds themselves."""
        if self.slot is None:
            return seconds
        return slots_up(seconds, self.slot) if self.rounding == "up" else slots_down(seconds, self.slot)

    def seconds(self, ticks: float) -> float:
        """Return a time in seconds."""
        return ticks if self.slot is None else ticks * self.slot

    def loads(self, job: Job, allocation: Sequence[int]) -> tuple[float, ...]:
        """Return the loads of an allocation on every link, MB/s."""
        return tuple([link_load(sum([allocation[g] for g in below]), job) for below in self.classes_below])

    @cached_property
    def _powers(self) -> tuple[float, ...]:
        """Effective power of each class."""
        return tuple([node_class.effective_power for node_class in self.classes])

    @cached_property
    def _known_times(self) -> dict[Job, dict[float, tuple[float, float]]]:
        """Execution times so far, in seconds and ticks, of each job by the least effective power that it uses."""
        return {}

    def mode(self, job: Job, allocation: Sequence[int]) -> Mode:
        """Return the mode of an allocation vector."""
        used = [power for power, count in zip(self._powers, allocation, strict=True) if count]
        known, slowest = self._known_times.setdefault(job, {}), min(used)
        if slowest not in known:
            seconds = execution_time(job, processing_slowdown([slowest]))
            known[slowest] = seconds, self.ticks(seconds)
        return Mode(tuple(allocation), *known[slowest], self.loads(job, allocation))

    def fits_links(self, mode: Mode) -> bool:
        """Return whether the mode saturates no link when it is alone."""
        return all(load <= limit for load, limit in zip(mode.loads, self.bandwidths, strict=True))

    @cached_property
    def classes_below(self) -> tuple[tuple[int, ...], ...]:
        """Classes below each link, by index, shape ``(num_links,)``."""
        links = self.instance.platform.links
        return tuple(tuple(g for g, c in enumerate(self.classes) if c.cluster in link.clusters) for link in links)

    def tasks_below(self, job: Job, link: int) -> range:
        """Return the numbers of tasks of a job that can be below a link."""
        inside = sum(self.capacities[g] for g in self.classes_below[link])
        outside = sum(self.capacities) - inside
        return range(max(0, job.tasks - outside), min(job.tasks, inside) + 1)

    @cached_property
    def contended_links(self) -> tuple[int, ...]:
        """The links that would saturate if every job put its largest load on them at once."""
        contended = []
        for k, limit in enumerate(self.bandwidths):
            most = sum(busy.loads[k] for busy in self.busy)
            most += sum(max((link_load(n, job) for n in self.tasks_below(job, k)), default=0.0) for job in self.jobs)
            if most > limit:
                contended.append(k)
        return tuple(contended)

    def count_allocations(self, job: Job) -> int:
        """Return how many allocation vectors a job has, links and scope aside."""
        ways = [1] + [0] * job.tasks
        for capacity in self.capacities:
            prefix = [0]
            for count in ways:
                prefix.append(prefix[-1] + count)
            ways = [prefix[n + 1] - prefix[max(0, n - capacity)] for n in range(job.tasks + 1)]
        return ways[job.tasks]

    @cached_property
    def modes(self) -> tuple[tuple[Mode, ...], ...]:
        """Every mode of each job that fits the links alone, shape ``(num_jobs,)``.

        Raises :class:`CoallocError` where there are more than ``MAX_MODES``.
        """
        total = sum(self.count_allocations(job) for job in self.jobs)
        if total > MAX_MODES:
            raise CoallocError(
                f"the jobs have {total:,} allocation vectors on {len(self.classes)} node classes, more than the "
                f"{MAX_MODES:,} that are enumerated; use formulation='count' (model pas: 'node')"
            )
        return tuple(self._modes_of(job) for job in self.jobs)

    def _modes_of(self, job: Job) -> tuple[Mode, ...]:
        found = (self.mode(job, allocation) for allocation in self.allocations(job))
        return tuple(mode for mode in found if self.fits_links(mode))

    def allocations(self, job: Job) -> Iterator[Allocation]:
        """Yield every allocation vector of a job within the scope, links aside, in lexicographic order."""
        if self.scope == "platform":
            yield from compositions(job.tasks, self.capacities)
            return
        for cluster in range(len(self.instance.platform.clusters)):
            inside = [c.capacity if c.cluster == cluster else 0 for c in self.classes]
            if self.scope == "cluster":
                yield from compositions(job.tasks, inside)
            else:
                yield from (a for a in compositions(job.tasks, inside) if max(a) == job.tasks)

    @cached_property
    def levels(self) -> tuple[tuple[SpeedLevel, ...], ...]:
        """The speed levels of each job, fastest first, shape ``(num_jobs,)``.

        Effective powers at which a job takes equally many ticks are one level.
        """
        return tuple(self._levels_of(job) for job in self.jobs)

    def _levels_of(self, job: Job) -> tuple[SpeedLevel, ...]:
        levels: dict[float, SpeedLevel] = {}
        for power, allowed, capacity in self._prefixes:
            if capacity >= job.tasks:
                duration = self.ticks(execution_time(job, 1.0 / power))
                levels[duration] = SpeedLevel(duration, allowed)
        return tuple(levels.values())

    @cached_property
    def _prefixes(self) -> list[tuple[float, tuple[int, ...], int]]:
        """Effective powers, greatest first, with the classes that are at least as fast, and their processors."""
        prefixes = []
        for power in sorted(set(self._powers), reverse=True):
            allowed = tuple([g for g, other in enumerate(self._powers) if other >= power])
            prefixes.append((power, allowed, sum([self.capacities[g] for g in allowed])))
        return prefixes


def compositions(total: int, limits: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield every vector of whole numbers with this total, each between 0 and its limit."""
    if not limits:
        if total == 0:
            yield ()
        return
    rest = sum(limits[1:])
    for count in range(max(0, total - rest), min(total, limits[0]) + 1):
        for tail in compositions(total - count, limits[1:]):
            yield (count, *tail)


Slot = Annotated[float | str | None, 'seconds, a percentage such as "50%", or None']
"""Length of a slot as a caller gives it: seconds, or a share of the mean base time; None is continuous time."""


def slot_seconds(instance: Instance, slot: Slot) -> float | None:
    """Return a slot length in seconds: a number of seconds, or ``"50%"`` of the mean base time."""
    if slot is None:
        return None
    if isinstance(slot, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*%\s*", slot)
        if match is None:
            raise CoallocError(f'slot: must be seconds, or a percentage such as "50%", got {slot!r}')
        seconds = float(match.group(1)) / 100.0 * (instance.mean_base_time or 1.0)
    else:
        seconds = float(slot)
    if not (math.isfinite(seconds) and seconds > 0.0):
        raise CoallocError(f"slot: must be above 0 and finite, got {slot!r}")
    return seconds


def discretise(
    instance: Instance,
    slot: float | None,
    rounding: Rounding = "up",
    *,
    links: Links = "strict",
    saturation: float = 0.0,
    scope: Scope = "platform",
) -> Problem:
    """Return the problem that an instance is on a grid of ``slot`` seconds (None: continuous time).

    With ``rounding="up"`` durations, arrivals and ends of running jobs are rounded up to slots, and a
    schedule of the problem is one of the instance. With ``"down"`` all are rounded down, and the
    optimum, times the slot, is at most the optimum of the instance in continuous time.
    """
    return Problem(instance, node_classes(instance.platform, scope), slot, rounding, links, saturation, scope)


def discretise_for_energy(
    instance: Instance, slot: float | None, *, saturation: float = 0.0, scope: Scope = "platform"
) -> Problem:
    """Return :func:`discretise` rounded up, with classes in which it shows which nodes have a busy core."""
    return Problem(instance, switched_classes(instance.platform, scope), slot, "up", "strict", saturation, scope)
