"""Workload model of Lublin and Feitelson (2003)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated

import numpy as np
from pydantic import Field
from scipy import special

from coalloc.documents.values import NonNegative, Positive, Share
from coalloc.instance import Fault, Instance
from coalloc.workloads.generator import TIME_DIGITS, Generator, order_faults
from coalloc.workloads.streams import EvenStream, Floats, Ints, truncated_gamma, whole_seconds

BUCKETS = 48
"""Buckets of the daily cycle, half an hour each."""

BUCKET_SECONDS = 86_400 / BUCKETS

FIRST_BUCKET = 11
"""The bucket at which the gamma of the daily cycle begins; what is beyond the day follows at its start."""

MAX_LOG_RUN = 12.0
"""Largest logarithm of a run time: exp(12) s are 45 hours."""

MAX_LOG_GAP = 13.0
"""Largest logarithm of the time between arrivals at the busiest hours: exp(13) s are 5 days."""

LEAST_PROBABILITY = 1e-6
"""Least probability that a limit must leave of a distribution, so that something can be sampled."""

Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]

MEDIAN_BELOW_LARGEST = 2.5
"""``umed`` is so much below ``uhi``, within 1.5 to 3.5 as the authors advise."""


class Lublin(EvenStream):
    """Jobs of the model of Lublin and Feitelson (2003); the clock starts at midnight.

    1. A job is serial, or of a power of two tasks, or of any number. log2 of the tasks is uniform in [ulow, umed] or,
       less often, in [umed, uhi], then rounded.
    2. The natural logarithm of the run time in s is gamma(a1, b1) with probability ``pa * tasks + pb``, else
       gamma(a2, b2), in both cases at most 12. Run times are cut to whole seconds, at least one.
    3. The logarithm of the interarrival time is gamma(aarr * arar, barr), at most 13, at the mean rate of the day. Half
       hour i has a weight of cdf(i + 1/2) - cdf(i - 1/2) of gamma(anum, bnum), from i = 11 on and past midnight back to
       its start: the lighter the half hour, the more the time is stretched.

    The platform is assumed: clusters of equal size, with evenly spaced speeds, the first cluster fastest. With the
    defaults the mean speed is 1, so the offered load is that of the model. Communication is sampled as for traces.

    The archive's sample for 256 nodes (10,000 jobs) has a mean of 22.1 tasks, a mean of ln(run time) of 5.68 with width
    3.02 and a median interarrival time of 116 s; ``generate("lublin", seed=1, jobs=10000, nodes=256)`` has 22.0, 5.69,
    3.03 and 119 s. Its load is higher, 1.06 against 0.8 to 0.9: the mean interarrival time depends on a few gaps of a
    day. The authors' program cuts every arrival to whole seconds and so drifts against its day by half a second a job;
    coalloc's does not.

    Sources: U. Lublin and D. G. Feitelson, The workload on parallel supercomputers: modeling the characteristics of
    rigid jobs, J. Parallel and Distributed Computing 63(11), 2003; algorithm and parameters are those of the authors'
    program ``m_lublin99.c``, with its parameters for all jobs alike (it has others for batch and interactive jobs).
    """

    serial_prob: Annotated[Share, "share of the jobs with one task"] = 0.244
    pow2_prob: Annotated[Share, "share of the jobs whose tasks are rounded to a power of two"] = 0.576
    ulow: Annotated[NonNegative, "smallest log2 of the tasks of a parallel job"] = 0.8
    umed: Annotated[NonNegative | None, "log2 of the tasks at which the two stages meet; None: uhi - 2.5"] = None
    uhi: Annotated[NonNegative | None, "largest log2 of the tasks; None: log2 of nodes"] = None
    uprob: Annotated[Share, "share of parallel jobs in the lower stage"] = 0.86
    a1: Annotated[Positive, "shape of the gamma distribution of short run times (natural logarithm, s)"] = 4.2
    b1: Annotated[Positive, "scale of the gamma distribution of short run times"] = 0.94
    a2: Annotated[Positive, "shape of the gamma distribution of long run times"] = 312.0
    b2: Annotated[Positive, "scale of the gamma distribution of long run times"] = 0.03
    pa: Annotated[Number, "share of short run times: slope, per task"] = -0.0054
    pb: Annotated[Number, "share of short run times: intercept"] = 0.78
    aarr: Annotated[Positive, "shape of the gamma distribution of interarrival times (natural logarithm, s)"] = 10.2303
    barr: Annotated[
        Positive, "scale of the gamma distribution of interarrival times, which the authors vary; less: more load"
    ] = 0.4871
    arar: Annotated[Positive, "factor on aarr: mean over all hours relative to the busiest hour"] = 1.0225
    anum: Annotated[Positive, "shape of the gamma distribution of the daily cycle (half hours)"] = 8.1737
    bnum: Annotated[Positive, "scale of the gamma distribution of the daily cycle"] = 3.9631

    def faults(self) -> list[Fault]:
        """Return what is wrong between the parameters."""
        faults = EvenStream.faults(self)
        return faults or [*self.size_faults(), *self.time_faults()]

    def size_faults(self) -> list[Fault]:
        """Return what is wrong between the parameters of the sizes."""
        faults = order_faults(
            ("ulow", self.ulow, "umed", self.middle),
            ("umed", self.middle, "uhi", self.largest),
        )
        if self.largest > math.log2(self.nodes):
            faults.append(Fault("uhi", f"must be at most log2(nodes) = {math.log2(self.nodes):g}, got {self.uhi:g}"))
        if self.serial_prob + self.pow2_prob > 1.0:
            faults.append(Fault("pow2_prob", f"must be at most 1 - serial_prob, got {self.pow2_prob:g}"))
        return faults

    def time_faults(self) -> list[Fault]:
        """Return a fault for every gamma that is practically beyond its limit."""
        below = {
            "b1": (special.gammainc(self.a1, MAX_LOG_RUN / self.b1), "a run time of exp(12) s"),
            "b2": (special.gammainc(self.a2, MAX_LOG_RUN / self.b2), "a run time of exp(12) s"),
            "barr": (
                special.gammainc(self.aarr * self.arar, MAX_LOG_GAP / self.barr),
                "an interarrival time of exp(13) s",
            ),
            "bnum": (self.cycle_densities().sum(), "the end of the day"),
        }
        return [
            Fault(name, f"must not place all values beyond {limit}, got {getattr(self, name):g}")
            for name, (probability, limit) in below.items()
            if not probability >= LEAST_PROBABILITY
        ]

    @property
    def largest(self) -> float:
        """Largest log2 of the tasks."""
        return math.log2(self.nodes) if self.uhi is None else self.uhi

    @property
    def middle(self) -> float:
        """Log2 of the tasks where the two stages meet."""
        return max(self.ulow, self.largest - MEDIAN_BELOW_LARGEST) if self.umed is None else self.umed

    def draw(self, rng: np.random.Generator, name: str) -> Instance:
        """Return one instance."""
        tasks = self.draw_sizes(rng)
        base_times = self.draw_run_times(rng, tasks)
        return self.instance(rng, name, tasks=tasks, base_times=base_times, arrivals=self.draw_arrivals(rng))

    def draw_sizes(self, rng: np.random.Generator) -> Ints:
        """Return the tasks of all jobs: log2 is uniform in one of two stages, most often the lower one."""
        kind = rng.random(self.jobs)
        is_low = rng.random(self.jobs) < self.uprob
        logarithms = rng.uniform(
            np.where(is_low, self.ulow, self.middle), np.where(is_low, self.middle, self.largest), self.jobs
        )
        is_power = kind <= self.serial_prob + self.pow2_prob
        powers = np.minimum(np.floor(logarithms + 0.5), math.floor(math.log2(self.nodes)))
        tasks = np.floor(2.0 ** np.where(is_power, powers, logarithms) + 0.5)
        return np.where(kind <= self.serial_prob, 1, tasks).astype(np.int64)

    def draw_run_times(self, rng: np.random.Generator, tasks: Ints) -> Floats:
        """Return run times, s: the logarithm is of one of two gammas, and large jobs are more often long."""
        is_short = rng.random(self.jobs) <= self.pa * tasks + self.pb
        shapes, scales = np.where(is_short, self.a1, self.a2), np.where(is_short, self.b1, self.b2)
        return whole_seconds(np.exp(truncated_gamma(rng, shapes, scales, MAX_LOG_RUN)))

    def draw_arrivals(self, rng: np.random.Generator) -> Floats:
        """Return arrivals, s after midnight: gaps of a gamma, stretched where the daily cycle is low.

        The authors' program pays for each bucket with its weight: that inverts the cumulated weights.
        """
        shapes, scales = np.full(self.jobs, self.aarr * self.arar), np.full(self.jobs, self.barr)
        points = np.cumsum(np.exp(truncated_gamma(rng, shapes, scales, MAX_LOG_GAP)) / BUCKET_SECONDS)
        paid = np.concatenate([[0.0], np.cumsum(self.bucket_weights())])
        days, rest = np.divmod(points, BUCKETS)
        return np.round((days * BUCKETS + np.interp(rest, paid, np.arange(BUCKETS + 1))) * BUCKET_SECONDS, TIME_DIGITS)

    def bucket_weights(self) -> Floats:
        """Return how many jobs come in each bucket, from midnight, relative to the mean of the day."""
        weights = np.roll(self.cycle_densities(), FIRST_BUCKET - 1)
        relative: Floats = weights / weights.mean()
        return relative

    def cycle_densities(self) -> Floats:
        """Return the share of the gamma of the daily cycle in each bucket, from the first of the cycle."""
        edges = FIRST_BUCKET - 0.5 + np.arange(BUCKETS + 1)
        shares: Floats = np.diff(special.gammainc(self.anum, edges / self.bnum))
        return shares


GENERATORS: Mapping[str, type[Generator]] = {"lublin": Lublin}
