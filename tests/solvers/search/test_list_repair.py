"""List repair leaves the time to the methods that prove that there is no schedule."""

from __future__ import annotations

import pytest

import coalloc
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.solvers.backends import pumpkin
from coalloc.solvers.search import faults_alone
from coalloc.testing.constraints import TimeLag


@pytest.mark.skipif(not pumpkin.is_installed(), reason="requires Pumpkin")
@pytest.mark.parametrize("slot", [None, 10.0])
def test_the_first_round_is_brief_where_no_schedule_exists(slot: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    # B ends at least 30 s after it starts, and takes 10 s: no schedule. A tenth of the limit would be a day.
    tried: list[object] = []
    value = faults_alone._Search._value
    monkeypatch.setattr(
        faults_alone._Search, "_value", lambda search, plan: (tried.append(plan), value(search, plan))[1]
    )
    instance = Instance(Platform([Cluster("C", [NodeGroup(2, 1.0)], 1.0)]), [Job("A", 1, 10.0), Job("B", 1, 10.0)])
    lag = TimeLag(("end", "B"), ("start", "B"), 30.0)
    result = coalloc.solve(instance, slot=slot, constraints=[lag], time_limit=1e6)
    assert result.status == "infeasible"
    assert len(tried) <= 2 * faults_alone.STEPS + 1
