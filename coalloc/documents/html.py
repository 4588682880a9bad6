"""Tables as HTML, for a notebook: plain markup from templates, which escape all text from data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from coalloc.documents.pages import rendered

MOST_ROWS = 20
"""Rows that a table shows; of more it shows the first, and says how many there are."""


def heading(title: str, summary: str) -> str:
    """Return a title in bold with a line about it."""
    return rendered("heading.html", title=title, summary=summary)


def table(columns: Sequence[str], rows: Iterable[Sequence[str | float | None]]) -> str:
    """Return a table of texts, to the left, and numbers, to the right; a cell that is None stays empty."""
    given = list(rows)
    return rendered("table.html", columns=columns, rows=given[:MOST_ROWS], more=max(0, len(given) - MOST_ROWS))


def lines_table(lines: Iterable[tuple[str, str]]) -> str:
    """Return (name, text) lines as a table without a head."""
    return rendered("table.html", columns=(), rows=list(lines), more=0)
