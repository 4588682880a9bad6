"""The README does what it says: its blocks run as they stand, print what it shows, and its links lead somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parents[1]
SET_UP = "python3 -m venv .venv && "


class Block(NamedTuple):
    """A fenced block of code, and the output that the README shows for it."""

    language: str
    code: str
    output: str


def blocks(page: str = "README.md") -> list[Block]:
    """Return the blocks of code of a page in order; a block of language ``text`` is the output of the one before."""
    text_of_page = (ROOT / page).read_text()
    fenced = re.findall(r"^```(\w+)\n(.*?)^```$", text_of_page, re.MULTILINE | re.DOTALL)
    following = [*fenced[1:], ("", "")]
    return [
        Block(language, code, text if after == "text" else "")
        for (language, code), (after, text) in zip(fenced, following, strict=True)
        if language != "text"
    ]


def commands_after_set_up() -> list[str]:
    """Return what the lines run that set up an environment, without the set-up."""
    lines = [line for block in blocks() for line in block.code.splitlines() if line.startswith(SET_UP)]
    return [line.split(" && ")[-1].removeprefix(".venv/bin/") for line in lines]


def run(block: Block, directory: Path) -> str:
    """Run a block in an empty directory as its reader would, and return its standard output."""
    if block.language == "python":
        command = [sys.executable, "-c", block.code]
    else:
        code = re.sub(r"^python3 -m venv .* && \.venv/bin/", "", block.code)
        command = ["bash", "-euc", code]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=directory, env=environment)
    return done.stdout


def test_two_lines_set_up_everything_and_run_the_demo_and_the_tests():
    assert commands_after_set_up() == ["coalloc demo", "pytest -n 2"]


@pytest.mark.parametrize("block", [b for b in blocks() if "pytest" not in b.code], ids=lambda b: b.code.split("\n")[0])
def test_a_block_of_code_works_and_prints_what_is_shown(block, tmp_path):
    printed = run(block, tmp_path).splitlines()
    assert [line for line in block.output.splitlines() if line not in printed] == []


PAGES = tuple(f"docs/{name}.md" for name in ("audit", "energy", "extending", "grid", "simulation", "studies"))
"""Pages whose examples in Python run as well."""


@pytest.mark.parametrize("block", [b for page in PAGES for b in blocks(page) if b.language == "python"], ids=str)
def test_the_examples_of_other_pages_run_and_print_what_is_shown(block, tmp_path):
    printed = run(block, tmp_path).splitlines()
    assert [line for line in block.output.splitlines() if line not in printed] == []


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs/README.md", *PAGES])
def test_links_lead_to_files(page):
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", (ROOT / page).read_text())
    assert targets
    assert [target for target in targets if not ((ROOT / page).parent / target).exists()] == []


def anchors(page):
    """Return the anchors of a page's headings, as a forge makes them."""
    titles = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", sorted(path.name for path in (ROOT / "docs").glob("*.md")))
def test_links_lead_to_headings(page):
    path = ROOT / "docs" / page
    links = re.findall(r"\]\(([\w./-]*\.md)?#([^)]+)\)", path.read_text())
    assert [
        f"{file}#{anchor}" for file, anchor in links if anchor not in anchors(path.parent / file if file else path)
    ] == []
