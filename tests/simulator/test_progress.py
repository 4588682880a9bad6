"""Progress by hand: what sources of pace say together, and nodes that jobs share with each other and with users."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field

import pytest

from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform
from coalloc.simulator.clock import Change
from coalloc.simulator.contention import Contention
from coalloc.simulator.engine import Engine
from coalloc.simulator.processors import Processors
from coalloc.simulator.progress import Progress
from coalloc.simulator.site import Partition
from tests.simulator.listed import Listed


@dataclass(frozen=True)
class User:
    """A local user who takes a share of a node's CPU from ``time`` on, or gives it back then."""

    time: float
    share: float
    is_leaving: bool = False
    processors: Processors = 0b1


@dataclass
class SharedNode:
    """One node whose CPU is shared evenly by the jobs on its places; users come first."""

    jobs: set[int] = field(default_factory=set)
    taken: float = 0.0

    def enter(self, index: int, _: Job, __: Processors) -> Collection[int]:
        self.jobs.add(index)
        return self.jobs

    def leave(self, index: int) -> Collection[int]:
        self.jobs.discard(index)
        return self.jobs

    def change(self, change: Change) -> Collection[int]:
        self.taken += -change.share if change.is_leaving else change.share
        return self.jobs

    def slowdowns(self, index: int) -> tuple[float, float]:
        left = 1.0 - self.taken
        return (len(self.jobs) / left if left > 0.0 else math.inf), 1.0


PLACES = Platform([Cluster("C1", [NodeGroup(1, power=1.0, cores=2)], link_bandwidth=0.0)])
"""One node with two places for tasks."""


def ends(jobs, changes, **options):
    """Return when jobs of one task each end on the shared node, which start when they arrive."""
    engine = Engine(
        Instance(PLACES, jobs),
        [Partition(Listed({job.id: (1,) for job in jobs}))],
        sources=[SharedNode()],
        changes=changes,
        **options,
    )
    return list(engine.run().ends)


def test_a_node_is_shared_by_two_jobs_and_a_user():
    # Two jobs of 100 s, from 0 and from 50. J1 alone does 50 s of work until 50; then each has half the node: 75 and
    # 25 s at 100. Half of the node is taken until 150, each has a quarter: 87.5 and 37.5 s at 150. Half each again, J1
    # needs 12.5/0.5 = 25 s more: it ends at 175, when J2 has done 50 s. Alone, J2 needs 50 s more, to 225.
    jobs = [Job("J1", tasks=1, base_time=100.0), Job("J2", tasks=1, base_time=100.0, arrival=50.0)]
    user = [User(100.0, 0.5), User(150.0, 0.5, is_leaving=True)]
    assert ends(jobs, user) == pytest.approx([175.0, 225.0])


def test_a_user_who_takes_all_of_a_node_stops_it_until_he_leaves():
    # 30 s are done at 30; the job stands still until 80, and needs 70 s more. One that only communicates stands too.
    user = [User(30.0, 1.0), User(80.0, 1.0, is_leaving=True)]
    for share in (1.0, 0.0):
        assert ends([Job("J1", tasks=1, base_time=100.0, processing_share=share)], user) == pytest.approx([150.0])


def test_a_job_that_starts_on_a_taken_node_waits_there():
    # It starts at 10, when it arrives, and stands still until 80.
    user = [User(5.0, 1.0), User(80.0, 1.0, is_leaving=True)]
    assert ends([Job("J1", tasks=1, base_time=100.0, arrival=10.0)], user) == pytest.approx([180.0])


def test_a_job_that_stands_still_for_ever_is_reported():
    with pytest.raises(CoallocError) as report:
        ends([Job("J1", tasks=1, base_time=100.0)], [User(30.0, 1.0)])
    assert str(report.value) == (
        "job 'J1' runs without progress and never ends (time 30 s: 0 jobs ended, 1 running, 0 waiting, 0 not yet "
        "arrived)"
    )


def test_a_job_that_stands_still_is_killed_at_its_limit():
    user = [User(30.0, 1.0), User(80.0, 1.0, is_leaving=True)]
    assert ends([Job("J1", tasks=1, base_time=50.0)], user, kill=True) == [50.0]


def test_users_who_come_for_ever_do_not_keep_a_run_going():
    coming = (User(float(second), 0.0) for second in iter(int, 1))
    assert ends([Job("J1", tasks=1, base_time=100.0)], (User(t.time + n, 0.0) for n, t in enumerate(coming))) == [100.0]


TWO_CLUSTERS = Platform([Cluster(name, [NodeGroup(2, power=1.0)], link_bandwidth=5.0) for name in ("C1", "C2")])


def test_the_largest_processing_slowdown_of_all_sources_counts():
    # Tasks in C1/0 and C2/0: 1 * 10 * (2 - 1)/1 = 10 MB/s on links of 5 MB/s, SC 2; SP 1 by itself, 3 for three jobs.
    # 100 (0.5 * 3 + 0.5 * 2) = 250 s.
    job = Job("J1", tasks=2, base_time=100.0, processing_share=0.5, task_bandwidth=10.0)
    node = SharedNode({7, 8})
    assert Progress([Contention(TWO_CLUSTERS), node]).begin(0, job, 0b0101, 1.0, 40.0) == [(0, 290.0)]
    # With SP 4 by itself, the slowest node of the job decides: 100 (0.5 * 4 + 0.5 * 2) = 300 s.
    assert Progress([Contention(TWO_CLUSTERS), node]).begin(0, job, 0b0101, 4.0, 40.0) == [(0, 340.0)]


def test_a_job_that_no_source_slows_down_is_not_followed():
    progress = Progress([Contention(TWO_CLUSTERS)])
    assert progress.begin(0, Job("J1", tasks=2, base_time=100.0, task_bandwidth=10.0), 0b0011, 2.0, 5.0) == (
        (0, 205.0),
    )
    assert 0 not in progress.members


def test_the_loads_are_those_of_the_jobs_that_run():
    # Three tasks, one of them in C2: 1 * 8 * (3 - 1)/2 = 8 MB/s on each link.
    links = Contention(TWO_CLUSTERS)
    progress = Progress([links])
    progress.begin(0, Job("J1", tasks=3, base_time=100.0, task_bandwidth=8.0), 0b0111, 1.0, 0.0)
    assert links.loads == (8.0, 8.0)
    progress.end(0, 50.0)
    assert links.loads == (0.0, 0.0)
