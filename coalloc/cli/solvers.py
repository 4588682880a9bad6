"""``coalloc solvers``: what ``coalloc solve`` can use on this machine."""

from __future__ import annotations

from dataclasses import asdict

from coalloc.cli.errors import ExitCode
from coalloc.cli.options import Json, Quiet
from coalloc.cli.output import say, say_json

EXAMPLES = """
Examples:

coalloc solvers

coalloc solve example:thesis-oas-1 --slot 50% --formulation mode --solver cbc
"""

HEADINGS = {"solver": "MIP solvers, for --solver:", "auto": "Started by --formulation auto:"}
"""Headings of the groups of solvers."""


def solvers(as_json: Json = False, _: Quiet = False) -> ExitCode:
    """List the solvers: versions, the options that they take, and why a known one cannot be used."""
    from coalloc.solvers.backends.adapters import list_companions, list_solvers

    groups = {"solver": list_solvers(), "auto": list_companions()}
    if as_json:
        say_json([asdict(entry) | {"used_by": use} for use, listed in groups.items() for entry in listed])
        return ExitCode.DONE
    for use, listed in groups.items():
        say(HEADINGS[use])
        for entry in listed:
            known = f"{entry.version:<12} {', '.join(entry.options)}" if entry.usable else f"not usable: {entry.reason}"
            say(f"  {entry.name:<10} {known}")
    return ExitCode.DONE
