"""Why jobs that have arrived do not start yet: others before them, time lags, calendars, jobs that must not run now.

What a search over instants asks of the rows and calendars of a problem. All of them forbid starts that are too
early, or at the wrong time, and never ask for one by an instant: so in some best schedule each job starts when
something ends or arrives, a lag is over, or its calendar allows it for the first time since (docs/mathematics.md,
"Branch and bound over extension alternatives").
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

from coalloc.problem import NotTogetherRow, Problem, TimeSumRow
from coalloc.solvers.search.running_sets import ExtensionAlternative, Key, RunningSets


@dataclass(frozen=True, slots=True)
class _Lag:
    """A kind, of one job, starts so many ticks after the start of another, or its end."""

    kind: int
    of: int
    is_end: bool
    least: float


class Waits:
    """What keeps jobs of a problem, by kind, from starting; each kind of which a row says something is of one job.

    ``nothing`` are the times of a search's first node: by kind that is behind a lag, until when (ticks) those that have
    begun last.
    """

    def __init__(self, problem: Problem, sets: RunningSets) -> None:
        self._problem, self._durations, mask = problem, sets.durations, sets.counts.mask
        kind_of = {j: kind for kind, of_kind in enumerate(sets.kinds) for j in of_kind}
        self._lags = lags = list(_lags(problem, kind_of))
        self._behind = [(mask(lag.kind), mask(lag.of), lag.of) for lag in lags if lag.is_end and not lag.least]
        self._with = [(mask(lag.kind), mask(lag.of)) for lag in lags if not lag.is_end and not lag.least]
        lasting = [lag for lag in lags if lag.least]
        self._after = [(mask(lag.kind), mask(lag.of)) for lag in lasting]
        behind = sorted({lag.kind for lag in lasting})
        self._masks = [mask(kind) for kind in behind]
        self._delays: dict[int, list[tuple[int, bool, float]]] = {}
        for lag in lasting:
            self._delays.setdefault(lag.of, []).append((behind.index(lag.kind), lag.is_end, lag.least))
        self._soonest = {lag.of: lag.least for lag in sorted(lasting, key=lambda lag: -lag.least) if not lag.is_end}
        self.nothing = (-math.inf,) * len(behind)
        self._apart = [
            (frozenset(kind_of[j] for j in row.jobs), sum(mask(kind_of[j]) for j in row.jobs))
            for row in problem.rows
            if isinstance(row, NotTogetherRow)
        ]
        self._calendars = [(kind, mask(kind)) for kind, (j, *_) in enumerate(sets.kinds) if j in problem.calendars]
        self._first = [j for j, *_ in sets.kinds]
        self._allowed_from = cache(problem.allowed_from)
        self._shortest = self.least_times()
        self._slack = 0.0 if problem.slot is not None else problem.base.tolerance
        self.is_empty = not (lags or self._apart or self._calendars)

    def ready(
        self, now: float, waiting: int, ready: int, running: Iterable[Key], until: Sequence[float]
    ) -> tuple[int, float]:
        """Return which of those that are ready (packed) may start now, and when the next one may."""
        following, runs = math.inf, {kind for kind, _ in running}
        for own, other, kind in self._behind:
            if waiting & other or kind in runs:
                ready &= ~own
        for own, other in self._after:
            if waiting & other:
                ready &= ~own
        for own, end in zip(self._masks, until, strict=True):
            if end > now:
                ready &= ~own
                following = min(following, end)
        for kinds, bits in self._apart:
            if not runs.isdisjoint(kinds):
                ready &= ~bits
        for kind, own in self._calendars:
            if ready & own:
                allowed = self._allowed_from(self._first[kind], now)
                if allowed > now + self._slack:
                    ready &= ~own
                    following = min(following, allowed)
        return ready, following

    def allow(self, start: ExtensionAlternative, waiting: int) -> bool:
        """Return whether jobs may start together, beside those that wait (packed, these among them)."""
        left = waiting - start.jobs
        if any(start.jobs & own and left & other for own, other in self._with):
            return False
        return all(sum([kind in kinds for kind, _ in start.keys]) < 2 for kinds, _ in self._apart)

    def is_late(self, waiting: int, later: float, ceiling: float) -> bool:
        """Return whether a job that waits (packed), as its calendar has it, does not end by a ceiling."""
        return any(
            waiting & own and self._allowed_from(self._first[kind], later) + self._shortest[kind] > ceiling
            for kind, own in self._calendars
        )

    def soonest(self, start: ExtensionAlternative) -> float:
        """Return in how many ticks the first lag is over that begins with a start."""
        return min([self._soonest.get(kind, math.inf) for kind, _ in start.keys], default=math.inf)

    def after(self, until: Sequence[float], start: ExtensionAlternative, now: float, later: float) -> tuple[float, ...]:
        """Return until when the lags last that have begun by a later instant."""
        if not until:
            return ()
        found = list(until)
        for kind, level in start.keys:
            for place, is_end, least in self._delays.get(kind, ()):
                begun = now + self._durations[kind][level] if is_end else now
                found[place] = max(found[place], begun + least)
        return tuple([end if end > later else -math.inf for end in found])

    def least_times(self) -> list[float]:
        """Return for each kind the ticks from its start until it, and all that waits for it, has ended, at least."""
        least = [min(durations, default=math.inf) for durations in self._durations]
        alone = list(least)
        for _ in self._lags:  # each round reaches one lag further; on a cycle nothing ever starts
            for lag in self._lags:
                begun = alone[lag.of] if lag.is_end else 0.0
                least[lag.of] = max(least[lag.of], begun + lag.least + least[lag.kind])
        return least


def _lags(problem: Problem, kind_of: dict[int, int]) -> Iterable[_Lag]:
    for row in problem.rows:
        if isinstance(row, TimeSumRow) and len(row.terms) == 2:
            (_, _, late), (_, which, early) = sorted(row.terms, reverse=True)
            yield _Lag(kind_of[late], kind_of[early], which == "end", row.least)


def is_no_later(until: Sequence[float], other: Sequence[float], now: float) -> bool:
    """Return whether lags end no later than others, or before an instant."""
    return all(one <= max(end, now) for one, end in zip(until, other, strict=True))
