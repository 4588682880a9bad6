"""Limits on what some jobs take at once: of users, of a quality of service, of licenses that no node has."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import field

from coalloc.documents.values import LEFT_OUT, NONE, Listed, NonNegative, Text, Value, value


@value()
class Limit(Value):
    """A limit on some jobs together: at any time the amounts of those that run sum to at most the capacity.

    Parameters
    ----------
    name : str
        Name of the limit, unique within the instance: of a user, an account or a quality of service (QOS).
    jobs : sequence of str
        Ids of the limited jobs, waiting or running.
    capacity : float
        Largest sum of the amounts at any time at which one of the jobs to schedule runs, in units of your choice.
    amounts : sequence of float, default ()
        Amount of each job while it runs, in the same unit. Empty: 1 each, so that the capacity is a number of jobs.

    Examples
    --------
    At most one job of a user runs at a time:

    >>> from coalloc import Cluster, Instance, Job, Limit, NodeGroup, Platform, solve
    >>> platform = Platform(
    ...     [Cluster("C1", [NodeGroup(4, power=1.0)], link_bandwidth=125.0)]
    ... )
    >>> jobs = [Job("J1", tasks=1, base_time=60.0), Job("J2", tasks=1, base_time=60.0)]
    >>> instance = Instance(
    ...     platform, jobs, limits=[Limit("anna", ["J1", "J2"], capacity=1)]
    ... )
    >>> sorted(placement.start for placement in solve(instance).schedule)
    [0.0, 60.0]
    """

    name: Text
    jobs: Listed[Text]
    capacity: NonNegative
    amounts: Listed[NonNegative] = field(default=NONE, metadata=LEFT_OUT)

    @property
    def amount_of(self) -> dict[str, float]:
        """The amount of each job, by id."""
        return dict(zip(self.jobs, self.amounts or (1.0,) * len(self.jobs), strict=True))

    def without(self, job: str) -> Limit:
        """Return the limit on the other jobs."""
        left = {name: amount for name, amount in self.amount_of.items() if name != job}
        return self.replace(jobs=tuple(left), amounts=tuple(left.values()))


def within(limit: Limit, there: Collection[str]) -> Limit | None:
    """Return a limit on the jobs that are there, None where it does not restrict them."""
    amounts = {id: amount for id, amount in limit.amount_of.items() if id in there}
    if sum(amounts.values()) <= limit.capacity:
        return None
    return limit.replace(jobs=tuple(amounts), amounts=tuple(amounts.values()) if limit.amounts else ())


def resource_names(limits: tuple[Limit, ...], taken: frozenset[str]) -> Iterator[str]:
    """Yield the name of the resource that stands for each limit: as messages show it, and unlike all that is taken."""
    for limit in limits:
        name = f"limit {limit.name}"
        while name in taken:
            name += "'"
        yield name
