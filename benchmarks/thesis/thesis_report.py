"""The files of an experiment: all runs as CSV, claims and means in Markdown, the figures of the source drawn anew."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pandas as pd
from claims import Claim, claims_of
from experiment import Experiment
from figures import FIGURES, OF_LISTS
from measures import OAS, OAS_LEFT
from results_table import LISTS, Results, csv_columns, results_in, results_of, solve_column

from coalloc.bench.outcomes import Row
from coalloc.bench.provenance import code_sentence
from coalloc.bench.tables import Table, csv_of, markdown
from coalloc.documents.storage import write_atomically
from coalloc.instance import CoallocError
from coalloc.measures.intervals import ConfidenceInterval, mean_interval
from coalloc.plot.pictures import write_figure

TIMES = {"makespan": "makespan", "response_mean": "response", "wait_mean": "wait", "execution_mean": "execution"}
"""Columns of times in the table of strategies; the first two with intervals."""
MEETS = 1e-9
"""Share by which a makespan may be above a bound that it meets: rounding."""
DIGITS = 10
"""Digits of numbers in the table of runs."""
LONG = 1e5
"""Makespan (s) from which times are given in thousands of seconds."""
SHARES = {
    "execution_slowdown": "slowdown, %",
    "utilization": "utilization, %",
    "coallocated_share": "co-allocated, %",
    "saturated_share": "saturated, %",
}
"""Columns of shares."""


def write(experiment: Experiment, rows: Sequence[Row], folder: Path) -> list[Path]:
    """Write the files of an experiment and return their paths."""
    results = results_of(experiment, rows)
    folder.mkdir(parents=True, exist_ok=True)
    table = folder / f"{experiment.name}.csv"
    columns = csv_columns(pd.concat([results.runs, results.slots]))
    write_atomically(table, csv_of(columns, records(results)))
    page, *pictures = write_page(experiment, results, code_sentence(["highspy"]), folder)
    return [page, table, *pictures]


def write_again(experiment: Experiment, folder: Path) -> list[Path]:
    """Write the page and the pictures anew from the table of runs; the page says still whose code made these."""
    page, table = folder / f"{experiment.name}.md", folder / f"{experiment.name}.csv"
    if not (page.is_file() and table.is_file()):
        raise CoallocError(f"{folder} has no {page.name} next to a {table.name} to be written again")
    made_by = page.read_text().partition(" seeds; ")[2].partition(". Every run")[0]
    return write_page(experiment, results_in(experiment, table), made_by, folder)


def write_page(experiment: Experiment, results: Results, made_by: str, folder: Path) -> list[Path]:
    """Write the page and the pictures, but those whose columns the table of runs lacks; return their paths."""
    paths = [folder / f"{experiment.name}.md"]
    write_atomically(paths[0], "\n".join(page_of(experiment, results, made_by)) + "\n")
    for suffix, draw in FIGURES[experiment.name].items():
        if draw in OF_LISTS and not set(LISTS) <= set(results.runs):
            continue
        paths.append(folder / f"{experiment.name}{suffix}.png")
        write_figure(draw(results), paths[-1])
    return paths


def records(results: Results) -> Iterator[Row]:
    """Yield every run once, numbers with few digits: what solvers leave in the last ones is noise."""
    is_slotted = results.runs["strategy"].isin([OAS, OAS_LEFT])
    for row in pd.concat([results.runs[~is_slotted], results.slots]).to_dict("records"):
        yield {str(name): _cell(value) for name, value in row.items()}


def _cell(value: object) -> object:
    """Return what a cell of the CSV file has; nothing where a row lacks the column."""
    if not isinstance(value, float):
        return value
    return "" if math.isnan(value) else float(f"{value:.{DIGITS}g}")


def page_of(experiment: Experiment, results: Results, made_by: str) -> Iterator[str]:
    """Yield the lines of the page of an experiment."""
    yield f"# {experiment.title}"
    yield ""
    command = f"python benchmarks/thesis/run.py {experiment.name}"
    yield f"{experiment.figures} of the {experiment.source}, rerun with `{command}`."
    yield f"{results.runs['seed'].nunique()} seeds; {made_by}. Every run is in"
    yield f"[{experiment.name}.csv]({experiment.name}.csv); [README](../README.md) says what follows."
    yield ""
    yield f"## What the {experiment.source} says, and what comes out"
    yield ""
    yield f"In percent. One sample is the mean of a {results.unit}; 95 % intervals by bootstrap over them."
    yield ""
    yield claims_table(claims_of(experiment.name, results), experiment.source)
    yield ""
    yield "## Strategies"
    yield ""
    yield "Means over the seeds, makespan and response with 95 % intervals. *Above bound*: makespan over the largest"
    yield f"lower bound that holds for the strategy, {optima_text(results)}; *at the bound*: runs that meet"
    yield "it, and so are proved optimal. *Response above*: mean response over its bound, of which no optimum is known."
    yield ""
    yield strategies_table(results)
    if len(results.slots):
        yield from ("", "## OAS by slot", "", slots_table(results))


def optima_text(results: Results) -> str:
    """Return how many of the bounds are optima, in words."""
    known, runs = int(results.runs["is_optimum"].sum()), len(results.runs)
    return f"which is the optimum in {known} of {runs} runs" if known else "without saturation"


def _range(interval: ConfidenceInterval) -> str:
    """Return an interval as text; few samples have none."""
    return "-" if math.isnan(interval.low) else f"{interval.low:.1f} to {interval.high:.1f}"


def claims_table(claims: Iterable[Claim], source: str) -> str:
    """Return the claims of a source as a table in Markdown."""
    columns = (f"the {source} says", "measured as", f"{source}, %", "here, %", "95 % interval", "samples")
    found = [(claim, claim.interval) for claim in claims]
    return _markdown(
        columns,
        [(c.says, c.quantity, c.source, f"{i.mean:.1f}", _range(i), i.samples) for c, i in found],
    )


def strategies_table(results: Results) -> str:
    """Return a row per point and strategy."""
    varied = [name for name in results.point if results.runs[name].nunique() > 1]
    unit, scale = ("1000 s", 1e-3) if results.runs["makespan"].median() > LONG else ("s", 1.0)
    times = [f"{text}, {unit}" for text in TIMES.values()]
    columns = [*varied, "strategy", *times, *SHARES.values(), "above bound, %", "at the bound", "response above, %"]
    grouped = results.runs.groupby([*varied, "strategy"], sort=False)
    order = {name: number for number, name in enumerate(results.strategies)}
    groups = sorted(grouped, key=lambda item: (*_point_key(item[0][:-1], results, varied), order[item[0][-1]]))
    return _markdown(columns, [[*key, *strategy_cells(part, scale)] for key, part in groups])


def _markdown(heads: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    return markdown(Table.of(heads, lines))


def _point_key(values: Sequence[object], results: Results, varied: Sequence[str]) -> tuple[int, ...]:
    """Return where a point stands in the grid."""
    return tuple(list(results.runs[name].unique()).index(value) for name, value in zip(varied, values, strict=True))


def strategy_cells(part: pd.DataFrame, scale: float) -> Iterator[str]:
    """Yield the cells of a strategy at a point; ``scale`` is the unit of times."""
    for number, name in enumerate(TIMES):
        interval = mean_interval((scale * part[name]).tolist())
        yield with_interval(interval) if number < 2 else digits(interval.mean)
    for name in SHARES:
        yield f"{100.0 * part[name].mean():.1f}"
    yield f"{100.0 * part['above_bound'].mean():.1f}"
    yield f"{int((part['above_bound'] <= MEETS).sum())}/{len(part)}"
    yield f"{100.0 * part['response_above_bound'].mean():.0f}"


def with_interval(interval: ConfidenceInterval) -> str:
    """Return a mean and its interval."""
    if interval.samples < 2:
        return digits(interval.mean)
    return f"{digits(interval.mean)} ({digits(interval.low)} to {digits(interval.high)})"


def digits(number: float) -> str:
    """Return a number with four digits, whole from 1000 on."""
    return f"{number:.4g}" if abs(number) < 1000.0 else f"{number:.0f}"


def slots_table(results: Results) -> str:
    """Return a row per slot length: what its schedules are worth, how far they are from the bound, and solve times."""
    columns = (
        "slot, %", "slotted", "starts kept", "left-shifted", "utilization (kept), %", "response (kept), s",
        "slowdown, %", "proved", "median solve, s", "mean solve, s", "longest solve, s",
    )  # fmt: skip
    says = "Makespans in percent above the lower bound in continuous time, means over all workloads."
    is_processor = solve_column(results.slots) == "solve_cpu"
    says += (
        " Solve times are processor time." if is_processor else " Solve times are wall-clock times on a shared machine."
    )
    cells = [slot_cells(float(slot), part) for slot, part in results.slots.groupby("slot")]
    return f"{says}\n\n{_markdown(columns, cells)}"


def slot_cells(slot: float, part: pd.DataFrame) -> list[str]:
    """Return the cells of one slot length."""
    kept = part[part["starts"] == "keep"]
    found = kept["slotted_makespan"] / kept["bound"] - 1.0, kept["above_bound"]
    left = part[part["starts"] == "left"]["above_bound"]
    solve = kept[solve_column(kept)]
    above = (mean_interval((100.0 * values).groupby(part["seed"]).mean().tolist()) for values in (*found, left))
    return [
        f"{slot:g}",
        *(f"{i.mean:.1f} ({i.low:.1f} to {i.high:.1f})" for i in above),
        f"{100.0 * kept['utilization'].mean():.1f}",
        f"{kept['response_mean'].mean():.4g}",
        f"{100.0 * kept['execution_slowdown'].mean():.1f}",
        f"{int(kept['is_proven'].sum())}/{len(kept)}",
        *(f"{found:.2g}" for found in (solve.median(), solve.mean(), solve.max())),
    ]
