"""A broker over the clusters of a platform, each of which is a site with a scheduler of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal, Self

from coalloc.documents.text import quoted
from coalloc.heuristics.assignments import Assignments, Plans
from coalloc.heuristics.backfilling import Easy
from coalloc.heuristics.classics import ListPolicy
from coalloc.heuristics.conservative import Conservative
from coalloc.instance import Cluster, CoallocError, Job, Platform
from coalloc.instance.power import require_power_states
from coalloc.problem.allocation import Scope
from coalloc.rules.brokering import STRATEGIES, VIEWS, Factor, SpeedView, StrategyName, balanced_energy, factors_of
from coalloc.simulator.policy import Policy, Running
from coalloc.simulator.site import Partition, Site

Local = Literal["easy", "fcfs", "conservative"]
"""The scheduler of every site, by the name of the policy."""

SCHEDULERS: Mapping[Local, Callable[[], Policy]] = {
    "easy": Easy,
    "fcfs": lambda: ListPolicy("fcfs"),
    "conservative": Conservative,
}

NUM_FACTS = tuple(len(fields(view)) for view in VIEWS)
"""Number of facts of a decision, in the order of the fields of a view, that a strategy of each level sees."""

PLANS = 4
"""The level that knows the plans of the sites."""


@dataclass(frozen=True, slots=True)
class Sites:
    """Constant data of the sites: their processors, the factors that prefer them, watts of a busy processor."""

    sizes: tuple[int, ...]
    factors: Mapping[Factor, Sequence[float]]
    working_watts: tuple[float, ...]


@dataclass(slots=True)
class Grid:
    """A broker assigns each arriving job to a cluster; every cluster has a local scheduler.

    A job is assigned before anything else is decided at that time; of simultaneous arrivals each is assigned with those
    before it counted. docs/policies.md#strategies-of-the-broker defines these. Source: two-level grid, sections 2.1, 3
    and 4; errata 25 to 28 and 36.

    Parameters
    ----------
    strategy
        Criterion by which the broker chooses the site of a job.
    local
        Scheduler of each site.
    power_management
        Whether the sites start up for jobs and go off when they are not needed, as their power states say.

    Examples
    --------
    *Example.* Site C1 has 4 processors of speed 1, C2 has 2 of speed 2. A (3 processors, 100 s) arrives at 0 s and fits
    only C1. B (1 processor, 50 s) arrives at 10 s, C (2 processors, 60 s) at 20 s.

    | job | ``MaxAR_v`` at C1 | ``MaxAR_v`` at C2 | ``MPL`` at C1 | ``MPL`` at C2 |
    |---|---|---|---|---|
    | B | 1 * 1/4 = 0.25 | 2 * 2/2 = **2** | (3 + 1)/4 = 1 | 1/2 = **0.5** |
    | C | 1 * 1/4 = 0.25 | 2 * 1/2 = **1** | (3 + 2)/4 = **1.25** | (1 + 2)/2 = 1.5 |

    ``MaxAR_v`` chooses the largest, ``MPL`` the least. B runs at C2 until 10 + 50/2 = 35 s. C waits for B at C2 until
    35 s, or for A at C1 until 100 s.

    >>> import coalloc
    >>> from coalloc import Cluster, Instance, Job, NodeGroup, Platform
    >>> platform = Platform(
    ...     [
    ...         Cluster("C1", [NodeGroup(4, power=1.0)], link_bandwidth=1.0),
    ...         Cluster("C2", [NodeGroup(2, power=2.0)], link_bandwidth=1.0),
    ...     ]
    ... )
    >>> jobs = [
    ...     Job("A", 3, 100.0),
    ...     Job("B", 1, 50.0, arrival=10.0),
    ...     Job("C", 2, 60.0, arrival=20.0),
    ... ]
    >>> for strategy in ("MaxAR_v", "MPL"):
    ...     run = coalloc.simulate(Instance(platform, jobs), "grid", strategy=strategy)
    ...     for placement in run.schedule:
    ...         site = placement.nodes[0].partition("/")[0]
    ...         print(strategy, placement.job, site, placement.start, placement.end)
    MaxAR_v A C1 0.0 100.0
    MaxAR_v B C2 10.0 35.0
    MaxAR_v C C2 35.0 65.0
    MPL A C1 0.0 100.0
    MPL B C2 10.0 35.0
    MPL C C1 100.0 160.0
    """

    strategy: StrategyName = "MaxAR_v"
    local: Local = "easy"
    power_management: bool = False
    scope: ClassVar[Scope] = "cluster"
    supported_features: ClassVar[frozenset[str]] = frozenset(
        {"deadline", "after", "eligible", "times", "shapes", "max_clusters", "min_tasks_per_cluster", "lags"}
    )
    why_unsupported: ClassVar[str] = (
        "its broker assumes that all processors of a site are available to every job at all times"
    )
    _sites: Sites = field(init=False)
    _assignments: Assignments = field(init=False)
    _plans: Plans | None = field(init=False, default=None)
    _admissible: dict[tuple[int, float | None, tuple[str, ...]], list[int]] = field(init=False, default_factory=dict)

    def partitions(self, platform: Platform) -> list[Partition]:
        """Return a site per cluster; raises where the broker needs to know what a cluster does not say."""
        if self.power_management:
            require_power_states(platform)
        faults = [fault for cluster in platform.clusters for fault in self._faults(cluster)]
        if faults:
            raise CoallocError("\n".join(faults))
        make = SCHEDULERS[self.local]
        return [
            Partition(make(), (cluster.name,), cluster.name, self.power_management) for cluster in platform.clusters
        ]

    def begin(self, sites: Sequence[Site]) -> None:
        """Forget the run before; take in the jobs that run already."""
        states = [site.state for site in sites]
        clusters = [state.platform.clusters[0] for state in states]
        self._sites = sites_of(clusters)
        self._admissible = {}
        self._assignments = Assignments(states)
        has_plans = STRATEGIES[self.strategy].level == PLANS
        self._plans = Plans(sites, in_order=self.local == "fcfs") if has_plans else None
        for site in sites:
            for running in site.state.running:
                self._assignments.assign(site.number, running.job)
                if self._plans is not None:
                    self._plans.start(site.number, running)

    def copy(self, sites: Sequence[Site]) -> Self:
        """Return a broker of its own over copies of the sites."""
        twin = copy(self)
        twin._assignments = self._assignments.copied()
        twin._plans = None if self._plans is None else self._plans.copied(sites)
        return twin

    def route(self, sites: Sequence[Site], job: Job) -> Site:
        """Return the site that the strategy chooses; where only one is large enough nothing need be looked at."""
        strategy, admissible = STRATEGIES[self.strategy], self._large_enough(sites, job)
        is_forced = len(admissible) == 1
        number = admissible[0] if is_forced else strategy.choose(self._view(strategy.level, sites, job))
        self._assignments.assign(number, job)
        if self._plans is not None:
            self._plans.assign(number, job)
        return sites[number]

    def started(self, site: Site, running: Running) -> None:
        """Take in that a job has started."""
        self._assignments.start(site.number, running.job)
        if self._plans is not None:
            self._plans.start(site.number, running)

    def ended(self, site: Site, running: Running) -> None:
        """Take in that a job has ended."""
        self._assignments.end(site.number, running.job)
        if self._plans is not None:
            self._plans.end(site.number, running)

    def _view(self, level: int, sites: Sequence[Site], job: Job) -> SpeedView:
        """Return what a strategy of a level sees of the sites and of a new job, and nothing else."""
        held, known = self._assignments, self._sites
        admissible = self._large_enough(sites, job)
        plans, free = self._plans, held.free
        prospects = [] if plans is None else [plans.prospect(i, job, free[i]) for i in admissible]
        facts: tuple[Any, ...] = (
            *(admissible, known.factors, sites[0].state.rng),
            *(known.sizes, held.free, held.num_jobs),
            *(job.tasks, held.tasks),
            *(job.estimate, held.estimates.totals, held.work.totals, known.working_watts),
            prospects,
        )
        return VIEWS[level](*facts[: NUM_FACTS[level]])

    def _large_enough(self, sites: Sequence[Site], job: Job) -> list[int]:
        """Return the sites on which a job can run, by number."""
        key = job.tasks, job.memory, job.eligible
        if key not in self._admissible:
            self._admissible[key] = [site.number for site in sites if job.tasks <= site.most_tasks(job)]
        return self._admissible[key]

    def _faults(self, cluster: Cluster) -> Iterator[str]:
        """Yield what is wrong with a cluster as a site of this broker."""
        strategy, name = STRATEGIES[self.strategy], quoted(cluster.name)
        powers = dict.fromkeys(group.effective_power for group in cluster.nodes)
        if len(powers) > 1:
            listed = ", ".join(f"{power:g}" for power in powers)
            yield f"policy 'grid' requires nodes of one effective speed in each cluster; {name} has {listed}"
        if strategy.factor in ("eff", "veff") and cluster.efficiency is None:
            yield f"strategy {self.strategy!r} requires the efficiency of every cluster; {name} has none"
        if strategy.rule is balanced_energy and working_watts(cluster) is None:
            yield f"strategy {self.strategy!r} requires the watts of a busy core of every cluster; {name} has none"


def sites_of(clusters: Sequence[Cluster]) -> Sites:
    """Return what is known of clusters as sites, as far as all of them say it."""
    efficiencies = [cluster.efficiency for cluster in clusters if cluster.efficiency is not None]
    watts = tuple(watts for cluster in clusters if (watts := working_watts(cluster)) is not None)
    return Sites(
        tuple(cluster.num_processors for cluster in clusters),
        factors_of(
            [cluster.nodes[0].effective_power for cluster in clusters],
            efficiencies if len(efficiencies) == len(clusters) else None,
        ),
        watts if len(watts) == len(clusters) else (),
    )


def working_watts(cluster: Cluster) -> float | None:
    """Return the watts of a busy core of a cluster, None where they differ or are not said."""
    if cluster.power_states is not None:
        return cluster.power_states.core_working_watts
    watts = {group.core_watts for group in cluster.nodes}
    return watts.pop() if len(watts) == 1 else None
