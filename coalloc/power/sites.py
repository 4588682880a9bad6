"""Power of clusters with power states under a finished schedule, exactly.

Which cores, boards, chassis and sites are on follows from the starts, the ends and the processors of jobs. A core is on
from the start of a job to ``core_grace`` after its end, a board and a chassis while one of their cores is, a site from
the first start to ``core_grace + site_grace`` after the last end; what overlaps or touches is one period. Before each
period the site starts up. Source: the two-level grid study, section 3.1, equations (4) to (9); errata 27.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from coalloc.documents.text import quoted
from coalloc.instance import CoallocError, Instance
from coalloc.instance.numbering import places_within
from coalloc.instance.power import known_power_states
from coalloc.instance.power_states import PowerStates
from coalloc.instance.rounding import TIME_PRECISION, TIME_TOLERANCE, time_tolerance
from coalloc.schedule.observed import Holding, intervals_held

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

Working = Literal["total", "extra"]

SITE_PARTS = ("site", "chassis", "board", "idle", "working", "startup")
"""Consumers of a cluster with power states: itself, chassis, boards, cores without and with a job, start-ups."""

FEW_NUMBERS = 1 << 16
"""Numbers that fit into 16 bits, which sort by radix: ten times as fast."""


@dataclass(frozen=True, slots=True)
class Periods:
    """Periods in which the members of a level, cores for one, are on: ``number[i]`` from ``begin[i]`` to ``end[i]``, s.

    They are in order of number and time, and no two of a member touch.
    """

    number: Ints
    begin: Floats
    end: Floats

    @property
    def seconds(self) -> Floats:
        """Length of each period, s."""
        return self.end - self.begin


@dataclass(frozen=True, slots=True)
class Work:
    """The jobs of a cluster in order of their starts, and the cores that each holds.

    Row i is ``job[i]`` from ``begin[i]`` to ``end[i]``, s. Row ``row[k]``, in order, holds the cores ``[first[k],
    stop[k])`` of the ``num_cores`` of the cluster.
    """

    job: Ints
    begin: Floats
    end: Floats
    row: Ints
    first: Ints
    stop: Ints
    num_cores: int

    @property
    def cores(self) -> Ints:
        """Number of cores that each row holds."""
        return np.bincount(self.row, self.stop - self.first, len(self.job)).astype(np.int64)

    @property
    def core_seconds(self) -> Floats:
        """Cores times seconds of each row."""
        return self.cores * (self.end - self.begin)

    def busy_seconds(self) -> Floats:
        """Return how long each core works, s, shape ``(num_cores,)``."""
        core, row = self._members(1)
        return _summed(core, (self.end - self.begin)[row], self.num_cores)

    def site_periods(self, delay: float, horizon: float) -> Periods:
        """Return the periods from a first start to ``delay`` (s) after the last end, up to the horizon (s)."""
        rows = np.arange(len(self.job))
        return _merged(np.zeros(len(rows), dtype=np.int64), rows, self.begin, np.minimum(self.end + delay, horizon))

    def periods(self, size: int, delay: float, horizon: float) -> Periods:
        """Return the same of each member that has ``size`` cores: of a core (1), of a board, of a chassis."""
        number, row = self._members(size)
        return _merged(number, row, self.begin, np.minimum(self.end + delay, horizon))

    def _members(self, size: int) -> tuple[Ints, Ints]:
        """Return which members of ``size`` cores are held, and by which rows, in order; perhaps some twice."""
        lowest = self.first // size
        counts = (self.stop - 1) // size - lowest + 1
        return np.repeat(lowest, counts) + places_within(counts), np.repeat(self.row, counts)


def _merged(number: Ints, row: Ints, begin: Floats, end: Floats) -> Periods:
    """Return the union, for each number, of the intervals of its rows; rows are in order, by ``begin``."""
    few = number.astype(np.uint16) if number.max(initial=0) < FEW_NUMBERS else number
    order = np.argsort(few, kind="stable")
    number, row = number[order], row[order]
    by_end = np.argsort(end, kind="stable")
    rank = np.empty(len(end), dtype=np.int64)
    rank[by_end] = np.arange(len(end))
    # The last end of the rows so far, by its rank: whole numbers keep the members apart and are exact.
    base = number * len(end)
    latest = np.maximum.accumulate(base + rank[row]) - base
    ends = end[by_end]
    reach = ends + np.maximum(TIME_TOLERANCE, TIME_PRECISION * ends)
    is_first = np.append(True, (number[1:] != number[:-1]) | (begin[row[1:]] > reach[latest[:-1]]))[: len(number)]
    is_last = np.append(is_first[1:], True)[: len(number)]
    return Periods(number[is_first], begin[row[is_first]], ends[latest[is_last]])


def _summed(place: Ints, amounts: Floats, size: int) -> Floats:
    """Return the sum of the amounts at each place, shape ``(size,)``."""
    return np.asarray(np.bincount(place, amounts, size), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class SiteDraw:
    """All that decides what a cluster draws: when its parts are on, and since when it starts up, s."""

    states: PowerStates
    work: Work
    site: Periods
    chassis: Periods
    board: Periods
    core: Periods
    startups: Floats

    def watts(self) -> dict[str, float]:
        """Return what one of each part draws, W."""
        states = self.states
        return {
            "site": states.site_watts,
            "chassis": states.chassis_watts,
            "board": states.board_watts,
            "idle": states.core_idle_watts,
            "working": states.core_working_watts,
            "startup": states.startup_draw(self.work.num_cores),
        }

    def joules(self, working: Working) -> dict[str, float]:
        """Return what each part consumes, J; with ``"extra"`` a core that works draws its idle watts as well."""
        on, busy = _total(self.core), float(self.work.core_seconds.sum())
        seconds = {
            "site": _total(self.site),
            "chassis": _total(self.chassis),
            "board": _total(self.board),
            "idle": on if working == "extra" else max(0.0, on - busy),
            "working": busy,
            "startup": len(self.startups) * self.states.startup_time,
        }
        return {part: seconds[part] * watts for part, watts in self.watts().items()}

    def joules_of_cores(self, working: Working) -> tuple[Floats, Floats, Floats]:
        """Return what each core consumes working and idle, J, and for how long it works, s, ``(num_cores,)`` each."""
        busy = self.work.busy_seconds()
        on = _summed(self.core.number, self.core.seconds, self.work.num_cores)
        idle = on if working == "extra" else np.maximum(0.0, on - busy)
        return busy * self.states.core_working_watts, idle * self.states.core_idle_watts, busy

    def joules_of_jobs(self) -> Floats:
        """Return what the cores of each row consume while they work, J."""
        return self.work.core_seconds * self.states.core_working_watts

    def changes(self, working: Working) -> Iterator[tuple[str, Floats, Floats, Ints]]:
        """Yield for a part what begins and ends when, s, and how many of them at once."""
        for part, periods in (
            ("site", self.site),
            ("chassis", self.chassis),
            ("board", self.board),
            ("idle", self.core),
        ):
            yield part, periods.begin, periods.end, np.ones(len(periods.begin), dtype=np.int64)
        yield "working", self.work.begin, self.work.end, self.work.cores
        if working == "total":
            yield "idle", self.work.begin, self.work.end, -self.work.cores
        ready = self.startups + self.states.startup_time
        yield "startup", self.startups, ready, np.ones(len(ready), dtype=np.int64)


def _total(periods: Periods) -> float:
    return float(periods.seconds.sum())


# ------------------------------------------------------------------------------ from schedules


def site_draws(
    instance: Instance, holdings: Sequence[Holding], origin: float, end: float, power_management: bool
) -> list[SiteDraw]:
    """Return what each cluster draws over ``[origin, end)``, s; all have power states.

    Jobs are numbered as in ``holdings``: those that are placed, then those that run already. Without power management
    everything is on all the time.

    Raises
    ------
    CoallocError
        If a job starts at a site that cannot have started up before: the first of each site is named.
    """
    works = _works(instance, holdings, origin, end)
    clusters = instance.platform.clusters
    if not power_management:
        return [_always_on(known_power_states(c), work, origin, end) for c, work in zip(clusters, works, strict=True)]
    num_placed = len(holdings) - len(instance.running)
    draws = [_managed(known_power_states(c), w, end, num_placed) for c, w in zip(clusters, works, strict=True)]
    named = zip(clusters, draws, strict=True)
    faults = [fault for cluster, draw in named for fault in _hasty_start(cluster.name, draw, origin)]
    if faults:
        raise CoallocError("\n".join(faults))
    return draws


def _works(instance: Instance, holdings: Sequence[Holding], origin: float, end: float) -> list[Work]:
    """Return what each cluster works, within ``[origin, end]``, s."""
    starts = np.array([start for _, start, _, _ in holdings], dtype=np.float64)
    order = np.argsort(starts, kind="stable")
    begins = np.clip(starts[order], origin, end)
    ends = np.clip(np.array([until for _, _, until, _ in holdings], dtype=np.float64)[order], origin, end)
    held = intervals_held(instance, [holdings[job][3] for job in order.tolist()])
    works, base = [], 0
    for cluster in instance.platform.clusters:
        mine = (held.first >= base) & (held.first < base + cluster.num_processors)
        rows, first, stop = held.holder[mine], held.first[mine] - base, held.stop[mine] - base
        is_new = np.append(True, rows[1:] != rows[:-1])[: len(rows)]
        own, row = rows[is_new], np.cumsum(is_new) - 1
        works.append(Work(order[own], begins[own], ends[own], row, first, stop, cluster.num_processors))
        base += cluster.num_processors
    return works


def _always_on(states: PowerStates, work: Work, origin: float, end: float) -> SiteDraw:
    """Return the draw of a cluster of which everything is on from ``origin`` to ``end``, s."""
    site, chassis, board, core = (
        Periods(np.arange(size), np.full(size, origin), np.full(size, end))
        for size in (1, states.num_chassis(work.num_cores), states.num_boards(work.num_cores), work.num_cores)
    )
    return SiteDraw(states, work, site, chassis, board, core, np.empty(0))


def _managed(states: PowerStates, work: Work, end: float, num_placed: int) -> SiteDraw:
    """Return the draw of a cluster that switches off what is not needed, up to ``end``, s.

    Where jobs run already the site is on at 0, which is now; else all is off.
    """
    grace = states.core_grace
    site, core = work.site_periods(states.off_delay, end), work.periods(1, grace, end)
    is_on_at_first = bool((work.job >= num_placed).any())
    return SiteDraw(
        states=states,
        work=work,
        site=site,
        chassis=work.periods(states.boards * states.cores, grace, end),
        board=core if states.cores == 1 else work.periods(states.cores, grace, end),
        core=core,
        startups=site.begin[int(is_on_at_first) :] - states.startup_time,
    )


def _hasty_start(name: str, draw: SiteDraw, origin: float) -> Iterator[str]:
    """Yield a sentence on the first job of a site that starts before the site can have started up."""
    num_started = len(draw.startups)
    before = np.append(origin, draw.site.end)[len(draw.site.end) - num_started : len(draw.site.end)]
    for startup, off in zip(draw.startups.tolist(), before.tolist(), strict=True):
        if startup < off - time_tolerance(off):
            since = f"the energy model starts at {off:.12g} s" if off == origin else f"it goes off at {off:.12g} s"
            yield (
                f"site {quoted(name)} must start up at {startup:.12g} s for the job that starts there at "
                f"{startup + draw.states.startup_time:.12g} s, but {since}; "
                "coalloc.check(..., power_management=True) lists all such jobs"
            )
            return
