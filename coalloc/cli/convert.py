"""``coalloc convert``: from traces to instances, and from instances to traces."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, BadParameter, Option

import coalloc
from coalloc.cli.errors import ExitCode
from coalloc.cli.inputs import ONLY_TRACES, platform_of_trace, read_instance, read_schedule
from coalloc.cli.instance_output import write_or_say_instance
from coalloc.cli.options import Output, Quiet
from coalloc.cli.output import check_writable, note, say

if TYPE_CHECKING:
    from coalloc import Instance
    from coalloc.workloads.swf_writing import Known

SOURCES, TARGETS = ("instance", "swf", "sacct", "irmasim"), ("instance", "swf")
"""Formats that can be converted, from and to."""

READING, WRITING = "Reading a trace", "Writing a trace"
"""Panels of the help page."""

File = Annotated[
    str,
    Argument(
        metavar="FILE",
        help="Trace (SWF or sacct, also gzip), IRMaSim workload file, instance file, or example:NAME.",
    ),
]
Source = Annotated[
    str, Option("--from", metavar="FORMAT", help="Format of FILE: swf, sacct, irmasim, instance, or of a plugin.")
]
Target = Annotated[str, Option("--to", metavar="FORMAT", help="Format to write: instance or swf.")]
PlatformFile = Annotated[
    Path | None,
    Option(
        "--platform",
        metavar="PLATFORM",
        help="Platform file, or instance file with a platform; with --from irmasim an IRMaSim platform file.",
        rich_help_panel=READING,
    ),
]
Processors = Annotated[
    int | None,
    Option(
        metavar="N",
        min=1,
        help="Platform of one cluster with N processors of speed 1.",
        show_default="the number in the header",
        rich_help_panel=READING,
    ),
]
Slice = Annotated[
    str | None,
    Option(
        metavar="FROM:TO",
        help="Range of valid jobs to convert, counted from 0, TO excluded; arrivals are shifted to begin at 0.",
        show_default="all jobs",
        rich_help_panel=READING,
    ),
]
Seed = Annotated[
    int,
    Option(
        metavar="N",
        help="Random seed, for processing shares and bandwidths, which traces do not contain.",
        rich_help_panel=READING,
    ),
]
Communication = Annotated[
    str | None,
    Option(
        metavar="NAME",
        help="Communication of the jobs. seeded: sampled for each job; none: no communication.",
        show_default="seeded; none with --to swf",
        rich_help_panel=READING,
    ),
]
Invalid = Annotated[
    str,
    Option(
        metavar="RULE",
        help="Jobs without run time or processors. drop: skip them; one-second: give them a run time of 1 s.",
        rich_help_panel=READING,
    ),
]
Oversize = Annotated[
    str,
    Option(
        metavar="RULE",
        help="Jobs larger than the platform. drop: skip them; clip: reduce them to the size of the platform.",
        rich_help_panel=READING,
    ),
]
Broken = Annotated[
    str,
    Option(
        metavar="RULE",
        help="Malformed lines of a trace. error: report them and stop; drop: skip them.",
        rich_help_panel=READING,
    ),
]
Name = Annotated[
    str | None,
    Option(
        metavar="NAME",
        help="Name of the instance.",
        show_default="the name of the file and the slice",
        rich_help_panel=READING,
    ),
]
ScheduleFile = Annotated[
    Path | None,
    Option(
        "--schedule",
        metavar="SCHEDULE",
        help="Schedule (or result) file of the instance, for the waits, run times and status of the trace.",
        rich_help_panel=WRITING,
    ),
]

EXAMPLES = """
Examples:

coalloc convert --from swf KTH-SP2.swf.gz --slice 100:108 -o kth.json

coalloc convert --from swf KTH-SP2.swf.gz --processors 100 -o kth-all.json.gz

coalloc convert --from sacct october.txt --processors 4096 -o october.json.gz

coalloc convert --from irmasim workload.json --platform p.json -o pcbe.json

coalloc convert kth.json --to swf --schedule schedule.json -o kth.swf.gz

A report of dropped and modified jobs is printed on standard error.
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
    """Convert a trace to an instance, or an instance and its schedule to a trace."""
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
    elif source not in SOURCES:
        instance = _read_by_plugin(source, file, platform, processors)
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
        write_or_say_instance(instance, output, quiet)
    else:
        accounts += _write_trace(instance, schedule, known, output)
    if not quiet:
        for account in accounts:
            note(account)
    return ExitCode.DONE


def _read_by_plugin(source: str, file: str, platform: Path | None, processors: int | None) -> Instance:
    """Return what the reader of an installed package makes of a file."""
    from coalloc.cli.own_classes import faults_of
    from coalloc.instance import Fault, InstanceError
    from coalloc.workloads.readers import READERS

    if not Path(file).exists():
        raise InstanceError([Fault("", "cannot be read: no such file or directory")], file)
    named = platform is not None or processors is not None
    where = platform_of_trace(file, processors, platform, "--platform")[0] if named else None
    reader = READERS[source]
    with faults_of(source, reader):
        found = reader(file, where)
    if not isinstance(found, coalloc.Instance):
        raise coalloc.CoallocError(
            f"plugin {source!r} (coalloc.readers) returned no instance, but {type(found).__name__}"
        )
    return found


def _check_formats(source: str, target: str, schedule: Path | None) -> None:
    """Raise where the formats do not exist, or do not go together."""
    from coalloc.workloads.readers import READERS

    for option, given, formats, others in (("--from", source, SOURCES, READERS), ("--to", target, TARGETS, ())):
        if given not in formats and given not in others:
            raise BadParameter(f"must be one of {', '.join((*formats, *others))}, got {given!r}", param_hint=option)
    if source == target == "instance":
        raise BadParameter(
            "must name the format of the trace (--from swf, sacct or irmasim, or --to swf)", param_hint="--from"
        )
    if schedule is not None and (source, target) != ("instance", "swf"):
        raise BadParameter("requires an instance file and --to swf", param_hint="--schedule")


def _check_platform(source: str, platform: Path | None, processors: int | None) -> None:
    """Raise unless a trace has one platform, and an instance its own."""
    given = [option for option in (platform, processors) if option is not None]
    if source == "instance" and given:
        raise BadParameter(ONLY_TRACES, param_hint="--platform")
    if source == "irmasim" and (platform is None or processors is not None):
        raise BadParameter("an IRMaSim workload requires an IRMaSim platform file", param_hint="--platform")


def _check_slice(source: str, slice: str | None) -> None:
    """Raise where a slice is asked of what is no trace."""
    if source != "swf" and slice is not None:
        raise BadParameter("requires --from swf", param_hint="--slice")


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
