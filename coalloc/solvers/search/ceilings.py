"""The latest ends by which a tree searches for a schedule: its ceilings, ticks, and what is proved once it found none.

A search that is free of others may also ask for one kind of jobs in the first half of the schedule.
Derivation: docs/mathematics/exact-tree.md, "Ceilings" and "Bounds of a node".
"""

from __future__ import annotations

import math

from coalloc.problem import Problem
from coalloc.solvers.result import PROOF_TOLERANCE
from coalloc.solvers.search.packed_modes import PackedModes

SLOT_NOISE, NOISE = 1e-6, 1e-12
"""Possible loss of the sums of a bound: in slots, and as a share of its size.

A bound is a sum of some hundred floats, each right to 1e-16 of its size, so both are ample; and a node that is as close
as that to the ceiling is kept, not left. In slots ends are whole: what is kept for the noise is no new end.
"""


def proven_below(problem: Problem, best: float) -> float:
    """Return the latest end, ticks, that is proved where nothing ends by the ceiling below the best."""
    if problem.slot is not None or math.isinf(best):
        return best
    return best - 0.5 * PROOF_TOLERANCE * (best - problem.instance.origin)


def ceiling_below(problem: Problem, best: float) -> float:
    """Return the latest end, ticks, that would be worth finding: better than the best, and allowed."""
    better = best - 1 if problem.slot is not None else proven_below(problem, best)
    return beyond_noise(problem, min(better, max(problem.latest_ends)))


def beyond_noise(problem: Problem, ceiling: float) -> float:
    """Return the end of the sums that are no more than a ceiling, ticks, but for what they may lose."""
    return ceiling + (0.0 if problem.slot is None else SLOT_NOISE) + NOISE * ceiling


def mirrored_kind(problem: Problem, packed: PackedModes) -> int | None:
    """Return the kind of which it may be asked that it is in the first half of the schedule; None where none may.

    Where all jobs are there from the beginning, and nothing else holds or ties them, a schedule may as well be run
    backwards. It is the kind of most work of those of one job.
    """
    if problem.couples or not problem.has_monotone_capacity or problem.busy or not problem.has_equal_releases:
        return None
    alone = [kind for kind, of_kind in enumerate(packed.kinds) if len(of_kind) == 1 and packed.durations[kind]]
    return max(alone, key=lambda kind: packed.tasks(kind) * packed.durations[kind][0], default=None)
