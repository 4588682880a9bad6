"""The door: values that validate themselves when they are made, from Python as from a file.

A value is a frozen pydantic dataclass with strict fields. Whoever makes one with a wrong field gets
an :class:`InstanceError` that lists every fault; nothing is converted silently, except a whole
number where seconds or MB/s are asked, and the numbers of numpy.
"""

from __future__ import annotations

import dataclasses
import functools
import numbers
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, Self, TypeVar, cast, dataclass_transform

import pydantic
from pydantic import AfterValidator, Field, GetCoreSchemaHandler
from pydantic.dataclasses import dataclass as pydantic_dataclass
from pydantic_core import ArgsKwargs, CoreSchema, PydanticCustomError, core_schema

from coalloc.documents.errors import FaultsError, InstanceError
from coalloc.documents.sentences import faults_of
from coalloc.documents.text import quoted


def _printable(text: str) -> str:
    if not text.isprintable():
        sentence = f"must not contain control or format characters, got {quoted(text)}"
        raise PydanticCustomError("unprintable", "{sentence}", {"sentence": sentence})
    return text


Text = Annotated[str, Field(strict=True, min_length=1), AfterValidator(_printable)]
"""A name or an identifier: terminals, tables and pictures show it as it is."""
Count = Annotated[int, Field(strict=True, ge=1)]
LARGEST = 1e100
"""Largest number that a quantity may be: products and sums of such numbers stay finite."""

Seconds = Annotated[float, Field(strict=True, ge=0, le=LARGEST, allow_inf_nan=False, description="seconds")]
PositiveSeconds = Annotated[float, Field(strict=True, gt=0, le=LARGEST, allow_inf_nan=False, description="seconds")]
NonNegative = Annotated[float, Field(strict=True, ge=0, le=LARGEST, allow_inf_nan=False)]
Positive = Annotated[float, Field(strict=True, gt=0, le=LARGEST, allow_inf_nan=False)]
Share = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]
PositiveShare = Annotated[float, Field(strict=True, gt=0, le=1, allow_inf_nan=False)]
Flag = Annotated[bool, Field(strict=True)]

LEFT_OUT = {"left out": True}
"""Metadata of a field whose default says as much as nothing: files leave it out then."""

SINCE_2, SINCE_3 = {"since": 2}, {"since": 3}
"""Metadata of a field that files have from version 2, or 3, on."""

SAME_AS = "same as"
"""Key of metadata: the field whose content is the default of this one."""

CONFIG = pydantic.ConfigDict(extra="forbid", populate_by_name=True)

T = TypeVar("T")
E = TypeVar("E")

if TYPE_CHECKING:

    class Listed(Generic[E]):
        """A field with several elements, as type checkers see it: it takes any list, and holds a tuple."""

        def __get__(self, holder: object, owner: type) -> tuple[E, ...]:
            raise NotImplementedError

        def __set__(self, holder: object, elements: Sequence[E]) -> None: ...

else:
    Listed = tuple[E, ...]

NONE: Any = ()
"""No elements, as the default of a :class:`Listed` field."""


class NumbersByName(Mapping[str, float]):
    """A number for each of some names: a mapping that never changes, and so may be a key itself."""

    __slots__ = ("_hash", "_numbers")
    number: ClassVar[Any]
    """Requirement on each number."""

    def __init__(self, numbers: Mapping[str, float]) -> None:
        self._numbers = dict(numbers)
        self._hash = hash(frozenset(self._numbers.items()))

    def __getitem__(self, name: str) -> float:
        return self._numbers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if isinstance(other, NumbersByName):
            return self._numbers == other._numbers
        return super().__eq__(other)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self._numbers,)  # what texts hash to differs from process to process

    def __repr__(self) -> str:
        return repr(self._numbers)

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Take any mapping, as the object of a file is one."""
        plain = handler.generate_schema(dict[Text, cls.number])  # type: ignore[name-defined]
        return core_schema.no_info_wrap_validator_function(
            lambda given, checked: given if isinstance(given, cls) else cls(checked(given)),
            plain,
            serialization=core_schema.plain_serializer_function_ser_schema(dict),
        )


class SecondsByName(NumbersByName):
    """A time above 0 for each of some names, s."""

    __slots__ = ()
    number = PositiveSeconds


class AmountsByName(NumbersByName):
    """An amount from 0 on for each of some names, in the unit of what is named."""

    __slots__ = ()
    number = NonNegative


NO_SECONDS: Any = SecondsByName({})
NO_AMOUNTS: Any = AmountsByName({})

if TYPE_CHECKING:

    class NumbersField:
        """A field of numbers by name, as type checkers see it: any mapping goes in, one that never changes is held."""

        def __get__(self, holder: object, owner: type) -> NumbersByName:
            raise NotImplementedError

        def __set__(self, holder: object, numbers: Mapping[str, float]) -> None: ...

    SecondsField = NumbersField
    AmountsField = NumbersField
else:
    SecondsField, AmountsField = SecondsByName, AmountsByName


class Written:
    """Value that is written in a shorter form."""

    __slots__ = ()

    def written(self) -> list[str]:
        """Return what a file says instead; it is read as the same."""
        raise NotImplementedError


class Value:
    """Base of all values: it returns a changed copy of itself."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]

    def replace(self, **changes: Any) -> Self:
        """Return a copy with the named fields changed and validated.

        Parameters
        ----------
        **changes
            New values by field name.

        Returns
        -------
        Self
            The changed copy.

        Raises
        ------
        InstanceError
            A field does not exist or its value is not valid.

        Examples
        --------
        >>> import coalloc
        >>> coalloc.Job("J1", tasks=2, base_time=60.0).replace(tasks=4).tasks
        4
        """
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return type(self)(**(fields | changes))


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
def value(*, slots: bool = True, error: type[FaultsError] = InstanceError) -> Callable[[type[T]], type[T]]:
    """Make a class a validated, immutable value; ``slots=False`` where it caches what it derives.

    ``error`` is what a wrong field raises.
    """

    def decorate(cls: type[T]) -> type[T]:
        made: Any = pydantic_dataclass(frozen=True, slots=slots, config=CONFIG)(cls)
        validate = made.__pydantic_validator__.validate_python

        @functools.wraps(made.__init__)
        def __init__(self: T, *args: Any, **kwargs: Any) -> None:
            try:
                validate(ArgsKwargs(args, kwargs), self_instance=self)
            except pydantic.ValidationError:
                _initialise_again(self, args, kwargs, error)

        made.__init__ = __init__
        return cast(type[T], made)

    return decorate


def unchecked(cls: type[T], *first: str) -> Callable[..., T]:
    """Return a function that makes a ``cls``, which has slots, from its fields without any check.

    For what a reader has checked already, hundreds of thousands of times: ten times as fast. The function takes the
    fields that are named ``first``, then the others in order.
    """
    fields = dataclasses.fields(cast(Any, cls))
    defaults = {field.name: field.default for field in fields if field.default is not dataclasses.MISSING}
    names = [field.name for field in fields]
    others = [f"{name}=defaults[{name!r}]" if name in defaults else name for name in names if name not in first]
    return _written_out(cls, ", ".join([*first, *others]), {name: name for name in names}, defaults)


def copying(cls: type[T], **sources: str) -> Callable[[T], T]:
    """Return a function that copies a ``cls``, which has slots, without any check.

    A field that is named takes what another has: ``base_time="estimate"``.
    """
    names = [field.name for field in dataclasses.fields(cast(Any, cls))]
    return _written_out(cls, "given", {name: f"given.{sources.get(name, name)}" for name in names})


def _written_out(
    cls: type[T], parameters: str, fields: Mapping[str, str], defaults: Mapping[str, Any] = MappingProxyType({})
) -> Callable[..., T]:
    """Return a function of these parameters that makes a ``cls``, each field from an expression.

    It fills the slots of an open twin, which then becomes a ``cls``: the slots of a frozen class take three times as
    long. It is written out as dataclasses write theirs: a loop takes twice the time.
    """
    twin = type(cls.__name__, cls.__bases__, {"__slots__": tuple(fields)})
    lines = [
        f"def make({parameters}):",
        "made = new(twin)",
        *(f"made.{name} = {expression}" for name, expression in fields.items()),
        "made.__class__ = cls",
        "return made",
    ]
    known = {"cls": cls, "twin": twin, "new": object.__new__, "defaults": defaults}
    exec("\n    ".join(lines), known)
    return cast(Callable[..., T], known["make"])


def _initialise_again(made: Any, args: Sequence[Any], kwargs: Mapping[str, Any], raised: type[FaultsError]) -> None:
    """Initialise with whole numbers of other libraries (``numpy.int64``) as ours, or raise every fault."""
    plain = ArgsKwargs(tuple(map(_plain, args)), {key: _plain(argument) for key, argument in kwargs.items()})
    try:
        type(made).__pydantic_validator__.validate_python(plain, self_instance=made)
    except pydantic.ValidationError as error:
        raise raised(faults_of(error, type(made))) from None


def _plain(argument: object) -> object:
    """Return a whole number as an ``int``, anything else as it is."""
    if isinstance(argument, numbers.Integral) and not isinstance(argument, bool):
        return operator.index(argument)
    return argument
