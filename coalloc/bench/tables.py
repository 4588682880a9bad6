"""Tables as Markdown and CSV. What comes from outside is data: it cannot end a cell or a line."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import Any

from coalloc.bench.outcomes import Row
from coalloc.documents.spreadsheet import inert
from coalloc.documents.text import visible

RIGHT, LEFT = "---:", "---"


@dataclass(frozen=True, slots=True)
class Table:
    """Heads and lines of entries: texts, numbers, or None for nothing."""

    heads: tuple[str, ...]
    lines: tuple[tuple[Any, ...], ...]

    @classmethod
    def of(cls, heads: Sequence[str], lines: Iterable[Sequence[Any]]) -> Table:
        """Return a table of any sequences."""
        return cls(tuple(heads), tuple(map(tuple, lines)))

    @property
    def texts(self) -> list[list[str]]:
        """The entries as a person reads them."""
        return [[shown_entry(entry) for entry in line] for line in self.lines]

    @property
    def are_numbers(self) -> list[bool]:
        """Whether each column holds numbers, which stand at the right."""
        columns = zip(*self.lines, strict=True) if self.lines else ((),) * len(self.heads)
        return [all(isinstance(entry, (int, float, type(None))) for entry in column) for column in columns]


def shown_entry(entry: Any) -> str:
    """Return an entry as text: floats with four digits, nothing for None."""
    if entry is None:
        return ""
    return f"{entry:.4g}" if isinstance(entry, float) and abs(entry) < 1e5 else visible(_plain(entry))


def _plain(entry: Any) -> str:
    return f"{entry:.1f}" if isinstance(entry, float) else str(entry)


def markdown(table: Table) -> str:
    """Return a table in Markdown."""
    rule = [RIGHT if is_number else LEFT for is_number in table.are_numbers]
    lines = [list(table.heads), rule, *([_cell(text) for text in line] for line in table.texts)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(text: str) -> str:
    for special in "\\|<":
        text = text.replace(special, "\\" + special)
    return text


def csv_of(columns: Sequence[str], rows: Iterable[Row]) -> str:
    """Return rows as CSV with these columns; empty where a row has nothing, JSON for what has parts."""
    stream = StringIO()
    writer = csv.DictWriter(stream, columns, extrasaction="ignore", lineterminator="\n")
    writer.writeheader()
    writer.writerows({key: _field(part) for key, part in row.items()} for row in rows)
    return stream.getvalue()


def _field(part: Any) -> Any:
    return json.dumps(part, sort_keys=True) if isinstance(part, Mapping) else inert(part)
