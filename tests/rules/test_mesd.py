"""MESD's allocation in two steps, and its choice of the next job, by hand."""

from __future__ import annotations

import pytest

from coalloc.instance import Cluster, Job, NodeGroup, Platform
from coalloc.problem.allocation import NodeClass, node_classes
from coalloc.rules.mesd import Choice, mesd_allocation


def classes_of(*clusters: list[tuple[int, float]]) -> tuple[NodeClass, ...]:
    """Return the classes of clusters with groups of (nodes, power)."""
    made = [Cluster(f"C{i}", tuple(NodeGroup(n, p) for n, p in groups), 1.0) for i, groups in enumerate(clusters, 1)]
    return node_classes(Platform(tuple(made)))


def of(tasks: int) -> Job:
    return Job("J", tasks, 1.0)


def test_the_second_step_frees_a_fast_node_as_in_figure_3_22() -> None:
    # Three tasks: the fastest nodes are N1, N2 (0.75) and N3 (0.5); N4 is as slow as N3, so N1's task moves there.
    classes = classes_of([(2, 0.75)], [(2, 0.5)])
    assert mesd_allocation(classes, second_step=False)(of(3), (2, 2)) == (2, 1)
    assert mesd_allocation(classes)(of(3), (2, 2)) == (1, 2)


def test_the_fastest_cluster_is_emptied_first() -> None:
    # Five tasks: 2 + 2 + 1. C3 has three more free nodes: two for the tasks in C1, one for a task in C2.
    classes = classes_of([(2, 1.0)], [(2, 0.75)], [(4, 0.5)])
    assert mesd_allocation(classes)(of(5), (2, 2, 4)) == (0, 1, 4)


def test_of_equal_clusters_the_last_is_the_slowest() -> None:
    classes = classes_of([(2, 1.0)], [(4, 1.0)])
    assert mesd_allocation(classes)(of(3), (2, 4)) == (0, 3)


def test_no_task_moves_to_a_slower_node() -> None:
    # C2's only node of power 0.5 is taken by step 1; its others have 0.25.
    classes = classes_of([(2, 1.0)], [(1, 0.5), (2, 0.25)])
    assert mesd_allocation(classes)(of(3), (2, 1, 2)) == (2, 1, 0)


def test_a_job_in_one_cluster_stays_as_it_is() -> None:
    # Two tasks on N1, N2 though N3, N4 would do: nothing is co-allocated, so there is no second step.
    classes = classes_of([(2, 0.75)], [(2, 0.5)])
    assert mesd_allocation(classes)(of(2), (2, 2)) == (2, 0)


def test_too_few_free_processors_give_nothing() -> None:
    # errata 14: Algorithm 3 as printed would give a part of the nodes.
    assert mesd_allocation(classes_of([(2, 1.0)], [(2, 0.5)]))(of(4), (2, 1)) is None


@pytest.mark.parametrize(("slowdown", "expected"), [("difference", 1), ("ratio", 0)])
def test_difference_and_ratio_choose_differently(slowdown: str, expected: int) -> None:
    # Only nodes of power 0.5 are free. First: 100 s become 100 (0.5*2 + 0.5) = 150 s: 50 s more, 1.5 times.
    # Second: 50 s become 50 (0.8*2 + 0.2) = 90 s: 40 s more, 1.8 times.
    jobs = [Job("a", 1, 100.0, 0.5), Job("b", 1, 50.0, 0.8)]
    choice = Choice(jobs, classes_of([(1, 1.0)], [(1, 0.5)]), slowdown)  # type: ignore[arg-type]
    assert choice.next((0, 1)) == expected


def test_equal_jobs_are_chosen_in_order_and_once() -> None:
    # 70 s * 0.5 and 50 s * 0.7 both cost 35 s more at half the power.
    jobs = [Job("a", 1, 70.0, 0.5), Job("b", 1, 50.0, 0.7), Job("c", 2, 1.0)]
    choice = Choice(jobs, classes_of([(1, 1.0)], [(1, 0.5)]))
    assert [choice.next((0, 1)) for _ in range(3)] == [0, 1, None]  # c needs two nodes


def test_a_job_that_only_communicates_is_slowed_down_by_no_node() -> None:
    jobs = [Job("a", 1, 10.0, 1.0), Job("b", 1, 99.0, 0.0)]
    assert Choice(jobs, classes_of([(1, 1.0)], [(1, 0.5)])).next((0, 1)) == 1
