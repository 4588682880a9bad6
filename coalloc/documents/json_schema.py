"""JSON Schema (draft 2020-12) of every kind of file, out of the definitions that validate it.

A schema refuses what is wrong within a field; what fields must keep between them (unique ids, jobs
that fit) is for :mod:`coalloc.instance.consistency`. JSON Schema takes 3.0 for a whole number, the
reader does not. What a property means, and its unit, is what the docstring of its value says of the parameter.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import typing
from collections.abc import Iterator
from typing import Any

from coalloc.documents.kinds import FileKind

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, Any]


def schema_of(kind: FileKind[Any]) -> Schema:
    """Return the JSON Schema of a kind of file."""
    schema = _tidy(kind.adapter.json_schema())
    owners = {owner.__name__: owner for owner in _owners(kind.value)}
    _describe(schema, kind.value)
    for name, definition in schema.get("$defs", {}).items():
        if "properties" in definition:
            _describe(definition, owners[name])
    envelope = {
        "format": {"const": kind.format, "description": "The file format."},
        "version": {"enum": list(kind.versions), "description": "Version of the format."},
    }
    return {
        "$schema": DIALECT,
        **schema,
        "title": kind.format,
        "properties": envelope | schema["properties"],
        "required": [*envelope, *schema["required"]],
    }


def _tidy(part: Any) -> Any:
    """Return a schema without titles that repeat the key, with one-line descriptions, and no default of null."""
    if isinstance(part, list):
        return [_tidy(inner) for inner in part]
    if not isinstance(part, dict):
        return part
    return {
        key: inner.partition("\n")[0] if key == "description" and isinstance(inner, str) else _tidy(inner)
        for key, inner in part.items()
        if not (key == "title" and isinstance(inner, str)) and not (key == "default" and inner is None)
    }


def _owners(hint: Any) -> Iterator[Any]:
    """Yield the classes with fields that a type is made of, itself included."""
    if dataclasses.is_dataclass(hint):
        yield hint
        for inner in typing.get_type_hints(hint).values():
            yield from _owners(inner)
    for inner in typing.get_args(hint):
        yield from _owners(inner)


def _describe(schema: Schema, owner: Any) -> None:
    """Give each property what the docstring of the class says of it; that of the kind of number is only its unit."""
    said = parameters_of(owner)
    for name, definition in schema["properties"].items():
        definition["description"] = said[name]


def parameters_of(owner: Any) -> dict[str, str]:
    """Return what the docstring of a class says of each of its parameters, by key, as plain text on one line."""
    _, _, section = inspect.cleandoc(owner.__doc__).partition("Parameters\n----------\n")
    found: dict[str, str] = {}
    for entry in re.split(r"\n(?=\S)", section.partition("\n\n")[0]):
        head, _, text = entry.partition("\n")
        found[head.partition(" : ")[0].rstrip("_")] = " ".join(text.split()).replace("``", "")
    return found
