"""The search of the site: the order of its results, and no numbers among its words.

Guides and definitions come before questions, API pages, notebooks and benchmark results. The numbers of tables are most
of the words, nobody searches for them, and two nodes of the index may be taken for one where digits follow each other
(lunr writes a node as its letters and the numbers of those that follow, without a separator): then a search ends in an
error.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

LATER = ("api/", "repository/", "faq.md", "results.md")
"""Pages and folders of the site that have a quarter of the weight."""
NUMBER = re.compile(r"[^\s<>]*\d[^\s<>]*")
"""A word with a digit, as pages of results and notebooks have them."""
PLAIN_NUMBER = re.compile(r"(?<![^\s<>])[^\s<>A-Za-z]*\d[^\s<>A-Za-z]*(?![^\s<>])")
"""A word with digits and without letters."""


def on_page_markdown(_: str, page: Any, **__: Any) -> None:
    """Set the weight of a page in the search."""
    if page.file.src_uri.startswith(LATER):
        page.meta["search"] = {"boost": 0.25}


def on_post_build(config: Any, **_: Any) -> None:
    """Leave numbers out of the index that was written."""
    path = Path(config["site_dir"]) / "search" / "search_index.json"
    index = json.loads(path.read_text(encoding="utf-8"))
    for entry in index["docs"]:
        number = NUMBER if entry["location"].startswith("repository/") else PLAIN_NUMBER
        entry["text"] = number.sub("", entry["text"])
    path.write_text(json.dumps(index, separators=(",", ":")), encoding="utf-8")
