"""Output of commands: text on the standard streams, and files that are known to be writable beforehand."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from coalloc.cli.interrupts import finishing

_IS_TAKEN = ContextVar("standard output is taken", default=False)
"""Whether a file goes to standard output: what the command says goes to standard error then."""

NO_STREAMS = ("--store",)
"""Options of files that are read again, and so cannot be standard output."""


def say(text: str) -> None:
    """Print a line, or several, of the result on standard output; on standard error where a file goes there."""
    _print(text, sys.stderr if _IS_TAKEN.get() else sys.stdout)


def note(text: str) -> None:
    """Print a line of progress or a fault on standard error."""
    _print(text, sys.stderr)


def say_json(document: Any) -> None:
    """Print a JSON document on standard output; what is not known, or infinite, is null."""
    from coalloc.documents.strict_json import plain

    say(json.dumps(plain(document), indent=2, allow_nan=False))


def say_fields(fields: Iterable[tuple[str, str]], width: int = 10) -> None:
    """Print aligned lines of a name and what belongs to it."""
    for name, text in fields:
        say(f"{name:<{width}} {text}")


def _print(text: str, stream: TextIO | None) -> None:
    """Print; a reader that has gone (``coalloc ... | head``) is no fault, nor is a stream that is closed."""
    if stream is None:  # print would take standard output
        return
    try:
        print(text, file=stream, flush=True)
    except BrokenPipeError:
        from coalloc.documents.storage import leave_unread

        leave_unread(stream)
    except OSError as error:
        from coalloc.instance import CoallocError

        if stream is sys.stdout:
            raise CoallocError(f"standard output cannot be written: {error.strerror}") from None


def is_left_unread(stream: TextIO) -> bool:
    """Return whether the reader of a stream has gone; the stream then ends in nothing."""
    from coalloc.documents.storage import leave_unread

    try:
        print(file=stream, flush=True)  # a flush alone raises once only
    except BrokenPipeError:
        leave_unread(stream)
        return True
    return False


def check_writable(outputs: Mapping[str, Path | None], inputs: Iterable[str | Path | None] = ()) -> None:
    """Raise where an output could not be written later, so that no long work is lost; one line per fault.

    ``outputs`` are paths by the name of their option. No two may be the same file, and none may be
    one of the ``inputs``. What the command says gives way to a file on standard output.
    """
    from coalloc.documents.storage import STANDARD, STANDARD_OUTPUT, is_device
    from coalloc.documents.text import visible
    from coalloc.instance import CoallocError

    files = [path for path in inputs if path is not None and str(path) != STANDARD]
    taken = {os.path.realpath(path): "it is an input file" for path in files}
    lines = []
    for option, path in outputs.items():
        if path is None:
            continue
        is_standard = str(path) in STANDARD_OUTPUT
        place = STANDARD if is_standard else os.path.realpath(path)
        known = "" if is_device(path) else taken.get(place, "")
        reason = known if is_standard else _obstacle(path) or known
        if is_standard and option in NO_STREAMS:
            reason = "a store must be a file"
        _IS_TAKEN.set(_IS_TAKEN.get() or is_standard)
        if reason:
            lines.append(f"{option}: {visible(str(path))} cannot be written: {reason}")
        taken[place] = f"it is also the file of {option}"
    if lines:
        raise CoallocError("\n".join(lines))


def _obstacle(path: Path) -> str:
    """Return why a file cannot be written here, nothing where it can."""
    from tempfile import TemporaryFile

    from coalloc.documents.storage import is_device, reason_of

    try:
        with suppress(FileNotFoundError):
            path.stat()
        if path.is_dir():
            return "it is a folder"
        folder = Path(os.path.realpath(path)).parent
        if is_device(path):
            return "" if os.access(path, os.W_OK) else "permission denied"
        if not folder.is_dir():
            return "the folder does not exist"
        with TemporaryFile(dir=folder):  # what a mode allows a file system may refuse
            return ""
    except OSError as error:
        return reason_of(error)


def make_folder(option: str, folder: Path) -> None:
    """Make the folder that an option names, where it is missing."""
    from coalloc.documents.storage import reason_of
    from coalloc.documents.text import visible
    from coalloc.instance import CoallocError

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CoallocError(f"{option}: {visible(str(folder))} cannot be created: {reason_of(error)}") from None


@dataclass(frozen=True, slots=True)
class WrittenFiles:
    """Results of writing files: a name and a path for each file written, a line for each that could not be written."""

    fields: list[tuple[str, str]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def write(self, name: str, path: Path, write: Callable[[Path], object]) -> None:
        """Write a file, whatever became of those before: a full disk must not cost what still can be kept."""
        from coalloc.documents.text import visible
        from coalloc.instance import CoallocError

        try:
            with finishing():
                write(path)
        except CoallocError as error:
            self.faults.append(str(error))
        else:
            self.fields.append((name, visible(str(path))))

    def write_all(self, files: Mapping[str, tuple[Path | None, Callable[[Path], object]]]) -> None:
        """Write the files that have a path, by name, each with the function that writes it."""
        for name, (path, write) in files.items():
            if path is not None:
                self.write(name, path, write)

    def raise_faults(self) -> None:
        """Raise what went wrong, once the rest is done."""
        from coalloc.instance import CoallocError

        if self.faults:
            raise CoallocError("\n".join(self.faults))
