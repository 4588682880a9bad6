"""docs/nondedicated.md says what the code does: its names exist, its defaults are ours, its examples run."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

from coalloc import Sharing
from coalloc.heuristics.loras import MIXES
from coalloc.heuristics.registry import POLICIES
from coalloc.sharing_measures import SHARING_METRICS
from tests.test_mathematics_page import resolve

PAGE = (Path(__file__).parent.parent / "docs" / "nondedicated.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", sorted(set(re.findall(r"`(coalloc(?:\.\w+){2,})`", PAGE))))
def test_every_name_in_code_exists(name):
    resolve(name)


def test_the_defaults_are_those_of_the_code():
    for name in ("contract", "paging", "paging_slowdown", "wait_factor"):
        row = next(line for line in PAGE.splitlines() if f"| `{name}` |" in line)
        assert float(row.split("|")[3]) == getattr(Sharing(), name)
    assert Sharing().coscheduling
    assert Sharing().cooperation


@pytest.mark.parametrize("option", POLICIES["loras"].options)
def test_every_value_of_an_option_of_loras_stands_there(option):
    table = PAGE.split("\n## LoRaS\n")[1].partition("\n\nAt a pass")[0]
    part = table.split(f"| `{option}` |")[1].split("\n| `")[0]
    values = [value for value in POLICIES["loras"].choices(option) if value is not None]
    assert [re.search(r'`"([^"]+)"`', line)[1] for line in part.splitlines() if '`"' in line] == sorted(
        values, key=part.index
    )
    if option == "mix":
        assert set(MIXES) == set(values)


@pytest.mark.parametrize("name", SHARING_METRICS)
def test_every_metric_stands_there_with_its_definition(name):
    unit, definition = SHARING_METRICS[name]
    assert f"| `{name}` | {unit} | {definition} |" in PAGE


def test_the_examples_print_what_the_page_says():
    names: dict[str, Any] = {}
    for code, said in re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, flags=re.DOTALL):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, names)
        assert printed.getvalue() == said
