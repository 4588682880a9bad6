"""Files of every kind: an envelope of format and version around the fields of a value.

A :class:`FileKind` is all that a new kind of file needs; reading, writing and the JSON Schema
(:mod:`coalloc.documents.json_schema`) follow from the definition of its value.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

import pydantic

from coalloc.documents.columns import FEW, ColumnFilling, Columns, many_of
from coalloc.documents.errors import Fault, InstanceError
from coalloc.documents.sentences import faults_of, shown
from coalloc.documents.storage import FILE_LIMIT, FilePath, compressed, read_bytes, write_atomically
from coalloc.documents.strict_json import laid_out, parse, parse_in_blocks
from coalloc.documents.values import LEFT_OUT, Value, Written

V = TypeVar("V")

PREFIX = "coalloc-"
ENVELOPE = ("format", "version")
TRACES = (".swf", ".swf.gz")
"""Suffixes of files that hold traces."""

Document = dict[str, Any]
"""A parsed file: an object, whatever faults its fields have."""


def _no_faults(_: Document) -> list[Fault]:
    return []


@dataclass(frozen=True)
class FileKind(Generic[V]):
    """A kind of file.

    Parameters
    ----------
    name
        The format is ``coalloc-`` and this name.
    value
        The value class that the file holds; its fields are the keys.
    head
        Keys that are always written, in this order, before the others.
    consistency
        Returns what is wrong between the fields of a document whose fields may have faults.
    versions
        Versions that are read; written is the first that has every field that says something.
    """

    name: str
    value: type[V]
    head: tuple[str, ...]
    consistency: Callable[[Document], list[Fault]] = _no_faults
    versions: tuple[int, ...] = (1,)

    @property
    def format(self) -> str:
        """Name of the format, as the file says it."""
        return PREFIX + self.name

    @functools.cached_property
    def adapter(self) -> pydantic.TypeAdapter[V]:
        """Pydantic's view of the value."""
        return pydantic.TypeAdapter(self.value)


def load_document(path: FilePath, limit: int = FILE_LIMIT) -> tuple[Document, list[Fault]]:
    """Return the object that a file holds, ``.json`` or ``.json.gz``, and the faults of its JSON.

    Raises
    ------
    InstanceError
        There is no object to look into: the file cannot be read, is no JSON or holds something else.
    """
    return _document_in(read_bytes(path, limit), path)


def _document_in(content: bytes, path: FilePath) -> tuple[Document, list[Fault]]:
    """Return the object that the content of a file holds, and the faults of its JSON."""
    try:
        document, faults = parse(content)
        if not isinstance(document, dict):
            raise ValueError(f"must contain a JSON object, got {shown(document)}")
    except InstanceError:
        raise
    except ValueError as error:
        remedy = "; to read a trace use coalloc.read_swf" if os.fspath(path).lower().endswith(TRACES) else ""
        raise InstanceError([Fault("", f"{error}{remedy}")], os.fspath(path)) from None
    return document, faults


def read_value(path: FilePath, kind: FileKind[V], limit: int = FILE_LIMIT) -> V:
    """Return the value of a file; raises :class:`InstanceError` with every fault and its JSON path."""
    content = read_bytes(path, limit)
    if content.count(b"{") > FEW:
        try:
            return value_of(_filled_document(content, kind), kind, [])
        except (ValueError, OverflowError, InstanceError):
            pass  # what is wrong is said of the document as a whole
    document, faults = _document_in(content, path)
    return value_of(document, kind, faults, os.fspath(path))


def _filled_document(content: bytes, kind: FileKind[Any]) -> Document:
    """Return the object that a text holds, with columns for the values of which it has many.

    Raises ``ValueError`` or ``OverflowError`` where something is wrong with them, or there are none.
    """
    key, element = many_of(cast(Any, kind.value)) or ("", Value)
    filling = ColumnFilling(element)
    document = parse_in_blocks(content, key, FEW, filling.add)
    return document | ({key: filling.filled} if key in document else {})


def value_of(document: Document, kind: FileKind[V], known_faults: list[Fault], source: str | None = None) -> V:
    """Return the value that a document holds, or raise all its faults, with those known before."""
    faults = known_faults + _envelope_faults(document, kind)
    if _is_of_another_kind(document, kind):
        raise InstanceError(faults, source)
    fields = {key: field for key, field in document.items() if key not in ENVELOPE}
    try:
        value = kind.adapter.validate_python(fields)
    except pydantic.ValidationError as error:
        faults += faults_of(error, kind.value, ENVELOPE) + kind.consistency(document)
    if not faults and document["version"] != kind.versions[-1]:
        faults = list(_younger_fields(value, document["version"]))
    if faults:
        raise InstanceError(dict.fromkeys(faults), source)
    return value


def _envelope_faults(document: Document, kind: FileKind[Any]) -> list[Fault]:
    """Return what is wrong with format and version."""
    faults = [Fault(key, "is missing") for key in ENVELOPE if key not in document]
    got = document.get("format", kind.format)
    if got != kind.format:
        faults.append(Fault("format", f"must be {kind.format!r}, got {shown(got)}"))
    version = document.get("version", kind.versions[-1])
    if type(version) is not int or version not in kind.versions:
        *others, last = map(str, kind.versions)
        read = " or ".join(filter(None, (", ".join(others), last)))
        faults.append(Fault("version", f"must be {read} (the supported versions), got {shown(version)}"))
    return faults


def _is_of_another_kind(document: Document, kind: FileKind[Any]) -> bool:
    """Return whether a document is another kind of ours: to compare its fields would only confuse."""
    got = document.get("format")
    return isinstance(got, str) and got.startswith(PREFIX) and got != kind.format


def write_value(value: V, path: FilePath, kind: FileKind[V]) -> None:
    """Write a value as ``.json`` or ``.json.gz``, the same bytes for the same value.

    Raises
    ------
    CoallocError
        It cannot be written; nothing is left behind then.
    """
    content = bytearray()
    for piece in text_of(value, kind):
        content += piece.encode()
    content += b"\n"
    write_atomically(path, compressed(content) if os.fspath(path).endswith(".gz") else content)


def text_of(value: V, kind: FileKind[V]) -> Iterator[str]:
    """Yield the pieces of the canonical text of a value."""
    return laid_out(_document(value, kind, _objects))


def document_of(value: V, kind: FileKind[V]) -> Document:
    """Return the canonical document of a value: envelope, head, then its other fields in order.

    Defaults are written, so that a file does not change its meaning with a later default; left out
    is only what is absent (``None`` or an empty list where that is the default, or what says as much: ``LEFT_OUT``).
    """
    return _document(value, kind, lambda many: [*_objects(many)])


def _document(value: V, kind: FileKind[V], listed: Callable[[Columns[Any]], object]) -> Document:
    """Return the document of a value, in which ``listed`` stands for columns."""
    fields = {key: getattr(value, key) for key in kind.head} | _present_fields(value)
    return {
        "format": kind.format,
        "version": max((kind.versions[0], *(_versions(value) if len(kind.versions) > 1 else ()))),
        **{
            key: listed(field) if isinstance(field, Columns) and len(field) else plain(field)
            for key, field in fields.items()
        },
    }


def _objects(many: Columns[Any]) -> Iterator[Document]:
    """Yield the object of each value that columns hold."""
    absents = {
        name: absent for name, absent in _absents(cast(Any, many.cls)).items() if absent is ... or name in many.names
    }
    for contents in zip(*map(many.column, absents), strict=True):
        yield {
            name.rstrip("_"): plain(content)
            for (name, absent), content in zip(absents.items(), contents, strict=True)
            if content != absent
        }


def plain(part: Any) -> Any:
    """Return lists and objects for tuples and values; a field called ``from_`` in Python is ``from`` in files."""
    if isinstance(part, (str, int, float)) or part is None:
        return part
    if isinstance(part, Written):
        return part.written()
    if isinstance(part, Sequence):
        return [plain(inner) for inner in part]
    fields = part if isinstance(part, Mapping) else _present_fields(part)
    return {key.rstrip("_"): plain(field) for key, field in fields.items()}


def _present_fields(value: Any) -> dict[str, Any]:
    """Return the fields of a value that have something to say, by name."""
    owner: Any = type(value)
    absents = _absents(owner)
    fields = {name: getattr(value, name) for name in absents}
    return {name: field for name, field in fields.items() if field != absents[name]}


@functools.cache
def _absents(owner: Any) -> dict[str, object]:
    """Return for each field of a value class the content that is as good as none, ``...`` where there is none."""
    fields = dataclasses.fields(owner)
    return {
        f.name: f.default if f.default in (None, ()) or LEFT_OUT.items() <= f.metadata.items() else ... for f in fields
    }


# ------------------------------------------------------------------------------ versions


def _younger(since: int, version: int) -> str:
    return f'requires version {since} of the format, the file has version {version}: set "version": {since}'


def _younger_fields(part: Any, version: int, path: str = "") -> Iterator[Fault]:
    """Yield a fault for each field that says something which files of a version do not have."""
    owner: Any = type(part)
    young, holders = _ages(owner)
    for name, (since, default) in young.items():
        if since > version and getattr(part, name) != default:
            yield Fault(f"{path}{name}", _younger(since, version))
    for name in holders:
        inner = getattr(part, name)
        if isinstance(inner, Sequence):
            for i, one in _elements(inner):
                yield from _younger_fields(one, version, f"{path}{name}[{i}].")
        elif inner is not None:
            yield from _younger_fields(inner, version, f"{path}{name}.")


def _versions(part: Any) -> Iterator[int]:
    """Yield the version from which on files have each of the fields that say something, where that is not the first."""
    owner: Any = type(part)
    young, holders = _ages(owner)
    for name, (since, default) in young.items():
        if getattr(part, name) != default:
            yield since
    for name in holders:
        inner = getattr(part, name)
        for _, one in _elements(inner) if isinstance(inner, Sequence) else () if inner is None else ((0, inner),):
            yield from _versions(one)


def _elements(values: Sequence[Any]) -> Iterable[tuple[int, Any]]:
    """Return values with their places; of columns those that may have a field which is younger than version 1."""
    if isinstance(values, Columns):
        young, holders = _ages(cast(Any, values.cls))
        return values.stating([*young, *holders])
    return enumerate(values)


@functools.cache
def _ages(owner: Any) -> tuple[dict[str, tuple[int, object]], tuple[str, ...]]:
    """Return the fields of a value class that are younger than version 1, and those that hold values with some.

    Of the younger ones: since which version there are, and their defaults.
    """
    fields = dataclasses.fields(owner)
    young = {f.name: (f.metadata["since"], f.default) for f in fields if "since" in f.metadata}
    hints = typing.get_type_hints(owner)
    return young, tuple(f.name for f in fields if any(any(_ages(inner)) for inner in _values_in(hints[f.name])))


def _values_in(hint: Any) -> Iterator[Any]:
    """Yield the value classes that a type is made of."""
    if isinstance(hint, type) and issubclass(hint, Value):
        yield hint
    for inner in typing.get_args(hint):
        yield from _values_in(inner)
