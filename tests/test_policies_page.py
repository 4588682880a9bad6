"""docs/policies.md names every policy, option and value."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from coalloc.heuristics.registry import POLICIES

PAGE = (Path(__file__).parent.parent / "docs" / "policies.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_stands_there_with_its_options(name: str) -> None:
    table = PAGE.partition("| policy | options")[2].partition("\n\n")[0].splitlines()[2:]
    row = next((row for row in table if f"`{name}`" in row.split("|")[1]), None)
    assert row is not None, f"docs/policies.md: the table of policies has no row for {name!r}"
    assert set(re.findall(r"`(\w+)`", row.split("|")[2])) == set(POLICIES[name].options)


@pytest.mark.parametrize("name", POLICIES)
def test_every_option_stands_there_with_its_values_and_default(name: str) -> None:
    entry = POLICIES[name]
    for option, default in entry.options.items():
        own = f"`{option}` of `{name}`"
        label = own if own in PAGE else f"`{option}`"
        line = next((line for line in PAGE.splitlines() if line.startswith(f"| {label} |")), None)
        assert line is not None, f"docs/policies.md: no row for option {option!r} of {name!r}"
        row = line.split("|")[2]
        values = entry.choices(option)
        stand = [value.strip("` ") for value in row.split(",")]
        if not values:
            assert str(default) in row
        else:
            assert stand[0] == _shown(default)
            assert set(stand) == {_shown(value) for value in values}


def _shown(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)
