"""The least energy of a grid whose sites switch off: a bound, schedules, and a proof where times are whole slots.

Source of the problem: the two-level grid study, section 3.1, which simulates it. Bound and proof:
:mod:`coalloc.solvers.energy.site_periods`; exact model: :mod:`coalloc.models.site_switching`. A schedule is made of the
periods that the bound has seen, as the best choice of them says, and improved by moves of single jobs to other sites.
"""

from __future__ import annotations

import bisect
import heapq
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import highspy
import numpy as np

from coalloc.checker import check
from coalloc.documents.arguments import public
from coalloc.documents.text import quoted
from coalloc.instance import CoallocError, Instance
from coalloc.instance.features import refuse_unsupported
from coalloc.instance.rounding import time_tolerance
from coalloc.models.site_switching import UNIT, build, extract, longest_slot, run_times, sites_of
from coalloc.power.meter import energy
from coalloc.power.sites import Working
from coalloc.schedule import Placement, Schedule
from coalloc.solvers.backends.growing_lp import quiet_highs
from coalloc.solvers.backends.highs import SolverLimits, checked, run_mip, solve_model
from coalloc.solvers.energy.site_periods import Period, SitePeriods, priced
from coalloc.solvers.result import SolveOptions, SolveResult, SolveStatus
from coalloc.solvers.solve_state import SolveState, fail_on
from coalloc.system.versions import versions

Choices = Sequence[tuple[int, int, float]]
"""Jobs, each with its site and its start, s."""
Run = tuple[list[tuple[int, float]], float]
"""The jobs of a site, each with its start, s, and the joules of the site."""

BOUND_SHARE, CHOICE_SHARE = 0.6, 0.5
"""Shares of the time left that the bound, and the choice of its periods, may take."""
ROUNDED = 1e-9
"""Share of a bound that rounding may have added."""
UNFIT = 1e15
"""Joules of a job that does not fit where it is: more than all others take."""
LATE = 1e-6
"""Seconds that a job may wait for too long, by rounding; half of them for sums of its times."""
LEAST_MOVE = 1e-9
"""Least share by which a move must pay."""
MAX_STARTS = 2_000
"""Possible starts of jobs up to which the exact model is built."""
NO_MODEL = "no exact model was built: times have no common slot of 1 ms or more, or jobs too many possible starts"


@public
def least_energy(
    instance: Instance,
    longest_wait: float,
    *,
    working: Working = "total",
    time_limit: float | None = 60.0,
) -> SolveResult:
    """Minimise the energy of a grid with power management, with a limit on each job's wait.

    Sites switch by the rule of their power states: a schedule decides which of them start up, and how often. The lower
    bound counts start-ups and holds for ``coalloc.energy(..., power_management=True)`` of every schedule in continuous
    time, each job within one site, in which no job waits longer: also for runs of the policy ``grid``. For
    some ten jobs whose times are whole multiples of seconds, a model proves the optimum.

    Parameters
    ----------
    instance : Instance
        Rigid jobs without further modelling features, and clusters with power states, each with nodes of one group.
    longest_wait : float
        Longest time from arrival to start, s: not less than a start-up takes at any site, and at most ``startup_time +
        core_grace + site_grace`` of each. Without a limit, one site would start up once, after the last arrival.
    working : {"total", "extra"}, default "total"
        As for ``coalloc.energy``.
    time_limit : float or None, default 60.0
        Wall-clock limit, s. None: no limit.

    Returns
    -------
    SolveResult
        Energy and lower bound in J, and the best known schedule, also after Ctrl-C once there is one. ``"optimal"``
        holds for all schedules in continuous time.

    Raises
    ------
    CoallocError
        Power states are missing, a feature is not supported, or ``longest_wait`` is out of range.

    See Also
    --------
    coalloc.lower_bound : Bound the energy without a limit on waits; start-ups are left out.

    Notes
    -----
    Source of the energy model: the two-level grid study, section 3.1.

    Examples
    --------
    >>> import coalloc
    >>> platform = coalloc.grid.platform("grid1")
    >>> jobs = [
    ...     coalloc.Job(f"J{k}", tasks=4, base_time=300.0, arrival=40.0 * k)
    ...     for k in range(4)
    ... ]
    >>> result = coalloc.grid.least_energy(
    ...     coalloc.Instance(platform, jobs), longest_wait=20.0
    ... )
    >>> run = coalloc.simulate(
    ...     result.instance, "grid", strategy="MST_v", power_management=True
    ... )
    >>> result.lower_bound <= result.objective <= coalloc.energy(
    ...     run.instance, run.schedule, power_management=True
    ... ).total
    True
    """
    refuse_unsupported(instance, "least_energy", frozenset(), "it supports only rigid jobs on dedicated processors")
    instance.refuse_shared_nodes("least_energy")
    if faults := list(_faults(instance, longest_wait)):
        raise CoallocError("\n".join(faults))
    options = SolveOptions(objective="energy", scope="cluster", time_limit=time_limit)
    state = SolveState(instance, options, unit="J")
    status = None
    if instance.jobs:
        try:
            status = _Solve(state, longest_wait, working).run()
        except KeyboardInterrupt:
            if state.schedule is None:
                raise
            state.stopped_by = "interrupt"
    else:
        state.offer(Schedule((), None, instance.name), 0.0, "no jobs")
        state.raise_bound(0.0, "no jobs")
    return replace(state.result(status, formulation="auto"), instance=instance, versions=versions())


def _faults(instance: Instance, longest_wait: float) -> Iterator[str]:
    """Yield a sentence for each argument that is out of range."""
    states = [site.states for site in sites_of(instance, "total")]
    least, most = max(s.startup_time for s in states), min(s.startup_time + s.off_delay for s in states)
    if not least <= longest_wait <= most:
        yield (
            f"longest_wait must be from {least:g} s (the longest startup_time) to {most:g} s (the least startup_time + "
            f"core_grace + site_grace), got {longest_wait:g} s"
        )
    if instance.running:
        yield "least_energy supports no running jobs"
    for cluster in instance.platform.clusters:
        if len(cluster.nodes) > 1:
            yield f"least_energy requires nodes of one group, but cluster {quoted(cluster.name)} has more"
    widest = max(cluster.num_processors for cluster in instance.platform.clusters)
    for job in instance.jobs:
        if job.tasks > widest:
            yield f"job {quoted(job.id)} has {job.tasks} tasks; the largest cluster has {widest} processors"


class _Solve:
    """One call; jobs are numbered in order of arrival."""

    def __init__(self, state: SolveState, longest_wait: float, working: Working) -> None:
        given = state.instance
        self.state, self.longest_wait, self.working = state, longest_wait, working
        self.instance = given.replace(jobs=sorted(given.jobs, key=lambda job: job.arrival))
        self.sites, self.times = sites_of(given, working), run_times(self.instance)
        self.periods = SitePeriods(self.instance, longest_wait, working)
        self.arrivals, self.latest, self.lasts = self.periods.arrivals, self.periods.latest, self.periods.lasts
        self.tasks, self.seconds = [job.tasks for job in self.instance.jobs], self.times.T.tolist()
        watts = [(site.working_watts, site.idle_watts * site.states.core_grace) for site in self.sites]
        self.joules = [
            [n * (t * busy + idle) for n, t in zip(self.tasks, seconds, strict=True)]
            for seconds, (busy, idle) in zip(self.seconds, watts, strict=True)
        ]

    def run(self) -> SolveStatus | None:
        """Bound, find schedules and improve them; return the status where the gap does not say it."""
        state = self.state
        with state.timed("bound"):
            bound, known = priced(self.periods, self._after(BOUND_SHARE))
        state.raise_bound(bound, "periods")
        with state.timed("search"):
            chosen = self._improved(self._chosen(known))
        if chosen is not None:
            self._offer(chosen, "periods")
        slot = longest_slot(self.instance, self.times, self.longest_wait)
        if not state.is_closed:
            if slot is not None and np.isfinite(self.times).sum() * (self.longest_wait / slot + 1) <= MAX_STARTS:
                return self._prove(slot)
            state.add_to_message(NO_MODEL)
        state.stopped_by = "time" if state.remaining <= 0.0 else "work"
        return None

    def _after(self, share: float) -> float:
        return time.perf_counter() + share * self.state.remaining

    def _offer(self, choices: Choices, source: str) -> None:
        """Verify a schedule and offer it."""
        schedule, instance = self._schedule(choices), self.state.instance
        with self.state.timed("check"):
            fail_on([v.sentence for v in check(instance, schedule, scope="cluster", power_management=True)])
            late = [p.job for p in schedule if p.start - instance.job_by_id[p.job].arrival > self.longest_wait + LATE]
            fail_on([f"job {job} waits too long" for job in late])
        joules = energy(instance, schedule, power_management=True, working=self.working).total
        self.state.offer(schedule, joules, source)

    # -------------------------------------------------------------------------- the exact model

    def _prove(self, slot: float) -> SolveStatus | None:
        """Solve the model in slots, and take its bound."""
        state = self.state
        with state.timed("build"):
            model = build(self.instance, self.times, self.longest_wait, slot, self.working)
        with state.timed("solve"):
            solution = solve_model(model, SolverLimits(time=state.remaining), integral=False)
        if solution.status is SolveStatus.INFEASIBLE:
            return SolveStatus.INFEASIBLE
        if solution.objective is not None:
            self._offer(extract(model), "model")
        if solution.lower_bound is not None:
            state.raise_bound(solution.lower_bound * (1.0 - ROUNDED) * UNIT, "model")
        if solution.stopped_by == "interrupt":
            raise KeyboardInterrupt
        state.stopped_by = "work" if solution.stopped_by == "proof" else "time"
        return None

    # -------------------------------------------------------------------------- schedules of periods

    def _chosen(self, known: Sequence[Period]) -> list[list[int]] | None:
        """Return the jobs of each site by the best choice of known periods; None where none is found in time."""
        choice = _choice([self.periods.cost(period) for period in known], [p.jobs for p in known], len(self.tasks))
        end = run_mip(choice, CHOICE_SHARE * self.state.remaining)
        if end.reason == "interrupt":
            raise KeyboardInterrupt
        if end.values is None:
            return None
        of_site: list[list[int]] = [[] for _ in self.sites]
        for period, value in zip(known, end.values.tolist(), strict=True):
            if value > 0.5:
                of_site[period.site] += period.jobs
        return [sorted(jobs) for jobs in of_site]

    def _improved(self, of_site: list[list[int]] | None) -> Choices | None:
        """Return starts for the jobs of each site, once no job is better at another site or time is up."""
        if of_site is None:
            return None
        runs = [self._site_run(i, jobs) for i, jobs in enumerate(of_site)]
        site_of = {j: i for i, jobs in enumerate(of_site) for j in jobs}
        is_better = True
        while is_better and self.state.remaining > 0.0:
            is_better = False
            for j, i in list(site_of.items()):
                if self.state.remaining <= 0.0:
                    break
                left = [k for k in of_site[i] if k != j]
                run = self._site_run(i, left)
                to, there = self._best_move(j, i, runs, of_site, runs[i][1] - run[1])
                if there is not None:
                    runs[i], of_site[i], runs[to], site_of[j], is_better = run, left, there, to, True
                    bisect.insort(of_site[to], j)
        if any(joules >= UNFIT for _, joules in runs):
            return None
        return [(j, i, start) for i, (starts, _) in enumerate(runs) for j, start in starts]

    def _best_move(
        self, j: int, site: int, runs: Sequence[Run], of_site: Sequence[list[int]], saved: float
    ) -> tuple[int, Run | None]:
        """Return the other site at which a job costs least, and its run, if that is less than is saved, J."""
        to, best, least = site, None, saved * (1.0 - LEAST_MOVE)
        for i, joules in enumerate(self.joules):
            if i != site and joules[j] < least:
                run = self._site_run(i, sorted([*of_site[i], j]))
                if run[1] - runs[i][1] < least:
                    to, best, least = i, run, run[1] - runs[i][1]
        return to, best

    def _site_run(self, i: int, jobs: Sequence[int]) -> Run:
        """Return starts of jobs at a site, each as late as keeps the site on, and the joules without handovers."""
        site, lasts, joules = self.sites[i], self.lasts[i], self.joules[i]
        seconds, watts = self.seconds[i], site.states.site_watts
        starts: list[tuple[int, float]] = []
        ends: list[tuple[float, int]] = []  # of jobs that run, with their tasks
        total, begin, until, free, start = 0.0, 0.0, -math.inf, site.size, -math.inf
        for j in jobs:
            if self.arrivals[j] > until:
                total += site.startup_joules + watts * max(0.0, until - begin)
                begin = start = self.latest[j]
            else:
                start = max(start, self.arrivals[j], min(self.latest[j], until))
            while ends and (ends[0][0] <= start or free < self.tasks[j]):
                end, tasks = ends.pop(0)
                free, start = free + tasks, max(start, end)
            total += joules[j]
            if free < self.tasks[j] or start > self.latest[j] + 0.5 * LATE:
                total += UNFIT
                start = min(start, self.latest[j])
            else:
                starts.append((j, start))
                free -= self.tasks[j]
                bisect.insort(ends, (start + seconds[j], self.tasks[j]))
                until = max(until, start + lasts[j])
        return starts, total + watts * max(0.0, until - begin)

    def _schedule(self, choices: Choices) -> Schedule:
        """Return the schedule of choices: a job takes the cores that were left last, then those that are off."""
        placements = []
        for i, cluster in enumerate(self.instance.platform.clusters):
            running: list[tuple[float, int, list[int]]] = []  # end, job and cores
            left: list[tuple[float, int]] = []
            off = list(range(cluster.num_processors))[::-1]
            for start, j in sorted((start, j) for j, site, start in choices if site == i):
                tolerance = time_tolerance(start)
                while running and running[0][0] <= start + tolerance:
                    end, _, cores = heapq.heappop(running)
                    left += [(end, core) for core in cores]
                gone = start - self.sites[i].states.core_grace - tolerance
                off = sorted([*off, *(core for end, core in left if end < gone)], reverse=True)
                left = [(end, core) for end, core in left if end >= gone]
                cores = [left.pop()[1] if left else off.pop() for _ in range(self.tasks[j])]
                end = start + self.seconds[i][j]
                heapq.heappush(running, (end, j, cores))
                names = [f"{cluster.name}/{core}" for core in sorted(cores)]
                placements.append(Placement(self.instance.jobs[j].id, start, end, names))
        return Schedule(sorted(placements, key=lambda one: one.start), None, self.instance.name)


def _choice(costs: Sequence[float], sets: Sequence[Sequence[int]], num_jobs: int) -> Any:
    """Return HiGHS with the cheapest choice of sets of jobs that has each job once."""
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = len(sets), num_jobs
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = np.array(costs), np.zeros(len(sets)), np.ones(len(sets))
    lp.row_lower_ = lp.row_upper_ = np.ones(num_jobs)
    jobs = [j for jobs in sets for j in jobs]
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_ = np.cumsum([0, *map(len, sets)]), np.array(jobs)
    lp.a_matrix_.value_ = np.ones(len(jobs))
    lp.integrality_ = [highspy.HighsVarType.kInteger] * len(sets)
    highs = quiet_highs(mip_rel_gap=0.0, mip_abs_gap=1e-6)
    checked(highs.passModel(lp), "passing the model")
    return highs
