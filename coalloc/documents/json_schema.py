"""JSON Schema (draft 2020-12) of every kind of file, out of the definitions that validate it.

A schema refuses what is wrong within a field; what fields must keep between them (unique ids, jobs
that fit) is for :mod:`coalloc.instance.consistency`. JSON Schema takes 3.0 for a whole number, the
reader does not.
"""

from __future__ import annotations

from typing import Any

from coalloc.documents.kinds import Kind

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, Any]


def schema_of(kind: Kind[Any]) -> Schema:
    """Return the JSON Schema of a kind of file."""
    schema = _tidy(kind.adapter.json_schema())
    envelope = {"format": {"const": kind.format}, "version": {"enum": list(kind.versions)}}
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
