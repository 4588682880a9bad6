"""The order of search results: pages written for readers before API pages, notebooks and results of benchmarks."""

from __future__ import annotations

from typing import Any

LATER = ("api/", "repository/")
"""Folders of the site whose pages have half the weight."""


def on_page_markdown(_: str, page: Any, **__: Any) -> None:
    """Set the weight of a page in the search."""
    if page.file.src_uri.startswith(LATER):
        page.meta["search"] = {"boost": 0.5}
