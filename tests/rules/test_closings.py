"""When what of a platform is not there, as rooms that are taken."""

from __future__ import annotations

from dataclasses import replace

from coalloc import Cluster, Job, NodeGroup, Platform, RunningJob, Window
from coalloc.instance.job import resources_asked
from coalloc.problem.allocation import node_classes, reserved_nodes, stocks_of
from coalloc.rules.capacity_vectors import STOCK_UNITS, capacity_vectors_of
from coalloc.rules.closings import Closing, closings_of


def closings(platform, running=(), num_memories=0):
    classes = node_classes(platform, reserved=reserved_nodes(platform, running, "this"))
    stocks = stocks_of(platform, classes, resources_asked([run.job for run in running]), [])
    vectors = replace(capacity_vectors_of(classes, 0.0, stocks=stocks), shared=(0,) * num_memories)
    return [c.capacity for c in classes], closings_of(platform, classes, running, vectors)


def pool(nodes, *windows):
    return Platform([Cluster("C1", [NodeGroup(nodes, power=1.0)], link_bandwidth=10.0)], unavailable=windows)


def test_windows_of_nodes_that_overlap_or_meet_are_one():
    # C1/0 is in all three, C1/1 and C1/2 only in the last.
    windows = Window("C1", 5.0, 9.0, nodes=["C1/0"]), Window("C1", 7.0, 12.0, nodes=["C1/0"]), Window("C1", 12.0, 20.0)
    assert closings(pool(3, *windows)) == ([1, 2], [Closing(5.0, 20.0, (1, 0)), Closing(12.0, 20.0, (0, 2))])


def test_windows_of_a_group_add_up_to_what_there_is():
    # The one class, a unit of memory, then the pool of the group: 2 + 2 of 3 processors from 6 to 8 s.
    windows = Window("C1", 4.0, 8.0, group=0, processors=2), Window("C1", 6.0, 10.0, group=0, processors=2)
    assert closings(pool(3, *windows), num_memories=1) == (
        [3],
        [Closing(4.0, 6.0, (0, 0, 2)), Closing(6.0, 8.0, (0, 0, 3)), Closing(8.0, 10.0, (0, 0, 2))],
    )


def test_what_runs_already_is_left_out_of_what_windows_take_of_a_group():
    # R has 2 of 3 to 6 s: until then the window takes the third alone.
    running = [RunningJob(Job("R", 2, 1.0), ["C1/0", "C1/1"], 6.0)]
    window = Window("C1", 4.0, 8.0, group=0, processors=2)
    assert closings(pool(3, window), running)[1] == [Closing(4.0, 6.0, (0, 1)), Closing(6.0, 8.0, (0, 2))]


def test_a_job_that_starts_later_takes_its_class_and_its_part_of_the_pool():
    running = [RunningJob(Job("R", 1, 1.0), ["C1/2"], 9.0, start=5.0)]
    window = Window("C1", 7.0, 9.0, group=0, processors=1)
    assert closings(pool(3, window), running) == (
        [2, 1],
        [Closing(5.0, 7.0, (0, 0, 1)), Closing(5.0, 9.0, (0, 1, 0)), Closing(7.0, 9.0, (0, 0, 2))],
    )
    assert closings(pool(3)) == ([3], [])


def test_a_job_that_starts_later_takes_its_part_of_a_stock():
    # R has 3 of 4 licences to 6 s, S 2 from 5 s to 8 s: of these there is one left until R ends.
    platform = pool(3).replace(resources={"licences": 4.0})
    running = [
        RunningJob(Job("R", 1, 1.0, resources={"licences": 3.0}), ["C1/0"], 6.0),
        RunningJob(Job("S", 1, 1.0, task_resources={"licences": 2.0}), ["C1/1"], 8.0, start=5.0),
    ]
    found = {closing[:2]: closing.taken[-1] / STOCK_UNITS for closing in closings(platform, running)[1]}
    assert {span: round(share, 6) for span, share in found.items() if share} == {(5.0, 6.0): 0.25, (6.0, 8.0): 0.5}
