"""HTML pages from the templates of the package: self-contained, nothing on them is loaded from elsewhere."""

from __future__ import annotations

from typing import Any

from coalloc.documents.text import visible


def rendered(template: str, **parts: Any) -> str:
    """Return a page: what is on it is escaped, and its unprintable characters shown, unless the template says ``safe``.

    The same parts give the same page.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("coalloc"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.get_template(template).render(parts)


def _printable(entry: Any) -> Any:
    """Return what is shown of an entry; markup is of a type of its own."""
    return visible(entry) if type(entry) is str else entry
