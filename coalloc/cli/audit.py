"""``coalloc audit``: how far the schedule of a trace was from the best, with proof."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, BadParameter, Option

import coalloc
from coalloc.cli.errors import ExitCode
from coalloc.cli.inputs import ONLY_TRACES, platform_of_trace, read_fixed, read_instance, trace_format
from coalloc.cli.options import OUTPUT, Broken, Json, Quiet
from coalloc.cli.output import WrittenFiles, check_writable, note, say, say_json
from coalloc.cli.studying import policies_of
from coalloc.cli.tables import keep_rows, write_table

PERIOD, RUNNING = "Trace and period", "Bounds and searches"
"""Panels of the help page, beside that of the files."""

File = Annotated[
    str,
    Argument(
        metavar="TRACE",
        help="Trace (SWF, sacct --parsable2, flux jobs --json, also gzip), or an instance with --schedule or --policy.",
    ),
]
Processors = Annotated[
    int | None,
    Option(
        min=1,
        metavar="N",
        help="Number of processors of the platform, one cluster.",
        show_default="the number in the header",
        rich_help_panel=PERIOD,
    ),
]
PlatformFile = Annotated[
    Path | None, Option("--platform", metavar="PLATFORM", help="Platform file.", rich_help_panel=PERIOD)
]
Unit = Annotated[
    str,
    Option(metavar="UNIT", help="With sacct and Flux: a processor is one of cpus or nodes.", rich_help_panel=PERIOD),
]
Partition = Annotated[
    str | None,
    Option(
        metavar="NAME", help="With sacct and Flux: only the jobs of this partition or queue.", rich_help_panel=PERIOD
    ),
]
Audited = Annotated[
    str | None,
    Option(
        metavar="POLICY",
        help='Audit the simulated schedule of a policy ("easy candidates=spt") instead of the logged schedule.',
        show_default="the logged schedule",
        rich_help_panel=PERIOD,
    ),
]
Recorded = Annotated[
    Path | None,
    Option(
        "--schedule",
        metavar="SCHEDULE",
        help="How an instance was run: a schedule file, such as the recorded one of coalloc import.",
        rich_help_panel=PERIOD,
    ),
]
After = Annotated[
    str | None,
    Option(
        metavar="WHEN",
        help="Start of the period: a date (2026-10-01), or seconds on the clock of the trace.",
        show_default="the first arrival",
        rich_help_panel=PERIOD,
    ),
]
Before = Annotated[
    str | None,
    Option(
        metavar="WHEN",
        help="End of the period (exclusive).",
        show_default="after the last arrival",
        rich_help_panel=PERIOD,
    ),
]
Length = Annotated[
    str,
    Option(
        "--window",
        metavar="LENGTH",
        help="Length of the intervals into which the period is divided: 7d, 12h, or seconds.",
        rich_help_panel=PERIOD,
    ),
]
TimeLimit = Annotated[
    float,
    Option(
        metavar="SECONDS",
        help="Time limit for each interval; for a whole period of several intervals 20 times as long; inf for none.",
        rich_help_panel=RUNNING,
    ),
]
RunSeed = Annotated[int, Option(min=0, metavar="N", help="Random seed.", rich_help_panel=RUNNING)]
Processes = Annotated[
    int | None,
    Option(
        "--jobs",
        "-j",
        min=1,
        metavar="N",
        help="Number of processes that run in parallel.",
        show_default="the number of CPU cores",
        rich_help_panel=RUNNING,
    ),
]
Scheduler = Annotated[
    str | None,
    Option(
        metavar="ADDRESS",
        help="Process the intervals on the Dask cluster of this scheduler: tcp://host:8786.",
        rich_help_panel=RUNNING,
    ),
]
AsRan = Annotated[
    str | None,
    Option(
        "--as-ran",
        metavar="POLICY",
        help="Policy that models the site: compare its simulated starts with the recorded ones.",
        rich_help_panel=RUNNING,
    ),
]
PolicyLimit = Annotated[
    float,
    Option(metavar="SECONDS", help="Time limit for the simulation of each policy.", rich_help_panel=RUNNING),
]
Users = Annotated[
    bool,
    Option("--users", help="Name users and accounts in tables and reports; otherwise numbers.", rich_help_panel=OUTPUT),
]
Against = Annotated[
    list[str] | None,
    Option(
        metavar="POLICY",
        help="Policy to try. Repeatable.",
        show_default="27 built-in ones, then 6 or 7 like the best; with sacct and Flux also 4 settings of the site",
        rich_help_panel=RUNNING,
    ),
]
StoreFile = Annotated[
    Path | None,
    Option(
        "--store",
        metavar="STORE",
        help="Store of completed intervals; they are not repeated.",
        show_default="HTML or CSV with suffix .sqlite",
        rich_help_panel=OUTPUT,
    ),
]
Page = Annotated[
    Path | None, Option("--page", metavar="HTML", help="Report to write as one HTML page.", rich_help_panel=OUTPUT)
]
Table = Annotated[
    Path | None,
    Option("--output", "-o", metavar="CSV", help="Table to write, a row per interval.", rich_help_panel=OUTPUT),
]
Plot = Annotated[
    Path | None, Option(metavar="FIGURE", help="Plot to draw: .png, .svg or .pdf.", rich_help_panel=OUTPUT)
]

Starts = Annotated[
    Path | None,
    Option(
        metavar="CSV",
        help="Table to write: start of each job in the best known schedules.",
        rich_help_panel=OUTPUT,
    ),
]

PolicyTable = Annotated[
    Path | None,
    Option("--policies", metavar="CSV", help="Table to write: waits under each policy.", rich_help_panel=OUTPUT),
]
Groups = Annotated[
    Path | None,
    Option(
        "--groups",
        metavar="CSV",
        help="Table to write: waits by size, length and user, before and under the named policy.",
        rich_help_panel=OUTPUT,
    ),
]

EXAMPLES = """
Examples:

coalloc audit oct.txt --processors 4096 --after 2026-10-01 --page oct.html

coalloc audit HPC2N-2002.swf.gz -o hpc2n.csv --page hpc2n.html

coalloc audit KTH-SP2.swf.gz --processors 100 --as-ran easy --policies policies.csv

coalloc audit KTH-SP2.swf.gz --processors 100 --policy easy --window 1d --json

coalloc audit october.json.gz --schedule recorded.json.gz --as-ran slurm --page october.html

To resume an interrupted audit, run the same command again.
"""


def audit(
    trace: File,
    *,
    processors: Processors = None,
    platform: PlatformFile = None,
    unit: Unit = "cpus",
    partition: Partition = None,
    broken: Broken = "error",
    schedule: Recorded = None,
    policy: Audited = None,
    after: After = None,
    before: Before = None,
    window: Length = "7d",
    against: Against = None,
    as_ran: AsRan = None,
    time_limit: TimeLimit = 5.0,
    policy_limit: PolicyLimit = 300.0,
    seed: RunSeed = 0,
    jobs: Processes = None,
    scheduler: Scheduler = None,
    store: StoreFile = None,
    output: Table = None,
    page: Page = None,
    plot: Plot = None,
    policies: PolicyTable = None,
    groups: Groups = None,
    starts: Starts = None,
    users: Users = False,
    json: Json = False,
    quiet: Quiet = False,
) -> ExitCode:
    """Measure how much wait of a logged schedule was avoidable, with proved bounds, and why jobs waited."""
    from coalloc.studies.interruption import Interrupted

    if plot is not None:
        from coalloc.plot.pictures import chart_format

        chart_format(plot)
    if page is not None:
        from coalloc.system.extras import require

        require("matplotlib", "--page")
    beside = [path for path in (page, output) if path is not None and path.suffix]
    kept = store or (beside[0].with_suffix(".sqlite") if beside else None)
    files = {"--output": output, "--page": page, "--plot": plot, "--starts": starts, "--store": kept}
    files |= {"--policies": policies, "--groups": groups}
    check_writable(files, inputs=(trace, platform, schedule))
    length = window_length(window)
    asked = log_options(
        trace, processors, platform, "TRACE", quiet=quiet, unit=unit, partition=partition, broken=broken
    )
    if schedule is not None:
        if not isinstance(asked["trace"], coalloc.Instance):
            raise BadParameter("requires an instance; a trace contains its schedule", param_hint="--schedule")
        asked["schedule"] = coalloc.Schedule(read_fixed(schedule, asked["trace"]), instance=asked["trace"].name)
    if against:
        asked["policies"] = policies_of(against, "--against")
    study = partial(
        coalloc.audit,
        policy=_policy(policy),
        as_ran=_policy(as_ran, "--as-ran"),
        after=after,
        before=before,
        window=length,
        time_limit=time_limit,
        policy_limit=policy_limit,
        seed=seed,
        store=kept,
        processes=jobs,
        scheduler=scheduler,
        users=users,
        progress=None if quiet else note,
        **asked,
    )
    try:
        found = study()
    except Interrupted as interrupt:
        keep_rows(interrupt, output, json)
        return ExitCode.DONE
    if trace_format(trace) is None:
        of_audit = () if schedule is None else ("--schedule", str(schedule))
        of_audit = (*of_audit, *found.source.of_audit)
        found = replace(found, source=replace(found.source, file=trace, of_audit=of_audit))
    written = WrittenFiles()
    written.write_all(
        {
            "table": (output, partial(write_table, found.table)),
            "page": (page, found.write_page),
            "picture": (plot, found.draw),
            "policies": (policies, lambda path: write_table(found.policies, path)),
            "groups": (groups, lambda path: write_table(found.groups, path)),
            "starts": (starts, lambda path: write_table(found.starts, path)),
        }
    )
    if json:
        say_json(found.document)
    else:
        if not quiet:
            for sentence in found.account:
                note(sentence)
        say(str(found))
    written.raise_faults()
    return ExitCode.DONE


def window_length(text: str) -> float:
    """Return the length of intervals, s."""
    from coalloc.documents.wording import seconds_of

    length = seconds_of(text)
    if not length:
        raise BadParameter(f"must be a duration such as 7d, 12h or 3600, got {text!r}", param_hint="--window")
    return length


def log_options(
    trace: str,
    processors: int | None,
    platform: Path | None,
    hint: str,
    *,
    quiet: bool,
    **options: str | None,
) -> dict[str, Any]:
    """Return what a study needs to know of a trace, or of an instance; ``hint`` is the argument that names it."""
    from coalloc.documents.text import visible

    if trace_format(trace) is None:
        instance = read_instance(trace)
        if processors is not None or platform is not None:
            raise BadParameter(ONLY_TRACES, param_hint="--processors, --platform")
        return {"trace": instance}
    where, said = platform_of_trace(trace, processors, platform, hint)
    if said and not quiet:
        note(f"{visible(trace)}: {said}")
    return {"trace": trace, "platform": where, **options}


def _policy(text: str | None, option: str = "--policy") -> dict[str, Any] | None:
    """Return the policy that an option names, None where it is not given."""
    return None if text is None else policies_of([text], option)[text]
