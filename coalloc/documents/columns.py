"""Many values as columns: one sequence for each field, from which a value is made whenever it is asked for.

A million jobs take as much memory as their numbers. Up to :data:`FEW` jobs of a file or a generator, and what a caller
has made, stay a tuple: :func:`column` and :func:`by_name` read both.
"""

from __future__ import annotations

import dataclasses
import functools
import operator
import typing
from array import array
from collections.abc import Callable, Collection, Iterator, KeysView, Mapping, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar, cast, overload

import pydantic
from pydantic import WrapValidator

from coalloc.documents.values import SAME_AS, Value, unchecked

V = TypeVar("V", bound=Value)

FEW = 1_000
"""Up to so many values are held as objects: methods for few jobs look at each of them many times."""
TYPECODES: Mapping[type, str] = {float: "d", int: "q"}
"""Types of which a column is an array."""


class Columns(Sequence[V]):
    """Values of one class, held as columns; it equals a tuple of the same values.

    Parameters
    ----------
    cls
        The class of the values, which has slots.
    columns
        The content of each field by its name. A field without a column has its default in all values.
        Nothing is checked: whoever fills columns does that.
    """

    __slots__ = ("_cls", "_columns", "_make")

    def __init__(self, cls: type[V], columns: Mapping[str, Sequence[Any]]) -> None:
        self._cls = cls
        self._columns = dict(columns)
        for name, field in _fields(cls).items():
            if SAME_AS in field.metadata and name not in columns:
                self._columns[name] = columns[field.metadata[SAME_AS]]
        self._make = _maker(cast(Any, cls), *self._columns)

    @property
    def cls(self) -> type[V]:
        """The class of the values."""
        return self._cls

    @property
    def names(self) -> KeysView[str]:
        """The fields that have columns."""
        return self._columns.keys()

    def column(self, name: str) -> Sequence[Any]:
        """Return a field of all values."""
        if name in self._columns:
            return self._columns[name]
        return [_fields(self._cls)[name].default] * len(self)

    def stating(self, names: Collection[str]) -> Iterator[tuple[int, V]]:
        """Yield the values, with their places, that have another content than the default in one of some fields."""
        defaults = {name: _fields(self._cls)[name].default for name in names if name in self._columns}
        places = {
            place
            for name, default in defaults.items()
            for place, content in enumerate(self._columns[name])
            if content != default
        }
        return ((place, self[place]) for place in sorted(places))

    def __len__(self) -> int:
        return len(next(iter(self._columns.values())))

    @overload
    def __getitem__(self, place: int) -> V: ...
    @overload
    def __getitem__(self, place: slice) -> Columns[V]: ...
    def __getitem__(self, place: int | slice) -> V | Columns[V]:
        if type(place) is slice:
            return Columns(self._cls, {name: column[place] for name, column in self._columns.items()})
        return cast(V, self._make(*map(operator.itemgetter(place), self._columns.values())))

    def __iter__(self) -> Iterator[V]:
        return map(self._make, *self._columns.values())

    def __add__(self, others: Sequence[V]) -> tuple[V, ...]:
        return (*self, *others)

    def __radd__(self, others: Sequence[V]) -> tuple[V, ...]:
        return (*others, *self)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Columns) and self._cls is other._cls and self._columns == other._columns:
            return True
        if isinstance(other, (Columns, tuple)):
            return len(self) == len(other) and all(map(operator.eq, self, other))
        return NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))  # that of the tuple that it equals

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self._cls, self._columns)

    def __repr__(self) -> str:
        return repr(tuple(self))


@functools.cache
def _maker(cls: Any, *names: str) -> Callable[..., Any]:
    """Return what makes a value from the content of its columns."""
    return unchecked(cls, *names)


def _fields(cls: Any) -> dict[str, dataclasses.Field[Any]]:
    """Return the fields of a value class by name, in order."""
    found: dict[str, dataclasses.Field[Any]] = cls.__dataclass_fields__
    return found


# ------------------------------------------------------------------------------ of columns and tuples


def column(values: Sequence[Any], name: str) -> Sequence[Any]:
    """Return a field of all values."""
    return values.column(name) if type(values) is Columns else list(map(operator.attrgetter(name), values))


def some_has(values: Sequence[Any], name: str) -> bool:
    """Return whether some value has something in a field that is empty by default."""
    if type(values) is Columns and name not in values.names:
        return False  # all have the default
    return any(column(values, name))


def by_name(values: Sequence[V], name: str) -> Mapping[str, V]:
    """Return the values by the content of a field; of several with the same the last counts."""
    names = column(values, name)
    return _ByName(values, names) if isinstance(values, Columns) else dict(zip(names, values, strict=True))


class _ByName(Mapping[str, V]):
    """Values by name that are made whenever they are asked for."""

    def __init__(self, values: Sequence[V], names: Sequence[str]) -> None:
        self._values, self._place = values, {name: place for place, name in enumerate(names)}

    def __getitem__(self, name: str) -> V:
        return self._values[self._place[name]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._place)

    def __len__(self) -> int:
        return len(self._place)

    def __contains__(self, name: object) -> bool:
        return name in self._place


# ------------------------------------------------------------------------------ block by block


class ColumnFilling(Generic[V]):
    """Columns that are filled block by block."""

    def __init__(self, cls: type[V]) -> None:
        self._cls = cls
        self._blocks: dict[str, list[Sequence[Any]]] = {}
        self._sizes: list[int] = []
        self._texts: dict[str, str] = {}

    def add(self, objects: Sequence[Any]) -> None:
        """Add objects as they were parsed.

        Raises
        ------
        ValueError
            One is not a value of the class; :mod:`coalloc.documents.kinds` says why.
        """
        self.extend(len(objects), _checked(self._cls, objects))

    def extend(self, size: int, columns: Mapping[str, Sequence[Any]]) -> None:
        """Add so many values by those of their fields of which some have not the default."""
        for name in columns.keys() - self._blocks.keys():
            default = _fields(self._cls)[name].default
            self._blocks[name] = [_packed([default] * size) for size in self._sizes]
        for name, blocks in self._blocks.items():
            default = _fields(self._cls)[name].default
            content = _packed(columns.get(name, [default] * size))
            is_repeated = default is not dataclasses.MISSING and type(content) is list
            blocks.append([*map(self._once, content)] if is_repeated else content)
        self._sizes.append(size)

    def _once(self, content: Any) -> Any:
        """Return a content; equal texts, such as users, are one object."""
        return self._texts.setdefault(content, content) if type(content) is str else content

    @property
    def filled(self) -> Columns[V]:
        """The columns."""
        return Columns(self._cls, {name: _joined(blocks) for name, blocks in self._blocks.items()})


def gathered(cls: type[V], values: Iterator[V]) -> Sequence[V]:
    """Return values that are made one after another: a tuple of few; of many columns, so that few exist at once."""
    block = tuple(islice(values, FEW + 1))
    if len(block) <= FEW:
        return block
    filling, fields = ColumnFilling(cls), _fields(cls)
    while block:
        columns = {name: [*map(operator.attrgetter(name), block)] for name in fields}
        filling.extend(len(block), {n: c for n, c in columns.items() if any(v != fields[n].default for v in c)})
        block = tuple(islice(values, FEW))
    return filling.filled


def _checked(cls: Any, objects: Sequence[Any]) -> dict[str, Sequence[Any]]:
    """Return the fields of parsed objects, of those that some of them have."""
    fields = _fields(cls)
    if not all(type(one) is dict for one in objects):
        raise ValueError("is no object")
    stated = set(chain.from_iterable(objects))
    columns: dict[str, Sequence[Any]] = {}
    for name in sorted(stated, key=[*fields].index):  # raises ValueError for an unknown one
        field, given = fields[name], [one[name] for one in objects if name in one]
        content = checks_of(cls)[name].validate_python(given)
        if len(content) < len(objects):
            if field.default is dataclasses.MISSING:
                raise ValueError(f"{name} is missing")
            others = columns.get(field.metadata.get(SAME_AS, ""), [field.default] * len(objects))
            following = iter(content)
            content = [next(following) if name in one else other for one, other in zip(objects, others, strict=True)]
        columns[name] = content
    if not columns.keys() >= {name for name, field in fields.items() if field.default is dataclasses.MISSING}:
        raise ValueError("a field is missing")
    same = {name: columns[field.metadata[SAME_AS]] for name, field in fields.items() if SAME_AS in field.metadata}
    return same | columns


@functools.cache
def checks_of(cls: Any) -> dict[str, pydantic.TypeAdapter[Any]]:
    """Return what validates a list of contents of each field."""
    hints = typing.get_type_hints(cls, include_extras=True)
    return {name: pydantic.TypeAdapter(list[hints[name]]) for name in _fields(cls)}  # type: ignore[valid-type]


def _packed(content: Sequence[Any]) -> Sequence[Any]:
    """Return a column of numbers as an array; raises ``OverflowError`` for whole numbers beyond 64 bits."""
    types = set(map(type, content))
    return array(TYPECODES[next(iter(types))], content) if len(types) == 1 and types <= TYPECODES.keys() else content


def _joined(blocks: Sequence[Sequence[Any]]) -> Sequence[Any]:
    """Return the column that blocks are."""
    if len({block.typecode if isinstance(block, array) else "" for block in blocks}) > 1 or type(blocks[0]) is list:
        return list(chain.from_iterable(blocks))
    return functools.reduce(operator.iadd, blocks[1:], blocks[0])


# ------------------------------------------------------------------------------ as a field


class ManyOf:
    """Mark of a field of many elements of one class."""

    def __init__(self, cls: type[Value]) -> None:
        self.cls = cls


@functools.cache
def many_of(owner: Any) -> tuple[str, type[Value]] | None:
    """Return the field of a value class that has many elements, and their class; None where there is none."""
    hints = typing.get_type_hints(owner, include_extras=True)
    marked = ((n, mark.cls) for n, hint in hints.items() for mark in typing.get_args(hint) if isinstance(mark, ManyOf))
    return next(marked, None)


if TYPE_CHECKING:

    class Many(Generic[V]):
        """A field with many elements, as type checkers see it: it takes any list, and is used as a tuple."""

        def __get__(self, holder: object, owner: type) -> tuple[V, ...]:
            raise NotImplementedError

        def __set__(self, holder: object, elements: Sequence[V]) -> None: ...

else:

    class Many:
        """A field with many elements: a tuple, or columns that somebody has filled with what is checked already."""

        def __class_getitem__(cls, element: Any) -> Any:
            def kept(given: Any, checked: Any) -> Any:
                return given if type(given) is Columns and given._cls is element else checked(given)

            return Annotated[tuple[element, ...], WrapValidator(kept), ManyOf(element)]
