"""Max-min fair shares by hand, and their law."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalloc.problem.fair_shares import fair_shares
from tests.strategies import LAW


def test_one_node_is_shared_evenly():
    assert fair_shares({0: 1.0}, {7: [0], 8: [0], 9: [0]}) == dict.fromkeys([7, 8, 9], 1.0 / 3.0)


def test_a_job_alone_has_the_least_capacity_of_its_nodes():
    assert fair_shares({0: 1.0, 1: 0.5}, {7: [0, 1]}) == {7: 0.5}


def test_what_one_node_cannot_use_others_get():
    # Node 0 with jobs 1, 2 and 3 is full at 1/3. Job 1 stays there, and leaves 2/3 of node 1 to job 4.
    shares = fair_shares({0: 1.0, 1: 1.0}, {1: [0, 1], 2: [0], 3: [0], 4: [1]})
    assert shares == {1: 1 / 3, 2: 1 / 3, 3: 1 / 3, 4: pytest.approx(2 / 3)}


def test_nodes_fill_one_after_the_other():
    # Node 2 (0.2) is full at 0.1 with jobs 1 and 2. Node 1 has 0.9 left for job 3 alone; node 0 0.9 for jobs 3 and 4,
    # full at 0.45: then job 3 stops too, though node 1 has room.
    shares = fair_shares({0: 1.0, 1: 1.0, 2: 0.2}, {1: [0, 2], 2: [1, 2], 3: [0, 1], 4: [0]})
    assert shares == {1: 0.1, 2: 0.1, 3: pytest.approx(0.45), 4: pytest.approx(0.45)}


def test_a_node_without_jobs_is_no_matter():
    assert fair_shares({0: 1.0, 1: 0.5}, {7: [0]}) == {7: 1.0}
    assert fair_shares({0: 1.0}, {}) == {}


@LAW
@given(
    st.lists(st.sampled_from((0.1, 0.25, 0.5, 1.0)) | st.floats(0.05, 1.0), min_size=1, max_size=5).flatmap(
        lambda c: st.tuples(
            st.just(c), st.lists(st.sets(st.integers(0, len(c) - 1), min_size=1).map(sorted), min_size=1, max_size=8)
        )
    )
)
def test_no_share_can_rise_without_lowering_a_smaller_or_equal_one(case):
    # Equivalently every job has a node that is full, and on which no share is larger than its own.
    capacities, nodes = dict(enumerate(case[0])), dict(enumerate(case[1]))
    shares = fair_shares(capacities, nodes)
    on_node = {n: [shares[job] for job, used in nodes.items() if n in used] for n in capacities}
    for n, capacity in capacities.items():
        assert math.fsum(on_node[n]) <= capacity * (1 + 1e-12)
    for job, used in nodes.items():
        assert any(
            math.fsum(on_node[n]) >= capacities[n] * (1 - 1e-12) and shares[job] >= max(on_node[n]) * (1 - 1e-12)
            for n in used
        )
