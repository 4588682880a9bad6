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

import numpy as np

MAX_FUNCTIONS = 1_000
"""Functions that are looked at: on more processors the later ones are close to the shares."""


def weightings(tasks: Sequence[int], processors: int) -> list[list[float]]:
    """Return the weights of all jobs for every k, up to ``MAX_FUNCTIONS``, that gives others than the ks before.

    Shape ``(num_weightings, num_jobs)``; the first (k = 0) are the shares of the processors, which also stand where
    the k-th function has nothing to round.
    """
    sizes, ks = np.array(tasks, dtype=np.int64), np.arange(min(processors, MAX_FUNCTIONS))[:, None]
    scaled = sizes * (ks + 1)
    is_share = (ks == 0) | (scaled % processors == 0)
    weights = np.where(is_share, sizes / processors, (scaled // processors) / np.maximum(ks, 1))
    different = {row.tobytes(): k for k, row in reversed(list(enumerate(weights)))}
    found: list[list[float]] = weights[sorted(different.values())].tolist()
    return found
