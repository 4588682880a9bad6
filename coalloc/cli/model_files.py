"""Files of Pyomo models, for ``--write-model``: LP or MPS, with the names that the model has."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from coalloc.documents.storage import write_atomically
from coalloc.documents.text import visible
from coalloc.instance import CoallocError

if TYPE_CHECKING:
    from pyomo.environ import ConcreteModel

FORMATS = ("lp", "mps")
"""File name extensions of models."""


def model_format(path: Path) -> str:
    """Return the format that the extension of a path asks for; :class:`CoallocError` where there is none."""
    extension = path.suffix.lower().removeprefix(".")
    if extension not in FORMATS:
        supported = " or ".join(f".{name}" for name in FORMATS)
        raise CoallocError(f"--write-model: the extension of {visible(str(path))} must be {supported}")
    return extension


def write_model(model: ConcreteModel, path: Path) -> None:
    """Write a model, the whole file or nothing of it."""
    name = f"model.{model_format(path)}"
    with TemporaryDirectory() as folder:
        file = Path(folder) / name
        model.write(str(file), io_options={"symbolic_solver_labels": True})
        write_atomically(path, file.read_bytes())
