"""Values that the shell reads itself: ``KEY=VALUE``, as generators and policies take parameters, and shares."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from typer import BadParameter

BRACKETS = ("{", "[")
"""Opening brackets, with which no text begins: a value in brackets is JSON."""


def share(text: str | float) -> float:
    """Return a share that is written as ``50%`` or as ``0.5``."""
    match = re.fullmatch(r"\s*((?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)\s*(%?)\s*", str(text))
    if match is None:
        raise BadParameter(f"must be a share such as 50% or 0.5, got {text!r}")
    return float(match.group(1)) / (100.0 if match.group(2) else 1.0)


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
        except ValueError as error:
            if written.startswith(BRACKETS):
                raise BadParameter(f"{key} begins as JSON and is none: {error}", param_hint=option) from None
            parameters[key] = written
        except RecursionError:
            parameters[key] = written
    return parameters
