"""Rows of a user's own in extended and wrapped models: a fast subset of the benchmark, and what it would notice."""

from __future__ import annotations

from functools import cache

import agreement
import pyomo.environ as pyo
import pytest
import rows

import coalloc
from coalloc.solvers.backends import pyomo_solver
from coalloc.solvers.backends.adapters import ADAPTERS, Found
from coalloc.solvers.backends.highs import SolverLimits

LIMIT = 600.0
"""Seconds, far beyond what is needed."""
COUNTED = {"family": "by hand, cbc", "formulation": "count", "objective": "makespan"}
WAYS = ("by hand, highs", "wrapped")


@cache
def cases_of(seed: int) -> list[agreement.Case]:
    return list(rows.cases(rows.Seed(seed, LIMIT)))


@pytest.mark.parametrize("seed", [1, 2, 3, 4, 8, 10])  # every kind of row, and an instance of the thesis
def test_a_row_in_a_model_is_kept_and_nothing_else_is_forbidden(seed):
    found = [rows.judged(case, LIMIT) for case in cases_of(seed) if case.family in WAYS]
    assert len(found) == 8
    assert [row["disagreement"] for row in found] == [""] * 8


@pytest.mark.parametrize("seed", [0, 10])
def test_an_exported_model_has_the_same_optimum(seed):
    found = [rows.judged(case, LIMIT) for case in cases_of(seed) if case.family.startswith("exported")]
    assert len(found) == 8
    assert [row["disagreement"] for row in found] == [""] * 8


@pytest.mark.parametrize("seed", [1, 88, 163])
def test_cbc_leads_back_as_well(seed):
    # With its preprocessing CBC calls 12 slots optimal on seed 88, where 11 are, and 11 on seed 163, where 10 are.
    pytest.importorskip("pulp", reason="PuLP, whose wheel has a cbc in it, is not installed")
    found = [rows.judged(case, LIMIT) for case in cases_of(seed) if case.family == "by hand, cbc"]
    assert [row["disagreement"] for row in found] == [""] * 4


def test_cbc_is_asked_in_a_way_in_which_its_optima_are_right(monkeypatch):
    pytest.importorskip("pulp", reason="PuLP, whose wheel has a cbc in it, is not installed")
    (interface,) = ADAPTERS["cbc"].interfaces
    solver = pyo.SolverFactory(interface.name, executable=rows.cbc())
    monkeypatch.setattr(pyomo_solver, "find_solver", lambda _: Found("cbc", interface, solver))
    *_, row = rows.given(88)
    (case,) = (c for c in cases_of(88) if c.family == "by hand, cbc" and c.names == COUNTED)
    found = pyomo_solver.solve_with("cbc", rows.extended(row, case), SolverLimits(), integral=True)
    assert (found.status, found.objective, found.lower_bound) == ("optimal", 11, 11)


def test_the_kinds_take_turns_and_every_fifth_instance_is_one_of_the_thesis():
    drawn = [rows.given(seed) for seed in range(40)]
    assert {kind for _, _, kind, _ in drawn} == set(rows.KINDS)
    assert [seed for seed, (i, *_) in enumerate(drawn) if i.platform.num_processors == 12] == list(range(4, 40, 5))


def test_a_horizon_that_loses_schedules_is_noticed():
    # No job of this instance fits into one slot, so there is no model; brute force knows that there are schedules.
    case = next(case for case in cases_of(0) if case.family == "by hand, highs" and case.optimum.feasible)
    short = agreement.Case(case.family, case.instance, case.optimum, case.keywords | {"horizon": 1}, case.find)
    assert "no model" in rows.judged(short, LIMIT)["disagreement"]


def test_a_schedule_that_breaks_the_row_is_noticed():
    # A schedule of the problem without the row: the first that breaks it is refused.
    broken = 0
    for seed in range(5):
        _, _, _, row = rows.given(seed)
        for case in cases_of(seed):
            if case.family == "wrapped" and case.optimum.feasible:
                free = coalloc.solve(case.instance, time_limit=LIMIT, **case.keywords)
                finding = agreement.Finding(free.status.value, (free.objective,), free.lower_bound, free.schedule)
                kept = agreement.Case(
                    case.family,
                    case.instance,
                    case.optimum,
                    case.keywords,
                    lambda given, limit, row=row, finding=finding: rows.kept(row, lambda *_: finding, given, limit),
                )
                faults = list(row.faults(case.instance, free.schedule))
                broken += bool(faults)
                assert bool(faults) <= ("breaks the row" in rows.judged(kept, LIMIT)["disagreement"])
    assert broken
