"""The benchmark of agreement on jobs with weights and due dates: a fast subset of it."""

from __future__ import annotations

import agreement

from coalloc.testing.small import SmallSize, small_instance, with_due_dates

LIMIT = 600.0
"""Seconds, far beyond what is needed."""


def test_objectives_of_weights_and_due_dates_agree():
    instance, slot = small_instance(1, SmallSize(max_jobs=2, max_processors=4, max_slots=6))
    cases = list(agreement.waiting(with_due_dates(instance, 1), slot, LIMIT))
    assert len(cases) == 2 * len(agreement.DUE)
    judged = ("mean-bounded-slowdown", "maximum-lateness")
    slotted = [case for case in cases if case.keywords["objective"] in judged and "slot" in case.keywords]
    assert [agreement.judged(case, LIMIT)["disagreement"] for case in slotted] == ["", ""]
