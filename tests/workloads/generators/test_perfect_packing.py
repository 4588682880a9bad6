"""Instances whose optimum is known."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coalloc.checker import check
from coalloc.schedule import Placement, Schedule
from coalloc.workloads.generators import generate
from coalloc.workloads.generators.perfect_packing import PerfectPacking, Rectangle, cut, pinwheel

CUTS = st.sampled_from(["guillotine", "pinwheel"])


@given(CUTS, st.integers(1, 9), st.integers(1, 9), st.data())
def test_pieces_cover_the_rectangle_and_nothing_twice(cuts, nodes, steps, data):
    count = data.draw(st.integers(1, nodes * steps))
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    pieces = cut(rng, Rectangle(0, nodes, 0, steps), count, cuts)
    assert len(pieces) == count
    covered = np.zeros((nodes, steps), dtype=int)
    for piece in pieces:
        covered[piece.first_node :, piece.start :][: piece.nodes, : piece.steps] += 1
    assert (covered == 1).all()


def test_no_cut_right_through_parts_a_pinwheel():
    pieces = pinwheel(np.random.default_rng(1), Rectangle(0, 10, 0, 10))
    for at in range(1, 10):
        assert any(p.first_node < at < p.first_node + p.nodes for p in pieces)
        assert any(p.start < at < p.start + p.steps for p in pieces)


@settings(max_examples=40, deadline=None)
@given(CUTS, st.integers(0, 10**6), st.sampled_from([1, 2, 4]))
def test_the_makespan_is_the_optimum(cuts, seed, clusters):
    parameters = {"jobs": 12, "nodes": 8, "clusters": clusters, "makespan": 900.0, "steps": 15, "cuts": cuts}
    instance = generate("perfect-packing", seed=seed, **parameters)
    # The work fills all nodes of power 1 for the makespan: nothing is shorter ...
    assert sum(job.tasks * job.base_time for job in instance.jobs) == pytest.approx(8 * 900.0)
    assert {c.nodes[0].effective_power for c in instance.platform.clusters} == {1.0}
    # ... and the pieces in their places are a schedule of that length, links included.
    pieces = PerfectPacking(**parameters).pieces(np.random.default_rng(seed))
    names = instance.platform.processor_names
    placements = [
        Placement(
            job.id,
            60.0 * piece.start,
            60.0 * (piece.start + piece.steps),
            names[piece.first_node : piece.first_node + piece.nodes],
        )
        for job, piece in zip(instance.jobs, pieces, strict=True)
    ]
    assert check(instance, Schedule(tuple(placements), instance=instance.name)) == []
    assert max(p.end for p in placements) == 900.0


def test_the_defaults_are_ten_jobs_on_one_cluster():
    instance = generate("perfect-packing", seed=5)
    assert len(instance.jobs) == 10
    assert [c.num_nodes for c in instance.platform.clusters] == [8]
    assert all(job.base_time % 50.0 == 0.0 for job in instance.jobs)


def test_the_order_of_the_jobs_does_not_give_the_packing_away():
    # Not in every instance does the first job start at 0 in the packing.
    starts = {PerfectPacking().pieces(np.random.default_rng(seed))[0].start > 0 for seed in range(20)}
    assert starts == {True, False}
