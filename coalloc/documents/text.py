"""Ids are data: how a text of unknown origin is shown to a person.

Terminals obey escape sequences, and direction marks can make a line read as another. Every message
that contains a text from outside passes it through here.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Any

MAX_SHOWN = 60
"""Longest picture of a foreign text in a message, in characters."""


def visible(text: str) -> str:
    r"""Return ``text`` with control, direction and other unprintable characters escaped (``\n``, ``\x1b``)."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shortened(text: str, limit: int = MAX_SHOWN) -> str:
    """Return ``text``, cut to ``limit`` characters where it is longer; three dots say so."""
    return text if len(text) <= limit else text[: limit - 3] + "..."


def quoted(text: str) -> str:
    r"""Return ``text`` in quotation marks, short, its unprintable characters escaped (``'a\nb'``)."""
    return repr(shortened(text))


def nearest(given: Any, choices: Iterable[Any]) -> str:
    """Return a hint at the choice that is most like a value, whatever its capitals, nothing where none is."""
    folded = {str(choice).casefold(): choice for choice in choices}
    near = difflib.get_close_matches(str(given).casefold(), folded, 1) if isinstance(given, str) else []
    return f" (did you mean {folded[near[0]]!r}?)" if near else ""


def natural_order(text: str) -> list[str | int]:
    """Return the texts and the numbers of a text, in turn: the key by which ``C9`` comes before ``C10``."""
    return [int(part) if i % 2 else part for i, part in enumerate(re.split("([0-9]{1,18})", text))]
