"""What can be wrong with an input, said so that a person can mend it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from coalloc.documents.text import shortened, visible

MAX_LINES = 50
"""Lines of a message; what is beyond is counted, and still in ``InstanceError.faults``."""

MAX_PATH = 200
"""Longest JSON path in a message, in characters."""


class CoallocError(Exception):
    """Base of every error that coalloc raises on purpose; the message says what to do."""


class InternalError(CoallocError):
    """A fault of coalloc itself: what it made does not pass its own checks."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault of an input: where it is (a JSON path, ``jobs[3].tasks``) and a sentence."""

    path: str
    sentence: str

    def under(self, prefix: str) -> Fault:
        """Return the same fault, seen from the document that holds this part at ``prefix``."""
        if not self.path or not prefix:
            return Fault(prefix or self.path, self.sentence)
        joint = "" if self.path.startswith("[") else "."
        return Fault(f"{prefix}{joint}{self.path}", self.sentence)

    def __str__(self) -> str:
        return f"{shortened(visible(self.path), MAX_PATH)}: {self.sentence}" if self.path else self.sentence


class FaultsError(CoallocError):
    """Base of the errors that report several faults together.

    ``faults`` holds every fault that was found, ``source`` the name of the file, if any.
    The message has one line per fault: ``wl1.json: jobs[3].tasks: must be at least 1, got 0``;
    after 50 lines the others are counted.
    """

    def __init__(self, faults: Iterable[Fault], source: str | None = None) -> None:
        self.faults = tuple(faults)
        self.source = source
        prefix = f"{visible(source)}: " if source else ""
        lines = [f"{prefix}{fault}" for fault in self.faults[:MAX_LINES]]
        more = len(self.faults) - len(lines)
        if more:
            lines.append(f"{prefix}and {more} more fault{'s' if more > 1 else ''}")
        super().__init__("\n".join(lines))

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.faults, self.source)


class InstanceError(FaultsError, ValueError):
    """An instance, a platform, a job, a schedule or a file of one of them is not valid."""


class ArgumentError(FaultsError, TypeError, ValueError):
    """A call has a keyword that its function does not know, or an argument of a wrong type or outside its range."""
