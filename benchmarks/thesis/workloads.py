"""The instances of the experiments, from a table of a specification, a point of its grid and a seed.

WL-1, WL-2 and WL-3 are described in words only (thesis 3.2.2.2, paper 4.2). Our reading: eight jobs that all
wait at time 0, drawn as ``thesis-oas`` draws them, in a queue of this order:

- WL-1: four jobs of more than half of the nodes at the head, four that fit next to one of them behind: passing
  over a job that does not fit pays;
- WL-2: sizes as drawn, the most tasks at the head: small jobs first pays;
- WL-3: as drawn. The paper has WL-4 to WL-6 of the same kind.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import coalloc
from coalloc import Instance, Job
from coalloc.instance import CoallocError

TRACES = "COALLOC_TRACES"
"""Environment variable: the folder of the logs of the Parallel Workloads Archive; processes of samples inherit it."""
HPC2N = "HPC2N-2002-2.2-cln.swf.gz"

Point = Mapping[str, Any]
"""Values of what an experiment varies in addition to the seed: ``{"heterogeneity": 50, "bsbw": 0.7}``."""


@dataclass(frozen=True, slots=True)
class Workload:
    """What a specification says of the instances: a kind, the generator (if any) and the grid of its parameters."""

    kind: str
    grid: Mapping[str, tuple[Any, ...]]
    generator: str = ""

    def points(self) -> list[Point]:
        """Return the points of the grid, the last parameter varying fastest."""
        return [dict(zip(self.grid, values, strict=True)) for values in product(*self.grid.values())]

    def instance(self, point: Point, seed: int) -> Instance:
        """Return the instance of a point and a seed."""
        if self.kind not in KINDS:
            raise CoallocError(f"kind of a workload must be one of {', '.join(KINDS)}, got {self.kind!r}")
        return KINDS[self.kind](self, point, seed)


def generated(workload: Workload, point: Point, seed: int) -> Instance:
    """Return what the generator draws; jobs of one seed differ only in what the point says.

    ``shares`` are the least and the largest processing share, ``"0.1:0.5"``.
    """
    said = dict(point)
    if "shares" in said:
        low, high = said.pop("shares").split(":")
        said |= {"share_low": float(low), "share_high": float(high)}
    return coalloc.generate(workload.generator, seed=seed, **said)


Draw = Callable[..., Instance]
"""``coalloc.generate`` with the generator and what the point says of it; takes the seed, and sizes of jobs."""


def queue(workload: Workload, point: Point, seed: int) -> Instance:
    """Return WL-1, WL-2, ... of the generator, which is ``thesis-oas`` where the specification names none."""
    draw = partial(coalloc.generate, workload.generator or "thesis-oas", **SPREADS[point.get("base_times", USUAL)])
    return QUEUES[point["workload"]](seed, draw).replace(name=f"{point['workload']}-{seed}")


def large_ahead_of_small(seed: int, draw: Draw) -> Instance:
    """Return WL-1: four jobs of more than half of the nodes (of 12: 7 to 10), then four of at most a third (1 to 4)."""
    nodes = draw(seed=seed, jobs=1).platform.num_processors
    large = draw(seed=2 * seed, jobs=4, min_tasks=nodes // 2 + 1, max_tasks=5 * nodes // 6)
    small = draw(seed=2 * seed + 1, jobs=4, min_tasks=1, max_tasks=nodes // 3)
    return large.replace(jobs=renumbered((*large.jobs, *small.jobs)))


def decreasing(seed: int, draw: Draw) -> Instance:
    """Return WL-2: the jobs of WL-3, those with most tasks first."""
    drawn = draw(seed=seed)
    return drawn.replace(jobs=renumbered(sorted(drawn.jobs, key=lambda job: -job.tasks)))


def as_drawn(seed: int, draw: Draw, number: int = 0) -> Instance:
    """Return WL-3, or the one of this number after it: eight jobs of any size, from a seed of its own."""
    return draw(seed=seed + SEEDS_APART * number)


def renumbered(jobs: Iterable[Job]) -> tuple[Job, ...]:
    """Return the jobs with the ids J1, J2, ... in this order."""
    return tuple(job.replace(id=f"J{number}") for number, job in enumerate(jobs, start=1))


USUAL = "Weibull 1"
SPREADS: Mapping[str, Mapping[str, Any]] = {
    USUAL: {},
    "Weibull 3": {"base_time_shape": 3.0},
    "Weibull 0.6": {"base_time_shape": 0.6},
    "uniform": {"base_times": "uniform"},
}
"""How base times of the queues spread, by name."""
SEEDS_APART = 1000
"""Between the seeds of WL-3, WL-4, ...: more than any experiment has."""

QUEUES: Mapping[str, Callable[[int, Draw], Instance]] = {
    "WL-1": large_ahead_of_small,
    "WL-2": decreasing,
    "WL-3": as_drawn,
    **{f"WL-{3 + number}": partial(as_drawn, number=number) for number in (1, 2, 3)},
}
"""The queues of the OAS experiments by name."""


def trace(_: Workload, point: Point, seed: int) -> Instance:
    """Return a slice of HPC2N on the platform of Table 3.6; the seed is that of the communication drawn.

    With ``estimates`` ``"exact"`` policies know the base times, as the thesis has it; with ``"user"`` they know what
    the users asked for.
    """
    platform = coalloc.generate("thesis-mesd", jobs=1).platform
    read = coalloc.read_swf(
        traces() / HPC2N, platform=platform, slice=point["slice"], communication="seeded", seed=seed
    )
    if point["estimates"] == "exact":
        read = read.replace(jobs=[job.replace(estimate=job.base_time) for job in read.jobs])
    return read.replace(name=f"HPC2N-{point['slice'].replace(':', '-')}-{seed}")


def traces() -> Path:
    """Return the folder of the logs, which is next to the project where nothing else is said."""
    return Path(os.environ.get(TRACES) or Path(__file__).resolve().parents[3] / "shared" / "data" / "swf")


def has_trace() -> bool:
    """Tell whether the log of HPC2N is there."""
    return (traces() / HPC2N).is_file()


KINDS: Mapping[str, Callable[[Workload, Point, int], Instance]] = {
    "generator": generated,
    "queue": queue,
    "trace": trace,
}
"""Where instances come from, by name."""
