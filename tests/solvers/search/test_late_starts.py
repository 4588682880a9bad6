"""Jobs that start later than they could, for another starts after them and not too long after them."""

from __future__ import annotations

import pytest

import coalloc
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.instance.lags import Lag
from coalloc.schedule import Placement, Schedule
from coalloc.solvers import oas
from coalloc.solvers.search.late_starts import METHOD

BOUND = "feasible-set LP"
"""The bound that gives the tree its prices."""


def three_jobs() -> Instance:
    """Return jobs of which the last starts within 5 s of the end of the first, on two processors.

    The long job and the last one cannot overlap: 40 s at least. The first one runs beside the long one, from 15 s on. A
    list has it before the last one, and so at 0 s where it is beside the long one: the last one would come too late.
    """
    platform = Platform([Cluster("C", [NodeGroup(2, 1.0)], 1.0)])
    lag = Lag("first", "end", 0.0, 5.0)
    return Instance(
        platform, [Job("long", 1, 30.0), Job("first", 1, 10.0), Job("last", 2, 10.0, lags=[lag])], name="three"
    )


@pytest.mark.parametrize("slot", [None, 5.0])
def test_a_job_starts_as_long_before_an_end_as_its_row_says(
    slot: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for other in ("_relax", "_take_exact_slots"):  # solves that come before the portfolio
        monkeypatch.setattr(oas, other, lambda *_: None)
    assert coalloc.solve(three_jobs(), slot=slot, methods=[BOUND]).objective == pytest.approx(50.0)
    result = coalloc.solve(three_jobs(), slot=slot, methods=[BOUND, METHOD.name])
    assert (result.status, result.objective) == ("optimal", pytest.approx(40.0))
    assert 15.0 - 1e-6 <= result.schedule["first"].start <= 20.0 + 1e-6


def test_nothing_is_proved_where_no_such_schedule_is_found() -> None:
    # Where "long" may not be the last to end, all others are later: the bound of 40 s is not attained.
    instance = three_jobs()
    late = instance.replace(
        jobs=[job.replace(lags=[Lag("last", "end")]) if job.id == "long" else job for job in instance.jobs]
    )
    result = coalloc.solve(late, methods=[BOUND, METHOD.name])
    assert (result.status, result.objective) == ("optimal", pytest.approx(50.0))


def test_a_warm_start_keeps_greatest_lags() -> None:
    # Placed one by one in the order of its starts, the first job would start at 0 s.
    placements = [Placement("long", 0.0, 30.0, ["C/0"]), Placement("first", 15.0, 25.0, ["C/1"])]
    start = Schedule([*placements, Placement("last", 30.0, 40.0, ["C/0", "C/1"])], None, "three")
    result = coalloc.solve(three_jobs(), start=start, methods=["list schedule"])
    assert (result.objective, result.message) == (pytest.approx(40.0), "")
