"""An experiment: what its specification says, which samples that makes, and running those that are missing."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from measures import Sample
from workloads import HPC2N, Workload, has_trace, traces

from coalloc.bench.calls import Call
from coalloc.bench.outcomes import Outcome, Row, is_failed
from coalloc.bench.running import BenchProgress, outcomes_of, run_calls
from coalloc.bench.workers import LocalWorkers
from coalloc.instance import CoallocError

HERE = Path(__file__).resolve().parent
NAMES = (
    "pas-allocation",
    "pas-links",
    "pas-selection",
    "oas-workloads",
    "oas-spread",
    "paper-oas",
    "mesd-oas",
    "mesd-large",
    "mesd-estimates",
)
"""The experiments, each a file of this name next to this one."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """A specification, read; ``measures`` are options by measure, those of ``policies`` and ``strategies``.

    Strategies that take less than a process does to start are one sample, ``together``, on each instance.
    """

    name: str
    title: str
    source: str
    figures: str
    seeds: int
    workload: Workload
    strategies: Mapping[str, Mapping[str, Any]]
    measures: Mapping[str, Mapping[str, Any]]
    together: bool = False

    def samples(self) -> Iterator[Sample]:
        """Yield the samples, one for each point, seed and strategy (or all of these) or other measure."""
        others = {name: options for name, options in self.measures.items() if name != "policies"}
        detail = self.measures.get("policies", {}).get("detail", ())
        single = [{label: options} for label, options in self.strategies.items()]
        groups = [dict(self.strategies)] if self.together else single
        for point in self.workload.points():
            for seed in range(1, self.seeds + 1):
                for name, options in others.items():
                    yield Sample(name, self.workload, point, seed, options)
                for group in groups:
                    asked = {"strategies": group, "detail": [label for label in group if label in detail]}
                    yield Sample("policies", self.workload, point, seed, asked)


def experiment(name: str, is_full: bool = False, seeds: int | None = None) -> Experiment:
    """Return an experiment by name; ``seeds`` instead of those of its specification."""
    path = HERE / f"{name}.toml"
    if name not in NAMES:
        raise CoallocError(f"there is no experiment {name!r}; there are {', '.join(NAMES)}")
    said = tomllib.loads(path.read_text())
    table = said["workload"]
    if table["kind"] == "trace" and not has_trace():
        if "without_trace" not in said:
            raise CoallocError(f"{name} needs the log {HPC2N} in {traces()}")
        table = said["without_trace"]
    grid = table["grid"] | (said.get("full_grid", {}) if is_full else {})
    workload = Workload(table["kind"], {key: tuple(values) for key, values in grid.items()}, table.get("generator", ""))
    return Experiment(
        name=name,
        title=said["title"],
        source=said.get("source", "thesis"),
        figures=said["figures"],
        seeds=seeds or said["full_seeds" if is_full else "seeds"],
        workload=workload,
        strategies=said["strategies"],
        measures=said.get("measures", {}),
        together=said.get("together", False),
    )


def run(wanted: Experiment, store: Path, jobs: int) -> bool:
    """Measure the samples that the store lacks, ``jobs`` at a time; return whether all have been measured."""
    calls = [sample.call for sample in wanted.samples()]

    def report(_call: Call, _outcome: Outcome, progress: BenchProgress) -> None:
        if progress.in_store % max(1, len(calls) // 20) == 0:
            print(f"{wanted.name}: {progress}", file=sys.stderr, flush=True)

    return not run_calls(calls, store, partial(LocalWorkers, jobs), report).is_interrupted


def rows_of(wanted: Experiment, store: Path) -> list[Row]:
    """Return the rows of all samples of an experiment, in their order; ``CoallocError`` where some are missing."""
    found = outcomes_of([sample.call for sample in wanted.samples()], store)
    missing = sum(outcome is None for outcome in found)
    if missing:
        raise CoallocError(f"{wanted.name}: {missing} of {len(found)} samples have not run: leave out --report")
    outcomes = [outcome for outcome in found if outcome is not None]
    failed = [outcome["message"] for outcome in outcomes if is_failed(outcome)]
    if failed:
        raise CoallocError(f"{wanted.name}: {len(failed)} of {len(found)} samples failed, the first: {failed[0]}")
    return [row for outcome in outcomes for row in outcome["rows"]]
