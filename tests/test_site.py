"""The site is built without a warning, asks no other host for anything, and has a page for every public name."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.browser import visit
from tests.public import PUBLIC

ROOT = Path(__file__).parents[1]
ASKED_FOR = re.compile(
    r"""<(?:script|img|iframe|source|video)\b[^>]*?\bsrc=["']?([^"'\s>]+)"""
    r"""|<link\b[^>]*?\brel=["']?(?:stylesheet|icon|preconnect|preload|dns-prefetch)[^>]*?\bhref=["']?([^"'\s>]+)"""
    r"""|<link\b[^>]*?\bhref=["']?([^"'\s>]+)["']?[^>]*?\brel=["']?(?:stylesheet|icon|preconnect|preload|dns-prefetch)"""
)
"""What a browser asks for when it shows a page."""
ASKED_FOR_BY_STYLE = re.compile(r"""@import\s+["']?([^"';]+)|url\(["']?([^"')]+)""")
FIRST_FOR = {
    "utilization": "metrics",
    "license": "features/licenses-and-gres",
    "GRES": "features/licenses-and-gres",
    "moldable": "features/moldable-jobs",
    "deadline": "features/deadlines-and-precedence",
    "RCPSP": "modelling-features",
    "MILP": "mathematics/index",
    "gap": "concepts",
    "backfilling": "policies",
    "walltime": "simulation",
}
"""Terms that users search for, and the page that the search should show first."""

pytestmark = pytest.mark.extras


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the site; links and anchors that lead nowhere are warnings, and strict makes them errors."""
    pytest.importorskip("mkdocs", reason="the extra docs is not installed")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def pages(site: Path) -> list[Path]:
    found = sorted(site.rglob("*.html"))
    assert len(found) > len(PUBLIC)
    return found


def test_no_page_asks_another_host_for_anything(site):
    asked = {
        (page.name, target)
        for page in pages(site)
        for found in ASKED_FOR.findall(page.read_text(encoding="utf-8"))
        for target in found
        if target
    }
    assert len(asked) > len(pages(site))
    assert {(page, target) for page, target in asked if re.match(r"(?:\w+:)?//", target)} == set()


def test_no_style_sheet_asks_another_host_for_anything(site):
    sheets = list(site.rglob("*.css"))
    asked = [t for sheet in sheets for found in ASKED_FOR_BY_STYLE.findall(sheet.read_text()) for t in found if t]
    assert "STIXTwoMath-Regular.ttf" in asked
    assert [target for target in asked if re.match(r"(?:\w+:)?//", target)] == []


def test_every_public_name_has_a_page_from_its_docstring(site):
    first_words = {name: re.match(r"[\w ]+", found.__doc__ or "") for name, found in PUBLIC.items()}
    assert [name for name, words in first_words.items() if words is None] == []
    files = {name: f"{name.removeprefix('coalloc.').replace('.', '/')}.html" for name in PUBLIC}
    pages = {name: (site / "api" / file).read_text(encoding="utf-8") for name, file in files.items()}
    assert [name for name, words in first_words.items() if words and f"<p>{words[0]}" not in pages[name]] == []


def text_of(page: Path) -> str:
    """Return what a page shows."""
    return html.unescape(re.sub(r"<[^>]+>", "", page.read_text(encoding="utf-8")))


def test_no_role_is_shown_as_text(site):
    role = re.compile(r":(?:py:)?(?:func|class|meth|mod|data|attr|exc|ref|doc):")
    assert [page.name for page in pages(site) if role.search(text_of(page))] == []


def test_a_long_signature_has_a_line_for_each_parameter(site):
    assert "\n    instance: Instance,\n    *,\n    model: Model = " in text_of(site / "api" / "solve.html")


def test_pages_of_the_interface_are_in_the_navigation_by_topic(site):
    page = (site / "api" / "solve.html").read_text(encoding="utf-8")
    topics = re.findall(
        r'<label class="md-nav__title" for="__nav_\w+">.*?</span>\s*([^<]+?)\s*</label>', page, re.DOTALL
    )
    assert {"Solving", "Simulation and policies", "Studies and audits", "Extending"} <= set(topics)
    assert re.search(r'<a href="results/TracePoint\.html" class="md-nav__link">', page)


def test_a_name_in_code_leads_to_its_page(site):
    assert re.search(r'<a href="api/simulate\.html"><code>coalloc\.simulate', (site / "simulation.html").read_text())
    index = (site / "api" / "index.html").read_text()
    moved = r'<td><code>coalloc\.write_swf</code></td>\s*<td><a href="io/write_swf\.html"><code>coalloc\.io\.write_swf'
    assert re.search(moved, index)


def test_every_formula_is_drawn_by_the_browser_itself(site):
    text = "".join(page.read_text(encoding="utf-8") for page in (site / "mathematics").glob("*.html"))
    assert text.count("<math ") > 500
    assert "arithmatex" not in text
    assert [found for found in re.findall(r">(\\[a-zA-Z]+)", text) if found] == []


def test_results_and_notebooks_are_pages_too(site):
    for path in ("benchmarks/thesis/README", "notebooks/quickstart.ipynb", "CONTRIBUTING"):
        place = path.replace("README", "index")
        assert (site / "repository" / f"{place}.html").is_file(), path


def test_the_search_works_from_a_folder_and_asks_nobody(site, tmp_path):
    seen = visit(site / "index.html", tmp_path, "?q=makespan")
    assert re.search(r"\d+ matching documents", seen.dom)
    assert [line for line in seen.console if "error" in line.lower()] == []
    assert seen.requests == []


@pytest.mark.parametrize("term", FIRST_FOR)
def test_the_search_shows_the_right_page_first(site, tmp_path, term):
    seen = visit(site / "index.html", tmp_path, f"?q={term}")
    links = re.findall(r'<a href="([^"?]*)[^"]*" class="md-search-result__link"', seen.dom)
    assert links[0] == (site / f"{FIRST_FOR[term]}.html").as_uri()
