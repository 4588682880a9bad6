"""Problems: modes, speed levels and rounding by hand; and the same schedule space seen in two ways as laws."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import product
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalloc import problem as problems
from coalloc.instance import (
    Cluster,
    CoallocError,
    Instance,
    Job,
    NodeGroup,
    Platform,
    RunningJob,
    Shape,
    Switch,
    Window,
)
from coalloc.instance.constraints import Constraint, Declaration, LatestEnd, NotTogether
from coalloc.problem import Problem, Rounding, compositions, discretise, shortage, slot_seconds
from coalloc.problem.allocation import Scope
from coalloc.testing.constraints import EndBy
from tests.small_instances import slotted_instances
from tests.strategies import LAW


def star(*clusters: tuple[int, float, float]) -> Platform:
    """Return clusters C1, C2, ... of (nodes, power, link bandwidth) around one switch."""
    return Platform(tuple(Cluster(f"C{i}", (NodeGroup(n, p),), b) for i, (n, p, b) in enumerate(clusters, 1)))


def one(platform: Platform, job: Job, slot: float | None = None, saturation: float = 0.0) -> Problem:
    """Return the problem of one job."""
    return discretise(Instance(platform, (job,)), slot, saturation=saturation)


def test_a_mode_has_constant_duration_and_loads() -> None:
    # (2, 1) of 3 tasks: Te = 30 * (0.5 / 0.8 + 0.5) = 33.75 s, 4 slots of 10. Links: 2*6*1/2 = 6 and 1*6*2/2 = 6 MB/s.
    problem = one(star((2, 1.0, 9.0), (2, 0.8, 9.0)), Job("J1", 3, 30.0, 0.5, 6.0), 10.0)
    mode = problem.allocations.mode(problem.jobs[0], (2, 1))
    assert mode.execution_time == pytest.approx(33.75)
    assert mode.duration == 4
    assert isinstance(mode.duration, int)
    assert mode.loads == (6.0, 6.0)
    assert [c.allocation for c in problem.modes[0]] == [(1, 2), (2, 1)]


def test_modes_that_saturate_a_link_alone_are_left_out() -> None:
    # As above on links of 5 MB/s: none; with 20 % more, 6 MB/s, both.
    platform, job = star((2, 1.0, 5.0), (2, 0.8, 5.0)), Job("J1", 3, 30.0, 0.5, 6.0)
    assert one(platform, job).modes == ((),)
    assert len(one(platform, job, saturation=0.2).modes[0]) == 2


def test_links_that_may_saturate_bind_nothing() -> None:
    problem = discretise(
        Instance(star((1, 1.0, 0.0), (1, 1.0, 0.0)), (Job("J1", 2, 9.0, 0.5, 6.0),)), None, links="shared"
    )
    assert problem.allocations.limits == (math.inf, math.inf)
    assert len(problem.modes[0]) == 1


def test_speed_levels_of_equal_duration_are_one() -> None:
    # 10 s on power 1, 0.9 and 0.5: 10, 11.1 and 20 s, that is 1, 2 and 2 slots of 10 s. The slower of the two
    # allows all classes.
    platform = star((2, 1.0, 1.0), (2, 0.9, 1.0), (2, 0.5, 1.0))
    levels = one(platform, Job("J1", 1, 10.0), 10.0).levels[0]
    assert [(level.duration, level.classes) for level in levels] == [(1, (0,)), (2, (0, 1, 2))]


def test_a_level_without_room_is_none() -> None:
    # 3 tasks do not fit on the two fast nodes.
    levels = one(star((2, 1.0, 1.0), (2, 0.5, 1.0)), Job("J1", 3, 10.0), 10.0).levels[0]
    assert [(level.duration, level.classes) for level in levels] == [(2, (0, 1))]


@pytest.mark.parametrize(
    ("seconds", "up", "down"),
    [
        (30.0, 3, 3),
        (30.0 * (1 + 1e-12), 3, 3),
        (30.0 * (1 - 1e-12), 3, 3),
        (30.1, 4, 3),
        (29.9, 3, 2),
        (0.1, 1, 0),
        (0.0, 0, 0),
    ],
)
def test_rounding_to_slots(seconds: float, up: int, down: int) -> None:
    instance = Instance(star((1, 1.0, 1.0)), (Job("J1", 1, 10.0, arrival=seconds),))
    assert discretise(instance, 10.0).releases == (up,)
    assert discretise(instance, 10.0, "down").releases == (down,)
    # In continuous time the nearest of the finest ticks, of 2^-30 s: half a tick away at most.
    assert discretise(instance, None).releases == (pytest.approx(seconds, rel=0.0, abs=2.0**-31),)


def test_running_jobs_are_rounded_like_the_others() -> None:
    running = (RunningJob(Job("R", 2, 99.0, 0.5, 4.0), ("C1/1", "C2/0"), 25.0),)
    instance = Instance(star((2, 1.0, 9.0), (1, 1.0, 9.0)), (), running)
    grids: tuple[tuple[float | None, Rounding, float], ...] = ((10.0, "up", 3), (10.0, "down", 2), (None, "up", 25.0))
    for slot, rounding, end in grids:
        (busy,) = discretise(instance, slot, rounding).busy
        assert (busy.job, busy.end, busy.allocation, busy.loads) == ("R", end, (1, 1), (4.0, 4.0))


def test_links_of_switches_have_the_classes_below_them() -> None:
    clusters = (
        Cluster("A", (NodeGroup(1, 1.0), NodeGroup(2, 0.5)), 9.0, "S"),
        Cluster("B", (NodeGroup(2, 1.0),), 9.0, "S"),
        Cluster("C", (NodeGroup(4, 1.0),), 9.0),
    )
    platform = Platform(clusters, (Switch("S", "root", 9.0),))
    problem = one(platform, Job("J1", 7, 10.0, 0.5, 1.0))
    assert tuple(r.classes for r in problem.resources) == ((0, 1), (2,), (3,), (0, 1, 2))
    # 9 nodes, 5 of them below S: of 7 tasks at least 3, at most 5 are there.
    assert problem.allocations.tasks_within(problem.jobs[0], 3) == range(3, 6)


def test_links_are_contended_where_the_largest_loads_together_would_saturate() -> None:
    # A job of 2 tasks puts at most 10 MB/s on a link: two of them 20, beside 5 of R until its end.
    jobs = (Job("J1", 2, 10.0, 0.5, 10.0), Job("J2", 2, 10.0, 0.5, 10.0))
    running = (RunningJob(Job("R", 2, 99.0, 0.5, 5.0), ("C1/1", "C2/0"), 25.0),)
    platform = star((2, 1.0, 24.0), (2, 1.0, 25.0), (2, 1.0, 20.0))
    assert discretise(Instance(platform, jobs, running), None).contended_links == (0,)


@LAW
@given(st.integers(0, 8), st.lists(st.integers(0, 4), max_size=4))
def test_compositions_are_all_vectors_with_the_total(total: int, limits: list[int]) -> None:
    every = [v for v in product(*(range(limit + 1) for limit in limits)) if sum(v) == total]
    assert list(compositions(total, limits)) == every


@LAW
@given(slotted_instances())
def test_allocations_are_counted_without_listing_them(drawn: tuple[Instance, float]) -> None:
    problem = discretise(*drawn)
    for job in problem.jobs:
        assert problem.allocations.count(job) == sum(1 for _ in problem.allocations.of(job))


@LAW
@given(slotted_instances(), st.sampled_from(["up", "down"]))
def test_levels_have_the_durations_of_modes(drawn: tuple[Instance, float], rounding: Rounding) -> None:
    """Each mode takes as long as the fastest level that allows its classes: the count model's durations."""
    instance, slot = drawn
    problem = discretise(instance, slot, rounding)
    for levels, modes in zip(problem.levels, problem.modes, strict=True):
        durations = [level.duration for level in levels]
        assert durations == sorted(set(durations))
        for mode in modes:
            used = {g for g, count in enumerate(mode.allocation) if count}
            assert mode.duration == next(lv.duration for lv in levels if used <= set(lv.classes))


@LAW
@given(slotted_instances())
def test_rounding_brackets_the_seconds(drawn: tuple[Instance, float]) -> None:
    instance, slot = drawn
    up, down, exact = discretise(instance, slot), discretise(instance, slot, "down"), discretise(instance, None)
    for fine, coarse, seconds in zip(down.releases, up.releases, exact.releases, strict=True):
        assert coarse - fine in (0, 1)
        assert slot * fine <= seconds * (1 + 1e-8)
        assert seconds <= slot * coarse * (1 + 1e-8)


def test_too_many_allocations_are_refused_before_they_are_listed() -> None:
    # 60 tasks on 20 clusters of 30 nodes: more vectors than atoms to list.
    problem = one(star(*[(30, 1.0, 1.0)] * 20), Job("J1", 60, 10.0))
    with pytest.raises(CoallocError, match=f"above the limit of {problems.MAX_MODES:,}; .*formulation='count'"):
        _ = problem.modes


def test_an_unknown_scope_lists_those_there_are() -> None:
    with pytest.raises(CoallocError, match="platform, cluster, node, got 'rack'"):
        discretise(Instance(star((1, 1.0, 1.0)), ()), None, scope=cast(Scope, "rack"))


def test_slots_in_seconds_and_percent() -> None:
    instance = Instance(star((1, 1.0, 1.0)), (Job("J1", 1, 10.0), Job("J2", 1, 30.0)))
    assert slot_seconds(instance, None) is None
    assert slot_seconds(instance, 7) == 7.0
    assert slot_seconds(instance, "50%") == 10.0  # of the mean, 20 s
    assert slot_seconds(instance, " 2.5 % ") == 0.5
    assert slot_seconds(Instance(instance.platform, ()), "50%") == 0.5  # no jobs, no mean: of one second


@pytest.mark.parametrize("slot", ["50", "%", "-5%", "0%", "1e2%", "nan%", 0, -1.0, math.inf, math.nan])
def test_a_slot_that_is_none_is_refused(slot: object) -> None:
    instance = Instance(star((1, 1.0, 1.0)), (Job("J1", 1, 10.0),))
    with pytest.raises(CoallocError, match="slot: must be"):
        slot_seconds(instance, cast(float, slot))


def with_memory(*jobs: Job, running: tuple[RunningJob, ...] = ()) -> Problem:
    """Return the problem of jobs on one node of 4 cores and 1000 MB, two of one core and 300 MB, a slow one without."""
    groups = (NodeGroup(1, 1.0, cores=4, memory=1000.0), NodeGroup(2, 1.0, memory=300.0), NodeGroup(1, 0.5))
    return discretise(Instance(Platform((Cluster("C", groups, 9.0),)), jobs, running), None)


def test_jobs_of_one_kind_differ_in_nothing_that_the_problem_sees() -> None:
    # 10 s and 11 s are two slots of 6 s, 13 s are three; J5 arrives in another slot, J6 in the same as J5; J7 asks for
    # bandwidth.
    jobs = (
        Job("J1", 2, 10.0),
        Job("J2", 2, 13.0),
        Job("J3", 2, 11.0, user="ada"),
        Job("J4", 1, 10.0),
        Job("J5", 2, 10.0, arrival=7.0),
        Job("J6", 2, 11.0, arrival=12.0),
        Job("J7", 2, 10.0, task_bandwidth=1.0),
    )
    instance = Instance(star((2, 1.0, 9.0)), jobs)
    assert discretise(instance, 6.0).kinds == (0, 1, 0, 2, 3, 3, 4)
    assert discretise(instance, None).kinds == (0, 1, 2, 3, 4, 5, 6)


def test_a_constraint_tells_jobs_apart_by_what_it_declares_of_them_and_all_by_faults_of_its_own() -> None:
    class Rows(Constraint):
        def declare(self, instance: Instance) -> Iterable[Declaration]:
            yield NotTogether(("J1", "J3"))

    jobs = (Job("J1", 1, 10.0), Job("J2", 1, 10.0), Job("J3", 1, 10.0, user="ada"))
    instance = Instance(star((2, 1.0, 9.0)), jobs)
    assert discretise(instance, None, constraints=[LatestEnd(50.0)]).kinds == (0, 0, 0)
    assert discretise(instance, None, constraints=[EndBy("J1", 50.0)]).kinds == (0, 1, 2)
    stated = (jobs[0], jobs[1].replace(deadline=90.0), jobs[2].replace(deadline=90.0, eligible=("C1",)))
    assert discretise(instance.replace(jobs=stated), None).kinds == (0, 1, 1)
    assert discretise(instance.replace(jobs=(jobs[0].replace(after=("J2",)), *jobs[1:])), None).kinds == (0, 1, 2)
    assert discretise(instance, None, constraints=[Constraint()]).kinds == (0, 0, 0)
    assert discretise(instance, None, constraints=[Rows()]).kinds == (0, 1, 2)
    more = instance.replace(jobs=(*jobs, Job("J4", 1, 10.0)))
    assert discretise(more, None, constraints=[Rows()]).kinds == (0, 1, 2, 1)


def test_memory_that_is_always_enough_is_no_resource() -> None:
    problem = with_memory(Job("J1", 3, 10.0, memory=250.0), Job("J2", 1, 10.0))
    assert [resource.name for resource in problem.resources] == ["C"]
    assert not problem.is_restricted


def test_the_memory_of_a_node_is_a_resource_after_the_links() -> None:
    # 3 * 260 MB and 260 MB are more than 1000 MB together; each job alone has enough. R holds 100 MB.
    running = (RunningJob(Job("R", 1, 99.0, memory=100.0), ("C/0.3",), 25.0),)
    problem = with_memory(Job("J1", 3, 10.0, memory=260.0), Job("J2", 1, 10.0, memory=260.0), running=running)
    link, memory = problem.resources
    assert (link.name, link.classes, memory.name, memory.classes) == ("C", (0, 1, 2), "C/0", (0,))
    assert problem.allocations.limits == (9.0 * (1.0 + 1e-9), 1000.0 * (1.0 + 1e-9))
    assert (problem.contended_links, problem.contended_memories) == ((), (1,))
    assert problem.busy[0].loads == (0.0, 100.0)
    assert problem.package.limits[1] == pytest.approx(900.0)
    assert problem.allocations.loads(problem.jobs[0], (2, 1, 0)) == (0.0, 520.0)


def test_a_job_is_only_where_it_has_memory() -> None:
    # 400 MB: two tasks on the large node, none on a small one, one on the slow one, which no memory limits.
    problem = with_memory(Job("J1", 2, 10.0, memory=400.0), Job("J2", 3, 10.0, memory=400.0))
    one_job, other = problem.jobs
    assert problem.allocations.rooms(one_job) == (2, 0, 1)
    assert list(problem.allocations.of(one_job)) == [(1, 0, 1), (2, 0, 0)]
    assert problem.allocations.count(other) == 1
    assert [(level.duration, level.classes) for level in problem.levels[0]] == [(10.0, (0,)), (20.0, (0, 2))]
    assert [(level.duration, level.classes) for level in problem.levels[1]] == [(20.0, (0, 2))]


def test_a_job_with_memory_nowhere_is_named() -> None:
    problem = with_memory(Job("J1", 4, 10.0, memory=400.0))
    assert shortage(problem.allocations, problem.jobs[0]) == (
        "job 'J1' requires 400 MB of memory per task: the nodes suffice for 3 of its 4 tasks"
    )
    with pytest.raises(CoallocError, match="the nodes suffice for 3 of its 4 tasks"):
        _ = problem.levels


@LAW
@given(slotted_instances())
def test_load_tables_say_what_allocations_load(drawn: tuple[Instance, float]) -> None:
    problem = discretise(drawn[0], None)
    for job in problem.jobs:
        for k, resource in enumerate(problem.resources):
            table = problem.allocations.load_table(job, k)
            assert len(table) == problem.allocations.tasks_within(job, k).stop
            assert table == [resource.load(tasks, job) for tasks in range(len(table))]


def test_equal_jobs_share_a_load_table_on_equal_links() -> None:
    clusters = star((4, 1.0, 9.0), (4, 0.8, 5.0), (3, 0.8, 5.0))
    jobs = (Job("J1", 6, 30.0, 0.5, 6.0), Job("J2", 6, 60.0, 0.9, 6.0), Job("J3", 6, 30.0, 0.5, 7.0))
    problem = discretise(Instance(clusters, jobs), None)
    first, other = problem.allocations.load_table(jobs[0], 0), problem.allocations.load_table(jobs[1], 1)
    assert first is other
    assert problem.allocations.load_table(jobs[2], 0) != first
    assert problem.allocations.load_table(jobs[0], 2) == first[:4]


def test_a_slot_too_fine_to_count_whole_slots_is_refused() -> None:
    # Two jobs of 500 s in turn take 1000 s: 1e8 slots of 1e-5 s, and no more.
    instance = Instance(star((1, 1.0, 9.0)), (Job("J1", 1, 500.0), Job("J2", 1, 500.0)))
    assert slot_seconds(instance, 1e-5) == 1e-5
    for slot in (1e-310, 5e-324, 9e-6, "0.000001%"):
        with pytest.raises(
            CoallocError, match="slot: must be at least 1e-05 s for the precision of the times of this instance"
        ):
            slot_seconds(instance, slot)
    late = instance.replace(jobs=tuple(job.replace(arrival=1.7e9) for job in instance.jobs))
    assert slot_seconds(late, 1e-4) == 1e-4  # counted from the first arrival
    # There floats are 2^-22 s apart, a tick is 2^-20 s, and times of two jobs are equal within three ticks, 2.9e-6 s.
    with pytest.raises(CoallocError, match=r"slot: must be at least 2\.9e-05 s for the precision"):
        slot_seconds(late, 1e-5)


def test_a_job_of_no_time_is_refused() -> None:
    instance = Instance(star((1, 1.0, 9.0)), (Job("J1", 1, 1e-10), Job("J2", 1, 1.0), Job("J3", 1, 1e-12)))
    with pytest.raises(CoallocError, match=r"job 'J1' has a run time \(base_time or times\) of 1e-10 s, and 1 more"):
        discretise(instance, None)


def test_the_time_that_all_jobs_need_counts_all_that_is_said_of_it() -> None:
    # On a node of availability 0.5 the named 40 s become 80, whatever the power; its window ends at 100 s.
    group = NodeGroup(1, power=4.0, availability=0.5, features=("new",))
    window = Window("C1", start=90.0, end=100.0)
    job = Job("J1", 1, 10.0, times={"new": 40.0})
    instance = Instance(Platform((Cluster("C1", (group,), 1.0),)), (job,))
    assert instance.time_span == 80.0
    assert instance.replace(platform=instance.platform.replace(unavailable=[window])).time_span == 180.0
    moldable = job.replace(tasks=2, times={}, shapes=[Shape(1, 15.0, times={"new": 50.0})])
    wider = Platform((Cluster("C1", (group.replace(count=2),), 1.0),))
    assert Instance(wider, [moldable]).time_span == 100.0


def test_a_named_time_in_which_instants_are_one_is_refused() -> None:
    platform = Platform((Cluster("C1", (NodeGroup(1, 1.0, features=("new",)),), 1.0),))
    with pytest.raises(CoallocError, match=r"job 'J1' has a run time \(base_time or times\) of 1e-10 s: must be"):
        discretise(Instance(platform, (Job("J1", 1, 10.0, times={"new": 1e-10}),)), None)


def test_slots_begin_with_the_first_arrival() -> None:
    jobs = (Job("J1", 1, 10.0, arrival=1.7e9), Job("J2", 1, 10.0, arrival=1.7e9 + 20.0))
    assert discretise(Instance(star((1, 1.0, 9.0)), jobs), 10.0).first_slot == 170_000_000
