"""The pages name files and packages that exist, and docs/architecture.md has every package."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PLACES = (ROOT, ROOT / "coalloc")
"""What a page counts a path from."""
FILE = re.compile(r"`((?:[\w-]+/)*[\w-]+\.pyi?)`")
FOLDER = re.compile(r"`((?:[\w-]+/)+)`")
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
ROOMS = ARCHITECTURE.split("## Packages and layers")[1].split("\n## ")[0]


def test_every_file_and_folder_that_a_page_names_is_there():
    texts = {page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8") for page in PAGES}
    named = {(page, name) for page, text in texts.items() for name in (*FILE.findall(text), *FOLDER.findall(text))}
    assert sorted((page, name) for page, name in named if not any((place / name).exists() for place in PLACES)) == []


def test_the_rooms_are_those_of_the_package():
    package = ROOT / "coalloc"
    rooms = [path.parent.relative_to(package).as_posix() + "/" for path in package.glob("*/__init__.py")]
    files = [path.name for path in package.glob("*.py") if not path.name.startswith("__")]
    assert sorted(name for name in (*rooms, *files) if f"`{name}`" not in ROOMS) == []
