"""Lags between starts and ends, also the longest that is allowed: every formulation against brute force.

Count, node and CP-SAT may hold a job for longer than it runs, which is of no use but to a row that asks for a late end.
"""

from __future__ import annotations

import numpy as np
import pytest

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform
from coalloc.instance.constraints import TimeRow
from coalloc.problem import discretise
from coalloc.testing import BruteForceResult, brute_force_oas
from coalloc.testing.constraints import Lag
from tests.agreement import TIME_LIMIT, assert_agrees
from tests.small_instances import TINY, small_instance

SEEDS = (2, 4, 5, 7, 8, 11, 12, 14, 15, 17, 18, 19)
"""Of the first twenty those that brute force decides in a moment; seven have a schedule, five have none."""


def optimum(instance: Instance, slot: float, lags: list[Lag]) -> BruteForceResult:
    """Return the least makespan, s; every slot is tried as a start of every job."""
    horizon = int(discretise(instance, slot, constraints=lags).horizon_in_turn)
    return brute_force_oas(instance, slot, constraints=lags, horizon=horizon)


def drawn(seed: int) -> tuple[Instance, float, list[Lag]]:
    """Return an instance, a slot (s), and that one job ends so late after another that begins little after it."""
    instance, slot = small_instance(seed, TINY)
    rng = np.random.default_rng(seed)
    ids = [job.id for job in instance.jobs]
    one, other = ids[int(rng.integers(len(ids)))], ids[int(rng.integers(len(ids)))]
    late = Lag(("end", one), ("start", other), slot * int(rng.integers(1, 6)))
    soon = Lag(("start", other), ("start", one), -slot * int(rng.integers(3)))
    return instance, slot, [late, soon]


def slow_jobs() -> tuple[Instance, list[Lag]]:
    """Return two jobs that take 10 s on the one node and 20 s on the other, and have to take 20 s.

    Both need the slow node then, one after the other: 40 s. Held for 20 s on the fast one, both would end at 20 s.
    """
    platform = Platform([Cluster("C1", [NodeGroup(1, power=1.0), NodeGroup(1, power=0.5)], 100.0)])
    instance = Instance(platform, [Job(name, 1, 10.0, processing_share=1.0) for name in ("J1", "J2")])
    return instance, [Lag(("end", job.id), ("start", job.id), 20.0) for job in instance.jobs]


@pytest.mark.parametrize("formulation", ["mode", "count", "node", "auto"])
def test_a_job_that_has_to_take_long_is_where_it_does(formulation: str) -> None:
    instance, lags = slow_jobs()
    result = coalloc.solve(instance, slot=10.0, formulation=formulation, constraints=lags, time_limit=TIME_LIMIT)
    assert (result.status, result.objective) == ("optimal", 40.0)
    assert optimum(instance, 10.0, lags).objective == 40.0


def test_a_job_that_cannot_take_so_long() -> None:
    instance, _ = slow_jobs()
    lags = [Lag(("end", "J1"), ("start", "J1"), 30.0)]
    result = coalloc.solve(instance, slot=10.0, formulation="count", constraints=lags, time_limit=TIME_LIMIT)
    assert (result.status, result.schedule) == ("infeasible", None)


@pytest.mark.parametrize("factors", [(), (1, 1), (2,), (1, -2), (-1, -1), (1, 1, -1)])
def test_a_row_is_of_one_time_or_a_difference(factors: tuple[int, ...]) -> None:
    # start >= 2 end asks for more than any sum of lags and run times: no horizon would be known to be enough.
    terms = tuple((factor, "start", f"J{i}") for i, factor in enumerate(factors))
    with pytest.raises(CoallocError, match="factors 1 and -1"):
        TimeRow(terms, 0.0)  # type: ignore[arg-type]


@pytest.mark.usefixtures("cpsat_or_not")
@pytest.mark.parametrize("seed", SEEDS)
def test_the_portfolio_keeps_lags(seed: int) -> None:
    instance, slot, lags = drawn(seed)
    assert_agrees(instance, slot, constraints=lags, best=optimum(instance, slot, lags))


@pytest.mark.parametrize("formulation", ["mode", "count"])
@pytest.mark.parametrize("seed", SEEDS)
def test_a_formulation_keeps_lags(seed: int, formulation: str) -> None:
    instance, slot, lags = drawn(seed)
    best = optimum(instance, slot, lags)
    assert_agrees(instance, slot, formulation=formulation, constraints=lags, best=best)
