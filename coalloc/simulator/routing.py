"""What sends jobs to sites when there are several: a router, and a broker, which is a router with its sites.

A router may have methods that tell it what happens at the sites (:class:`HearsBeginning`, :class:`HearsStarts`,
:class:`HearsEnds`): it need not look at all of them whenever a job arrives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from coalloc.allocation import Scope
from coalloc.instance import Job, Platform
from coalloc.simulator.policy import Running
from coalloc.simulator.site import Partition, Site


class Router(Protocol):
    """What sends jobs to sites."""

    def route(self, sites: Sequence[Site], job: Job) -> Site:
        """Return one of the sites: a job that arrives joins its queue. ``site.state`` is what its policy sees."""


@runtime_checkable
class Broker(Protocol):
    """A router that says itself which sites there are: it goes wherever a policy goes.

    ``scope`` is where the tasks of one job may be: ``"cluster"`` where every site is one. ``partitions`` makes the
    sites of a run on a platform, each with a policy of its own, and refuses a platform on which it cannot run.
    """

    @property
    def scope(self) -> Scope:
        """Where the tasks of one job may be."""

    def partitions(self, platform: Platform) -> Sequence[Partition]:
        """Return what the sites of a run are made of."""

    def route(self, sites: Sequence[Site], job: Job) -> Site:
        """Return the site to which a job goes that arrives."""


@runtime_checkable
class HearsBeginning(Protocol):
    """A router that is told when a run begins, before anything happens: one object may then serve many runs."""

    def begin(self, sites: Sequence[Site]) -> None:
        """Forget what was before."""


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


RUNNABLE = "a scope and decide(state), or a scope, partitions(platform) and route(sites, job)"
"""What an object must have that goes where a policy goes."""


__all__ = ["RUNNABLE", "Broker", "HearsBeginning", "HearsEnds", "HearsStarts", "Router"]
