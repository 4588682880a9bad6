"""The loop that runs the methods of a solve, which of them run, and what is said of each."""

from __future__ import annotations

import pytest

import coalloc
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.solvers import portfolio
from coalloc.solvers.backends import cpsat
from coalloc.solvers.method import Method
from coalloc.solvers.result import MethodRun, SolveOptions
from coalloc.solvers.solve_state import SolveState
from coalloc.solvers.traits import Trait


def test_it_ends_where_no_method_has_anything_left_to_do(monkeypatch):
    monkeypatch.setattr(portfolio, "METHODS", ())
    instance = Instance(Platform([Cluster("C1", [NodeGroup(1, power=1.0)], 100.0)]), [Job("J1", 1, 10.0)])
    assert coalloc.solve(instance, time_limit=30.0).stopped_by == "work"  # not all of its time


def test_a_method_has_one_row_and_the_rows_are_few():
    names = [row.name for row in portfolio.METHODS]
    assert len(set(names)) == len(names) <= 16


def test_a_method_has_its_share_of_what_is_left_in_each_round(monkeypatch):
    heard = []

    def hear(incumbent):
        with incumbent.within(0.9):  # no longer than what is around it
            heard.append((incumbent.round, round(incumbent.time_left / incumbent.state.remaining, 1)))

    shares = {Trait.SUM: (0.5,), Trait.MAKESPAN: (0.2, 0.0, 0.7, 0.0)}
    monkeypatch.setattr(portfolio, "METHODS", (Method("heard", hear, shares=shares),))
    instance = coalloc.generate("thesis-oas", seed=2, jobs=4)
    assert coalloc.solve(instance, time_limit=6_000.0).stopped_by == "work"
    assert heard == [(0, 0.2), (2, 0.7)]
    heard.clear()
    coalloc.solve(instance, objective="total-response-time", time_limit=6_000.0, work_limit=1)
    assert heard == [(0, 0.5), (1, 0.5), (2, 0.5)]


def ran(**options):
    """Return the names of the methods that ran, where bounds and searches leave a gap."""
    instance = coalloc.generate("thesis-oas", seed=2)
    result = coalloc.solve(instance, slot="1%", work_limit=5, **options)
    return [run.name for run in result.methods]


def test_methods_restrict_the_portfolio_and_without_leaves_some_out():
    always = ["longest job and packing", "list schedule"]
    assert ran(methods=["list annealing"]) == [*always, "list annealing"]
    assert (
        ran(methods=["list annealing", "beam search"], without=["list annealing"]) == always
    )  # no prices guide a beam
    assert "branch and bound" in ran()
    assert "branch and bound" not in ran(without=["branch and bound"])


@pytest.mark.parametrize("objective", ["makespan", "total-response-time"])
def test_every_method_may_run_alone(monkeypatch, objective):
    monkeypatch.setattr(cpsat, "is_installed", lambda: False)
    instance = coalloc.generate("thesis-oas", seed=2, jobs=4)
    for name in {method.name for method in portfolio.METHODS}:
        result = coalloc.solve(instance, slot="50%", objective=objective, work_limit=20, methods=[name])
        assert {run.name for run in result.methods} <= {name, *portfolio.ALWAYS}
        assert result.lower_bound <= result.objective


def test_what_needs_another_method_does_not_run_without_it():
    # The feasible-set LP is not solved, so its prices guide no search.
    names = ran(without=["feasible-set LP"])
    assert not {"beam search", "branch and bound"} & {*names}


@pytest.mark.usefixtures("cpsat_or_not")
def test_a_method_stands_in_where_the_better_one_is_absent():
    instance = coalloc.generate("thesis-oas", seed=2, jobs=4)
    result = coalloc.solve(instance, slot="50%", work_limit=20, methods=["CP-SAT", "model"])
    assert result.methods[-1].name == ("CP-SAT" if cpsat.is_installed() else "model")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"methods": ["list annealin"]}, "unknown method 'list annealin' in methods (did you mean 'list annealing'?)"),
        ({"without": ["zzz"]}, "unknown method 'zzz' in without"),
        ({"without": ["list schedule"]}, "method 'list schedule' always runs; without cannot leave it out"),
        ({"methods": ["list annealing"], "objective": "energy"}, "not objective 'energy'"),
        ({"without": ["list annealing"], "model": "pas"}, "not model 'pas'"),
        ({"without": ["list annealing"], "formulation": "mode"}, "not another formulation"),
    ],
)
def test_what_names_of_methods_are_refused(options, sentence):
    with pytest.raises(coalloc.CoallocError) as error:
        coalloc.solve(coalloc.example("pas-figure-3.3"), **{"slot": 50.0} | options)
    assert str(error.value).endswith(sentence)


def test_what_is_found_beside_a_method_counts_as_that_of_its_source():
    state = SolveState(coalloc.example("pas-figure-3.3"), SolveOptions())
    with state.recorded("A", {"A", "B"}):
        state.raise_bound(1.0, "A")
    with state.recorded("B", {"A", "B"}):
        state.raise_bound(2.0, "A")
        state.raise_bound(3.0, "B, rounded down")
        state.record("B", incumbent=4.0)
    counts = [(run.name, run.calls, run.incumbents, run.bounds, run.closed) for run in state.methods]
    assert counts == [("A", 1, 0, 2, False), ("B", 1, 1, 1, False)]
    assert all(run.wall >= 0.0 <= run.cpu for run in state.methods)


def test_one_method_closes_the_gap_and_it_is_the_one_that_ended_the_solve():
    result = coalloc.solve(coalloc.example("thesis-oas-1"), slot="25%")
    source = result.trace[-1].source
    names = [row.name for row in portfolio.METHODS if source in (row.name, *(part.name for part in row.parts))]
    assert [run.name for run in result.methods if run.closed] == names


def test_levels_of_a_lexicographic_solve_are_added_up():
    goals = ("co-allocated-jobs", "makespan")
    result = coalloc.solve(coalloc.example("pas-figure-3.3"), slot=50.0, objective=goals)
    first = result.methods[0]
    assert isinstance(first, MethodRun)
    assert (first.name, first.calls) == ("longest job and packing", 2)
