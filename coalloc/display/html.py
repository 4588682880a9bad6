"""Tables as HTML, for a notebook: plain markup without styles of its own, and all text from data escaped."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from coalloc.documents.text import visible

MOST_ROWS = 20
"""Rows that a table shows; of more it shows the first, and says how many there are."""

LEFT = ' style="text-align: left"'


def escaped(content: object) -> str:
    """Return a text from data, or a number, as HTML shows it."""
    return html.escape(f"{content:.10g}" if isinstance(content, float) else visible(str(content)))


def heading(title: str, summary: str) -> str:
    """Return a title in bold with a line about it."""
    return f"<div><b>{escaped(title)}</b>: {escaped(summary)}</div>"


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table of texts and numbers; a cell that is None stays empty."""
    given = list(rows)
    lines = ["".join(_cell(content) for content in row) for row in given[:MOST_ROWS]]
    if len(given) > MOST_ROWS:
        lines.append(f'<td colspan="{len(columns)}"{LEFT}>and {len(given) - MOST_ROWS} more</td>')
    head = "".join(f"<th{LEFT}>{escaped(column)}</th>" for column in columns)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def lines_table(lines: Iterable[tuple[str, str]]) -> str:
    """Return (name, text) lines as a table without a head."""
    rows = "".join(f"<tr><th{LEFT}>{escaped(name)}</th><td{LEFT}>{escaped(text)}</td></tr>" for name, text in lines)
    return f"<table><tbody>{rows}</tbody></table>"


def _cell(content: object) -> str:
    """Return a cell: numbers to the right, as notebooks have them, texts to the left."""
    if content is None:
        return "<td></td>"
    return f"<td>{escaped(content)}</td>" if isinstance(content, (int, float)) else f"<td{LEFT}>{escaped(content)}</td>"
