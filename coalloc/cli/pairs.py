"""``KEY=VALUE`` arguments, as generators and policies take their parameters."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from typer import BadParameter


def parameters_of(texts: Iterable[str], option: str) -> dict[str, Any]:
    """Return ``KEY=VALUE`` arguments of an option; a value is JSON where it can be read so, else a text."""
    parameters: dict[str, Any] = {}
    for text in texts:
        key, equals, written = text.partition("=")
        if not equals or not key:
            raise BadParameter(f"must be KEY=VALUE, got {text!r}", param_hint=option)
        if key in parameters:
            raise BadParameter(f"{key} is given twice", param_hint=option)
        try:
            parameters[key] = json.loads(written)
        except (ValueError, RecursionError):
            parameters[key] = written
    return parameters
