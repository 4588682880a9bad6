"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

OUTPUT = "What to write"
"""Panel of the help page for files."""

ScheduleFile = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="OUT", help="Schedule file, for coalloc check.", rich_help_panel=OUTPUT),
]
GanttFile = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FIGURE", help="Gantt picture: .png, .svg, .pdf or .html.", rich_help_panel=OUTPUT),
]
Json = Annotated[bool, typer.Option("--json", help="Print pure JSON on standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Say nothing on standard error but faults.")]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="OUT", help="File to write.", show_default="standard output"),
]
Seed = Annotated[int, typer.Option(help="The same seed gives the same instance.")]
