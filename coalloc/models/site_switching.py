"""The least energy of sites that switch off: a model in time slots with start-ups and grace periods.

Which jobs run where, and when, decides the start-ups of sites, by the rule of :mod:`coalloc.power.sites`. Sites that
could stay on between jobs, at the watts of the site alone, would take less: that relaxation is far weaker. Only x is
declared whole: the other columns then are, or gain nothing where they are not. Equations: (Y1) to (Y14) of
docs/mathematics/energy.md, with where the optimum is that of all schedules.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from coalloc.instance import Instance
from coalloc.instance.power import known_power_states
from coalloc.instance.power_states import PowerStates
from coalloc.instance.rounding import is_whole, slots_up, time_tolerance
from coalloc.power.sites import Working
from coalloc.problem.execution import dedicated_time

if TYPE_CHECKING:
    import pyomo.environ as pyo

Floats = NDArray[np.float64]
Slots = Mapping[int, Sequence[int]]
"""Slots of each site, in order."""

SHORTEST_SLOT = 1e-3
"""Shortest time slot, s."""
UNIT = 1e3
"""Joules of a unit of the objective, and of the bound."""


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


class Start(NamedTuple):
    """A possible start of a job on a site, in slots, and ``x``, 1 where it is taken.

    ``ready`` is when a start-up for the job can have ended, ``end`` when the job ends, ``off`` until when it keeps the
    site on; ``joules`` is the energy of its cores, with a full grace period of each.
    """

    job: int
    site: int
    slot: int
    tasks: int
    ready: int
    end: int
    off: int
    joules: float
    x: Any = None


def _starts(
    instance: Instance, sites: Sequence[Site], times: Floats, longest_wait: float, slot: float
) -> Iterator[Start]:
    for j, job in enumerate(instance.jobs):
        first, last = slots_up(job.arrival, slot), slots_up(job.arrival + longest_wait, slot)
        for i, site in enumerate(sites):
            seconds = float(times[j, i])
            if seconds < math.inf:
                joules = job.tasks * (seconds * site.working_watts + site.states.core_grace * site.idle_watts)
                ready = slots_up(job.arrival + site.states.startup_time, slot)
                lasts, keeps = (slots_up(seconds + delay, slot) for delay in (0.0, site.states.off_delay))
                for t in range(first, last + 1):
                    yield Start(j, i, t, job.tasks, ready, t + lasts, t + keeps, joules)


def build(
    instance: Instance, times: Floats, longest_wait: float, slot: float, working: Working = "total"
) -> pyo.ConcreteModel:
    """Return the model of an instance all of whose times are whole slots (s); its objective is in kJ."""
    import pyomo.environ as pyo  # loaded where a model is built

    model = pyo.ConcreteModel("switching of sites")
    model.slot = slot
    sites = sites_of(instance, working)
    known = list(_starts(instance, sites, times, longest_wait, slot))
    model.x = pyo.Var([one[:3] for one in known], domain=pyo.Binary, doc="1 where job j starts on site i at slot t")
    starts = [one._replace(x=x) for one, x in zip(known, model.x.values(), strict=True)]
    of_job = _lists((one.job, one.x) for one in starts)
    model.start_once = pyo.Constraint(list(of_job), rule=lambda _, j: pyo.quicksum(of_job[j]) == 1, doc="(Y2)")
    begins = _slots((one.site, one.slot) for one in starts)
    _add_cores(model, sites, starts, begins)
    ends = _add_last_end(model, starts)
    joules = pyo.quicksum(one.joules * one.x for one in starts)
    joules += _add_periods(model, sites, starts, begins, ends) - _add_handovers(model, sites, starts, begins, ends)
    model.objective = pyo.Objective(expr=joules / UNIT, doc="(Y1): energy, kJ")
    return model


def extract(model: pyo.ConcreteModel) -> list[tuple[int, int, float]]:
    """Return the jobs of a solution, each with its site and its start, s."""
    return [(j, i, t * model.slot) for (j, i, t), x in model.x.items() if x.value > 0.5]


def _lists(found: Iterable[tuple[Any, Any]]) -> dict[Any, list[Any]]:
    """Return what was found of each key."""
    lists: dict[Any, list[Any]] = defaultdict(list)
    for key, thing in found:
        lists[key].append(thing)
    return lists


def _slots(found: Iterable[tuple[int, int]]) -> Slots:
    """Return the slots that were found of each site, in order."""
    return {i: sorted(set(slots)) for i, slots in _lists(found).items()}


def _within(slots: Sequence[int], first: int, stop: int) -> Sequence[int]:
    """Return those of slots in order that are in ``[first, stop)``."""
    return slots[bisect_left(slots, first) : bisect_left(slots, stop)]


def _add_last_end(model: pyo.ConcreteModel, starts: Sequence[Start]) -> list[int]:
    """Add (Y9) and (Y10) and return the slots at which the last job may end."""
    import pyomo.environ as pyo

    of_job = _lists((one.job, one.end) for one in starts)
    first = max(min(ends) for ends in of_job.values())
    ends = sorted({one.end for one in starts if one.end >= first})
    model.ended = pyo.Var(ends, bounds=(0.0, 1.0), doc="1 where all jobs have ended by slot t")
    model.ended[ends[-1]].setlb(1.0)
    model.ended_after = pyo.Constraint(list(pairwise(ends)), rule=lambda m, t, u: m.ended[t] <= m.ended[u], doc="(Y9)")
    late = {one[:3]: ends[bisect_left(ends, one.end) - 1] for one in starts if one.end > first}
    model.not_ended = pyo.Constraint(
        list(late), rule=lambda m, j, i, t: m.x[j, i, t] + m.ended[late[j, i, t]] <= 1, doc="(Y10)"
    )
    return ends


def _add_periods(
    model: pyo.ConcreteModel, sites: Sequence[Site], starts: Sequence[Start], begins: Slots, ends: Sequence[int]
) -> Any:
    """Add (Y4) to (Y8) and (Y11), and return the energy of sites and start-ups, J.

    A site is on or off from one to the next of the points in time at which something may change.
    """
    import pyomo.environ as pyo

    startup = [slots_up(site.states.startup_time, model.slot) for site in sites]
    points = _lists((one.site, t) for one in starts for t in (one.slot, one.off, one.slot - startup[one.site]))
    points = {i: sorted({*slots, *ends}) for i, slots in points.items()}
    lasts = {(i, t): u - t for i, slots in points.items() for t, u in pairwise(slots)}
    model.on = pyo.Var(list(lasts), bounds=(0.0, 1.0), doc="1 where site i is on from slot t")
    model.up = pyo.Var(
        [(i, t) for i, slots in begins.items() for t in slots], bounds=(0.0, 1.0), doc="1 where a period begins"
    )
    keeping = _lists(
        ((one.job, one.site, t), one.x) for one in starts for t in _within(points[one.site], one.slot, one.off)
    )
    of_any = _lists(((i, t), x) for (_, i, t), found in keeping.items() for x in found)
    model.on_with_jobs = pyo.Constraint(
        list(keeping), rule=lambda m, j, i, t: pyo.quicksum(keeping[j, i, t]) <= m.on[i, t], doc="(Y4)"
    )
    model.off_without = pyo.Constraint(
        list(lasts), rule=lambda m, i, t: m.on[i, t] <= pyo.quicksum(of_any[i, t]), doc="(Y5)"
    )
    rising = dict(model.up.items())
    before = {(i, u): model.on[i, t] for i, slots in points.items() for t, u in pairwise(slots[:-1])}
    model.started_up = pyo.Constraint(
        list(lasts),
        rule=lambda m, *key: m.on[key] <= before.get(key, 0.0) + rising.get(key, 0.0),
        doc="(Y6)",
    )
    waiting = _lists(
        ((one.site, t), one.x) for one in starts for t in _within(begins[one.site], one.ready, one.slot + 1)
    )
    model.up_for_job = pyo.Constraint(
        list(model.up), rule=lambda m, i, t: m.up[i, t] <= pyo.quicksum(waiting[i, t]), doc="(Y7)"
    )

    def is_off(m: pyo.ConcreteModel, i: int, t: int) -> Any:
        on = pyo.quicksum(lasts[i, u] * m.on[i, u] for u in _within(points[i], t - startup[i], t))
        return on + startup[i] * m.up[i, t] <= startup[i]

    model.off_before = pyo.Constraint(list(model.up), rule=is_off, doc="(Y8)")

    # What the site would draw after the last end is not counted.
    late = {(i, t): ends[bisect_right(ends, t) - 1] for i, t in lasts if t >= ends[0]}
    model.unspent = pyo.Var(list(late), bounds=(0.0, None), doc="1 where site i is on after the last end")
    model.unspent_on = pyo.Constraint(list(late), rule=lambda m, i, t: m.unspent[i, t] <= m.on[i, t], doc="(Y11)")
    model.unspent_after = pyo.Constraint(
        list(late), rule=lambda m, i, t: m.unspent[i, t] <= m.ended[late[i, t]], doc="(Y11)"
    )
    watts = [site.states.site_watts * model.slot for site in sites]
    on = pyo.quicksum(watts[i] * lasts[i, t] * is_on for (i, t), is_on in model.on.items())
    off = pyo.quicksum(watts[i] * lasts[i, t] * unspent for (i, t), unspent in model.unspent.items())
    return on - off + pyo.quicksum(sites[i].startup_joules * up for (i, _), up in model.up.items())


def _add_cores(model: pyo.ConcreteModel, sites: Sequence[Site], starts: Sequence[Start], begins: Slots) -> None:
    """Add (Y3); a look where some job may start is enough."""
    import pyomo.environ as pyo

    running = _lists(
        ((one.site, t), one.tasks * one.x) for one in starts for t in _within(begins[one.site], one.slot, one.end)
    )
    model.cores = pyo.Constraint(
        list(running), rule=lambda _, i, t: pyo.quicksum(running[i, t]) <= sites[i].size, doc="(Y3)"
    )


def _add_handovers(
    model: pyo.ConcreteModel, sites: Sequence[Site], starts: Sequence[Start], begins: Slots, ends: Sequence[int]
) -> Any:
    """Add (Y12) to (Y14), and return what full grace periods have too much, J."""
    import pyomo.environ as pyo

    grace = [slots_up(site.states.core_grace, model.slot) for site in sites]
    leaving = _lists(((one.site, one.end), one.tasks * one.x) for one in starts)
    taking = _lists(((one.site, one.slot), one.tasks * one.x) for one in starts)
    model.handed = pyo.Var(
        [(i, e, t) for i, e in leaving for t in _within(begins[i], e, e + grace[i])],
        bounds=(0.0, None),
        doc="cores that jobs leave at e and others take at t",
    )
    model.cut = pyo.Var(
        [(i, e, t) for i, e in leaving for t in _within(ends, e, e + grace[i])],
        bounds=(0.0, None),
        doc="cores that jobs leave at e, of which the last end at t cuts the grace period",
    )
    left = _lists(((i, e), u) for us in (model.handed, model.cut) for (i, e, _), u in us.items())
    taken = _lists(((i, t), u) for (i, _, t), u in model.handed.items())
    model.left = pyo.Constraint(
        list(left), rule=lambda _, i, e: pyo.quicksum(left[i, e]) <= pyo.quicksum(leaving[i, e]), doc="(Y12)"
    )
    model.taken = pyo.Constraint(
        list(taken), rule=lambda _, i, t: pyo.quicksum(taken[i, t]) <= pyo.quicksum(taking[i, t]), doc="(Y13)"
    )
    before = {u: model.ended[t] for t, u in pairwise(ends)}
    model.cut_at_end = pyo.Constraint(
        list(model.cut),
        rule=lambda m, i, e, t: m.cut[i, e, t] <= sites[i].size * (m.ended[t] - before.get(t, 0.0)),
        doc="(Y14)",
    )
    return pyo.quicksum(
        sites[i].idle_watts * model.slot * (grace[i] - (t - e)) * u
        for us in (model.handed, model.cut)
        for (i, e, t), u in us.items()
    )
