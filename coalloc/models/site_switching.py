"""The least energy of sites that switch off: a model in time slots with start-ups and grace periods.

**Problem.** Each job runs on one site, without interruption, and starts at most ``longest_wait`` after it arrives.
Sites switch by the rule of :mod:`coalloc.power.sites`, so a schedule decides its start-ups: a site is on from a first
start until ``off_delay`` after the last end, and starts up for T s before each such period, once the period before has
ended and a job that starts in this one or later has arrived. Minimised is what the meter counts, from the earliest
arrival to the last end H. Without a limit on waits one site would start up once, when all jobs have arrived. Sites that
could stay on between jobs, at the watts of the site alone, would take less: that relaxation is far weaker.

**Model.** Starts are whole slots. For a job, a site and a start slot, x = 1 if it starts there then. For each site
on(t) = 1 while it is on, up(t) = 1 if a period begins, u(e, t) are cores that jobs leave at e and others take at t,
before their grace period ends, h(t) = 1 if the last job ends at t.

- Each job has one start. No more tasks run than there are cores.
- on(t) <= on(t - 1) + up(t). From the start of a job until ``off_delay`` after its end on(t) = 1; where no job keeps
  the site on, on(t) = 0, so each further period pays its start-up.
- up(t) <= number of jobs that start at t or later and arrived by t - T. If up(t) = 1, on = 0 in the T s before t.
- A job costs its working cores and the full grace period of each; u(e, t) returns what of it is not spent. The sum of
  u(e, t) over t is at most what jobs leave at e, the sum over e what jobs take at t. This is exact: a core that is
  handed over is counted in u, and where the core that was left last is taken first, the cores on at t are the most
  that worked at one time since t - grace; no schedule has fewer. h returns what remains of grace periods at H.

Only x is declared whole: the other columns then are, or gain nothing where they are not.

**Where the optimum is that of all schedules.** If all times are whole slots (arrivals, waits, run times, start-ups,
grace periods), some best schedule in continuous time has whole starts: for a fixed order of all starts, ends and ends
of grace periods, equal ones allowed, the joules are linear in the starts, and the order is a system of differences with
whole right-hand sides, whose vertices are whole. Boards of several cores, and chassis, are charged by the core that is
on, which is at most what they draw: with them the model is a lower bound, and proves what attains it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coalloc.instance import Instance
from coalloc.instance.numbering import places_within
from coalloc.instance.power import known_power_states
from coalloc.instance.power_states import PowerStates
from coalloc.instance.rounding import is_whole, slots_up, time_tolerance
from coalloc.power.sites import Working
from coalloc.problem.execution import dedicated_time

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

SHORTEST_SLOT = 1e-3
"""Shortest time slot, s."""


@dataclass(frozen=True)
class Site:
    """Power of a site of ``size`` cores, by the core."""

    states: PowerStates
    size: int
    working: Working

    @property
    def idle_watts(self) -> float:
        """Power of a core that is on, without a job, with its share of board and chassis, W."""
        states = self.states
        board = states.board_watts / min(states.cores, self.size)
        return states.core_idle_watts + board + states.chassis_watts / min(states.cores * states.boards, self.size)

    @property
    def working_watts(self) -> float:
        """The same of a core with a job, W."""
        saved = 0.0 if self.working == "extra" else self.states.core_idle_watts
        return self.idle_watts + self.states.core_working_watts - saved

    @property
    def startup_joules(self) -> float:
        """Energy of a start-up, J."""
        return self.states.startup_draw(self.size) * self.states.startup_time


def sites_of(instance: Instance, working: Working) -> list[Site]:
    """Return the sites of an instance; raises where one has no power states."""
    return [Site(known_power_states(c), c.num_processors, working) for c in instance.platform.clusters]


def run_times(instance: Instance) -> Floats:
    """Return the run time of each job on each site, s, shape ``(num_jobs, num_sites)``; infinite where it does not fit.

    The nodes of a site are of one group.
    """
    times = np.full((len(instance.jobs), len(instance.platform.clusters)), math.inf)
    for j, job in enumerate(instance.jobs):
        for i, cluster in enumerate(instance.platform.clusters):
            if job.tasks <= cluster.num_processors:
                times[j, i] = dedicated_time(job, cluster.nodes[0])
    return times


def longest_slot(instance: Instance, times: Floats, longest_wait: float) -> float | None:
    """Return the longest slot, s, of which all times are whole numbers; None where they are no whole milliseconds."""
    found = {longest_wait, *times[np.isfinite(times)].tolist(), *(job.arrival for job in instance.jobs)}
    for cluster in instance.platform.clusters:
        states = known_power_states(cluster)
        found |= {states.startup_time, states.core_grace, states.site_grace}
    if not all(is_whole(seconds, SHORTEST_SLOT, time_tolerance(seconds)) for seconds in found):
        return None
    return math.gcd(*(slots_up(seconds, SHORTEST_SLOT) for seconds in found)) * SHORTEST_SLOT


@dataclass(frozen=True)
class Starts:
    """Possible starts of jobs on sites, in slots; columns of equal length.

    ``ready`` is when a start-up for the job can have ended, ``end`` when the job ends, ``off`` until when it keeps the
    site on.
    """

    job: Ints
    site: Ints
    start: Ints
    tasks: Ints
    ready: Ints
    end: Ints
    off: Ints

    def of(self, where: Ints) -> Starts:
        """Return some of them."""
        return Starts(*(getattr(self, name)[where] for name in self.__dataclass_fields__))


def _starts(instance: Instance, sites: Sequence[Site], times: Floats, longest_wait: float, slot: float) -> Starts:
    rows: list[tuple[int, ...]] = []
    for j, job in enumerate(instance.jobs):
        first, last = slots_up(job.arrival, slot), slots_up(job.arrival + longest_wait, slot)
        for i, site in enumerate(sites):
            if times[j, i] < math.inf:
                ready = slots_up(job.arrival + site.states.startup_time, slot)
                lasts, keeps = (slots_up(float(times[j, i]) + d, slot) for d in (0.0, site.states.off_delay))
                rows.extend((j, i, t, job.tasks, ready, t + lasts, t + keeps) for t in range(first, last + 1))
    return Starts(*np.array(rows, dtype=np.int64).reshape(-1, 7).T)


class SwitchingModel:
    """The model of an instance whose times are whole slots, as arrays: the objective is in J.

    ``num_columns`` of ``costs`` and ``uppers``, at least 0; rows between ``row_lowers`` and ``row_uppers``, whose
    ``entries`` are rows, columns and coefficients. The first columns are x, and ``starts`` says which.
    """

    def __init__(
        self, instance: Instance, times: Floats, longest_wait: float, slot: float, working: Working = "total"
    ) -> None:
        self.slot, self.sites = slot, sites_of(instance, working)
        self.costs: list[Floats] = []
        self.uppers: list[Floats] = []
        self.row_lowers: list[Floats] = []
        self.row_uppers: list[Floats] = []
        self.entries: list[tuple[Ints, Ints, Floats]] = []
        self.num_columns = self.num_rows = 0
        self.starts = starts = _starts(instance, self.sites, times, longest_wait, slot)
        watts = np.array([[s.working_watts, s.idle_watts * s.states.core_grace] for s in self.sites])[starts.site]
        seconds = times[starts.job, starts.site]
        self.x = self._columns(len(starts.job), starts.tasks * (seconds * watts[:, 0] + watts[:, 1]), 1.0)
        self._rows(len(instance.jobs), 1.0, 1.0, (starts.job, self.x, 1.0))
        self._last_end(len(instance.jobs))
        for i, site in enumerate(self.sites):
            mine = np.flatnonzero(starts.site == i)
            if len(mine):
                self._periods(site, starts.of(mine), self.x[mine])
                self._cores(site, starts.of(mine), self.x[mine])
                self._handovers(site, starts.of(mine), self.x[mine])

    def _columns(self, count: int, cost: ArrayLike = 0.0, upper: float = math.inf) -> Ints:
        """Add columns and return their numbers."""
        self.costs.append(np.broadcast_to(np.asarray(cost, dtype=float), count))
        self.uppers.append(np.full(count, upper))
        self.num_columns += count
        return np.arange(self.num_columns - count, self.num_columns)

    def _rows(self, count: int, lower: float, upper: float, *terms: tuple[ArrayLike, Ints, ArrayLike]) -> Ints:
        """Add rows and return their numbers; a term is places among them, columns and coefficients."""
        self.row_lowers.append(np.full(count, lower))
        self.row_uppers.append(np.full(count, upper))
        rows = np.arange(self.num_rows, self.num_rows + count)
        self.num_rows += count
        for places, columns, coefficients in terms:
            self._enter(rows[np.asarray(places, dtype=np.int64)], columns, coefficients)
        return rows

    def _enter(self, rows: Ints, columns: Ints, coefficients: ArrayLike) -> None:
        self.entries.append((rows, columns, np.broadcast_to(np.asarray(coefficients, dtype=float), len(rows))))

    def _last_end(self, num_jobs: int) -> None:
        """Add h, from the earliest possible last end on, and its sum so far: whether all jobs have ended."""
        starts = self.starts
        first = np.full(num_jobs, np.iinfo(np.int64).max)
        np.minimum.at(first, starts.job, starts.end)
        self.ends = np.unique(starts.end[starts.end >= first.max()])
        place = np.arange(len(self.ends))
        self.h, self.ended = self._columns(len(place), upper=1.0), self._columns(len(place), upper=1.0)
        self._rows(
            len(place), 0.0, 0.0, (place, self.ended, 1.0), (place[1:], self.ended[:-1], -1.0), (place, self.h, -1.0)
        )
        self._rows(1, 1.0, 1.0, ([0], self.ended[-1:], 1.0))
        late = np.flatnonzero(starts.end > first.max())
        each, before = np.arange(len(late)), np.searchsorted(self.ends, starts.end[late]) - 1
        self._rows(len(late), -math.inf, 1.0, (each, self.x[late], 1.0), (each, self.ended[before], 1.0))

    def _periods(self, site: Site, starts: Starts, x: Ints) -> None:
        """Add on, constant between points in time, and up, where a period may begin."""
        startup = slots_up(site.states.startup_time, self.slot)
        begin = np.unique(starts.start)
        points = np.unique(np.concatenate([starts.start, starts.off, begin - startup, self.ends]))
        length = np.diff(points)
        joules = site.states.site_watts * self.slot * length
        on, number = self._columns(len(length), joules, 1.0), self._columns(len(length))
        total = self._columns(len(points))  # slots that the site has been on until each point
        place = np.arange(len(length))
        first, off = np.searchsorted(points, starts.start), np.searchsorted(points, starts.off)
        inside = off < len(length)
        self._rows(1, 0.0, 0.0, ([0], total[:1], 1.0))
        self._rows(len(length), 0.0, 0.0, (place, total[1:], 1.0), (place, total[:-1], -1.0), (place, on, -length))
        leaving = (off[inside], x[inside], 1.0)
        self._rows(
            len(length), 0.0, 0.0, (place, number, 1.0), (place[1:], number[:-1], -1.0), (first, x, -1.0), leaving
        )
        self._rows(len(length), -math.inf, 0.0, (place, on, 1.0), (place, number, -1.0))
        jobs, row = np.unique(starts.job, return_inverse=True)
        during = np.repeat(first, off - first) + places_within(off - first)
        each, while_on = np.arange(len(jobs) * len(length)), np.repeat(row, off - first) * len(length) + during
        self._rows(
            len(each), -math.inf, 0.0, (while_on, np.repeat(x, off - first), 1.0), (each, np.tile(on, len(jobs)), -1.0)
        )

        up = self._columns(len(begin), site.startup_joules, 1.0)
        at, each = np.searchsorted(points, begin), np.arange(len(begin))
        self._rows(len(on), -math.inf, 0.0, (place, on, 1.0), (place[1:], on[:-1], -1.0), (at, up, -1.0))
        low = np.searchsorted(begin, starts.ready)
        counts = np.maximum(0, np.searchsorted(begin, starts.start, side="right") - low)
        waits = np.repeat(low, counts) + places_within(counts)
        self._rows(len(begin), -math.inf, 0.0, (each, up, 1.0), (waits, np.repeat(x, counts), -1.0))
        before = np.searchsorted(points, begin - startup)
        is_off = (each, total[at], 1.0), (each, total[before], -1.0), (each, up, float(startup))
        self._rows(len(begin), -math.inf, float(startup), *is_off)

        # What the site would draw after the last end is not counted.
        late = np.flatnonzero(points[:-1] >= self.ends[0])
        unspent, each = self._columns(len(late), -joules[late]), np.arange(len(late))
        last = np.searchsorted(self.ends, points[late], side="right") - 1
        self._rows(len(late), -math.inf, 0.0, (each, unspent, 1.0), (each, on[late], -1.0))
        self._rows(len(late), -math.inf, 0.0, (each, unspent, 1.0), (each, self.ended[last], -1.0))

    def _cores(self, site: Site, starts: Starts, x: Ints) -> None:
        """Let no more tasks run than there are cores; a look where some start is enough."""
        points = np.unique(starts.start)
        busy, place = self._columns(len(points), upper=float(site.size)), np.arange(len(points))
        first, end = np.searchsorted(points, starts.start), np.searchsorted(points, starts.end)
        inside = end < len(points)
        leaving = (end[inside], x[inside], starts.tasks[inside])
        taking = (first, x, -starts.tasks)
        self._rows(len(points), 0.0, 0.0, (place, busy, 1.0), (place[1:], busy[:-1], -1.0), taking, leaving)

    def _handovers(self, site: Site, starts: Starts, x: Ints) -> None:
        """Add u, also for the cores that are left within their grace period of the last end."""
        left, of_left = np.unique(starts.end, return_inverse=True)
        taken, of_taken = np.unique(starts.start, return_inverse=True)
        leaving = self._rows(len(left), -math.inf, 0.0, (of_left, x, -starts.tasks))
        taking = self._rows(len(taken), -math.inf, 0.0, (of_taken, x, -starts.tasks))
        e, t, joules = self._kept(site, left, taken)
        u = self._columns(len(e), -joules)
        self._enter(leaving[e], u, 1.0)
        self._enter(taking[t], u, 1.0)
        e, t, joules = self._kept(site, left, self.ends)
        u, each = self._columns(len(e), -joules), np.arange(len(e))
        self._enter(leaving[e], u, 1.0)
        self._rows(len(e), -math.inf, 0.0, (each, u, 1.0), (each, self.h[t], -float(site.size)))

    def _kept(self, site: Site, left: Ints, times: Ints) -> tuple[Ints, Ints, Floats]:
        """Return pairs of slots in which cores are left and not yet off, by number, and what a core saves, J."""
        grace = slots_up(site.states.core_grace, self.slot)
        low, high = np.searchsorted(times, left), np.searchsorted(times, left + grace)
        e = np.repeat(np.arange(len(left)), high - low)
        t = np.repeat(low, high - low) + places_within(high - low)
        return e, t, site.idle_watts * self.slot * (grace - (times[t] - left[e]))

    def choices(self, values: Floats) -> list[tuple[int, int, float]]:
        """Return the jobs of a solution, each with its site and its start, s."""
        chosen = self.starts.of(np.flatnonzero(values[self.x] > 0.5))
        return [
            (j, i, t * self.slot)
            for j, i, t in zip(chosen.job.tolist(), chosen.site.tolist(), chosen.start.tolist(), strict=True)
        ]
