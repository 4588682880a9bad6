"""The JSON Schema of certificate files: what ``coalloc/verify.py`` reads."""

from __future__ import annotations

from typing import Any

from coalloc.documents.json_schema import DIALECT, Schema
from coalloc.verify import OBJECTIVES

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
RULES = [
    _rule(
        "cases",
        ["split", "job", "cases"],
        split={"enum": ["level", "half"]},
        job={"type": "string"},
        at=COUNT,
        cases={"type": "array", "items": STEP},
    ),
    _rule("infeasible", []),
    _rule("prices", ["table"], table=COUNT),
    _rule(
        "search",
        ["processors", "tables"],
        **RESOURCES,
        tables={"type": "array", "items": COUNT},
    ),
]
PROBLEM = _object(
    ["objective", "links", "scope"],
    {
        "objective": {"enum": list(OBJECTIVES)},
        "slot": {"type": ["number", "null"], "exclusiveMinimum": 0, "description": "Slot, s; null: continuous time."},
        "links": {"const": "strict"},
        "saturation": {"type": "number", "minimum": 0},
        "scope": {"enum": ["platform", "cluster", "node"]},
    },
)
PRICES: Schema = {"type": "object", "additionalProperties": {"type": "array", "items": COUNT}}
PIECE = _object(["from", "to", "prices"], {"from": COUNT, "to": COUNT, "prices": PRICES})
TABLE = _object(
    ["processors"],
    {
        **RESOURCES,
        "weight": {**COUNT, "description": "What a unit of cost counts for, next to prices."},
        "pieces": {"type": "array", "items": PIECE, "description": "Prices from a time to a time, in slots or ticks."},
    },
)
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
            "bound": {
                "type": ["number", "null"],
                "description": "No schedule has an objective below this; null: there is no schedule.",
            },
            "tables": {"type": "array", "items": TABLE},
            "proof": STEP,
            "schedule": {"type": ["object", "null"], "description": "A coalloc-schedule document."},
            "provenance": {"type": "object", "description": "Method and versions; the checker does not read it."},
        },
    ),
    "$defs": {"step": {"oneOf": RULES}},
}
