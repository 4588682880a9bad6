"""docs/modelling-features.md: its support table is what the code says, and each cell is true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import coalloc
from coalloc import CoallocError
from coalloc.api.words import unknown_words, words_table
from coalloc.heuristics.registry import POLICIES
from coalloc.instance.words import WORDS
from tests.instance.test_words import WORDED
from tests.simulator.test_words import with_watts

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "modelling-features.md").read_text(encoding="utf-8")
LINKED = PAGE.split("## Feature support by method")[0]
UNKNOWN = dict(unknown_words())
EXAMPLE = re.compile(r"```python\n.*?```\n\n```text\n", re.DOTALL)
"""Run with those of the other pages."""


def test_the_table_is_made_from_the_code():
    assert words_table() in PAGE, "run python docs/making/reference.py"


@pytest.mark.parametrize("word", WORDS)
def test_every_word_leads_to_a_page_with_an_example(word):
    row = next(line for line in LINKED.splitlines() if f"`{word}`" in line)
    page = (DOCS / re.search(r"\(([^#)]+)", row)[1]).read_text(encoding="utf-8")
    assert f"`{word}`" in page
    assert EXAMPLE.search(page)


def run(method, instance):
    """Ask a method of the table about an instance."""
    name, _, detail = method.replace("`", "").partition(":")
    if name == "simulate":
        policy = detail.strip()
        if policy in ("pcbe", "node-list"):  # for jobs that fit a node
            instance = instance.replace(jobs=[job.replace(tasks=1) for job in instance.jobs])
        coalloc.simulate(instance, policy)
    elif name.startswith("replay"):
        coalloc.replay(instance, coalloc.solve(instance, time_limit=1.0).schedule, starts=detail.split('"')[1])
    elif name.startswith("check"):
        schedule = coalloc.solve(instance, time_limit=1.0).schedule
        assert coalloc.check(instance, schedule) == []
        assert coalloc.metrics(instance, schedule)["jobs"] == len(instance.jobs)
    elif "pas" in detail:
        assert coalloc.solve(instance, model="pas").status == "optimal"
    else:
        objective = "energy" if "energy" in detail else "makespan"
        if name.startswith("solve"):
            assert coalloc.solve(instance, objective=objective, slot=5.0).status == "optimal"
        else:
            assert coalloc.lower_bound(instance, objective) > 0.0


@pytest.mark.parametrize("method", UNKNOWN)
def test_each_cell_is_true(method):
    for word, instance in WORDED.items():
        if word in UNKNOWN[method]:
            with pytest.raises(CoallocError, match=f"does not support '{word}', which this instance uses"):
                run(method, with_watts(instance))
        else:
            run(method, with_watts(instance))


def test_every_policy_is_in_the_table():
    assert [f"`simulate`: `{name}`" in UNKNOWN for name in POLICIES] == [True] * len(POLICIES)
