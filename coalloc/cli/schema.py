"""``coalloc schema``: the JSON Schema of a kind of file."""

from __future__ import annotations

from typing import Annotated

from typer import Argument

import coalloc
from coalloc.cli.errors import ExitCode
from coalloc.cli.options import Quiet
from coalloc.cli.output import say_json

Kind = Annotated[
    str, Argument(metavar="KIND", help="File format: instance, platform, schedule, result or certificate.")
]


def schema(kind: Kind, _: Quiet = False) -> ExitCode:
    """Print the JSON Schema (draft 2020-12) of a file format."""
    say_json(coalloc.io.schema(kind))
    return ExitCode.DONE
