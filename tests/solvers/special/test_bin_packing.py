"""One dimension constant: what is recognised, by hand, and that it closes the gap, with proofs of both kinds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import coalloc
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform, RunningJob
from coalloc.problem import discretise
from coalloc.solvers.special import bin_packing as module
from coalloc.solvers.special.bin_packing import BinPacking, packing_of
from coalloc.testing.brute_force import brute_force_oas
from tests.strategies import LAW


def on_nodes(nodes: int, *shapes: tuple[int, float], arrival: float = 0.0) -> Instance:
    """Return jobs of (tasks, base time) on one cluster."""
    platform = Platform((Cluster("C1", (NodeGroup(nodes, 1.0),), 1.0),))
    jobs = tuple(Job(f"J{i}", tasks, time, arrival=arrival) for i, (tasks, time) in enumerate(shapes))
    return Instance(platform, jobs)


def test_one_duration_is_bin_packing() -> None:
    problem = discretise(on_nodes(10, (6, 20.0), (5, 20.0), (4, 20.0), arrival=10.0), 10.0)
    packing = packing_of(problem)
    assert packing == BinPacking((6, 5, 4), release=1, unit=2, processors=10, machines=None)
    # Two bins end at slot 1 + 2 * 2; slot 4 is within the second.
    assert (packing.end(2), packing.multiple(5), packing.multiple(4), packing.multiple(3)) == (5, 2, 2, 1)
    assert dict(packing.starts([[0, 2], [1]])) == {0: 0, 2: 0, 1: 1}


def test_so_many_of_any_width_are_machines() -> None:
    # Any two of 3, 4 and 5 tasks fit on 10 nodes, and no three do. 40, 60 and 80 s are 2, 3 and 4 times 20 s.
    packing = packing_of(discretise(on_nodes(10, (3, 40.0), (4, 60.0), (5, 80.0)), None))
    assert packing == BinPacking((2, 3, 4), release=0.0, unit=20, processors=10, machines=2)
    assert dict(packing.starts([[2], [0, 1]])) == {2: 0, 0: 0, 1: 2}


def two_speeds() -> Instance:
    platform = Platform((Cluster("C1", (NodeGroup(2, 1.0), NodeGroup(2, 0.5)), 1.0),))
    return Instance(platform, (Job("J1", 1, 10.0), Job("J2", 1, 10.0)))


@pytest.mark.parametrize(
    "instance",
    [
        on_nodes(10, (3, 40.0), (6, 60.0), (5, 80.0)),  # 3 and 6 fit together, 6 and 5 do not
        on_nodes(10, (5, 40.5), (5, 60.0)),  # no whole seconds
        on_nodes(10, (5, 40.0)).replace(running=(RunningJob(Job("R", 1, 9.0), ("C1/0",), 5.0),)),
        on_nodes(10, (5, 40.0), (5, 60.0)).replace(jobs=(Job("J1", 5, 40.0), Job("J2", 5, 60.0, arrival=1.0))),
        two_speeds(),
        on_nodes(10).replace(jobs=()),
    ],
)
def test_other_problems_are_left_to_others(instance: Instance) -> None:
    assert packing_of(discretise(instance, None)) is None


@pytest.mark.parametrize("slot", [1.0, None])
def test_machines_are_filled_evenly(slot: float | None) -> None:
    # P2||Cmax, 120 s of work. Beside the 31 s there is one more job, 25 s at the most, so 56 and 64 s, or there are
    # two, 18 + 22 s at the least, so 71 and 49 s.
    instance = on_nodes(2, (1, 31.0), (1, 25.0), (1, 24.0), (1, 22.0), (1, 18.0))
    result = coalloc.solve(instance, slot=slot)
    assert (result.status, result.objective) == ("optimal", 64.0)


def test_arc_flow_finds_what_lists_do_not() -> None:
    # Six bins of 100, all full; the widest first fill seven.
    triples = [(44, 27, 29), (38, 28, 34), (46, 27, 27), (44, 27, 29), (45, 27, 28), (47, 26, 27)]
    assert {sum(triple) for triple in triples} == {100}
    widest_first = sorted((tasks for triple in triples for tasks in triple), reverse=True)
    result = coalloc.solve(on_nodes(100, *((tasks, 3.0) for tasks in widest_first)), slot=1.0)
    assert (result.status, result.objective) == ("optimal", 18.0)
    assert result.trace[-1].source == "arc flow"


def test_nothing_is_listed_beyond_its_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LISTED", 0)
    instance = on_nodes(2, (1, 31.0), (1, 25.0), (1, 24.0), (1, 22.0), (1, 18.0))
    result = coalloc.solve(instance, slot=1.0)
    assert result.status == "optimal"
    assert "arc flow" not in {point.source for point in result.trace}


@LAW
@given(st.lists(st.integers(1, 4), min_size=1, max_size=5), st.booleans(), st.integers(0, 1))
def test_it_agrees_with_brute_force(sizes: list[int], is_packing: bool, arrival: int) -> None:
    shapes = [(size, 2.0) if is_packing else (1, float(size)) for size in sizes]
    instance = on_nodes(4 if is_packing else 2, *shapes, arrival=float(arrival))
    optimum = brute_force_oas(instance, 1.0).objective
    result = coalloc.solve(instance, slot=1.0)
    assert (result.status, result.objective) == ("optimal", optimum)
