"""Stability of a queue policy on shared nodes: the weighted sum V of means and deviations; less is more stable.

Source: Hanzich et al. (CISNE), section 3.3 and Figure 7.b. Its slowdown, turnaround and makespan are the metrics of
:mod:`coalloc.measures.sharing` and :func:`makespan_ratio`. Deviations are those of a population: of slowdown and
turnaround over the jobs of a run, of the makespan ratio over runs.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from coalloc.instance import Instance
from coalloc.schedule import Schedule

RUN_METRICS = (
    "dedicated_slowdown_mean",
    "dedicated_slowdown_deviation",
    "turnaround_mean",
    "turnaround_deviation",
    "makespan_ratio",
)
"""Terms of V from each run: metrics of :data:`coalloc.measures.sharing.SHARING_METRICS`, and the makespan ratio."""

WEIGHTS: Mapping[str, float] = {
    "dedicated_slowdown_mean": 3.0,
    "dedicated_slowdown_deviation": 2.6,
    "turnaround_mean": 1.8,
    "turnaround_deviation": 1.0,
    "makespan_ratio_mean": 3.0,
    "makespan_ratio_deviation": 2.6,
}
"""The terms of V, in their order, and what each weighs. Source: Figure 7.b."""

_WEIGHTS = np.array(list(WEIGHTS.values()))


def makespan_ratio(instance: Instance, schedule: Schedule, on_dedicated: Schedule) -> float:
    """Return the makespan over that of the same jobs under the same policy on dedicated nodes; 1 without jobs.

    ``on_dedicated`` is a schedule of :func:`coalloc.measures.sharing.dedicated`.
    """
    if not instance.jobs:
        return 1.0
    end, dedicated_end = (max(placement.end for placement in found) for found in (schedule, on_dedicated))
    return (end - instance.origin) / (dedicated_end - instance.origin)


def stability_terms(runs: NDArray[np.float64], axis: int = -2) -> NDArray[np.float64]:
    """Return the terms of V, shape ``(..., 6)`` in the order of :data:`WEIGHTS`.

    ``runs`` has the :data:`RUN_METRICS` along its last axis, and runs that differ in nothing but what was drawn along
    ``axis``: that axis is averaged out.
    """
    deviation = runs[..., -1:].std(axis=axis)
    return np.concatenate([runs.mean(axis=axis), deviation], axis=-1)


def stability(terms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return V as printed, turnaround in seconds, of terms of shape ``(..., 6)``.

    Seconds outweigh what has no unit: nearly all of it is turnaround, and it changes with the unit of time.
    """
    return np.asarray(terms @ _WEIGHTS)


def relative_stability(terms: NDArray[np.float64], among: int | tuple[int, ...] = -2) -> NDArray[np.float64]:
    """Return V with every term divided by its mean over the axes ``among``, those of what is compared.

    It has no unit, and its mean over these axes is 14, the sum of the weights. A term that is 0 everywhere counts as
    one that is the same everywhere.
    """
    means = np.broadcast_to(terms.mean(axis=among, keepdims=True), terms.shape)
    ratios = np.divide(terms, means, out=np.ones_like(terms), where=means > 0.0)
    return np.asarray(ratios @ _WEIGHTS)
