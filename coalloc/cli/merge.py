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

if TYPE_CHECKING:
    from coalloc.workloads.weeks.account import MergeAccount

Speeds = Literal["site", "processor", "origin"]

Spec = Annotated[str, Argument(metavar="SPEC", help="Specification, TOML: traces with their sites, platform, weeks.")]
Folder = Annotated[
    Path | None,
    Option(
        "--output",
        "-o",
        metavar="FOLDER",
        help="Where week-01.json.gz, ..., the account (account.json, account.md) and its picture (account.svg) go.",
        show_default="only the account, on standard output",
    ),
]
SpeedsOf = Annotated[
    Speeds | None,
    Option("--speeds", metavar="SPEEDS", help="site, processor or origin.", show_default="what the specification says"),
]
AsSwf = Annotated[bool, Option("--swf", help="Write each week as a trace as well.")]

EXAMPLES = """
Examples:

coalloc merge grid1.toml -o grid1

coalloc merge grid1.toml --speeds origin --json | head

The same specification and traces give the same files. What was dropped or changed is counted, per trace and filter.
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
    """Merge traces of several sites into weeks of a grid, and account for every job of them."""
    _check_folder(output, swf)
    merged = coalloc.io.merge_swf(spec, speeds=speeds, broken=broken)
    if output is not None:
        merged.write(output, swf, beside={"account.svg": _picture(merged.account)})
        if not quiet:
            note(f"{output}: {len(merged.weeks)} weeks")
    if json:
        say_json(merged.account.document)
    else:
        say(merged.account.markdown.rstrip())
    return ExitCode.DONE


def _check_folder(folder: Path | None, swf: bool) -> None:
    """Raise where the weeks could not be written later."""
    if folder is None and swf:
        raise BadParameter("goes with --output", param_hint="--swf")
    if folder is None:
        return
    try:
        with suppress(FileNotFoundError, NotADirectoryError):
            folder.stat()
    except OSError as error:
        from coalloc.documents.storage import reason_of

        raise BadParameter(f"{folder} cannot be made: {reason_of(error)}", param_hint="--output") from None
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    if not there.is_dir():
        raise BadParameter(f"{there} is no folder", param_hint="--output")


def _picture(account: MergeAccount) -> bytes:
    """Return figures 5 and 6 of the source."""
    from coalloc.plot.pictures import static_picture
    from coalloc.plot.weeks import draw_weeks

    figure = draw_weeks(account.name, [week.jobs for week in account.weeks], account.work_by_day_of_month)
    return static_picture(figure, "svg")
