"""Tables as CSV that a spreadsheet shows and never executes: a text that it would take for a formula is quoted."""

from __future__ import annotations

from typing import Any

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""Beginnings of a text that spreadsheets evaluate (OWASP, "CSV injection")."""


def inert(cell: Any) -> Any:
    """Return a cell of a table: a text that begins like a formula gets an apostrophe before it, all else stays."""
    is_formula = isinstance(cell, str) and len(cell) > 1 and cell.startswith(FORMULA)
    return f"'{cell}" if is_formula else cell


def csv_of_table(table: Any, index_label: str | None = None) -> str:
    """Return a table (of pandas, which is not loaded here) as CSV; with its index where that is given a name."""
    shown = table.rename(columns=inert, index=inert)
    for column in shown.select_dtypes(["object", "string", "category"]):
        shown[column] = shown[column].map(inert)
    return str(shown.to_csv(index=index_label is not None, index_label=index_label))
