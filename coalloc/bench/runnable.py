"""Runs whose outcomes a store keeps, and the digests by which it finds them again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Any, ClassVar

from coalloc.bench.protocol import Task, digest
from coalloc.bench.provenance import decisive_versions


class Runnable(ABC):
    """Something that a worker runs."""

    labels: ClassVar[Collection[str]] = ()
    """Parts of the identity that are for readers: the digests are the same whatever they are."""

    @property
    @abstractmethod
    def identity(self) -> dict[str, Any]:
        """The run as a row of a table names it."""

    @property
    @abstractmethod
    def task(self) -> Task:
        """The task for a worker."""

    @property
    def versions(self) -> Mapping[str, str]:
        """The versions of the code that decide what comes out."""
        return decisive_versions()

    @cached_property
    def content(self) -> str:
        """Digest of what is run, whatever the versions of the code that runs it."""
        return digest({name: part for name, part in self.identity.items() if name not in self.labels})

    @cached_property
    def key(self) -> str:
        """Digest of what is run and of the code that runs it."""
        return digest([self.content, self.versions])
