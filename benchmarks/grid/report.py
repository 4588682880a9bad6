"""Rerun the study of the two-level grid: its tables, its figures, and what becomes of its conclusions.

    python benchmarks/grid/report.py --traces DIR --jobs 2
    python benchmarks/grid/report.py --traces DIR --grids grid1 --speeds origin --weeks 10
    python benchmarks/grid/report.py --report

A run that was interrupted goes on where it was. --report runs nothing and makes the pages of the tables that are there.
README.md in this folder says what came out.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pandas as pd
from scenarios import ALWAYS_ON, BEST, GRIDS, SCENARIOS, SPEEDS, Scenario, run, weekly, write_table
from verdicts import CLAIMS, JOINT, Study, interval, number, signed

from coalloc.bench.tables import Table, markdown
from coalloc.documents.storage import write_atomically
from coalloc.instance import CoallocError
from coalloc.plot.pictures import write_figure
from coalloc.studies.grid_report import pictures
from coalloc.studies.interruption import Interrupted

RESULTS = Path(__file__).resolve().parent / "results"
SAYS = {
    "site": "the FLOPS of the whole machine, as published",
    "processor": "FLOPS per processor",
    "origin": "FLOPS per processor, with run times multiplied by that of the site that the job was logged on",
}
"""The meanings of speed."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the scenarios asked for, write tables, pages and pictures; return the exit code."""
    options = _parser().parse_args(arguments)
    try:
        if not options.report:
            _run(options)
        for path in write_pages(options.output):
            print(f"wrote {path}")
    except Interrupted as interrupted:
        print(f"{interrupted}; run again to go on", file=sys.stderr)
        return 130
    except CoallocError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _run(options: argparse.Namespace) -> None:
    if options.traces is None:
        raise CoallocError("--traces: the folder of the logs is needed to run anything")
    for scenario in SCENARIOS:
        if scenario.grid in options.grids and scenario.speeds in options.speeds:
            store = options.store / f"{scenario.name}.sqlite"
            table = run(scenario, options.traces, options.weeks, store, options.jobs)
            write_table(options.output / f"{scenario.name}.csv", table)
            weeks = weekly(scenario, options.traces, options.weeks)
            write_table(options.output / f"{scenario.name}-weeks.csv", weeks)


def write_pages(folder: Path) -> Iterator[Path]:
    """Write a page for each meaning of speed and the pictures of each scenario that has a table; yield their paths."""
    for speeds in SPEEDS:
        studies = [study for grid in GRIDS if (study := read(Scenario(grid, speeds), folder))]
        if not studies:
            continue
        page = folder / f"{speeds}.md"
        write_atomically(page, "\n".join(page_of(speeds, studies)) + "\n")
        yield page
        for study in studies:
            for name, figure in pictures(_drawn(study)).items():
                path = folder / f"{study.scenario.name}-{name}.png"
                write_figure(figure, path)
                yield path


def read(scenario: Scenario, folder: Path) -> Study | None:
    """Return the study of a scenario from its tables; None where it has none."""
    runs, weeks = (folder / f"{scenario.name}{suffix}.csv" for suffix in ("", "-weeks"))
    if not (runs.exists() and weeks.exists()):
        return None
    return Study(scenario, pd.read_csv(runs), pd.read_csv(weeks))


def _drawn(study: Study) -> pd.DataFrame:
    """Return the runs of which pictures are drawn: those of all strategies, and of the source's best always on."""
    return pd.concat([study.managed, study.always_on[study.always_on["strategy"] == BEST]])


# ------------------------------------------------------------------------------ pages


def page_of(speeds: str, studies: Sequence[Study]) -> Iterator[str]:
    """Yield the lines of the page of a meaning of speed."""
    rests = ", ".join(f"{study.num_weeks} weeks of {study.scenario.grid}" for study in studies)
    yield f"# The two-level grid study, speeds `{speeds}`"
    yield ""
    yield f"Speed is {SAYS[speeds]}. On {rests}."
    if studies[-1].scenario.grid == "grid2":
        yield "The logs of DAS2 are not available: the nine sites of grid2 share the jobs of the other four."
    yield "Written by `python benchmarks/grid/report.py`; [README](../README.md) says what follows."
    yield "In brackets: the middle 95 % over weeks drawn with replacement (ranks, coverages, degradations), 95 %"
    yield "intervals of means over weeks (all else). Power management is on where nothing else is said."
    if len(studies) == len(GRIDS):
        yield from ("", "## Both grids", "")
        yield "Ranks are by the mean of both grids."
        yield ""
        yield _markdown(("the source says", "source", "here"), [(c.says, c.source, c.cell(*studies)) for c in JOINT])
    for study in studies:
        yield from ("", f"## {study.scenario.grid}", "")
        lines = [(c.says, c.source, c.cell(study)) for c in CLAIMS if c.grid == study.scenario.grid]
        yield _markdown(("what", "source", "here"), lines)
        yield ""
        yield from strategies_lines(study)
        yield ""
        yield from savings_lines(study)


def strategies_lines(study: Study) -> Iterator[str]:
    """Yield the table of strategies, the best by coverage first."""
    yield "SC and its rank as in Table 10, EnEff as in Table 11 (degradation of the mean, and rank by it). *Energy*"
    yield f"*against* `{BEST}`: in the same weeks. *Above bound*: of the last end, rho - 1, and of the energy."
    yield ""
    heads = (
        "strategy", "SC", "rank", "EnEff worse, %", "rank", "rho", "mean wait, s", "SD_b", "energy, GJ",
        f"energy against `{BEST}`, %", "last end above bound, %", "energy above bound, %",
    )  # fmt: skip
    yield _markdown(heads, [_strategy_cells(study, name) for name in study.coverage.ordered()])


def _strategy_cells(study: Study, name: str) -> Iterator[str]:
    yield f"`{name}`"
    yield interval(study.coverage.of_strategy(name))
    yield _ranks(study.coverage.rank(name))
    yield interval(study.efficiency.of_strategy(name))
    yield _ranks(study.efficiency.rank(name))
    for metric in ("competitive_factor", "wait_mean", "sd_b"):
        yield f"{study.mean(metric).of_strategy(name).value:.5g}"
    yield f"{study.mean('energy').of_strategy(name).value / 1e9:.4g}"
    yield "0" if name == BEST else interval(study.mean("energy").excess(name, [BEST]))
    yield number(study.makespan_gap(name).mean)
    yield interval(study.energy_gap(name))


def savings_lines(study: Study) -> Iterator[str]:
    """Yield the table of what power management changes."""
    yield "What power management saves and adds to the other metrics, against all switched on in the same weeks:"
    yield ""
    heads = ("strategy", "energy saved, %", "rho", "mean wait, s", "SD_b")
    yield _markdown(heads, [_savings_cells(study, name) for name in ALWAYS_ON])


def _savings_cells(study: Study, name: str) -> Iterator[str]:
    yield f"`{name}`"
    yield interval(study.saving(strategy=name), 100.0)
    for metric in ("competitive_factor", "wait_mean", "sd_b"):
        yield signed(study.change(metric, strategy=name)[0])


def _ranks(found: Iterable[float]) -> str:
    value, low, high = found
    return f"{value:.0f} ({low:.0f} to {high:.0f})"


def _markdown(heads: Sequence[str], lines: Iterable[Iterable[object]]) -> str:
    return markdown(Table.of(heads, [tuple(line) for line in lines]))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=Path, help="folder of the logs that grid1.toml and grid2.toml name")
    parser.add_argument("--grids", nargs="+", choices=GRIDS, default=GRIDS, help="default: both")
    parser.add_argument("--speeds", nargs="+", choices=SPEEDS, default=SPEEDS, help="default: all meanings of speed")
    parser.add_argument("--weeks", type=int, default=30, help="so many of the 30 weeks, the first ones")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time, each in a process (default 1)")
    parser.add_argument("--report", action="store_true", help="run nothing, write pages and pictures of the tables")
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder of tables and pictures")
    parser.add_argument("--store", type=Path, default=RESULTS, help="folder in which runs are kept")
    return parser


if __name__ == "__main__":
    sys.exit(main())
