"""Strict JSON: what Python's parser lets pass is refused here, with its path, and nothing can exhaust it.

Refused are keys that stand twice in an object (the parser keeps the last), NaN and the infinities,
numbers beyond the range of floats (read as infinite), and nesting without end. Written is one flat
object per line, in ASCII, so that a file can be read by a person, compared by line, and shown in
any terminal.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from coalloc.documents.errors import Fault
from coalloc.documents.sentences import NotFinite, json_path

MAX_DEPTH = 100
"""Deepest nesting of lists and objects; our own files need less than ten levels."""

MAX_DIGITS = 308
"""Most characters of a whole number: every float is below 1.8e308."""

COMMENTS = ("//", "/*", "#")
"""Beginnings of comments in other formats."""

CHUNK = 1 << 20
NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
STEPS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
"""An opening bracket is one level down, a closing one is one up (-1 as a signed byte)."""

MARK = re.compile(r"[ \t\n\r]*([][{},:])[ \t\n\r]*")
"""A character between the parts of a document, and the white space around it."""

ENCODER = json.JSONEncoder(allow_nan=False)


class _Repeating(dict[str, object]):
    """An object of a file in which keys stand twice."""

    repeated: tuple[str, ...] = ()


def parse(content: bytes) -> tuple[object, list[Fault]]:
    """Return what the text holds, and the faults of a document that can be parsed nevertheless.

    A number that is not finite is left as a :class:`NotFinite`, of a repeated key the last value.

    Raises
    ------
    ValueError
        The text is no JSON in UTF-8, or too deep, in words for a person.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"is not valid UTF-8 (byte {error.start})") from None
    if not text.strip():
        raise ValueError("is empty, must contain a JSON object")
    if _is_deep(content):
        raise ValueError(f"is nested too deeply: the limit is {MAX_DEPTH} levels")
    hooks = _Hooks()
    try:
        document = json.loads(
            text,
            object_pairs_hook=hooks.object,
            parse_float=hooks.number,
            parse_int=hooks.whole_number,
            parse_constant=hooks.not_finite,
        )
    except json.JSONDecodeError as error:
        raise ValueError(f"is not JSON: {_cause(error)} (line {error.lineno}, column {error.colno})") from None
    return document, list(_faults(document, ())) if hooks.found_faults else []


class _Scanner:
    """A text that is parsed from its first character on; whatever is wrong raises ``ValueError``."""

    def __init__(self, text: str) -> None:
        self._text, self._place = text, 0
        decoder: Any = json.JSONDecoder(object_pairs_hook=_without_repetition, parse_constant=_refuse)
        self._scan = decoder.scan_once

    def part(self) -> object:
        """Return the number, text, list or object that comes next."""
        try:
            part, self._place = self._scan(self._text, self._place)
        except StopIteration:
            raise ValueError("is not JSON") from None
        return part

    def mark(self, among: str) -> str:
        """Return the next character, one of some, and skip the white space around it."""
        found = MARK.match(self._text, self._place)
        if found is None or found[1] not in among:
            raise ValueError("is not JSON")
        self._place = found.end()
        return found[1]

    def blocks(self, size: int) -> Iterator[list[object]]:
        """Yield the elements of the list that comes next; it is not empty."""
        self.mark("[")
        is_open = True
        while is_open:
            block: list[object] = []
            while is_open and len(block) < size:
                block.append(self.part())
                is_open = self.mark(",]") == ","
            yield block

    @property
    def is_at_end(self) -> bool:
        return self._place == len(self._text)


def parse_in_blocks(content: bytes, key: str, size: int, take: Callable[[list[object]], None]) -> dict[str, object]:
    """Return the object that a text holds, without the elements of its list ``key``, which are never held all at once.

    ``take`` receives them in blocks of a size.

    Raises
    ------
    ValueError
        Something is wrong, or the list is empty: :func:`parse` says what.
    """
    if _is_deep(content):
        raise ValueError("is nested too deeply")
    scanner = _Scanner(content.decode("utf-8-sig"))
    scanner.mark("{")
    document: dict[str, object] = {}
    is_open = True
    while is_open:
        name = scanner.part()
        scanner.mark(":")
        if not isinstance(name, str) or name in document:
            raise ValueError("is no key, or occurs twice")
        document[name] = None
        if name == key:
            for block in scanner.blocks(size):
                take(block)
        else:
            document[name] = scanner.part()
        is_open = scanner.mark(",}") == ","
    if not scanner.is_at_end:
        raise ValueError("is not JSON")
    return document


def _without_repetition(pairs: list[tuple[str, object]]) -> dict[str, object]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError("a key occurs twice in the same object")
    return made


def _refuse(text: str) -> object:
    raise ValueError(f"{text} is not finite")


def _cause(error: json.JSONDecodeError) -> str:
    """Return why a text is not JSON: what other dialects allow by its name, else what the parser says."""
    before, after = error.doc[: error.pos].rstrip(), error.doc[error.pos :].lstrip()
    if after.startswith(COMMENTS):
        return "JSON does not allow comments"
    if (before + after).endswith(",") or (before.endswith(",") and after.startswith(("]", "}"))):
        return "trailing comma"
    if after.startswith(",") and after[1:].lstrip().startswith(("]", "}")):
        return "trailing comma"
    return error.msg


class _Hooks:
    """Hooks of the parser for objects and numbers; ``found_faults`` says whether a search pays."""

    def __init__(self) -> None:
        self.found_faults = False

    def object(self, pairs: list[tuple[str, object]]) -> dict[str, object]:
        """Return an object, marked where keys stand twice."""
        made = dict(pairs)
        if len(made) == len(pairs):
            return made
        self.found_faults = True
        marked = _Repeating(made)
        keys = [key for key, _ in pairs]
        marked.repeated = tuple(key for key in made if keys.count(key) > 1)
        return marked

    def number(self, text: str) -> float:
        """Return a number with a point or an exponent."""
        number = float(text)
        return number if math.isfinite(number) else self.not_finite(text)

    def whole_number(self, text: str) -> float:
        """Return a whole number."""
        return int(text) if len(text) <= MAX_DIGITS else self.not_finite(text)

    def not_finite(self, text: str) -> NotFinite:
        """Return a number that is none."""
        self.found_faults = True
        return NotFinite(text)


def _is_deep(content: bytes) -> bool:
    """Return whether brackets outside of strings are nested beyond the limit; the parser would recurse."""
    bare = content.replace(rb"\\", b"").replace(rb"\"", b"")
    depth, within = 0, 0
    for start in range(0, len(bare), CHUNK):
        parts = bare[start : start + CHUNK].split(b'"')
        brackets = b"".join(parts[within::2]).translate(None, NO_BRACKETS)
        within = (within + len(parts) - 1) % 2
        steps = np.frombuffer(brackets.translate(STEPS), dtype=np.int8)
        depths = depth + np.cumsum(steps, dtype=np.int64)
        if depths.max(initial=0) > MAX_DEPTH:
            return True
        depth = int(depths[-1]) if depths.size else depth
    return False


def _faults(part: object, loc: tuple[str | int, ...]) -> Iterator[Fault]:
    """Yield what the parser let pass, in the order of the document."""
    if isinstance(part, NotFinite):
        yield Fault(json_path(loc), part.sentence)
    elif isinstance(part, dict):
        if isinstance(part, _Repeating):
            yield from (Fault(json_path((*loc, key)), "occurs twice in the same object") for key in part.repeated)
        for key, inner in part.items():
            yield from _faults(inner, (*loc, key))
    elif isinstance(part, list):
        for i, inner in enumerate(part):
            yield from _faults(inner, (*loc, i))


def plain(part: Any) -> Any:
    """Return what JSON can hold: numbers of numpy as Python's, null for what is not finite."""
    if isinstance(part, Mapping):
        return {str(key): plain(inner) for key, inner in part.items()}
    if isinstance(part, (list, tuple)):
        return [plain(inner) for inner in part]
    if isinstance(part, str):
        return str(part)
    number = part.item() if hasattr(part, "item") else part
    return None if isinstance(number, float) and not math.isfinite(number) else number


def layout(part: object) -> str:
    """Return JSON text in which an object without inner objects stands on one line."""
    return "".join(laid_out(part))


def laid_out(part: object, indent: str = "") -> Iterator[str]:
    """Yield the pieces of :func:`layout`; an iterator, which yields something, is a list that is not held."""
    if not _holds_objects(part):
        yield ENCODER.encode(part)
        return
    inner = indent + "  "
    before, after = "{}" if isinstance(part, dict) else "[]"
    for key, one in _named(part):
        yield f"{before}\n{inner}{key}"
        yield from laid_out(one, inner)
        before = ","
    yield f"\n{indent}{after}"


def _named(part: Any) -> Iterator[tuple[str, object]]:
    """Yield the parts of an object or a list, each with what stands before it."""
    if isinstance(part, dict):
        return ((f"{ENCODER.encode(key)}: ", one) for key, one in part.items())
    return (("", one) for one in part)


def _holds_objects(part: object) -> bool:
    """Return whether there are objects (or lists of lists) below the first level."""
    if isinstance(part, list):
        return any(isinstance(value, (dict, list)) for value in part)
    if isinstance(part, dict):
        return any(isinstance(value, dict) or _holds_objects(value) for value in part.values())
    return isinstance(part, Iterator)
