"""Many values as columns: one sequence for each field, from which a value is made whenever it is asked for.

A million jobs of a trace take as much memory as their numbers. Few values, or those that a caller has made, stay a
tuple: :func:`column` and :func:`by_name` read both.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator, KeysView, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar, cast, overload

from pydantic import WrapValidator

from coalloc.documents.values import Value, unchecked

V = TypeVar("V", bound=Value)


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
        self._make = _maker(cast(Any, cls), *columns)

    @property
    def names(self) -> KeysView[str]:
        """The fields that have columns."""
        return self._columns.keys()

    def column(self, name: str) -> Sequence[Any]:
        """Return a field of all values."""
        if name in self._columns:
            return self._columns[name]
        return [self._cls.__dataclass_fields__[name].default] * len(self)

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


# ------------------------------------------------------------------------------ of columns and tuples


def column(values: Sequence[Any], name: str) -> Sequence[Any]:
    """Return a field of all values."""
    return values.column(name) if type(values) is Columns else list(map(operator.attrgetter(name), values))


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

            return Annotated[tuple[element, ...], WrapValidator(kept)]
