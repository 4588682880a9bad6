"""Run notebooks and store their outputs, less what differs between runs: ``python notebooks/execute.py [NAME ...]``."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
TIME_LIMIT = 300
"""Seconds after which a cell that hangs is given up."""
TIMES = re.compile(r"^(?:time  |decision   time|Mean solve time).*\n?", re.MULTILINE)
"""Lines of outputs that depend on the speed of the machine."""
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def executed(path: Path) -> Any:
    """Return a notebook with new outputs; it runs in this folder, with coalloc of this clone."""
    import nbclient
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    place = {"metadata": {"path": str(FOLDER)}}
    client = nbclient.NotebookClient(
        notebook, timeout=TIME_LIMIT, kernel_name="python3", resources=place, coalesce_streams=True
    )
    with tempfile.TemporaryDirectory() as settings:
        of_kernel = {
            "PYTHONPATH": os.pathsep.join([str(FOLDER.parent), os.environ.get("PYTHONPATH", "")]),
            "IPYTHONDIR": settings,
            "JUPYTER_RUNTIME_DIR": settings,
        }
        client.execute(env={**os.environ, **of_kernel})
    return stripped(notebook)


def stripped(notebook: Any) -> Any:
    """Return a notebook without numbers of cells, versions, settings and times."""
    cells = [{**cell, "metadata": {}} for cell in notebook["cells"]]
    for cell in cells:
        if cell["cell_type"] == "code":
            cell["execution_count"] = None
            cell["outputs"] = [_stripped_output(output) for output in cell["outputs"]]
    return type(notebook)({**notebook, "metadata": METADATA, "cells": cells})


def _stripped_output(output: Any) -> Any:
    kept = dict(output)
    if "metadata" in kept:
        kept["metadata"] = {}
    if "execution_count" in kept:
        kept["execution_count"] = None
    if "text" in kept:
        kept["text"] = TIMES.sub("", kept["text"])
    return kept


def main(names: list[str]) -> None:
    """Run the named notebooks, or all."""
    import nbformat

    known = {path.stem: path for path in sorted(FOLDER.glob("*.ipynb"))}
    if unknown := [name for name in names if name not in known]:
        print(f"no notebook {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        sys.exit(2)
    for path in [known[name] for name in names] or known.values():
        nbformat.write(nbformat.from_dict(executed(path)), path)
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
