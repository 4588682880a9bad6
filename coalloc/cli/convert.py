"""``coalloc convert``: instances from files of other formats."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, BadParameter, Option

import coalloc
from coalloc.cli.errors import ExitCode
from coalloc.cli.instance_output import write_or_say_instance
from coalloc.cli.options import Output, Quiet
from coalloc.cli.output import check_writable, note

FORMATS = ("swf",)
"""What can be converted."""

Trace = Annotated[Path, Argument(metavar="TRACE", help="Trace file; may be compressed with gzip (.gz).")]
Format = Annotated[str, Option("--from", metavar="FORMAT", help="Format of the trace: swf.")]
PlatformFile = Annotated[
    Path, Option("--platform", metavar="PLATFORM", help="Platform file (or instance file) to run the jobs on.")
]
Slice = Annotated[
    str | None,
    Option(
        metavar="FROM:TO",
        help="Positions among the valid jobs, counted from 0, the last excluded; arrivals then begin at 0.",
        show_default="all jobs",
    ),
]
Seed = Annotated[int, Option(help="Seed of what traces do not say: processing share and bandwidth.")]
Communication = Annotated[str, Option(help="seeded: drawn for each job; none: all jobs only process.")]
Invalid = Annotated[str, Option(help="Jobs without run time or processors: drop, or one-second.")]
Oversize = Annotated[str, Option(help="Jobs larger than the platform: drop, or clip.")]
Broken = Annotated[str, Option(help="Lines that are not 18 numbers: error, or drop.")]
Name = Annotated[str | None, Option(help="Name of the instance.", show_default="that of the file, and the slice")]

EXAMPLES = """
Example:

coalloc convert --from swf KTH-SP2.swf.gz --slice 100:108 --platform platform.json -o kth.json

What was dropped or changed is counted on standard error.
"""


def convert(
    trace: Trace,
    *,
    source_format: Format,
    platform: PlatformFile,
    slice: Slice = None,
    seed: Seed = 0,
    communication: Communication = "seeded",
    invalid: Invalid = "drop",
    oversize: Oversize = "drop",
    broken: Broken = "error",
    name: Name = None,
    output: Output = None,
    quiet: Quiet = False,
) -> ExitCode:
    """Make an instance from consecutive jobs of a real trace."""
    from coalloc.workloads.convert import convert_swf

    if source_format not in FORMATS:
        raise BadParameter(f"must be {' or '.join(FORMATS)}, got {source_format!r}", param_hint="--from")
    check_writable({"--output": output}, inputs=(trace, platform))
    # The reader names the options that there are.
    options: dict[str, Any] = {
        "communication": communication,
        "invalid": invalid,
        "oversize": oversize,
        "broken": broken,
        "name": name,
    }
    instance, report = convert_swf(trace, slice, coalloc.read_platform(platform), seed, **options)
    write_or_say_instance(instance, output)
    if not quiet:
        note(str(report))
    return ExitCode.DONE
