"""The order of search results: guides and definitions before questions, API pages, notebooks and benchmark results."""

from __future__ import annotations

from typing import Any

LATER = ("api/", "repository/", "faq.md", "results.md")
"""Pages and folders of the site that have a quarter of the weight."""


def on_page_markdown(_: str, page: Any, **__: Any) -> None:
    """Set the weight of a page in the search."""
    if page.file.src_uri.startswith(LATER):
        page.meta["search"] = {"boost": 0.25}
