"""What pages link to outside of docs/: results, notebooks and texts of the repository become pages of the site as well.

On the site they are below ``repository/``; links are written for readers of the repository and are moved here. A link
to a folder, or to a file that is neither a page nor small, becomes plain text.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files, InclusionLevel

ROOT = Path(__file__).parents[2]
BELOW = "repository/"
LINK = re.compile(r"(!?)\[((?:[^][]|\[[^]]*\])*)\]\(([^)#:\s]+)(#[^)\s]*)?\)")
FENCED = re.compile(r"(^```.*?^```$)", re.DOTALL | re.MULTILINE)
OF_PANDAS = re.compile(
    r"<style.*?</style>\n?| border=\"1\" class=\"dataframe\"| style=\"text-align: right;\"", re.DOTALL
)
"""Style of a table that that of the site replaces."""
LARGEST = 300_000
"""Bytes of a file that is copied to the site because a page links to it."""


def place_of(path: str) -> str:
    """Return where on the site a path of the repository is."""
    return path.removeprefix("docs/") if path.startswith("docs/") else BELOW + path


def path_of(place: str) -> str:
    """Return the path in the repository of a place on the site."""
    return place.removeprefix(BELOW) if place.startswith(BELOW) else f"docs/{place}"


def is_taken(path: str) -> bool:
    """Return whether a path of the repository is a file that the site has."""
    file = ROOT / path
    inside = file.resolve().is_relative_to(ROOT)
    return inside and file.is_file() and (file.suffix in (".md", ".ipynb") or file.stat().st_size <= LARGEST)


def targets(text: str, path: str) -> Iterator[str]:
    """Yield the paths in the repository that a page links to."""
    for part in FENCED.split(text)[::2]:
        for link in LINK.finditer(part):
            yield posixpath.normpath(posixpath.join(posixpath.dirname(path), link[3]))


def text_of_notebook(path: Path) -> str:
    """Return a notebook as Markdown: its texts, and its code in blocks with the outputs below."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    opening, *others = (part for cell in cells for part in parts_of_cell(cell))
    return "\n\n".join([opening, f"*A notebook: `notebooks/{path.name}` of the repository.*", *others])


def parts_of_cell(cell: dict[str, Any]) -> Iterator[str]:
    """Yield the Markdown of a cell of a notebook, and of its outputs."""
    text = "".join(cell["source"])
    yield text if cell["cell_type"] == "markdown" else f"```python\n{text}\n```"
    for output in cell.get("outputs", ()):
        data = {kind: "".join(content) for kind, content in output.get("data", {}).items()}
        if "image/png" in data:
            yield f'<img alt="picture of the cell above" src="data:image/png;base64,{data["image/png"].strip()}">'
        elif "text/html" in data:
            yield OF_PANDAS.sub("", data["text/html"])
        else:
            yield f"```text\n{''.join(output.get('text', data.get('text/plain', ''))).rstrip()}\n```"


def text_of(path: str) -> str:
    """Return a page of the repository as Markdown."""
    file = ROOT / path
    return text_of_notebook(file) if file.suffix == ".ipynb" else file.read_text(encoding="utf-8")


def is_page(path: str) -> bool:
    """Return whether a path of the repository is one that the site shows as a page."""
    return path.endswith((".md", ".ipynb"))


def on_files(files: Files, config: Any) -> Files:
    """Add whatever the pages link to, and what those link to in turn."""
    waiting = [path_of(file.src_uri) for file in files.documentation_pages() if file.generated_by is None]
    seen = set(waiting)
    while waiting:
        path = waiting.pop()
        for target in targets(text_of(path), path):
            if target in seen or target.startswith("docs/") or not is_taken(target):
                continue
            seen.add(target)
            files.append(_file(target, config))
            waiting += [target] if is_page(target) else []
    return files


def _file(path: str, config: Any) -> File:
    if path.endswith(".ipynb"):
        place = f"{place_of(path)}.md"
        return File.generated(config, place, content=text_of(path), inclusion=InclusionLevel.NOT_IN_NAV)
    file = str(ROOT / path)
    return File.generated(config, place_of(path), abs_src_path=file, inclusion=InclusionLevel.NOT_IN_NAV)


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Return a page with its links where their targets are on the site."""
    place = page.file.src_uri
    path = path_of(place.removesuffix(".ipynb.md") + ".ipynb" if place.endswith(".ipynb.md") else place)
    folder = posixpath.dirname(path)

    def moved(link: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(folder, link[3]))
        if target.startswith("docs/") and path.startswith("docs/"):
            return link[0]
        if not target.startswith("docs/") and not is_taken(target):
            return f"{link[2]} (`{target}`)" if target not in link[2] else link[2]
        there = place_of(target) + (".md" if target.endswith(".ipynb") else "")
        relative = posixpath.relpath(there, posixpath.dirname(place) or ".")
        return f"{link[1]}[{link[2]}]({relative}{link[4] or ''})"

    parts = FENCED.split(markdown)
    parts[::2] = [LINK.sub(moved, part) for part in parts[::2]]
    return "".join(parts)
