"""The notebooks run from the first cell to the last, and are kept without their outputs."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
TIME_LIMIT = 300
"""Seconds after which a cell that hangs is given up."""


def read(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document


def texts(path: Path, kind: str) -> str:
    return "\n".join("".join(cell["source"]) for cell in read(path)["cells"] if cell["cell_type"] == kind)


def test_there_are_notebooks():
    assert [path.stem for path in NOTEBOOKS] == [
        "audit",
        "energy",
        "grid",
        "nondedicated",
        "own_policy",
        "paper_model",
        "policies_and_bounds",
        "quickstart",
        "slot_size",
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_without_outputs(path):
    document = read(path)
    code = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
    assert code
    assert [cell["source"] for cell in code if cell["outputs"] or cell["execution_count"] is not None] == []
    assert [cell["id"] for cell in document["cells"] if cell["metadata"]] == []
    assert set(document["metadata"]) <= {"kernelspec", "language_info"}
    assert document["metadata"]["language_info"] == {"name": "python"}  # no version of whoever ran it


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_links_of_a_notebook_lead_to_files(path):
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", texts(path, "markdown"))
    assert [target for target in targets if not (path.parent / target).exists()] == []


@pytest.mark.extras
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path, monkeypatch):
    nbformat = pytest.importorskip("nbformat", reason="the extra notebooks is not installed")
    nbclient = pytest.importorskip("nbclient", reason="the extra notebooks is not installed")
    pytest.importorskip("ipykernel", reason="the extra notebooks is not installed")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]))
    for name in ("IPYTHONDIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=TIME_LIMIT, kernel_name="python3", resources=resources).execute()
    drawn = re.findall(
        r"^(?:coalloc\.(?:gantt|plot\.power_plot)|(?:found\.)?draw)\(", texts(path, "code"), re.MULTILINE
    )
    assert _pictures(notebook) == len(drawn)


def _pictures(notebook: Any) -> int:
    """Return how many outputs are pictures."""
    outputs = (output for cell in notebook.cells for output in cell.get("outputs", ()))
    return sum("image/png" in output.get("data", {}) for output in outputs)
