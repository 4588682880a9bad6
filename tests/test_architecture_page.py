"""The pages name files and packages that exist, and docs/architecture.md has every package."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PLACES = (ROOT, ROOT / "coalloc")
"""What a page counts a path from."""
FILE = re.compile(r"`((?:[\w-]+/)*[\w-]+\.pyi?)`")
FOLDER = re.compile(r"`((?:[\w-]+/)+)`")
MODULE = re.compile(r"`(coalloc(?:\.\w+)+)`")
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
ROOMS = ARCHITECTURE.split("## Packages and layers")[1].split("\n## ")[0]


def is_module(name: str) -> bool:
    """Return whether a dotted name is a module, or a name within one (what a module holds other tests say)."""
    parts = name.split(".")
    if len(parts) == 2:
        return True  # a public name
    inside = [ROOT.joinpath(*parts[:length]) for length in (len(parts), len(parts) - 1, len(parts) - 2) if length > 1]
    return any(path.with_suffix(".py").is_file() or (path / "__init__.py").is_file() for path in inside)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_file_and_folder_that_a_page_names_is_there(page):
    text = page.read_text(encoding="utf-8")
    named = {*FILE.findall(text), *FOLDER.findall(text)}
    assert sorted(name for name in named if not any((place / name).exists() for place in PLACES)) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_module_that_a_page_names_is_there(page):
    named = set(MODULE.findall(page.read_text(encoding="utf-8")))
    assert sorted(name for name in named if not is_module(name)) == []


def test_the_rooms_are_those_of_the_package():
    package = ROOT / "coalloc"
    rooms = [path.parent.relative_to(package).as_posix() + "/" for path in package.glob("*/__init__.py")]
    files = [path.name for path in package.glob("*.py") if not path.name.startswith("__")]
    assert sorted(name for name in (*rooms, *files) if f"`{name}`" not in ROOMS) == []
