"""CP-SAT on another core beside the trees: where it begins, and that what it finds is heard."""

from __future__ import annotations

import pytest

import coalloc
from coalloc.solvers import list_schedules, portfolio
from coalloc.solvers.backends import cpsat
from coalloc.solvers.bounds import feasible_set, simple
from coalloc.solvers.search import list_annealing, set_tree, with_cpsat

pytestmark = [
    pytest.mark.extras,
    pytest.mark.skipif(not cpsat.is_installed(), reason="the extra cpsat is not installed"),
]


def binding(seed, jobs=20):
    """Return an instance whose links bind."""
    return coalloc.generate("thesis-oas", jobs=jobs, seed=seed, max_tasks=6, bsbw_low=0.1, link_bandwidth=100.0)


def begins(instance, **options):
    """Return the rounds in which it would begin after cheap bounds and schedules."""
    begun = []
    with pytest.MonkeyPatch.context() as patched:
        rows = (simple.METHOD, list_schedules.METHOD, feasible_set.METHOD, with_cpsat.METHOD)
        patched.setattr(portfolio, "METHODS", rows)
        patched.setattr(cpsat, "begin_beside", lambda incumbent: begun.append(incumbent.round))
        patched.setattr(cpsat, "load", lambda _: None)
        patched.setattr(cpsat, "solve_here", lambda _: None)
        patched.setattr(portfolio, "_may_go_on", lambda _: False)
        coalloc.solve(instance, **{"slot": "5%", "time_limit": 60.0, "threads": 2} | options)
    return begun


def test_it_begins_in_the_first_round_only_where_links_raise_the_bound():
    assert begins(binding(5)) == [0, 1]
    assert begins(coalloc.generate("thesis-oas", jobs=20, seed=1001), slot="15%") == [1]


def test_it_needs_a_core_and_time_and_no_limit_of_work():
    assert not begins(binding(5), threads=1)
    assert not begins(binding(5), work_limit=1_000)
    assert not begins(binding(5), time_limit=0.4)
    assert not begins(binding(5), slot=None)


def test_what_it_finds_is_heard_while_a_tree_is_searched(monkeypatch):
    methods = (simple.METHOD, list_schedules.METHOD, feasible_set.METHOD)
    monkeypatch.setattr(portfolio, "METHODS", (*methods, set_tree.METHOD, with_cpsat.METHOD))
    result = coalloc.solve(binding(5), slot="5%", time_limit=60.0, threads=2)
    assert (result.status, result.trace[-1].source) == ("optimal", cpsat.NAME)


def test_it_goes_on_where_cpsat_would_take_all_cores(monkeypatch):
    started = []

    def start_worker(note):
        started.append(worker(note))
        return started[-1]

    worker = cpsat.start_worker
    monkeypatch.setattr(cpsat, "start_worker", start_worker)
    methods = (simple.METHOD, list_schedules.METHOD, feasible_set.METHOD, with_cpsat.METHOD, list_annealing.METHOD)
    monkeypatch.setattr(portfolio, "METHODS", methods)
    assert coalloc.solve(binding(1, jobs=12), slot="5%", time_limit=20.0, threads=2).status == "optimal"
    assert len(started) == 1
    assert not started[0].is_alive
