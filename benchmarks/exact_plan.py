"""What :mod:`exact` solves: each row of the speed table with its instances, slots, limit, methods and target."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from exact_report import Comparison, MostTime, Target

import coalloc

SLOTS = (250, 200, 150, 100, 50, 25, 15, 5, 1)
"""Slot lengths, % of the mean base time of the instance."""
PORTFOLIO, NO_CPSAT, PYJOBSHOP, NODE = "portfolio", "portfolio, no CP-SAT", "PyJobShop", "node model"
CPSAT = "CP-SAT, count model"
OURS = (PORTFOLIO, NO_CPSAT)
MAKESPAN, RESPONSES = "makespan", "total-response-time"
OVERRUN, LEAST_OVERRUN = 0.1, 1.0
"""A time limit holds within this share of it, at least these seconds."""
PEER_SEED, PEER_INSTANCES, PEER_SLOTS = 0, 10, SLOTS[1::2]
"""What draws the instances for other methods, their number (of 100), and the slots for PyJobShop."""
NODE_SLOTS = (250, 100)
"""Slots for the node model, which proves nothing at fine ones."""
USUAL_SEEDS = 20
"""Seeds of a row, at most, where nothing else is asked for."""

SEEDS = range(1, 11)
EIGHT_JOBS_SEEDS, THESIS_SEEDS = range(1001, 1101), range(1001, 1021)
UNSEEN_SEEDS = range(1011, 1031)
"""For sums of 12 jobs: limits of their search were chosen by seeds before these."""
HUGE_SEEDS = range(1, 4)
SUMS_SEEDS, BESIDE_CPSAT_SEEDS = range(1001, 1011), range(1001, 1006)
PEER_SEEDS = random.Random(PEER_SEED).sample(range(1, 101), PEER_INSTANCES)
"""Seeds of the instances: usual; of 8 jobs, of 12 and 20; of 1000; of sums, also against CP-SAT; against other methods.

Nothing was ever tuned on the thesis's instances from 1001 on."""


@dataclass(frozen=True, slots=True)
class Work:
    """One row of the speed table: instances (a generator and its parameters), slots, limit (s), methods and target.

    ``criterion`` is the objective that is least: ``objective`` is its value in the tables.
    """

    name: str
    title: str
    slots: tuple[int | None, ...]
    limit: float
    target: Target
    parameters: Mapping[str, Any] = field(default_factory=dict)
    generator: str = "thesis-oas"
    methods: tuple[str, ...] = OURS
    seeds: Sequence[int] = SEEDS
    comparison: Comparison | None = None
    criterion: str = MAKESPAN

    def instance(self, seed: int) -> coalloc.Instance:
        """Return the instance of a seed."""
        return coalloc.generate(self.generator, seed=seed, **self.parameters)

    @property
    def whole_target(self) -> Target:
        """The target, and that the time limit holds."""
        return replace(self.target, overrun=max(LEAST_OVERRUN, OVERRUN * self.limit))


BESIDE_NODE = Comparison(NODE, 200.0, where_proven=True)
BESIDE_CPSAT = Comparison(CPSAT, never_slower=MostTime(2.0, 0.5))
CLOSE = Target(share_proven=0.5, worst_gap=0.01)


def sums_beside_cpsat(jobs: int) -> Work:
    """Return the work that solves sums of so many jobs with the portfolio and with CP-SAT alone."""
    return Work(
        f"sums-cpsat-{jobs}",
        f"{jobs} jobs, 12 nodes, sum of response times, compared with CP-SAT",
        (100, 15),
        20.0,
        Target(),
        {"jobs": jobs},
        methods=(PORTFOLIO, CPSAT),
        seeds=BESIDE_CPSAT_SEEDS,
        comparison=Comparison(CPSAT, never_weaker=True, never_fewer=True),
        criterion=RESPONSES,
    )


WORKS = (
    Work(
        "slots",
        "8 jobs, 12 nodes, nine slots",
        SLOTS,
        60.0,
        Target(share_proven=1.0, percentile95=0.3),
        seeds=EIGHT_JOBS_SEEDS,
    ),
    Work(
        "continuous",
        "8 jobs, 12 nodes, continuous",
        (None,),
        60.0,
        Target(share_proven=1.0, percentile95=0.3),
        seeds=EIGHT_JOBS_SEEDS,
    ),
    Work("jobs-12", "12 jobs, 12 nodes, 15 %", (15,), 60.0, Target(share_proven=1.0), {"jobs": 12}, seeds=THESIS_SEEDS),
    Work(
        "jobs-20", "20 jobs, 12 nodes, 15 %", (15,), 60.0, Target(share_proven=0.95), {"jobs": 20}, seeds=THESIS_SEEDS
    ),
    Work(
        "powers",
        "20 jobs, 12 nodes, six powers, 5 %",
        (5,),
        60.0,
        CLOSE,
        {"jobs": 20, "clusters": 6, "nodes": 2},
    ),
    Work("tiny", "20 jobs, 12 nodes, 1 or 2 tasks, 5 %", (5,), 60.0, CLOSE, {"jobs": 20, "max_tasks": 2}),
    Work(
        "tree",
        "20 jobs, 12 nodes, two levels of switches, 5 %",
        (5,),
        60.0,
        CLOSE,
        {"jobs": 20, "clusters": 4, "nodes": 3, "switch_bandwidth": 60.0},
    ),
    Work(
        "links",
        "10 jobs, 12 nodes, capacity-constrained links, 5 %",
        (5,),
        60.0,
        CLOSE,
        {"jobs": 10, "max_tasks": 6, "bsbw_low": 0.1, "link_bandwidth": 100.0},
        methods=(*OURS, CPSAT),
        comparison=BESIDE_CPSAT,
    ),
    Work(
        "links-20",
        "20 jobs, 12 nodes, capacity-constrained links, 5 %",
        (5,),
        60.0,
        CLOSE,
        {"jobs": 20, "max_tasks": 6, "bsbw_low": 0.1, "link_bandwidth": 100.0},
        methods=(*OURS, CPSAT),
        comparison=BESIDE_CPSAT,
    ),
    Work(
        "arrivals",
        "10 jobs, 12 nodes, arrivals, 5 %",
        (5,),
        60.0,
        CLOSE,
        {"jobs": 10, "interarrival_mean": 2e5},
        methods=(*OURS, CPSAT),
        comparison=BESIDE_CPSAT,
    ),
    Work(
        "arrivals-20",
        "20 jobs, 12 nodes, arrivals, 5 %",
        (5,),
        60.0,
        CLOSE,
        {"jobs": 20, "interarrival_mean": 2e5},
        methods=(*OURS, CPSAT),
        comparison=BESIDE_CPSAT,
    ),
    Work(
        "jobs-50",
        "50 jobs, 64 nodes, 5 %",
        (5,),
        60.0,
        Target(worst_gap=0.01),
        {"jobs": 50, "interarrival_scale": 0.0},
        generator="thesis-pas",
        methods=(PORTFOLIO,),
    ),
    Work(
        "jobs-200",
        "200 jobs, 240 nodes, 5 % and continuous",
        (5, None),
        120.0,
        Target(worst_gap=0.01),
        {"jobs": 200, "nodes": 80},
        methods=(PORTFOLIO,),
    ),
    Work(
        "jobs-1000",
        "1000 jobs, 999 nodes, 5 %",
        (5,),
        120.0,
        Target(worst_gap=0.02),
        {"jobs": 1000, "nodes": 333},
        methods=(PORTFOLIO,),
        seeds=HUGE_SEEDS,
    ),
    Work(
        "sums-8",
        "8 jobs, 12 nodes, sum of response times, nine slots and continuous",
        (*SLOTS, None),
        60.0,
        Target(share_proven=1.0, median=0.2),
        seeds=SUMS_SEEDS,
        criterion=RESPONSES,
    ),
    Work(
        "sums-12",
        "12 jobs, 12 nodes, sum of response times, 15 %",
        (15,),
        60.0,
        Target(share_proven=1.0),
        {"jobs": 12},
        seeds=UNSEEN_SEEDS,
        criterion=RESPONSES,
    ),
    *map(sums_beside_cpsat, (8, 12, 20, 30)),
    Work(
        "pyjobshop",
        "8 jobs, 12 nodes, compared with PyJobShop",
        PEER_SLOTS,
        30.0,
        Target(),
        methods=(PORTFOLIO, PYJOBSHOP),
        seeds=PEER_SEEDS,
        comparison=Comparison(PYJOBSHOP, 10.0, never_weaker=True),
    ),
    Work(
        "node",
        "8 jobs, 12 nodes, compared with the node model",
        NODE_SLOTS,
        180.0,
        Target(),
        methods=(PORTFOLIO, NODE),
        seeds=PEER_SEEDS,
        comparison=BESIDE_NODE,
    ),
    Work(
        "node-6",
        "8 jobs, 6 nodes, compared with the node model",
        NODE_SLOTS,
        180.0,
        Target(),
        generator="paper-oas",
        methods=(PORTFOLIO, NODE),
        seeds=PEER_SEEDS,
        comparison=BESIDE_NODE,
    ),
)
WORK_BY_NAME = {work.name: work for work in WORKS}


@dataclass(frozen=True, slots=True)
class Sample:
    """One solve: work and seed name the instance; slot in % (None: continuous time), limit in seconds.

    ``criterion`` is the objective, by name.
    """

    work: str
    seed: int
    slot: int | None
    method: str
    limit: float
    threads: int
    criterion: str = MAKESPAN

    @property
    def instance(self) -> coalloc.Instance:
        """The instance that is solved."""
        return WORK_BY_NAME[self.work].instance(self.seed)

    @property
    def slot_option(self) -> str | None:
        """The slot as ``coalloc.solve`` takes it."""
        return None if self.slot is None else f"{self.slot}%"


def samples_of(work: Work, num_seeds: int, threads: int) -> Iterator[Sample]:
    """Yield the samples of the first seeds of a work, in the order in which they run."""
    for seed in work.seeds[:num_seeds]:
        for slot in work.slots:
            for method in work.methods:
                yield Sample(work.name, seed, slot, method, work.limit, threads, work.criterion)
