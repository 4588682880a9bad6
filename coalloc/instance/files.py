"""Instance and platform files, version 1 or 2: ``.json`` or ``.json.gz``, in and out.

A file is of version 2 where it says something that version 1 has no word for; version 1 is read for ever.

An instance file that is not valid gives one :class:`InstanceError` with every fault and its JSON
path. Nothing that a file says is ever executed or used as a path.
"""

from __future__ import annotations

import os

from coalloc.documents.arguments import public
from coalloc.documents.errors import Fault
from coalloc.documents.kinds import Document, Kind, load_document, read_value, value_of, write_value
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


VERSIONS = (1, 2)
INSTANCE = Kind("instance", Instance, ("name", "platform", "jobs"), _instance_faults, VERSIONS)
PLATFORM = Kind("platform", Platform, ("clusters",), platform_faults, VERSIONS)
HELD_PLATFORM = Kind("platform", _PlatformHolder, ("platform",), _held_platform_faults, VERSIONS)


@public
def read_instance(path: FilePath, limit: int = FILE_LIMIT) -> Instance:
    """Return the instance of a file; ``limit`` is its largest size in bytes, decompressed.

    Raises
    ------
    InstanceError
        It cannot be read or is not valid: every fault, with its JSON path.
    """
    return read_value(path, INSTANCE, limit)


@public
def write_instance(instance: Instance, path: FilePath) -> None:
    """Write an instance as ``.json``, or ``.json.gz`` through gzip: the same bytes for the same instance.

    Raises
    ------
    CoallocError
        It cannot be written; a file of that name is then what it was before.
    """
    write_value(instance, path, INSTANCE)


@public
def read_platform(path: FilePath, limit: int = FILE_LIMIT) -> Platform:
    """Return the platform of a platform file, or of an instance file.

    In a platform file the platform may also stand under the key ``platform``, as in an instance.

    Raises
    ------
    InstanceError
        It cannot be read or is not valid: every fault, with its JSON path.
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
    """Write a platform as ``.json``, or ``.json.gz`` through gzip: the same bytes for the same platform.

    Raises
    ------
    CoallocError
        It cannot be written; a file of that name is then what it was before.
    """
    write_value(platform, path, PLATFORM)
