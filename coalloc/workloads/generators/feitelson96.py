"""Workload model of Feitelson (1996)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import numpy as np
from pydantic import Field

from coalloc.documents.values import NonNegative, Positive, PositiveSeconds, Share
from coalloc.instance import Fault, Instance
from coalloc.workloads.generator import TIME_DIGITS, Generator, order_faults
from coalloc.workloads.streams import EvenStream, Floats, Ints

SMALL = 10
"""Sizes below this one are small."""

Factor = Annotated[float, Field(strict=True, gt=0, le=1e6)]

MAX_RUNS = 1000
"""Most runs of one job."""


class Feitelson96(EvenStream):
    """Jobs of the model of Feitelson (1996), with repeated runs.

    1. The probability of n tasks is proportional to ``n**-size_order``, times ``small_factor`` for n < 10, times
       ``power_factor`` for 2, 4, 8, ... The archive gives the order 1.5 and says that the distribution was tailored by
       hand for small sizes and powers of two: the two factors are assumed.
    2. Run times are exponential, with mean ``short_mean`` with probability ``short_share - short_drop * n / nodes``,
       else with mean ``long_mean``. The archive gives the form: hyperexponential, longer for larger jobs. The shares,
       the ratio 7 of the means and ``run_order`` are usually cited for the model, and not compared with the paper; the
       seconds are assumed.
    3. A job runs k times, with a probability proportional to ``k**-run_order``, k <= 1000. Each run has the same tasks,
       run time and user (U1, U2, ...). It arrives when the run before would have ended without a wait; in the model it
       waits for the end of that run, but in an instance arrivals are given.
    4. First runs arrive as a Poisson process, as often as ``load`` needs in the long run. The instance has the first
       ``jobs`` runs.

    The platform is that of ``lublin``. Sources: D. G. Feitelson, Packing schemes for gang scheduling, JSSPP 1996, and
    the page of the model in the Parallel Workloads Archive.
    """

    size_order: Annotated[NonNegative, "order of the harmonic distribution of the tasks"] = 1.5
    small_factor: Annotated[Factor, "weight of sizes below 10, relative to others"] = 2.0
    power_factor: Annotated[Factor, "weight of powers of two from 2 up, relative to others"] = 8.0
    short_mean: Annotated[PositiveSeconds, "mean of the short run times, s"] = 1000.0
    long_mean: Annotated[PositiveSeconds, "mean of the long run times, s"] = 7000.0
    short_share: Annotated[Share, "share of short run times among the smallest jobs"] = 0.95
    short_drop: Annotated[Share, "decrease of this share up to jobs that use all nodes"] = 0.2
    run_order: Annotated[NonNegative, "order of the harmonic distribution of the number of runs of a job"] = 2.5
    load: Annotated[Positive, "offered load: work per processor time of nodes of speed 1"] = 0.7

    def faults(self) -> list[Fault]:
        """Return what is wrong between the parameters."""
        return EvenStream.faults(self) + order_faults(
            ("short_mean", self.short_mean, "long_mean", self.long_mean),
            ("short_drop", self.short_drop, "short_share", self.short_share),
        )

    def draw(self, rng: np.random.Generator, name: str) -> Instance:
        """Return one instance: the first ``jobs`` runs of as many jobs, in the order of their arrivals.

        Every run has the tasks and the run time of the first one, and comes when the run before it
        would have ended had it not waited.
        """
        tasks = rng.choice(np.arange(1, self.nodes + 1), self.jobs, p=self.size_probabilities())
        means = np.where(rng.random(self.jobs) < self.short_shares(tasks), self.short_mean, self.long_mean)
        run_times: Floats = np.maximum(10.0**-TIME_DIGITS, np.round(rng.exponential(means), TIME_DIGITS))
        runs = rng.choice(np.arange(1, MAX_RUNS + 1), self.jobs, p=harmonic(self.run_order, MAX_RUNS))
        gaps = rng.exponential(self.mean_gap(), self.jobs)
        job, repetition = repeated(runs)
        arrivals: Floats = np.round((np.cumsum(gaps) - gaps[0])[job] + repetition * run_times[job], TIME_DIGITS)
        first = np.argsort(arrivals, kind="stable")[: self.jobs]
        job = job[first]
        users = [f"U{number}" for number in (job + 1).tolist()]
        return self.instance(
            rng, name, tasks=tasks[job], base_times=run_times[job], arrivals=arrivals[first], users=users
        )

    def size_probabilities(self) -> Floats:
        """Return the probability of each number of tasks, from 1 to all nodes."""
        sizes = np.arange(1, self.nodes + 1)
        is_power = (sizes > 1) & (sizes & (sizes - 1) == 0)
        weights = harmonic(self.size_order, self.nodes)
        weights *= np.where(sizes < SMALL, self.small_factor, 1.0) * np.where(is_power, self.power_factor, 1.0)
        probabilities: Floats = weights / weights.sum()
        return probabilities

    def short_shares(self, tasks: Ints) -> Floats:
        """Return the probability of a short run time for each number of tasks."""
        shares: Floats = self.short_share - self.short_drop * tasks / self.nodes
        return shares

    def mean_gap(self) -> float:
        """Return the mean time between the first runs of two jobs, s, that offers ``load``."""
        sizes = np.arange(1, self.nodes + 1)
        shorts = self.short_shares(sizes)
        run_times = shorts * self.short_mean + (1.0 - shorts) * self.long_mean
        work = float(self.size_probabilities() @ (sizes * run_times))
        runs = float(harmonic(self.run_order, MAX_RUNS) @ np.arange(1, MAX_RUNS + 1))
        return runs * work / (self.nodes * self.load)


def harmonic(order: float, largest: int) -> Floats:
    """Return the probabilities of 1 to ``largest``, proportional to ``n**-order``."""
    weights = np.arange(1, largest + 1, dtype=float) ** -order
    probabilities: Floats = weights / weights.sum()
    return probabilities


def repeated(runs: Ints) -> tuple[Ints, Ints]:
    """Return, for every run of all jobs, the index of its job and how many runs of it came before."""
    jobs = np.repeat(np.arange(len(runs)), runs)
    repetitions = np.arange(len(jobs)) - np.repeat(np.cumsum(runs) - runs, runs)
    return jobs, repetitions


GENERATORS: Mapping[str, type[Generator]] = {"feitelson96": Feitelson96}
