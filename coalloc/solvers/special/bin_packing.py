"""One dimension constant: jobs of one duration, or of which always the same number fits, are packed exactly.

Where neither speeds, links, memory nor arrivals matter, a job is a rectangle. If all last ``d``, the makespan is ``d``
times the least number of bins of as many processors as there are; if any ``m`` of them run together and never
``m + 1``, it is the least capacity at which the durations fit into ``m`` bins (P||Cmax). Both are asked of
the arc flow (:mod:`coalloc.models.arc_flow`), between what is proved and what is known, by halving. Derivation:
docs/mathematics/searches.md, "One dimension constant". Source of arc flow for P||Cmax: M. Mrad, N. Souayah, "An
arc-flow model for the makespan minimization problem on identical parallel machines", IEEE Access 6 (2018).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate

from coalloc.models import arc_flow
from coalloc.problem import Assignment, Problem
from coalloc.rules.profile import Profile
from coalloc.rules.serial_sgs import Generation, book
from coalloc.rules.tuning import ENTRIES, LISTED, MOST
from coalloc.solvers.backends.highs import SolverLimits
from coalloc.solvers.bounds.simple import fastest_durations
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import Method, once
from coalloc.solvers.result import SolveStatus
from coalloc.solvers.traits import Trait

NOISE = 1e-9
"""Share that the number of durations in a bound may lose."""


@dataclass(frozen=True, slots=True)
class PackingQuestion:
    """Whether items of these sizes, one for each job, fit into so many bins of a capacity."""

    sizes: tuple[int, ...]
    capacity: int
    bins: int


@dataclass(frozen=True, slots=True)
class BinPacking:
    """A problem whose jobs have one duration (``machines`` is None), or run ``machines`` at a time.

    Ends are then whole multiples of ``unit`` ticks after ``release``.
    """

    sizes: tuple[int, ...]
    release: float
    unit: float
    processors: int
    machines: int | None

    def question(self, multiple: int) -> PackingQuestion:
        """Return what is to be asked for an end that is a multiple of the unit after the release."""
        if self.machines is None:
            return PackingQuestion(self.sizes, self.processors, multiple)
        return PackingQuestion(self.sizes, multiple, self.machines)

    def steps(self, end: float) -> int:
        """Return roughly how many steps the listing of arcs takes for an end, ticks."""
        return len(self.sizes) * self.question(self.multiple(end)).capacity

    def starts(self, bins: Sequence[Sequence[int]]) -> Iterator[tuple[int, int]]:
        """Yield the jobs of bins with their starts, in units after the release."""
        for number, of_bin in enumerate(bins):
            sizes = [0 if self.machines is None else self.sizes[j] for j in of_bin]
            first = number if self.machines is None else 0
            yield from zip(of_bin, accumulate(sizes[:-1], initial=first), strict=True)

    def multiple(self, end: float) -> int:
        """Return the least multiple that is no earlier than an end, ticks."""
        units = (end - self.release) / self.unit
        return math.ceil(units - NOISE * max(1.0, units))

    def end(self, multiple: int) -> float:
        """Return an end, ticks."""
        return self.release + multiple * self.unit


def packing_of(problem: Problem) -> BinPacking | None:
    """Return what a problem is if it has one dimension only, else None."""
    if not problem.jobs or problem.busy or not problem.has_equal_releases or not are_rectangles(problem):
        return None
    tasks, processors = [job.tasks for job in problem.jobs], sum(problem.capacities)
    durations = fastest_durations(problem)
    if min(durations) <= 0.0:
        return None
    if min(durations) == max(durations):
        return BinPacking(tuple(tasks), problem.releases[0], durations[0], processors, None)
    machines = _machines(tasks, processors)
    if machines is None or not all(float(duration).is_integer() for duration in durations):
        return None
    unit = reduce(math.gcd, map(int, durations))
    sizes = tuple([int(duration) // unit for duration in durations])
    return BinPacking(sizes, problem.releases[0], unit, processors, machines)


def are_rectangles(problem: Problem) -> bool:
    """Return whether jobs fit together wherever they are as soon as there are processors for all their tasks."""
    is_free = problem.has_monotone_capacity and not (problem.contended_resources or problem.is_restricted)
    return is_free and problem.scope == "platform" and problem.has_one_level_each  # nor shapes


def _machines(tasks: Sequence[int], processors: int) -> int | None:
    """Return how many jobs fit together, whichever they are; None where that depends on the jobs."""
    widest = sorted(tasks, reverse=True)
    most = bisect_right(list(accumulate(widest)), processors)
    return most if most and sum(widest[::-1][: most + 1]) > processors else None


def pack(incumbent: Incumbent, question: PackingQuestion) -> list[list[int]] | SolveStatus:
    """Return the jobs of each bin, by index; ``infeasible`` where there is no packing, else ``unknown``."""
    values = sorted(set(question.sizes), reverse=True)
    if values[0] > question.capacity or sum(question.sizes) > question.capacity * question.bins:
        return SolveStatus.INFEASIBLE
    copies = [question.sizes.count(value) for value in values]
    arcs = arc_flow.arcs_of(values, copies, question.capacity)
    left = incumbent.time_left
    if len(arcs) > LISTED or left <= 0.0:
        return SolveStatus.UNKNOWN
    model = arc_flow.build(arcs, copies, question.bins)
    options = incumbent.state.options
    limits = SolverLimits(time=left, work=options.work_limit, threads=options.threads, seed=options.seed)
    solution = incumbent.run_model(model, limits, integral=True, start=False, progress=None)
    if solution.stopped_by == "interrupt":
        incumbent.state.stopped_by = "interrupt"
        raise KeyboardInterrupt
    if solution.objective is None:
        return SolveStatus.INFEASIBLE if solution.status is SolveStatus.INFEASIBLE else SolveStatus.UNKNOWN
    jobs = {value: [j for j, size in enumerate(question.sizes) if size == value] for value in values}
    return [[jobs[values[index]].pop() for index in of_bin] for of_bin in arc_flow.extract(model)]


def placed_in_order(problem: Problem, order: Iterable[int]) -> list[Assignment]:
    """Return the schedule in which rectangles, by index, start in an order, each as early as it fits."""
    generation, profile, found = Generation(problem), Profile(problem), list[Assignment]()
    for j in order:
        assignment = generation.place(profile, j, (0, 0))
        assert assignment is not None  # there is nothing that could forbid it
        book(profile, assignment)
        found.append(assignment)
    return found


def _run(incumbent: Incumbent) -> None:
    """Halve what is open, in multiples of the unit; each answer is a bound or a schedule."""
    packing = packing_of(incumbent.problem)
    assert packing is not None
    low, high = packing.multiple(incumbent.proven), packing.multiple(incumbent.cost)
    incumbent.prove(packing.end(low), METHOD.name)
    while low < high and not incumbent.is_closed:
        middle = (low + high - 1) // 2
        answer = pack(incumbent, packing.question(middle))
        if answer is SolveStatus.UNKNOWN:
            return
        if isinstance(answer, list):
            high = middle
            starts = dict(packing.starts(answer))
            incumbent.take(placed_in_order(incumbent.problem, sorted(starts, key=starts.__getitem__)), METHOD.name)
        else:
            low = middle + 1
            incumbent.prove(packing.end(low), METHOD.name)


def _is_sized(incumbent: Incumbent) -> bool:
    packing = packing_of(incumbent.problem)
    return packing is not None and packing.steps(incumbent.cost) <= ENTRIES


NEEDS = Trait.MAKESPAN | Trait.UNTIED | Trait.SCHEDULE
METHOD = Method("arc flow", _run, NEEDS, _is_sized, shares=once(MOST), stage="solve", proves=Trait.NONE)
