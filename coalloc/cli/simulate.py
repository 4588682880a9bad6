"""``coalloc simulate``: an instance or a trace over time, under a policy."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import nullcontext, redirect_stdout
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, BadParameter, Option

import coalloc
from coalloc.cli.errors import ExitCode
from coalloc.cli.inputs import SWF_SUFFIXES, read_instance
from coalloc.cli.options import OUTPUT, GanttFile, Json, Quiet, ScheduleFile
from coalloc.cli.output import Written, check_writable, note, say_fields, say_json
from coalloc.cli.pairs import parameters_of
from coalloc.cli.progress import shown_run

if TYPE_CHECKING:
    from coalloc import Instance, SimulationResult

INPUT, ENGINE = "What to run", "How it runs"
"""Panels of the help page, beside that of the files."""

File = Annotated[
    str, Argument(metavar="FILE", help="Instance file, example:NAME for a bundled one, or a trace (.swf, .swf.gz).")
]
PolicyName = Annotated[
    str,
    Option(
        "--policy",
        help="Policy; coalloc policies lists them. One of your own: module:Class.",
        rich_help_panel=INPUT,
    ),
]
Parameters = Annotated[
    list[str] | None,
    Option(
        "--parameter", "-p", metavar="KEY=VALUE", help="Option of the policy; may be repeated.", rich_help_panel=INPUT
    ),
]
Processors = Annotated[
    int | None,
    Option(min=1, metavar="N", help="A trace runs on one pool of so many processors ...", rich_help_panel=INPUT),
]
PlatformFile = Annotated[
    Path | None, Option("--platform", metavar="PLATFORM", help="... or on this platform.", rich_help_panel=INPUT)
]
Passes = Annotated[
    str,
    Option(
        help="batch: one scheduling pass per instant, after its terminations and arrivals; per-event: one after each.",
        rich_help_panel=ENGINE,
    ),
]
Kill = Annotated[bool, Option("--kill", help="Kill jobs that outlast their estimates.", rich_help_panel=ENGINE)]
RunSeed = Annotated[int, Option(min=0, help="Seed of what a policy may draw.", rich_help_panel=ENGINE)]
JobsFile = Annotated[
    Path | None, Option("--jobs", metavar="CSV", help="Table of the jobs: waits, ends, nodes.", rich_help_panel=OUTPUT)
]
TraceFile = Annotated[
    Path | None,
    Option(
        "--swf", metavar="TRACE", help="Trace of the run, waits filled in: .swf or .swf.gz.", rich_help_panel=OUTPUT
    ),
]
PowerPlot = Annotated[
    Path | None,
    Option("--power", metavar="FIGURE", help="Power over time: .png, .svg or .pdf.", rich_help_panel=OUTPUT),
]
Metered = Annotated[bool, Option("--energy", help="Meter the run: J, J s.", rich_help_panel=OUTPUT)]

EXAMPLES = """
Examples:

coalloc simulate example:thesis-oas-1 --policy easy --plot gantt.png

coalloc simulate HPC2N-2002.swf.gz --processors 240 --policy easy --jobs jobs.csv

coalloc simulate KTH-SP2.swf.gz --processors 100 --policy fcfs --passes per-event --json > run.json

coalloc simulate wl1.json --policy easy -p allocation=first-fit -p scope=cluster -o schedule.json

coalloc simulate wl1.json --policy mine:Kept -p start=7200 -p end=10800

coalloc simulate example:pcbe-8 --policy pcbe -p criterion=edp --energy --power power.png

The metrics are those of coalloc.metrics; --json shows them all. Ctrl-C says where the run was.
"""


def simulate(
    file: File,
    *,
    policy: PolicyName = "easy",
    parameter: Parameters = None,
    processors: Processors = None,
    platform: PlatformFile = None,
    passes: Passes = "batch",
    kill: Kill = False,
    seed: RunSeed = 0,
    output: ScheduleFile = None,
    jobs: JobsFile = None,
    swf: TraceFile = None,
    plot: GanttFile = None,
    power: PowerPlot = None,
    energy: Metered = False,
    json: Json = False,
    quiet: Quiet = False,
) -> ExitCode:
    """Run an instance or a trace over time under a policy, and report what came of it."""
    from coalloc.cli.own_policies import SEPARATOR, faults_of, own_policy
    from coalloc.heuristics.registry import policy_named

    if plot is not None:
        from coalloc.plot.pictures import picture_format

        picture_format(plot)
    if power is not None:
        from coalloc.plot.pictures import chart_format

        chart_format(power)
    files = {"--output": output, "--jobs": jobs, "--swf": swf, "--plot": plot, "--power": power}
    check_writable(files, inputs=(file, platform))
    options = parameters_of(parameter or [], "--parameter")
    engine: dict[str, Any] = {"passes": passes, "kill": kill, "seed": seed}
    is_own = SEPARATOR in policy
    chosen = own_policy(policy, options) if is_own else policy_named(policy, options)  # a long trace is not read first
    instance = _read(file, processors, platform, quiet)
    if energy or power is not None:
        from coalloc.instance.power import require_watts

        require_watts(instance.platform)
    blaming = faults_of(policy) if is_own else nullcontext()
    with shown_run(len(instance.jobs), quiet) as progress, redirect_stdout(sys.stderr), blaming:
        run = coalloc.simulate(instance, chosen, progress=progress, **engine)
    run = replace(run, policy=policy, options=options)
    written = _write(run, {"schedule": output, "jobs": jobs, "trace": swf, "gantt": plot, "power": power}, quiet)
    joules = _joules(run) if energy else {}
    if json:
        say_json(_document(run, engine) | ({"energy": joules} if energy else {}))
    else:
        metered = [("energy", f"{joules['total']:.6g} J, EDP {joules['edp']:.6g} J s")] if energy else []
        say_fields(run.lines() + metered + written.fields)
    written.raise_faults()
    return ExitCode.DONE


def _read(file: str, processors: int | None, platform: Path | None, quiet: bool) -> Instance:
    """Return the instance of a file, or of a trace on the platform that the options name."""
    if not file.endswith(SWF_SUFFIXES):
        if processors is not None or platform is not None:
            raise BadParameter("is for traces: an instance has its own platform", param_hint="--processors, --platform")
        return read_instance(file)
    from coalloc.workloads.swf import pool, read_swf_with_report

    if (processors is None) == (platform is None):
        raise BadParameter("a trace runs on one of --processors N and --platform FILE", param_hint="FILE")
    where = coalloc.read_platform(platform) if platform is not None else pool(processors or 1)
    instance, report = read_swf_with_report(file, where)
    if not quiet:
        note(str(report))
    return instance


def _write(run: SimulationResult, files: Mapping[str, Path | None], quiet: bool) -> Written:
    """Write the files that are asked for."""
    writers: dict[str, Callable[[Path], object]] = {
        "schedule": partial(coalloc.write_schedule, run.schedule),
        "jobs": partial(_write_jobs, run),
        "trace": partial(_write_trace, run, quiet=quiet),
        "gantt": partial(coalloc.gantt, run.instance, run.schedule),
        "power": partial(coalloc.power_plot, run.instance, run.schedule),
    }
    written = Written()
    for name, path in files.items():
        if path is not None:
            written.write(name, path, writers[name])
    return written


def _write_jobs(run: SimulationResult, path: Path) -> None:
    """Write the table of jobs as CSV."""
    from coalloc.documents.storage import write_atomically

    frame = run.to_frame()
    frame["nodes"] = frame["nodes"].map(" ".join)
    write_atomically(path, frame.to_csv(index=False))


def _write_trace(run: SimulationResult, path: Path, quiet: bool) -> None:
    """Write the run as a trace, and say what the format does not hold."""
    from coalloc.workloads.swf_writing import write_swf_with_report

    report = write_swf_with_report(run.instance, path, run.schedule)
    if not quiet:
        for sentence in report.sentences:
            note(f"{path}: {sentence}")


def _joules(run: SimulationResult) -> dict[str, float]:
    """Return what a run took: total and its parts in J, EDP in J s."""
    metered = coalloc.energy(run.instance, run.schedule)
    return {
        "total": metered.total,
        "dynamic": metered.dynamic,
        "static": metered.static,
        "idle": metered.idle,
        "edp": metered.edp,
    }


def _document(run: SimulationResult, engine: dict[str, Any]) -> dict[str, Any]:
    """Return what a run was asked for and what came of it."""
    from coalloc.result_files import instance_hash
    from coalloc.versions import versions

    return {
        "instance": run.instance.name,
        "instance_sha256": instance_hash(run.instance),
        "policy": run.policy,
        "options": dict(run.options) | engine,
        "versions": versions(),
        "metrics": dict(run.metrics),
    }
