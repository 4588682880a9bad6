"""The rule on custom constraints: constraint."""

from __future__ import annotations

from collections.abc import Iterator

from coalloc.checker.rule import Case, Rule, Violation
from coalloc.instance import visible


def _constraints(case: Case) -> Iterator[Violation]:
    """Yield the faults that each constraint finds in a schedule that places every job once."""
    if case.has_found("missing-job", "duplicate-job", "unknown-job"):
        return
    for constraint in case.constraints:
        for sentence in constraint.faults(case.instance, case.schedule):
            yield Violation("constraint", (), "", None, 1, 0, f"{type(constraint).__name__}: {visible(sentence)}")


RULES = (
    Rule(
        {"constraint": "the given constraints are satisfied; they are checked if each job is placed once"}, _constraints
    ),
)
