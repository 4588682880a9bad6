"""The benchmark library: named instances in families, each with its best known schedule and how far that is proved.

An instance is made by a generator from its seed, or comes as a file. Its best schedule is in the package: within the
certificate where one was accepted, else alone. ``benchmarks/library.py`` makes and extends the files, and
:mod:`coalloc.studies.submissions` checks what others found.
"""

from __future__ import annotations

import functools
import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

from coalloc.documents.arguments import public
from coalloc.documents.kinds import value_of
from coalloc.documents.sentences import shown
from coalloc.documents.text import nearest
from coalloc.instance import CoallocError, Instance
from coalloc.instance.files import INSTANCE, instance_hash
from coalloc.schedule import Schedule
from coalloc.schedule.files import SCHEDULE
from coalloc.workloads.generators import generate

CERTIFICATE = "coalloc-certificate"
"""Format of a certificate."""


@dataclass(frozen=True)
class LibraryEntry:
    """One instance of the benchmark library, what is to be minimised, and the best that is known.

    Attributes
    ----------
    name : str
        Its name, such as ``links-07``.
    family : str
        The family that it belongs to.
    source : mapping of str to object
        How the instance is made: ``generator``, ``seed`` and ``parameters``; or ``file``, its content.
    objective : str
        The objective, minimised.
    slot : float or None
        Length of the time slots, s; None: continuous time.
    sha256 : str
        SHA-256 of the canonical instance file, in hexadecimal.
    value : float
        Objective of the best known schedule.
    lower_bound : float
        Best lower bound: that of the certificate, else what the solver computed.
    is_certified : bool
        Whether a certificate, which ``coalloc-verify`` accepts, proves that the schedule is optimal.
    found_by : str
        Program and version that found the schedule.
    found_on : str
        Date on which it was found.
    command : str
        The command that finds it again.

    Examples
    --------
    >>> import coalloc
    >>> entry = coalloc.library()["thesis-01"]
    >>> entry.instance
    <Instance 'thesis-01': 8 jobs on 3 clusters with 12 processors>
    >>> entry.status
    'optimal'
    """

    name: str
    family: str
    source: Mapping[str, Any]
    objective: str
    slot: float | None
    sha256: str
    value: float
    lower_bound: float
    is_certified: bool
    found_by: str
    found_on: str
    command: str

    @cached_property
    def instance(self) -> Instance:
        """The instance; raises ``CoallocError`` where the generator does not make what it made."""
        instance = instance_of(self.name, self.source)
        if instance_hash(instance) != self.sha256:
            raise CoallocError(f"{self.name}: this version of coalloc or numpy generates another instance")
        return instance

    @property
    def gap(self) -> float:
        """Relative optimality gap, (value - lower_bound) / value."""
        return max(0.0, self.value - self.lower_bound) / self.value if self.value > 0 else 0.0

    @property
    def status(self) -> str:
        """``optimal`` where a certificate or a solver proved it, else ``feasible``."""
        return "optimal" if self.value - self.lower_bound <= PROOF_TOLERANCE * self.value else "feasible"

    @property
    def schedule(self) -> Schedule:
        """The best known schedule."""
        document = self._best
        return value_of(document["schedule"] if document["format"] == CERTIFICATE else document, SCHEDULE, [])

    @property
    def certificate(self) -> dict[str, Any] | None:
        """Content of the certificate file; None: there is none."""
        return self._best if self.is_certified else None

    @property
    def _best(self) -> dict[str, Any]:
        content = (_folder() / "best" / f"{self.name}.json.gz").read_bytes()
        document: dict[str, Any] = json.loads(gzip.decompress(content))
        return document


PROOF_TOLERANCE = 1e-6
"""Share of the objective by which a bound may be below it and prove it, in continuous time."""


class UnknownInstanceError(CoallocError, KeyError):
    """The library has no instance of a name."""

    __str__ = CoallocError.__str__
    """The message as it is; that of ``KeyError`` is quoted."""


class Library(Mapping[str, LibraryEntry]):
    """The entries of the benchmark library by name."""

    def __init__(self, entries: Mapping[str, LibraryEntry], titles: Mapping[str, str]) -> None:
        self._entries, self.titles = dict(entries), dict(titles)
        """Subject of each family, by its name."""

    def __getitem__(self, name: str) -> LibraryEntry:
        entry = self._entries.get(name)
        if entry is None:
            raise UnknownInstanceError(f"unknown instance {shown(name)} of the library{nearest(name, self._entries)}")
        return entry

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, name: object) -> bool:
        return name in self._entries

    def __repr__(self) -> str:
        return f"<Library of {len(self)} instances: {', '.join(self.titles)}>"

    def of_family(self, family: str) -> list[LibraryEntry]:
        """Return the entries of a family; raises ``CoallocError`` where there is none of that name."""
        if family not in self.titles:
            raise CoallocError(f"unknown family {shown(family)}; available: {', '.join(self.titles)}")
        return [entry for entry in self.values() if entry.family == family]


@public
def library() -> Library:
    """Return the benchmark library: named instances with the best known schedules and bounds.

    Returns
    -------
    mapping of str to LibraryEntry
        The entries by name, family by family. ``titles`` holds what each family is about.

    See Also
    --------
    coalloc.studies.check_submission : Check a result for the library.
    coalloc.generate : Generate an instance from a seed.

    Notes
    -----
    Families, their state and how to submit: docs/library.md.

    Examples
    --------
    >>> import coalloc
    >>> entry = coalloc.library()["sums-01"]
    >>> entry.objective, entry.is_certified
    ('total-response-time', True)
    """
    return bundled()


@functools.cache
def bundled() -> Library:
    """Return the library as the files of the package state it."""
    files = sorted((file for file in _folder().iterdir() if file.name.endswith(".json")), key=lambda file: file.name)
    documents = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    entries = (LibraryEntry(family=found["family"], **row) for found in documents for row in found["entries"])
    return Library({entry.name: entry for entry in entries}, {found["family"]: found["title"] for found in documents})


def instance_of(name: str, source: Mapping[str, Any]) -> Instance:
    """Return the instance that a source makes, under its name in the library."""
    if "file" in source:
        return value_of(dict(source["file"]), INSTANCE, [])
    return generate(source["generator"], source["seed"], **source["parameters"]).replace(name=name)


def _folder() -> Traversable:
    return resources.files("coalloc.workloads") / "bundled" / "library"
