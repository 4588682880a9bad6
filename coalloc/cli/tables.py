"""Tables of studies as the shell gives them: CSV files, pictures, rows of JSON, and words."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from coalloc.cli.errors import ExitCode
from coalloc.cli.output import note, say, say_json

if TYPE_CHECKING:
    import pandas as pd

    from coalloc.studies.interruption import Interrupted


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
