"""Assignment of jobs to sites where there are several: a router, and a broker, which is a router with its sites.

A router may have methods that tell it what happens at the sites (:class:`HearsBeginning`, :class:`HearsStarts`,
:class:`HearsEnds`): it need not look at all of them whenever a job arrives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from coalloc.instance import Job, Platform
from coalloc.problem.allocation import Scope
from coalloc.simulator.policy import Running
from coalloc.simulator.site import Partition, Site


class Router(Protocol):
    """Router, which assigns jobs to sites."""

    def route(self, sites: Sequence[Site], job: Job) -> Site:
        """Return one of the sites: a job that arrives joins its queue. ``site.state`` is what its policy sees."""


@runtime_checkable
class Broker(Protocol):
    """Interface of a broker: it divides the platform into sites, and assigns every arriving job to one of them.

    A broker is passed wherever a policy is. Optional methods ``begin(sites)``, ``started(site, running)`` and
    ``ended(site, running)`` are called at the start of a run, at starts and at ends.

    See Also
    --------
    coalloc.simulate : Run an instance under a broker.
    coalloc.grid.Partition : A site and its policy.

    Examples
    --------
    A broker that assigns every job to the site with the shortest queue:

    >>> import coalloc
    >>> from coalloc.extend import policy_named
    >>> from coalloc.grid import Partition
    >>> class ShortestQueue:
    ...     scope = "cluster"
    ...
    ...     def partitions(self, platform):
    ...         names = [cluster.name for cluster in platform.clusters]
    ...         return [Partition(policy_named("easy", {}), (n,), n) for n in names]
    ...
    ...     def route(self, sites, job):
    ...         return min(sites, key=lambda site: len(site.queue))
    >>> jobs = [coalloc.Job(f"J{n}", tasks=2, base_time=60.0) for n in range(4)]
    >>> instance = coalloc.example("pas-figure-3.3").replace(jobs=jobs)
    >>> run = coalloc.simulate(instance, ShortestQueue())
    >>> [placement.nodes[0] for placement in run.schedule]
    ['C1/0', 'C2/0', 'C1/0', 'C2/0']
    """

    @property
    def scope(self) -> Scope:
        """Places of the tasks of one job: ``"cluster"`` if every site is one cluster."""

    def partitions(self, platform: Platform) -> Sequence[Partition]:
        """Return the sites of a run.

        Parameters
        ----------
        platform : Platform
            The platform.

        Returns
        -------
        sequence of Partition
            The sites, each with a policy.

        Raises
        ------
        CoallocError
            The broker does not support the platform.
        """

    def route(self, sites: Sequence[Site], job: Job) -> Site:
        """Return the site whose queue an arriving job joins.

        Parameters
        ----------
        sites : sequence of Site
            The sites.
        job : Job
            The job as its user describes it.

        Returns
        -------
        Site
            One of the sites.
        """


@runtime_checkable
class HearsBeginning(Protocol):
    """A router that is told when a run begins, before anything happens: one object may then serve many runs."""

    def begin(self, sites: Sequence[Site]) -> None:
        """Forget what was before."""


@runtime_checkable
class CopiesSites(Protocol):
    """A broker that can be copied in the middle of a run."""

    def copy(self, sites: Sequence[Site]) -> Broker:
        """Return a broker of its own that sends jobs as this one would from now on, to the copies of its sites."""


@runtime_checkable
class HearsStarts(Protocol):
    """A router that is told of each job that starts."""

    def started(self, site: Site, running: Running) -> None:
        """Hear of a job that runs at a site now."""


@runtime_checkable
class HearsEnds(Protocol):
    """A router that is told of each job that ends, or is killed."""

    def ended(self, site: Site, running: Running) -> None:
        """Hear of a job whose processors are free now."""


RUNNABLE = "scope and decide(state), or scope, partitions(platform) and route(sites, job)"
"""Attributes of an object that is accepted where a policy is."""


__all__ = ["RUNNABLE", "Broker", "CopiesSites", "HearsBeginning", "HearsEnds", "HearsStarts", "Router"]
