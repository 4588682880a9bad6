"""``coalloc simulate``: an instance or a trace over time, under a policy."""

from __future__ import annotations

import difflib
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from typer import Argument, BadParameter, Option

import coalloc
from coalloc.cli.errors import ExitCode
from coalloc.cli.inputs import ONLY_TRACES, platform_of_trace, read_instance, trace_format
from coalloc.cli.measuring import After, Before, Epoch, Grouped, Measuring, TimeZone, groups_text
from coalloc.cli.options import OUTPUT, Broken, GanttFile, Json, Quiet, ScheduleFile
from coalloc.cli.output import WrittenFiles, check_writable, note, say, say_fields, say_json
from coalloc.cli.pairs import parameters_of
from coalloc.cli.progress import shown_run
from coalloc.cli.tables import write_table

if TYPE_CHECKING:
    from coalloc import Instance
    from coalloc.schedule import Failure
    from coalloc.simulator.result import SimulationResult

SAMPLED = ("mtbf", "mttr", "until", "shape", "sigma", "seed")
"""Parameters of failures that are sampled."""
INPUT, ENGINE = "Policy and platform", "Simulation"
"""Panels of the help page, beside that of the files."""

File = Annotated[
    str,
    Argument(
        metavar="FILE",
        help="Instance file, example:NAME for a bundled instance, or trace (.swf, .swf.gz, sacct, flux jobs).",
    ),
]
PolicyName = Annotated[
    str,
    Option(
        "--policy",
        metavar="POLICY",
        help="Scheduling policy; coalloc policies lists them. Custom policies: module:Class.",
        rich_help_panel=INPUT,
    ),
]
Parameters = Annotated[
    list[str] | None,
    Option("--parameter", "-p", metavar="KEY=VALUE", help="Option of the policy. Repeatable.", rich_help_panel=INPUT),
]
Processors = Annotated[
    int | None,
    Option(
        min=1,
        metavar="N",
        help="Run a trace on one cluster of N identical processors.",
        show_default="the number in the header",
        rich_help_panel=INPUT,
    ),
]
PlatformFile = Annotated[
    Path | None,
    Option("--platform", metavar="PLATFORM", help="Run a trace on the platform of this file.", rich_help_panel=INPUT),
]
Passes = Annotated[
    str,
    Option(
        metavar="MODE",
        help="Scheduling passes. batch: one per point in time, after all job ends and arrivals; "
        "per-event: one after each job end and arrival.",
        rich_help_panel=ENGINE,
    ),
]
Kill = Annotated[bool, Option("--kill", help="Kill jobs that exceed their requested walltime.", rich_help_panel=ENGINE)]
FailuresOf = Annotated[
    str | None,
    Option(
        "--failures",
        metavar="CSV|KEY=VALUE,...",
        help="Failures of nodes: a table (nodes,start,end), or mtbf=S,mttr=S and also shape, sigma, until, seed.",
        show_default="none",
        rich_help_panel=ENGINE,
    ),
]
NoRequeue = Annotated[
    bool,
    Option("--no-requeue", help="Kill jobs whose nodes fail; by default they start anew.", rich_help_panel=ENGINE),
]
RunSeed = Annotated[
    int, Option(min=0, metavar="N", help="Random seed, for randomized policies.", rich_help_panel=ENGINE)
]
JobsFile = Annotated[
    Path | None,
    Option("--jobs", metavar="CSV", help="Table to write: wait, end and nodes of each job.", rich_help_panel=OUTPUT),
]
TraceFile = Annotated[
    Path | None,
    Option(
        "--swf",
        metavar="TRACE",
        help="Trace to write, with the simulated waits: .swf or .swf.gz.",
        rich_help_panel=OUTPUT,
    ),
]
PowerPlot = Annotated[
    Path | None,
    Option(
        "--power",
        metavar="FIGURE",
        help="Plot of electric power over time to draw: .png, .svg or .pdf.",
        rich_help_panel=OUTPUT,
    ),
]
SeriesFile = Annotated[
    Path | None,
    Option(
        "--series",
        metavar="CSV",
        help="Time series to write: queue, processors, links and electric power.",
        rich_help_panel=OUTPUT,
    ),
]
SeriesPlot = Annotated[
    Path | None,
    Option(
        "--series-plot",
        metavar="FIGURE",
        help="Plot of the time series to draw: .png, .svg or .pdf.",
        rich_help_panel=OUTPUT,
    ),
]
Every = Annotated[
    float | None,
    Option(
        metavar="SECONDS",
        help="Time step of the series.",
        show_default="a row for each change",
        rich_help_panel=OUTPUT,
    ),
]
GroupsFile = Annotated[
    Path | None,
    Option("--table", metavar="CSV", help="Table of the metrics by group to write.", rich_help_panel=OUTPUT),
]
Metered = Annotated[
    bool,
    Option("--energy", help="Report energy (J) and the energy-delay product (J s).", rich_help_panel=OUTPUT),
]

EXAMPLES = """
Examples:

coalloc simulate example:thesis-oas-1 --policy easy --plot gantt.png

coalloc simulate HPC2N-2002.swf.gz --processors 240 --jobs jobs.csv

coalloc simulate KTH-SP2.swf.gz --policy fcfs --passes per-event --json

coalloc simulate wl1.json -p allocation=first-fit -p scope=cluster -o s.json

coalloc simulate wl1.json --policy mine:Kept -p start=7200 -p end=10800

coalloc simulate HPC2N-2002.swf.gz -p queue_order=multifactor

coalloc simulate HPC2N-2002.swf.gz --failures mtbf=2592000,mttr=14400

coalloc simulate HPC2N-2002.swf.gz --after 2592000 --by user --table users.csv

coalloc simulate example:pcbe-8 --policy pcbe --energy --power power.png

docs/metrics.md defines the metrics; --json prints all of them.
"""


def simulate(
    file: File,
    *,
    policy: PolicyName = "easy",
    parameter: Parameters = None,
    processors: Processors = None,
    platform: PlatformFile = None,
    broken: Broken = "error",
    passes: Passes = "batch",
    kill: Kill = False,
    failures: FailuresOf = None,
    no_requeue: NoRequeue = False,
    seed: RunSeed = 0,
    output: ScheduleFile = None,
    jobs: JobsFile = None,
    swf: TraceFile = None,
    plot: GanttFile = None,
    power: PowerPlot = None,
    energy: Metered = False,
    series: SeriesFile = None,
    series_plot: SeriesPlot = None,
    every: Every = None,
    after: After = None,
    before: Before = None,
    by: Grouped = None,
    epoch: Epoch = None,
    time_zone: TimeZone = None,
    table: GroupsFile = None,
    json: Json = False,
    quiet: Quiet = False,
) -> ExitCode:
    """Simulate an instance or a trace under a scheduling policy and report metrics."""
    from coalloc.cli.own_classes import SEPARATOR, faults_of, faults_of_orders, own_policy, with_own_orders
    from coalloc.heuristics.registry import policy_named

    if plot is not None:
        from coalloc.plot.pictures import picture_format

        picture_format(plot)
    for chart in (power, series_plot):
        if chart is not None:
            from coalloc.plot.pictures import chart_format

            chart_format(chart)
    files = {"--output": output, "--jobs": jobs, "--swf": swf, "--plot": plot, "--power": power}
    tables = {"--series": series, "--series-plot": series_plot, "--table": table}
    check_writable(files | tables, inputs=(file, platform))
    measuring = Measuring(after, before, by, epoch, time_zone)
    measuring.check(has_table=table is not None)
    if no_requeue and failures is None:
        raise BadParameter("requires --failures", param_hint="--no-requeue")
    _check_every(every, has_series=series is not None or series_plot is not None)
    options = parameters_of(parameter or [], "--parameter")
    engine: dict[str, Any] = {"passes": passes, "kill": kill, "seed": seed}
    _check_one(policy)
    is_own = SEPARATOR in policy
    made = options if is_own else with_own_orders(options)
    named = own_policy(policy, options) if is_own else policy_named(policy, made)  # a long trace is not read first
    instance = _read(file, processors, platform, broken, quiet)
    if energy or power is not None:
        from coalloc.instance.power import require_metered

        require_metered(instance.platform)
    measuring.check_window(instance)
    interrupting: dict[str, Any] = {"requeue": not no_requeue} if failures else {}
    failing = _failures(failures, instance) if failures else ()
    blaming, orders = faults_of(policy, type(named)), faults_of_orders(options, made)
    with shown_run(len(instance.jobs), quiet) as progress, redirect_stdout(sys.stderr), blaming, orders:
        if is_own:
            run = coalloc.simulate(instance, named, progress=progress, failures=failing, **engine, **interrupting)
        else:
            run = coalloc.simulate(  # messages say its name
                instance, policy, progress=progress, failures=failing, **engine, **interrupting, **made
            )
    run = replace(run, policy=policy, options=options)
    measured = measuring.of(run)
    paths = {"schedule": output, "jobs": jobs, "trace": swf, "gantt": plot, "power": power}
    paths |= {"series": series, "series-plot": series_plot, "groups": table}
    written = _write(paths, _writers(run, quiet, every) | {"groups": measured.write_groups})
    joules = _joules(run) if energy else {}
    if json:
        say_json(
            _document(run, engine | ({"failures": failures} | interrupting if failures else {}))
            | measured.document()
            | ({"energy": joules} if energy else {})
        )
    else:
        metered = [("energy", f"{joules['total']:.6g} J, EDP {joules['edp']:.6g} J s")] if energy else []
        say_fields(run.lines() + metered + measured.lines() + written.fields)
        if measured.groups is not None:
            say(groups_text(measured.groups))
    written.raise_faults()
    return ExitCode.DONE


def _read(
    file: str, processors: int | None, platform: Path | None, broken: Literal["error", "drop"], quiet: bool
) -> Instance:
    """Return the instance of a file, or of a trace on the platform that the options name."""
    if trace_format(file) is None:
        if processors is not None or platform is not None:
            raise BadParameter(ONLY_TRACES, param_hint="--processors, --platform")
        return read_instance(file)
    from coalloc.documents.text import visible
    from coalloc.workloads.logs import read_log

    where, said = platform_of_trace(file, processors, platform, "FILE")
    log = read_log(file, where, broken=broken)
    if not quiet:
        for sentence in filter(None, [said, *log.account]):
            note(f"{visible(file)}: {sentence}")
    return log.instance


def _failures(text: str, instance: Instance) -> Sequence[Failure]:
    """Return the failures of a table, or those that parameters describe, up to about the end of the run."""
    if "=" not in text:
        return coalloc.io.read_failures(text)
    parameters = parameters_of(text.split(","), "--failures")
    lacking = [name for name in ("mtbf", "mttr") if name not in parameters]
    unknown = [name for name in parameters if name not in SAMPLED]
    if lacking or unknown:
        said = f"requires {lacking[0]}" if lacking else f"has no parameter {unknown[0]}; its parameters: "
        raise BadParameter(said + ("" if lacking else ", ".join(SAMPLED)), param_hint="--failures")
    work = sum(job.tasks * job.base_time for job in instance.jobs) / instance.platform.num_processors
    last = max((job.arrival for job in instance.jobs), default=0.0) + work
    return coalloc.io.sample_failures(instance.platform, **{"until": last, **parameters})


def _check_one(policy: str) -> None:
    """Raise where several policies stand in place of one, such as ``easy,mesd``."""
    from coalloc.documents.text import quoted, visible
    from coalloc.heuristics.registry import POLICIES

    names = [name for name in policy.split(",") if name]
    if "," in policy and any(name in POLICIES for name in names):
        near = (difflib.get_close_matches(name, POLICIES, 1) or [visible(name)] for name in names)
        several = " ".join(f"--policy {found[0]}" for found in near)
        sentence = f"must be one policy, got {quoted(policy)}; to compare several use coalloc compare {several}"
        raise BadParameter(sentence, param_hint="--policy")


def _check_every(every: float | None, has_series: bool) -> None:
    """Raise where the length of steps is not above 0, or nothing has steps."""
    if every is None:
        return
    if not has_series:
        raise BadParameter("requires --series or --series-plot", param_hint="--every")
    if not every > 0.0:
        raise BadParameter(f"must be above 0 s, got {every:g}", param_hint="--every")


Writer = Callable[[Path], object]


def _writers(run: SimulationResult, quiet: bool, every: float | None) -> dict[str, Writer]:
    """Return what writes each of the files that may be asked for."""
    return {
        "schedule": partial(coalloc.write_schedule, run.schedule),
        "jobs": partial(_write_jobs, run),
        "trace": partial(_write_trace, run, quiet=quiet),
        "gantt": partial(coalloc.gantt, run.instance, run.schedule, title=f"{run.instance.name} under {run.policy}"),
        "power": partial(coalloc.plot.power_plot, run.instance, run.schedule, power_management=run.power_management),
        "series": lambda path: write_table(run.series(every), path),
        "series-plot": partial(
            coalloc.plot.series_plot, run.instance, run.schedule, every=every, power_management=run.power_management
        ),
    }


def _write(files: Mapping[str, Path | None], writers: Mapping[str, Writer]) -> WrittenFiles:
    """Write the files that are asked for."""
    written = WrittenFiles()
    for name, path in files.items():
        if path is not None:
            written.write(name, path, writers[name])
    return written


def _write_jobs(run: SimulationResult, path: Path) -> None:
    """Write the table of jobs as CSV."""
    frame = run.to_frame()
    frame["nodes"] = frame["nodes"].map(lambda nodes: " ".join(nodes.texts))
    write_table(frame, path)


def _write_trace(run: SimulationResult, path: Path, quiet: bool) -> None:
    """Write the run as a trace, and say what the format does not hold."""
    from coalloc.workloads.swf_writing import write_swf_with_report

    report = write_swf_with_report(run.instance, path, run.schedule)
    if not quiet:
        for sentence in report.sentences:
            note(f"{path}: {sentence}")


def _joules(run: SimulationResult) -> dict[str, float]:
    """Return what a run took: total and its parts in J, EDP in J s."""
    metered = coalloc.energy(run.instance, run.schedule, power_management=run.power_management)
    of_kind = {"dynamic": metered.dynamic, "static": metered.static, "idle": metered.idle}
    return {"total": metered.total, **of_kind, **metered.parts, "edp": metered.edp}


def _document(run: SimulationResult, engine: dict[str, Any]) -> dict[str, Any]:
    """Return what a run was asked for and what came of it."""
    from coalloc.instance.files import instance_hash
    from coalloc.system.versions import versions

    return {
        "instance": run.instance.name,
        "instance_sha256": instance_hash(run.instance),
        "policy": run.policy,
        "options": dict(run.options) | engine,
        "versions": versions(),
        "metrics": dict(run.metrics),
    }
