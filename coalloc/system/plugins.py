"""Registries: things that coalloc has by name, and those that installed packages add by entry points.

Entry points are read where a name is looked up that is not built in, or where all names are listed: an import of
coalloc reads none. What cannot be used is named in one warning, and skipped.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

from coalloc.documents.text import quoted, visible

T = TypeVar("T")

Adopt = Callable[[Any, EntryPoint], T]
"""Returns the entry of a registry for what an entry point refers to; raises where that is of a wrong kind."""

NAME = re.compile(r"[A-Za-z][\w.-]*")
"""Pattern of names: without the characters that separate names and options in the shell."""


class PluginWarning(UserWarning):
    """An entry point of an installed package cannot be used; it is skipped."""


class Registry(Mapping[str, T]):
    """Entries by name: those of ``builtin``, then the plugins of groups of entry points, each with what adopts it."""

    def __init__(self, builtin: Mapping[str, T], groups: Mapping[str, Adopt[T]]) -> None:
        self.builtin = builtin
        self._groups = groups
        self._plugins: dict[str, T] | None = None
        self._owners: dict[str, str] = {}

    @property
    def plugins(self) -> Mapping[str, T]:
        """The entries that installed packages add."""
        if self._plugins is None:
            self._plugins = {}  # a plugin that looks here while it is imported finds those before it
            for group, adopt in self._groups.items():
                for point in sorted(entry_points(group=group), key=_place):
                    self._add(point, adopt)
        return self._plugins

    def __getitem__(self, name: str) -> T:
        return self.builtin[name] if name in self.builtin else self.plugins[name]

    def __iter__(self) -> Iterator[str]:
        yield from self.builtin
        yield from self.plugins

    def __len__(self) -> int:
        return len(self.builtin) + len(self.plugins)

    def owner(self, name: str) -> str | None:
        """Return the package, with its version, that adds an entry; None where no plugin has this name."""
        return self._owners.get(name) if name not in self.builtin and name in self.plugins else None

    def _add(self, point: EntryPoint, adopt: Adopt[T]) -> None:
        """Add what an entry point refers to, or warn why it is left out."""
        assert self._plugins is not None
        try:
            if not NAME.fullmatch(point.name):
                raise ValueError("the name must consist of letters, digits, - and _")
            if point.name in self.builtin or point.name in self._plugins:
                raise ValueError("the name is taken")
            self._plugins[point.name] = adopt(point.load(), point)
            self._owners[point.name] = _owner(point)
        except (Exception, SystemExit) as error:  # whatever a module of somebody else does when it is imported
            kind = "" if type(error) in (TypeError, ValueError) else f"{type(error).__name__}: "
            reason = visible(" ".join(f"{kind}{error}".split()))
            warnings.warn(
                f"plugin {quoted(point.name)} ({point.group}) of {_owner(point)} is skipped: {reason}",
                PluginWarning,
                stacklevel=2,
            )


def home_of(point: EntryPoint) -> str:
    """Return where an entry point leads to, as ``module:name``."""
    return f"{point.module}:{point.attr}"


def _owner(point: EntryPoint) -> str:
    """Return the package that an entry point comes from, in words."""
    return "an unknown package" if point.dist is None else visible(f"{point.dist.name} {point.dist.version}")


def _place(point: EntryPoint) -> tuple[str, str]:
    """Return by what plugins are ordered: of two with one name the same is always the first."""
    return point.name, _owner(point)
