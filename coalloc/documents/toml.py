"""Specifications, TOML: read as other files are, the text kept for whoever wants to know what exactly was asked."""

from __future__ import annotations

import os
import tomllib
from typing import Any

from coalloc.documents.errors import Fault, InstanceError
from coalloc.documents.storage import FilePath, read_bytes


def load_toml(path: FilePath) -> tuple[dict[str, Any], str]:
    """Return the table that a file holds, and its text.

    Raises
    ------
    InstanceError
        The file cannot be read, or is no TOML.
    """
    source = os.fspath(path)
    try:
        text = read_bytes(source).decode()
        return tomllib.loads(text), text
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise InstanceError([Fault("", f"is not TOML: {error}")], source) from None
