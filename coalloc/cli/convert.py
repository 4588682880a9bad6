"""``coalloc convert``: from traces to instances, and from instances to traces."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, BadParameter, Option

import coalloc
from coalloc.cli.errors import ExitCode
from coalloc.cli.inputs import platform_of_trace, read_instance, read_schedule
from coalloc.cli.instance_output import write_or_say_instance
from coalloc.cli.options import Output, Quiet
from coalloc.cli.output import check_writable, note, say

if TYPE_CHECKING:
    from coalloc import Instance
    from coalloc.workloads.swf_writing import Known

SOURCES, TARGETS = ("instance", "swf", "sacct", "irmasim"), ("instance", "swf")
"""What can be converted, from and to."""

READING, WRITING = "From a trace", "To a trace"
"""Panels of the help page."""

File = Annotated[
    str,
    Argument(
        metavar="FILE",
        help="Trace (SWF, sacct; may be gzip); workload file of IRMaSim; or instance file, or example:NAME.",
    ),
]
Source = Annotated[str, Option("--from", metavar="FORMAT", help="Format of FILE: swf, sacct, irmasim or instance.")]
Target = Annotated[str, Option("--to", metavar="FORMAT", help="Format to write: instance or swf.")]
PlatformFile = Annotated[
    Path | None,
    Option(
        "--platform",
        metavar="PLATFORM",
        help="Platform file (or instance file) to run the jobs on; with --from irmasim a platform file of IRMaSim.",
        rich_help_panel=READING,
    ),
]
Processors = Annotated[
    int | None,
    Option(
        metavar="N",
        min=1,
        help="One pool of N nodes of power 1; else as the header of a trace says.",
        rich_help_panel=READING,
    ),
]
Slice = Annotated[
    str | None,
    Option(
        metavar="FROM:TO",
        help="Positions among the valid jobs, counted from 0, the last excluded; arrivals then begin at 0.",
        show_default="all jobs",
        rich_help_panel=READING,
    ),
]
Seed = Annotated[
    int, Option(help="Seed of what traces do not say: processing share and bandwidth.", rich_help_panel=READING)
]
Communication = Annotated[
    str | None,
    Option(
        help="seeded: drawn for each job; none: all jobs only process.",
        show_default="seeded; none where a trace is written",
        rich_help_panel=READING,
    ),
]
Invalid = Annotated[
    str, Option(help="Jobs without run time or processors: drop, or one-second.", rich_help_panel=READING)
]
Oversize = Annotated[str, Option(help="Jobs larger than the platform: drop, or clip.", rich_help_panel=READING)]
Broken = Annotated[str, Option(help="Lines that are not 18 numbers: error, or drop.", rich_help_panel=READING)]
Name = Annotated[
    str | None,
    Option(help="Name of the instance.", show_default="that of the file, and the slice", rich_help_panel=READING),
]
ScheduleFile = Annotated[
    Path | None,
    Option(
        "--schedule",
        metavar="SCHEDULE",
        help="Schedule (or result) file of the instance: waits, run times and status are filled in.",
        rich_help_panel=WRITING,
    ),
]

EXAMPLES = """
Examples:

coalloc convert --from swf KTH-SP2.swf.gz --slice 100:108 --platform platform.json -o kth.json

coalloc convert --from swf KTH-SP2.swf.gz --processors 100 -o kth-all.json.gz

coalloc convert --from sacct october.txt --processors 4096 -o october.json.gz

coalloc convert --from irmasim workload.json --platform platform.json -o pcbe.json

coalloc convert kth.json --to swf --schedule schedule.json -o kth.swf.gz

What was dropped or changed is counted on standard error.
"""


def convert(
    file: File,
    *,
    source: Source = "instance",
    target: Target = "instance",
    platform: PlatformFile = None,
    processors: Processors = None,
    slice: Slice = None,
    seed: Seed = 0,
    communication: Communication = None,
    invalid: Invalid = "drop",
    oversize: Oversize = "drop",
    broken: Broken = "error",
    name: Name = None,
    schedule: ScheduleFile = None,
    output: Output = None,
    quiet: Quiet = False,
) -> ExitCode:
    """Make an instance from consecutive jobs of a trace, or a trace from an instance and its schedule."""
    from coalloc.documents.text import visible
    from coalloc.workloads.convert import convert_sacct, convert_swf, known_of_sacct, known_of_swf

    _check_formats(source, target, schedule)
    _check_platform(source, platform, processors)
    _check_slice(source, slice)
    check_writable({"--output": output}, inputs=(file, platform, schedule))
    accounts: list[str] = []
    known: Known | None = None
    if source in ("swf", "sacct"):
        where, said = platform_of_trace(file, processors, platform, "--platform")
        accounts += [f"{visible(file)}: {said}"] if said else []
    if source == "instance":
        instance = read_instance(file)
    elif source == "irmasim":
        assert platform is not None  # _check_platform has seen to it
        instance = coalloc.read_irmasim(platform, file, name)
    elif source == "sacct":
        instance, export = convert_sacct(file, where, oversize=oversize, broken=broken, name=name)
        accounts.append(str(export))
        known = known_of_sacct(instance, export)
    else:
        # The reader names the options that there are.
        options: dict[str, Any] = {
            "communication": communication or ("seeded" if target == "instance" else "none"),
            "invalid": invalid,
            "oversize": oversize,
            "broken": broken,
            "name": name,
            "keeps_records": target == "swf",
        }
        instance, report = convert_swf(file, slice, where, seed, **options)
        accounts.append(str(report))
        known = known_of_swf(file, instance, report) if target == "swf" else None
    if target == "instance":
        write_or_say_instance(instance, output)
    else:
        accounts += _write_trace(instance, schedule, known, output)
    if not quiet:
        for account in accounts:
            note(account)
    return ExitCode.DONE


def _check_formats(source: str, target: str, schedule: Path | None) -> None:
    """Raise where the formats do not exist, or do not go together."""
    for option, given, formats in (("--from", source, SOURCES), ("--to", target, TARGETS)):
        if given not in formats:
            raise BadParameter(f"must be one of {', '.join(formats)}, got {given!r}", param_hint=option)
    if source == target == "instance":
        raise BadParameter(
            "name the format of the trace: --from swf, sacct or irmasim, or --to swf", param_hint="--from"
        )
    if schedule is not None and (source, target) != ("instance", "swf"):
        raise BadParameter("goes with an instance file and --to swf", param_hint="--schedule")


def _check_platform(source: str, platform: Path | None, processors: int | None) -> None:
    """Raise unless a trace has one platform, and an instance its own."""
    given = [option for option in (platform, processors) if option is not None]
    if source == "instance" and given:
        raise BadParameter("an instance has its platform", param_hint="--platform")
    if source == "irmasim" and (platform is None or processors is not None):
        raise BadParameter("a workload of IRMaSim needs a platform file of IRMaSim", param_hint="--platform")


def _check_slice(source: str, slice: str | None) -> None:
    """Raise where a slice is asked of what is no trace."""
    if source != "swf" and slice is not None:
        raise BadParameter("goes with --from swf", param_hint="--slice")


def _write_trace(instance: Instance, schedule: Path | None, known: Known | None, output: Path | None) -> list[str]:
    """Write or print the trace of an instance, and return what it does not hold."""
    from coalloc.documents.text import visible
    from coalloc.workloads.swf_writing import swf_text, write_swf_with_report

    placed = None if schedule is None else read_schedule(schedule)
    if output is None:
        text, report = swf_text(instance, placed, known)
        say(text.rstrip("\n"))
        return list(report.sentences)
    report = write_swf_with_report(instance, output, placed, known)
    return [f"{visible(str(output))}: {sentence}" for sentence in report.sentences]
