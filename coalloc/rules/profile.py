"""The timeline of a problem: processors per class, then what is left of each resource that jobs may compete for.

It serves slots and seconds alike: its times are the ticks of a :class:`Problem`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

from coalloc.problem import Problem
from coalloc.problem.budgets import Spending
from coalloc.rules.timeline import Timeline

SUBTRACTION_NOISE = 1e-12
"""Share of a limit (MB/s or MB where that is below 1) that adding and taking away loads may lose in floating point.

The limit has the checker's tolerance in it, a thousand times as much. What needs the noise on top of that the checker
refuses: such a schedule is an error, and never a result.
"""


class Profile(Timeline[float]):
    """Free capacities of a problem over time, beside what runs already and windows.

    Resources of which there is always enough (all but ``problem.contended_resources``) are not kept; of what running
    jobs take too much nothing is left, not less. ``placed`` are starts and ends of the jobs that were placed, by index,
    where constraints tie jobs to each other; ``spending`` is what they take of budgets and clusters.
    """

    def __init__(self, problem: Problem) -> None:
        self.contended = problem.contended_resources
        limits = [problem.allocations.limits[k] for k in self.contended]
        noise = [SUBTRACTION_NOISE * max(1.0, limit) for limit in limits]
        super().__init__(-math.inf, (*problem.capacities, *limits), noise=noise)
        self.couples, self.placed = problem.couples, dict[int, tuple[float, float]]()
        is_spent = bool(problem.budgets or problem.cluster_rows.rows)
        self.spending = Spending(problem.budgets, problem.cluster_rows) if is_spent else None
        for busy in problem.busy:
            self.take(-math.inf, busy.end, self.vector(busy.allocation, busy.loads))
        for block in problem.blocks:
            self.take(block.start, block.end, self.vector(block.allocation, block.loads))

    def copy(self) -> Self:
        """Return a profile of its own with the same bookings."""
        twin = super().copy()
        twin.placed = self.placed.copy()
        twin.spending = None if self.spending is None else self.spending.copy()
        return twin

    def vector(self, allocation: Sequence[int], loads: Sequence[float]) -> tuple[float, ...]:
        """Return processors per class and what they ask of every resource as a vector of the profile."""
        return (*allocation, *[loads[k] for k in self.contended]) if self.contended else tuple(allocation)
