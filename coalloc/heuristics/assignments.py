"""Sums that a broker keeps of the sites while jobs come and go, so that a decision looks at no jobs.

Every number is of the jobs that were assigned to a site and have not finished.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Self

from coalloc.instance import Job
from coalloc.rules.brokering import Prospect
from coalloc.rules.running_sums import RunningSums
from coalloc.rules.site_plans import NOBODY, SitePlan, added, weighted_waits
from coalloc.simulator.policy import Running, State
from coalloc.simulator.site import Site


class Assignments:
    """Numbers by site: free processors, jobs, and the sums of their tasks, estimates (s) and work (s)."""

    def __init__(self, states: Sequence[State]) -> None:
        self.free = [sum(state.free) for state in states]
        self.num_jobs = [0] * len(states)
        self.tasks = [0] * len(states)
        self.estimates, self.work = RunningSums(len(states)), RunningSums(len(states))

    def copied(self) -> Self:
        """Return numbers of their own."""
        twin = copy(self)
        twin.free, twin.num_jobs, twin.tasks = self.free.copy(), self.num_jobs.copy(), self.tasks.copy()
        twin.estimates, twin.work = self.estimates.copied(), self.work.copied()
        return twin

    def assign(self, site: int, job: Job) -> None:
        """Count a job in."""
        self.num_jobs[site] += 1
        self.tasks[site] += job.tasks
        self.estimates.add(site, job.estimate)
        self.work.add(site, job.tasks * job.estimate)

    def start(self, site: int, job: Job) -> None:
        """Let a job take its processors."""
        self.free[site] -= job.tasks

    def end(self, site: int, job: Job) -> None:
        """Count a job out, which has run."""
        self.free[site] += job.tasks
        self.num_jobs[site] -= 1
        self.tasks[site] -= job.tasks
        self.estimates.take_away(site, job.estimate)
        self.work.take_away(site, job.tasks * job.estimate)


class Plans:
    """The plans of all sites, each made again only once it is asked for and something was not as planned.

    A site where nobody waits has no plan: what runs there says it all. A plan holds until a job ends before its
    estimated end, or starts when it was not planned to, or a planned start has passed: until then the earliest instants
    from now on are those from when it was made, and what overdue jobs hold it has as free from now on.
    """

    def __init__(self, sites: Sequence[Site], *, in_order: bool) -> None:
        states = [site.state for site in sites]
        self._states, self._in_order = states, in_order
        self._powers = [site.power for site in sites]
        self._allocators = [state.allocator("first-fit") for state in states]
        self._plans: list[SitePlan | None] = [None] * len(states)
        self._waits = [RunningSums(len(states)) for _ in NOBODY.waits]

    def copied(self, sites: Sequence[Site]) -> Self:
        """Return the plans of copies of the sites."""
        twin = copy(self)
        twin._states, twin._powers = [site.state for site in sites], [site.power for site in sites]
        twin._plans = [plan and plan.copied() for plan in self._plans]
        twin._waits = [sums.copied() for sums in self._waits]
        return twin

    def assign(self, site: int, job: Job) -> None:
        """Plan a job that joins the queue of a site, where there is a plan."""
        plan = self._plans[site]
        if plan is not None:
            plan.add(job, self._allocators[site].least_time(job), self._since(site))

    def start(self, site: int, running: Running) -> None:
        """Note how long a job has waited, and whether that was planned."""
        for sums, wait in zip(self._waits, weighted_waits(running.job, running.start), strict=True):
            sums.add(site, wait)
        plan = self._plans[site]
        if plan is not None and not plan.starts_as_planned(running.job.id, running.start):
            self._plans[site] = None

    def end(self, site: int, running: Running) -> None:
        """Forget how long a job has waited; its processors are free earlier than planned, or not."""
        for sums, wait in zip(self._waits, weighted_waits(running.job, running.start), strict=True):
            sums.take_away(site, wait)
        if running.estimated_end > self._states[site].now:
            self._plans[site] = None

    def prospect(self, site: int, job: Job, free: int) -> Prospect:
        """Return what the plan of a site, ``free`` processors of which are free, says of a new job."""
        state, seconds = self._states[site], self._allocators[site].least_time(job)
        if state.queue:
            plan = self._plan(site, free)
            waiting, start = plan.summary, plan.start(job.tasks, seconds, self._since(site))
        else:
            self._plans[site] = None
            waiting, start = NOBODY, _start_beside(state, job.tasks, free, self._since(site))
        last_end = max(start + seconds, waiting.last_end)
        if state.running:
            last_end = max(last_end, state.running[-1].estimated_end)
        known = self._waits
        running = known[0].totals[site], known[1].totals[site], known[2].totals[site], known[3].totals[site]
        return Prospect(start, last_end, added(added(running, waiting.waits), weighted_waits(job, start)))

    def _since(self, site: int) -> float:
        """Return from when on something can start at a site, s: now, or once it has started up."""
        power, now = self._powers[site], self._states[site].now
        return now if power is None else power.earliest_start(now)

    def _plan(self, site: int, free: int) -> SitePlan:
        """Return the plan of a site where jobs wait."""
        plan, state = self._plans[site], self._states[site]
        now = state.now
        if plan is None or plan.summary.first_start < now:
            since = self._since(site)
            releases = ((max(now, run.estimated_end), run.job.tasks) for run in state.running)
            plan = self._plans[site] = SitePlan(since, free, releases, in_order=self._in_order)
            for job in state.queue:
                plan.add(job, self._allocators[site].least_time(job), since)
        return plan


def _start_beside(state: State, tasks: int, free: int, since: float) -> float:
    """Return the earliest start of a job at a site where nobody waits, from ``since`` on, s."""
    if tasks <= free:
        return since
    for run in state.running:
        free += run.job.tasks
        if tasks <= free:
            return max(since, run.estimated_end)
    raise AssertionError("every job fits the empty site")
