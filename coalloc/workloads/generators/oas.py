"""Workloads of the OAS experiments: few large jobs on three clusters of unequal speed."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from typing import Annotated, Literal

import numpy as np

from coalloc.documents.values import NonNegative, Positive, PositiveSeconds, Seconds, Share
from coalloc.instance import Cluster, Fault, Instance, InstanceError, Job, NodeGroup, Platform, Switch
from coalloc.workloads.communication import BSBW_RANGE, SHARE_RANGE, bearable_task_bandwidth, draw_bsbw, draw_shares
from coalloc.workloads.generator import (
    TIME_DIGITS,
    Generator,
    NumJobs,
    NumNodes,
    draw_weibull,
    order_faults,
    rounded_duration,
)

FASTEST, SLOWEST = 1.0, 0.5
"""Effective powers of the first and the last cluster; of three the middle one has 0.75. Source: thesis, Table 3.3."""
POWER_DIGITS = 6
"""Digits of the powers between them."""


class ThesisOas(Generator):
    """Jobs that arrive at time 0, on three clusters of speeds 1, 0.75, 0.5 with Gigabit links (thesis 3.2.2).

    Section 3.2.2 and Table 3.3 give clusters, 8 jobs, 1 to 12 tasks and the mean reference run time. The distributions
    are assumed: tasks are uniform, reference run times follow the Weibull distribution with shape 1 of the PAS workload
    and are scaled to their mean. A Gigabit is 125 MB/s. With the defaults, jobs of more than 4 tasks need
    co-allocation. Other numbers of clusters, switches and arrivals are not in the source; they give families that are
    harder to solve.
    """

    jobs: Annotated[NumJobs, "number of jobs"] = 8
    clusters: Annotated[NumNodes, "number of clusters; their speeds decrease evenly from 1 to 0.5"] = 3
    nodes: Annotated[NumNodes, "number of nodes per cluster"] = 4
    min_tasks: Annotated[NumNodes, "minimum number of tasks of a job"] = 1
    max_tasks: Annotated[NumNodes | None, "maximum number of tasks of a job; None: all nodes of the platform"] = None
    mean_base_time: Annotated[PositiveSeconds, "mean reference run time of the jobs, s"] = 67e4
    base_times: Annotated[Literal["weibull", "uniform"], "distribution of the reference run times; uniform: from 0"] = (
        "weibull"
    )
    base_time_shape: Annotated[
        Positive, "shape of the Weibull distribution of the reference run times: 3 is narrow, 0.6 has long tails"
    ] = 1.0
    link_bandwidth: Annotated[NonNegative, "bandwidth of each link, MB/s"] = 125.0
    switch_bandwidth: Annotated[
        NonNegative | None, "bandwidth of a switch above C2, C4, ..., MB/s; None: all clusters are at the root"
    ] = None
    interarrival_mean: Annotated[Seconds, "mean of the exponential interarrival times, s; 0: all jobs arrive at 0"] = (
        0.0
    )
    bsbw_low: Annotated[NonNegative, "smallest bisection bandwidth of a job, GB/s"] = BSBW_RANGE[0]
    bsbw_high: Annotated[NonNegative, "largest bisection bandwidth of a job, GB/s"] = BSBW_RANGE[1]
    share_low: Annotated[Share, "smallest processing share"] = SHARE_RANGE[0]
    share_high: Annotated[Share, "largest processing share"] = SHARE_RANGE[1]

    def __post_init__(self) -> None:
        faults = order_faults(
            ("min_tasks", self.min_tasks, "max_tasks", self.most_tasks),
            ("bsbw_low", self.bsbw_low, "bsbw_high", self.bsbw_high),
            ("share_low", self.share_low, "share_high", self.share_high),
        )
        processors = self.clusters * self.nodes
        if self.most_tasks > processors:
            faults.append(
                Fault("max_tasks", f"must be at most {processors}, the number of nodes, got {self.max_tasks}")
            )
        if faults:
            raise InstanceError(faults)

    @property
    def most_tasks(self) -> int:
        """Most tasks of a job."""
        return self.max_tasks or self.clusters * self.nodes

    def platform(self) -> Platform:
        """Return the clusters; those of even number are below the switch, where there is one."""
        step = (FASTEST - SLOWEST) / max(1, self.clusters - 1)
        powers = [round(FASTEST - i * step, POWER_DIGITS) for i in range(self.clusters)]
        upper = () if self.switch_bandwidth is None else (Switch("S1", "S0", self.switch_bandwidth),)
        return Platform(
            tuple(
                Cluster(
                    f"C{number}",
                    (NodeGroup(self.nodes, power),),
                    self.link_bandwidth,
                    "S1" if upper and number % 2 == 0 else None,
                )
                for number, power in enumerate(powers, start=1)
            ),
            upper,
        )

    def _arrivals(self, rng: np.random.Generator) -> list[float]:
        """Return the arrivals, s: a Poisson process from 0 on; nothing is drawn where all arrive at 0."""
        if not self.interarrival_mean:
            return [0.0] * self.jobs
        gaps = rng.exponential(self.interarrival_mean, self.jobs - 1).tolist()
        return [round(time, TIME_DIGITS) for time in accumulate(gaps, initial=0.0)]

    def _raw_times(self, rng: np.random.Generator) -> list[float]:
        """Return the base times before they are scaled to their mean; the shape 1 is that of thesis, Table 3.2."""
        if self.base_times == "uniform":
            return list(map(float, rng.random(self.jobs)))
        return draw_weibull(rng, 1.0, self.base_time_shape, self.jobs)

    def draw(self, rng: np.random.Generator, name: str) -> Instance:
        """Return one instance; base times are scaled so that their mean is ``mean_base_time``."""
        platform = self.platform()
        sizes = rng.integers(self.min_tasks, self.most_tasks, self.jobs, endpoint=True).tolist()
        raw_times = self._raw_times(rng)
        unit = self.mean_base_time / (sum(raw_times) / self.jobs)
        shares = draw_shares(rng, self.share_low, self.share_high, self.jobs)
        bandwidths = draw_bsbw(rng, self.bsbw_low, self.bsbw_high, self.jobs)
        arrivals = self._arrivals(rng)
        jobs = tuple(
            Job(
                f"J{number}",
                tasks=tasks,
                base_time=rounded_duration(unit * raw_time),
                processing_share=share,
                task_bandwidth=bearable_task_bandwidth(bsbw, tasks, platform),
                arrival=arrival,
            )
            for number, (tasks, raw_time, share, bsbw, arrival) in enumerate(
                zip(sizes, raw_times, shares, bandwidths, arrivals, strict=True), start=1
            )
        )
        return Instance(platform, jobs, name=name)


class PaperOas(ThesisOas):
    """Generator ``thesis-oas`` with two nodes per cluster and so jobs of 1 to 6 tasks (paper on OAS, section 4).

    Jobs of more than 2 tasks need co-allocation.
    """

    nodes: Annotated[NumNodes, "number of nodes per cluster"] = 2


GENERATORS: Mapping[str, type[Generator]] = {"thesis-oas": ThesisOas, "paper-oas": PaperOas}
