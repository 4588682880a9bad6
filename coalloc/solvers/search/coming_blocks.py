"""Blocks as a search over instants sees them: what windows and reservations take, from when they begin until they end.

Together, and beside what runs already, they take what there is at most: of what they ask for beyond that nothing is
free, and not less. So the blocks of one instant always fit together, whoever else runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from coalloc.problem import Busy, Problem, taken_in_pieces


def coming_blocks(problem: Problem) -> list[Busy]:
    """Return what holds processors, or takes of what is contended, for a time to come, in the order of its starts."""
    nothing = (0.0,) * len(problem.resources)
    holding = [replace(block, loads=nothing) for block in problem.blocks if any(block.allocation)]
    loading = [block for block in problem.blocks if any(block.loads)]
    pieces = [*holding, *(piece for k in problem.contended_resources for piece in _taken(problem, k, loading))]
    return sorted((b for b in pieces if b.start < b.end), key=lambda block: block.start)


def _taken(problem: Problem, k: int, blocks: Sequence[Busy]) -> Iterator[Busy]:
    """Yield what blocks take of a resource beside what runs already, from one change to the next."""
    for start, end, taken in taken_in_pieces(
        blocks, problem.busy, lambda busy: busy.loads[k], problem.allocations.limits[k]
    ):
        loads = tuple(taken if i == k else 0.0 for i in range(len(problem.resources)))
        yield Busy("", end, (0,) * len(problem.classes), loads, start)
