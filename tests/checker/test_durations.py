"""Execution times: in slots, of killed jobs, with times by feature, and on shared links."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from coalloc.checker import check
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.problem.execution import Load, processing_slowdown, shared_link_ends
from coalloc.schedule import Placement, Schedule
from tests.checker.changes import changed, rules
from tests.strategies import LAW, instances, power_of, tasks_loads


def test_too_short_and_too_long_are_told_apart(grid):
    instance, schedule = grid
    (early,) = check(instance, changed(schedule, "J3", end=49.0))
    (late,) = check(instance, changed(schedule, "J3", end=51.0))
    assert early.sentence == "job J3 ends too early: it lasts 29 s, but must last 30 s"
    assert late.sentence == "job J3 ends too late: it lasts 31 s, but must last 30 s"


@pytest.mark.parametrize(
    ("end", "verdict"), [(150.0, None), (100.0, "too early"), (116.667, "too early"), (200.0, "too late")]
)
def test_slotted_jobs_last_whole_slots(mesd, end, verdict):
    # J1 takes 116.667 s: three slots of 50 s, neither fewer nor more.
    instance, _ = mesd
    instance = instance.replace(jobs=instance.jobs[:1])
    violations = check(instance, Schedule((Placement("J1", 0.0, end, ("N/0", "N/1")),), slot=50.0))
    assert [verdict in v.sentence for v in violations] == [True] * (verdict is not None)
    assert all((v.rule, v.limit) == ("duration", 150.0) for v in violations)


def test_a_whole_number_of_slots_is_not_rounded_up_by_noise():
    instance = Instance(
        Platform((Cluster("C1", (NodeGroup(1, 1.0),), 0.0),)), (Job("J1", 1, 0.1 * 3),)
    )  # 0.30000000000000004
    assert check(instance, Schedule((Placement("J1", 0.0, 0.3, ("C1/0",)),), slot=0.1)) == []


def test_killed_jobs_last_at_most_their_execution_time(grid):
    instance, schedule = grid
    assert check(instance, changed(schedule, "J3", end=30.0, outcome="killed")) == []
    assert check(instance, changed(schedule, "J3", end=50.0, outcome="killed")) == []
    (violation,) = check(instance, changed(schedule, "J3", end=51.0, outcome="killed"))
    assert (violation.rule, "at most" in violation.sentence) == ("duration", True)
    assert rules(check(instance, changed(schedule, "J3", end=10.0, outcome="killed"))) == {"duration": 1}


TIMED = Instance(
    Platform(
        [
            Cluster("C1", [NodeGroup(2, 2.0, availability=0.5, features=["fast"]), NodeGroup(1, 0.5)], 100.0),
            Cluster("C2", [NodeGroup(2, 1.0, features=["slow"])], 100.0),
        ]
    ),
    [Job("A", 2, 10.0, processing_share=0.6, times={"fast": 4.0, "slow": 30.0})],
)


@pytest.mark.parametrize(
    ("nodes", "seconds", "slots"),
    [
        # On C1/0-1: 4 (0.6/0.5 + 0.4) = 6.4. On C1/2, which no name fits: 10 (0.6/0.5 + 0.4) = 16. On C2: 30.
        (["C1/0", "C1/1"], 6.4, 1),
        (["C1/0", "C1/2"], 16.0, 3),
        (["C1/0", "C2/0"], 30.0, 5),
        (["C2/1", "C2/0"], 30.0, 5),
    ],
)
def test_the_slowest_task_decides_by_the_times_that_a_job_names(nodes, seconds, slots):
    assert check(TIMED, Schedule([Placement("A", 5.0, 5.0 + seconds, nodes)])) == []
    assert rules(check(TIMED, Schedule([Placement("A", 5.0, 5.1 + seconds, nodes)]))) == {"duration": 1}
    in_slots = Schedule([Placement("A", 7.0, 7.0 + 7.0 * slots, nodes)], slot=7.0)
    assert check(TIMED, in_slots) == []


@pytest.fixture
def crossing() -> Instance:
    """Two jobs over links of 10 and 40 MB/s, each loading both with 20 MB/s: alone SC 2, together 4; SP is 2."""
    platform = Platform((Cluster("C1", (NodeGroup(2, 0.5),), 10.0), Cluster("C2", (NodeGroup(2, 0.5),), 40.0)))
    return Instance(platform, tuple(Job(id, 2, 100.0, 0.5, task_bandwidth=20.0) for id in ("J1", "J2")))


def crossing_schedule(first: float, second: float) -> Schedule:
    return Schedule((Placement("J1", 0.0, first, ("C1/0", "C2/0")), Placement("J2", 100.0, second, ("C1/1", "C2/1"))))


def test_progress_under_shared_links_is_integrated(crossing):
    # Alone Te = 100 * (0.5*2 + 0.5*2) = 200, together 100 * (0.5*2 + 0.5*4) = 300.
    # J1: half alone by 100, the other half together takes 150: ends at 250. J2 has made 150/300 by then, and
    # makes the rest alone in 100: ends at 350.
    assert check(crossing, crossing_schedule(250.0, 350.0), links="shared") == []
    violations = check(crossing, crossing_schedule(250.0, 349.0), links="shared")
    assert [(v.rule, v.jobs, v.limit) for v in violations] == [("duration", ("J2",), 1.0)]
    assert violations[0].amount == pytest.approx(1.0 - 1.0 / 200.0)
    assert "too early" in violations[0].sentence
    assert [v.jobs for v in check(crossing, crossing_schedule(250.0, 351.0), links="shared")] == [("J2",)]
    assert {v.rule for v in check(crossing, crossing_schedule(250.0, 350.0))} == {"duration", "link-load"}


def test_a_shared_schedule_in_slots_makes_at_least_all_progress(crossing):
    coarse = crossing_schedule(300.0, 400.0).replace(
        slot=100.0
    )  # J1 holds the links until 300: J2 has 200/300 + 100/200
    assert check(crossing, coarse, links="shared") == []
    assert [v.jobs for v in check(crossing, crossing_schedule(200.0, 300.0).replace(slot=100.0), links="shared")] == [
        ("J1",),  # 100/200 + 100/300
        ("J2",),  # 100/300 + 100/200
    ]


def test_a_killed_job_on_shared_links_makes_at_most_all_progress(crossing):
    killed = crossing_schedule(250.0, 300.0)
    assert check(crossing, changed(killed, "J2", outcome="killed"), links="shared") == []
    late = changed(crossing_schedule(250.0, 360.0), "J2", outcome="killed")
    assert [v.jobs for v in check(crossing, late, links="shared")] == [("J2",)]
    assert [v.jobs for v in check(crossing, late.replace(slot=10.0), links="shared")] == [("J2",)]


def test_on_a_shared_link_of_no_bandwidth_nothing_progresses(crossing):
    clusters = tuple(cluster.replace(link_bandwidth=0.0) for cluster in crossing.platform.clusters)
    closed = crossing.replace(platform=Platform(clusters))
    violations = check(closed, crossing_schedule(1e9, 1e9), links="shared")
    assert [(v.rule, v.amount) for v in violations] == [("duration", 0.0), ("duration", 0.0)]
    apart = Schedule((Placement("J1", 0.0, 150.0, ("C1/0", "C1/1")), Placement("J2", 0.0, 150.0, ("C2/0", "C2/1"))))
    assert check(closed, apart, links="shared") == []  # nobody loads the links: Te = 100 * (0.5*2 + 0.5)


def test_progress_of_a_short_job_late_is_not_judged_by_rounding():
    # Near 1e6 s a float is off by up to 6e-11 s, which is 6e-9 of a job of 0.01 s.
    jobs = tuple(Job(f"J{i}", 1, 0.01 + 0.0007 * i) for i in range(10))
    instance = Instance(Platform((Cluster("C1", (NodeGroup(1, 1.0),), 0.0),)), jobs)
    placements = tuple(Placement(job.id, 1e6 + i, 1e6 + i + job.base_time, ("C1/0",)) for i, job in enumerate(jobs))
    errors = [(p.end - p.start) / job.base_time - 1.0 for p, job in zip(placements, jobs, strict=True)]
    assert max(map(abs, errors)) > 1e-9
    assert check(instance, Schedule(placements), links="shared") == []


@st.composite
def shared_schedules(draw: st.DrawFn) -> tuple[Instance, Schedule]:
    """Draw starts on distinct free processors, and let ``shared_link_ends`` say when the jobs end."""
    instance = draw(instances(max_nodes=5, max_cores=2, switches=2, max_running=2, max_tasks=4))
    held = {name for run in instance.running for name in run.nodes}
    free = draw(st.permutations([name for name in instance.platform.processor_names if name not in held]))
    nodes = {}
    for job in instance.jobs:
        if job.tasks <= len(free):
            nodes[job.id], free = tuple(free[: job.tasks]), free[job.tasks :]
    jobs = tuple(job for job in instance.jobs if job.id in nodes)
    loads = {
        job.id: Load(
            job,
            job.arrival + draw(st.sampled_from((0.0, 25.0))),
            tasks_loads(instance, job, nodes[job.id]),
            processing_slowdown(power_of(instance, name) for name in nodes[job.id]),
        )
        for job in jobs
    }
    loads |= {
        run.job.id: Load(run.job, 0.0, tasks_loads(instance, run.job, run.nodes), 1.0, run.end)
        for run in instance.running
    }
    ends = shared_link_ends(loads, [link.bandwidth for link in instance.platform.links])
    assume(all(end < 1e9 for end in ends.values()))
    placements = tuple(Placement(job.id, loads[job.id].start, ends[job.id], nodes[job.id]) for job in jobs)
    return instance.replace(jobs=jobs), Schedule(placements)


@LAW
@given(shared_schedules())
def test_what_shared_link_ends_says_is_what_the_integral_says(drawn):
    instance, schedule = drawn
    assert check(instance, schedule, links="shared") == []


@LAW
@given(shared_schedules(), st.sampled_from((0.9, 1.1)), st.data())
def test_an_end_moved_on_shared_links_is_found(drawn, factor, data):
    instance, schedule = drawn
    assume(len(schedule) > 0)
    chosen = data.draw(st.sampled_from(schedule.placements))
    moved = changed(schedule, chosen.job, end=chosen.start + factor * (chosen.end - chosen.start))
    found = [v for v in check(instance, moved, links="shared") if v.jobs == (chosen.job,)]
    assert [v.rule for v in found] == ["duration"]


def test_progress_is_counted_from_the_start_itself():
    # Times within the tolerance of the one before count as one: those of eleven jobs in 20 ns, here. K lasts 1 s.
    times = [1.0 + 2e-9 * k for k in range(11)]
    short = [Job(f"J{k}", 1, 2e-9, arrival=1.0) for k in range(10)]
    platform = Platform([Cluster("C1", [NodeGroup(1, 1.0)], 1.0)])
    instance = Instance(platform, [*short, Job("K", 1, 1.0, arrival=1.0)])
    ends = [*times[1:], times[-1] + 1.0]
    jobs = [job.id for job in instance.jobs]
    placements = [Placement(*row, ["C1/0"]) for row in zip(jobs, times, ends, strict=True)]
    assert instance.time_base.tolerance < 20e-9
    assert not check(instance, Schedule(placements), links="shared")
