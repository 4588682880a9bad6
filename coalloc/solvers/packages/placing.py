"""Packages placed without a MIP: with a bound, and most of them with a proof.

PAS and JPR search by speed levels, CBS by chunks (:mod:`coalloc.solvers.packages.search`). Where links may saturate, a
package that saturates none and meets the bound of those for which links do not count is optimal. A search whose
work is done leaves the best package so far. Source: thesis 3.1.2, (3.8), and 3.1.3.1; errata 11.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import le, sub

from coalloc.problem import Mode, Problem
from coalloc.rules.allocation_rules import filled
from coalloc.rules.package_modes import package_limits
from coalloc.rules.spreading import Spreading
from coalloc.solvers.packages.costs import ChunkCosts, SpeedCosts, by_gain, by_size
from coalloc.solvers.packages.search import OnBetter, PackageSearch, WorkLeft, is_cheaper
from coalloc.solvers.result import PROOF_TOLERANCE, relative_gap

FIRST_SHARE = 0.2
"""Share of the work in the order of jobs that finds good packages soon; the other order proves sooner."""
BOUND_SHARE = 0.5
"""Share of the work for the bound of packages whose links may saturate."""


@dataclass(frozen=True, slots=True)
class PlacedPackage:
    """Package found: a mode for each job (None: no package), and a bound on the first objective.

    ``is_proven``: the package is optimal in all objectives; without modes, that there is none.
    """

    modes: Sequence[Mode] | None
    lower_bound: float
    is_proven: bool


def place_package(problem: Problem, model: str, work: WorkLeft, on_better: OnBetter | None = None) -> PlacedPackage:
    """Return the best package of a model (``"pas"``, ``"cbs"`` or ``"jpr"``) that the work finds.

    The jobs must fit by count. ``on_better`` gets every package on the way that is better than those before.
    """
    if model == "cbs":
        return _in_chunks(problem, work, on_better)
    if problem.links == "shared":
        return _without_saturation(problem, work, on_better)
    placed = _at_levels(problem, work, on_better)
    return _most_powerful(problem, placed) if model == "jpr" else placed


def _in_chunks(problem: Problem, work: WorkLeft, on_better: OnBetter | None) -> PlacedPackage:
    """Return the best package of CBS."""
    spreading = Spreading(problem)
    search = PackageSearch(problem, spreading, (0.0, 0.0), on_better)
    is_proven = search.run(ChunkCosts(problem, spreading, by_size(problem, spreading)), work)
    return PlacedPackage(search.best, search.lower_bound[0], is_proven)


def _at_levels(problem: Problem, work: WorkLeft, on_better: OnBetter | None, lower_bound: float = 0.0) -> PlacedPackage:
    """Return the package with the least total execution time; ``lower_bound``, s, is known already."""
    spreading = Spreading(problem)
    search = PackageSearch(problem, spreading, (lower_bound,), on_better)
    is_ended = any(
        search.run(SpeedCosts(problem, spreading, order(problem, spreading)), share)
        for order, share in ((by_gain, work.part(FIRST_SHARE, len(problem.jobs))), (by_size, work))
    )
    gap = None if search.price is None else relative_gap(search.price[0], search.lower_bound[0])
    return PlacedPackage(search.best, search.lower_bound[0], is_ended or (gap is not None and gap <= PROOF_TOLERANCE))


def _without_saturation(problem: Problem, work: WorkLeft, on_better: OnBetter | None) -> PlacedPackage:
    """Return the best package that saturates no link, which is proved where it costs no more than without links."""
    bound = _at_levels(replace(problem, links="ignore"), work.part(BOUND_SHARE), None).lower_bound
    strict = _at_levels(replace(problem, links="strict"), work, on_better, bound)
    if strict.modes is None:
        return PlacedPackage(None, bound, is_proven=False)
    total = sum(mode.execution_time for mode in strict.modes)
    return PlacedPackage(strict.modes, bound, is_proven=not is_cheaper((bound,), (total,)))


def _most_powerful(problem: Problem, placed: PlacedPackage) -> PlacedPackage:
    """Return a package of JPR with the same times on the fastest processors; where that cannot be, it is not proved.

    Jobs whose levels have fewer classes choose first, and take the fastest processors left. They fill the fastest ones
    without a hole, and the levels leave room there: none gets a slower one than its level has, and with as many tasks
    no package uses more power.
    """
    if placed.modes is None:
        return placed
    if problem.is_restricted or any(job.times for job in problem.jobs):
        return replace(placed, is_proven=False)
    free = problem.package.processors
    by_speed = sorted(range(len(free)), key=lambda g: -problem.classes[g].effective_power)
    num_classes = [_num_classes(problem, j, mode) for j, mode in enumerate(placed.modes)]
    chosen: dict[int, Mode] = {}
    for j in sorted(range(len(num_classes)), key=num_classes.__getitem__):
        allocation = filled(problem.jobs[j].tasks, free, by_speed)
        mode = None if allocation is None else problem.allocations.mode(problem.jobs[j], allocation)
        if mode is None or not all(map(le, mode.loads, package_limits(problem, j))):
            return replace(placed, is_proven=False)
        chosen[j] = mode
        free = tuple(map(sub, free, mode.allocation))
    return replace(placed, modes=[chosen[j] for j in range(len(chosen))])


def _num_classes(problem: Problem, j: int, mode: Mode) -> int:
    """Return how many classes the speed level of a job in a mode has."""
    used = {g for g, count in enumerate(mode.allocation) if count}
    return next(len(level.classes) for level in problem.levels[j] if used <= set(level.classes))
