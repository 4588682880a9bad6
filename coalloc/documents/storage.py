"""Bytes from and to the disk: bounded reading, plain or gzip, and writing that is all or nothing."""

from __future__ import annotations

import gzip
import os
import secrets
import tempfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import BinaryIO, cast

from coalloc.documents.errors import CoallocError, Fault, InstanceError
from coalloc.documents.text import visible

FILE_LIMIT = 256_000_000
"""Largest file that is read, in bytes after decompression: 256 MB."""

CHUNK = 1 << 20

FilePath = str | os.PathLike[str]


def read_bytes(path: FilePath, limit: int = FILE_LIMIT) -> bytes:
    """Return the content of a file, decompressed where its name ends in ``.gz``.

    Raises
    ------
    InstanceError
        It cannot be read, is no gzip file, or holds more than ``limit`` bytes.
    """
    source = os.fspath(path)
    try:
        with _opened(source) as stream:
            return _bounded(stream, limit)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        sentence = f"is not a complete gzip file: {visible(str(error))}"
    except OSError as error:
        sentence = f"cannot be read: {reason_of(error)}"
    except ValueError as error:
        sentence = str(error)
    raise InstanceError([Fault("", sentence)], source)


def _opened(source: str) -> BinaryIO:
    """Open a file for reading, through gzip where its name says so."""
    return cast(BinaryIO, gzip.open(source)) if source.endswith(".gz") else open(source, "rb")


def _bounded(stream: BinaryIO, limit: int) -> bytes:
    """Return what the stream holds, read piece by piece so that a gzip bomb ends at the limit."""
    content = bytearray()
    while chunk := stream.read(CHUNK):
        content += chunk
        if len(content) > limit:
            raise ValueError(f"is larger than {limit / 1e6:g} MB (decompressed), the limit")
    return bytes(content)


def write_atomically(path: FilePath, content: str | bytes) -> None:
    """Write a file as a whole: a temporary neighbour takes its name when it is complete.

    Text is written as UTF-8. What is no ordinary file (``/dev/stdout``) is written to directly. On
    failure the file of that name is what it was before.

    Raises
    ------
    CoallocError
        It cannot be written.
    """
    encoded = content.encode() if isinstance(content, str) else content
    try:
        target = Path(os.path.realpath(path))
        if target.exists() and not target.is_file():
            target.write_bytes(encoded)
        else:
            _replace(target, encoded)
    except (OSError, ValueError) as error:
        raise CoallocError(f"{visible(os.fspath(path))}: cannot be written: {reason_of(error)}") from None


def _replace(target: Path, content: bytes) -> None:
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


def compressed(content: bytes) -> bytes:
    """Return the content as a gzip file that depends on nothing else (no name, no time)."""
    return gzip.compress(content, mtime=0)


def reason_of(error: Exception) -> str:
    """Return why the system refused, without the path."""
    reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return visible(reason[:1].lower() + reason[1:])
