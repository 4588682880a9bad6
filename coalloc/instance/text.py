"""Ids are data: how a text of unknown origin is shown to a person."""

from __future__ import annotations


def visible(text: str) -> str:
    r"""Return ``text`` with control and other unprintable characters escaped (``\n``, ``\x1b``)."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
