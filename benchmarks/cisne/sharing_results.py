"""The rows of a study as arrays with an axis for seeds, and V of every mix at every point with its interval.

One sample is a seed: the instances of one seed at several points share what is drawn, so seeds are resampled whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sharing_experiment import Experiment, Point, Study

from coalloc.bench.outcomes import Row
from coalloc.measures.intervals import ConfidenceInterval, statistic_interval
from coalloc.measures.stability import RUN_METRICS, relative_stability, stability, stability_terms

Array = NDArray[np.float64]
Valuation = Callable[[Array], Array]

VALUATIONS: Mapping[str, Valuation] = {"V": stability, "relative V": relative_stability}
"""V as printed, and with every term divided by its mean over the mixes of the same point."""


@dataclass(frozen=True, slots=True)
class Results:
    """The runs of a study, a row per point, seed and mix, in this order."""

    study: Study
    mixes: tuple[str, ...]
    runs: pd.DataFrame

    def array(self, metrics: Sequence[str]) -> Array:
        """Return metrics of all runs, shape ``(seeds, *grid, mixes, metrics)``; nan where a run has none."""
        sizes = [len(values) for values in self.study.grid.values()]
        values = self.runs.reindex(columns=list(metrics)).to_numpy(dtype=float)
        return np.moveaxis(values.reshape(*sizes, self.study.seeds, len(self.mixes), len(metrics)), len(sizes), 0)

    def points(self) -> Iterator[tuple[Point, tuple[int, ...]]]:
        """Yield each point of the grid, and where it is in arrays."""
        sizes = [len(values) for values in self.study.grid.values()]
        yield from zip(self.study.points(), np.ndindex(*sizes), strict=True)

    def at(self, point: Mapping[str, object]) -> pd.DataFrame:
        """Return the runs in which each column has the value asked for."""
        frame = self.runs
        for column, value in point.items():
            frame = frame[frame[column] == value]
        return frame

    @property
    def varied(self) -> list[str]:
        """The keys of the grid that have several values, and the last one, which is what the study is about."""
        *others, swept = self.study.grid
        return [*(key for key in others if len(self.study.grid[key]) > 1), swept]


def results_of(experiment: Experiment, name: str, rows: Iterable[Row]) -> Results:
    """Return the results of a study from the rows of its samples, which come by point, seed and mix."""
    return Results(experiment.studies[name], experiment.mixes, pd.DataFrame(list(rows)))


def value_intervals(results: Results, where: tuple[int, ...], valuation: Valuation) -> list[ConfidenceInterval]:
    """Return V of each mix at a point."""
    return [
        statistic_interval(results.array(RUN_METRICS)[:, *where], picked(valuation, mix))
        for mix in range(len(results.mixes))
    ]


def picked(valuation: Valuation, mix: int) -> Callable[[Array], Array]:
    """Return V of a mix as a statistic of runs of shape ``(..., seeds, mixes, metrics)``."""
    return lambda runs: valuation(stability_terms(runs, axis=-3))[..., mix]


def excess_interval(
    results: Results, where: tuple[int, ...], valuation: Valuation, ours: str, other: str
) -> ConfidenceInterval:
    """Return V of one mix over that of another, less 1, at a point."""
    first, second = results.mixes.index(ours), results.mixes.index(other)

    def excess(runs: Array) -> Array:
        values = valuation(stability_terms(runs, axis=-3))
        return values[..., first] / values[..., second] - 1.0

    return statistic_interval(results.array(RUN_METRICS)[:, *where], excess)
