"""``coalloc study``: what an option does to results, over many solves; here the length of the slot."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from typer import Option

import coalloc
from coalloc.cli import study_front, study_grid
from coalloc.cli.errors import ExitCode
from coalloc.cli.inputs import read_instances
from coalloc.cli.options import Json, Quiet
from coalloc.cli.output import note, say
from coalloc.cli.pairs import share
from coalloc.cli.shell import Command
from coalloc.cli.studying import Files, Plot, RunSeed, Table, Threads, TimeLimit, check_outputs
from coalloc.cli.tables import interval_note, interval_text, show_table, text_of, text_table, written_table

if TYPE_CHECKING:
    import pandas as pd

app = typer.Typer(name="study")

Fractions = Annotated[
    list[float] | None,
    Option(
        "--fraction",
        parser=share,
        metavar="SHARE",
        help="Slot length as a share of the mean reference run time: 50% or 0.5. Repeatable.",
        show_default="15, 25, 50, 100, 150, 200 and 250%",
    ),
]
Within = Annotated[
    float,
    Option(
        parser=share,
        metavar="SHARE",
        help="Tolerated mean increase of the makespan for the recommended slot length.",
        show_default="2%",
    ),
]
By = Annotated[
    Literal["replayed", "compacted"],
    Option(
        metavar="NAME",
        help="Makespan to compare, in continuous time. replayed: with the starts of the slotted schedule; "
        "compacted: with the jobs left-shifted.",
    ),
]
Continuous = Annotated[
    bool, Option("--continuous/--no-continuous", help="Solve in continuous time too, or compute a bound only.")
]
Formulation = Annotated[
    str, Option(metavar="NAME", help="Formulation of the slotted models: auto, node, count or mode.")
]

EXAMPLES = """
Examples:

coalloc study slot-size wl*.json --plot slots.png -o slots.csv

coalloc study slot-size example:thesis-oas-1 --fraction 25% --fraction 50%
"""


@app.callback(invoke_without_command=True)
def start(context: typer.Context) -> None:
    """Run parameter studies over many solves or simulations."""
    if context.invoked_subcommand is None:
        say(context.get_help())
        raise typer.Exit(ExitCode.BAD_INPUT)


@app.command("slot-size", epilog=EXAMPLES, cls=Command)
def slot_size(
    files: Files,
    *,
    fraction: Fractions = None,
    within: Within = 0.02,
    by: By = "replayed",
    continuous: Continuous = True,
    formulation: Formulation = "auto",
    time_limit: TimeLimit = 20.0,
    threads: Threads = 1,
    seed: RunSeed = 0,
    output: Table = None,
    plot: Plot = None,
    json: Json = False,
    quiet: Quiet = False,
) -> ExitCode:
    """Recommend a time slot length, and bound the error of each length against continuous time."""
    from coalloc.studies.slot_report import draw
    from coalloc.studies.slot_size import FRACTIONS

    check_outputs(output, plot, files)
    study = partial(
        coalloc.slot_study,
        read_instances(files),
        fraction or FRACTIONS,
        continuous=continuous,
        formulation=formulation,
        time_limit=time_limit,
        threads=threads,
        seed=seed,
        progress=None if quiet else note,
    )
    table = written_table(study, output, json)
    if table is None:
        return ExitCode.DONE
    if not table["slotted"].notna().any():
        note("coalloc: no schedule was found for any instance")
        return ExitCode.NOTHING
    return show_table(table, plot, json, draw, words=partial(_words, tolerated=within, by=by, seed=seed))


def _words(table: pd.DataFrame, tolerated: float, by: Literal["replayed", "compacted"], seed: int) -> str:
    """Return a row per length of the slot, and which is recommended."""
    from coalloc.documents.wording import percent_text
    from coalloc.studies.slot_report import WORDS, recommendation, summary

    found = summary(table, by, seed)
    rows = text_table(
        found.itertuples(),
        {
            "slot": lambda row: str(row.slot),
            "instances": lambda row: str(row.instances),
            "proved": lambda row: str(row.proven),
            "proved,\nrounded down": lambda row: str(row.proven_rounded_down),
            "mean loss": lambda row: text_of(row.loss_mean, percent_text),
            "95 % interval": lambda row: interval_text(row.loss_low, row.loss_high, percent_text),
            "worst loss": lambda row: text_of(row.loss_max, percent_text),
            "above\nbound": lambda row: text_of(row.above_bound_mean, percent_text),
            "band\nwidth": lambda row: text_of(row.band_width_mean, percent_text),
            "solve\ntime (s)": lambda row: text_of(row.solve_time_mean, "{:.3g}".format),
            "slots": lambda row: text_of(row.num_slots_mean),
        },
    )
    title = f"Loss of the {WORDS.get(by, by)} makespan compared with the best slot length:"
    notes = interval_note(found["loss_low"], "instances")
    return "\n".join([title, rows, *notes, "", recommendation(table, tolerated, by)])


app.command("front", epilog=study_front.EXAMPLES, cls=Command)(study_front.front)
app.command("grid", epilog=study_grid.EXAMPLES, cls=Command)(study_grid.grid)
