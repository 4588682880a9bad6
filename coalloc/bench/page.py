"""The report on a benchmark as one HTML page: tables and pictures, no script."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from coalloc.bench.tables import Table
from coalloc.documents import palette
from coalloc.documents.pages import rendered

FOLDED = 30
"""Lines of a table above which it is folded."""

LONG = 45
"""Characters of an entry above which it may take several lines."""


@dataclass(frozen=True, slots=True)
class Content:
    """Content of a page: ``reading`` above the first table, ``pictures`` (SVG) below it, then the other tables."""

    title: str
    facts: Sequence[tuple[str, str]]
    warnings: Sequence[str]
    reading: str
    tables: Mapping[str, Table]
    pictures: Sequence[bytes]


def page(content: Content) -> str:
    """Return the page."""
    return rendered(
        "report.html",
        title=content.title,
        content=content,
        pictures=[b64encode(picture).decode() for picture in content.pictures],
        palette=palette,
        folded=FOLDED,
        long=LONG,
    )
