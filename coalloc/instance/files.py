"""Instance and platform files, version 1, 2 or 3: ``.json`` or ``.json.gz``, in and out.

A file is of the first version that has all fields which it uses. Older versions remain supported.

An instance file that is not valid gives one :class:`InstanceError` with every fault and its JSON
path. Nothing that a file says is ever executed or used as a path.
"""

from __future__ import annotations

import hashlib
import os

from coalloc.documents.arguments import public
from coalloc.documents.errors import Fault
from coalloc.documents.kinds import Document, FileKind, load_document, read_value, text_of, value_of, write_value
from coalloc.documents.storage import FILE_LIMIT, FilePath
from coalloc.documents.values import Text, Value, value
from coalloc.instance.consistency import platform_faults, workload_faults
from coalloc.instance.instance import Instance
from coalloc.instance.platform import Platform


def _instance_faults(document: Document) -> list[Fault]:
    """Return what is wrong between the fields of an instance document."""
    return _held_platform_faults(document) + workload_faults(document)


def _held_platform_faults(document: Document) -> list[Fault]:
    """Return what is wrong between the fields of a platform that stands under ``platform``."""
    return [fault.under("platform") for fault in platform_faults(document.get("platform"))]


@value()
class _PlatformHolder(Value):
    """A platform under the key ``platform``, as an instance has it."""

    platform: Platform
    name: Text = "platform"


VERSIONS = (1, 2, 3)
INSTANCE = FileKind("instance", Instance, ("name", "platform", "jobs"), _instance_faults, VERSIONS)
PLATFORM = FileKind("platform", Platform, ("clusters",), platform_faults, VERSIONS)
HELD_PLATFORM = FileKind("platform", _PlatformHolder, ("platform",), _held_platform_faults, VERSIONS)


def instance_hash(instance: Instance) -> str:
    """Return the SHA-256 of the canonical file of an instance, in hexadecimal."""
    digest = hashlib.sha256()
    for piece in text_of(instance, INSTANCE):
        digest.update(piece.encode())
    return digest.hexdigest()


@public
def read_instance(path: FilePath, limit: int = FILE_LIMIT) -> Instance:
    """Read an instance from a JSON file.

    Parameters
    ----------
    path : str or PathLike
        A ``.json`` or ``.json.gz`` file; ``"-"`` is standard input.
    limit : int, default 256000000
        Maximum size of the decompressed file, bytes.

    Returns
    -------
    Instance
        The instance.

    Raises
    ------
    InstanceError
        The file cannot be read or is not valid. All validation errors are reported together, each with its JSON path.

    See Also
    --------
    coalloc.write_instance : Write an instance to a file.
    coalloc.read_swf : Read a workload trace.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import coalloc
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "instance.json"
    ...     coalloc.write_instance(coalloc.example("pas-figure-3.3"), path)
    ...     coalloc.read_instance(path)
    <Instance 'pas-figure-3.3': 3 jobs on 2 clusters with 4 processors>
    """
    return read_value(path, INSTANCE, limit)


@public
def write_instance(instance: Instance, path: FilePath) -> None:
    """Write an instance to a JSON file; the same instance gives the same bytes.

    Parameters
    ----------
    instance : Instance
        The instance.
    path : str or PathLike
        A ``.json`` or ``.json.gz`` file; ``"-"`` is standard output.

    Raises
    ------
    CoallocError
        The file cannot be written; an existing file is then unchanged.

    See Also
    --------
    coalloc.read_instance : Read an instance from a file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import coalloc
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "instance.json.gz"
    ...     coalloc.write_instance(coalloc.example("pas-figure-3.3"), path)
    ...     path.exists()
    True
    """
    write_value(instance, path, INSTANCE)


@public
def read_platform(path: FilePath, limit: int = FILE_LIMIT) -> Platform:
    """Read a platform from a platform file or an instance file.

    Parameters
    ----------
    path : str or PathLike
        A ``.json`` or ``.json.gz`` file; ``"-"`` is standard input.
    limit : int, default 256000000
        Maximum size of the decompressed file, bytes.

    Returns
    -------
    Platform
        The platform.

    Raises
    ------
    InstanceError
        The file cannot be read or is not valid. All validation errors are reported together, each with its JSON path.

    See Also
    --------
    coalloc.io.write_platform : Write a platform to a file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import coalloc
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "instance.json"
    ...     coalloc.write_instance(coalloc.example("pas-figure-3.3"), path)
    ...     coalloc.io.read_platform(path)
    <Platform of 2 clusters with 4 processors>
    """
    document, faults = load_document(path, limit)
    source = os.fspath(path)
    if document.get("format") == INSTANCE.format:
        return value_of(document, INSTANCE, faults, source).platform
    if "platform" in document:
        return value_of(document, HELD_PLATFORM, faults, source).platform
    return value_of(document, PLATFORM, faults, source)


@public
def write_platform(platform: Platform, path: FilePath) -> None:
    """Write a platform to a JSON file; the same platform gives the same bytes.

    Parameters
    ----------
    platform : Platform
        The platform.
    path : str or PathLike
        A ``.json`` or ``.json.gz`` file; ``"-"`` is standard output.

    Raises
    ------
    CoallocError
        The file cannot be written; an existing file is then unchanged.

    See Also
    --------
    coalloc.io.read_platform : Read a platform from a file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import coalloc
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "platform.json"
    ...     coalloc.io.write_platform(coalloc.grid.platform("grid1"), path)
    ...     coalloc.io.read_platform(path)
    <Platform of 7 clusters with 4442 processors>
    """
    write_value(platform, path, PLATFORM)
