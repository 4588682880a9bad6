"""The least energy of few jobs within nodes as a function of the makespan: every way to share them out.

A node takes at least so long for a set of jobs, and its makespan is at least so much
(:mod:`coalloc.models.energy_sets`). So a schedule with a makespan of at most ``high`` takes at least the least sum of
the joules of sets, over all ways to give each job to a node whose set can be done by then: a dynamic programme over
sets, node by node. Equation: (V6) of docs/mathematics/energy-bounds.md.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from coalloc.instance.rounding import RELATIVE_TOLERANCE
from coalloc.models.energy_costs import ClassWatts
from coalloc.models.energy_sets import set_bounds
from coalloc.problem import Problem

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class EnergyBySets:
    """Least energy of sets of jobs on each node, and of all jobs together on all of them."""

    def __init__(self, problem: Problem, costs: ClassWatts, makespan_limit: float) -> None:
        num_nodes, num_sets = len(problem.classes), 1 << len(problem.jobs)
        self._joules = np.full((num_nodes, num_sets), math.inf)
        self._makespans = np.full((num_nodes, num_sets), math.inf)
        for g in range(num_nodes):
            own = [next((costs.joules(c) for c in modes if c.allocation[g]), math.inf) for modes in problem.modes]
            for members, bound in set_bounds(problem, g, makespan_limit).items():
                joules = sum(of_job for j, of_job in enumerate(own) if members >> j & 1)
                self._joules[g, members] = joules + costs.extra_watts.get(g, 0.0) * bound.busy
                self._makespans[g, members] = bound.makespan
        self._parts, self._rests, self._begins = _splits(num_sets if num_nodes > 2 else 1)

    def joules(self, high: float) -> float:
        """Return what all jobs take at least beyond idle watts with a makespan of at most ``high`` s, J."""
        can = np.where(self._makespans <= high * (1.0 + RELATIVE_TOLERANCE), self._joules, math.inf)
        found = can[0]
        for of_node in can[1:-1]:
            found = np.minimum.reduceat(found[self._parts] + of_node[self._rests], self._begins)
        return float(found[-1]) if len(can) == 1 else float((found + can[-1][::-1]).min())


def _splits(num_sets: int) -> tuple[Ints, Ints, Ints]:
    """Return the subsets of every set, set by set, what each leaves of it, and where those of each set begin."""
    parts = [np.zeros(1, dtype=np.int64)]
    for members in range(1, num_sets):
        least = members & -members
        smaller = parts[members ^ least]
        parts.append(np.concatenate([smaller, smaller | least]))
    rests = [members - part for members, part in enumerate(parts)]
    begins = np.cumsum([0, *(len(part) for part in parts[:-1])])
    return np.concatenate(parts), np.concatenate(rests), begins
