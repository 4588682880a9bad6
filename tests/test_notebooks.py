"""The notebooks are stored with the outputs of their cells, and without anything of the machine that ran them."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.public import PUBLIC

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
LARGEST = 300_000
"""Bytes of a notebook."""
OF_A_MACHINE = re.compile(
    r"/(?:home|root|tmp|usr|work|Users)/|0x[0-9a-f]{6}|python ?3\.\d+|\d\d:\d\d:\d\d", re.IGNORECASE
)


def execute() -> Any:
    """Return the script that runs notebooks."""
    specification = importlib.util.spec_from_file_location("execute", ROOT / "notebooks" / "execute.py")
    assert specification is not None
    assert specification.loader is not None
    script = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(script)
    return script


def read(path: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return document


def texts(path: Path, kind: str) -> str:
    return "\n".join("".join(cell["source"]) for cell in read(path)["cells"] if cell["cell_type"] == kind)


def shown(notebook: Any) -> list[list[str]]:
    """Return what each cell shows: texts as they are, of a picture that it is one."""
    code = (cell for cell in notebook["cells"] if cell["cell_type"] == "code")
    return [[_shown(output) for output in cell["outputs"]] for cell in code]


def _shown(output: Any) -> str:
    data = output.get("data", {})
    return "picture" if "image/png" in data else "".join(output.get("text", data.get("text/plain", "")))


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
        "source_pcbe",
        "source_thesis",
    ]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_small_and_has_nothing_of_a_machine(path):
    document = read(path)
    assert path.stat().st_size <= LARGEST
    assert document["metadata"] == execute().METADATA
    assert [cell["id"] for cell in document["cells"] if cell["metadata"] or cell.get("execution_count")] == []
    outputs = [output for cell in document["cells"] for output in cell.get("outputs", ())]
    assert outputs
    assert [output for output in outputs if output["output_type"] == "error" or output.get("name") == "stderr"] == []
    assert [found for cell in shown(document) for text in cell for found in OF_A_MACHINE.findall(text)] == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_opens_with_what_its_reader_learns(path):
    opening = read(path)["cells"][0]
    assert opening["cell_type"] == "markdown"
    assert re.match(r"# .+\n\nYou learn ", "".join(opening["source"]))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_imports_public_names_only(path):
    pages = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md"))
    imported = re.findall(r"^from (coalloc[\w.]*) import (.+)$", texts(path, "code"), re.MULTILINE)
    names = [(module, name) for module, found in imported for name in found.split(", ")]
    private = [
        f"{module}.{name}"
        for module, name in names
        if f"{module}.{name}" not in PUBLIC
        and f"{module}.{name}" not in pages
        and not re.search(rf"from {re.escape(module)} import .*\b{name}\b", pages)
    ]
    assert private == []
    assert re.findall(r"^import (coalloc\.\S+)", texts(path, "code"), re.MULTILINE) == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_links_of_a_notebook_lead_to_files(path):
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", texts(path, "markdown"))
    assert [target for target in targets if not (path.parent / target).exists()] == []


@pytest.mark.extras
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_is_stored(path):
    for name in ("nbformat", "nbclient", "ipykernel"):
        pytest.importorskip(name, reason="the extra notebooks is not installed")
    before = {*path.parent.iterdir(), path.parent / "__pycache__"}  # of execute.py
    assert shown(execute().executed(path)) == shown(read(path))
    assert {*path.parent.iterdir()} <= before
