"""Files of Pyomo models, for ``--write-model``: LP or MPS, with the names that the model has."""

from __future__ import annotations

from itertools import chain, count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from coalloc.documents.storage import write_atomically
from coalloc.documents.text import visible
from coalloc.instance import CoallocError

if TYPE_CHECKING:
    from pyomo.environ import ConcreteModel

FORMATS = ("lp", "mps")
"""File name extensions of models."""
LONGEST = 200
"""Letters of a name: solvers read 255, and a row's has a few more around it."""


def model_format(path: Path) -> str:
    """Return the format that the extension of a path asks for; :class:`CoallocError` where there is none."""
    extension = path.suffix.lower().removeprefix(".")
    if extension not in FORMATS:
        supported = " or ".join(f".{name}" for name in FORMATS)
        raise CoallocError(f"--write-model: must end in {supported}, got {visible(str(path))}")
    return extension


class ModelLabels:
    """The names of rows and columns: those of the model in letters, digits and underscores, each once, not too long.

    Names of jobs may hold anything, and may differ in nothing but what a file cannot show.
    """

    def __init__(self) -> None:
        from pyomo.core.base.label import TextLabeler

        self._plain = TextLabeler()
        self._used: set[str] = set()

    def __call__(self, component: Any) -> str:
        """Return the name of a row or a column, another for each."""
        plain = str(self._plain(component))[:LONGEST]
        label = next(name for name in chain([plain], (f"{plain}_{n}" for n in count(2))) if name not in self._used)
        self._used.add(label)
        return label


def write_model(model: ConcreteModel, path: Path) -> None:
    """Write a model, the whole file or nothing of it."""
    name = f"model.{model_format(path)}"
    with TemporaryDirectory() as folder:
        file = Path(folder) / name
        model.write(str(file), io_options={"labeler": ModelLabels()})
        write_atomically(path, file.read_bytes())
