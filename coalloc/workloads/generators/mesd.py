"""The workloads of the MESD experiments: thousands of jobs like those of HPC2N, at four clusters of 60 nodes.

Source: thesis, section 3.3.5.2 and Table 3.6: 15,000 jobs of the HPC2N log, mean base time 15,520 s, 9 tasks on
average. The first 45,000 valid jobs of that log have means of 15,535 s and 8.3 tasks, so they must be the
three workloads; the model below was fitted to them by maximum likelihood. The log itself gives
the jobs themselves (``docs/swf.md``); this generator gives as many more like them as are wanted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from scipy import special

from coalloc.documents.values import Positive, Seconds, Share
from coalloc.instance import Cluster, Instance, NodeGroup, Platform
from coalloc.workloads.generator import TIME_DIGITS, Generator, NumJobs, NumNodes
from coalloc.workloads.streams import Floats, Ints, Stream, whole_seconds

POWERS = (1.0, 1.5, 2.0, 1.0)
"""Effective powers of clusters C1 to C4. Source: thesis, Table 3.6."""

SIZE_SHAPES = (1.197, 2.91)
"""Beta of log2 of the tasks of parallel jobs, from SMALLEST_SIZE to all nodes."""

SMALLEST_SIZE = 0.5
"""Smallest log2 of the tasks of parallel jobs: what rounds to two tasks begins here."""

LONGEST_RUN = 432_000.0
"""Limit of the run times of the log: five days, s."""


@dataclass(frozen=True, slots=True)
class RunTimes:
    """Two lognormals of run times in s: how many jobs are short, and location and width of both logarithms."""

    short_share: float
    short_location: float
    short_width: float
    long_location: float
    long_width: float

    def draw(self, rng: np.random.Generator, count: int) -> Floats:
        """Return ``count`` run times of at most five days, s."""
        is_short = rng.random(count) < self.short_share
        locations = np.where(is_short, self.short_location, self.long_location)
        widths = np.where(is_short, self.short_width, self.long_width)
        limits = special.ndtr((math.log(LONGEST_RUN) - locations) / widths)
        return whole_seconds(np.exp(locations + widths * special.ndtri(limits * rng.random(count))))


SERIAL = RunTimes(short_share=0.479, short_location=5.301, short_width=3.162, long_location=10.548, long_width=0.849)
PARALLEL = RunTimes(short_share=0.413, short_location=2.577, short_width=1.253, long_location=8.407, long_width=1.84)


class ThesisMesd(Stream):
    """Jobs like those of HPC2N at four clusters of powers 1, 1.5, 2, 1 behind Gigabit links (thesis 3.3.5.2)."""

    jobs: Annotated[NumJobs, "number of jobs"] = 15_000
    nodes: Annotated[NumNodes, "number of nodes per cluster"] = 60
    serial_share: Annotated[Share, "share of the jobs with one task"] = 0.286
    power_of_two_share: Annotated[Share, "share of the others whose tasks are rounded to a power of two"] = 0.625
    interarrival_scale: Annotated[
        Seconds, "scale of the Weibull distribution of interarrival times, s; 0: all jobs arrive at 0"
    ] = 162.3
    interarrival_shape: Annotated[Positive, "shape of the Weibull distribution of interarrival times"] = 0.368

    def platform(self) -> Platform:
        """Return the four clusters of Table 3.6."""
        return Platform(
            tuple(
                Cluster(f"C{number}", (NodeGroup(self.nodes, power),), self.link_bandwidth)
                for number, power in enumerate(POWERS, start=1)
            )
        )

    def draw(self, rng: np.random.Generator, name: str) -> Instance:
        """Return one instance; the first job arrives at 0."""
        tasks = self.draw_sizes(rng)
        run_times = np.where(tasks == 1, SERIAL.draw(rng, self.jobs), PARALLEL.draw(rng, self.jobs))
        gaps = self.interarrival_scale * rng.weibull(self.interarrival_shape, self.jobs)
        arrivals = np.round(np.cumsum(gaps) - gaps[0], TIME_DIGITS)
        return self.instance(rng, name, tasks=tasks, base_times=run_times, arrivals=arrivals)

    def draw_sizes(self, rng: np.random.Generator) -> Ints:
        """Return the tasks of all jobs, at most all nodes."""
        largest = math.log2(len(POWERS) * self.nodes)
        logarithms = SMALLEST_SIZE + (largest - SMALLEST_SIZE) * rng.beta(*SIZE_SHAPES, self.jobs)
        is_power = rng.random(self.jobs) < self.power_of_two_share
        powers = np.minimum(np.rint(logarithms), math.floor(largest))
        parallel = np.maximum(2.0, np.rint(2.0 ** np.where(is_power, powers, logarithms)))
        return np.where(rng.random(self.jobs) < self.serial_share, 1, parallel).astype(np.int64)


GENERATORS: Mapping[str, type[Generator]] = {"thesis-mesd": ThesisMesd}
