"""``coalloc examples``: the instances and the platforms that come with the package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, BadParameter, Option

import coalloc
from coalloc.cli.errors import ExitCode
from coalloc.cli.instance_output import size_of, size_of_platform, write_or_say_instance, write_or_say_platform
from coalloc.cli.options import Json, Output, Quiet
from coalloc.cli.output import check_writable, say_fields, say_json

Name = Annotated[str | None, Argument(metavar="NAME", help="Example to write.", show_default="list all examples")]
Speeds = Annotated[
    str | None,
    Option(
        metavar="NAME",
        help="Node speeds of a platform: from the FLOPS of the site or of the processor; origin equals processor.",
        show_default="site",
    ),
]

EXAMPLES = """
Examples:

coalloc examples

coalloc examples thesis-oas-1 -o wl1.json

coalloc examples grid1 --speeds processor -o grid1.json

All commands accept example:NAME in place of an instance file or a platform file.
"""


def examples(
    name: Name = None, speeds: Speeds = None, output: Output = None, as_json: Json = False, quiet: Quiet = False
) -> ExitCode:
    """List the bundled instances and platforms, or write one to a file."""
    if name is None:
        return _list({"--output": output, "--speeds": speeds}, as_json)
    check_writable({"--output": output})
    if name in coalloc.grid.platforms():
        options: dict[str, Any] = {} if speeds is None else {"speeds": speeds}
        write_or_say_platform(coalloc.grid.platform(name, **options), output, quiet)
        return ExitCode.DONE
    if speeds is not None:
        raise BadParameter(f"requires a platform: {', '.join(coalloc.grid.platforms())}", param_hint="--speeds")
    write_or_say_instance(coalloc.example(name), output, quiet)
    return ExitCode.DONE


def _list(options: dict[str, Path | str | None], as_json: bool) -> ExitCode:
    """List all of them; raises where an option is for one of them."""
    if any(given is not None for given in options.values()):
        raise BadParameter("give the example to write", param_hint="NAME")
    sizes = {name: size_of(coalloc.example(name)) for name in coalloc.examples()}
    sizes |= {name: f"platform; {size_of_platform(coalloc.grid.platform(name))}" for name in coalloc.grid.platforms()}
    if as_json:
        say_json(sizes)
    else:
        say_fields(sizes.items(), width=max(map(len, sizes)))
    return ExitCode.DONE
