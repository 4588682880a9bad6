"""Rows of starts and ends: lags that hold a job for long, and what a row may be; ``test_agreement`` has brute force.

Count, node and CP-SAT may hold a job for longer than it runs, which is of no use but to a row that asks for a late end.
"""

from __future__ import annotations

import pytest

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform
from coalloc.instance.constraints import TimeRow
from coalloc.problem import discretise
from coalloc.testing import brute_force_oas
from coalloc.testing.constraints import TimeLag
from tests.test_agreement import TIME_LIMIT


def slow_jobs() -> tuple[Instance, list[TimeLag]]:
    """Return two jobs that take 10 s on the one node and 20 s on the other, and have to take 20 s.

    Both need the slow node then, one after the other: 40 s. Held for 20 s on the fast one, both would end at 20 s.
    """
    platform = Platform([Cluster("C1", [NodeGroup(1, power=1.0), NodeGroup(1, power=0.5)], 100.0)])
    instance = Instance(platform, [Job(name, 1, 10.0, processing_share=1.0) for name in ("J1", "J2")])
    return instance, [TimeLag(("end", job.id), ("start", job.id), 20.0) for job in instance.jobs]


@pytest.mark.parametrize("formulation", ["mode", "count", "node", "auto"])
def test_a_job_that_has_to_take_long_is_where_it_does(formulation: str) -> None:
    instance, lags = slow_jobs()
    result = coalloc.solve(instance, slot=10.0, formulation=formulation, constraints=lags, time_limit=TIME_LIMIT)
    assert (result.status, result.objective) == ("optimal", 40.0)
    horizon = int(discretise(instance, 10.0, constraints=lags).horizon_in_turn)
    assert brute_force_oas(instance, 10.0, constraints=lags, horizon=horizon).objective == 40.0


def test_a_job_that_cannot_take_so_long() -> None:
    instance, _ = slow_jobs()
    lags = [TimeLag(("end", "J1"), ("start", "J1"), 30.0)]
    result = coalloc.solve(instance, slot=10.0, formulation="count", constraints=lags, time_limit=TIME_LIMIT)
    assert (result.status, result.schedule) == ("infeasible", None)


@pytest.mark.parametrize("factors", [(), (1, 1), (2,), (1, -2), (-1, -1), (1, 1, -1)])
def test_a_row_is_of_one_time_or_a_difference(factors: tuple[int, ...]) -> None:
    # start >= 2 end asks for more than any sum of lags and run times: no horizon would be known to be enough.
    terms = tuple((factor, "start", f"J{i}") for i, factor in enumerate(factors))
    with pytest.raises(CoallocError, match="factors 1 and -1"):
        TimeRow(terms, 0.0)  # type: ignore[arg-type]
