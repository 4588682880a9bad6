"""Every policy keeps to the memory of nodes, or refuses; what it waits for is derived by hand."""

from __future__ import annotations

from itertools import chain

import pytest

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform
from coalloc.heuristics.registry import POLICIES
from tests.small_instances import SmallSize, small_memory_instance

KEEPING = [name for name in POLICIES if name not in ("mesd", "loras")]
WITHIN_NODES = ("pcbe", "node-list")
SIZE = SmallSize(max_jobs=8, max_slots=200)


def with_watts(instance: Instance) -> Instance:
    clusters = [
        cluster.replace(nodes=[g.replace(idle_watts=1.0, static_watts=2.0, core_watts=1.0) for g in cluster.nodes])
        for cluster in instance.platform.clusters
    ]
    return instance.replace(platform=instance.platform.replace(clusters=clusters))


def of_one_power(instance: Instance) -> Instance:
    """Return an instance in which the nodes of a cluster are equally fast, as the sites of a grid are."""
    clusters = [
        cluster.replace(nodes=[g.replace(power=1.0 / (1 + n), availability=1.0) for g in cluster.nodes])
        for n, cluster in enumerate(instance.platform.clusters)
    ]
    return instance.replace(platform=instance.platform.replace(clusters=clusters))


EXPECTED = ("link", "runs already", "must be within one site")
"""What a policy may refuse: shared links, jobs that run already."""


@pytest.mark.parametrize("name", KEEPING)
def test_no_run_exceeds_the_memory(name):
    """Runs are checked by the engine; a policy that ignored memory would ask for starts that are refused."""
    num_runs, refusals = 0, []
    for seed in range(40):
        instance = with_watts(small_memory_instance(seed, SIZE)[0])
        if name == "grid":
            instance = of_one_power(instance)
        fitting = [job for job in instance.jobs if fits(instance, job, name)]
        if not fitting:
            continue
        reduced = instance.replace(jobs=fitting)
        passes = ("batch", "per-event")[seed % 2]
        try:
            run = coalloc.simulate(reduced, name, passes=passes, **({"work_limit": 300} if name == "oas" else {}))
        except CoallocError as error:
            refusals.append(str(error))
            continue
        num_runs += 1
        scope = "node" if name in WITHIN_NODES else "platform"
        assert coalloc.check(reduced, run.schedule, links="shared", scope=scope) == []
    assert num_runs >= 10
    # Links of no bandwidth, which some policies ignore, links that a job saturates by itself, and what runs already.
    assert [refusal for refusal in refusals if not any(part in refusal for part in EXPECTED)] == []


def fits(instance: Instance, job: Job, name: str) -> bool:
    """Return whether a job has a node, a site, or the platform, with processors and memory for all its tasks."""
    clusters = [
        [
            min(g.cores, g.cores if not job.memory or g.memory is None else int(g.memory * (1 + 1e-9) // job.memory))
            for g in cluster.nodes
            for _ in range(g.count)
        ]
        for cluster in instance.platform.clusters
    ]
    if name == "grid":
        return max(map(sum, clusters)) >= job.tasks
    room = list(chain(*clusters))
    return (max(room) if name in WITHIN_NODES else sum(room)) >= job.tasks


def node(cores: int, memory: float, *jobs: Job) -> Instance:
    """Return jobs on one node."""
    group = NodeGroup(1, power=1.0, cores=cores, memory=memory, idle_watts=1.0, static_watts=2.0, core_watts=1.0)
    return Instance(Platform([Cluster("C1", [group], link_bandwidth=10.0)]), jobs)


def starts(instance: Instance, name: str, **options: object) -> dict[str, float]:
    return {p.job: p.start for p in coalloc.simulate(instance, name, **options).schedule}


@pytest.mark.parametrize("name", KEEPING)
def test_two_jobs_that_do_not_fit_into_the_memory_run_one_after_the_other(name):
    both = node(2, 1000.0, *(Job(f"J{n}", 1, 10.0, memory=600.0) for n in (1, 2)))
    assert sorted(starts(both, name).values()) == [0.0, 10.0]
    enough = both.replace(jobs=[job.replace(memory=500.0) for job in both.jobs])
    assert sorted(starts(enough, name).values()) == [0.0, 0.0]


@pytest.mark.parametrize(
    ("name", "expected"),
    # J1 holds 600 MB until 10 s. J2 asks for 500 MB, J3 for 300 MB and 20 s, J4 for 300 MB and 10 s.
    [
        ("fcfs", {"J1": 0.0, "J2": 10.0, "J3": 10.0, "J4": 20.0}),  # beside J2 and J3, 800 MB, J4 has too little
        (
            "fpfs",
            {"J1": 0.0, "J2": 10.0, "J3": 0.0, "J4": 20.0},
        ),  # J3 passes J2, which waits for 500 MB; J4 finds 100 MB
        # J2 is due at 10 s. J3 would leave it 700 MB then, enough; beside that J4 has too little until 20 s.
        ("easy", {"J1": 0.0, "J2": 10.0, "J3": 0.0, "J4": 20.0}),
        ("conservative", {"J1": 0.0, "J2": 10.0, "J3": 0.0, "J4": 20.0}),
    ],
)
def test_who_passes_whom(name, expected):
    jobs = [
        Job(f"J{n}", 1, seconds, memory=memory)
        for n, (seconds, memory) in enumerate(((10.0, 600.0), (10.0, 500.0), (20.0, 300.0), (10.0, 300.0)), start=1)
    ]
    assert starts(node(4, 1000.0, *jobs), name) == expected


@pytest.mark.parametrize("name", ["easy", "conservative"])
def test_a_short_job_does_not_delay_a_reservation_of_memory(name):
    # J2 needs all memory, at 10 s. J3, 300 MB for 20 s, would delay it; J4, for 10 s, does not.
    jobs = [
        Job(f"J{n}", 1, seconds, memory=memory)
        for n, (seconds, memory) in enumerate(((10.0, 600.0), (10.0, 1000.0), (20.0, 300.0), (10.0, 300.0)), start=1)
    ]
    assert starts(node(4, 1000.0, *jobs), name) == {"J1": 0.0, "J2": 10.0, "J3": 20.0, "J4": 0.0}


def test_mesd_refuses_what_could_exceed_memory():
    with pytest.raises(CoallocError, match="policy 'mesd' does not support memory limits on nodes with several cores"):
        coalloc.simulate(node(2, 1000.0, Job("J1", 1, 10.0, memory=600.0)), "mesd")
    assert len(coalloc.simulate(node(2, 1000.0, Job("J1", 1, 10.0, memory=500.0)), "mesd").schedule) == 1


def test_loras_refuses_cores_that_share_too_little_memory():
    jobs = [Job(f"J{n}", 1, 10.0, memory=600.0) for n in (1, 2)]
    with pytest.raises(
        CoallocError, match="policy 'loras' does not support memory limits on dedicated nodes with several cores"
    ):
        coalloc.simulate(node(2, 1000.0, *jobs), "loras")
    assert starts(node(2, 1000.0, *(job.replace(memory=500.0) for job in jobs)), "loras") == {"J1": 0.0, "J2": 0.0}
    # On nodes of one core memory decides which nodes a job may have: J2 waits for the only one with enough.
    groups = [NodeGroup(1, power=1.0, memory=megabytes) for megabytes in (1000.0, 500.0)]
    small = Instance(Platform([Cluster("C1", groups, link_bandwidth=10.0)]), jobs)
    assert starts(small, "loras") == {"J1": 0.0, "J2": 10.0}


def test_mesd_keeps_to_the_memory_of_nodes_of_one_core():
    # J1 goes to the node with 1000 MB, J2 can use no other and waits for it; J3 takes what has less.
    groups = [NodeGroup(1, power=1.0, memory=1000.0), NodeGroup(1, power=0.5, memory=100.0)]
    jobs = [Job(f"J{n}", 1, 10.0, memory=memory) for n, memory in enumerate((800.0, 800.0, 100.0), start=1)]
    instance = Instance(Platform([Cluster("C1", groups, link_bandwidth=10.0)]), jobs)
    assert starts(instance, "mesd") == {"J1": 0.0, "J2": 10.0, "J3": 0.0}
