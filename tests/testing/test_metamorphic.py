"""The metamorphic relations on 60 triples, and that they find what is wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

import coalloc
from coalloc.testing.metamorphic import METERED, SHIFTS, TRANSFORMATIONS, Triple, tick, trial, triple

LIMIT = 600.0
"""Seconds, far beyond what is needed."""


# fmt: off
NUMBERS = (
    0, 9, 10, 21, 23, 30, 31, 32, 33, 44, 45, 54, 55, 75, 76, 86, 88, 100, 101, 110, 111, 121, 131, 132, 133, 144,
    154, 155, 164, 166, 214, 219, 243, 264, 267, 275, 277, 286, 287, 308, 330, 353, 355, 377, 396, 419, 430, 444,
    445, 521, 555, 574, 588, 675, 688, 696, 767, 877, 901, 918,
)
# fmt: on
"""60 triples: each transformation in both kinds of time, and three of energy. Most contradicted when the tolerance on a
clock moved to 0 was finer than the times on the user's clock."""


@pytest.mark.parametrize(
    "one", list(map(triple, NUMBERS)), ids=lambda one: f"{one.number}-{one.time}-{one.transformation}"
)
def test_relations_hold(one):
    made = trial(one, LIMIT)
    assert [str(fault) for fault in made.faults] == []
    assert not made.is_open


# --- the suite finds what is wrong ------------------------------------------------------------------------

EARLY = 1e6
"""A clock on which nothing is rounded that counts, s."""


def relations(transformation: str, *, number: int = 0) -> set[str]:
    """Return the relations that a triple breaks."""
    return {fault.relation for fault in trial(Triple(number, False, transformation, EARLY, "makespan"), LIMIT).faults}


def later(result):
    """Return a result with its schedule a second later, and the objective of that: valid, but not optimal."""
    placements = [p.replace(start=p.start + 1.0, end=p.end + 1.0) for p in result.schedule]
    worth = result.objective + 1.0
    return replace(result, schedule=result.schedule.replace(placements=placements), objective=worth, lower_bound=worth)


def infeasible(result):
    return replace(
        result, status=coalloc.results.SolveStatus.INFEASIBLE, schedule=None, objective=None, lower_bound=None
    )


def too_short(result):
    first, *others = result.schedule.placements
    placements = [first.replace(start=first.start + 1.0), *others]
    return replace(result, schedule=result.schedule.replace(placements=placements))


def failing(result):
    raise KeyError("J1")


@pytest.mark.parametrize(
    ("transformation", "keyword", "change", "relation"),
    [
        ("shift", "", later, "optimum"),
        ("fix-part", "fixed", infeasible, "feasibility"),
        ("fix-whole", "fixed", later, "fixed"),
        ("start-whole", "start", failing, "raises"),
        ("makespan-limit", "makespan_limit", too_short, "checker"),
    ],
)
def test_an_error_of_solve_is_found(monkeypatch, transformation, keyword, change, relation):
    solve = coalloc.solve

    def wrong(instance, **keywords):
        result = solve(instance, **keywords)
        return change(result) if instance.origin >= EARLY and (not keyword or keyword in keywords) else result

    # Of the first triples one at least must show it: which, depends on the features that they draw.
    numbers = range(6)
    assert not any(relation in relations(transformation, number=number) for number in numbers)
    monkeypatch.setattr(coalloc, "solve", wrong)
    assert any(relation in relations(transformation, number=number) for number in numbers)


def test_a_checker_that_accepts_everything_is_found(monkeypatch):
    monkeypatch.setattr(coalloc, "check", lambda *given, **keywords: [])
    assert relations("shift") == {"lax"}


def test_a_bound_above_a_known_schedule_is_found(monkeypatch):
    monkeypatch.setattr(coalloc, "lower_bound", lambda *given, **keywords: 1e9)
    assert relations("lower-bound") == {"bound"}


def test_a_tick_is_as_fine_as_the_clock_allows():
    # 2**-30 s where times are small; floats between 2**30 and 2**31 are 2**-22 apart, four of which are 2**-20. Floats
    # from 2**33 on are 2**-19 apart, four of which are 2**-17; but 2**-50 of the time in turn is 1.5 times that.
    platform = coalloc.Platform([coalloc.Cluster("C1", [coalloc.NodeGroup(1, power=1.0)], 1.0)])
    times = ((10.0, 0.0), (10.0, 1.76e9), (1.5 * 2.0**33, 0.0))
    ticks = [tick(coalloc.Instance(platform, [coalloc.Job("J1", 1, run, arrival=arrival)])) for run, arrival in times]
    assert ticks == [2.0**-30, 2.0**-20, 2.0**-16]


def test_the_tested_triples_have_every_transformation_in_both_kinds_of_time():
    chosen = list(map(triple, NUMBERS))
    assert len(set(NUMBERS)) == 60
    assert {(one.transformation, one.is_slotted) for one in chosen} == {(n, t) for n in TRANSFORMATIONS for t in (0, 1)}


def test_triples_are_stratified():
    triples = [triple(number) for number in range(1000)]
    assert {(one.transformation, one.shift) for one in triples} >= {(n, s) for n in TRANSFORMATIONS for s in SHIFTS}
    regular = [one for one in triples if one.objective not in METERED]
    assert len(regular) == 900
    assert {(one.transformation, one.is_slotted) for one in triples} == {
        (n, t) for n in TRANSFORMATIONS for t in (0, 1)
    }
    assert sum(one.is_slotted for one in triples) == 500
