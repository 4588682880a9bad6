"""``coalloc policies``: what ``coalloc simulate`` can run."""

from __future__ import annotations

from coalloc.cli.errors import ExitCode
from coalloc.cli.options import Json
from coalloc.cli.output import say, say_json

EXAMPLES = """
Examples:

coalloc policies

coalloc simulate example:mesd-example --policy easy -p allocation=first-fit
"""


def policies(as_json: Json = False) -> ExitCode:
    """List the policies with their options and defaults."""
    from coalloc.heuristics.registry import POLICIES

    if as_json:
        say_json({name: {"summary": entry.summary, "options": entry.options} for name, entry in POLICIES.items()})
        return ExitCode.DONE
    for name, entry in POLICIES.items():
        options = ", ".join(f"{option}={default!r}" for option, default in entry.options.items())
        say(f"{name:<14} {entry.summary}\n{'':<14} {options or 'no options'}")
    return ExitCode.DONE
