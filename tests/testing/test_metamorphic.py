"""The metamorphic relations on 60 triples, and that they find what is wrong."""

from __future__ import annotations

import pytest

from coalloc.testing.metamorphic import METERED, TRANSFORMATIONS, Triple, selected, trial

LIMIT = 600.0
"""Seconds, far beyond what is needed."""


def chosen_triples() -> list[Triple]:
    """Return 60 triples: each transformation in both kinds of time on the two latest clocks, and some of energy."""
    chosen = []
    for time in ("continuous", "slots"):
        for name in TRANSFORMATIONS:
            for shift in (1e8, 1.76e9):
                triples = selected(range(1000), [name], [shift], times=[time])
                chosen.append(next(one for one in triples if one.objective not in METERED))
        chosen += selected(range(200), shifts=[1e8, 1.76e9], objectives=METERED, times=[time])[:4]
    return chosen


@pytest.mark.parametrize("triple", chosen_triples(), ids=lambda one: f"{one.number}-{one.time}-{one.transformation}")
def test_relations_hold(triple):
    made = trial(triple, LIMIT)
    assert [str(fault) for fault in made.faults] == []
    assert not made.is_open
