"""The experiment on CISNE: what its specification says, which samples that makes, and running those that are missing.

A sample is one point of a grid and one seed: all mixes run on the same instance, so that they are compared in pairs.
"""

from __future__ import annotations

import itertools
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import coalloc
from coalloc import Instance
from coalloc.bench.calls import Call
from coalloc.bench.outcomes import Outcome, Row, is_failed
from coalloc.bench.running import BenchProgress, outcomes_of, run_calls
from coalloc.bench.workers import LocalWorkers
from coalloc.instance import CoallocError
from coalloc.measures.sharing import dedicated, least_makespan
from coalloc.measures.stability import makespan_ratio

SPECIFICATION = Path(__file__).resolve().parent / "cisne.toml"

TIME_LIMIT = 1800.0
"""Seconds after which a sample is killed: far more than any takes."""

MODULES: Mapping[str, Mapping[str, Any]] = {
    "contract": {"contract": None},
    "cooperation": {"cooperation": False},
    "coscheduling": {"coscheduling": False},
}
"""The modules of CSC, and what switches each off. Source: section 2.1.1."""

OFF: Mapping[str, Mapping[str, Any]] = {
    "none": {},
    **MODULES,
    "all": {key: setting for settings in MODULES.values() for key, setting in settings.items()},
}
"""What a point may say under ``off``."""

SHARING_ALONE = ("wait_factor", "paging_slowdown")
"""Settings of ``sharing`` that are no parameters of the generator."""

Point = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Study:
    """A grid of points, and how many seeds each has: 0, 1, ...; values of its last key are compared with ``base``."""

    name: str
    seeds: int
    grid: Mapping[str, Sequence[Any]]
    base: Any = None

    def points(self) -> Iterator[Point]:
        """Yield the points of the grid, the last key varying fastest."""
        for values in itertools.product(*self.grid.values()):
            yield dict(zip(self.grid, values, strict=True))


@dataclass(frozen=True, slots=True)
class Experiment:
    """The specification, read."""

    title: str
    mixes: tuple[str, ...]
    studies: Mapping[str, Study]

    def samples(self, study: Study) -> Iterator[tuple[Point, int, Call]]:
        """Yield point, seed and call of each sample of a study."""
        for point in study.points():
            for seed in range(study.seeds):
                argument = {"settings": settings_of(point), "seed": seed, "mixes": list(self.mixes)}
                yield point, seed, Call(measured, argument, TIME_LIMIT)


def experiment(seeds: int | None = None, path: Path = SPECIFICATION) -> Experiment:
    """Return the experiment; ``seeds`` instead of those of each study."""
    said = tomllib.loads(path.read_text())
    studies = {
        name: Study(name, seeds or study["seeds"], study["grid"], study.get("base"))
        for name, study in said["studies"].items()
    }
    return Experiment(said["title"], tuple(said["mixes"]), studies)


def settings_of(point: Point) -> dict[str, Any]:
    """Return the parameters that a point sets: users sit at half of the nodes, ``off`` switches modules off."""
    settings = {key: setting for key, setting in point.items() if key != "off"} | OFF[point.get("off", "none")]
    if "nodes" in settings:
        settings["user_nodes"] = settings["nodes"] // 2
    return settings


# --- one sample ------------------------------------------------------------------------------------


def instance_of(settings: Mapping[str, Any], seed: int) -> Instance:
    """Return the instance of a sample."""
    drawn = {key: setting for key, setting in settings.items() if key not in SHARING_ALONE}
    instance = coalloc.generate("cisne", seed=seed, **drawn)
    sharing = instance.sharing.replace(**{key: settings[key] for key in SHARING_ALONE if key in settings})
    return instance.replace(platform=instance.platform.replace(sharing=sharing))


def measured(argument: Mapping[str, Any]) -> Row:
    """Return a row per mix: metrics on shared nodes, compared with the same mix on dedicated ones, and the bound."""
    instance = instance_of(argument["settings"], argument["seed"])
    alone, bound = dedicated(instance), least_makespan(instance)
    rows = []
    for mix in argument["mixes"]:
        run, on_dedicated = (coalloc.simulate(given, "loras", mix=mix) for given in (instance, alone))
        makespan = run.metrics["makespan"]
        rows.append(
            {
                "mix": mix,
                **coalloc.results.sharing_metrics(instance, run.schedule),
                "makespan": makespan,
                "makespan_ratio": makespan_ratio(instance, run.schedule, on_dedicated.schedule),
                "wait_mean": run.metrics["wait_mean"],
                "bound": bound,
                "gap": makespan / bound - 1.0,
            }
        )
    return {"status": "done", "rows": rows}


# --- all of them -----------------------------------------------------------------------------------


def run(wanted: Experiment, names: Sequence[str], store: Path, jobs: int) -> bool:
    """Measure the samples of these studies that the store lacks, ``jobs`` at a time; return whether all are there."""
    calls = list({call.key: call for name in names for call in by_seed(wanted, wanted.studies[name])}.values())

    def report(_call: Call, _outcome: Outcome, progress: BenchProgress) -> None:
        if progress.in_store % max(1, len(calls) // 20) == 0:
            print(progress, file=sys.stderr, flush=True)

    return not run_calls(calls, store, partial(LocalWorkers, jobs), report).is_interrupted


def by_seed(wanted: Experiment, study: Study) -> list[Call]:
    """Return the calls of a study, all points of one seed first: an interrupted run has the same seeds everywhere."""
    return [call for _, _, call in sorted(wanted.samples(study), key=lambda sample: sample[1])]


def rows_of(wanted: Experiment, name: str, store: Path) -> list[Row]:
    """Return the rows of all samples of a study, in their order; ``CoallocError`` where some are missing."""
    samples = list(wanted.samples(wanted.studies[name]))
    found = outcomes_of([call for *_, call in samples], store)
    missing = sum(outcome is None for outcome in found)
    if missing:
        raise CoallocError(f"{name}: {missing} of {len(found)} samples have not run: leave out --report")
    outcomes = [outcome for outcome in found if outcome is not None]
    failed = [outcome["message"] for outcome in outcomes if is_failed(outcome)]
    if failed:
        raise CoallocError(f"{name}: {len(failed)} of {len(found)} samples failed, the first: {failed[0]}")
    return [
        {**point, "seed": seed, **row}
        for (point, seed, _), outcome in zip(samples, outcomes, strict=True)
        for row in outcome["rows"]
    ]
