"""``coalloc merge``: weeks of a grid from traces of its sites."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Argument, BadParameter, Option

import coalloc
from coalloc.cli.errors import ExitCode
from coalloc.cli.options import Broken, Json, Quiet
from coalloc.cli.output import note, say, say_json
from coalloc.documents.wording import plural

if TYPE_CHECKING:
    from coalloc.workloads.weeks.account import MergeAccount

Speeds = Literal["site", "processor", "origin"]

Spec = Annotated[str, Argument(metavar="SPEC", help="Specification (TOML): traces with their sites, platform, weeks.")]
Folder = Annotated[
    Path | None,
    Option(
        "--output",
        "-o",
        metavar="FOLDER",
        help="Folder to write: instances (week-01.json.gz, ...), report (account.json, account.md) and its plot.",
        show_default="only the report, on standard output",
    ),
]
SpeedsOf = Annotated[
    Speeds | None,
    Option(
        "--speeds",
        metavar="NAME",
        help="Node speeds: site, processor or origin.",
        show_default="as in the specification",
    ),
]
AsSwf = Annotated[bool, Option("--swf", help="Also write each week as an SWF trace.")]

EXAMPLES = """
Examples:

coalloc merge grid1.toml -o grid1

coalloc merge grid1.toml --speeds origin --json | head

The same specification and traces give the same files. The report counts dropped and modified jobs.
"""


def merge(
    spec: Spec,
    *,
    speeds: SpeedsOf = None,
    broken: Broken = "error",
    output: Folder = None,
    swf: AsSwf = False,
    json: Json = False,
    quiet: Quiet = False,
) -> ExitCode:
    """Merge traces of several sites into weekly instances of a grid, and report dropped and modified jobs."""
    _check_folder(output, swf)
    merged = coalloc.io.merge_swf(spec, speeds=speeds, broken=broken)
    if output is not None:
        merged.write(output, swf, others={"account.svg": _picture(merged.account)})
        if not quiet:
            note(f"{output}: {plural(len(merged.weeks), 'week')}")
    if json:
        say_json(merged.account.document)
    else:
        say(merged.account.markdown.rstrip())
    return ExitCode.DONE


def _check_folder(folder: Path | None, swf: bool) -> None:
    """Raise where the weeks could not be written later."""
    if folder is None and swf:
        raise BadParameter("requires --output", param_hint="--swf")
    if folder is None:
        return
    from coalloc.system.extras import require

    require("matplotlib", "--output")
    try:
        with suppress(FileNotFoundError, NotADirectoryError):
            folder.stat()
    except OSError as error:
        from coalloc.documents.storage import reason_of

        raise BadParameter(f"{folder} cannot be created: {reason_of(error)}", param_hint="--output") from None
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not there.is_dir():
        raise BadParameter(f"{there} is not a folder", param_hint="--output")


def _picture(account: MergeAccount) -> bytes:
    """Return figures 5 and 6 of the source."""
    from coalloc.plot.pictures import static_picture
    from coalloc.plot.weeks import draw_weeks

    figure = draw_weeks(account.name, [week.jobs for week in account.weeks], account.work_by_day_of_month)
    return static_picture(figure, "svg")
