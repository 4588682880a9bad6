"""The door: values that validate themselves when they are made, from Python as from a file.

A value is a frozen pydantic dataclass with strict fields. Whoever makes one with a wrong field gets
an :class:`InstanceError` that lists every fault; nothing is converted silently, except a whole
number where seconds or MB/s are asked.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, Self, TypeVar, dataclass_transform

import pydantic
from pydantic import Field
from pydantic.dataclasses import dataclass as pydantic_dataclass

from coalloc.instance.errors import Fault, InstanceError
from coalloc.instance.text import visible

Text = Annotated[str, Field(strict=True, min_length=1)]
Count = Annotated[int, Field(strict=True, ge=1)]
Seconds = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
PositiveSeconds = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]
NonNegative = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
Positive = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]
Share = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]
PositiveShare = Annotated[float, Field(strict=True, gt=0, le=1, allow_inf_nan=False)]

CONFIG = pydantic.ConfigDict(extra="forbid")

T = TypeVar("T")


class Value:
    """What every value can do: return a changed copy of itself."""

    __slots__ = ()

    def replace(self, **changes: Any) -> Self:
        """Return a copy with the named fields changed, validated again."""
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}  # type: ignore[arg-type]
        return type(self)(**(fields | changes))


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def value(*, slots: bool = True) -> Callable[[type[T]], type[T]]:
    """Make a class a validated, immutable value; ``slots=False`` where it caches what it derives."""

    def decorate(cls: type[T]) -> type[T]:
        made: Any = pydantic_dataclass(frozen=True, slots=slots, config=CONFIG)(cls)
        validating_init = made.__init__
        names = [f.name for f in dataclasses.fields(made)]

        @functools.wraps(validating_init)
        def __init__(self: T, *args: Any, **kwargs: Any) -> None:
            try:
                validating_init(self, *args, **kwargs)
            except pydantic.ValidationError as error:
                raise InstanceError(faults_of(error, names)) from None

        made.__init__ = __init__
        return made  # type: ignore[no-any-return]

    return decorate


def json_path(parts: Iterable[str | int]) -> str:
    """Return ``jobs[3].tasks`` for ``("jobs", 3, "tasks")``."""
    path = ""
    for part in parts:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path


def faults_of(error: pydantic.ValidationError, positional: Sequence[str] = ()) -> list[Fault]:
    """Return our sentences for what pydantic found, each with its JSON path.

    ``positional`` names the arguments of a call, which pydantic knows by number.
    """
    faults: list[Fault] = []
    for detail in error.errors(include_url=False):
        first, *rest = detail["loc"] or ("",)
        named = positional[first] if isinstance(first, int) and first < len(positional) else first
        path = json_path((named, *rest))
        nested = detail.get("ctx", {}).get("error")
        if isinstance(nested, InstanceError):
            faults += [fault.under(path) for fault in nested.faults]
        else:
            faults.append(Fault(path, sentence_of(detail)))
    return faults


def sentence_of(detail: Any) -> str:
    """Return one sentence for one pydantic error detail."""
    kind, limits, got = detail["type"], detail.get("ctx", {}), detail["input"]
    if kind in ("missing", "missing_argument"):
        return "is missing"
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):
        return "is not a known key"
    if kind == "string_too_short":
        return "must not be empty"
    wanted = {
        "greater_than_equal": "must be at least {ge:g}",
        "greater_than": "must be above {gt:g}",
        "less_than_equal": "must be at most {le:g}",
        "finite_number": "must be finite",
        "int_type": "must be a whole number",
        "int_from_float": "must be a whole number",
        "float_type": "must be a number",
        "string_type": "must be a text",
        "tuple_type": "must be a list",
        "list_type": "must be a list",
        "dataclass_type": "must be an object",
        "literal_error": "must be {expected}",
    }.get(kind)
    if wanted is None:
        return str(detail["msg"])
    return f"{wanted.format(**limits)}, got {shown(got)}"


def shown(got: object) -> str:
    """Return a short, safe picture of a value that was refused."""
    if isinstance(got, dict):
        return "an object"
    if isinstance(got, (list, tuple)):
        return "a list"
    if got is None or isinstance(got, bool):
        return {None: "null", True: "true", False: "false"}[got]
    text = repr(got) if isinstance(got, str) else str(got)
    text = visible(text)
    return text if len(text) <= 40 else text[:37] + "..."
