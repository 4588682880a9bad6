import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalloc.instance import Cluster, CoallocError, Instance, Job, NodeGroup, Platform, RunningJob, Switch, Window
from coalloc.plot.interactive import hover_text
from coalloc.plot.layout import (
    GAP_SHARE,
    SMALLEST_GAP,
    LinkCurve,
    Presence,
    StoppedPart,
    cluster_detail,
    connectors,
    is_hatched,
    is_joined,
    layout_of,
    link_curve,
    most_loaded,
    numbered_nodes,
    pieces_of,
    strips_title,
)
from coalloc.problem.execution import link_load
from coalloc.schedule import Failure, InterruptedRun, Placement, Schedule
from tests.plot.schedules import SHARED, SHARED_SCHEDULE, list_schedule, random_instance

C1 = Cluster("C1", [NodeGroup(3, power=1.0)], link_bandwidth=100.0)
C2 = Cluster("C2", [NodeGroup(2, power=0.5, cores=2)], link_bandwidth=20.0)
PLATFORM = Platform([C1, C2])


def placed(job: Job, start: float, end: float, *nodes: str, slot: float | None = None) -> tuple[Instance, Schedule]:
    return Instance(PLATFORM, [job]), Schedule((Placement(job.id, start, end, nodes),), slot)


def test_bands_follow_each_other_with_a_gap_and_cores_are_rows():
    layout = layout_of(Instance(PLATFORM, []), Schedule(()))
    first, second = layout.bands
    assert (first.top, first.bottom) == (0.0, 3.0)
    # Seven processors: the gap is the smallest one. C2's nodes have two rows each.
    assert (second.top, second.bottom) == (3.0 + SMALLEST_GAP, 7.0 + SMALLEST_GAP)
    assert [(n.number, n.top, n.bottom) for n in second.nodes] == [(0, 3.4, 5.4), (1, 5.4, 7.4)]
    assert layout.rows == second.bottom


def test_the_gap_grows_with_the_number_of_rows():
    platform = Platform([C1.replace(nodes=(NodeGroup(200, 1.0),)), C2])
    bands = layout_of(Instance(platform, []), Schedule(())).bands
    assert bands[1].top - bands[0].bottom == pytest.approx(GAP_SHARE * 204)


@pytest.mark.parametrize(
    ("groups", "detail"),
    [
        ([NodeGroup(1, 1.0)], "1 node, speed 1"),
        ([NodeGroup(4, 0.75), NodeGroup(2, 0.5)], "6 nodes, speed 0.75, 0.5"),
        ([NodeGroup(2, 1.0, cores=4)], "2 nodes of 4 cores, speed 1"),
        ([NodeGroup(2, 1.0, cores=4), NodeGroup(1, 1.0)], "3 nodes, 9 cores, speed 1"),
        ([NodeGroup(1, p) for p in (0.25, 0.5, 0.75, 1.0)], "4 nodes, speed 0.25 to 1"),
        ([NodeGroup(2, 1.0, availability=0.8)], "2 nodes, speed 1, 80 % available"),
    ],
)
def test_a_cluster_is_described_by_size_and_speeds(groups, detail):
    assert cluster_detail(Cluster("C", groups, link_bandwidth=1.0)) == detail


def test_adjacent_processors_of_a_cluster_merge_and_clusters_never_do():
    # Processors 0 to 2 are C1's nodes, 3 to 6 the cores of C2's two nodes.
    pieces = pieces_of(PLATFORM, [(0, 1, 0), (2, 3, 0), (3, 4, 1), (4, 5, 1), (6, 7, 1)])
    assert [(p.cluster, p.first, p.last) for p in pieces] == [
        (0, "C1/0", "C1/0"),
        (0, "C1/2", "C1/2"),
        (1, "C2/0.0", "C2/0.1"),
        (1, "C2/1.1", "C2/1.1"),
    ]
    assert [(p.top, p.bottom) for p in pieces] == [(0, 1), (2, 3), (3.4, 5.4), (6.4, 7.4)]


@given(st.sets(st.integers(0, 6)))
def test_pieces_cover_exactly_the_processors(processors):
    pieces = pieces_of(PLATFORM, [(p, p + 1, int(p > 2)) for p in processors])
    assert sum(p.bottom - p.top for p in pieces) == pytest.approx(len(processors))
    index = PLATFORM.processor_index
    covered = [i for p in pieces for i in range(index[p.first], index[p.last] + 1)]
    assert covered == sorted(processors)


def test_a_coallocated_job_is_one_bar_with_its_tasks_per_cluster():
    layout = layout_of(*placed(Job("J", 4, 10.0), 5.0, 25.0, "C2/0.0", "C1/0", "C2/0.1", "C1/1"))
    (bar,) = layout.bars
    assert (bar.start, bar.end, bar.tasks, len(bar.pieces)) == (5.0, 25.0, (2, 2), 2)
    assert bar.is_coallocated
    assert bar.given is None
    assert layout.num_coallocated == 1


def test_the_makespan_counts_from_the_earliest_arrival():
    instance, schedule = placed(Job("J", 1, 10.0, arrival=100.0), 130.0, 140.0, "C1/0")
    layout = layout_of(instance, schedule)
    assert (layout.start, layout.end, layout.makespan, layout.last_end) == (100.0, 140.0, 40.0, 140.0)


def test_running_jobs_are_bars_from_zero_and_may_end_last():
    run = RunningJob(Job("R", 2, 10.0), ("C1/0", "C2/0.0"), 50.0)
    instance, schedule = placed(Job("J", 1, 10.0, arrival=5.0), 5.0, 15.0, "C1/1")
    layout = layout_of(instance.replace(running=(run,)), schedule)
    running, job = layout.bars
    assert (running.given, running.start, running.end) == ("running", 0.0, 50.0)
    assert (job.number, layout.makespan, layout.end) == (0, 15.0, 50.0)
    assert layout.summary == "1 job and 1 running on 5 nodes in 2 clusters"


def test_link_curves_are_shares_of_capacity_of_the_loaded_links():
    # Two tasks on each side at 10 MB/s: 2 * 10 * 2/3 = 13.33 MB/s, of 100 MB/s on C1 and 20 MB/s on C2.
    job = Job("J", 4, 10.0, task_bandwidth=10.0)
    assert link_load(2, job) == pytest.approx(40 / 3)
    layout = layout_of(*placed(job, 5.0, 25.0, "C1/0", "C1/1", "C2/0.0", "C2/0.1"))
    assert [c.name for c in layout.curves] == ["C1", "C2"]
    assert [c.edges for c in layout.curves] == [(5.0, 25.0)] * 2
    assert [c.peak for c in layout.curves] == pytest.approx([40 / 300, 40 / 60])


def test_links_that_no_job_loads_have_no_curve():
    assert layout_of(*placed(Job("J", 2, 10.0, task_bandwidth=10.0), 0.0, 5.0, "C1/0", "C1/1")).curves == ()
    assert layout_of(*placed(Job("J", 2, 10.0), 0.0, 5.0, "C1/0", "C2/0.0")).curves == ()


def test_links_of_cascaded_switches_have_curves_too():
    clusters = [C1.replace(switch="S1"), C2.replace(switch="S2")]
    platform = Platform(clusters, [Switch("S1", "S0", 10.0), Switch("S2", "S0", 50.0)])
    job = Job("J", 2, 10.0, task_bandwidth=5.0)
    layout = layout_of(Instance(platform, [job]), Schedule((Placement("J", 0.0, 1.0, ("C1/0", "C2/0.0")),)))
    # One task on each side: 1 * 5 * 1/1 = 5 MB/s on every link of the way.
    assert {c.name: c.peak for c in layout.curves} == {"C1": 0.05, "C2": 0.25, "S1": 0.5, "S2": 0.1}


def test_a_link_that_is_loaded_for_less_than_times_are_precise_has_no_curve():
    # At 1e15 s the instants of a schedule are 1000 s apart; a job of 10 s there is none.
    job = Job("J", 4, 10.0, task_bandwidth=10.0)
    assert layout_of(*placed(job, 1e15, 1e15 + 10.0, "C1/0", "C1/1", "C2/0.0", "C2/0.1")).curves == ()


def test_loads_add_up_and_half_open_intervals_do_not_overlap():
    curve = link_curve("L", 10.0, [(0.0, 2.0, 4.0), (1.0, 3.0, 6.0), (3.0, 4.0, 10.0)])
    assert curve.edges == (0.0, 1.0, 2.0, 3.0, 4.0)
    assert curve.shares == pytest.approx((0.4, 1.0, 0.6, 1.0))


def test_an_end_a_rounding_error_after_a_start_makes_no_false_peak():
    end = 0.1 + 0.2  # 0.30000000000000004, after 0.3
    curve = link_curve("L", 10.0, [(0.0, end, 8.0), (0.3, 1.0, 8.0)])
    assert curve.shares == pytest.approx((0.8, 0.8))


def test_a_link_without_bandwidth_is_infinitely_loaded_and_its_axis_stays_finite():
    curve = link_curve("L", 0.0, [(0.0, 1.0, 8.0), (2.0, 3.0, 8.0)])
    assert curve.shares == (math.inf, 0.0, math.inf)
    assert curve.shown == pytest.approx(3.45)


@given(
    st.lists(
        st.tuples(st.integers(0, 20), st.integers(1, 10), st.integers(1, 9)).map(
            lambda t: (float(t[0]), float(t[0] + t[1]), float(t[2]))
        ),
        min_size=1,
        max_size=12,
    )
)
def test_curve_equals_the_sum_of_loads_at_every_instant(intervals):
    curve = link_curve("L", 1.0, intervals)
    for start, end, share in zip(curve.edges[:-1], curve.edges[1:], curve.shares, strict=True):
        middle = (start + end) / 2
        assert share == pytest.approx(sum(load for a, b, load in intervals if a <= middle < b))


def test_the_most_loaded_links_keep_their_order():
    curves = tuple(LinkCurve(name, (0.0, 1.0), (peak,), 1.0) for name, peak in [("a", 0.2), ("b", 0.9), ("c", 0.5)])
    assert [c.name for c in most_loaded(curves, 2)] == ["b", "c"]


def test_slot_lines_lie_on_the_starts():
    instance, schedule = placed(Job("J", 1, 10.0, arrival=7.0), 10.0, 40.0, "C1/0", slot=10.0)
    assert layout_of(instance, schedule).slot_lines == (10.0, 20.0, 30.0, 40.0)
    assert layout_of(instance, schedule.replace(slot=0.01)).slot_lines == ()
    assert layout_of(instance, schedule.replace(slot=None)).slot_lines == ()


def test_arrivals_are_shown_only_if_they_differ():
    assert layout_of(*placed(Job("J", 1, 10.0, arrival=3.0), 3.0, 4.0, "C1/0")).arrivals == ()
    jobs = [Job("A", 1, 1.0), Job("B", 1, 1.0, arrival=3.0), Job("C", 1, 1.0, arrival=3.0)]
    assert layout_of(Instance(PLATFORM, jobs), Schedule(())).arrivals == (0.0, 3.0)


def test_users_take_the_rows_of_a_node_and_stopped_tasks_their_own():
    layout = layout_of(SHARED, SHARED_SCHEDULE)
    assert layout.presences == (Presence("shell", "C1/0", 0.0, 2.0, 10.0, 20.0),)
    assert layout.stopped == (StoppedPart(0, "C1/1", 2.0, 3.0, 50.0, 150.0),)
    # J1 would not end before 200: what stood still in a schedule that is not valid is not known, users are.
    early = Schedule((Placement("J1", 0.0, 100.0, ("C1/0.0", "C1/1.0")),))
    assert (len(layout_of(SHARED, early).presences), layout_of(SHARED, early).stopped) == (1, ())


def test_an_empty_schedule_has_a_time_axis_and_no_makespan():
    layout = layout_of(Instance(PLATFORM, []), Schedule(()))
    assert (layout.start, layout.end, layout.makespan, layout.bars) == (0.0, 1.0, None, ())


def test_unknown_names_are_one_error():
    instance = Instance(PLATFORM, [Job("J", 1, 1.0)])
    schedule = Schedule((Placement("K", 0.0, 1.0, ("C9/0",)),))
    with pytest.raises(CoallocError, match=r"2 names not in the instance, such as job 'K' and processor 'C9/0'"):
        layout_of(instance, schedule)


def test_a_placement_that_ends_before_it_starts_is_drawn_without_length():
    (bar,) = layout_of(*placed(Job("J", 1, 1.0), 5.0, 2.0, "C1/0")).bars
    assert (bar.start, bar.end) == (5.0, 5.0)


def test_node_numbers_thin_out_in_powers_of_two():
    layout = layout_of(random_instance(1, 0, (10,), 1), Schedule(()))
    assert [n.number for n in numbered_nodes(layout, 1.0)] == list(range(10))
    assert [n.number for n in numbered_nodes(layout, 2.5)] == [0, 4, 8]


def test_large_schedules_lose_lines_and_hatches():
    small, large = random_instance(1, 8, (4, 4), 8), random_instance(1, 1500, (8, 8, 8), 20)
    layouts = [layout_of(instance, list_schedule(instance)) for instance in (small, large)]
    assert [is_joined(layout) for layout in layouts] == [True, False]
    assert [is_hatched(layout) for layout in layouts] == [True, False]
    assert np.isfinite(layouts[1].end)


def test_windows_and_reservations_are_not_counted_as_running():
    closed = [Window("C1", 50.0, 80.0, nodes=["C1/0"]), Window("C1", 0.0, 9.0, group=0, processors=1)]
    platform = Platform([Cluster("C1", [NodeGroup(3, power=1.0)], 100.0)], unavailable=closed)
    held = [RunningJob(Job("R", 1, 9.0), ["C1/1"], 30.0), RunningJob(Job("S", 1, 9.0), ["C1/2"], 90.0, start=70.0)]
    layout = layout_of(Instance(platform, [Job("J", 1, 10.0)], held), Schedule([Placement("J", 0.0, 10.0, ["C1/0"])]))
    assert layout.summary == "1 job and 1 running and 1 reserved on 3 nodes in 1 cluster, 2 windows"
    assert [bar.given for bar in layout.bars] == ["running", "reserved", "unavailable", None]
    assert layout.given == "running, reserved or unavailable"
    lines = [hover_text(layout, bar).split("<br>")[1] for bar in layout.bars[:3]]
    assert lines == ["running until 30 s", "reserved from 70 s until 90 s", "unavailable from 50 s until 80 s"]


def test_failures_are_drawn_and_an_interrupted_job_is_one_job():
    # C1/0 fails at 4 s with A on it, which starts anew on C1/1 and ends at 14 s, before the repair at 90 s.
    failures = [Failure(["C1/0"], 4.0, 90.0), Failure(["C1/0"], 95.0, 99.0)]
    lost = InterruptedRun("A", 0.0, 4.0, ["C1/0"], "failure")
    schedule = Schedule([Placement("A", 4.0, 14.0, ["C1/1"])], failures=failures, interrupted=[lost])
    instance = Instance(Platform([Cluster("C1", [NodeGroup(2, power=1.0)], 100.0)]), [Job("A", 1, 10.0)])
    layout = layout_of(instance, schedule)
    assert layout.summary == "1 job on 2 nodes in 1 cluster"
    assert [(bar.given, bar.start, bar.end) for bar in layout.bars] == [
        ("failed", 4.0, 14.0),
        (None, 0.0, 4.0),
        (None, 4.0, 14.0),
    ]
    with pytest.raises(CoallocError, match="job 'A' and processor 'C9/0'"):
        layout_of(instance.replace(jobs=[]), Schedule([], interrupted=[lost.replace(nodes=["C9/0"])]))


def test_resources_of_the_platform_and_of_clusters_have_curves_behind_the_links():
    # Until 10 s A takes its 2 licences as a whole, and 3 W for each task in C1; R has 1 licence until 5 s.
    clusters = [Cluster(name, [NodeGroup(2, 1.0)], 10.0, resources={"watts": 12.0}) for name in ("C1", "C2")]
    job = Job("A", 2, 10.0, resources={"licences": 2.0}, task_resources={"watts": 3.0})
    running = [RunningJob(Job("R", 1, 5.0, resources={"licences": 1.0}), ["C2/0"], 5.0)]
    instance = Instance(Platform(clusters, resources={"licences": 4.0, "unused": 1.0}), [job], running)
    layout = layout_of(instance, Schedule([Placement("A", 0.0, 10.0, ["C1/0", "C1/1"])]))
    assert [(c.name, c.is_resource, c.edges, c.shares) for c in layout.curves] == [
        ("licences", True, (0.0, 5.0, 10.0), (0.75, 0.5)),
        ("watts of C1", True, (0.0, 10.0), (0.5,)),
    ]
    assert strips_title(layout.curves) == "Load of links and resources, share of capacity"
    assert strips_title(()) == "Link load, share of capacity"


BLOCKED = Cluster("C1", [NodeGroup(2, power=1.0)], link_bandwidth=100.0)
SPLIT = Placement("split", 0.0, 100.0, ("C1/0", "C2/0.0"))


def joined(*others: Placement):
    """Return the connector of a job on the rows 0 and 2.4 from 0 to 100 s, where other jobs are on row 1."""
    jobs = [Job(p.job, len(p.nodes), p.end - p.start) for p in (SPLIT, *others)]
    instance = Instance(Platform([BLOCKED, C2]), jobs)
    (connector,) = connectors(layout_of(instance, Schedule((SPLIT, *others))), 8.0)
    assert connector.ends == pytest.approx((1.0, 2.4))
    return connector.time, connector.parts


def test_a_connector_is_where_the_rows_between_are_free():
    assert joined() == (8.0, ((1.0, 2.4),))
    # At 8 s there is no room; the first free time is that long after 10 s, when a ends.
    assert joined(Placement("a", 0.0, 10.0, ("C1/1",)), Placement("b", 30.0, 200.0, ("C1/1",)))[0] == 18.0
    assert joined(Placement("a", 0.0, 90.0, ("C1/1",)))[0] == 98.0


def test_a_connector_without_room_is_on_the_edge_of_a_bar_or_behind_the_bars():
    assert joined(Placement("a", -10.0, 40.0, ("C1/1",)), Placement("b", 40.0, 110.0, ("C1/1",)))[0] == 40.0
    # Row 1 is hidden; the gap between the clusters, from row 2 on, is not.
    (time, ((top, bottom),)) = joined(Placement("a", -10.0, 110.0, ("C1/1",)))
    assert (time, top, bottom) == (8.0, 2.0, pytest.approx(2.4))


@pytest.mark.parametrize("seed", range(5))
def test_no_connector_cuts_a_bar(seed):
    instance = random_instance(seed, 25, (4, 4, 2), 10, spread=20000.0, cores=2)
    layout = layout_of(instance, list_schedule(instance))
    found = list(connectors(layout, 60.0))
    assert len(found) == sum(len(bar.pieces) - 1 for bar in layout.bars if bar.is_coallocated)
    for line in found:
        assert line.bar.start <= line.time <= line.bar.end
        for bar in layout.bars:
            if bar.start < line.time < bar.end:
                assert not [
                    (piece, part)
                    for piece in bar.pieces
                    for part in line.parts
                    if part[0] < piece.bottom and part[1] > piece.top
                ]
