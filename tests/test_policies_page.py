"""The docstring of every policy and queue order, which docs/policies.md is made from, describes its options."""

from __future__ import annotations

import pytest

from coalloc.documents.json_schema import parameters_of
from coalloc.heuristics.registry import BUILTIN, ORDERS

ENTRIES = {**BUILTIN, **ORDERS.builtin}


@pytest.mark.parametrize("name", ENTRIES)
def test_the_options_are_those_of_the_docstring(name: str) -> None:
    entry = ENTRIES[name]
    described = parameters_of(entry.make)
    assert set(described) == {*entry.options, *entry.fixed}
    assert all(described.values())
