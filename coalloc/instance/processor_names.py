"""Names of processors, held as ranges: ``C1/0-127`` is ``C1/0``, ``C1/1``, ..., made when somebody looks.

A name is that of a cluster, ``/`` and the number of a node; the core of a node with several follows after a dot.
Either number may be a range: ``C1/0-127`` is 128 nodes, ``C1/3.0-7`` eight cores of node 3, ``C1/0-3.0-7`` eight
cores of each of the nodes 0 to 3, node by node. No processor has a hyphen behind its last ``/``, so that a range is
never taken for a name.
"""

from __future__ import annotations

import itertools
import operator
import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Self, overload

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from coalloc.documents.text import quoted, visible
from coalloc.documents.values import Written

Ints = NDArray[np.int64]

MAX_PROCESSORS = 10_000_000
"""Most processors that a platform may have; each costs memory as soon as its name is asked for."""

MOST_SHOWN = 6
"""Ranges that the text of a set shows."""

NO_NUMBER = -1
"""Stands for the core of a node that has one, and for the node of a text that is no name of a processor."""

NUMBER = "0|[1-9][0-9]{0,7}"
RANGE = re.compile(
    rf"(?P<cluster>.+)/(?P<first>{NUMBER})(-(?P<last>{NUMBER}))?"
    rf"(\.(?P<first_core>{NUMBER})(-(?P<last_core>{NUMBER}))?)?",
    re.DOTALL,
)
MEANT_AS_RANGE = re.compile(r".*/[0-9.-]*-[0-9.-]*", re.DOTALL)

A_RANGE = (
    "must be a processor such as 'C1/0' or an ascending range such as 'C1/0-3' or 'C1/0-3.0-7' of at most "
    f"{MAX_PROCESSORS} processors"
)

PACKED = struct.Struct("5i")
"""A range in memory: its cluster by index, first and last node, first and last core."""


class Range(NamedTuple):
    """Cores ``first_core`` to ``last_core`` of each of the nodes ``first`` to ``last`` of a cluster.

    A text that is no name of a processor is a range of one, in ``cluster``, without numbers.
    """

    cluster: str
    first: int = NO_NUMBER
    last: int = NO_NUMBER
    first_core: int = NO_NUMBER
    last_core: int = NO_NUMBER

    @property
    def size(self) -> int:
        """Number of names."""
        return (self.last - self.first + 1) * self.num_cores

    @property
    def num_cores(self) -> int:
        """Names of each node."""
        return self.last_core - self.first_core + 1

    @property
    def text(self) -> str:
        """The range as a file has it."""
        if self.first == NO_NUMBER:
            return self.cluster
        cores = "" if self.first_core == NO_NUMBER else f".{_span_text(self.first_core, self.last_core)}"
        return f"{self.cluster}/{_span_text(self.first, self.last)}{cores}"

    def name(self, place: int) -> str:
        """Return one of the names by its place, from 0."""
        node, core = divmod(place, self.num_cores)
        return self._replace(
            first=self.first + node,
            last=self.first + node,
            first_core=self.first_core + core,
            last_core=self.first_core + core,
        ).text

    def names(self) -> Iterator[str]:
        """Yield the names, node by node."""
        if self.first == NO_NUMBER:
            yield self.cluster
        elif self.first_core == NO_NUMBER:
            yield from (f"{self.cluster}/{node}" for node in range(self.first, self.last + 1))
        else:
            cores = range(self.first_core, self.last_core + 1)
            yield from (f"{self.cluster}/{node}.{core}" for node in range(self.first, self.last + 1) for core in cores)

    def holds(self, other: Range) -> bool:
        """Return whether a range of one name is within this one."""
        return (
            self.cluster == other.cluster
            and self.first <= other.first <= self.last
            and self.first_core <= other.first_core <= self.last_core
        )


def _span_text(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}-{last}"


def range_of(text: str) -> Range:
    """Return what a text of a file stands for; one that is no processor and no sound range is a name of its own."""
    parts = RANGE.fullmatch(text)
    if parts is None:
        return Range(text)
    cluster, first, last, first_core, last_core = parts.group("cluster", "first", "last", "first_core", "last_core")
    nodes = int(first), int(last or first)
    cores = (NO_NUMBER, NO_NUMBER) if first_core is None else (int(first_core), int(last_core or first_core))
    meant = Range(cluster, *nodes, *cores)
    is_sound = nodes[0] <= nodes[1] and cores[0] <= cores[1] and meant.size <= MAX_PROCESSORS
    return meant if is_sound else Range(text)


def refuse_bad_range(text: str) -> str:
    """Return a text that is a name or a sound range; raises what pydantic takes for a fault."""
    if "-" not in text or not MEANT_AS_RANGE.fullmatch(text) or range_of(text).first != NO_NUMBER:
        return text
    raise PydanticCustomError("range", "{sentence}", {"sentence": f"{A_RANGE}, got {quoted(text)}"})


ProcessorText = Annotated[str, Field(strict=True, min_length=1), AfterValidator(refuse_bad_range)]
"""A name or a range; one that the platform does not have, whatever its characters, is for the checker to report."""


# ------------------------------------------------------------------------------ sets of names


class ProcessorNames(Sequence[str], Written):
    """Names of processors in order, such as those that a job holds: a sequence of texts that is held as ranges.

    It equals a tuple or a list of the same names. ``ranges`` are as long as can be, so that equal names are equal
    ranges.
    """

    __slots__ = ("_clusters", "_packed")
    _clusters: tuple[str, ...]
    _packed: bytes

    def __init__(self, names: Iterable[str] = ()) -> None:
        """Hold names or ranges (``"C1/0"``, ``"C1/0-127"``), in the order given."""
        ranges = joined(map(range_of, names))
        index: dict[str, int] = {}
        rows = [(index.setdefault(r.cluster, len(index)), *r[1:]) for r in ranges]
        self._packed = b"".join([PACKED.pack(*row) for row in rows])
        self._clusters = tuple(index)

    @classmethod
    def packed(cls, clusters: tuple[str, ...], packed: bytes) -> Self:
        """Return what ranges say that are packed already, each as long as can be."""
        made = cls.__new__(cls)
        made._clusters, made._packed = clusters, packed
        return made

    @property
    def ranges(self) -> tuple[Range, ...]:
        """The names as ranges."""
        return tuple(Range(self._clusters[c], *numbers) for c, *numbers in PACKED.iter_unpack(self._packed))

    @property
    def texts(self) -> tuple[str, ...]:
        """The ranges as a file has them: ``C1/0-127``."""
        return tuple(r.text for r in self.ranges)

    def written(self) -> list[str]:
        """Return what a file says instead."""
        return list(self.texts)

    def __len__(self) -> int:
        return sum(
            (last - first + 1) * (last_core - first_core + 1)
            for _, first, last, first_core, last_core in PACKED.iter_unpack(self._packed)
        )

    def __iter__(self) -> Iterator[str]:
        for r in self.ranges:
            yield from r.names()

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[str, ...]: ...
    def __getitem__(self, place: int | slice) -> str | tuple[str, ...]:
        """Return the name at a place, or a tuple of those of a slice."""
        if isinstance(place, slice):
            start, stop, step = place.indices(len(self))
            return tuple(islice(self, start, stop, step)) if step > 0 else tuple(self)[place]
        left = place if place >= 0 else place + len(self)
        for r in self.ranges if left >= 0 else ():
            if left < r.size:
                return r.name(left)
            left -= r.size
        raise IndexError(f"position {place} is out of range: there are {len(self)} processors")

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        asked = range_of(name)
        return asked.text == name and asked.size == 1 and any(r.holds(asked) for r in self.ranges)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ProcessorNames):
            if self._clusters == other._clusters:
                return self._packed == other._packed
            return self.ranges == other.ranges
        if isinstance(other, (tuple, list)):
            return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))
        return NotImplemented

    def __hash__(self) -> int:
        return hash(tuple(self))  # that of the tuple that it equals

    def __repr__(self) -> str:
        texts = self.texts
        more = f", ... ({len(texts)} ranges)" if len(texts) > MOST_SHOWN else ""
        return f"<{len(self)} processors: {', '.join(map(visible, texts[:MOST_SHOWN]))}{more}>" if texts else "<none>"

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Take any list of names and ranges, as a file has them."""
        texts = handler.generate_schema(
            tuple[Annotated[str, Field(strict=True, min_length=1), AfterValidator(refuse_bad_range)], ...]
        )
        return core_schema.no_info_wrap_validator_function(
            lambda given, checked: given if isinstance(given, cls) else cls(checked(given)),
            texts,
            serialization=core_schema.plain_serializer_function_ser_schema(cls.written),
        )


if TYPE_CHECKING:

    class NamesField:
        """A field of processors, as type checkers see it: it takes any names, and holds them as ranges."""

        def __get__(self, holder: object, owner: type) -> ProcessorNames:
            raise NotImplementedError

        def __set__(self, holder: object, names: Sequence[str]) -> None: ...

else:
    NamesField = ProcessorNames


def joined(ranges: Iterable[Range]) -> list[Range]:
    """Return the ranges that say the same names in the same order and are as long as can be.

    First the cores of a node are joined, then nodes with the same cores: so they depend on the names alone.
    """
    long: list[Range] = []
    for r in ranges:
        if long and _goes_on(long[-1], r):
            before = long.pop()
            if before.first < before.last:
                long.append(before._replace(last=before.last - 1))
            _append(long, Range(r.cluster, r.first, r.first, before.first_core, r.last_core))
            if r.first < r.last:
                _append(long, r._replace(first=r.first + 1))
        else:
            _append(long, r)
    return long


def _goes_on(before: Range, after: Range) -> bool:
    """Return whether a range begins on the node on which another ends, with the core behind its last."""
    return (
        before.first_core != NO_NUMBER != after.first_core
        and before.cluster == after.cluster
        and before.last == after.first
        and before.last_core + 1 == after.first_core
    )


def _append(long: list[Range], r: Range) -> None:
    """Append a range, or make the last one longer by its nodes."""
    before = long[-1] if long else Range("")
    is_next = r.first != NO_NUMBER and before.cluster == r.cluster and before.last + 1 == r.first
    if is_next and before[3:] == r[3:] and before.first != NO_NUMBER:
        long[-1] = before._replace(last=r.last)
    else:
        long.append(r)


# ------------------------------------------------------------------------------ many sets at once


@dataclass(frozen=True, slots=True)
class RangeColumns:
    """The ranges of several sets as columns, shape ``(num_ranges,)`` each; ``holder`` is the set by index.

    ``clusters`` has the name behind each number of ``cluster``; a name may stand there several times.
    """

    clusters: tuple[str, ...]
    holder: Ints
    cluster: Ints
    first: Ints
    last: Ints
    first_core: Ints
    last_core: Ints

    def text(self, place: int) -> str:
        """Return a range as a file has it."""
        columns = (self.first, self.last, self.first_core, self.last_core)
        return Range(self.clusters[self.cluster[place]], *(int(column[place]) for column in columns)).text


class ProcessorSets(Sequence[ProcessorNames]):
    """Sets of names as columns, made when somebody looks; the ranges of sets that are the same object are held once.

    Set i has the ranges ``stops[which[i] - 1]`` to ``stops[which[i]]`` of those that are packed.
    """

    __slots__ = ("_clusters", "_packed", "_stops", "_which")

    def __init__(self, clusters: tuple[str, ...], packed: bytes, stops: Ints, which: NDArray[np.int32]) -> None:
        self._clusters, self._packed, self._stops, self._which = clusters, packed, stops, which

    @classmethod
    def of(cls, sets: Sequence[ProcessorNames]) -> ProcessorSets:
        """Return sets as columns."""
        unique, which = distinct(sets)
        return cls.of_ranges(range_columns(unique), len(unique), which)

    @classmethod
    def of_ranges(cls, ranges: RangeColumns, number: int, which: Ints | None = None) -> ProcessorSets:
        """Return ``number`` sets of ranges, each as long as can be; without ``which`` as they are."""
        columns = (ranges.cluster, ranges.first, ranges.last, ranges.first_core, ranges.last_core)
        packed = np.stack(columns, axis=1).astype(np.int32).tobytes()
        stops = np.searchsorted(ranges.holder, np.arange(-1, number), side="right") * PACKED.size
        return cls(ranges.clusters, packed, stops, (np.arange(number) if which is None else which).astype(np.int32))

    @property
    def ranges(self) -> RangeColumns:
        """The ranges of the sets that are held."""
        table = np.frombuffer(self._packed, dtype=np.int32).reshape(-1, 5).astype(np.int64)
        counts = np.diff(self._stops) // PACKED.size
        return RangeColumns(self._clusters, np.repeat(np.arange(len(counts)), counts), *table.T)

    @property
    def distinct(self) -> tuple[ProcessorSets, Ints]:
        """The sets that are held, and which of them each is."""
        every = np.arange(len(self._stops) - 1, dtype=np.int32)
        return ProcessorSets(self._clusters, self._packed, self._stops, every), self._which.astype(np.int64)

    def _made(self, begin: int, stop: int) -> ProcessorNames:
        return ProcessorNames.packed(self._clusters, self._packed[begin:stop])

    def __len__(self) -> int:
        return len(self._which)

    def __iter__(self) -> Iterator[ProcessorNames]:
        made = [self._made(*bounds) for bounds in itertools.pairwise(self._stops.tolist())]
        return map(made.__getitem__, self._which.tolist())

    @overload
    def __getitem__(self, place: int) -> ProcessorNames: ...
    @overload
    def __getitem__(self, place: slice) -> ProcessorSets: ...
    def __getitem__(self, place: int | slice) -> ProcessorNames | ProcessorSets:
        if isinstance(place, slice):
            return ProcessorSets(self._clusters, self._packed, self._stops, self._which[place])
        begin, stop = self._stops[self._which[place] :][:2]
        return self._made(begin, stop)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(map(operator.eq, self, other))

    def __hash__(self) -> int:
        return hash(tuple(self))


def range_columns(sets: Sequence[ProcessorNames]) -> RangeColumns:
    """Return the ranges of sets of names as columns, in the order of the sets; of columns those of the sets held."""
    if isinstance(sets, ProcessorSets):
        return sets.ranges
    offsets: dict[tuple[str, ...], int] = {}
    clusters: list[str] = []
    for names in sets:
        if names._clusters not in offsets:
            offsets[names._clusters] = len(clusters)
            clusters += names._clusters
    table = np.frombuffer(b"".join([names._packed for names in sets]), dtype=np.int32).reshape(-1, 5).astype(np.int64)
    counts = [len(names._packed) // PACKED.size for names in sets]
    table[:, 0] += np.repeat(np.fromiter([offsets[names._clusters] for names in sets], np.int64, len(sets)), counts)
    return RangeColumns(tuple(clusters), np.repeat(np.arange(len(sets)), counts), *table.T)


def distinct(sets: Sequence[ProcessorNames]) -> tuple[Sequence[ProcessorNames], Ints]:
    """Return the sets without those that are the same object as one before, and which of them each is."""
    if isinstance(sets, ProcessorSets):
        return sets.distinct
    index: dict[int, int] = {}
    which = np.fromiter((index.setdefault(id(names), len(index)) for names in sets), np.int64, len(sets))
    first = np.unique(which, return_index=True)[1]
    return [sets[i] for i in first.tolist()], which
