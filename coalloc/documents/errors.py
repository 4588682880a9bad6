"""Errors of inputs, worded so that a person can mend them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from coalloc.documents.text import shortened, visible

MAX_LINES = 50
"""Lines of a message; what is beyond is counted, and still in ``InstanceError.faults``."""

MAX_PATH = 200
"""Longest JSON path in a message, in characters."""


class CoallocError(Exception):
    """Base class of all errors that coalloc raises deliberately; the message describes the remedy.

    Wrong calls (an unknown keyword, an argument of a wrong type or out of range) raise the subclass ``ArgumentError``,
    which is also a ``TypeError`` and a ``ValueError``.

    Examples
    --------
    >>> import coalloc
    >>> try:
    ...     coalloc.simulate(coalloc.example("pas-figure-3.3"), "esay")
    ... except coalloc.CoallocError as error:
    ...     print("esay" in str(error))
    True
    """


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
    """Base of the errors that report several errors of an input together.

    The message has one line per error, such as ``wl1.json: jobs[3].tasks: must be at least 1, got 0``; lines after the
    50th are counted.

    Parameters
    ----------
    faults : iterable of Fault
        The errors, each with ``path`` and ``sentence``; the attribute ``faults`` is a tuple of them.
    source : str or None, default None
        Name of the file, if there is one.
    """

    def __init__(self, faults: Iterable[Fault], source: str | None = None) -> None:
        self.faults = tuple(faults)
        self.source = source
        prefix = f"{visible(source)}: " if source else ""
        lines = [f"{prefix}{fault}" for fault in self.faults[:MAX_LINES]]
        more = len(self.faults) - len(lines)
        if more:
            lines.append(f"{prefix}and {more} more error{'s' if more > 1 else ''}")
        super().__init__("\n".join(lines))

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.faults, self.source)


class InstanceError(FaultsError, ValueError):
    """An instance, platform, job, schedule or file is not valid; all errors are reported together.

    The message has one line per error, such as ``wl1.json: jobs[3].tasks: must be at least 1, got 0``; lines after the
    50th are counted.

    Attributes
    ----------
    faults : tuple of Fault
        All errors, each with ``path`` and ``sentence``.
    source : str or None
        Name of the file, if there is one.

    Examples
    --------
    >>> import coalloc
    >>> try:
    ...     coalloc.Job("J1", tasks=0, base_time=-1.0)
    ... except coalloc.InstanceError as error:
    ...     print([fault.path for fault in error.faults])
    ['tasks', 'base_time']
    """


class ArgumentError(FaultsError, TypeError, ValueError):
    """A call has a keyword that its function does not know, or an argument of a wrong type or outside its range."""
