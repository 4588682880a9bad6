"""Sums to which terms are added, and from which they are taken away again, a million times without drift.

A plain sum keeps what rounding has left of terms that are long gone: sites that are equal would not tie.
"""

from __future__ import annotations

from typing import Self


class RunningSums:
    """Several sums of floats in twice their precision; a total is 0 where no term but 0 is left.

    ``totals`` are wrong by no more than their last digit and 2^-104 of all that was ever added, per change. What a
    total has been rounded by is kept beside it (the sum of two floats and its rounding error are both floats: Knuth,
    The Art of Computer Programming 2, 4.2.2, theorem B).
    """

    __slots__ = ("_num_terms", "_rests", "totals")

    def __init__(self, count: int) -> None:
        self.totals = [0.0] * count
        self._rests = [0.0] * count
        self._num_terms = [0] * count

    def copied(self) -> Self:
        """Return sums of their own."""
        twin = type(self)(0)
        twin.totals, twin._rests, twin._num_terms = self.totals.copy(), self._rests.copy(), self._num_terms.copy()
        return twin

    def add(self, place: int, term: float) -> None:
        """Add a term to a sum."""
        if term:
            self._num_terms[place] += 1
            self._change(place, term)

    def take_away(self, place: int, term: float) -> None:
        """Take a term away that was added before."""
        if not term:
            return
        self._num_terms[place] -= 1
        if self._num_terms[place]:
            self._change(place, -term)
        else:
            self.totals[place] = self._rests[place] = 0.0

    def _change(self, place: int, term: float) -> None:
        before = self.totals[place]
        after = before + term
        part = after - before
        rest = self._rests[place] + ((before - (after - part)) + (term - part))
        self.totals[place] = total = after + rest
        self._rests[place] = rest - (total - after)
