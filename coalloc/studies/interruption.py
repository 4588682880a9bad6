"""Ctrl-C in a study: what is computed by then is not lost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from coalloc.documents.text import visible
from coalloc.solvers.result import SolveResult

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")
NAMED = 5
"""Missing rows that a message names."""


class Interrupted(KeyboardInterrupt):
    """A study was interrupted; ``table`` has the rows that are complete, ``missing`` names those that are not there."""

    def __init__(self, table: pd.DataFrame, missing: Sequence[str]) -> None:
        self.table, self.missing = table, tuple(missing)
        more = len(missing) - NAMED
        names = [visible(name) for name in missing[:NAMED]] + ([f"and {more} more"] if more > 0 else [])
        planned = len(table) + len(missing)
        lost = f"missing: {', '.join(names)}" if names else "no row is missing; the interrupted solve is not proved"
        super().__init__(f"interrupted with {len(table)} of {planned} rows; {lost}")


def gathered(
    parts: Iterable[T], planned: Sequence[str], table_of: Callable[[Sequence[T]], pd.DataFrame]
) -> pd.DataFrame:
    """Return the table of rows, or of what they are made of, that come in the order of what is ``planned``.

    Raises :class:`Interrupted` at Ctrl-C.
    """
    found: list[T] = []
    try:
        for part in parts:
            found.append(part)  # one by one: what came before an interrupt counts
    except KeyboardInterrupt:
        raise Interrupted(table_of(found), planned[len(found) :]) from None
    return table_of(found)


def uninterrupted(result: SolveResult) -> SolveResult:
    """Return a result; raise KeyboardInterrupt where Ctrl-C has stopped the solve, for it is meant for the study."""
    if result.stopped_by == "interrupt":
        raise KeyboardInterrupt
    return result
