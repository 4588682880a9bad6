"""Specifications of benchmarks, TOML: which methods run on which instances, within which limits.

A specification passes the same door as an instance: every fault is a line with its path, and all are
found before anything runs, those of instances and options included.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import pydantic
from pydantic import Field

from coalloc.bench.sources import SOURCES, Seeds, Source
from coalloc.documents.sentences import faults_of, shown
from coalloc.documents.storage import FilePath
from coalloc.documents.toml import load_toml
from coalloc.documents.values import Positive, PositiveSeconds, Text, Value, value
from coalloc.instance import Fault, InstanceError

V = TypeVar("V")
Scalar = str | bool | int | float
MAX_SEEDS = 100_000
MAX_CALLS = 1_000_000


@value()
class SampleLimits(Value):
    """Limits after which a sample is killed: seconds from its start, MB of memory of all its processes together."""

    time: PositiveSeconds = 300.0
    memory: Positive = 4000.0


@value()
class MethodSpec(Value):
    """A public function with its keywords; a keyword with a list stands for each of its values in turn.

    A sample calls it ``warmup`` times, and then ``repeat`` times with a watch, in one process. With ``certify`` it
    certifies what a solve has proved.
    """

    method: Literal["solve", "simulate", "lower_bound"]
    name: Text | None = None
    options: dict[str, Any] = field(default_factory=dict)
    seeds: Seeds = (0,)
    warmup: Annotated[int, Field(strict=True, ge=0, le=MAX_CALLS)] = 0
    repeat: Annotated[int, Field(strict=True, ge=1, le=MAX_CALLS)] = 1
    certify: Annotated[bool, Field(strict=True)] = False

    def __post_init__(self) -> None:
        faults = [
            Fault(f"options.{key}", f"must be a number, a string, true, false or a list of these, got {shown(bad)}")
            for key, given in self.options.items()
            for bad in _bad_parts(given)
        ]
        if self.certify and self.method != "solve":
            faults.append(Fault("certify", f"requires method solve, got {self.method}"))
        if faults:
            raise InstanceError(faults)

    def variants(self) -> Iterator[tuple[str, dict[str, Scalar]]]:
        """Yield the name of each combination of options, and the options."""
        listed = [key for key, given in self.options.items() if isinstance(given, list)]
        choices = [given if isinstance(given, list) else [given] for given in self.options.values()]
        for chosen in itertools.product(*choices):
            options = dict(zip(self.options, chosen, strict=True))
            shown_options = [f"{key}={_toml(options[key])}" for key in listed]
            yield ", ".join([self.name or self.method, *shown_options]), options


@value()
class _Head(Value):
    """The keys of a specification; what stands in the lists is looked at one by one."""

    instances: Annotated[tuple[dict[str, Any], ...], Field(min_length=1)]
    methods: Annotated[tuple[dict[str, Any], ...], Field(min_length=1)]
    name: Text | None = None
    limits: SampleLimits = dataclasses.field(default_factory=SampleLimits)


@dataclass(frozen=True, slots=True)
class Spec:
    """A specification whose keys are right; ``source`` is its path as it was given."""

    name: str
    text: str
    source: Path
    limits: SampleLimits
    sources: Mapping[int, Source]
    methods: Mapping[int, MethodSpec]

    @property
    def folder(self) -> Path:
        """The folder that the paths of the specification are relative to."""
        return self.source.resolve().parent


def read_spec(path: FilePath) -> tuple[Spec, list[Fault]]:
    """Return the specification of a file, and the faults of its keys; what has faults is left out of it.

    Raises
    ------
    InstanceError
        The file cannot be read, or is no TOML.
    """
    document, text = load_toml(path)
    return parsed(document, text, Path(path))


def parsed(document: dict[str, Any], text: str, path: Path) -> tuple[Spec, list[Fault]]:
    """Return the specification that a document holds, and its faults."""
    faults: list[Fault] = []
    head = _built(_Head, document, "", faults)
    lists = {key: entries if isinstance(entries := document.get(key), list) else [] for key in ("instances", "methods")}
    sources = {i: made for i, entry in enumerate(lists["instances"]) if (made := _source(entry, i, faults))}
    methods = {i: method for i, entry in enumerate(lists["methods"]) if (method := _method(entry, i, faults))}
    limits = head.limits if head else SampleLimits()
    name = head.name if head and head.name else path.name.removesuffix(".toml")
    return Spec(name, text, path, limits, sources, methods), faults


def _source(entry: object, number: int, faults: list[Fault]) -> Source | None:
    path = f"instances[{number}]"
    if not isinstance(entry, dict):
        return None  # the head says so
    kinds: list[type[Source]] = [kind for key, kind in SOURCES.items() if key in entry]
    if len(kinds) != 1:
        faults.append(
            Fault(path, f"must have exactly one of the keys {', '.join(SOURCES)}, got {len(kinds) or 'none'}")
        )
        return None
    return _built(kinds[0], _with_seeds(entry), path, faults)


def _method(entry: object, number: int, faults: list[Fault]) -> MethodSpec | None:
    if not isinstance(entry, dict):
        return None
    return _built(MethodSpec, _with_seeds(entry), f"methods[{number}]", faults)


def _built(kind: type[V], entry: dict[str, Any], path: str, faults: list[Fault]) -> V | None:
    """Return a value made of the keys of a table, or add to ``faults`` what is wrong with them."""
    try:
        return pydantic.TypeAdapter(kind).validate_python(entry)
    except pydantic.ValidationError as error:
        faults += [fault.under(path) for fault in faults_of(error, kind)]
        return None


def _with_seeds(entry: dict[str, Any]) -> dict[str, Any]:
    """Return a table with its seeds listed, where they stand as a range ``"1..20"``."""
    seeds = entry.get("seeds")
    match = re.fullmatch(r"(\d{1,9})\.\.(\d{1,9})", seeds) if isinstance(seeds, str) else None
    if match is None or int(match[2]) - int(match[1]) >= MAX_SEEDS:
        return entry
    return entry | {"seeds": list(range(int(match[1]), int(match[2]) + 1))}


def _bad_parts(given: object) -> list[object]:
    """Return the parts of an option that are neither scalars nor a list of them."""
    parts = given if isinstance(given, list) and given else [given]
    return [part for part in parts if not isinstance(part, Scalar)]


def _toml(scalar: Scalar) -> str:
    return str(scalar).lower() if isinstance(scalar, bool) else str(scalar)
