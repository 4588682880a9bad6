"""The files of a study: all runs as CSV, claims and means in Markdown, and its figures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from sharing_claims import Claim, scenario_claims
from sharing_experiment import Experiment
from sharing_figures import FIGURES, sweep
from sharing_results import VALUATIONS, Results, excess_interval, results_of, value_intervals

from coalloc.bench.outcomes import Row
from coalloc.bench.provenance import code_sentence
from coalloc.bench.tables import Table, csv_of, markdown
from coalloc.documents.storage import write_atomically
from coalloc.instance import CoallocError
from coalloc.measures.intervals import ConfidenceInterval, mean_interval
from coalloc.plot.pictures import write_figure

SCENARIOS = "scenarios"
"""The study of Table 1, which has claims; the others vary one thing and say what that changes."""

PARALLEL = {
    "turnaround_mean": "turnaround, s",
    "turnaround_deviation": "its deviation, s",
    "dedicated_slowdown_mean": "slowdown",
    "dedicated_slowdown_deviation": "its deviation",
    "makespan_ratio": "makespan ratio",
    "wait_mean": "wait, s",
    "gap": "makespan above bound",
    "stops": "stops",
    "stopped_share": "jobs stopped, share",
    "stopped_time": "time stopped, s",
    "messages_local": "LOCAL",
    "messages_no_local": "NO LOCAL",
    "messages_stop": "STOP",
    "messages_resume": "RESUME",
}
"""Columns of the table of parallel jobs."""

LOCAL = {
    "user_time": "time of users, s",
    "user_cpu_mean": "CPU kept, mean",
    "user_cpu_least": "CPU kept, least",
    "user_memory_mean": "memory kept, mean",
    "user_memory_least": "memory kept, least",
    "latency_mean_xwindows": "mean latency XWindows, us",
    "latency_max_xwindows": "largest XWindows, us",
    "latency_mean_internet": "mean latency Internet, us",
    "latency_max_internet": "largest Internet, us",
    "latency_mean_shell": "mean latency Shell, us",
    "latency_max_shell": "largest Shell, us",
}
"""Columns of the table of local users."""

CHANGED = {
    "turnaround_mean": "turnaround, %",
    "turnaround_deviation": "its deviation, %",
    "dedicated_slowdown_mean": "slowdown, %",
    "dedicated_slowdown_deviation": "its deviation, %",
    "makespan": "makespan, %",
    "user_cpu_mean": "CPU kept for users, points",
}
"""Columns of the table of changes: in percent of what it was, but shares in points."""


def write(experiment: Experiment, name: str, rows: Sequence[Row], folder: Path) -> list[Path]:
    """Write the files of a study and return their paths."""
    results = results_of(experiment, name, rows)
    folder.mkdir(parents=True, exist_ok=True)
    table = folder / f"{name}.csv"
    write_atomically(table, csv_of(list(results.runs.columns), records(results)))
    page, *pictures = write_page(experiment, results, code_sentence([]), folder)
    return [page, table, *pictures]


def write_again(experiment: Experiment, name: str, folder: Path) -> list[Path]:
    """Write the page and the figures anew from the table of runs; the page says still whose code made these."""
    page, table = folder / f"{name}.md", folder / f"{name}.csv"
    if not (page.is_file() and table.is_file()):
        raise CoallocError(f"{folder} has no {page.name} and {table.name} to write the page again")
    runs = pd.read_csv(table)
    study = replace(experiment.studies[name], seeds=int(runs["seed"].nunique()))
    made_by = page.read_text().partition(" seeds; ")[2].partition(".\nEvery run")[0]
    return write_page(experiment, Results(study, experiment.mixes, runs), made_by, folder)


def write_page(experiment: Experiment, results: Results, made_by: str, folder: Path) -> list[Path]:
    """Write the page and the figures; return their paths."""
    name = results.study.name
    paths = [folder / f"{name}.md"]
    write_atomically(paths[0], "\n".join(page_of(experiment, results, made_by)) + "\n")
    for suffix, draw in FIGURES.get(name, {"": sweep}).items():
        paths.append(folder / f"{name}{suffix}.png")
        write_figure(draw(results), paths[-1])
    return paths


def records(results: Results) -> Iterator[Row]:
    """Yield every run, numbers with ten digits; nothing where a run lacks the column."""
    for row in results.runs.to_dict("records"):
        yield {str(name): _cell(value) for name, value in row.items()}


def _cell(value: object) -> object:
    if not isinstance(value, float):
        return value
    return "" if math.isnan(value) else f"{value:.10g}"


def page_of(experiment: Experiment, results: Results, made_by: str) -> Iterator[str]:
    """Yield the lines of the page of a study."""
    study = results.study
    yield f"# {experiment.title}: {study.name.replace('_', ' ')}"
    yield ""
    yield f"Made with `python benchmarks/cisne/run.py {study.name}`. {study.seeds} seeds; {made_by}."
    yield f"Every run is in [{study.name}.csv]({study.name}.csv); [README](../README.md) says what follows. Intervals:"
    yield "95 %, over seeds. What is not here is as in [generators](../../../docs/generators.md#cisne):"
    yield ", ".join(f"`{key}` {' '.join(map(str, values))}" for key, values in study.grid.items()) + "."
    if study.name == SCENARIOS:
        yield from ("", "## What the text says, and what comes out", "", claims_table(scenario_claims(results)))
    else:
        yield from ("", f"## What `{results.varied[-1]}` changes", "")
        yield f"Compared with `{results.varied[-1]}` = {study.base}, same seeds: means over mixes"
        yield "and loads of the change in each run."
        yield from ("", changes_table(results))
    yield from ("", "## V by mix", "")
    yield "V as printed (Figure 7.b), turnaround in seconds, and with every term divided by its mean over the mixes of"
    yield "the row; less is more stable. *First over second*: V of one mix above that of the other, %."
    yield from ("", values_table(results))
    yield from ("", "## Parallel jobs", "", "Means over the seeds.", "", metrics_table(results, PARALLEL))
    yield from ("", "## Local users", "", "Means over the seeds, *least* and *largest* of all runs.", "")
    yield metrics_table(results, LOCAL)


def claims_table(claims: Iterable[Claim]) -> str:
    """Return the claims as a table in Markdown."""
    columns = ("the text says", "measured as", "it expects", "here", "95 % interval", "unit")
    lines = [(c.says, c.quantity, c.expects, _digits(c.interval.mean), _range(c.interval), c.unit) for c in claims]
    return markdown(Table.of(columns, lines))


def values_table(results: Results) -> str:
    """Return a row per point: both V of each mix, and of pairs of mixes, with intervals."""
    pairs = (("FCFS-FFit", "SJF-JFirst"), ("SNPF-BFit", "FCFS-FFit"))
    heads = [f"{text} {mix}" for text in VALUATIONS for mix in results.mixes]
    heads += [f"{text}, {first} over {second}, %" for text in VALUATIONS for first, second in pairs]
    lines = []
    for point, where in results.points():
        found = [_whole(i) for value in VALUATIONS.values() for i in value_intervals(results, where, value)]
        for valuation in VALUATIONS.values():
            for pair in pairs:
                found.append(_percent(excess_interval(results, where, valuation, *pair)))
        lines.append([*(point[key] for key in results.varied), *found])
    return markdown(Table.of([*results.varied, *heads], lines))


def changes_table(results: Results) -> str:
    """Return a row per point but those of the base: how metrics change compared with it, seed by seed."""
    *others, swept = results.study.grid
    kept = [key for key in results.varied if key in others and key != "load"]
    lines = []
    for group, frame in results.runs.groupby(kept, sort=False) if kept else [((), results.runs)]:
        index = [*others, "seed", "mix"]
        base = frame[frame[swept] == results.study.base].set_index(index)
        for value in results.study.grid[swept]:
            if value != results.study.base:
                here = frame[frame[swept] == value].set_index(index)
                lines.append([*group, value, *(_percent(change(here[name], base[name], name)) for name in CHANGED)])
    return markdown(Table.of([*kept, swept, *CHANGED.values()], lines))


def change(here: pd.Series, base: pd.Series, name: str) -> ConfidenceInterval:
    """Return the mean change of a metric over the seeds: relative to the base, or the difference of a share."""
    found = here - base if name.startswith("user_cpu") else here / base - 1.0
    return mean_interval(found.groupby(level="seed").mean().tolist())


def metrics_table(results: Results, columns: dict[str, str]) -> str:
    """Return a row per point and mix with the means of these metrics; extremes are those of all runs."""
    named = {name: text for name, text in columns.items() if name in results.runs}
    lines = []
    for point, _ in results.points():
        frame = results.at(point)
        for mix in results.mixes:
            part = frame[frame["mix"] == mix]
            cells = [_digits(extreme(part[name].to_numpy(dtype=float), name)) for name in named]
            lines.append([*(point[key] for key in results.varied), mix, *cells])
    return markdown(Table.of([*results.varied, "mix", *named.values()], lines))


def extreme(values: np.ndarray, name: str) -> float:
    """Return the mean of a metric over runs; of a least value the least, of a largest one the largest."""
    known = values[~np.isnan(values)]
    if not len(known):
        return math.nan
    if name.endswith("_least"):
        return float(known.min())
    return float(known.max()) if "_max_" in name else float(known.mean())


def _percent(interval: ConfidenceInterval) -> str:
    """Return a share and its interval, in percent."""
    mean, low, high = (100.0 * part for part in interval[:3])
    return f"{mean:.1f} ({low:.1f} to {high:.1f})"


def _whole(interval: ConfidenceInterval) -> str:
    """Return a number and its interval."""
    return f"{_digits(interval.mean)} ({_digits(interval.low)} to {_digits(interval.high)})"


def _range(interval: ConfidenceInterval) -> str:
    return "" if math.isnan(interval.low) else f"{_digits(interval.low)} to {_digits(interval.high)}"


def _digits(number: float) -> str:
    """Return a number with three digits, whole from 1000 on; nothing for one that is not known."""
    if math.isnan(number):
        return ""
    return f"{number:.0f}" if abs(number) >= 1000.0 else f"{number:.3g}"
