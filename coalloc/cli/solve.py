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
from coalloc.objectives import OBJECTIVES

MODEL, LIMITS = "Model", "Solver and limits"
"""Panels of the help page, beside that of the files."""

File = Annotated[str, Argument(metavar="FILE", help="Instance file, or example:NAME for a bundled instance.")]
Model = Annotated[
    str,
    Option(
        metavar="MODEL",
        help="oas: order and allocate the jobs. pas, cbs, jpr: allocate all jobs as one package that starts together.",
        rich_help_panel=MODEL,
    ),
]
Formulation = Annotated[
    str,
    Option(
        metavar="NAME",
        help="Formulation of the model. auto: portfolio of bounds, searches and models. "
        "With oas also node, count, mode; with pas node, mode.",
        rich_help_panel=MODEL,
    ),
]
Objective = Annotated[
    str | None,
    Option(
        metavar="NAME",
        help=f"Objective to minimize. With oas one of {', '.join(OBJECTIVES.builtin)}, or of a plugin; "
        "for lexicographic optimization several, separated by commas "
        "(makespan,total-response-time). Custom objectives: module:Class, with options in quotes "
        '("mine:Late by=60"). Each other model has a single objective.',
        show_default="the objective of the model",
        rich_help_panel=MODEL,
    ),
]
Constraints = Annotated[
    list[str] | None,
    Option(
        "--constraint",
        metavar="CLASS",
        help='Custom constraint (oas): module:Class, with options in quotes ("mine:Apart gap=60"). Repeatable.',
        show_default="none",
        rich_help_panel=MODEL,
    ),
]
Slot = Annotated[
    str | None,
    Option(
        metavar="SLOT",
        help="Length of a time slot: seconds, or a percentage of the mean reference run time (50%).",
        show_default="continuous time",
        rich_help_panel=MODEL,
    ),
]
Links = Annotated[
    str,
    Option(
        metavar="RULE",
        help="strict: link capacities are hard constraints. shared (pas): saturated links slow jobs down.",
        rich_help_panel=MODEL,
    ),
]
Saturation = Annotated[
    float,
    Option(
        parser=share,
        metavar="SHARE",
        help="Tolerated load above the bandwidth of a link: 5% or 0.05.",
        rich_help_panel=MODEL,
    ),
]
Within = Annotated[
    str,
    Option(
        "--scope",
        metavar="SCOPE",
        help="Where the tasks of one job may run (oas). platform: on several clusters (co-allocation); "
        "cluster: on one cluster; node: on one node.",
        rich_help_panel=MODEL,
    ),
]
MakespanLimit = Annotated[
    float | None,
    Option(
        metavar="SECONDS",
        help="Maximum makespan (oas, with objective energy, edp or makespan).",
        show_default="none",
        rich_help_panel=MODEL,
    ),
]
TimeLimit = Annotated[
    float,
    Option(
        metavar="SECONDS",
        help="Time limit, including the time to build models; inf for none.",
        rich_help_panel=LIMITS,
    ),
]
WorkLimit = Annotated[
    int | None,
    Option(
        metavar="NODES",
        help="Maximum number of branch-and-bound nodes; unlike a time limit, it gives reproducible results.",
        show_default="none",
        rich_help_panel=LIMITS,
    ),
]
Gap = Annotated[
    float,
    Option(
        parser=share,
        metavar="SHARE",
        help="Stop at this relative optimality gap: 1% or 0.01.",
        rich_help_panel=LIMITS,
    ),
]
SolverSeed = Annotated[int, Option(metavar="N", help="Random seed.", rich_help_panel=LIMITS)]
Threads = Annotated[int, Option(metavar="N", help="Number of CPU cores.", rich_help_panel=LIMITS)]
Solver = Annotated[
    str,
    Option(
        metavar="NAME",
        help="MIP solver: highs, or another one; coalloc solvers lists them.",
        rich_help_panel=LIMITS,
    ),
]
Methods = Annotated[
    list[str] | None,
    Option(
        "--method",
        metavar="NAME",
        help="Method of the portfolio that may run; repeat for several. Simple bounds and the first list schedule "
        "always run.",
        show_default="all",
        rich_help_panel=LIMITS,
    ),
]
Without = Annotated[
    list[str] | None,
    Option(
        metavar="NAME",
        help="Method of the portfolio to leave out; repeat for several.",
        show_default="none",
        rich_help_panel=LIMITS,
    ),
]
StartFile = Annotated[
    Path | None,
    Option(
        metavar="SCHEDULE",
        help="Warm start: schedule (or result) file with a valid schedule of some or all jobs.",
        rich_help_panel=LIMITS,
    ),
]
FixedFile = Annotated[
    Path | None,
    Option(
        "--fixed",
        metavar="SCHEDULE",
        help="Fixed assignments: schedule (or result) file with placements to keep (oas).",
        rich_help_panel=MODEL,
    ),
]
ResultFile = Annotated[
    Path | None,
    Option(
        metavar="RESULT",
        help="Result file to write: status, bound, trace, options, versions and schedule.",
        rich_help_panel=OUTPUT,
        callback=no_picture,
    ),
]
CertificateFile = Annotated[
    Path | None,
    Option(
        metavar="FILE",
        help="Certificate file to write: a proof of optimality that coalloc verify has accepted, .json or .json.gz.",
        rich_help_panel=OUTPUT,
    ),
]
ModelFile = Annotated[
    Path | None,
    Option(metavar="MODEL", help="Model file to write before the solve: .lp or .mps.", rich_help_panel=OUTPUT),
]

Verbose = Annotated[
    bool,
    Option("--verbose", help="Print also what each method of the portfolio took and found.", rich_help_panel=OUTPUT),
]
ProgressFile = Annotated[
    Path | None,
    Option(
        metavar="FIGURE",
        help="Plot of incumbent and lower bound over time to draw: .png, .svg or .pdf.",
        rich_help_panel=OUTPUT,
    ),
]

EXAMPLES = """
Examples:

coalloc solve wl1.json --slot 50% -o schedule.json --plot gantt.html

coalloc solve example:thesis-oas-1 --slot 25% --time-limit 120 --result r.json

coalloc solve package.json --model pas --links shared --json > result.json

coalloc solve wl1.json --slot 50% --formulation node --write-model wl1.lp

coalloc solve pcbe.json --objective energy --scope node --makespan-limit 12

Ctrl-C, or SIGTERM from a batch system, stops the solver and keeps the incumbent and the lower bound.

Exit codes: 0 a schedule is found; 1 infeasible, or no schedule found; 2 invalid input or usage.
"""


def solve(
    file: File,
    *,
    model: Model = "oas",
    formulation: Formulation = "auto",
    objective: Objective = None,
    constraint: Constraints = None,
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
    methods: Methods = None,
    without: Without = None,
    start: StartFile = None,
    output: ScheduleFile = None,
    result: ResultFile = None,
    certificate: CertificateFile = None,
    plot: GanttFile = None,
    progress_plot: ProgressFile = None,
    write_model: ModelFile = None,
    json: Json = False,
    verbose: Verbose = False,
    quiet: Quiet = False,
) -> ExitCode:
    """Solve an instance: find a schedule and a lower bound, and prove optimality if the limits allow."""
    from coalloc.cli.own_classes import faults_of_all, objectives_of, own_constraint

    files = ResultFiles(output, result, () if plot is None else (plot,), write_model, progress_plot, certificate)
    _check_outputs(files, inputs=(file, start, fixed))
    _check_formulation(model, formulation, slot)
    asked = None if objective is None else objectives_of(objective)
    constraints = tuple(map(own_constraint, constraint or ()))
    instance = read_instance(file)
    modelled: dict[str, Any] = {
        "model": model,
        "formulation": formulation,
        "objective": asked,
        "constraints": constraints,
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
        "methods": methods or (),
        "without": without or (),
        "start": None if start is None else read_schedule(start),
    }
    with faults_of_all([*(asked if isinstance(asked, tuple) else [asked]), *constraints]):
        if write_model is not None:
            _write_model(instance, modelled, write_model)
        solved = run_solve(instance, modelled | limited, quiet)
    return show_result(instance, solved, files, json, verbose)


def _check_formulation(model: str, formulation: str, slot: str | None) -> None:
    """Raise where a formulation is asked for that needs slots, and there are none."""
    from coalloc.models.registry import FORMULATIONS

    if slot is None and model == "oas" and formulation in FORMULATIONS["oas"]:
        raise BadParameter(
            f"{formulation} requires time slots, such as --slot 50%; in continuous time use auto",
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
    check_writable(
        named | {"--progress-plot": files.progress, "--write-model": files.model, "--certificate": files.certificate},
        inputs,
    )


def _write_model(instance: coalloc.Instance, options: dict[str, Any], path: Path) -> None:
    """Write the model that is about to be solved."""
    from coalloc.cli.model_files import write_model

    with redirect_stdout(sys.stderr):
        write_model(coalloc.build_model(instance, **options), path)
