"""An experiment: what its specification says, which samples that makes, and running those that are missing."""

from __future__ import annotations

import multiprocessing
import sys
import tomllib
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner import Store

from coalloc.instance import CoallocError
from thesis.measures import Row, Sample, measured
from thesis.workloads import HPC2N, TRACES, Workload, has_trace

HERE = Path(__file__).resolve().parent
NAMES = ("pas-allocation", "pas-selection", "oas-workloads", "mesd-oas", "mesd-large", "mesd-estimates")
"""The experiments, each a file of this name beside this one."""


@dataclass(frozen=True, slots=True)
class Experiment:
    """A specification, read; ``measures`` are options by measure, those of ``policies`` beside the ``strategies``."""

    name: str
    title: str
    figures: str
    seeds: int
    workload: Workload
    strategies: Mapping[str, Mapping[str, Any]]
    measures: Mapping[str, Mapping[str, Any]]

    def samples(self) -> Iterator[Sample]:
        """Yield the samples, one for each point, seed and strategy or other measure."""
        others = {name: options for name, options in self.measures.items() if name != "policies"}
        detail = self.measures.get("policies", {}).get("detail", ())
        for point in self.workload.points():
            for seed in range(1, self.seeds + 1):
                for name, options in others.items():
                    yield Sample(name, self.workload, point, seed, options)
                for label, options in self.strategies.items():
                    asked = {"strategies": {label: options}, "detail": [label] if label in detail else []}
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
            raise CoallocError(f"{name} needs the log {HPC2N} in {TRACES}")
        table = said["without_trace"]
    grid = table["grid"] | (said.get("full_grid", {}) if is_full else {})
    workload = Workload(table["kind"], {key: tuple(values) for key, values in grid.items()}, table.get("generator", ""))
    return Experiment(
        name=name,
        title=said["title"],
        figures=said["figures"],
        seeds=seeds or said["full_seeds" if is_full else "seeds"],
        workload=workload,
        strategies=said["strategies"],
        measures=said.get("measures", {}),
    )


def run(wanted: Experiment, store: Store, code: str, jobs: int) -> None:
    """Measure the samples that the store lacks, ``jobs`` at a time, and keep each as it ends."""
    samples = {sample.key(code): sample for sample in wanted.samples()}
    missing = {key: sample for key, sample in samples.items() if store.get(key) is None}
    print(f"{wanted.name}: {len(missing)} of {len(samples)} samples to run", file=sys.stderr)
    for number, (key, row) in enumerate(_outcomes(missing, jobs), start=1):
        store.add(key, row)
        if number % max(1, len(missing) // 20) == 0:
            print(f"{wanted.name}: {number}/{len(missing)}", file=sys.stderr, flush=True)


def _outcomes(samples: Mapping[str, Sample], jobs: int) -> Iterator[tuple[str, Row]]:
    """Yield the outcome of each sample by key; in this process if it is one at a time."""
    if jobs == 1:
        for key, sample in samples.items():
            yield key, measured(sample)
        return
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        running = {pool.submit(measured, sample): key for key, sample in samples.items()}
        for future in as_completed(running):
            yield running[future], future.result()


def rows_of(wanted: Experiment, store: Store, code: str) -> list[Row]:
    """Return the rows of all samples of an experiment, in their order; ``CoallocError`` where some have not run."""
    found = [store.get(sample.key(code)) for sample in wanted.samples()]
    missing = sum(outcome is None for outcome in found)
    if missing:
        raise CoallocError(f"{wanted.name}: {missing} of {len(found)} samples have not run: leave out --report")
    return [row for outcome in found if outcome is not None for row in outcome["rows"]]
