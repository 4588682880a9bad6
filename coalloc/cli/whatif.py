"""``coalloc whatif``: a log simulated as it is and with changes."""

from __future__ import annotations

from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from coalloc.cli.audit import (
    PERIOD,
    RUNNING,
    Before,
    Partition,
    PlatformFile,
    PolicyLimit,
    Processes,
    Processors,
    Scheduler,
    Unit,
    log_options,
    window_length,
)
from coalloc.cli.errors import ExitCode
from coalloc.cli.options import OUTPUT, Broken, Json, Quiet
from coalloc.cli.output import WrittenFiles, check_writable, make_folder, note, say, say_json
from coalloc.cli.tables import keep_rows, text_table, write_table

File = Annotated[
    str,
    Argument(
        metavar="LOG",
        help="Trace (SWF, sacct --parsable2, flux jobs --json, also gzip), or an instance, as of coalloc import.",
    ),
]
Changes = Annotated[Path, Argument(metavar="CHANGES", help="Changes, a TOML file.")]
Crossed = Annotated[bool, Option("--crossed", help="Also combine changes of different kinds.", rich_help_panel=RUNNING)]
After = Annotated[
    str | None,
    Option(
        metavar="WHEN",
        help="Jobs that arrive before are simulated, but not counted: a date (2026-10-01), or seconds.",
        show_default="all are counted",
        rich_help_panel=PERIOD,
    ),
]
Length = Annotated[
    str,
    Option(
        "--window",
        metavar="LENGTH",
        help="Length of the intervals over which confidence intervals are computed: 7d, 12h, or seconds.",
        rich_help_panel=PERIOD,
    ),
]
TimeLimit = Annotated[
    float,
    Option(metavar="SECONDS", help="Time limit of the bound of each scenario; inf for none.", rich_help_panel=RUNNING),
]
Folder = Annotated[
    Path | None,
    Option(
        "--output",
        "-o",
        metavar="FOLDER",
        help="Folder for scenarios.csv, intervals.csv, and the store of completed scenarios, which are not repeated.",
        rich_help_panel=OUTPUT,
    ),
]
Page = Annotated[
    Path | None, Option("--page", metavar="HTML", help="Report to write as one HTML page.", rich_help_panel=OUTPUT)
]

STORE = "store.sqlite"

EXAMPLES = """
Examples:

coalloc whatif october.txt changes.toml --processors 4096 -o what-if --page what-if.html

coalloc whatif october.json.gz changes.toml --crossed -o what-if

To resume an interrupted what-if, run the same command again.
"""


def whatif(
    log: File,
    changes: Changes,
    *,
    processors: Processors = None,
    platform: PlatformFile = None,
    unit: Unit = "cpus",
    partition: Partition = None,
    broken: Broken = "error",
    after: After = None,
    before: Before = None,
    window: Length = "7d",
    crossed: Crossed = False,
    time_limit: TimeLimit = 10.0,
    policy_limit: PolicyLimit = 300.0,
    jobs: Processes = None,
    scheduler: Scheduler = None,
    output: Folder = None,
    page: Page = None,
    json: Json = False,
    quiet: Quiet = False,
) -> ExitCode:
    """Simulate a log as it is and with changes of policy, machine, jobs and limits, and compare the waits."""
    from coalloc.studies.interruption import Interrupted
    from coalloc.studies.whatif import what_if
    from coalloc.studies.whatif_report import HEADS

    if page is not None:
        from coalloc.system.extras import require

        require("matplotlib", "--page")
    length = window_length(window)
    asked = log_options(log, processors, platform, "LOG", quiet=quiet, unit=unit, partition=partition, broken=broken)
    if output is not None:
        make_folder("--output", output)
    tables = {name: None if output is None else output / f"{name}.csv" for name in ("scenarios", "intervals")}
    for table in tables.values():
        check_writable({"--page": page, "--output": table}, inputs=(log, changes, platform))
    try:
        found = what_if(
            changes=changes,
            after=after,
            before=before,
            window=length,
            crossed=crossed,
            time_limit=time_limit,
            policy_limit=policy_limit,
            store=None if output is None else output / STORE,
            processes=jobs,
            scheduler=scheduler,
            progress=None if quiet else note,
            **asked,
        )
    except Interrupted as interrupt:
        keep_rows(interrupt, tables["scenarios"], json)
        return ExitCode.DONE
    written = WrittenFiles()
    written.write_all(
        {
            "scenarios": (tables["scenarios"], partial(write_table, found.table)),
            "intervals": (tables["intervals"], partial(write_table, found.intervals)),
            "page": (page, found.write_page),
        }
    )
    if json:
        say_json(found.document)
    else:
        for sentence in () if quiet else found.account:
            note(sentence)
        say(text_table(found.cells, {head: itemgetter(place) for place, head in enumerate(HEADS)}))
        say("\n".join(("", *found.sentences)))
    written.raise_faults()
    return ExitCode.DONE
