"""The JSON Schema of certificate files: what ``coalloc/verify.py`` reads."""

from __future__ import annotations

from typing import Any

from coalloc.documents.json_schema import DIALECT, Schema

NAMES: Schema = {"type": "array", "items": {"type": "string"}}
COUNT: Schema = {"type": "integer", "minimum": 0}
RESOURCES: Schema = {
    "processors": {"enum": ["speeds", "groups"], "description": "Which processors are counted together."},
    "links": {**NAMES, "description": "Links that are counted."},
}


def _object(required: list[str], properties: dict[str, Any]) -> Schema:
    return {"type": "object", "additionalProperties": False, "required": required, "properties": properties}


def _rule(name: str, required: list[str], **properties: Any) -> Schema:
    return _object(["rule", *required], {"rule": {"const": name}, **properties})


STEP: Schema = {"$ref": "#/$defs/step"}
SPLIT = _object(["kind", "jobs"], {"kind": {"enum": ["level", "start", "order"]}, "jobs": NAMES, "at": COUNT})
RULES = [
    _rule("cases", ["split", "cases"], split=SPLIT, cases={"type": "array", "items": STEP}),
    _rule("infeasible", []),
    _rule("longest-job", ["job"], job={"type": "string"}),
    _rule("chain", ["jobs"], jobs=NAMES),
    _rule("prices", ["table"], table=COUNT, **{"from": COUNT}, apart={"type": "array", "items": NAMES}),
    _rule(
        "search",
        ["processors", "tables"],
        **RESOURCES,
        tables={"type": "array", "items": COUNT},
        first_half={"type": "string"},
    ),
]
PROBLEM = _object(
    ["objective", "links", "scope"],
    {
        "objective": {"const": "makespan"},
        "slot": {"type": ["number", "null"], "exclusiveMinimum": 0, "description": "Slot, s; null: continuous time."},
        "links": {"const": "strict"},
        "saturation": {"type": "number", "minimum": 0},
        "scope": {"enum": ["platform", "cluster", "node"]},
    },
)
PRICES: Schema = {"type": "object", "additionalProperties": {"type": "array", "items": COUNT}}
CERTIFICATE: Schema = {
    "$schema": DIALECT,
    "title": "coalloc-certificate",
    **_object(
        ["format", "version", "problem", "bound", "proof"],
        {
            "format": {"const": "coalloc-certificate"},
            "version": {"const": 1},
            "instance": {"type": "string", "description": "Name of the instance."},
            "instance_sha256": {"type": "string", "description": "SHA-256 of the canonical instance file."},
            "problem": PROBLEM,
            "bound": {**COUNT, "description": "No schedule ends before this time, in slots or ticks."},
            "tables": {"type": "array", "items": _object(["processors", "prices"], {**RESOURCES, "prices": PRICES})},
            "proof": STEP,
            "schedule": {"type": ["object", "null"], "description": "A coalloc-schedule document."},
            "provenance": {"type": "object", "description": "Method and versions; the checker does not read it."},
        },
    ),
    "$defs": {"step": {"oneOf": RULES}},
}
