"""Sentences for what pydantic refuses: where it is in the document, what is wanted, what came instead."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import math
import typing
from collections.abc import Iterable, Sequence
from typing import Any

import pydantic

from coalloc.documents.errors import Fault, InstanceError
from coalloc.documents.text import quoted, shortened, visible

WANTED = {
    "greater_than_equal": "must be at least {ge:g}",
    "greater_than": "must be above {gt:g}",
    "less_than_equal": "must be at most {le:g}",
    "finite_number": "must be finite",
    "int_type": "must be an integer",
    "int_from_float": "must be an integer",
    "int_parsing": "must be an integer",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "bool_type": "must be true or false",
    "string_type": "must be a string",
    "string_unicode": "must be a string without lone surrogates",
    "tuple_type": "must be a list",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "mapping_type": "must be an object",
    "dataclass_type": "must be an object",
    "literal_error": "must be {expected}",
    "enum": "must be {expected}",
}
"""Requirement on a field, by pydantic's name of the error."""

WITHOUT_PICTURE = {
    "missing": "is missing",
    "missing_argument": "is missing",
    "string_too_short": "must not be empty",
    "too_short": "must not be empty",
}
"""Faults that need no picture of what came."""

LIKENESS = 0.75
"""Similarity to a known key, from 0 to 1, from which on an unknown key counts as a misspelling of it."""

UNKNOWN_KEY = ("extra_forbidden", "unexpected_keyword_argument")


class NotFinite(float):
    """A number of a file that no finite float can hold, with its text: ``NaN``, ``1e999``, 400 digits."""

    text: str

    def __new__(cls, text: str) -> NotFinite:
        """Keep the text, to show it."""
        number = super().__new__(cls, "nan")
        number.text = text
        return number

    @property
    def sentence(self) -> str:
        """The error, without its place."""
        return f"must be finite, got {shown(self)}"


def faults_of(error: pydantic.ValidationError, owner: type, envelope: tuple[str, ...] = ()) -> list[Fault]:
    """Return our sentences for what pydantic found while it made an ``owner``, each with its JSON path.

    ``envelope`` names the keys that a file has beside the fields of the value.
    """
    details = error.errors(include_url=False)
    return [fault for detail in details for fault in _detail_faults(detail, owner, envelope)]


def _detail_faults(detail: Any, owner: Any, envelope: tuple[str, ...]) -> list[Fault]:
    """Return the faults that one pydantic error detail stands for."""
    loc: list[str | int] = list(detail["loc"])
    if loc and isinstance(loc[0], int):  # an argument of a call, by position
        loc[0] = (_fields(owner)[loc[0] :] or [f"argument {loc[0]}"])[0]
    path = json_path(loc)
    nested = detail.get("ctx", {}).get("error")
    if isinstance(nested, InstanceError):
        return [fault.under(path) for fault in nested.faults]
    if detail["type"] == "too_short" and not _is_empty(detail["input"]):
        return []  # the list is not empty, but each of its elements has faults of its own
    if detail["type"] in UNKNOWN_KEY:
        holder = tuple(0 if isinstance(part, int) else part for part in loc[:-1])
        return [Fault(path, _unknown_key(str(loc[-1]), owner, holder, envelope))]
    return [Fault(path, _sentence(detail))]


def _is_empty(got: Any) -> bool:
    """Return whether a list, of whatever library, has no elements."""
    return hasattr(got, "__len__") and len(got) == 0


def json_path(parts: Iterable[str | int]) -> str:
    """Return ``jobs[3].tasks`` for ``("jobs", 3, "tasks")``; keys that are no plain words are quoted."""
    path = ""
    for part in parts:
        if isinstance(part, int):
            path += f"[{part}]"
        elif part.isidentifier():
            path += f".{part}" if path else part
        else:
            path += f"[{quoted(part)}]"
    return path


def _sentence(detail: Any) -> str:
    """Return one sentence for one pydantic error detail."""
    kind, limits, got = detail["type"], detail.get("ctx", {}), detail["input"]
    if isinstance(got, NotFinite):
        return got.sentence
    if kind in WITHOUT_PICTURE:
        return WITHOUT_PICTURE[kind]
    if kind == "float_type" and isinstance(got, int) and not isinstance(got, bool):
        kind = "finite_number"  # a whole number beyond the range of floats
    wanted = WANTED.get(kind)
    return f"{wanted.format(**limits)}, got {shown(got)}" if wanted else visible(str(detail["msg"]))


def shown(got: object) -> str:
    """Return a short, safe picture of a value that was refused."""
    if got is None or isinstance(got, bool):
        return {None: "null", True: "true", False: "false"}[got]
    if isinstance(got, (dict, list, tuple)):
        return "an object" if isinstance(got, dict) else "a list"
    if isinstance(got, str):
        return quoted(got)
    if isinstance(got, int) and got.bit_length() > 1024:
        return f"a number with about {math.ceil(got.bit_length() * math.log10(2))} digits"
    return shortened(visible(got.text if isinstance(got, NotFinite) else str(got)), 40)


@functools.lru_cache(maxsize=256)
def _unknown_key(key: str, owner: Any, holder: tuple[str | int, ...], envelope: tuple[str, ...]) -> str:
    """Return the sentence for a key that the object at ``holder`` below ``owner`` does not know."""
    known = [*(() if holder else envelope), *_fields(_type_at(owner, holder))]
    near = difflib.get_close_matches(key, known, 1, LIKENESS)
    hint = f" (did you mean {near[0]}?)" if near else ""
    return f"is not a known key{hint}; known keys: {', '.join(known)}" if known else "is not a known key"


def _type_at(owner: Any, loc: Sequence[str | int]) -> Any:
    """Return the type of what stands at ``loc`` below ``owner``, ``None`` where that is not fixed."""
    for part in loc:
        owner = next(iter(typing.get_args(owner)), None) if isinstance(part, int) else _hints(owner).get(part)
        if type(None) in typing.get_args(owner):
            owner = next(option for option in typing.get_args(owner) if option is not type(None))
    return owner


def _fields(owner: Any) -> list[str]:
    """Return the keys of a value class, in order; none of another type."""
    return [f.name.rstrip("_") for f in dataclasses.fields(owner)] if dataclasses.is_dataclass(owner) else []


@functools.cache
def _hints(owner: Any) -> dict[str, Any]:
    """Return the types of the fields of a value class, by name."""
    return typing.get_type_hints(owner) if dataclasses.is_dataclass(owner) else {}
