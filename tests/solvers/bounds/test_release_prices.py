"""Prices of releases: by hand, of early jobs as well, and none where sets are too many."""

from __future__ import annotations

import math

import pytest

from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.problem import Problem, discretise
from coalloc.solvers.bounds import release_prices as module
from coalloc.solvers.bounds.release_prices import release_prices


def two_processors(*jobs: Job) -> Problem:
    """Return jobs on two equal processors, in continuous time."""
    return discretise(Instance(Platform((Cluster("C1", (NodeGroup(2, 1.0),), 1.0),)), jobs), None)


JOBS = (
    Job("J1", 2, 10.0),
    Job("J2", 1, 30.0, arrival=20.0),
    Job("J3", 1, 30.0, arrival=20.0),
    Job("J4", 2, 6.0, arrival=20.0),
)


def test_early_jobs_have_prices_too() -> None:
    # From 20 s on J4 takes 6 s and J2 beside J3 30 s: 56 s. Nothing runs beside J1, so it is worth its 10 s as well.
    best = release_prices(two_processors(*JOBS))[0]
    assert best[0] == pytest.approx(10.0)
    assert best[1] + best[2] == pytest.approx(30.0)
    assert best[3] == pytest.approx(6.0)


def test_early_jobs_are_worth_nothing_beside_what_fills_the_time() -> None:
    # J2 takes one processor for 30 s from 20 s on, and is worth 30: J1 fits beside it, and takes no time of its own.
    best = release_prices(two_processors(Job("J1", 1, 10.0), Job("J2", 1, 30.0, arrival=20.0)))[0]
    assert best == pytest.approx([0.0, 30.0])


def test_each_release_has_prices_of_its_own() -> None:
    # J1 and J2 fit together. From 0 on the longer is worth its 50 s, and J3 10 s: 60 s. From 45 s on J2 is worth 30 s,
    # which leaves 20 of the 50 s of J1 (rates 1 and 0: nothing beside it), and J3 10 s: 45 + 40 = 85 s.
    jobs = (Job("J1", 1, 50.0), Job("J2", 1, 30.0, arrival=45.0), Job("J3", 2, 10.0, arrival=45.0))
    first, second = release_prices(two_processors(*jobs))
    assert first == pytest.approx([0.0, 30.0, 10.0])
    assert second == pytest.approx([50.0, 0.0, 10.0])


def test_there_are_none_where_sets_are_too_many_or_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    assert release_prices(two_processors(*JOBS), deadline=-math.inf) == []
    monkeypatch.setattr(module, "MAX_SETS", 3)
    assert release_prices(two_processors(*JOBS)) == []


def test_a_job_of_no_slot_is_worth_nothing() -> None:
    # Rounded down to 20 s, J1 and J4 are no slot; J2 and J3 side by side are one, from the first slot on.
    problem = discretise(two_processors(*JOBS).instance, 20.0, "down")
    best = release_prices(problem)[0]
    assert (best[0], best[3]) == (0.0, 0.0)
    assert best[1] + best[2] == pytest.approx(1.0)
