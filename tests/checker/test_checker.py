"""The checker accepts what is valid, and names the rule that each mutation breaks."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from coalloc.checker import RULES, Violation, check, overlaps
from coalloc.instance import Cluster, CoallocError, Instance, Job, NodeGroup, Platform, RunningJob, Switch
from coalloc.problem.execution import Load, processing_slowdown, shared_link_ends
from coalloc.schedule import Placement, Schedule
from tests.strategies import LAW, instances, list_schedule, power_of, tasks_loads


def rules(violations: list[Violation]) -> Counter[str]:
    return Counter(violation.rule for violation in violations)


def changed(schedule: Schedule, job: str, **changes: object) -> Schedule:
    """Return the schedule with one placement changed."""
    return schedule.replace(placements=tuple(p.replace(**changes) if p.job == job else p for p in schedule.placements))


@pytest.fixture
def mesd() -> tuple[Instance, Schedule]:
    """Thesis 3.3.4 as corrected in errata 15: N1, N2 of power 0.75, N3 0.5, N4 0.25, N5 0.15."""
    groups = (NodeGroup(2, 0.75), NodeGroup(1, 0.5), NodeGroup(1, 0.25), NodeGroup(1, 0.15))
    jobs = (Job("J1", 2, 100.0, 0.5), Job("J2", 3, 50.0, 0.7), Job("J3", 2, 75.0, 0.5), Job("J4", 2, 100.0, 0.7))
    first = 100.0 * (0.5 / 0.75 + 0.5)  # 116.667
    fourth = first + 100.0 * (0.7 / 0.75 + 0.3)  # 116.667 + 123.333 = 240
    placements = (
        Placement("J1", 0.0, first, ("N/0", "N/1")),
        Placement("J3", 0.0, 187.5, ("N/2", "N/3")),  # 75 * (0.5/0.25 + 0.5)
        Placement("J4", first, fourth, ("N/0", "N/1")),
        Placement("J2", 187.5, 187.5 + 50.0 * (0.7 / 0.15 + 0.3), ("N/2", "N/3", "N/4")),  # 435.833
    )
    return Instance(Platform((Cluster("N", groups, 0.0),)), jobs), Schedule(placements)


@pytest.fixture
def grid() -> tuple[Instance, Schedule]:
    """Two clusters with links of 15 MB/s; J1 and J2 are co-allocated, one after the other, at 13.33 MB/s each.

    Two of four tasks on each side: 2 * 10 * 2/3 = 13.33 MB/s. All nodes are reference nodes, C3 is slower and idle.
    """
    platform = Platform(
        (
            Cluster("C1", (NodeGroup(4, 1.0),), 15.0),
            Cluster("C2", (NodeGroup(4, 1.0),), 15.0),
            Cluster("C3", (NodeGroup(4, 0.5),), 15.0),
        )
    )
    jobs = (
        Job("J1", 4, 100.0, 0.7, 10.0),
        Job("J2", 4, 100.0, 0.7, 10.0, arrival=50.0),
        Job("J3", 2, 30.0, arrival=20.0),
    )
    placements = (
        Placement("J1", 0.0, 100.0, ("C1/0", "C1/1", "C2/0", "C2/1")),
        Placement("J2", 100.0, 200.0, ("C1/2", "C1/3", "C2/2", "C2/3")),
        Placement("J3", 20.0, 50.0, ("C1/2", "C1/3")),
    )
    return Instance(platform, jobs), Schedule(placements)


def test_the_worked_example_of_the_thesis_is_valid(mesd):
    instance, schedule = mesd
    assert [round(p.end, 3) for p in schedule] == [116.667, 187.5, 240.0, 435.833]
    assert check(instance, schedule) == []


def test_the_published_time_of_j2_is_refused(mesd):
    # Table 3.5 prints 258.3 s for J2; by the definitions it takes 248.333 s (errata 15).
    instance, schedule = mesd
    (violation,) = check(instance, changed(schedule, "J2", end=187.5 + 258.3))
    assert violation.rule == "duration"
    assert violation.amount == pytest.approx(258.3)
    assert violation.limit == pytest.approx(50.0 * (0.7 / 0.15 + 0.3))
    assert "too late" in violation.sentence


def test_a_grid_at_its_limits_is_valid(grid):
    assert check(*grid) == []
    assert check(Instance(grid[0].platform, ()), Schedule(())) == []


# Each mutation breaks one rule and no other.
MUTATIONS = {
    "a job dropped": (lambda s: s.replace(placements=s.placements[1:]), "missing-job", ("J1",)),
    "a job placed twice": (
        lambda s: s.replace(placements=(*s.placements, Placement("J3", 20.0, 50.0, ("C2/2", "C2/3")))),
        "duplicate-job",
        ("J3",),
    ),
    "a job of nobody": (
        lambda s: s.replace(placements=(*s.placements, Placement("J9", 20.0, 50.0, ("C2/2", "C2/3")))),
        "unknown-job",
        ("J9",),
    ),
    "start before arrival": (lambda s: changed(s, "J3", start=19.0, end=49.0), "arrival", ("J3",)),
    "shift onto a busy processor": (lambda s: changed(s, "J3", start=171.0, end=201.0), "overlap", ("J2", "J3")),
    "swap to a busy node": (lambda s: changed(s, "J3", nodes=("C1/2", "C1/0")), "overlap", ("J1", "J3")),
    "swap to a slower node": (lambda s: changed(s, "J3", nodes=("C3/2", "C1/3")), "duration", ("J3",)),
    "swap to a foreign node": (lambda s: changed(s, "J3", nodes=("C4/0", "C1/3")), "unknown-processor", ("J3",)),
    "swap to a core that a node does not have": (
        lambda s: changed(s, "J3", nodes=("C1/2.0", "C1/3")),
        "unknown-processor",
        ("J3",),
    ),
    "one task too few": (lambda s: changed(s, "J3", nodes=("C1/2",)), "task-count", ("J3",)),
    "one task too many": (
        lambda s: changed(s, "J3", nodes=("C1/2", "C1/3", "C2/3")),
        "task-count",
        ("J3",),
    ),
    "one processor twice": (lambda s: changed(s, "J3", nodes=("C1/2", "C1/2")), "repeated-processor", ("J3",)),
    "no processors": (lambda s: changed(s, "J3", nodes=()), "task-count", ("J3",)),
    "end too early": (lambda s: changed(s, "J3", end=49.0), "duration", ("J3",)),
    "end too late": (lambda s: changed(s, "J3", end=51.0), "duration", ("J3",)),
    "no time at all": (lambda s: changed(s, "J3", end=20.0), "duration", ("J3",)),
    "end before start": (lambda s: changed(s, "J3", end=10.0), "duration", ("J3",)),
    "a link over its capacity": (lambda s: changed(s, "J1", start=60.0, end=160.0), "link-load", ("J1", "J2")),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_each_mutation_breaks_just_its_rule(grid, name):
    instance, schedule = grid
    mutate, rule, jobs = MUTATIONS[name]
    violations = check(instance, mutate(schedule))
    assert {violation.rule for violation in violations} == {rule}
    assert {violation.jobs for violation in violations} == {jobs}
    assert rule in RULES
    assert all(job in violation.sentence for violation in violations for job in violation.jobs)


def test_too_short_and_too_long_are_told_apart(grid):
    instance, schedule = grid
    (early,) = check(instance, changed(schedule, "J3", end=49.0))
    (late,) = check(instance, changed(schedule, "J3", end=51.0))
    assert early.sentence == "job J3 ends too early: it lasts 29 s, but must last 30 s"
    assert late.sentence == "job J3 ends too late: it lasts 31 s, but must last 30 s"


def test_an_overload_is_one_violation_with_its_peak(grid):
    # J1 [60, 160) and J2 [100, 200) both load C1 and C2: 26.67 MB/s over [100, 160), J3's instants in between included.
    instance, schedule = grid
    moved = changed(
        changed(schedule, "J1", start=60.0, end=160.0), "J3", nodes=("C3/0", "C3/1"), start=110.0, end=170.0
    )
    first, second = check(instance, moved)
    assert (first.where, second.where) == ("C1", "C2")
    assert first.when == 100.0
    assert first.amount == pytest.approx(80.0 / 3.0)
    assert first.limit == 15.0
    assert "from 100 s to 160 s" in first.sentence


def pairs(*spans: tuple[float, float, float], bandwidth: float) -> tuple[Instance, Schedule]:
    """Return jobs A, B, ... of two tasks, given as (start, end, MB/s that each puts on link C1)."""
    names = [chr(ord("A") + i) for i in range(len(spans))]
    clusters = (
        Cluster("C1", (NodeGroup(len(spans), 1.0),), bandwidth),
        Cluster("C2", (NodeGroup(len(spans), 1.0),), 1e12),
    )
    jobs = tuple(
        Job(name, 2, end - start, task_bandwidth=load) for name, (start, end, load) in zip(names, spans, strict=True)
    )
    placements = tuple(
        Placement(name, start, end, (f"C1/{i}", f"C2/{i}"))
        for i, (name, (start, end, _)) in enumerate(zip(names, spans, strict=True))
    )
    return Instance(Platform(clusters), jobs), Schedule(placements)


def test_the_jobs_named_are_those_at_the_peak():
    # 10 MB/s until 5, then 20, from 10 on 25 without A, from 15 on 10 again.
    instance, schedule = pairs((0.0, 10.0, 10.0), (5.0, 20.0, 10.0), (10.0, 15.0, 15.0), bandwidth=12.0)
    (violation,) = check(instance, schedule)
    assert (violation.when, violation.amount, violation.jobs) == (5.0, 25.0, ("B", "C"))
    assert "from 5 s to 15 s" in violation.sentence


def test_a_huge_overload_leaves_no_trace_behind():
    # Adding and removing 1e9/3 and 0.1 leaves rounding errors far above 1e-9 of the capacity, which C just meets.
    instance, schedule = pairs((0.0, 10.0, 1e9 / 3), (5.0, 20.0, 0.1), (20.0, 30.0, 1.0), bandwidth=1.0)
    assert [v.jobs for v in check(instance, schedule)] == [("A", "B")]


def test_tolerated_saturation_moves_the_limit(grid):
    # 26.67 MB/s on 15 MB/s need a tolerance of 7/9; SC counts as 1 all the same.
    instance, schedule = grid
    crowded = changed(schedule, "J1", start=60.0, end=160.0)
    assert rules(check(instance, crowded, saturation=0.77)) == {"link-load": 2}
    assert check(instance, crowded, saturation=7.0 / 9.0) == []
    assert check(instance, crowded, links="ignore") == []


def test_a_link_at_its_limit_is_not_saturated(grid):
    instance, schedule = grid
    clusters = tuple(cluster.replace(link_bandwidth=40.0 / 3.0) for cluster in instance.platform.clusters)
    assert check(instance.replace(platform=Platform(clusters)), schedule) == []


def test_cascaded_switches_carry_what_crosses_them():
    # 4 tasks: A 2, B 1 below S1, C 1 beside it, 9 MB/s each. A: 2*9*2/3 = 12, B and C: 1*9*3/3 = 9, S1: 3*9*1/3 = 9.
    def platform(a: float, b: float, c: float, s1: float) -> Platform:
        group = (NodeGroup(2, 1.0),)
        clusters = (Cluster("A", group, a, "S1"), Cluster("B", group, b, "S1"), Cluster("C", group, c, "S0"))
        return Platform(clusters, (Switch("S1", "S0", s1),))

    job = Job("J1", 4, 10.0, task_bandwidth=9.0)
    schedule = Schedule((Placement("J1", 0.0, 10.0, ("A/0", "A/1", "B/0", "C/0")),))
    assert check(Instance(platform(12.0, 9.0, 9.0, 9.0), (job,)), schedule) == []
    violations = check(Instance(platform(11.9, 8.9, 8.9, 8.9), (job,)), schedule)
    assert [(v.where, round(v.amount, 9)) for v in violations] == [("A", 12.0), ("B", 9.0), ("C", 9.0), ("S1", 9.0)]


def test_a_link_of_no_bandwidth_carries_nothing(grid):
    instance, schedule = grid
    clusters = tuple(cluster.replace(link_bandwidth=0.0) for cluster in instance.platform.clusters)
    closed = instance.replace(platform=Platform(clusters))
    assert [(v.where, v.when, v.limit) for v in check(closed, schedule)] == [("C1", 0.0, 0.0), ("C2", 0.0, 0.0)]


def test_scopes(grid):
    instance, schedule = grid
    assert [v.jobs for v in check(instance, schedule, scope="cluster")] == [("J1",), ("J2",)]
    assert [v.amount for v in check(instance, schedule, scope="node")] == [4, 4, 2]
    cores = Instance(Platform((Cluster("C1", (NodeGroup(2, 1.0, cores=2),), 0.0),)), (Job("J1", 2, 10.0),))
    one_node, two_nodes = (
        Schedule((Placement("J1", 0.0, 10.0, n),)) for n in (("C1/1.0", "C1/1.1"), ("C1/0.1", "C1/1.0"))
    )
    assert check(cores, one_node, scope="node") == []
    assert rules(check(cores, two_nodes, scope="node")) == {"scope": 1}
    assert check(cores, two_nodes, scope="cluster") == []


def test_running_jobs_hold_processors_and_load_links_until_they_end(grid):
    instance, schedule = grid
    running = RunningJob(Job("R1", 2, 500.0, task_bandwidth=2.0), ("C1/2", "C2/2"), 30.0)  # 2 MB/s on C1 and C2
    violations = check(instance.replace(running=(running,)), schedule)
    assert [(v.rule, v.jobs, v.where, v.when) for v in violations] == [
        ("overlap", ("R1", "J3"), "C1/2", 20.0),
        ("link-load", ("R1", "J1"), "C1", 0.0),  # 13.33 + 2 > 15 until 30
        ("link-load", ("R1", "J1"), "C2", 0.0),
    ]
    assert "from 20 s to 30 s" in violations[0].sentence
    assert "from 0 s to 30 s" in violations[1].sentence
    early = instance.replace(running=(running.replace(end=20.0, job=running.job.replace(task_bandwidth=0.0)),))
    assert check(early, schedule) == []


def test_what_running_jobs_do_alone_is_not_the_schedules_fault(grid):
    instance, schedule = grid
    heavy = RunningJob(Job("R1", 2, 500.0, task_bandwidth=99.0), ("C1/2", "C3/2"), 10.0)
    late = changed(schedule, "J1", start=10.0, end=110.0)
    late = changed(late, "J2", start=110.0, end=210.0)
    assert check(instance.replace(running=(heavy,)), late) == []
    assert rules(check(instance.replace(running=(heavy,)), schedule)) == {"link-load": 1}


@pytest.fixture
def memory() -> tuple[Instance, Schedule]:
    """A node of 4 cores and 1000 MB, two of one core and 400 MB, one of one core without a limit; base times of 10 s.

    J1 asks for 2 * 300 MB, J2 and J4 for 400 MB, J3 for nothing.
    """
    groups = (NodeGroup(1, 1.0, cores=4, memory=1000.0), NodeGroup(2, 1.0, memory=400.0), NodeGroup(1, 1.0))
    jobs = (
        Job("J1", 2, 10.0, memory=300.0),
        Job("J2", 1, 10.0, memory=400.0),
        Job("J3", 1, 10.0),
        Job("J4", 1, 10.0, memory=400.0),
    )
    placements = (
        Placement("J1", 0.0, 10.0, ("C/0.0", "C/0.1")),
        Placement("J2", 0.0, 10.0, ("C/0.2",)),
        Placement("J3", 0.0, 10.0, ("C/0.3",)),
        Placement("J4", 5.0, 15.0, ("C/1",)),
    )
    return Instance(Platform((Cluster("C", groups, 0.0),)), jobs), Schedule(placements)


def test_nodes_at_the_limit_of_their_memory_are_valid(memory):
    # 600 + 400 of 1000 MB, 400 of 400 MB; J4 after J2, in its memory.
    instance, schedule = memory
    assert check(instance, schedule) == []
    assert check(instance, changed(schedule, "J4", start=10.0, end=20.0, nodes=("C/0.2",))) == []


@pytest.mark.parametrize("links", ["strict", "shared", "ignore"])
def test_the_tasks_on_a_node_share_its_memory(memory, links):
    # J4 on the large node asks for 400 MB more than its 1000 MB from 5 to 10.
    instance, schedule = memory
    late = changed(schedule, "J3", start=20.0, end=30.0)
    (violation,) = check(instance, changed(late, "J4", nodes=("C/0.3",)), links=links)
    assert (violation.rule, violation.jobs, violation.where) == ("memory", ("J1", "J2", "J4"), "C/0")
    assert (violation.when, violation.amount, violation.limit) == (5.0, 1400.0, 1000.0)
    assert violation.sentence == (
        "tasks on node C/0 require up to 1400 MB of memory from 5 s to 10 s, but it has 1000 MB; jobs then: J1, J2, J4"
    )


def test_a_task_that_asks_for_more_than_a_node_has_is_named_on_each(memory):
    instance, schedule = memory
    jobs = tuple(job.replace(memory=401.0) if job.id in ("J2", "J4") else job for job in instance.jobs)
    moved = changed(schedule, "J2", nodes=("C/2",))
    violations = check(instance.replace(jobs=jobs), moved)
    assert [(v.rule, v.jobs, v.where, v.amount) for v in violations] == [
        ("memory", ("J4",), "C/1", 401.0),
        ("memory", ("J2",), "C/2", 401.0),
    ]
    unlimited = changed(changed(schedule, "J2", nodes=("C/3",)), "J4", start=10.0, end=20.0, nodes=("C/3",))
    assert check(instance.replace(jobs=jobs), unlimited) == []


def test_running_jobs_hold_memory_and_what_they_overload_alone_is_not_the_schedules_fault(memory):
    instance, schedule = memory
    alone = Schedule(tuple(p for p in schedule if p.job in ("J1", "J3")))
    jobs = tuple(job for job in instance.jobs if job.id in ("J1", "J3"))
    running = RunningJob(Job("R", 1, 99.0, memory=401.0), ("C/0.2",), 8.0)
    beside = instance.replace(jobs=jobs, running=(running,))
    (violation,) = check(beside, alone)  # 600 + 401 MB
    assert (violation.rule, violation.jobs, violation.when) == ("memory", ("R", "J1"), 0.0)
    heavy = running.replace(job=running.job.replace(memory=2000.0))
    after = changed(alone, "J1", start=8.0, end=18.0)
    assert check(instance.replace(jobs=jobs, running=(heavy,)), after) == []  # J3 asks for nothing


def test_a_running_job_is_not_placed_again(grid):
    instance, schedule = grid
    running = RunningJob(Job("R1", 1, 5.0), ("C3/0",), 5.0)
    again = schedule.replace(placements=(*schedule.placements, Placement("R1", 5.0, 10.0, ("C3/0",))))
    (violation,) = check(instance.replace(running=(running,)), again)
    assert (violation.rule, violation.sentence) == ("unknown-job", "job R1 is already running and must not be placed")


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


def test_back_to_back_jobs_do_not_overlap_by_rounding():
    # 0.1 + 0.2 is a little more than 0.3.
    instance = Instance(
        Platform((Cluster("C1", (NodeGroup(1, 1.0),), 0.0),)), (Job("A", 1, 0.1), Job("B", 1, 0.2), Job("C", 1, 1.0))
    )
    nodes = ("C1/0",)
    tight = Schedule(
        (Placement("A", 0.0, 0.1, nodes), Placement("B", 0.1, 0.1 + 0.2, nodes), Placement("C", 0.3, 1.3, nodes))
    )
    assert tight["B"].end > tight["C"].start
    assert check(instance, tight) == []
    assert rules(check(instance, changed(tight, "C", start=0.29, end=1.29))) == {"overlap": 1}


def pile(size: int) -> tuple[Instance, Schedule]:
    """Return ``size`` jobs on the same two processors at the same time."""
    platform = Platform((Cluster("C1", (NodeGroup(2, 1.0),), 0.0),))
    jobs = tuple(Job(f"J{i}", 2, 10.0 + i) for i in range(size))
    return Instance(platform, jobs), Schedule(tuple(Placement(j.id, 0.0, j.base_time, ("C1/0", "C1/1")) for j in jobs))


def test_every_overlapping_pair_is_reported_once_with_its_processors():
    violations = check(*pile(4))
    assert [v.jobs for v in violations] == [(f"J{i}", f"J{k}") for i in range(4) for k in range(i + 1, 4)]
    assert {v.where for v in violations} == {"C1/0-1"}


def test_a_hopeless_schedule_names_each_job_but_not_each_pair(monkeypatch):
    monkeypatch.setattr(overlaps, "OVERLAP_PAIRS", 50)
    instance, schedule = pile(20)
    violations = check(instance, schedule)
    assert rules(violations) == {"overlap": 19}
    assert {job for v in violations for job in v.jobs} == set(instance.job_by_id)


def test_jobs_back_to_back_do_not_count_as_a_hopeless_schedule(monkeypatch):
    # J0, J1, J2 overlap in 3 pairs on 2 processors, which makes 6; the chain behind them makes none.
    monkeypatch.setattr(overlaps, "OVERLAP_PAIRS", 6)
    instance, schedule = pile(6)
    chain = schedule
    for i, start in ((3, 12.0), (4, 25.0), (5, 39.0)):
        chain = changed(chain, f"J{i}", start=start, end=start + 10.0 + i)
    assert [v.jobs for v in check(instance, chain)] == [("J0", "J1"), ("J0", "J2"), ("J1", "J2")]


def test_a_bad_schedule_never_raises_and_every_fault_is_reported(grid):
    instance, _ = grid
    placements = (
        Placement("J1", -5.0, -7.0, ("C1/0", "C1/0", "nowhere", "\x1b[31m")),
        Placement("J1", 1e300, 1e301, ()),
        Placement("<script>", -1e308, 1e308, ("C1/0",)),
        Placement("J3", 0.0, 0.0, ("C2/0", "C2/0", "C2/1")),
    )
    violations = check(instance, Schedule(placements, slot=1e-300))
    assert rules(violations) == {
        "missing-job": 1,  # J2
        "duplicate-job": 1,  # J1
        "unknown-job": 1,  # the script
        "task-count": 2,  # J1's second, J3
        "repeated-processor": 2,
        "unknown-processor": 2,  # nowhere, the escape sequence
        "arrival": 2,  # J1 at -5, J3 at 0
        "duration": 2,  # J1 ends before it starts, J3 takes no time
    }
    assert all(v.sentence.isprintable() and v.rule in RULES for v in violations)
    for links in ("shared", "ignore"):
        assert {v.rule for v in check(instance, Schedule(placements), links=links)} >= {"missing-job", "duration"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"links": "none"}, "links: must be 'strict', 'shared' or 'ignore', got 'none'"),
        ({"scope": "rack"}, "scope: must be 'platform', 'cluster' or 'node', got 'rack'"),
        ({"saturation": -0.1}, "saturation: must be finite and at least 0, got -0.1"),
        ({"saturation": float("inf")}, "saturation: must be finite and at least 0, got inf"),
        ({"saturation": float("nan")}, "saturation: must be a number, got nan"),
        ({"saturation": True}, "saturation: must be a number, got True"),
        ({"saturation": "10%"}, "saturation: must be a number, got '10%'"),
        ({"links": "shared", "saturation": 0.1}, "saturation=0.1 requires links='strict', got links='shared'"),
    ],
)
def test_what_is_not_supported_is_one_error_that_lists_what_is(grid, options, message):
    with pytest.raises(CoallocError) as caught:
        check(*grid, **options)
    assert str(caught.value) == message


# ---------------------------------------------------------------------------------------- shared links


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


# ---------------------------------------------------------------------------------------- laws


@st.composite
def valid_schedules(draw: st.DrawFn) -> tuple[Instance, Schedule, str]:
    """Draw a valid schedule with at least one job, its instance and its scope; Z/0 is the slowest node, and idle."""
    instance = draw(instances(min_jobs=2, max_cores=2, switches=2, max_running=2))
    scope = draw(st.sampled_from(("platform", "platform", "cluster", "node")))
    reduced, schedule = list_schedule(instance, scope, slot=draw(st.sampled_from((None, None, 40.0))))
    assume(len(schedule) > 0)
    slowest = Cluster("Z", (NodeGroup(1, 0.01),), 1e9)
    platform = Platform((*instance.platform.clusters, slowest), instance.platform.switches)
    return reduced.replace(platform=platform), schedule, scope


def drop(_: Instance, schedule: Schedule, chosen: Placement) -> Schedule:
    return schedule.replace(placements=tuple(p for p in schedule if p is not chosen))


def place_twice(_: Instance, schedule: Schedule, chosen: Placement) -> Schedule:
    return schedule.replace(placements=(*schedule.placements, chosen))


def start_early(instance: Instance, schedule: Schedule, chosen: Placement) -> Schedule:
    length = chosen.end - chosen.start
    start = instance.job_by_id[chosen.job].arrival - 1.0
    return changed(schedule, chosen.job, start=start, end=start + length)


def end_early(_: Instance, schedule: Schedule, chosen: Placement) -> Schedule:
    return changed(schedule, chosen.job, end=chosen.start + 0.99 * (chosen.end - chosen.start))


def end_late(_: Instance, schedule: Schedule, chosen: Placement) -> Schedule:
    return changed(schedule, chosen.job, end=chosen.start + 1.01 * (chosen.end - chosen.start))


def one_task_less(_: Instance, schedule: Schedule, chosen: Placement) -> Schedule:
    return changed(schedule, chosen.job, nodes=chosen.nodes[1:])


def to_foreign_node(_: Instance, schedule: Schedule, chosen: Placement) -> Schedule:
    return changed(schedule, chosen.job, nodes=("C9/0", *chosen.nodes[1:]))


def to_slower_node(instance: Instance, schedule: Schedule, chosen: Placement) -> Schedule:
    assume(instance.job_by_id[chosen.job].processing_share > 0.0)
    return changed(schedule, chosen.job, nodes=("Z/0", *chosen.nodes[1:]))


def onto_busy_processor(_: Instance, schedule: Schedule, chosen: Placement) -> Schedule:
    other = next((p for p in schedule if p is not chosen), None)
    assume(other is not None)
    busy = other.nodes[0]
    nodes = (busy, *(name for name in chosen.nodes if name != busy))[: len(chosen.nodes)]
    return changed(schedule, chosen.job, start=other.start, end=other.start + chosen.end - chosen.start, nodes=nodes)


SINGLE_MUTATIONS = {
    drop: "missing-job",
    place_twice: "duplicate-job",
    start_early: "arrival",
    end_early: "duration",
    end_late: "duration",
    one_task_less: "task-count",
    to_foreign_node: "unknown-processor",
    to_slower_node: "duration",
    onto_busy_processor: "overlap",
}


@LAW
@given(valid_schedules())
def test_a_list_schedule_is_valid(drawn):
    instance, schedule, scope = drawn
    assert check(instance, schedule, scope=scope) == []
    assert check(instance, schedule, links="ignore", scope=scope) == []


@pytest.mark.parametrize("mutate", SINGLE_MUTATIONS, ids=lambda mutate: mutate.__name__)
@LAW
@given(drawn=valid_schedules(), data=st.data())
def test_every_single_mutation_is_named(mutate, drawn, data):
    instance, schedule, scope = drawn
    chosen = data.draw(st.sampled_from(schedule.placements))
    violations = check(instance, mutate(instance, schedule, chosen), scope=scope)
    assert any(v.rule == SINGLE_MUTATIONS[mutate] and chosen.job in v.jobs for v in violations)


@LAW
@given(
    here=st.integers(1, 4), there=st.integers(1, 4), num_jobs=st.integers(1, 4), task_bandwidth=st.floats(0.01, 100.0)
)
def test_a_link_narrower_than_its_load_is_named(here, there, num_jobs, task_bandwidth):
    # Each job puts here * PTBW * there/(here + there - 1) on both links; all of them run at once.
    load = num_jobs * here * task_bandwidth * there / (here + there - 1)
    jobs = tuple(Job(f"J{i}", here + there, 10.0, task_bandwidth=task_bandwidth) for i in range(num_jobs))
    placements = tuple(
        Placement(
            f"J{i}",
            float(i),
            i + 10.0,
            (*(f"C1/{i * here + k}" for k in range(here)), *(f"C2/{i * there + k}" for k in range(there))),
        )
        for i in range(num_jobs)
    )

    def found(bandwidth: float) -> list[Violation]:
        clusters = (
            Cluster("C1", (NodeGroup(num_jobs * here, 1.0),), bandwidth),
            Cluster("C2", (NodeGroup(num_jobs * there, 1.0),), 1e9),
        )
        return check(Instance(Platform(clusters), jobs), Schedule(placements))

    assert found(load) == []
    (violation,) = found(0.99 * load)
    assert (violation.rule, violation.where, violation.when) == ("link-load", "C1", num_jobs - 1.0)
    assert violation.amount == pytest.approx(load)
    assert violation.jobs == tuple(job.id for job in jobs)


# ---------------------------------------------------------------------------------------- ranges of processors


@pytest.fixture
def cores() -> tuple[Instance, Schedule]:
    """Four nodes of one core, then four of four; J1 on six of their cores, J2 on all nodes but one."""
    platform = Platform([Cluster("C1", [NodeGroup(4, 1.0), NodeGroup(4, 1.0, cores=4)], 1.0)])
    jobs = [Job("J1", 6, 10.0), Job("J2", 13, 10.0)]
    placements = [
        Placement("J1", 0.0, 10.0, ["C1/0-1", "C1/4-5.2-3"]),
        Placement("J2", 0.0, 10.0, ["C1/2", "C1/4-5.0-1", "C1/6-7.0-3"]),
    ]
    return Instance(platform, jobs), Schedule(placements)


@pytest.mark.parametrize(
    ("nodes", "found"),
    [
        (["C1/2", "C1/4-5.0-1", "C1/6-7.0-3"], []),
        (["C1/1-2", "C1/4.0-1", "C1/5.0", "C1/6-7.0-3"], [("overlap", "C1/1")]),
        (["C1/2", "C1/4-7.2", "C1/6-7.0-1", "C1/6-7.3", "C1/4-5.0"], [("overlap", "C1/4-5.2")]),
        (
            ["C1/2", "C1/4-5.0-1", "C1/6-7.0-2", "C1/7.1-2"],
            [("repeated-processor", "C1/7.1"), ("repeated-processor", "C1/7.2")],
        ),
        (["C1/2-3", "C1/2", "C1/4.0-1", "C1/6-7.0-3"], [("repeated-processor", "C1/2")]),
        (["C1/2", "C1/4-5.0-1", "C1/6-9.0-1"], [("unknown-processor", "C1/8-9.0-1")]),
        (["C1/2", "C1/4-5.0-1", "C1/6-7.2-5"], [("unknown-processor", "C1/6-7.4-5")]),
        (["C1/2-5", "C1/6-7.0-3", "C1/3.0"], [("unknown-processor", "C1/4-5"), ("unknown-processor", "C1/3.0")]),
        (["C2/0-12"], [("unknown-processor", "C2/0-12")]),
        (["C1/2", "C1/4-5.0-1", "C1/6-7.0-2"], [("task-count", "")]),
    ],
)
def test_ranges_are_checked_as_the_processors_that_they_are(cores, nodes, found):
    instance, schedule = cores
    violations = check(instance, changed(schedule, "J2", nodes=nodes))
    assert [(v.rule, v.where) for v in violations] == found
    one_by_one = changed(
        schedule, "J2", nodes=tuple(schedule.replace(placements=[Placement("J2", 0.0, 10.0, nodes)])["J2"].nodes)
    )
    assert check(instance, one_by_one) == violations


def test_a_huge_range_is_a_violation_and_takes_no_memory(cores):
    # Ten million names twice, of which twenty are processors.
    instance, schedule = cores
    violations = check(instance, changed(schedule, "J2", nodes=["C1/0-9999999", "C1/0-9999999"]))
    assert [(v.rule, v.where) for v in violations] == [
        ("task-count", ""),
        ("repeated-processor", "C1/0-9999999"),
        ("unknown-processor", "C1/4-7"),  # nodes of four cores have names with a core
        ("unknown-processor", "C1/8-9999999"),
        ("overlap", "C1/0-1"),
    ]


def test_a_node_is_one_for_the_scope_however_its_cores_are_named(cores):
    instance, _ = cores
    alone = instance.replace(jobs=[Job("J1", 3, 10.0)])
    for nodes, amounts in ((["C1/4.0", "C1/4.2-3"], []), (["C1/4.3", "C1/5.0", "C1/5.2"], [2]), (["C1/0-2"], [3])):
        violations = check(alone, Schedule([Placement("J1", 0.0, 10.0, nodes)]), scope="node")
        assert [v.amount for v in violations] == amounts
