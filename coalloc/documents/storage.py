"""Bytes from and to the disk: bounded reading, plain or gzip, and writing that is all or nothing.

``-`` is standard input where something is read, and standard output where something is written; a file of that name is
``./-``.
"""

from __future__ import annotations

import gzip
import io
import os
import secrets
import sys
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, TextIO, cast

from coalloc.documents.errors import CoallocError, Fault, InstanceError
from coalloc.documents.text import visible

FILE_LIMIT = 256_000_000
"""Largest file that is read, in bytes after decompression: 256 MB."""

CHUNK = 1 << 20

GZIP_MAGIC = b"\x1f\x8b"

STANDARD = "-"
STANDARD_OUTPUT = (STANDARD, "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
"""Names of standard output: its device may be a pipe, or a file that others write to."""

FilePath = str | os.PathLike[str]


def read_bytes(path: FilePath, limit: int = FILE_LIMIT) -> bytes:
    """Return the content of a file, or of standard input, decompressed where its first bytes say that it is gzip.

    Raises
    ------
    InstanceError
        It cannot be read, is no gzip file, or holds more than ``limit`` bytes.
    """
    source = os.fspath(path)
    try:
        with opened(source) as stream:
            return _bounded(stream, limit)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        sentence = f"is not a complete gzip file: {visible(str(error))}"
    except OSError as error:
        sentence = f"cannot be read: {reason_of(error)}"
    except ValueError as error:
        sentence = str(error)
    raise InstanceError([Fault("", sentence)], source)


@contextmanager
def opened(source: str) -> Iterator[IO[bytes]]:
    """Open a file, a pipe or standard input for reading, through gzip where its first bytes or its name say so.

    Nothing is read twice.
    """
    with nullcontext(_standard_input()) if source == STANDARD else open(source, "rb") as stream:
        if source.endswith(".gz") or stream.peek(len(GZIP_MAGIC)).startswith(GZIP_MAGIC):
            with gzip.open(stream) as decompressed:
                yield cast(IO[bytes], decompressed)
        else:
            yield stream


def _standard_input() -> io.BufferedReader:
    """Return the bytes of standard input."""
    stream = sys.stdin.buffer
    return stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(cast(io.RawIOBase, stream))


def _bounded(stream: IO[bytes], limit: int) -> bytes:
    """Return what the stream holds, read piece by piece so that a gzip bomb ends at the limit."""
    content = bytearray()
    while chunk := stream.read(CHUNK):
        content += chunk
        if len(content) > limit:
            raise ValueError(f"exceeds the size limit of {limit / 1e6:g} MB (decompressed)")
    return bytes(content)


def write_atomically(path: FilePath, content: str | bytes | bytearray) -> None:
    """Write a file as a whole: a temporary neighbour takes its name when it is complete.

    Text is written as UTF-8. Standard output (:data:`STANDARD_OUTPUT`), and what is no ordinary file, is written to
    directly. On failure the file of that name is what it was before.

    Raises
    ------
    CoallocError
        It cannot be written.
    """
    encoded = content.encode() if isinstance(content, str) else content
    try:
        if os.fspath(path) in STANDARD_OUTPUT:
            _write_to_standard_output(encoded)
        elif is_device(path):
            Path(path).write_bytes(encoded)
        else:
            _replace(Path(os.path.realpath(path)), encoded)
    except (OSError, ValueError) as error:
        raise CoallocError(f"{visible(os.fspath(path))}: cannot be written: {reason_of(error)}") from None


def is_device(path: FilePath) -> bool:
    """Return whether something is there that is no ordinary file: it is written to directly."""
    return os.path.exists(path) and not os.path.isfile(path)


def _write_to_standard_output(content: bytes | bytearray) -> None:
    """Write all of it now; a reader that has gone (``coalloc ... | head``) is no fault."""
    sys.stdout.flush()
    try:
        sys.stdout.buffer.write(content)
        sys.stdout.flush()
    except BrokenPipeError:
        leave_unread(sys.stdout)


def leave_unread(stream: TextIO) -> None:
    """Let a stream that nobody reads any more end in nothing: what its buffer holds would fail again at the exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _replace(target: Path, content: bytes | bytearray) -> None:
    """Put a new file in the place of ``target``."""
    neighbour = target.with_name(f".coalloc-{secrets.token_hex(8)}.tmp")
    try:
        with neighbour.open("xb") as stream:
            stream.write(content)
        neighbour.replace(target)
    finally:
        neighbour.unlink(missing_ok=True)


def write_together(folder: FilePath, contents: Mapping[str, bytes]) -> None:
    """Write files, by name, into a folder, which is made where it is missing: no name is taken before all are written.

    Raises
    ------
    CoallocError
        They cannot be written; the files of these names are then what they were before.
    """
    target = Path(folder)
    try:
        target.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".coalloc-", dir=target) as stage:
            for name, content in contents.items():
                Path(stage, name).write_bytes(content)
            for name in contents:
                Path(stage, name).replace(target / name)
    except (OSError, ValueError) as error:
        raise CoallocError(f"{visible(os.fspath(folder))}: cannot be written: {reason_of(error)}") from None


def compressed(content: bytes | bytearray) -> bytes:
    """Return the content as a gzip file that depends on nothing else (no name, no time)."""
    return gzip.compress(content, mtime=0)


def reason_of(error: Exception) -> str:
    """Return why the system refused, without the path."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return visible(reason[:1].lower() + reason[1:])
