"""Equal jobs in models: asked to start in their order inside ``solve``, and by nobody else."""

from __future__ import annotations

import pyomo.environ as pyo
import pytest

import coalloc
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.models import formulation_of
from coalloc.models.registry import OrdersEqualJobs, TakesStart
from coalloc.objectives import Criterion
from coalloc.problem import Assignment, discretise

INSTANCE = Instance(
    Platform((Cluster("C1", (NodeGroup(1, 1.0),), 1.0),)), (Job("J1", 1, 20.0), Job("J2", 1, 30.0), Job("J3", 1, 20.0))
)
"""One after the other on one node; the first and the last are equal."""


@pytest.mark.parametrize("formulation", ["node", "count", "mode"])
@pytest.mark.parametrize(("starts", "is_in_order"), [((0, 2, 5), True), ((5, 2, 0), False)])
def test_equal_jobs_out_of_order_break_a_row(formulation: str, starts: tuple[int, ...], is_in_order: bool) -> None:
    problem, models = discretise(INSTANCE, 10.0), formulation_of("oas", formulation)
    criterion = Criterion.of(problem, "makespan")
    model = models.build(problem, horizon=7, objective=criterion.objective, lower_bound=0)
    assert isinstance(models, OrdersEqualJobs)
    models.order_equal_jobs(model, criterion.equal_pairs)
    assert isinstance(models, TakesStart)
    models.set_start(model, [Assignment(j, start, problem.modes[j][0]) for j, start in enumerate(starts)])
    if formulation == "node":
        for name, start in zip(model.J, starts, strict=True):
            model.s[name].set_value(start)
    rows = list(model.equal_jobs.values())
    assert len(rows) == 1
    assert (pyo.value(rows[0].body) <= pyo.value(rows[0].upper)) == is_in_order


def test_a_model_to_extend_forbids_no_order() -> None:
    model = coalloc.build_model(INSTANCE, formulation="mode", slot=10.0)
    assert model.component("equal_jobs") is None


@pytest.mark.parametrize("formulation", ["node", "count", "mode"])
def test_a_start_out_of_order_is_taken_all_the_same(formulation: str) -> None:
    # J3 first, as an own schedule has it: 70 s are the optimum, and known at once.
    start = coalloc.solve(INSTANCE, slot=10.0).schedule
    assert start is not None
    result = coalloc.solve(INSTANCE, slot=10.0, formulation=formulation, objective="total-response-time", start=start)
    # Shortest first: 20 + 40 + 70 s.
    assert (result.status, result.objective) == ("optimal", 130.0)
