"""The command group: where every command starts and every error ends."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextvars import copy_context
from typing import Any, NoReturn

import typer
from typer.core import TyperCommand, TyperGroup

from coalloc.cli.errors import exit_code_of

PROGRAM = "coalloc"
DEBUG = "--debug"
"""Wherever it stands on the line: errors come with their traceback."""


class Command(TyperCommand):
    """A command that takes no empty text: as a path it would be the folder at hand, and no other option means it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuse the first argument or option that is empty, by its name; then go on as ever."""
        given, _, _ = self.make_parser(ctx).parse_args(args=list(args))
        parameters: Sequence[Any] = self.get_params(ctx)
        for parameter in parameters:
            values = given.get(parameter.name)
            if "" in (values if isinstance(values, list | tuple) else [values]) and not ctx.resilient_parsing:
                raise typer.BadParameter("must not be empty, got ''", ctx=ctx, param=parameter)
        return super().parse_args(ctx, args)


class Shell(TyperGroup):
    """The commands of coalloc, with exit codes and messages of our own."""

    def main(self, args: Sequence[str] | None = None, *_: Any, **__: Any) -> NoReturn:
        """Run the command that the arguments ask for and exit; arguments default to those of the process."""
        self._main_shell_completion({}, PROGRAM)  # answers the shell, and exits, where it asks for completions
        given = list(sys.argv[1:] if args is None else args)
        arguments = [argument for argument in given if argument != DEBUG]

        def run() -> int:
            with self.make_context(PROGRAM, list(arguments)) as context:
                return int(self.invoke(context) or 0)

        # In a context of its own: what one command sets does not reach the next of the same process.
        sys.exit(copy_context().run(exit_code_of, run, self._help_command(arguments), DEBUG in given))

    def _help_command(self, arguments: Sequence[str]) -> str:
        """Return the command that shows the help which the user seems to need."""
        names: list[str] = [PROGRAM]
        group: TyperGroup = self
        for argument in arguments:
            command = group.commands.get(argument)
            if command is None:
                break
            names.append(argument)
            if not isinstance(command, TyperGroup):
                break
            group = command
        return " ".join([*names, "--help"])
