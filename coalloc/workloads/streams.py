"""Workloads whose jobs come over time: what their generators share.

Models of parallel workloads say when jobs come, how many processors they take and for how long. The
platform and the communication of the jobs are added here, alike for all models.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Annotated

import numpy as np
import numpy.typing as npt
from scipy import special

from coalloc.documents.columns import gathered
from coalloc.documents.values import NonNegative, Positive, Share
from coalloc.instance import Cluster, Fault, Instance, InstanceError, Job, NodeGroup, Platform
from coalloc.workloads.communication import BSBW_RANGE, SHARE_RANGE, bearable_task_bandwidth, draw_bsbw, draw_shares
from coalloc.workloads.generator import Generator, NumJobs, NumNodes, order_faults

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Stream(Generator):
    """Jobs that come over time; their communication is drawn as for traces."""

    jobs: Annotated[NumJobs, "number of jobs"] = 1000
    link_bandwidth: Annotated[NonNegative, "bandwidth of each link, MB/s"] = 125.0
    bsbw_low: Annotated[NonNegative, "smallest bisection bandwidth of a job, GB/s"] = BSBW_RANGE[0]
    bsbw_high: Annotated[NonNegative, "largest bisection bandwidth of a job, GB/s"] = BSBW_RANGE[1]
    share_low: Annotated[Share, "smallest processing share"] = SHARE_RANGE[0]
    share_high: Annotated[Share, "largest processing share"] = SHARE_RANGE[1]

    def __post_init__(self) -> None:
        faults = self.faults()
        if faults:
            raise InstanceError(faults)

    def faults(self) -> list[Fault]:
        """Return what is wrong between the parameters."""
        return order_faults(
            ("bsbw_low", self.bsbw_low, "bsbw_high", self.bsbw_high),
            ("share_low", self.share_low, "share_high", self.share_high),
        )

    @abstractmethod
    def platform(self) -> Platform:
        """Return the clusters on which the jobs run."""

    def instance(
        self,
        rng: np.random.Generator,
        name: str,
        *,
        tasks: Ints,
        base_times: Floats,
        arrivals: Floats,
        users: Sequence[str | None] = (),
    ) -> Instance:
        """Return the instance of jobs in the order of their arrivals, s; shapes ``(num_jobs,)``."""
        platform = self.platform()
        shares = draw_shares(rng, self.share_low, self.share_high, self.jobs)
        bandwidths = draw_bsbw(rng, self.bsbw_low, self.bsbw_high, self.jobs)
        jobs = (
            Job(
                f"J{number}",
                tasks=count,
                base_time=base_time,
                processing_share=share,
                task_bandwidth=bearable_task_bandwidth(bsbw, count, platform),
                arrival=arrival,
                user=user,
            )
            for number, (count, base_time, arrival, share, bsbw, user) in enumerate(
                zip(
                    tasks.tolist(),
                    base_times.tolist(),
                    arrivals.tolist(),
                    shares,
                    bandwidths,
                    users or [None] * self.jobs,
                    strict=True,
                ),
                start=1,
            )
        )
        return Instance(platform, gathered(Job, jobs), name=name)


class EvenStream(Stream):
    """A stream for clusters of equal size; powers are evenly spaced, the first cluster is fastest."""

    nodes: Annotated[NumNodes, "number of nodes of the platform"] = 128
    clusters: Annotated[NumNodes, "number of clusters of equal size; must divide nodes"] = 4
    lowest_power: Annotated[Positive, "effective speed of the slowest cluster"] = 0.8
    highest_power: Annotated[Positive, "effective speed of the fastest cluster"] = 1.2

    def faults(self) -> list[Fault]:
        """Return what is wrong between the parameters."""
        faults = Stream.faults(self)
        faults += order_faults(("lowest_power", self.lowest_power, "highest_power", self.highest_power))
        if self.nodes < 2:
            faults.append(Fault("nodes", f"must be at least 2, got {self.nodes}"))
        if self.nodes % self.clusters:
            faults.append(Fault("clusters", f"must divide nodes = {self.nodes}, got {self.clusters}"))
        return faults

    def platform(self) -> Platform:
        """Return the clusters, fastest first."""
        powers = np.linspace(self.highest_power, self.lowest_power, self.clusters).tolist()
        return Platform(
            tuple(
                Cluster(f"C{number}", (NodeGroup(self.nodes // self.clusters, round(power, 6)),), self.link_bandwidth)
                for number, power in enumerate(powers, start=1)
            )
        )


def whole_seconds(times: Floats) -> Floats:
    """Return run times in whole seconds, as logs have them: rounded down, but at least one."""
    seconds: Floats = np.maximum(1.0, np.floor(times))
    return seconds


def truncated_gamma(rng: np.random.Generator, shapes: Floats, scales: Floats, largest: float) -> Floats:
    """Return a gamma variate of at most ``largest`` for each shape and scale, by inversion."""
    uniform = rng.random(len(shapes)) * special.gammainc(shapes, largest / scales)
    drawn: Floats = scales * special.gammaincinv(shapes, uniform)
    return drawn
