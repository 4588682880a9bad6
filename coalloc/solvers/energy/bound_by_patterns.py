"""The least energy of jobs within nodes as a function of the makespan: what a node can hold, as numbers of jobs.

A *pattern* of a node says how many jobs of each kind it holds. Jobs of a kind take equal tasks and durations and arrive
at about the same time; every pattern gets the first of them to arrive. So there are few patterns where sets of jobs
(:mod:`coalloc.solvers.energy.bound_by_sets`) would be too many, and a linear programme chooses one for each node.
Unlike areas (:mod:`coalloc.solvers.energy.bound_by_makespan`) patterns know that the jobs of a core follow each other
whole. Equations: (V7) and (V8) of docs/mathematics/energy-bounds.md. Source: P. Gilmore, R. Gomory, "A linear
programming approach to the cutting-stock problem", Operations Research 9 (1961).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from coalloc.instance.rounding import RELATIVE_TOLERANCE
from coalloc.models.energy_costs import ClassWatts
from coalloc.models.energy_sets import node_jobs
from coalloc.problem import Problem
from coalloc.rules.node_sets import NodeJobs, ends_of_counts
from coalloc.solvers.backends.dense_lp import DenseLp

LEFT_OUT = 1e3
"""Joules of a job that no node holds, in those of all jobs at their dearest: where not all fit, the bound is steep."""
SAFE = 1e-9
"""Share of its terms by which a bound is lowered for what floating point may have lost in its sums."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Kind = tuple[int, ...]
"""Jobs, by index, in the order in which they arrive."""


@dataclass(frozen=True, slots=True)
class EqualNodes:
    """Requirements of jobs on each of ``count`` equal nodes; J of each job (inf: no room); W while a core is busy."""

    count: int
    jobs: NodeJobs
    joules: tuple[float, ...]
    extra_watts: float


@dataclass(frozen=True, slots=True)
class Patterns:
    """Patterns that can be done by a given time, and the data of the choice among them.

    Parameters
    ----------
    latest
        That instant, s.
    demand, shape (num_kinds,)
        Jobs of each kind.
    supply, shape (num_nodes,)
        Nodes of each kind of nodes.
    counts, shape (num_patterns, num_kinds)
        Jobs of each kind in a pattern.
    node
        Of which kind of nodes a pattern is.
    joules
        What it takes at least beyond idle watts, J.
    ends
        When it can be done at the earliest, s.
    left_out
        The price of a job that no node holds, J.
    """

    latest: float
    demand: Ints
    supply: Ints
    counts: Ints
    node: Ints
    joules: Floats
    ends: Floats
    left_out: float

    def joules_by(self, latest: float) -> float:
        """Return what all jobs take at least beyond idle watts if they end by an instant, s, J: (V8)."""
        done = self.ends <= latest
        prices = self._prices(done)
        least = np.zeros(len(self.supply))
        np.minimum.at(least, self.node[done], self.joules[done] - self.counts[done] @ prices)
        parts = np.concatenate([prices * self.demand, least * self.supply])
        return float(parts.sum() - SAFE * np.abs(parts).sum())

    def _prices(self, done: NDArray[np.bool_]) -> Floats:
        """Return a price for a job of each kind, J, by the programme (V7); any prices give a bound."""
        num_kinds, num_nodes = len(self.demand), len(self.supply)
        chosen = self.node[done] == np.arange(num_nodes)[:, None]
        rows = [
            np.hstack([chosen, np.zeros((num_nodes, num_kinds))]),
            np.hstack([self.counts[done].T, np.eye(num_kinds)]),
        ]
        costs = np.concatenate([self.joules[done], np.full(num_kinds, self.left_out)])
        lower = np.concatenate([np.full(num_nodes, -np.inf), self.demand])
        upper = np.concatenate([self.supply, self.demand])
        found = DenseLp(costs, np.vstack(rows), lower, upper, np.full(len(costs), np.inf)).solve()
        return np.zeros(num_kinds) if found is None else found.duals[num_nodes:]


class EnergyByPatterns:
    """The patterns of a problem whose jobs stay within nodes.

    ``most`` says how many patterns a kind of nodes may have, now: times the parts of jobs of equal size.
    """

    def __init__(self, problem: Problem, costs: ClassWatts, most: Callable[[], int]) -> None:
        self._origin, self._most = problem.instance.origin, most
        self._nodes = _nodes(problem, costs)
        joules = np.array([node.joules for node in self._nodes])
        self._left_out = LEFT_OUT * float(joules.max(axis=0, initial=0.0, where=np.isfinite(joules)).sum())
        self._known: dict[tuple[Kind, ...], Patterns] = {}
        self._too_many_by: dict[tuple[Kind, ...], float] = {}
        self.are_too_many = False
        """Whether patterns were too many, in however few kinds, so that no more are looked for."""

    def joules(self, makespan: float, parts: int) -> float:
        """Return what all jobs take at least beyond idle watts within a makespan, s, J; 0 where that is not known.

        Jobs of equal size are in so many parts, or in half as many for as long as there are too many patterns.
        """
        latest = _latest(self._origin + makespan)
        while parts and not self.are_too_many:
            patterns = self._patterns(self._kinds(latest, parts), latest, self._most() // parts)
            if patterns is not None:
                return patterns.joules_by(latest)
            parts //= 2
        self.are_too_many = True
        return 0.0

    def _kinds(self, latest: float, parts: int) -> tuple[Kind, ...]:
        """Return jobs of equal size in parts; those of a kind have room by ``latest`` on the same nodes."""
        alike: dict[object, list[int]] = {}
        jobs = [node.jobs for node in self._nodes]
        for j in sorted(range(len(self._nodes[0].joules)), key=lambda j: jobs[0].releases[j]):
            key = tuple((*_size(n, j), n.releases[j] + n.durations[j] <= latest) for n in jobs)
            alike.setdefault(key, []).append(j)
        return tuple(kind for members in alike.values() for kind in _split(members, jobs[0].releases, parts))

    def _patterns(self, kinds: tuple[Kind, ...], latest: float, most: int) -> Patterns | None:
        """Return the patterns that can be done by an instant, s, maybe with others; None where a node has too many."""
        known = self._known.get(kinds)
        if known is not None and known.latest >= latest:
            return known
        if latest >= self._too_many_by.get(kinds, math.inf):
            return None
        parts = list[tuple[Ints, Floats, Floats]]()
        for node in self._nodes:
            part = _patterns_of(node, kinds, latest, most)
            if part is None:
                self._too_many_by[kinds] = latest
                return None
            parts.append(part)
        self._known[kinds] = Patterns(
            latest=latest,
            demand=np.array([len(kind) for kind in kinds]),
            supply=np.array([node.count for node in self._nodes]),
            counts=np.concatenate([counts for counts, _, _ in parts]),
            node=np.repeat(np.arange(len(parts)), [len(ends) for _, _, ends in parts]),
            joules=np.concatenate([joules for _, joules, _ in parts]),
            ends=np.concatenate([ends for _, _, ends in parts]),
            left_out=self._left_out,
        )
        return self._known[kinds]


def _latest(instant: float) -> float:
    """Return until when jobs may run that are to end by an instant, s."""
    return instant * (1.0 + RELATIVE_TOLERANCE)


def _size(jobs: NodeJobs, j: int) -> tuple[int, float]:
    """Return the tasks and the duration, s, of a job on a node."""
    return jobs.tasks[j], jobs.durations[j]


def _split(members: Sequence[int], releases: Sequence[float], parts: int) -> Iterator[Kind]:
    """Yield jobs, in the order in which they arrive, in so many parts at most, where most time lies between them."""
    gaps = np.diff([releases[j] for j in members])
    widest = np.argsort(-gaps, kind="stable")[: parts - 1]
    cuts = sorted(int(place) + 1 for place in widest if gaps[place] > 0.0)
    for begin, end in zip([0, *cuts], [*cuts, len(members)], strict=True):
        yield tuple(members[begin:end])


def _nodes(problem: Problem, costs: ClassWatts) -> list[EqualNodes]:
    """Return the kinds of nodes of a problem."""
    found: dict[tuple[NodeJobs, tuple[float, ...], float], int] = {}
    for g in range(len(problem.classes)):
        joules = tuple(next((costs.joules(c) for c in modes if c.allocation[g]), math.inf) for modes in problem.modes)
        key = node_jobs(problem, g), joules, costs.extra_watts.get(g, 0.0)
        found[key] = found.get(key, 0) + 1
    return [EqualNodes(count, *key) for key, count in found.items()]


def _patterns_of(
    node: EqualNodes, kinds: Sequence[Kind], latest: float, most: int
) -> tuple[Ints, Floats, Floats] | None:
    """Return the patterns of a node that can be done by ``latest``, with joules and ends; None where they are many."""
    sizes = [_size(node.jobs, kind[0]) for kind in kinds]
    equals = {size: [j for s, kind in zip(sizes, kinds, strict=True) for j in kind if s == size] for size in sizes}
    alone = node.jobs.without_releases()
    if max(alone.free, default=0.0) > alone.running:  # in slots a gap after running jobs may save what is left of one
        alone = alone.without_running()
    found = ends_of_counts(node.jobs, kinds, latest, most)
    lengths = ends_of_counts(alone, list(equals.values()), latest, most)
    if found is None or lengths is None:
        return None
    is_of = np.array([[size == other for other in equals] for size in sizes], dtype=np.int64)
    codes = found.counts @ is_of @ lengths.weights
    at = np.minimum(np.searchsorted(lengths.codes, codes), len(lengths.codes) - 1)
    can = lengths.codes[at] == codes
    own = np.array([node.joules[kind[0]] if math.isfinite(node.joules[kind[0]]) else 0.0 for kind in kinds])
    busy = np.maximum(0.0, lengths.ends[at] - node.jobs.running)
    return found.counts[can], (found.counts @ own + node.extra_watts * busy)[can], found.ends[can]
