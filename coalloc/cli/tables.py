"""Tables of studies in the shell: CSV files, plots, rows of JSON, and aligned text."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from coalloc.cli.errors import ExitCode
from coalloc.cli.output import note, say, say_json

if TYPE_CHECKING:
    import pandas as pd

    from coalloc.studies.interruption import Interrupted


Columns = Mapping[str, Callable[[Any], str]]
"""The columns of a table by heading, whose lines a newline separates, each with the text of a row there."""

NOT_KNOWN = "-"
"""Stands in tables for what is not known or not defined."""


def text_table(rows: Iterable[Any], columns: Columns) -> str:
    """Return rows as aligned text, the first column to the left."""
    heads = [heading.split("\n") for heading in columns]
    height = max(map(len, heads))
    cells = [[""] * (height - len(head)) + head for head in heads]
    for row in rows:
        for cell, text in zip(cells, columns.values(), strict=True):
            cell.append(text(row))
    widths = [max(map(len, cell)) for cell in cells]
    lines = ([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])] for line in zip(*cells, strict=True))
    return "\n".join("  ".join(line).rstrip() for line in lines)


def text_of(number: float, form: Callable[[float], str] = "{:.4g}".format) -> str:
    """Return a number of a table, a dash where it is none."""
    return NOT_KNOWN if number is None or math.isnan(number) else form(number)


def interval_text(low: float, high: float, form: Callable[[float], str]) -> str:
    """Return an interval of a table, a dash where there is none."""
    return NOT_KNOWN if math.isnan(low) or math.isnan(high) else f"{form(low)} to {form(high)}"


def interval_note(lows: Iterable[float], samples: str) -> list[str]:
    """Return why a table lacks intervals, as a line, where it does; ``samples`` is what they are over."""
    from coalloc.measures.intervals import LEAST_SAMPLES

    lacking = any(math.isnan(low) for low in lows)
    return [f"95 % confidence intervals require at least {LEAST_SAMPLES} {samples}."] if lacking else []


def written_table(study: Callable[[], pd.DataFrame], output: Path | None, json: bool) -> pd.DataFrame | None:
    """Return the table of a study, and write it where ``output`` is; None where the study was interrupted.

    Then the rows that are complete are written there, or else printed: as CSV, or as ``json``. An interrupt
    before the first of them is raised.
    """
    from coalloc.studies.interruption import Interrupted

    try:
        table = study()
    except Interrupted as interrupt:
        keep_rows(interrupt, output, json)
        return None
    if output is not None:
        write_table(table, output)
    return table


def keep_rows(interrupt: Interrupted, output: Path | None, json: bool) -> None:
    """Write the rows of an interrupted study where ``output`` is, or else print them; raise where it has none."""
    from coalloc.documents.spreadsheet import csv_of_table

    if interrupt.table.empty:
        raise interrupt
    note(f"coalloc: {interrupt}")
    if output is not None:
        write_table(interrupt.table, output)
    if json:
        say_json(interrupt.table.to_dict("records"))
    elif output is None:
        say(csv_of_table(interrupt.table).rstrip())


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write a table as CSV; a file that is there is replaced in one step."""
    from coalloc.documents.spreadsheet import csv_of_table
    from coalloc.documents.storage import write_atomically

    write_atomically(path, csv_of_table(table))


def show_table(
    table: pd.DataFrame,
    plot: Path | None,
    json: bool,
    draw: Callable[[pd.DataFrame, Path], object],
    words: Callable[[pd.DataFrame], str],
) -> ExitCode:
    """Draw a table where ``plot`` is, print its rows as JSON or what it says in words, and return the exit code."""
    if plot is not None:
        draw(table, plot)
    if json:
        say_json(table.to_dict("records"))
    else:
        say(words(table))
    return ExitCode.DONE
