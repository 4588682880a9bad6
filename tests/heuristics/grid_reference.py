"""The broker from its definitions: to which site each job of a finished run had to go, and the plan of a site.

Slow on purpose, and without the package's broker: what a site holds when a job arrives is read from the schedule, every
sum is taken anew, and costs are exact fractions. Definitions: docs/grid.md; errata 25 to 28 and 36.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from coalloc import Cluster, Instance, Job, Schedule
from coalloc.simulator.result import SimulationResult

TIE = 1 + Fraction(1, 10**9)
"""Costs up to so many times the least are equal to it."""

Span = tuple[Fraction, Fraction, Job]
"""A job with its start and its end, s."""


def plan(running: Sequence[Span], waiting: Iterable[tuple[Job, Fraction]], since: Fraction, size: int, *, in_order):
    """Return a span for each job that waits, from ``since`` on, s; each comes with how long it takes, s."""
    held, planned, ahead = list(running), [], since
    for job, seconds in waiting:
        for start in sorted({since, *(end for _, end, _ in held)}):
            instants = [start, *(begin for begin, _, _ in held if start < begin < start + seconds)]
            busy = (sum(other.tasks for begin, end, other in held if begin <= t < end) for t in instants)
            if start >= ahead and max(busy) + job.tasks <= size:
                break
        held.append((start, start + seconds, job))
        planned.append(held[-1])
        ahead = start if in_order else since
    return planned


def power_of(cluster: Cluster) -> Fraction:
    return Fraction(cluster.nodes[0].effective_power)


def seconds_on(cluster: Cluster, job: Job) -> Fraction:
    """Return how long a job runs on a cluster by its estimate, s."""
    share = Fraction(job.processing_share)
    return Fraction(job.estimate) * (share / power_of(cluster) + 1 - share)


@dataclass(frozen=True)
class SiteThen:
    """A site at one time, without the new job: jobs that run, with their estimated ends, and jobs that wait there."""

    cluster: Cluster
    running: list[Span]
    waiting: list[Job]
    since: Fraction
    """When something can start there, s: now, or once the site has started up."""

    @property
    def size(self) -> int:
        return self.cluster.num_processors

    @property
    def power(self) -> Fraction:
        return power_of(self.cluster)

    @property
    def jobs(self) -> list[Job]:
        return [*(job for _, _, job in self.running), *self.waiting]

    @property
    def free(self) -> int:
        return self.size - sum(job.tasks for _, _, job in self.running)

    def admits(self, job: Job) -> bool:
        return job.tasks <= self.size and (not job.eligible or self.cluster.name in job.eligible)

    def spans(self, job: Job, in_order: bool) -> list[Span]:
        """Return all jobs of the site as they run or are planned; the new one is the last."""
        queue = [(one, seconds_on(self.cluster, one)) for one in [*self.waiting, job]]
        return [*self.running, *plan(self.running, queue, self.since, self.size, in_order=in_order)]


def homes_by_definition(run: SimulationResult, strategy: str, *, in_order: bool, power_management: bool):
    """Return the cluster to which each job of a run goes, by id, given where those before it went."""
    jobs, found = sorted(run.instance.jobs, key=lambda job: job.arrival), {}
    for number, job in enumerate(jobs):
        now = Fraction(job.arrival)
        sites = sites_then(run.instance, run.schedule, jobs[:number], now, power_management)
        found[job.id] = chosen(sites, job, strategy, in_order=in_order)
    return found


def sites_then(instance: Instance, schedule: Schedule, arrived: Sequence[Job], now: Fraction, managed: bool):
    """Return the sites at ``now`` (s), after the ``arrived`` jobs, in order, went where the schedule has them."""
    found = []
    for cluster in instance.platform.clusters:
        states, ready, off_from = cluster.power_states, Fraction(0), Fraction(0)
        startup, grace = (Fraction(states.startup_time), states.core_grace + states.site_grace) if managed else (0, 0)
        running, waiting = [], []
        for run in instance.running:
            if run.nodes[0].partition("/")[0] == cluster.name:
                running += [(Fraction(0), Fraction(run.end), run.job)] if run.end > now else []
                off_from = max(off_from, Fraction(run.end) + grace)
        for job in arrived:
            placement = schedule[job.id]
            if placement.nodes[0].partition("/")[0] != cluster.name:
                continue
            if job.arrival >= off_from:  # the site is off, and starts up for this job
                ready = job.arrival + startup
            off_from = max(off_from, Fraction(placement.end) + grace)
            if placement.start >= now:
                waiting.append(job)
            elif placement.end > now:
                expected = Fraction(placement.start) + seconds_on(cluster, job)
                running.append((Fraction(placement.start), max(now, expected), job))
        since = now + startup if now >= off_from else max(now, ready)
        found.append(SiteThen(cluster, running, waiting, since))
    return found


def chosen(sites: Sequence[SiteThen], job: Job, strategy: str, *, in_order: bool) -> str:
    """Return the name of the site that a strategy has to choose for a job; not for ``Random``."""
    admissible = [site for site in sites if site.admits(job)]
    name, _, of = strategy.partition("_")
    if name == "LBal":
        costs = [deviation(sites, site, job, of) for site in admissible]
        limit = min(costs) * TIE**2  # these are squares
    else:
        factors = {"v": speed, "eff": efficiency, "veff": lambda *args: speed(*args) * efficiency(*args)}
        factor = factors.get(of, lambda *_: Fraction(1))
        cost = COSTS[strategy if name == "MWWT" else name]
        costs = [cost(site, job, factor(site, sites), in_order) for site in admissible]
        limit = min(costs) + (TIE - 1) * abs(min(costs))
    return next(site.cluster.name for site, cost in zip(admissible, costs, strict=True) if cost <= limit)


def speed(site: SiteThen, sites: Sequence[SiteThen]) -> Fraction:
    return site.power / min(other.power for other in sites)


def efficiency(site: SiteThen, sites: Sequence[SiteThen]) -> Fraction:
    return Fraction(site.cluster.efficiency) / min(Fraction(other.cluster.efficiency) for other in sites)


def deviation(sites: Sequence[SiteThen], q: SiteThen, job: Job, of: str) -> Fraction:
    """Return the variance of the loads per processor if a job went to site ``q``."""

    def load(k: Job, site: SiteThen) -> Fraction:
        estimate = Fraction(k.estimate)
        if of == "S":
            return Fraction(k.tasks)
        if of == "T":
            return estimate
        if of == "W":
            return k.tasks * estimate
        states = site.cluster.power_states
        watts = site.cluster.nodes[0].core_watts if states is None else states.core_working_watts
        return k.tasks * estimate / speed(site, sites) * Fraction(watts)

    loads = []
    for site in sites:
        jobs = [*site.jobs, job] if site is q else site.jobs
        loads.append(sum((load(k, site) for k in jobs), Fraction(0)) / site.size)
    mean = sum(loads) / len(loads)
    return sum(((x - mean) ** 2 for x in loads), Fraction(0)) / len(loads)


def mean_wait(weight: Callable[[Job], Fraction]):
    """Return the cost of the strategies that go by waits, each with a weight."""

    def cost(site: SiteThen, job: Job, f: Fraction, in_order: bool) -> Fraction:
        spans = site.spans(job, in_order)
        waits = [(start - Fraction(k.arrival)) * weight(k) for start, _, k in spans]
        return sum(waits) / len(waits) / f

    return cost


COSTS = {
    "MaxAR": lambda site, job, f, _: -site.free * f / site.size,
    "MLp": lambda site, job, f, _: (len(site.jobs) + 1) / (f * site.size),
    "MPL": lambda site, job, f, _: sum(k.tasks for k in [*site.jobs, job]) / (f * site.size),
    "MLB": lambda site, job, f, _: sum(k.tasks * Fraction(k.estimate) for k in [*site.jobs, job]) / (f * site.size),
    "MCT": lambda site, job, f, in_order: max(end for _, end, _ in site.spans(job, in_order)) / f,
    "MST": lambda site, job, f, in_order: site.spans(job, in_order)[-1][0] / f,
    "MWT": mean_wait(lambda _: Fraction(1)),
    "MWWT_S": mean_wait(lambda job: Fraction(job.tasks)),
    "MWWT_T": mean_wait(lambda job: Fraction(job.estimate)),
    "MWWT_W": mean_wait(lambda job: job.tasks * Fraction(job.estimate)),
}
"""The cost of a site with the new job there, by strategy without its factor: the least is chosen."""
