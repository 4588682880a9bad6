"""Dual feasible functions: weights of jobs that no set of jobs running together can exceed.

A function u on task counts is dual feasible for N processors when tasks that add up to at most N have
weights that add up to at most 1. So at every instant the weights of the running jobs add up to at
most 1, and the weighted durations of all jobs are a lower bound on the makespan: the area bound is
u(x) = x/N, and the k-th function of Fekete and Schepers rounds x(k+1)/N down where it is no whole
number ("at most k jobs with more than N/(k+1) tasks run at once"). Source: S. Fekete, J. Schepers,
"New classes of fast lower bounds for bin packing problems", Math. Programming 91 (2001), section 3.
"""

from __future__ import annotations

from collections.abc import Sequence

MAX_FUNCTIONS = 1_000
"""Functions that are looked at: on more processors the later ones are close to the shares."""


def weight(tasks: int, processors: int, k: int) -> float:
    """Return the k-th weight of a job; k = 0 is its share of the processors."""
    scaled = tasks * (k + 1)
    if k == 0 or scaled % processors == 0:
        return tasks / processors
    return (scaled // processors) / k


def weightings(tasks: Sequence[int], processors: int) -> list[list[float]]:
    """Return the weights of all jobs for every k, up to ``MAX_FUNCTIONS``, that gives others than the ks before.

    Shape ``(num_weightings, num_jobs)``; the first are the shares of the processors.
    """
    found = {
        tuple(weight(count, processors, k) for count in tasks): None for k in range(min(processors, MAX_FUNCTIONS))
    }
    return [list(weights) for weights in found]
