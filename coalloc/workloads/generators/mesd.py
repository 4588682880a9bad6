"""Workloads of the MESD experiments: thousands of jobs like those of HPC2N, at four clusters of 60 nodes."""

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
    """Jobs like those of HPC2N at four clusters of powers 1, 1.5, 2, 1 behind Gigabit links (thesis 3.3.5.2).

    The source (section 3.3.5.2, Table 3.6) has three workloads of 15,000 jobs of the HPC2N log of the Parallel
    Workloads Archive (2002, version 2.2 cleaned): mean reference run time 15,520 s, 9 tasks on average. It does not
    identify the jobs; the first 45,000 valid jobs of the log have means of 15,535 s and 8.3 processors. To replay them,
    read the log in slices ``0:15000``, ``15000:30000``, ``30000:45000`` (docs/swf.md). This generator samples any
    number of similar jobs.

    The model was fitted to those 45,000 jobs by maximum likelihood, except for the arrivals. Run times of serial and of
    parallel jobs are mixtures of two lognormals, truncated at 5 days as in the log:

    | | short share | ln of short times: mean, width | ln of long times: mean, width |
    |---|---|---|---|
    | serial | 0.479 | 5.301, 3.162 | 10.548, 0.849 |
    | parallel | 0.413 | 2.577, 1.253 | 8.407, 1.840 |

    log2 of the tasks of parallel jobs is ``0.5 + (log2(all nodes) - 0.5) * beta(1.197, 2.91)``, at least 2 tasks.
    Interarrival times follow a Weibull distribution with the mean (689 s) and the median (60 s) of the log; the first
    job arrives at 0. Times are whole seconds, requested walltimes are exact.

    | fit | log | model |
    |---|---|---|
    | mean tasks; share of jobs of two tasks | 8.35; 21 % | 8.8; 18 % |
    | mean, median run time, s | 15,535; 1,800 | 16,500; 1,300 |
    | quartiles of parallel jobs, s | 15, 608, 5,346 | 18, 655, 6,228 |
    | coefficient of variation of the interarrival times | 4.8 | 3.6 |
    | daily cycle | yes | no |

    The offered load is about 0.6 of 240 nodes of speed 1, as in the log, and 0.43 of this platform.
    """

    jobs: Annotated[NumJobs, "number of jobs"] = 15_000
    nodes: Annotated[NumNodes, "number of nodes per cluster"] = 60
    serial_share: Annotated[Share, "share of the jobs with one task"] = 0.286
    power_of_two_share: Annotated[Share, "share of the others with tasks rounded to a power of two, by logarithm"] = (
        0.625
    )
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
