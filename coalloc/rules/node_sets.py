"""Least time that each set of jobs keeps one node busy, and its earliest end: all sets of a few jobs, or of kinds.

Serial generation in chronological order meets a schedule that ends first (the argument is that of
:mod:`coalloc.testing.brute_force`, with one resource). A schedule of a node is a row of blocks without a gap,
and a block is busy for its length; so the least busy time of a set is that of its best partition into blocks.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

MAX_JOBS = 12
"""Jobs beyond which sets are not enumerated."""
MAX_STATES = 100
"""States that are kept of a set of jobs, at most."""
MAX_STATES_OF_COUNTS = 16
"""States that are kept where only the number of jobs of each kind counts."""
COMPARED = 4
"""States before it, in lexicographic order, that each is compared with there."""
MAX_CODE = 2**62
"""Numbers of jobs of each kind that have a code of their own."""
MAX_COMPARISONS = 2e9
"""Comparisons of numbers in the states of all sets, beyond which fewer states are kept: about two seconds."""

States = NDArray[np.float64]
"""Shape ``(num_states, num_cores + 1)``: when each core is free, sorted, and the last end of a job, s."""


@dataclass(frozen=True, slots=True)
class NodeJobs:
    """Requirements of some jobs on one node; times in s, whole slots with slots.

    ``free`` says for each core from when on it is there, and ``running`` when the last job that runs already really
    ends (0 without any), which with slots may be before its core is free.
    """

    tasks: tuple[int, ...]
    durations: tuple[float, ...]
    releases: tuple[float, ...]
    free: tuple[float, ...]
    running: float = 0.0

    def without_releases(self) -> NodeJobs:
        """Return the same jobs, all there from 0 on."""
        return replace(self, releases=(0.0,) * len(self.tasks))

    def without_running(self) -> NodeJobs:
        """Return the same jobs on cores that are all free."""
        return replace(self, free=(0.0,) * len(self.free), running=0.0)


@functools.lru_cache(maxsize=64)
def least_ends(node: NodeJobs) -> Mapping[int, float]:
    """Return when the last job of each set can end at the earliest, s, or a bound on it; sets are bit masks.

    Jobs of more tasks than the node has cores are in no set; the empty set ends at 0. It is a bound where a set has
    more states than are kept (:func:`states_kept`).
    """
    most = states_kept(len(node.tasks), len(node.free))
    kinds = list(zip(node.tasks, node.durations, node.releases, strict=True))
    earlier = [[i for i in range(j) if kinds[i] == kinds[j]] for j in range(len(kinds))]
    level: dict[int, States] = {0: np.array([[*sorted(node.free), 0.0]])}
    ends = {0: 0.0}
    while level:
        found: dict[int, list[States]] = {}
        for done, states in level.items():
            for j in range(len(kinds)):
                if done >> j & 1 or node.tasks[j] > len(node.free) or any(not done >> i & 1 for i in earlier[j]):
                    continue
                found.setdefault(done | 1 << j, []).append(
                    _after_job(states, node.releases[j], node.tasks[j], node.durations[j])
                )
        level = {done: _merged(_undominated(np.concatenate(parts)), most) for done, parts in found.items()}
        ends |= {done: float(states[:, -1].min()) for done, states in level.items()}
    return _of_equals(ends, earlier)


def states_kept(num_jobs: int, num_cores: int) -> int:
    """Return how many states of a set are kept: fewer the more sets there are, so that the time is bounded."""
    candidates = 2.0**num_jobs * max(1, num_jobs) ** 2 * (num_cores + 1)
    return max(1, min(MAX_STATES, int(math.sqrt(MAX_COMPARISONS / candidates))))


def _after_job(states: States, release: float | States, tasks: int, duration: float) -> States:
    """Return the states once a job has started as early as it can; nothing starts before it any more.

    ``release``, s, is one of all states, or of each, shape ``(num_states, 1)``.
    """
    free = states[:, :-1]
    start = np.maximum(release, free[:, tasks - 1 : tasks])
    until = start + duration
    after = np.concatenate([np.repeat(until, tasks, axis=1), np.maximum(start, free[:, tasks:])], axis=1)
    return np.concatenate([np.sort(after, axis=1), np.maximum(states[:, -1:], until)], axis=1)


def _undominated(states: States) -> States:
    """Return the states to which no other is equal or better in all, in lexicographic order."""
    distinct = np.unique(states, axis=0)
    no_worse: NDArray[np.bool_] = np.all(distinct[:, None, :] <= distinct[None, :, :], axis=2)
    np.fill_diagonal(no_worse, val=False)
    kept: States = distinct[~no_worse.any(axis=0)]
    return kept


def _merged(states: States, most: int) -> States:
    """Return so many states at most: neighbours become one that is as good as the best of them in everything."""
    if len(states) <= most:
        return states
    return np.minimum.reduceat(states, np.linspace(0, len(states), most, endpoint=False).astype(np.int64))


def _of_equals(ends: dict[int, float], earlier: Sequence[Sequence[int]]) -> dict[int, float]:
    """Return the ends of all sets: a set takes what the one takes in which its equal jobs have the lowest numbers."""
    num_jobs = len(earlier)
    groups: dict[int, list[int]] = {}
    for j in range(num_jobs):
        groups.setdefault(earlier[j][0] if earlier[j] else j, []).append(j)
    found = {}
    for mask in range(1 << num_jobs):
        first = 0
        for members in groups.values():
            count = sum(mask >> j & 1 for j in members)
            first |= sum(1 << j for j in members[:count])
        if first in ends:
            found[mask] = ends[first]
    return found


@functools.lru_cache(maxsize=64)
def least_busy(node: NodeJobs) -> Mapping[int, float]:
    """Return for how long each set of jobs keeps the node busy at least, whatever their releases, s.

    Jobs that run already count, to their ends.
    """
    together = node.without_releases()
    first = {done: max(node.running, end) for done, end in least_ends(together).items()}
    if max(node.free, default=0.0) <= node.running:
        return first  # blocks one after another are a block
    return _after_a_gap(first, least_ends(together.without_running()))


def _after_a_gap(first: Mapping[int, float], later: Mapping[int, float]) -> dict[int, float]:
    """Return the least length of each set in a first block, with the jobs that run already, and one after a gap.

    More blocks after it would be one, for they begin and end with slots.
    """
    least: dict[int, float] = {}
    for mask in first:
        best, block = first[mask], mask
        while block:
            best = min(best, first[mask ^ block] + later[block])
            block = (block - 1) & mask
        least[mask] = best
    return least


@dataclass(frozen=True, slots=True)
class Ends:
    """Earliest ends of numbers of jobs of each kind, s, or bounds on them.

    ``codes``, which ascend, are ``counts`` times ``weights``; ``counts`` has shape ``(num_patterns, num_kinds)``.
    """

    weights: NDArray[np.int64]
    codes: NDArray[np.int64]
    counts: NDArray[np.int64]
    ends: NDArray[np.float64]


def ends_of_counts(node: NodeJobs, kinds: Sequence[Sequence[int]], latest: float, most: int) -> Ends | None:
    """Return all numbers of jobs of each kind that can be done by ``latest``, s; None where more than ``most`` can.

    Jobs (by index) of a kind take equal tasks and durations, and stand in the order in which they arrive. Of so many
    the first are the best, and they start in that order, for two that do not can be exchanged.
    """
    sizes = np.array([len(kind) + 1 for kind in kinds], dtype=object)
    if math.prod(sizes) > MAX_CODE:
        return None
    weights = np.cumprod([1, *sizes[:-1]]).astype(np.int64)
    releases = [np.array([*(node.releases[j] for j in kind), math.inf]) for kind in kinds]  # after the last no other
    sizes, level = sizes.astype(np.int64), (np.zeros(1, dtype=np.int64), np.array([[*sorted(node.free), 0.0]]))
    found = [(level[0], np.zeros(1))]
    while len(level[0]):
        codes, states = level
        parts = []
        for k, kind in enumerate(kinds):
            if node.tasks[kind[0]] <= len(node.free):
                release = releases[k][codes // weights[k] % sizes[k]]
                after = _after_job(states, release[:, None], node.tasks[kind[0]], node.durations[kind[0]])
                kept = (after[:, -1] <= latest) & np.isfinite(release)
                parts.append((codes[kept] + weights[k], after[kept]))
        if not parts:
            break
        level = _best_states(np.concatenate([c for c, _ in parts]), np.concatenate([s for _, s in parts]))
        begins = np.flatnonzero(np.diff(level[0], prepend=-1))
        if len(begins):
            found.append((level[0][begins], np.minimum.reduceat(level[1][:, -1], begins)))
        if sum(len(codes) for codes, _ in found) > most:
            return None
    codes, ends = np.concatenate([c for c, _ in found]), np.concatenate([e for _, e in found])
    order = np.argsort(codes)
    codes, ends = codes[order], ends[order]
    return Ends(weights, codes, codes[:, None] // weights % sizes, ends)


def _best_states(codes: NDArray[np.int64], states: States) -> tuple[NDArray[np.int64], States]:
    """Return the states of each code that those beside them are not better than, by code, so many of each at most."""
    order = np.lexsort((*states.T[::-1], codes))
    codes, states = codes[order], states[order]
    is_worse = np.zeros(len(codes), dtype=bool)
    for before in range(1, COMPARED + 1):  # in lexicographic order what is better comes first
        same = codes[before:] == codes[:-before]
        is_worse[before:] |= same & (states[:-before] <= states[before:]).all(axis=1)
    codes, states = codes[~is_worse], states[~is_worse]
    if not len(codes):
        return codes, states
    begins = np.flatnonzero(np.diff(codes, prepend=-1))
    lengths = np.diff(np.append(begins, len(codes)))
    place = np.arange(len(codes)) - np.repeat(begins, lengths)
    bucket = place * MAX_STATES_OF_COUNTS // np.maximum(np.repeat(lengths, lengths), MAX_STATES_OF_COUNTS)
    first = np.flatnonzero((np.diff(codes, prepend=-1) != 0) | (np.diff(bucket, prepend=-1) != 0))
    return codes[first], np.minimum.reduceat(states, first)
