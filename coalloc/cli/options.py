"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

OUTPUT = "Output"
"""Panel of the help page for files."""

PICTURES = (".png", ".svg", ".pdf", ".html")
"""Suffixes of pictures."""


def no_picture(path: Path | None) -> Path | None:
    """Return the name of a schedule or result file; raise where it is that of a picture."""
    if path is not None and path.suffix.lower() in PICTURES:
        raise typer.BadParameter(f"must be a JSON file, got the picture {path.name}; --plot draws pictures")
    return path


ScheduleFile = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="OUT",
        help="Schedule file to write.",
        rich_help_panel=OUTPUT,
        callback=no_picture,
    ),
]
GanttFile = Annotated[
    Path | None,
    typer.Option(
        "--plot", metavar="FIGURE", help="Gantt chart to draw: .png, .svg, .pdf or .html.", rich_help_panel=OUTPUT
    ),
]
Broken = Annotated[
    Literal["error", "drop"],
    typer.Option(help="Malformed lines of a trace. error: report them and stop; drop: skip them."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Suppress progress output; print errors only.")]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="OUT", help="File to write.", show_default="standard output"),
]
Seed = Annotated[int, typer.Option(metavar="N", help="Random seed.")]
