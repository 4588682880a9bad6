"""Sources of the instances of a benchmark: a generator, bundled examples, files, or slices of a trace.

A source names its instances at once and makes each on demand, so that a plan of thousands holds none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

import coalloc
from coalloc.documents.errors import FaultsError
from coalloc.documents.values import Count, Text, Value, value
from coalloc.instance import CoallocError, Fault, Instance, InstanceError
from coalloc.workloads.swf import SwfOptions, pool, read_swf_with_report

Seed = Annotated[int, Field(strict=True, ge=0)]
Texts = Annotated[tuple[Text, ...], Field(min_length=1)]
Seeds = Annotated[tuple[Seed, ...], Field(min_length=1)]
Make = Callable[[], Instance]


@dataclass(frozen=True, slots=True)
class Recipe:
    """Recipe of one instance, and the key of the specification that asks for it (``seeds[1]``)."""

    path: str
    make: Make


@value()
class Generated(Value):
    """Instances of a generator, one per seed."""

    generator: Text
    seeds: Seeds = (0,)
    parameters: dict[str, Any] = field(default_factory=dict)

    def recipes(self, _folder: Path) -> list[Recipe]:
        """Return a recipe per seed."""
        draw = partial(coalloc.generate, self.generator)
        return [Recipe("", partial(draw, seed, **self.parameters)) for seed in self.seeds]


@value()
class Examples(Value):
    """Instances that come with the package, by name."""

    examples: Texts

    def recipes(self, _folder: Path) -> list[Recipe]:
        """Return a recipe per name."""
        return [Recipe(f"examples[{i}]", partial(coalloc.example, name)) for i, name in enumerate(self.examples)]


@value()
class Files(Value):
    """Instance files, relative to the folder of the specification."""

    files: Texts

    def recipes(self, folder: Path) -> list[Recipe]:
        """Return a recipe per file."""
        return [
            Recipe(f"files[{i}]", partial(coalloc.read_instance, folder / name)) for i, name in enumerate(self.files)
        ]


@value()
class Trace(Value):
    """Slices of a trace (``"100:200"``), on one pool of processors or on the platform of a file."""

    swf: Text
    processors: Count | None = None
    platform: Text | None = None
    slices: Annotated[tuple[Text, ...], Field(min_length=1)] = (":",)
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if (self.processors is None) == (self.platform is None):
            raise InstanceError([Fault("swf", "requires either processors or platform")])

    def recipes(self, folder: Path) -> list[Recipe]:
        """Return a recipe per slice."""
        return [Recipe(f"slices[{i}]", partial(self._read, folder, part)) for i, part in enumerate(self.slices)]

    def _read(self, folder: Path, part: str) -> Instance:
        platform = (
            pool(self.processors or 1) if self.platform is None else coalloc.io.read_platform(folder / self.platform)
        )
        options = SwfOptions(**self.options, slice=None if part == ":" else part)
        return read_swf_with_report(folder / self.swf, platform, options)[0]


Source = Generated | Examples | Files | Trace
SOURCES: Mapping[str, type[Source]] = {"generator": Generated, "examples": Examples, "files": Files, "swf": Trace}
"""Each source by the key that it must have."""


def made(recipe: Recipe, faults: list[Fault]) -> Instance | None:
    """Return the instance of a recipe, or add to ``faults`` why there is none."""
    try:
        return recipe.make()
    except FaultsError as error:
        source = f"{error.source}: " if error.source else ""
        faults += [Fault(recipe.path, f"{source}{fault}") for fault in error.faults]
    except CoallocError as error:
        faults += [Fault(recipe.path, line) for line in str(error).splitlines()]
    except TypeError as error:  # Python's own word on an option that does not exist
        faults.append(Fault(recipe.path, str(error)))
    return None
