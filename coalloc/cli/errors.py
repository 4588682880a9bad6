"""From exceptions to exit codes, with one line on standard error per fault and never a traceback unasked."""

from __future__ import annotations

import re
import sys
import traceback
import warnings
from collections.abc import Callable
from enum import IntEnum
from typing import Any

import typer

from coalloc.cli.output import is_left_unread, note


class ExitCode(IntEnum):
    """Exit codes of a command."""

    DONE = 0
    """Done; also when interrupted with something known, which is written."""
    NOTHING = 1
    """Infeasible, nothing found, or violations found."""
    BAD_INPUT = 2
    """Bad input or usage."""
    FAULT = 3
    """A fault of coalloc."""


WORDS = (
    ("Input should be ", "must be "),
    ("a valid number, unable to parse string as a number", "a number"),
    ("a valid integer, unable to parse string as an integer", "an integer"),
    ("(Possible options: ", "(possible options: "),
    ("Value error, ", ""),
)
"""Words of the library of the shell for a value, and the words used everywhere else."""


def exit_code_of(run: Callable[[], int], help_command: str, debug: bool) -> int:
    """Run a command and return its exit code; whatever it raises becomes lines on standard error.

    ``help_command`` is named after usage errors; with ``debug`` the traceback of every error is shown.
    """
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _shown_in_a_line(warnings.showwarning)
            return run()
    except typer.Exit as end:
        return end.exit_code
    except SystemExit:  # rich leaves so where the reader of a help page has gone (coalloc --help | head): no fault
        return ExitCode.DONE
    except typer.TyperException as error:
        note(f"coalloc: {_sentence(error, help_command)}; see `{help_command}`")
        return ExitCode.BAD_INPUT
    except (KeyboardInterrupt, typer.Abort) as interrupt:
        note(f"coalloc: {interrupt}" if str(interrupt) else "coalloc: interrupted")
        return ExitCode.NOTHING
    except Exception as error:
        if debug:
            traceback.print_exc(file=sys.stderr)
        return _reported(error)


def _shown_in_a_line(shown: Callable[..., None]) -> Callable[..., None]:
    """Return what shows a warning: ours in a line, others as before."""

    def show(message: Warning | str, category: type[Warning], *where: Any) -> None:
        if category.__module__.startswith(f"{__package__.partition('.')[0]}."):
            note(f"coalloc: {message}")
        else:
            shown(message, category, *where)

    return show


UNKNOWN = re.compile(r"No such option: (--[a-z][a-z-]*)")
"""Sentence of the library of the shell about an option that a command does not have."""

OF_TRACES = ("--processors", "--platform", "--broken")
"""Options of the commands that read traces."""


def _sentence(error: typer.TyperException, help_command: str) -> str:
    """Return the message of a usage error as a part of a sentence, with a remedy where one is known."""
    message = " ".join(error.format_message().split())
    unknown = UNKNOWN.match(message)
    if unknown is not None and (remedy := _remedy(unknown.group(1), help_command)):
        return f"no such option: {unknown.group(1)}; {remedy}"
    message = re.sub(r"\. Did you mean (.*)\?$", r" (did you mean \1?)", message)
    for found, ours in WORDS:
        message = message.replace(found, ours)
    return (message[:1].lower() + message[1:]).rstrip(".")


def _remedy(option: str, help_command: str) -> str:
    """Return what to do in place of an option that a command does not have, nothing where that is not known."""
    if help_command == "coalloc generate --help":
        return f"to set a parameter of a generator, use -p {option.removeprefix('--')}=VALUE"
    if option in OF_TRACES:
        return "it requires a trace; convert a trace with `coalloc convert --from swf`"
    return ""


def _reported(error: Exception) -> ExitCode:
    """Say what is wrong, one line per fault, and return the exit code."""
    # Imported only now: the instance room is not needed for --help and --version.
    from coalloc.documents.errors import InternalError
    from coalloc.documents.text import visible
    from coalloc.instance import CoallocError, InstanceError

    if isinstance(error, InstanceError) and error.source:
        note(str(error))
        return ExitCode.BAD_INPUT
    if isinstance(error, CoallocError) and not isinstance(error, InternalError):
        for line in str(error).splitlines():
            note(f"coalloc: {line}")
        return ExitCode.BAD_INPUT
    if isinstance(error, BrokenPipeError) and is_left_unread(sys.stdout):  # by the last line of a help page alone
        return ExitCode.DONE
    kind = "" if isinstance(error, InternalError) else f"{type(error).__name__}: "
    note(f"coalloc: internal error, please report it: {kind}{visible(str(error))} (--debug prints the traceback)")
    return ExitCode.FAULT
