"""``coalloc policies``: what ``coalloc simulate`` can run."""

from __future__ import annotations

from itertools import zip_longest
from textwrap import wrap

from coalloc.cli.errors import ExitCode
from coalloc.cli.options import Json, Quiet
from coalloc.cli.output import say, say_json

WIDTH = 64
"""Characters of a line beside the names, which makes lines of 80."""

EXAMPLES = """
Examples:

coalloc policies

coalloc simulate example:mesd-example --policy easy -p allocation=first-fit
"""


def policies(as_json: Json = False, _: Quiet = False) -> ExitCode:
    """List the policies with their options and defaults."""
    from coalloc.heuristics.registry import POLICIES

    if as_json:
        say_json({name: {"summary": entry.summary, "options": entry.options} for name, entry in POLICIES.items()})
        return ExitCode.DONE
    for name, entry in POLICIES.items():
        options = ", ".join(f"{option}={default!r}" for option, default in entry.options.items())
        lines = [*wrap(entry.summary, WIDTH), *wrap(options or "no options", WIDTH, break_on_hyphens=False)]
        say("\n".join(f"{label:<14} {line}" for label, line in zip_longest([name], lines, fillvalue="")))
    return ExitCode.DONE
