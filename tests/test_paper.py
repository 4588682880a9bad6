"""The manuscripts in paper/: citations, figures, lengths, terms, and figures that stand on the pages of results."""

from __future__ import annotations

import functools
import importlib.util
import re

import pytest

from tests.pages import ROOT
from tests.test_language import CODE, TERM
from tests.test_sources_page import NUMBER, PAGE

PAPER = ROOT / "paper"
_spec = importlib.util.spec_from_file_location("build_paper", PAPER / "build.py")
assert _spec is not None
assert _spec.loader is not None
build = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(build)

ENTRIES = dict(re.findall(r"^@\w+\{([^,]+),(.*?)^\}", (PAPER / "paper.bib").read_text(encoding="utf-8"), re.M | re.S))
LENGTHS = {"paper.md": (750, 1250), "replication.md": (0, 3000)}
MANUSCRIPTS = pytest.mark.parametrize("name", build.MANUSCRIPTS)
QUANTITY = re.compile(
    r"(?<![\w.,-])-?\d+(?:\.\d+)?(?= ?(?:%|\(-?\d|to -?\d|\)|points|times|GB/s|s\b))|(?<!\w)-?\d+\.\d+"
)
"""Numbers of prose that a measurement gave: with an interval, a unit or decimals."""
INTERVAL = re.compile(r"\d[\d.]* \(-?\d[\d.]* to -?\d[\d.]*\)")
PAGES = ["docs/sources.md", "docs/errata.md", "benchmarks/results/pcbe.md", "benchmarks/thesis/results/optima.md"]
PAGES += [f"benchmarks/{source}/README.md" for source in ("thesis", "cisne", "grid")]
RESULTS = " ".join(" ".join((ROOT / page).read_text(encoding="utf-8").split()) for page in PAGES)


@functools.cache
def filled(name: str) -> str:
    """Return a manuscript with its tables and without its head."""
    return build.filled((PAPER / name).read_text(encoding="utf-8")).split("\n---\n", 1)[1]


def prose(name: str) -> str:
    """Return the words of a manuscript: no tables, citations, targets of links, code or labels."""
    text = "\n".join(line for line in filled(name).splitlines() if not line.startswith("|"))
    return re.sub(r"\[?@[\w-]+(?:; @[\w-]+)*\]?|\\\w+\{[^}]*\}|\{ width[^}]*\}", "", CODE.sub(" ", text))


def test_every_entry_is_cited_and_every_citation_is_an_entry():
    text = "".join((PAPER / name).read_text(encoding="utf-8") for name in build.MANUSCRIPTS)
    assert set(re.findall(r"(?<!\w)@([a-z][\w-]+)", text)) == set(ENTRIES)


@pytest.mark.parametrize("key", ENTRIES)
def test_an_entry_has_an_address_or_says_that_there_is_none(key):
    assert re.search(r"^  (?:doi +=|url +=|note += \{No public record found\})", ENTRIES[key], re.M)


@MANUSCRIPTS
def test_every_figure_exists_and_is_referred_to(name):
    text = (PAPER / name).read_text(encoding="utf-8")
    pictures = re.findall(r"!\[[^]]*\]\(([^)]+)\)", text)
    assert len(pictures) >= 3
    assert [picture for picture in pictures if not (PAPER / picture).is_file()] == []
    labels = [label for _, label in build.FIGURE.findall(text)]
    assert len(labels) == len(pictures)
    assert sorted(set(re.findall(r"\\autoref\{([^}]+)\}", text))) == sorted(labels)


@MANUSCRIPTS
def test_nothing_is_left_to_fill_in_but_names(name):
    assert build.UNFILLED.findall(build.numbered(filled(name))) == []


def test_the_build_rejects_what_is_left():
    text = "![A.\\label{a}](a.png) \\autoref{a}, \\autoref{b} {{c}} TODO"
    assert build.numbered(text).startswith("![**Figure 1.** A.](a.png) Figure 1,")
    assert build.UNFILLED.findall(build.numbered(text)) == ["\\autoref{b}", "{{c}}", "TODO"]


@MANUSCRIPTS
def test_the_words_are_within_the_limits(name):
    words = prose(name) if name == "paper.md" else filled(name)
    least, most = LENGTHS[name]
    assert least <= len(re.findall(r"[^\W_][\w.'-]*", words)) <= most


def test_every_number_of_the_verdicts_is_on_the_page_of_the_sources():
    rows = [line for line in filled("replication.md").splitlines() if line.startswith("|")]
    assert len(rows) > 40
    known = set(NUMBER.findall(PAGE))
    assert [(row, number) for row in rows for number in NUMBER.findall(row) if number not in known] == []


@MANUSCRIPTS
def test_every_quantity_of_the_prose_is_on_a_page_of_results(name):
    text = " ".join(prose(name).split())
    intervals, quantities = INTERVAL.findall(text), QUANTITY.findall(text)
    assert len(quantities) > {"paper.md": 3, "replication.md": 60}[name]
    assert len(intervals) > {"paper.md": 0, "replication.md": 8}[name]
    assert [interval for interval in intervals if interval not in RESULTS] == []
    known = {number.lstrip("-") for number in NUMBER.findall(RESULTS)}
    assert [number for number in quantities if number.lstrip("-") not in known] == []


@MANUSCRIPTS
def test_manuscripts_have_the_terms_of_the_field(name):
    assert [found[0] for found in TERM.finditer(prose(name))] == []
