"""Brokers of a user's own: they go wherever a policy goes, and hear what happens at their sites."""

from dataclasses import dataclass, field

import pytest

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform
from coalloc.heuristics.registry import policy_named
from coalloc.simulator.site import Partition

PLATFORM = Platform([Cluster(f"C{k}", [NodeGroup(2, power=1.0)], link_bandwidth=9.0) for k in (1, 2, 3)])


@dataclass
class Alternating:
    """Two sites, one of C1 and C3 and one of C2; jobs go to one and the other in turn."""

    scope: str = "platform"
    heard: list[tuple[float, str, str]] = field(default_factory=list)

    def partitions(self, platform):
        assert platform is PLATFORM
        return [Partition(policy_named("fcfs", {}), ("C1", "C3"), "W"), Partition(policy_named("easy", {}), ("C2",))]

    def begin(self, sites):
        self.heard.append((sites[0].state.now, "begin", ""))
        self.number = 0

    def route(self, sites, job):
        self.number += 1
        return sites[(self.number + 1) % 2]

    def started(self, site, running):
        self.heard.append((site.state.now, f"start at {site.number}", running.job.id))

    def ended(self, site, running):
        self.heard.append((site.state.now, f"end at {site.number}", running.job.id))
        assert sum(site.state.free) >= running.job.tasks


JOBS = [
    Job("J1", tasks=4, base_time=10.0),
    Job("J2", tasks=2, base_time=5.0, arrival=1.0),
    Job("J3", tasks=1, base_time=5.0, arrival=1.0),
]


def test_a_broker_goes_where_a_policy_goes_and_serves_many_runs():
    # J1 takes both clusters of the first site until 10, where J3 waits for it.
    broker = Alternating()
    for _ in range(2):
        run = coalloc.simulate(Instance(PLATFORM, JOBS), broker)
        assert [p.start for p in run.schedule] == [0.0, 1.0, 10.0]
        assert [p.nodes for p in run.schedule] == [("C1/0", "C1/1", "C3/0", "C3/1"), ("C2/0", "C2/1"), ("C1/0",)]
    assert run.policy == "Alternating"


def test_it_hears_of_beginning_starts_and_ends():
    broker = Alternating()
    coalloc.simulate(Instance(PLATFORM, JOBS), broker)
    assert broker.heard == [
        (0.0, "begin", ""),
        (0.0, "start at 0", "J1"),
        (1.0, "start at 1", "J2"),
        (6.0, "end at 1", "J2"),
        (10.0, "end at 0", "J1"),
        (10.0, "start at 0", "J3"),
        (15.0, "end at 0", "J3"),
    ]


def test_it_need_hear_nothing():
    class Second:
        scope = "cluster"

        def partitions(self, platform):
            return [Partition(policy_named("fcfs", {}), (c.name,), c.name) for c in platform.clusters]

        def route(self, sites, job):
            return sites[1]

    run = coalloc.simulate(Instance(PLATFORM, JOBS[1:]), Second())
    assert {p.nodes[0][:2] for p in run.schedule} == {"C2"}


def test_comparisons_take_it_as_well():
    # EASY on all six nodes: J3 fits at 6. Behind the broker it starts at 10.
    table = coalloc.compare(Instance(PLATFORM, JOBS), ["easy", Alternating()], exact=False)
    assert table["policy"].tolist() == ["easy", "Alternating"]
    assert table["makespan"].tolist() == [11.0, 15.0]


def test_it_takes_no_options():
    with pytest.raises(CoallocError, match="policy options require a policy name, got x with a policy object"):
        coalloc.simulate(Instance(PLATFORM, JOBS), Alternating(), x=1)
