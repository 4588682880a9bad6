"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

OUTPUT = "What to write"
"""Panel of the help page for files."""

PICTURES = (".png", ".svg", ".pdf", ".html")
"""How the names of pictures end."""


def no_picture(path: Path | None) -> Path | None:
    """Return the name of a schedule or result file; raise where it is that of a picture."""
    if path is not None and path.suffix.lower() in PICTURES:
        raise typer.BadParameter(f"{path.name} is the name of a picture, and this is a JSON file: --plot draws one")
    return path


ScheduleFile = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="OUT",
        help="Schedule file, for coalloc check.",
        rich_help_panel=OUTPUT,
        callback=no_picture,
    ),
]
GanttFile = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FIGURE", help="Gantt picture: .png, .svg, .pdf or .html.", rich_help_panel=OUTPUT),
]
Broken = Annotated[Literal["error", "drop"], typer.Option(help="Lines of a trace that cannot be read: error, or drop.")]
Json = Annotated[bool, typer.Option("--json", help="Print pure JSON on standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing on standard error but faults.")]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="OUT", help="File to write.", show_default="standard output"),
]
Seed = Annotated[int, typer.Option(help="The same seed gives the same instance.")]
