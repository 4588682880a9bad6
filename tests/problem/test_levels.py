"""Speed levels of all jobs as columns, against those of one job after the other."""

from __future__ import annotations

import numpy as np
import pytest

from coalloc.problem import Problem, discretise
from coalloc.solvers.bounds.simple import fastest_shapes
from coalloc.testing.features import small_feature_instance

SEEDS = range(100)
PLAIN = {"deadline", "after", "unavailable", "start", "limits", "lags"}
"""Features that leave levels a matter of processors and ticks."""


@pytest.fixture(scope="module", params=[None, PLAIN], ids=["all features", "plain jobs"])
def problems(request: pytest.FixtureRequest) -> list[Problem]:
    """Problems of random instances, in slots and in continuous time, of which every job has a place."""
    drawn = [small_feature_instance(seed, features=request.param) for seed in SEEDS]
    made = [discretise(instance, slot if n % 2 else None) for n, (instance, slot) in enumerate(drawn)]
    return [problem for problem in made if all(map(problem.allocations.has_room, problem.jobs))]


def test_columns_have_the_levels_of_each_job(problems: list[Problem]) -> None:
    assert len(problems) > len(SEEDS) / 2
    for problem in problems:
        speeds = problem.speeds
        one_by_one = tuple(speeds.of(job) for job in problem.jobs)
        assert speeds.levels == one_by_one
        assert speeds.columns.fastest.tolist() == [of[0].duration for of in one_by_one]
        assert speeds.columns.slowest.tolist() == [of[-1].duration for of in one_by_one]
        assert problem.has_one_level_each == all(len(of) == 1 for of in one_by_one)


def test_each_shape_is_as_fast_as_its_fastest_level(problems: list[Problem]) -> None:
    for problem in problems:
        shapes = fastest_shapes(problem)
        found = zip(*(np.split(column, shapes.first[1:]) for column in (shapes.size, shapes.ticks)), strict=True)
        for (sizes, ticks), levels in zip(found, problem.levels, strict=True):
            least = {of.tasks: min(lv.duration for lv in levels if lv.tasks == of.tasks) for of in levels}
            assert dict(zip(sizes.tolist(), ticks.tolist(), strict=True)) == least
