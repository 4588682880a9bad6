"""``coalloc generate``: seeded instances of the families that the sources describe."""

from __future__ import annotations

from typing import Annotated

from typer import Argument, BadParameter, Option

import coalloc
from coalloc.cli.errors import ExitCode
from coalloc.cli.instance_output import write_or_say_instance
from coalloc.cli.options import Output, Quiet, Seed
from coalloc.cli.output import check_writable, say
from coalloc.cli.pairs import parameters_of

Name = Annotated[str | None, Argument(metavar="NAME", help="Generator; --list lists all of them.")]
Parameters = Annotated[
    list[str] | None,
    Option("--parameter", "-p", metavar="KEY=VALUE", help="Parameter of the generator. Repeatable."),
]
List = Annotated[bool, Option("--list", help="List the generators with their parameters and defaults.")]

EXAMPLES = """
Examples:

coalloc generate --list

coalloc generate thesis-oas --seed 3 -p jobs=10 -o wl3.json

coalloc generate thesis-oas --seed 1 | coalloc solve /dev/stdin --slot 100%
"""


def generate(
    name: Name = None,
    *,
    seed: Seed = 0,
    parameter: Parameters = None,
    list_generators: List = False,
    output: Output = None,
    quiet: Quiet = False,
) -> ExitCode:
    """Generate a random instance. The same generator, seed and parameters give the same file."""
    if list_generators:
        from coalloc.workloads.generators import generators

        say("\n\n".join(str(description) for description in generators().values()))
        return ExitCode.DONE
    if name is None:
        raise BadParameter("give a generator, or --list to list all", param_hint="NAME")
    from coalloc.cli.own_classes import faults_of
    from coalloc.workloads.generators import families

    check_writable({"--output": output})
    with faults_of(name, families().get(name, object)):
        instance = coalloc.generate(name, seed, **parameters_of(parameter or [], "--parameter"))
    write_or_say_instance(instance, output, quiet)
    return ExitCode.DONE
