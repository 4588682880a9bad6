"""Pages of the programming interface: one for each public name, from its docstring, and one that lists them all.

They are made for the site alone; ``help(coalloc.solve)`` says the same. Wherever a page names a public name as code,
that becomes a link to its page.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.utils import get_relative_url

import coalloc

FOLDER = "api"
NAME = re.compile(r'(?<!<pre>)(?<!">)<code>coalloc\.(\w+)((?:\([^<]*)?)</code>(?!</a>)')


def summary(name: str) -> str:
    """Return the first sentence of a public name's docstring."""
    text = inspect.getdoc(getattr(coalloc, name)) or ""
    return " ".join(text.split("\n\n", 1)[0].split()).replace("``", "`")


def index() -> str:
    """Return the page that lists all public names."""
    kinds = {"Functions": [], "Classes": []}
    for name in sorted(coalloc.__all__, key=str.lower):
        kind = "Classes" if inspect.isclass(getattr(coalloc, name)) else "Functions"
        kinds[kind].append(f"| [`{name}`]({name}.md) | {summary(name)} |")
    head = "| name | what it is |\n|---|---|\n"
    tables = (f"## {kind}\n\n{head}" + "\n".join(rows) for kind, rows in kinds.items())
    text = "Every public name of `coalloc`, from its docstring. Whatever else can be imported may change."
    return "\n\n".join(["# Programming interface", text, *tables]) + "\n"


def on_files(files: Files, config: Any) -> Files:
    """Add the pages."""
    files.append(File.generated(config, f"{FOLDER}/index.md", content=index()))
    for name in coalloc.__all__:
        text = f"---\ntitle: {name}\n---\n\n::: coalloc.{name}\n"
        place = f"{FOLDER}/{name}.md"
        files.append(File.generated(config, place, content=text, inclusion=InclusionLevel.NOT_IN_NAV))
    return files


def on_page_content(content: str, page: Any, **_: Any) -> str:
    """Return a page whose public names in code lead to their pages."""

    def linked(code: re.Match[str]) -> str:
        if code[1] not in coalloc.__all__ or page.file.src_uri == f"{FOLDER}/{code[1]}.md":
            return code[0]
        url = get_relative_url(f"{FOLDER}/{code[1]}.html", page.url)
        return f'<a href="{url}">{code[0]}</a>'

    return NAME.sub(linked, content)
