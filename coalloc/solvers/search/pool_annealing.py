"""Annealing on one pool of equal processors, as the traces of archives have it: compiled, for many jobs.

The lists are those of :mod:`coalloc.solvers.search.annealing`; where one class of processors is all there is, a list
says all, and its schedule is made by machine code (:mod:`coalloc.solvers.search.pool_kernel`). Rounds of annealing,
each four times as long as the one before, begin at the best list; the last is as long as the time allows.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coalloc.objectives import Criterion
from coalloc.problem import Assignment
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Method
from coalloc.solvers.search.rounds import anneal_in_rounds

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

FEWEST_JOBS = 30
"""Jobs from which on it is worth its loading."""
LEAST_TIME = 10.0
"""Time limit, s, from which on it is: compiling takes some seconds, once."""
FIRST_ROUND = 300
"""Steps of the first round, per job."""
ROUNDS = 5
"""Rounds at most."""
CHUNK = 10_000
"""Steps between two looks at the clock, at most."""
PASSED = 100_000_000
"""Steps of profiles that are passed between two, about, where every step of annealing places all jobs anew."""
HEATS = (1.5, 0.004)
"""Temperatures at which a round for a sum begins and ends, in mean costs of a job's run time."""
HEATS_OF_ENDS = (0.05, 0.001)
"""Those of a round for the latest end, in mean run times."""
SHARE = 0.8
"""Share of the remaining time of a portfolio after which it stops."""


@dataclass(frozen=True, slots=True)
class Pool:
    """A problem on one class as the kernel takes it: see :func:`coalloc.solvers.search.pool_kernel.anneal`."""

    jobs: Floats
    capacity: float
    held: Floats
    is_sum: bool = True

    @property
    def heats(self) -> tuple[float, float]:
        """The temperatures at which a round begins and ends, in the unit of costs."""
        first, last = HEATS if self.is_sum else HEATS_OF_ENDS
        return first * self.unit, last * self.unit

    @property
    def chunk(self) -> int:
        """The steps between two looks at the clock."""
        is_in_part = self.is_sum and np.ptp(self.jobs[:, 0]) > 0.0
        return CHUNK if is_in_part else max(1, min(CHUNK, PASSED // len(self.jobs) ** 2))

    @property
    def unit(self) -> float:
        """The mean cost of a job's run time."""
        return float((self.jobs[:, 4] * self.jobs[:, 1]).mean())


def pool_of(criterion: Criterion) -> Pool | None:
    """Return a problem as the kernel takes it; None where it has several classes, or costs that are no ramps."""
    problem = criterion.problem
    is_known = criterion.is_sum or criterion.objective.is_latest_end
    if len(problem.classes) != 1 or not is_known or not problem.jobs or problem.is_restricted:
        return None
    if problem.allocations.is_moldable:
        return None
    rows = []
    for j, (job, levels) in enumerate(zip(problem.jobs, problem.levels, strict=True)):
        ramp = criterion.ramp(j, levels[0].duration)
        if ramp is None:
            return None
        rows.append((problem.releases[j], levels[0].duration, job.tasks, *ramp))
    held = [(busy.end, sum(busy.allocation)) for busy in problem.busy]
    return Pool(
        np.array(rows, dtype=np.float64),
        float(problem.capacities[0]),
        np.array(held, dtype=np.float64).reshape(len(held), 2),
        criterion.is_sum,
    )


class PoolAnnealing:
    """Rounds of annealing of one pool, from a list; ``best`` is the best one, and ``cost`` what it costs."""

    def __init__(self, pool: Pool, order: Ints, seed: int) -> None:
        self._pool = pool
        self.best, self.cost = order.copy(), math.inf
        self._seed = np.array([np.random.default_rng(seed).integers(1, 2**63)], dtype=np.uint64)

    def round(self, steps: int, deadline: float = math.inf) -> None:
        """Anneal for so many steps, or until the deadline (``time.perf_counter()``, s)."""
        from coalloc.solvers.search.pool_kernel import anneal, anneal_latest_end

        pool, order = self._pool, self.best.copy()
        size = pool.chunk
        chunks = -(-steps // size)
        heats, search = np.geomspace(*pool.heats, chunks + 1), anneal if pool.is_sum else anneal_latest_end
        for chunk in range(chunks):
            if time.perf_counter() > deadline:
                return
            left = min(size, steps - chunk * size)
            span, widest = heats[chunk : chunk + 2], float(max(2, len(order)))
            self.cost = search(
                order, self.best, self.cost, pool.jobs, pool.capacity, pool.held, left, span, self._seed, widest
            )

    def starts(self) -> Floats:
        """Return the starts of the best list, ticks, by job."""
        from coalloc.solvers.search.pool_kernel import starts_of

        starts: Floats = starts_of(self.best, self._pool.jobs, self._pool.capacity, self._pool.held)
        return starts


def _run(incumbent: Incumbent) -> None:
    """Anneal in rounds from the best assignments."""
    problem, pool = incumbent.problem, pool_of(incumbent.criterion)
    if pool is None or pool.unit <= 0.0:
        return
    order = np.array([a.job for a in sorted(incumbent.best, key=lambda a: (a.start, a.job))], dtype=np.int64)
    annealing = PoolAnnealing(pool, order, incumbent.state.options.seed)
    annealing.round(1, incumbent.deadline)  # compiles
    modes = [problem.allocations.mode(job, (job.tasks,)) for job in problem.jobs]

    def round_of(steps: int, deadline: float) -> list[Assignment]:
        annealing.round(steps, deadline)
        starts = annealing.starts().tolist()
        return [Assignment(j, starts[j], mode) for j, mode in enumerate(modes)]

    anneal_in_rounds(incumbent, round_of, first=FIRST_ROUND * len(order), most=ROUNDS, name=METHOD.name)


def _accepts(incumbent: Incumbent) -> bool:
    is_long = incumbent.state.options.seconds >= LEAST_TIME and len(incumbent.problem.jobs) >= FEWEST_JOBS
    return is_long and len(incumbent.problem.classes) == 1 and incumbent.is_free and bool(incumbent.best)


METHOD = Method("annealing on identical processors", _run, _accepts, share=SHARE)
