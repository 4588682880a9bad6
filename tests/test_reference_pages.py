"""Pages that are made from the code are as the code makes them now."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

import coalloc
from coalloc.api.schemas import KINDS

DOCS = Path(__file__).parents[1] / "docs"
SPEC = importlib.util.spec_from_file_location("reference", DOCS / "making" / "reference.py")
assert SPEC is not None
assert SPEC.loader is not None
reference = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(reference)


@pytest.mark.parametrize("name", reference.PAGES)
def test_a_page_is_up_to_date(name):
    page = (DOCS / name).read_text(encoding="utf-8")
    assert page == reference.PAGES[name](), "run: python docs/making/reference.py"


def test_every_property_of_every_file_is_described():
    schemas = [
        s for kind in KINDS for s in (coalloc.io.schema(kind), *coalloc.io.schema(kind).get("$defs", {}).values())
    ]
    named = [(name, value) for schema in schemas for name, value in schema.get("properties", {}).items()]
    assert len(named) > 60
    assert [name for name, value in named if not value.get("description")] == []


def test_a_default_of_zero_is_shown():
    assert "| `--gap` | `0.0` |" in reference.PAGES["reference-cli.md"]()


def test_every_bundled_instance_has_a_row():
    page = (DOCS / "generators.md").read_text(encoding="utf-8")
    assert {name for name in coalloc.examples() if f"\n| `{name}` |" not in page} == set()
