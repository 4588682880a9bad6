"""Latest ends that leave little room: a schedule that keeps them is found where brute force has one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

import coalloc
from coalloc.instance import Instance
from coalloc.instance.constraints import Constraint, Declaration, LatestEnd, PlacedJob, TimeBounds
from coalloc.problem import discretise
from coalloc.solvers.backends import cpsat
from coalloc.solvers.search.latest_ends import Tardiness
from coalloc.testing import SmallSize, brute_force_oas
from tests.small_instances import small_instance

FEW = SmallSize(max_jobs=4, max_slots=14)
"""What brute force enumerates in a moment."""
CLOSE = 1e-6
STEPS = 500
"""Steps of each search."""


class EndsBy(Constraint):
    """Every job has an instant by which it ends, s."""

    def __init__(self, ends: Mapping[str, float]) -> None:
        self.ends = ends

    def declare(self, instance: Instance) -> Iterable[Declaration]:
        return [TimeBounds(job.id, latest_end=self.ends[job.id]) for job in instance.jobs]

    def faults(self, instance: Instance, schedule: Iterable[PlacedJob]) -> Iterable[str]:
        return [f"{p.job} is late" for p in schedule if p.end > self.ends[p.job] + CLOSE]


@pytest.mark.parametrize("seed", [5, 14])
def test_the_ends_of_an_optimal_schedule_are_kept_in_continuous_time(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpsat, "is_installed", lambda: False)
    instance, _ = small_instance(seed, FEW)
    best = brute_force_oas(instance, None, "total-response-time")
    assert best.schedule is not None
    ends = EndsBy({p.job: p.end for p in best.schedule})
    result = coalloc.solve(instance, objective="total-response-time", constraints=[ends], work_limit=STEPS)
    assert result.schedule is not None
    assert result.objective == pytest.approx(best.objective, rel=CLOSE)  # no job may end later than it does there


def test_the_least_makespan_is_kept_as_a_latest_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpsat, "is_installed", lambda: False)
    instance, _ = small_instance(5, FEW)
    least = brute_force_oas(instance, None).objective
    limit = LatestEnd(instance.origin + least)
    result = coalloc.solve(instance, constraints=[limit], work_limit=STEPS)
    assert result.objective == pytest.approx(least, rel=CLOSE)


def test_tardiness_is_what_is_past_the_latest_end() -> None:
    instance, _ = small_instance(5, FEW)
    first, second = instance.jobs[:2]
    ends = EndsBy({job.id: 100.0 for job in instance.jobs})
    tardiness = Tardiness(discretise(instance, 30.0, constraints=[ends]))  # the third slot ends at 90 s
    assert tardiness.cost(first, 0.0, 120.0) == 30.0
    assert tardiness.cost(second, 0.0, 90.0) == 0.0
