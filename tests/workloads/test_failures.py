"""Failures of nodes from tables and from distributions."""

from itertools import pairwise

import numpy as np
import pytest

import coalloc
from coalloc import Cluster, CoallocError, InstanceError, NodeGroup, Platform
from coalloc.results import Failure

DAY = 86_400.0


def platform(nodes):
    return Platform([Cluster("C1", [NodeGroup(nodes, power=1.0)], link_bandwidth=125.0)])


def test_a_table_is_read(tmp_path):
    (tmp_path / "f.csv").write_text("nodes, start, end\nC1/0-1 C1/5,3600,7.2e3\n\n")
    assert coalloc.io.read_failures(tmp_path / "f.csv") == (Failure(["C1/0-1", "C1/5"], 3600.0, 7200.0),)


def test_all_errors_of_a_table_are_said(tmp_path):
    (tmp_path / "f.csv").write_text("nodes,start,end\nC1/0,5,3\nC1/0,a,3\nC1/0,1\nC1/0,-1,nan\n,1,2\n")
    with pytest.raises(InstanceError) as refused:
        coalloc.io.read_failures(tmp_path / "f.csv")
    assert [str(fault) for fault in refused.value.faults] == [
        "line 2.end: must be after its start, 5, got 3",
        "line 3.start: must be a number, got 'a'",
        "line 4: must have 3 columns, got 2",
        "line 5.start: must be at least 0, got -1.0",
        "line 5.end: must be finite, got nan",
        "line 6.nodes: must have at least one node",
    ]
    (tmp_path / "f.csv").write_text("node,start,end\n")
    with pytest.raises(InstanceError, match="line 1: must be nodes,start,end"):
        coalloc.io.read_failures(tmp_path / "f.csv")


@pytest.mark.parametrize("shape", [0.7, 1.0, 2.0])
def test_sampled_failures_have_the_means_that_were_asked_for(shape):
    failures = coalloc.io.sample_failures(platform(200), 10 * DAY, DAY / 4, 2000 * DAY, shape=shape, seed=1)
    repairs = np.array([failure.end - failure.start for failure in failures])
    # Some 39,000 failures: the mean of the times to repair has a standard error of 0.7 %.
    assert repairs.mean() == pytest.approx(DAY / 4, rel=0.03)
    starts = {}
    for failure in failures:
        starts.setdefault(failure.nodes[0], []).append(failure)
    between = [b.start - a.end for of in starts.values() for a, b in pairwise(of)]
    assert np.mean(between) == pytest.approx(10 * DAY, rel=0.03)
    # The coefficient of variation of a Weibull distribution tells its shape: 1.46, 1 and 0.523.
    expected = {0.7: 1.46, 1.0: 1.0, 2.0: 0.523}[shape]
    assert np.std(between) / np.mean(between) == pytest.approx(expected, rel=0.05)


def test_failures_repeat_with_their_seed():
    one, same, other = (coalloc.io.sample_failures(platform(9), DAY, 60.0, 9 * DAY, seed=s) for s in (1, 1, 2))
    assert one == same != other


def test_wrong_parameters_are_refused():
    # With a shape of 0.001 or a sigma of 1e200 the mean overflows; a seed below 0 was an internal error.
    wrong = [("mtbf", 0.0), ("mttr", -1.0), ("until", float("inf")), ("shape", 0.0), ("shape", 0.001), ("seed", -1)]
    for name, number in [*wrong, ("sigma", -1.0), ("sigma", 1e200)]:
        with pytest.raises(CoallocError, match=f"{name}: must be "):
            coalloc.io.sample_failures(platform(1), **{"mtbf": 1.0, "mttr": 1.0, "until": 9.0, name: number})
    with pytest.raises(CoallocError, match="at most 10,000,000 failures"):
        coalloc.io.sample_failures(platform(1), 1.0, 1.0, 1e9)
