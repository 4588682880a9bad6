"""The English of the project: terms of its first versions, which no search finds, and what stands in their place.

Pages, docstrings of public names, help of the shell, messages of errors and labels of pictures are read; code is not.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.pages import ROOT
from tests.public import PUBLIC
from tests.test_docstrings import members, text_of

TERMS = {
    r"base times?": "reference run time",
    r"beside": "compared with, next to, in addition to",
    r"compaction": "utilization",
    r"for ever": "permanently",
    r"instants?": "time, point in time",
    r"made (?:again|anew)(?: by)?": "reproduce with",
    r"of (?:your|one's|the user's) own": "custom",
    r"proven": "proved",
    r"(?:is|are) refused": "is not supported, raises",
    r"rooms": "packages, layers",
    r"that we hold": "best known",
    r"the meter": "the energy model",
    r"told apart": "distinguished",
}
"""Expressions of old terms, and what to write."""
TERM = re.compile(rf"\b(?:{'|'.join(TERMS)})\b", re.IGNORECASE)
ALLOWED = {"docs/glossary.md": {"base time", "compaction"}}
"""Old terms that a page may name: the glossary has synonyms of other texts."""
CODE = re.compile(r"^```.*?^```|`[^`\n]+`|<!--.*?-->|\]\([^)]*\)", re.MULTILINE | re.DOTALL)

PAGES = ["README.md", "CONTRIBUTING.md", *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*.md"))]
SOURCES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "coalloc").rglob("*.py"))


def terms_of_page(page: str) -> set[str]:
    """Return the old terms in the prose of a page."""
    prose = CODE.sub("", (ROOT / page).read_text(encoding="utf-8"))
    return {found[0].lower() for found in TERM.finditer(prose)} - ALLOWED.get(page, set())


def messages(source: str) -> Iterator[str]:
    """Yield the texts of what a module raises and, in a module of pictures, draws, but no names of columns."""
    for node in ast.walk(ast.parse((ROOT / source).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Raise) or (source.startswith("coalloc/plot/") and isinstance(node, ast.Call)):
            parts = (part.value for part in ast.walk(node) if isinstance(part, ast.Constant))
            yield from (part for part in parts if isinstance(part, str) and not part.isidentifier())


def test_pages_have_the_terms_of_the_field():
    found = {page: terms_of_page(page) for page in PAGES}
    assert {page: terms for page, terms in found.items() if terms} == {}


def test_public_docstrings_have_the_terms_of_the_field():
    found = [part for name in PUBLIC.keys() - {"coalloc.extend.Problem"} for part in members(name).items()]
    texts = {member: re.sub(r"``[^`]*``", "", text_of(part)) for member, part in found}
    assert {member: TERM.findall(text) for member, text in texts.items() if TERM.search(text)} == {}


def test_messages_have_the_terms_of_the_field():
    found = [(source, message) for source in SOURCES for message in messages(source)]
    assert [(source, message) for source, message in found if TERM.search(message)] == []


def openings(source: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the first word of each docstring of a module."""
    for node in ast.walk(ast.parse((ROOT / source).read_text(encoding="utf-8"))):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and (text := ast.get_docstring(node)):
            yield f"{source}:{getattr(node, 'name', 'module')}", text.split()[0]


def test_no_docstring_opens_with_a_bare_pronoun():
    bare = {"How", "It", "Its", "Such", "Their", "They", "This", "Those", "What", "Which", "Who"}
    assert [name for source in SOURCES for name, word in openings(source) if word in bare] == []
