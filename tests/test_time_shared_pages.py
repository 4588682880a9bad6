"""The pages on time-shared nodes agree with the code: names, defaults and options."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from coalloc import Sharing
from coalloc.documents.json_schema import parameters_of
from coalloc.heuristics.loras import MIXES
from coalloc.heuristics.registry import POLICIES
from tests.test_pages import resolve

DOCS = Path(__file__).parents[1] / "docs"
PAGE, MODEL = ((DOCS / name).read_text(encoding="utf-8") for name in ("time-shared-nodes.md", "time-shared/model.md"))


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(coalloc(?:\.\w+){2,})`", MODEL + PAGE))))
def test_every_name_in_code_exists(name):
    resolve(name)


def test_the_defaults_are_those_of_the_code():
    for name in ("contract", "paging", "paging_slowdown", "wait_factor"):
        row = next(line for line in PAGE.splitlines() if f"| `{name}` |" in line)
        assert float(row.split("|")[3]) == getattr(Sharing(), name)
    assert Sharing().coscheduling
    assert Sharing().cooperation


@pytest.mark.parametrize("option", POLICIES["loras"].options)
def test_every_value_of_an_option_of_loras_is_described(option):
    described = parameters_of(POLICIES["loras"].make)[option]
    values = {value for value in POLICIES["loras"].choices(option) if value is not None}
    assert {value for value in values if f'"{value}"' not in described} == set()
    if option == "mix":
        assert set(MIXES) == values
