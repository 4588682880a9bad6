"""HTML pages from the templates of the package: self-contained, nothing on them is loaded from elsewhere."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from coalloc.documents.text import visible

if TYPE_CHECKING:
    from jinja2 import Environment


def rendered(template: str, **parts: Any) -> str:
    """Return a page: what is on it is escaped, and its unprintable characters shown, unless the template says ``safe``.

    The same parts give the same page.
    """
    return str(_environment().get_template(template).render(parts))


@functools.cache
def _environment() -> Environment:
    """Return what reads the templates, once for all pages."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("coalloc.documents"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_printable,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"pixels": "{:.1f}".format, "figure": _figure}
    return environment


def _figure(entry: object) -> object:
    """Return a number with ten digits, nothing for what is not there, anything else as it is."""
    return "" if entry is None else f"{entry:.10g}" if isinstance(entry, float) else entry


def _printable(entry: Any) -> Any:
    """Return what is shown of an entry; markup is of a type of its own."""
    return visible(entry) if type(entry) is str else entry
