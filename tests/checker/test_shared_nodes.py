"""The checker on shared nodes: which rule each mutation of a valid schedule breaks."""

from __future__ import annotations

import pytest

import coalloc
from coalloc import Cluster, Instance, Job, LocalUser, NodeGroup, Placement, Platform, Schedule, Sharing
from tests.simulator.named import Named

GROUPS = [NodeGroup(2, power=1.0, memory=100.0, multiprogramming=2), NodeGroup(1, power=1.0, memory=10.0)]
PLATFORM = Platform([Cluster("C1", GROUPS, 5.0)], sharing=Sharing())
JOBS = [
    Job("J1", tasks=2, base_time=100.0, memory=20.0),
    Job("J2", tasks=1, base_time=100.0, memory=20.0),
    Job("J3", tasks=1, base_time=100.0, memory=20.0, arrival=50.0),
]
INSTANCE = Instance(PLATFORM, JOBS, local_users=[LocalUser("C1/0", 20, 40)])
NODES = {"J1": ("C1/0", "C1/1"), "J2": ("C1/0",), "J3": ("C1/1",)}
VALID = coalloc.simulate(INSTANCE, Named(NODES)).schedule


def rules(schedule, instance=INSTANCE):
    """Return the rules that a schedule breaks."""
    return {violation.rule for violation in coalloc.check(instance, schedule, links="shared")}


def changed(job, **changes):
    """Return the valid schedule with one placement changed."""
    return Schedule([p.replace(**changes) if p.job == job else p for p in VALID])


def test_the_run_is_valid():
    # J1 and J2 have half of node 0 each, 1/4 while the user is there: 15 s of work until 40, the other 85 until 210.
    # J3 has the other half of node 1 from 50 to 210, 80 s of work, and needs 20 s more.
    assert rules(VALID) == set()
    assert [p.end for p in VALID] == pytest.approx([210.0, 210.0, 230.0])


@pytest.mark.parametrize("job", ["J1", "J2", "J3"])
@pytest.mark.parametrize("seconds", [-1e-3, 1e-3])
def test_an_end_that_does_not_follow_from_the_shares(job, seconds):
    assert "duration" in rules(changed(job, end=VALID[job].end + seconds))


def test_an_end_without_the_user_is_too_early():
    # Without the user J1 and J2 take 200 s.
    found = coalloc.check(INSTANCE, changed("J2", end=200.0), links="shared")
    sentence = next(v.sentence for v in found if v.jobs == ("J2",))
    assert sentence.startswith("job J2 ends too early: at 200 s 0.95 of its work is done")


def test_two_tasks_of_a_job_on_one_node():
    found = coalloc.check(INSTANCE, changed("J1", nodes=("C1/0.0", "C1/0.1")), links="shared")
    sentence = "job J1 has 2 tasks on node C1/0, but one is allowed"
    assert sentence in [v.sentence for v in found if v.rule == "distinct-nodes"]


def test_more_tasks_than_a_node_has_places():
    found = coalloc.check(INSTANCE, changed("J3", nodes=("C1/0.0",)), links="shared")
    assert {"overlap", "multiprogramming"} <= {v.rule for v in found}
    crowd = next(v for v in found if v.rule == "multiprogramming")
    assert (crowd.where, crowd.when, crowd.amount, crowd.limit) == ("C1/0", 50.0, 3, 2)
    assert crowd.jobs == ("J1", "J2", "J3")


def test_a_place_beyond_the_multiprogramming():
    assert "unknown-processor" in rules(changed("J3", nodes=("C1/1.2",)))


def test_a_node_that_can_never_hold_a_task():
    found = coalloc.check(INSTANCE, changed("J3", nodes=("C1/2",)), links="shared")
    memory = next(v for v in found if v.rule == "memory")
    assert memory.sentence == "a task of job J3 requires 20 MB on node C1/2, which never provides more than 10 MB"


@pytest.mark.parametrize(("required", "is_too_much"), [(15.0, False), (16.0, True)])
def test_with_paging_a_node_provides_more_than_its_memory(required, is_too_much):
    # C1/2 has 10 MB, and half as much again for paging.
    platform = PLATFORM.replace(sharing=Sharing(paging=0.5))
    instance = Instance(platform, [Job("J1", 1, 100.0, memory=required)])
    found = coalloc.check(instance, Schedule([Placement("J1", 0.0, 100.0, ("C1/2",))]), links="shared")
    sentence = "a task of job J1 requires 16 MB on node C1/2, which never provides more than 15 MB"
    assert [v.sentence for v in found if v.rule == "memory"] == [sentence] * is_too_much


def test_without_coscheduling_a_local_user_makes_communication_wait():
    # The contract leaves half of C1/0 to J1, so processing takes 50/0.5 = 100 s; J1 waits for one other there, the
    # user, so communication takes (1 + 1) 50 = 100 s.
    platform = PLATFORM.replace(sharing=Sharing(coscheduling=False, wait_factor=1.0))
    jobs, users = [Job("J1", 2, 100.0, processing_share=0.5)], [LocalUser("C1/0", 0, 1000)]
    schedule = Schedule([Placement("J1", 0.0, 200.0, ("C1/0.0", "C1/1.0"))])
    assert rules(schedule, Instance(platform, jobs, local_users=users)) == set()


def test_a_node_that_pages_stops_no_task_that_fits():
    # 120 of 100 MB, and half as much again for paging: J2 and J3 have half of C1/0 each, and are 1.3 times as slow.
    platform = PLATFORM.replace(sharing=Sharing(paging=0.5, paging_slowdown=1.3))
    jobs = [Job("J2", 1, 100.0, memory=60.0), Job("J3", 1, 100.0, memory=60.0)]
    schedule = Schedule([Placement(job.id, 0.0, 260.0, (f"C1/0.{n}",)) for n, job in enumerate(jobs)])
    assert rules(schedule, Instance(platform, jobs)) == set()


def test_tasks_together_may_ask_for_more_than_there_is():
    # Some are stopped then, which is no fault.
    jobs = [job.replace(memory=60.0) for job in JOBS]
    instance = INSTANCE.replace(jobs=jobs)
    schedule = coalloc.simulate(instance, Named(NODES)).schedule
    assert rules(schedule, instance) == set()
    assert "duration" in rules(VALID, instance)


@pytest.mark.parametrize(
    "changes",
    [
        {"contract": 0.4},
        {"contract": None},
        {"paging": 0.5, "contract": 0.4},
        {"cooperation": False, "contract": 0.4},
    ],
)
def test_a_schedule_of_other_shares_is_none_of_these(changes):
    # J1 has 0.25 of node 0 while the user is there; with L 0.4 0.2; without a contract a third of it, 1/6.
    other = INSTANCE.replace(platform=PLATFORM.replace(sharing=Sharing(**changes)))
    assert "duration" in rules(VALID, other)
    run = coalloc.simulate(other, Named(NODES))
    assert rules(run.schedule, other) == set()
    assert "duration" in rules(run.schedule)


def test_links_are_strict_or_shared_beside_the_nodes():
    # 10 MB/s over links of 5: with strict links SC is 1, and the load is a fault.
    clusters = [Cluster(name, [NodeGroup(1, power=1.0, multiprogramming=2)], 5.0) for name in ("C1", "C2")]
    wide = Job("J1", tasks=2, base_time=100.0, processing_share=0.5, task_bandwidth=10.0)
    instance = Instance(Platform(clusters), [wide])
    placed = Placement("J1", 0.0, 150.0, ("C1/0.0", "C2/0.0"))
    assert rules(Schedule([placed]), instance) == set()
    strict = coalloc.check(instance, Schedule([placed.replace(end=100.0)]), links="strict")
    assert {v.rule for v in strict} == {"link-load"}


def test_a_load_elsewhere_changes_nothing_for_those_who_share_a_node():
    # A and B have half of C1/0 each, so 100 s of work take 200 s. C comes and goes meanwhile, and loads the links of A,
    # which are wide. B has no load, and one of its nodes is none of A's.
    clusters = [Cluster(name, [NodeGroup(3, power=1.0, multiprogramming=2)], 1000.0) for name in ("C1", "C2")]
    jobs = [Job("A", 2, 100.0, task_bandwidth=1.0), Job("B", 2, 100.0), Job("C", 2, 10.0, task_bandwidth=1.0)]
    placements = [
        Placement("A", 0.0, 200.0, ("C1/0.0", "C2/0.0")),
        Placement("B", 0.0, 200.0, ("C1/0.1", "C1/1.0")),
        Placement("C", 50.0, 60.0, ("C1/2.0", "C2/1.0")),
    ]
    assert rules(Schedule(placements), Instance(Platform(clusters, sharing=Sharing()), jobs)) == set()
