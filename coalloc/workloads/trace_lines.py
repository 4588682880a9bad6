"""The lines of a trace, whatever its format: streamed, also through gzip, and never longer than a limit.

The limit keeps a file that is something else, or was made to do harm, from filling the memory.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from coalloc.documents.storage import opened, reason_of
from coalloc.instance import Fault, InstanceError

MAX_LINE_BYTES = 65_536
"""Longest line that is read, comments included."""


def numbered_lines(source: str) -> Iterator[tuple[int, bytes]]:
    """Yield the lines with their numbers, from 1, without surrounding white space."""
    for number, line in enumerate(_bounded_lines(source), start=1):
        if len(line) > MAX_LINE_BYTES:
            raise InstanceError([Fault(f"line {number}", f"exceeds the limit of {MAX_LINE_BYTES} bytes")], source)
        yield number, line.strip()


def _bounded_lines(source: str) -> Iterator[bytes]:
    """Yield lines as they are, but of a longer one no more than a byte beyond the limit."""
    try:
        with opened(source) as stream:
            while line := stream.readline(MAX_LINE_BYTES + 1):
                yield line
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise InstanceError([Fault("", f"cannot be read: {reason_of(error)}")], source) from None
