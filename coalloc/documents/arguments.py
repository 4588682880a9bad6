"""The door of functions: what a caller hands over is held against the signature before anything runs.

The signature of a public function says what it takes: ``@public`` refuses anything else with one error that has
a line for each fault, where Python would fail much later, or not at all. What is within the right type but makes no
sense is for the function itself to refuse.
"""

from __future__ import annotations

import collections.abc
import difflib
import functools
import inspect
import itertools
import math
import numbers
import os
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, Any, ParamSpec, TypeVar, cast

from coalloc.documents.errors import ArgumentError, Fault
from coalloc.documents.sentences import shown
from coalloc.documents.text import quoted, shortened, visible

P = ParamSpec("P")
R = TypeVar("R")

Seed = Annotated[int, "an integer of at least 0"]
"""The seed of random numbers. The text next to the type describes valid values in messages."""

UNIONS = (typing.Union, types.UnionType)

MAX_BITS = 1024
"""A whole number of more is shown by the count of its digits."""

MAX_PICTURE = 40
"""Longest picture of an argument that was refused, in characters."""

WORDS: dict[Any, str] = {
    bool: "True or False",
    int: "an integer",
    float: "a number",
    str: "a string",
    type(None): "None",
    os.PathLike: "a path",
    collections.abc.Callable: "a function",
    collections.abc.Mapping: "a mapping",
    collections.abc.Sequence: "a list",
    collections.abc.Iterable: "a list",
}
"""Words for types in messages; other types go by their names."""


def public(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function with a door: what its signature does not have is an :class:`ArgumentError`.

    Numbers of other libraries (``numpy.int64``) go in as Python's own. An argument that is missing is a
    ``TypeError``, as ever.
    """
    signature = inspect.signature(function)
    parameters = signature.parameters.values()
    keywords = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters)

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        if not takes_any:
            refuse_unknown(set(kwargs) - set(keywords), keywords)
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError:
            return function(*args, **kwargs)  # Python's own word on what is missing
        hints = _hints(function)
        for_each = (_faults(name, hints.get(name, Any), given) for name, given in bound.arguments.items())
        faults = list(itertools.chain.from_iterable(for_each))
        if faults:
            raise ArgumentError(faults)
        bound.arguments.update({name: plain_number(given) for name, given in bound.arguments.items()})
        return function(*bound.args, **bound.kwargs)

    return call


def refuse_unknown(unknown: Iterable[str], known: Iterable[str]) -> None:
    """Raise one error that names every unknown keyword and lists those that there are."""
    unknown, known = sorted(unknown), list(known)
    if not unknown:
        return
    near = [match for name in unknown for match in difflib.get_close_matches(name, known, 1)]
    hint = f" (did you mean {', '.join(near)}?)" if near else ""
    raise ArgumentError([Fault("", f"unknown keyword {', '.join(unknown)}{hint}; known keywords: {', '.join(known)}")])


def require(name: str, wanted: Any, given: object) -> None:
    """Raise :class:`ArgumentError` where something else than the type ``wanted`` is given as ``name``."""
    faults = list(_faults(name, wanted, given))
    if faults:
        raise ArgumentError(faults)


def plain_number(given: Any) -> Any:
    """Return a number of another library as Python's, anything else as it is."""
    if type(given) in (bool, int, float) or not isinstance(given, numbers.Real):
        return given
    return int(given) if isinstance(given, numbers.Integral) else float(given)


def admits(hint: Any, given: object) -> bool:
    """Return whether a parameter of a type takes this; NaN is no number, a truth value neither."""
    origin = typing.get_origin(hint) or hint
    if origin is Annotated:
        return admits(typing.get_args(hint)[0], given)
    if origin in UNIONS:
        return any(admits(option, given) for option in typing.get_args(hint))
    if origin is typing.Literal:
        return any(type(given) is type(choice) and given == choice for choice in typing.get_args(hint))
    if origin in TESTS:
        return TESTS[origin](given)
    return isinstance(given, origin) and not (_is_protocol(origin) and isinstance(given, type))


def wanted_words(hint: Any) -> str:
    """Return what a parameter of a type takes, in words."""
    origin = typing.get_origin(hint) or hint
    if origin is Annotated:
        return str(typing.get_args(hint)[1])
    if origin is typing.Literal:
        return _either([repr(choice) for choice in typing.get_args(hint)])
    if origin in UNIONS:
        options = typing.get_args(hint)
        return _either([wanted_words(option) for option in options if not (_takes_path(hint) and option is str)])
    if origin in WORDS:
        return WORDS[origin]
    if _is_protocol(origin):
        members = [*inspect.get_annotations(origin), *vars(origin)]
        return f"an object with {' and '.join(name for name in members if not name.startswith('_'))}"
    return f"{'an' if origin.__name__[0] in 'AEIOU' else 'a'} {origin.__name__}"


def _takes_path(hint: Any) -> bool:
    """Return whether a text is the path of a file for a parameter of this type."""
    is_union = typing.get_origin(hint) in UNIONS
    return is_union and any(typing.get_origin(option) is os.PathLike for option in typing.get_args(hint))


def _either(words: list[str]) -> str:
    """Return ``a, b or c``, each once."""
    *others, last = dict.fromkeys(words)
    return f"{', '.join(others)} or {last}" if others else last


def _is_whole(given: object) -> bool:
    return isinstance(given, numbers.Integral) and not isinstance(given, bool)


def _is_number(given: object) -> bool:
    """Return whether this is a number that a float can hold, infinities among them."""
    if isinstance(given, bool) or not isinstance(given, numbers.Real):
        return False
    try:
        return not math.isnan(float(given))
    except OverflowError:
        return False


def _is_list(given: object) -> bool:
    return isinstance(given, collections.abc.Sequence) and not isinstance(given, (str, bytes))


def _is_protocol(hint: Any) -> bool:
    return typing.Protocol in getattr(hint, "__bases__", ())


TESTS: dict[Any, Callable[[object], bool]] = {
    Any: lambda _: True,
    int: _is_whole,
    float: _is_number,
    collections.abc.Sequence: _is_list,
}
"""Whether an argument is of a type, where ``isinstance`` does not say it."""


@functools.cache
def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the types of the parameters by name, but of those that the function collects (``**options``)."""
    collected = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    parameters = inspect.signature(function).parameters.values()
    return {
        p.name: _hint(function.__annotations__.get(p.name, Any), function)
        for p in parameters
        if p.kind not in collected
    }


def _hint(annotation: Any, function: Callable[..., Any]) -> Any:
    """Return a type; ``Any`` for one that only type checkers import, which the function judges itself."""
    holder = types.SimpleNamespace(__annotations__={"it": annotation})
    try:
        return typing.get_type_hints(holder, globalns=function.__globals__, include_extras=True)["it"]
    except NameError:
        return Any


def _faults(name: str, hint: Any, given: object) -> Iterator[Fault]:
    """Yield what is wrong with an argument, or with each of its elements where it is a list."""
    if not admits(hint, given):
        yield Fault(name, f"must be {wanted_words(hint)}, got {picture_of(given)}{_remedy(hint, given)}")
    elif isinstance(given, str) and not given and _takes_path(hint):
        yield Fault(name, "must not be empty")  # as a path it would be the folder at hand
    elif typing.get_origin(hint) is collections.abc.Sequence:
        (element,) = typing.get_args(hint)
        for number, part in enumerate(cast(Sequence[object], given)):
            yield from _faults(f"{name}[{number}]", element, part)


def _remedy(hint: Any, given: object) -> str:
    """Return what people may have meant who give this in place of a type."""
    if isinstance(given, type):
        return f"; use {given.__name__}(...)"
    if typing.get_origin(hint) is collections.abc.Sequence and admits(typing.get_args(hint)[0], given):
        return "; use a list with this element"
    options = typing.get_args(hint) if typing.get_origin(hint) in UNIONS else (hint,)
    found = [option.remedy_for(given) for option in options if hasattr(option, "remedy_for")]
    return "".join(f"; {sentence}" for sentence in found if sentence)


def picture_of(given: object) -> str:
    """Return a short, safe picture of an argument: numbers and texts as they are, else the type."""
    if isinstance(given, str):
        return quoted(given)
    if isinstance(given, int) and given.bit_length() > MAX_BITS:
        return shown(given)
    if given is None or isinstance(given, numbers.Real):
        return shortened(visible(repr(given)), MAX_PICTURE)
    return f"the type {given.__name__}" if isinstance(given, type) else type(given).__name__
