"""Pages of the programming interface: one for each public name, from its docstring, and one that lists them all.

They are made for the site alone; ``help(coalloc.solve)`` says the same. Pages of subpackages are in folders of their
names. Wherever a page names a public name as code, that becomes a link to its page.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.utils import get_relative_url

import coalloc

FOLDER = "api"
NAME = re.compile(r'(?<!<pre>)(?<!">)<code>coalloc\.((?:\w+\.)?\w+)((?:\([^<]*)?)</code>(?!</a>)')
SUBPACKAGES = [name for name in dir(coalloc) if inspect.ismodule(getattr(coalloc, name))]
PUBLIC = {name: getattr(coalloc, name) for name in coalloc.__all__} | {
    f"{package}.{name}": getattr(getattr(coalloc, package), name)
    for package in SUBPACKAGES
    for name in getattr(coalloc, package).__all__
}
"""Every public name, without ``coalloc.`` before it."""
MOVED = re.findall(
    r"\w+",
    """
    read_platform write_platform read_result write_result write_swf merge_swf schema power_plot progress_plot
    series_plot energy_front grid_study grid_metrics platform platforms Partition SolveStatus TracePoint
    SimulationResult Audit Violation metrics_by metrics_of sharing_metrics series Start Wake Broker
    """,
)
"""Names of subpackages that were at the top level."""


def place(name: str) -> str:
    """Return the page of a public name, below the folder of all."""
    return f"{name.replace('.', '/')}.md"


def summary(text: str | None) -> str:
    """Return the first sentence of a docstring."""
    return " ".join(inspect.cleandoc(text or "").split("\n\n", 1)[0].split()).replace("``", "`")


def table(names: list[str]) -> str:
    """Return a table of public names with their first sentences."""
    rows = (f"| [`{name}`]({place(name)}) | {summary(PUBLIC[name].__doc__)} |" for name in sorted(names, key=str.lower))
    return "| name | description |\n|---|---|\n" + "\n".join(rows)


def index() -> str:
    """Return the page that lists all public names."""
    classes = {name for name in PUBLIC if inspect.isclass(PUBLIC[name])}
    text = "Every public name of `coalloc`, from its docstring. Anything else that can be imported may change."
    parts = ["# Programming interface", text]
    parts += ["## Functions", table([name for name in coalloc.__all__ if name not in classes])]
    parts += ["## Classes", table([name for name in coalloc.__all__ if name in classes])]
    for package in SUBPACKAGES:
        names = [name for name in PUBLIC if name.startswith(f"{package}.")]
        parts += [f"## `coalloc.{package}`", summary(getattr(coalloc, package).__doc__), table(names)]
    moved = [(name.rpartition(".")[2], name) for name in PUBLIC]
    rows = "\n".join(f"| `coalloc.{old}` | `coalloc.{new}` |" for old, new in moved if old in MOVED)
    parts += ["## Moved names", f"| old place | new place |\n|---|---|\n{rows}"]
    return "\n\n".join(parts) + "\n"


def on_files(files: Files, config: Any) -> Files:
    """Add the pages."""
    files.append(File.generated(config, f"{FOLDER}/index.md", content=index()))
    for name in PUBLIC:
        text = f"---\ntitle: {name}\n---\n\n::: coalloc.{name}\n"
        page = f"{FOLDER}/{place(name)}"
        files.append(File.generated(config, page, content=text, inclusion=InclusionLevel.NOT_IN_NAV))
    return files


def on_page_content(content: str, page: Any, **_: Any) -> str:
    """Return a page whose public names in code lead to their pages."""

    def linked(code: re.Match[str]) -> str:
        if code[1] not in PUBLIC or page.file.src_uri == f"{FOLDER}/{place(code[1])}":
            return code[0]
        url = get_relative_url(f"{FOLDER}/{code[1].replace('.', '/')}.html", page.url)
        return f'<a href="{url}">{code[0]}</a>'

    return NAME.sub(linked, content)
