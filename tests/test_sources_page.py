"""docs/sources.md says of a source what the linked pages say; the tables of sources and errata have short cells."""

from __future__ import annotations

import re

import pytest

from tests.pages import ROOT

PAGE = (ROOT / "docs" / "sources.md").read_text(encoding="utf-8")
SECTIONS = [section for section in PAGE.split("\n## ")[1:] if "| confirmed |" in section]
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-\d+)?")
ROUNDED = {"PCBE": {"1e-9"}}
"""The bound of a column of numbers: no deviation is above it."""


def rows(section: str) -> list[list[str]]:
    """Return the cells of each line of the table of a section, but for its head."""
    lines = [line for line in section.splitlines() if line.startswith("|")][2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def linked(section: str) -> str:
    """Return the text of all pages of results that a section links."""
    places = re.findall(r"\(\.\./(benchmarks/[^)#]+\.md)", section)
    return "\n".join((ROOT / place).read_text(encoding="utf-8") for place in dict.fromkeys(places))


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.splitlines()[0])
def test_every_number_stands_on_the_page_that_the_section_links(section):
    known = set(NUMBER.findall(linked(section))) | ROUNDED.get(section.splitlines()[0], set())
    for _, *cells in rows(section):
        for number in (number for cell in cells[:-1] for number in NUMBER.findall(re.sub(r"\]\([^)]*\)", "]", cell))):
            assert number in known or number.lstrip("-") in known, (number, cells)


def test_cells_of_the_errata_are_short():
    text = re.sub(r"\]\([^)]*\)", "]", (ROOT / "docs" / "errata.md").read_text(encoding="utf-8"))
    cells = [cell for line in text.splitlines() if line.startswith("|") for cell in line.split("|")]
    assert [cell for cell in cells if len(cell.split()) > 15] == []


def test_cells_are_short_and_rows_say_on_how_many_samples():
    for section in SECTIONS:
        for row in rows(section):
            assert max(len(cell.split()) for cell in row) <= 15, row
            assert NUMBER.match(row[-2]), row
