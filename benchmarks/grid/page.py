"""A page of results that is printed while it is made, and written as well."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def show(lines: Iterable[str], output: Path | None) -> None:
    """Print lines as they come, and write them to a file where one is given."""
    shown = []
    for line in lines:
        print(line, flush=True)
        shown.append(line)
    if output:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text("\n".join([*shown, ""]), encoding="utf-8")
