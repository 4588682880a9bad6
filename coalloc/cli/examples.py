"""``coalloc examples``: the instances that come with the package."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, BadParameter

import coalloc
from coalloc.cli.errors import ExitCode
from coalloc.cli.instance_output import size_of, write_or_say_instance
from coalloc.cli.options import Output
from coalloc.cli.output import check_writable, say_fields

Name = Annotated[str | None, Argument(metavar="[NAME]", help="Example to write; none: list them.")]

EXAMPLES = """
Examples:

coalloc examples

coalloc examples thesis-oas-1 -o wl1.json

Where a command wants an instance file, example:NAME stands for a bundled one.
"""


def examples(name: Name = None, output: Output = None) -> ExitCode:
    """List the bundled instances, or write one of them."""
    if name is not None:
        check_writable({"--output": output})
        write_or_say_instance(coalloc.example(name), output)
        return ExitCode.DONE
    if output is not None:
        raise BadParameter("name the example to write", param_hint="NAME")
    names = coalloc.examples()
    say_fields(((name, size_of(coalloc.example(name))) for name in names), width=max(map(len, names)))
    return ExitCode.DONE
