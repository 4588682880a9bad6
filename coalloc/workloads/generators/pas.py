"""Workload of the PAS experiments: jobs that arrive over time at four clusters of 64 nodes in all."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Annotated, Literal

import numpy as np

from coalloc.documents.values import NonNegative, Positive, PositiveSeconds, Seconds, Share
from coalloc.instance import Cluster, Instance, InstanceError, Job, NodeGroup, Platform
from coalloc.workloads.communication import SHARE_RANGE, bearable_task_bandwidth, draw_shares
from coalloc.workloads.generator import TIME_DIGITS, Generator, NumJobs, draw_weibull, order_faults, rounded_duration

CLUSTER_NODES = (24, 16, 16, 8)
"""Nodes of clusters C1 to C4."""

POWER_RANGES = {10: (0.9, 1.0), 50: (0.8, 1.2), 90: (0.6, 1.4)}
"""Lowest and highest effective power by degree of heterogeneity in percent. Source: thesis, Table 3.1."""

SIZE_SHAPE, SIZE_SCALE = 4.04, 0.77
"""Parameters of the gamma distribution of the sizes. Source: thesis, Table 3.2."""


class ThesisPas(Generator):
    """Jobs that arrive over time at clusters of 24, 16, 16 and 8 nodes (thesis 3.1.3.1, Tables 3.1 and 3.2).

    Read literally, gamma(4.04, scale 0.77) gives 3 tasks per job and a load of 8 %, while the figures of the source
    show jobs that wait. It is taken as the distribution of log2 of the tasks: 14 on average, load 35 % (errata 9, 10).
    The speeds of the middle clusters, the link bandwidth and the processing shares are assumed: speeds are evenly
    spaced over the range of Table 3.1, the largest cluster fastest. The first job arrives at 0; the mean interarrival
    time is 124 s. Tasks are at least 1 and at most 64.
    """

    jobs: Annotated[NumJobs, "number of jobs"] = 100
    heterogeneity: Annotated[
        Literal[10, 50, 90], "H of Table 3.1, %: 10 (speeds 1.0 to 0.9), 50 (1.2 to 0.8) or 90 (1.4 to 0.6)"
    ] = 50
    bsbw: Annotated[NonNegative, "bisection bandwidth of every job, GB/s; 0.1 to 1.1 in the source"] = 0.5
    link_bandwidth: Annotated[NonNegative, "bandwidth of each link, MB/s"] = 1000.0
    sizes: Annotated[
        Literal["log2", "literal"], "quantity with a gamma(4.04, 0.77) distribution: log2 of the tasks, or the tasks"
    ] = "log2"
    power_of_two_share: Annotated[
        Share, "share of the jobs whose tasks are rounded to the nearest power of two, by logarithm"
    ] = 0.75
    interarrival_scale: Annotated[
        Seconds, "scale of the Weibull distribution of interarrival times, s; 0: all jobs arrive at 0"
    ] = 82.6
    interarrival_shape: Annotated[Positive, "shape of the Weibull distribution of interarrival times"] = 0.6
    base_time_scale: Annotated[PositiveSeconds, "scale of the Weibull distribution of the reference run times, s"] = (
        200.0
    )
    base_time_shape: Annotated[Positive, "shape of the Weibull distribution of the reference run times"] = 1.0
    share_low: Annotated[Share, "smallest processing share"] = SHARE_RANGE[0]
    share_high: Annotated[Share, "largest processing share"] = SHARE_RANGE[1]

    def __post_init__(self) -> None:
        faults = order_faults(("share_low", self.share_low, "share_high", self.share_high))
        if faults:
            raise InstanceError(faults)

    def platform(self) -> Platform:
        """Return the four clusters, fastest first."""
        lowest, highest = POWER_RANGES[self.heterogeneity]
        step = (highest - lowest) / (len(CLUSTER_NODES) - 1)
        return Platform(
            tuple(
                Cluster(f"C{i + 1}", (NodeGroup(nodes, round(highest - i * step, 6)),), self.link_bandwidth)
                for i, nodes in enumerate(CLUSTER_NODES)
            )
        )

    def draw_sizes(self, rng: np.random.Generator, largest: int) -> list[int]:
        """Return the tasks of all jobs, at least 1 and at most ``largest``."""
        drawn = rng.gamma(SIZE_SHAPE, SIZE_SCALE, self.jobs)
        logarithms = drawn if self.sizes == "log2" else np.log2(np.maximum(drawn, 1.0))
        is_power = rng.random(self.jobs) < self.power_of_two_share
        capped = np.minimum(logarithms, np.log2(largest))
        tasks = np.where(is_power, 2.0 ** np.rint(capped), np.rint(2.0**capped))
        return [min(largest, int(count)) for count in tasks]

    def draw_arrivals(self, rng: np.random.Generator) -> list[float]:
        """Return the arrivals in seconds; the first job arrives at 0."""
        gaps = draw_weibull(rng, self.interarrival_scale, self.interarrival_shape, self.jobs - 1)
        return [round(time, TIME_DIGITS) for time in itertools.accumulate(gaps, initial=0.0)]

    def draw(self, rng: np.random.Generator, name: str) -> Instance:
        """Return one instance."""
        platform = self.platform()
        sizes = self.draw_sizes(rng, platform.num_processors)
        base_times = draw_weibull(rng, self.base_time_scale, self.base_time_shape, self.jobs)
        arrivals = self.draw_arrivals(rng)
        shares = draw_shares(rng, self.share_low, self.share_high, self.jobs)
        jobs = tuple(
            Job(
                f"J{number}",
                tasks=tasks,
                base_time=rounded_duration(base_time),
                processing_share=share,
                task_bandwidth=bearable_task_bandwidth(self.bsbw, tasks, platform),
                arrival=arrival,
            )
            for number, (tasks, base_time, arrival, share) in enumerate(
                zip(sizes, base_times, arrivals, shares, strict=True), start=1
            )
        )
        return Instance(platform, jobs, name=name)


GENERATORS: Mapping[str, type[Generator]] = {"thesis-pas": ThesisPas}
