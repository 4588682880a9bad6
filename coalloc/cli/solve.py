"""``coalloc solve``: one instance, exactly."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, BadParameter, Option

import coalloc
from coalloc.cli.errors import ExitCode
from coalloc.cli.inputs import read_fixed, read_instance, read_schedule, slot_of
from coalloc.cli.options import OUTPUT, GanttFile, Json, Quiet, ScheduleFile, no_picture
from coalloc.cli.output import check_writable
from coalloc.cli.pairs import share
from coalloc.cli.solving import ResultFiles, run_solve, show_result

MODEL, LIMITS = "What to solve", "How long, and with what"
"""Panels of the help page, beside that of the files."""

File = Annotated[str, Argument(metavar="FILE", help="Instance file, or example:NAME for a bundled one.")]
Model = Annotated[
    str,
    Option(help="oas: order and allocate; pas, cbs, jpr: allocate all jobs as one package.", rich_help_panel=MODEL),
]
Formulation = Annotated[
    str,
    Option(help="auto; or oas: node, count, mode; pas: node, mode.", rich_help_panel=MODEL),
]
Objective = Annotated[
    str | None,
    Option(
        help="oas: makespan, total-response-time, total-weighted-response-time, mean-wait, mean-bounded-slowdown, "
        "weighted-tardiness, maximum-lateness, energy, edp; several in order of priority with commas between them "
        "(makespan,total-response-time); the others have one each.",
        show_default="what the model is for",
        rich_help_panel=MODEL,
    ),
]
Slot = Annotated[
    str | None,
    Option(
        metavar="SLOT",
        help="Length of a slot in seconds, or like 50% of the mean base time.",
        show_default="continuous time",
        rich_help_panel=MODEL,
    ),
]
Links = Annotated[
    str, Option(help="strict: links may not saturate; shared (pas): they may, and slow jobs.", rich_help_panel=MODEL)
]
Saturation = Annotated[
    float,
    Option(
        parser=share,
        metavar="SHARE",
        help="Tolerated share above the links' bandwidth: 5%, or 0.05.",
        rich_help_panel=MODEL,
    ),
]
Within = Annotated[
    str,
    Option("--scope", help="Where the tasks of a job may be: platform, cluster or node (oas).", rich_help_panel=MODEL),
]
MakespanLimit = Annotated[
    float | None,
    Option(
        metavar="SECONDS",
        help="The schedule must end within it (oas: energy, edp, makespan).",
        show_default="none",
        rich_help_panel=MODEL,
    ),
]
TimeLimit = Annotated[float, Option(help="Seconds, building included; inf for no limit.", rich_help_panel=LIMITS)]
WorkLimit = Annotated[
    int | None,
    Option(
        metavar="NODES",
        help="Branch-and-bound nodes: a limit that repeats exactly.",
        show_default="none",
        rich_help_panel=LIMITS,
    ),
]
Gap = Annotated[
    float,
    Option(parser=share, metavar="SHARE", help="Stop at this relative gap: 1%, or 0.01.", rich_help_panel=LIMITS),
]
SolverSeed = Annotated[int, Option(help="Seed of the solver.", rich_help_panel=LIMITS)]
Threads = Annotated[int, Option(help="Threads of the solver.", rich_help_panel=LIMITS)]
Solver = Annotated[
    str, Option(help="highs, or a MIP solver that Pyomo finds: cbc, glpk, gurobi, ...", rich_help_panel=LIMITS)
]
StartFile = Annotated[
    Path | None,
    Option(
        metavar="SCHEDULE", help="A valid schedule, of some of the jobs or all, to start from.", rich_help_panel=LIMITS
    ),
]
FixedFile = Annotated[
    Path | None,
    Option(
        "--fixed",
        metavar="SCHEDULE",
        help="Placements of some jobs that are kept as they are (oas).",
        rich_help_panel=MODEL,
    ),
]
ResultFile = Annotated[
    Path | None,
    Option(
        metavar="RESULT",
        help="Result file: status, bound, trace, options, versions, schedule.",
        rich_help_panel=OUTPUT,
        callback=no_picture,
    ),
]
ModelFile = Annotated[
    Path | None,
    Option(metavar="MODEL", help="The model, before it is solved: .lp or .mps.", rich_help_panel=OUTPUT),
]

ProgressFile = Annotated[
    Path | None,
    Option(metavar="FIGURE", help="Best schedule and bound over time: .png, .svg or .pdf.", rich_help_panel=OUTPUT),
]

EXAMPLES = """
Examples:

coalloc solve wl1.json --slot 50% -o schedule.json --plot gantt.html

coalloc solve example:thesis-oas-1 --slot 25% --time-limit 120 --result r.json

coalloc solve package.json --model pas --links shared --json > result.json

coalloc solve wl1.json --slot 50% --formulation node --write-model wl1.lp

coalloc solve pcbe.json --objective energy --scope node --makespan-limit 12

Ctrl-C, or SIGTERM of a batch system, stops the solver and keeps the best schedule and bound known;
a second one changes nothing of that.

Exit code: 0 there is a schedule, 1 there is none or none was found.
"""


def solve(
    file: File,
    *,
    model: Model = "oas",
    formulation: Formulation = "auto",
    objective: Objective = None,
    slot: Slot = None,
    links: Links = "strict",
    saturation: Saturation = 0.0,
    scope: Within = "platform",
    makespan_limit: MakespanLimit = None,
    fixed: FixedFile = None,
    time_limit: TimeLimit = 60.0,
    work_limit: WorkLimit = None,
    gap: Gap = 0.0,
    seed: SolverSeed = 0,
    threads: Threads = 1,
    solver: Solver = "highs",
    start: StartFile = None,
    output: ScheduleFile = None,
    result: ResultFile = None,
    plot: GanttFile = None,
    progress_plot: ProgressFile = None,
    write_model: ModelFile = None,
    json: Json = False,
    quiet: Quiet = False,
) -> ExitCode:
    """Solve one instance: a schedule and a proof, or the best schedule and bound that the limits allow."""
    files = ResultFiles(output, result, () if plot is None else (plot,), write_model, progress_plot)
    _check_outputs(files, inputs=(file, start, fixed))
    _check_formulation(model, formulation, slot)
    instance = read_instance(file)
    modelled: dict[str, Any] = {
        "model": model,
        "formulation": formulation,
        "objective": tuple(objective.split(",")) if objective and "," in objective else objective,
        "slot": slot_of(slot),
        "links": links,
        "saturation": saturation,
        "scope": scope,
        "makespan_limit": makespan_limit,
        "fixed": read_fixed(fixed, instance),
    }
    limited = {
        "time_limit": time_limit,
        "work_limit": work_limit,
        "gap": gap,
        "seed": seed,
        "threads": threads,
        "solver": solver,
        "start": None if start is None else read_schedule(start),
    }
    if write_model is not None:
        _write_model(instance, modelled, write_model)
    return show_result(instance, run_solve(instance, modelled | limited, quiet), files, json)


def _check_formulation(model: str, formulation: str, slot: str | None) -> None:
    """Raise where a formulation is asked for that needs slots, and there are none."""
    from coalloc.models.registry import FORMULATIONS

    if slot is None and model == "oas" and formulation in FORMULATIONS["oas"]:
        raise BadParameter(
            f"{formulation} needs slots, such as --slot 50%; without there is auto alone",
            param_hint="--formulation",
        )


def _check_outputs(files: ResultFiles, inputs: tuple[str | Path | None, ...]) -> None:
    """Raise where a file could not be written after the work is done."""
    if files.plots or files.progress is not None:
        from coalloc.plot.pictures import chart_format, picture_format

        for plot in files.plots:
            picture_format(plot)
        if files.progress is not None:
            chart_format(files.progress)
    if files.model is not None:
        from coalloc.cli.model_files import model_format

        model_format(files.model)
    named = {"--output": files.schedule, "--result": files.result, "--plot": next(iter(files.plots), None)}
    check_writable(named | {"--progress-plot": files.progress, "--write-model": files.model}, inputs)


def _write_model(instance: coalloc.Instance, options: dict[str, Any], path: Path) -> None:
    """Write the model that is about to be solved."""
    from coalloc.cli.model_files import write_model

    with redirect_stdout(sys.stderr):
        write_model(coalloc.build_model(instance, **options), path)
