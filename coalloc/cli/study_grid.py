"""``coalloc study grid``: strategies of a broker over weeks of a grid."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Argument, BadParameter, Option

import coalloc
from coalloc.cli.errors import ExitCode
from coalloc.cli.inputs import read_instances
from coalloc.cli.options import Json, Quiet
from coalloc.cli.output import check_writable, note
from coalloc.cli.studying import RunSeed, Table
from coalloc.cli.tables import interval_note, interval_text, show_table, text_of, text_table, written_table

if TYPE_CHECKING:
    import pandas as pd

Weeks = Annotated[
    list[str], Argument(metavar="WEEK", help="Instance files of one platform, as written by coalloc merge.")
]
Strategies = Annotated[
    list[str] | None,
    Option("--strategy", metavar="STRATEGY", help="Broker strategy. Repeatable.", show_default="all 31"),
]
AlwaysOn = Annotated[
    list[str] | None,
    Option(
        metavar="STRATEGY",
        help="Strategy to run also without power management. Repeatable.",
        show_default="the best by set coverage",
    ),
]
Local = Annotated[
    Literal["easy", "fcfs", "conservative"],
    Option(metavar="POLICY", help="Local scheduler of every site: easy, fcfs or conservative."),
]
Working = Annotated[
    Literal["total", "extra"],
    Option(
        metavar="NAME",
        help="Meaning of working watts. total: all that a busy core draws; extra: in addition to its idle watts.",
    ),
]
StoreFile = Annotated[
    Path | None,
    Option(
        "--store",
        metavar="STORE",
        help="Store of completed runs; they are not repeated.",
        show_default="CSV with suffix .sqlite",
    ),
]
Processes = Annotated[int, Option("--jobs", "-j", min=1, metavar="N", help="Number of parallel runs.")]
TimeLimit = Annotated[float, Option(metavar="SECONDS", help="Time limit of each run; inf for none.")]
PlotFolder = Annotated[
    Path | None, Option("--plot", metavar="FOLDER", help="Folder for plots and the table by strategy.")
]

EXAMPLES = """
Examples:

coalloc study grid grid1/week-*.json.gz -o table.csv --plot figures --jobs 2

coalloc study grid grid1/week-0*.json.gz --strategy MaxAR_v --strategy MST_v

To resume an interrupted study, run the same command again.
"""


def grid(
    weeks: Weeks,
    *,
    strategy: Strategies = None,
    always_on: AlwaysOn = None,
    local: Local = "easy",
    working: Working = "total",
    store: StoreFile = None,
    jobs: Processes = 1,
    time_limit: TimeLimit = 3600.0,
    seed: RunSeed = 0,
    output: Table = None,
    plot: PlotFolder = None,
    json: Json = False,
    quiet: Quiet = False,
) -> ExitCode:
    """Compare broker strategies over weeks of a grid; rank them by all metrics and by energy efficiency."""
    from coalloc.studies.grid_report import draw

    if plot is not None:
        from coalloc.system.extras import require

        require("matplotlib", "--plot")
        if plot.exists() and not plot.is_dir():
            raise BadParameter(f"must be a folder, got the file {plot}", param_hint="--plot")
    kept = store or (None if output is None else output.with_suffix(".sqlite"))
    check_writable({"--output": output, "--store": kept}, inputs=weeks)
    study = partial(
        coalloc.studies.grid_study,
        read_instances(weeks),
        strategy,
        always_on=always_on,
        local=local,
        working=working,
        seed=seed,
        store=kept,
        processes=jobs,
        time_limit=time_limit,
        progress=None if quiet else note,
    )
    table = written_table(study, output, json)
    if table is None:
        return ExitCode.DONE
    return show_table(table, plot, json, draw, words=_words)


def _words(table: pd.DataFrame) -> str:
    """Return a row per strategy, and what power management changes."""
    from coalloc.documents.wording import percent_text
    from coalloc.measures.grid import GRID_METRICS
    from coalloc.studies.grid_report import savings, summary

    six = "{:.6g}".format
    ranked = text_table(
        summary(table).itertuples(),
        {
            "strategy": lambda row: str(row.Index),
            "rank": lambda row: str(row.rank),
            "set\ncoverage": lambda row: text_of(row.coverage, percent_text),
            "competitive\nfactor": lambda row: text_of(row.competitive_factor, six),
            "mean\nwait (s)": lambda row: text_of(row.wait_mean, six),
            "bounded\nslowdown": lambda row: text_of(row.sd_b, six),
            "energy\n(J)": lambda row: text_of(row.energy, six),
            "efficiency\n(processor s/J)": lambda row: text_of(row.energy_efficiency, six),
            "jobs that\nwait": lambda row: text_of(row.waited_share, percent_text),
            "efficiency\nloss": lambda row: text_of(row.degradation / 100.0, percent_text),
            "efficiency\nrank": lambda row: str(row.rank_efficiency),
        },
    )
    saved = savings(table)
    if not len(saved):
        return ranked
    changes = text_table(
        saved.itertuples(),
        {
            "strategy": lambda row: str(row.strategy),
            "metric": lambda row: str(row.metric),
            "unit": lambda row: GRID_METRICS[row.metric].unit,
            "mean change": lambda row: text_of(row.mean, six),
            "95 % interval": lambda row: interval_text(row.low, row.high, six),
            "relative": lambda row: text_of(row.share, partial(percent_text, sign="+")),
            "weeks": lambda row: str(row.weeks),
        },
    )
    title = "Change by power management, compared with all clusters always on:"
    return "\n".join([ranked, "", title, changes, *interval_note(saved["low"], "weeks")])
