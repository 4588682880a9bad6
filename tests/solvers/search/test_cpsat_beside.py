"""CP-SAT on another core beside the trees: where it begins, and that what it finds is heard."""

from __future__ import annotations

from dataclasses import replace

import pytest

import coalloc
from coalloc.solvers import list_schedules, portfolio
from coalloc.solvers.backends import cpsat
from coalloc.solvers.bounds import feasible_set, simple
from coalloc.solvers.search import cpsat_beside, list_annealing, set_tree

pytestmark = [
    pytest.mark.extras,
    pytest.mark.skipif(not cpsat.is_installed(), reason="the extra cpsat is not installed"),
]


def binding(seed, jobs=20):
    """Return an instance whose links bind."""
    return coalloc.generate("thesis-oas", jobs=jobs, seed=seed, max_tasks=6, bsbw_low=0.1, link_bandwidth=100.0)


def begins(monkeypatch, method, instance, **options):
    """Return whether a method begins after cheap bounds and schedules."""
    begun = []
    with monkeypatch.context() as patched:
        heard = replace(method, run=begun.append)
        patched.setattr(portfolio, "METHODS", (simple.METHOD, list_schedules.METHOD, feasible_set.METHOD, heard))
        patched.setattr(portfolio, "_may_go_on", lambda _: False)
        coalloc.solve(instance, **{"slot": "5%", "time_limit": 60.0, "threads": 2} | options)
    return bool(begun)


def test_it_begins_early_only_where_links_raise_the_bound(monkeypatch):
    assert begins(monkeypatch, cpsat_beside.EARLY, binding(5))
    others = coalloc.generate("thesis-oas", jobs=20, seed=1001)
    assert not begins(monkeypatch, cpsat_beside.EARLY, others, slot="15%")
    assert begins(monkeypatch, cpsat_beside.METHOD, others, slot="15%")


def test_it_needs_a_core_and_time_and_no_limit_of_work(monkeypatch):
    assert begins(monkeypatch, cpsat_beside.METHOD, binding(5))
    assert not begins(monkeypatch, cpsat_beside.METHOD, binding(5), threads=1)
    assert not begins(monkeypatch, cpsat_beside.METHOD, binding(5), work_limit=1_000)
    assert not begins(monkeypatch, cpsat_beside.METHOD, binding(5), time_limit=0.4)
    assert not begins(monkeypatch, cpsat_beside.METHOD, binding(5), slot=None)


def test_what_it_finds_is_heard_while_a_tree_is_searched(monkeypatch):
    methods = (simple.METHOD, list_schedules.METHOD, feasible_set.METHOD)
    searched = (cpsat_beside.METHOD, list_annealing.METHOD, set_tree.FURTHER)
    monkeypatch.setattr(portfolio, "METHODS", (*methods, *searched))
    result = coalloc.solve(binding(5), slot="5%", time_limit=60.0, threads=2)
    assert (result.status, result.trace[-1].source) == ("optimal", cpsat.METHOD.name)


def test_it_goes_on_where_cpsat_would_take_all_cores(monkeypatch):
    started = []

    def start_worker(note):
        started.append(worker(note))
        return started[-1]

    worker = cpsat.start_worker
    monkeypatch.setattr(cpsat, "start_worker", start_worker)
    methods = (simple.METHOD, list_schedules.METHOD, feasible_set.METHOD, cpsat_beside.METHOD, cpsat.METHOD)
    monkeypatch.setattr(portfolio, "METHODS", (*methods, list_annealing.METHOD))
    assert coalloc.solve(binding(1, jobs=12), slot="5%", time_limit=20.0, threads=2).status == "optimal"
    assert len(started) == 1
    assert not started[0].is_alive
