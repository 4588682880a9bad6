"""docs/modelling-features.md leads to an example of each feature, and each cell of the table of support is true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import coalloc
from coalloc import UnsupportedFeature
from coalloc.api.features import supported_features
from coalloc.heuristics.registry import POLICIES
from coalloc.instance.features import FEATURES
from coalloc.results import RelaxedFeatureWarning
from tests.instance.test_features import EXAMPLES
from tests.simulator.test_features import narrow, with_watts

DOCS = Path(__file__).parents[1] / "docs"
PAGE = (DOCS / "modelling-features.md").read_text(encoding="utf-8")
LINKED = PAGE.split("## Feature support")[0]
SUPPORTED = dict(supported_features())
EXAMPLE = re.compile(r"```python\n.*?```\n\n```text\n", re.DOTALL)
"""Run with those of the other pages."""


@pytest.mark.parametrize("feature", FEATURES)
def test_every_feature_leads_to_a_page_with_an_example(feature):
    row = next(line for line in LINKED.splitlines() if f"`{feature}`" in line)
    page = (DOCS / re.search(r"\(([^#)]+)", row)[1]).read_text(encoding="utf-8")
    assert f"`{feature}`" in page
    assert EXAMPLE.search(page)


def run(method, instance):
    """Ask a method of the table about an instance."""
    name, _, detail = method.replace("`", "").partition(":")
    if name == "simulate":
        policy = detail.strip()
        if policy in ("pcbe", "node-list"):  # for jobs that fit a node
            instance = instance.replace(jobs=list(map(narrow, instance.jobs)))
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


@pytest.mark.parametrize("method", SUPPORTED)
def test_each_cell_is_true(method):
    for feature, instance in EXAMPLES.items():
        if feature not in SUPPORTED[method] and "lower_bound" in method:
            with pytest.warns(RelaxedFeatureWarning, match=f"energy' relaxes '{feature}'; it also holds without$"):
                run(method, with_watts(instance))
        elif feature not in SUPPORTED[method]:
            with pytest.raises(UnsupportedFeature, match=f"does not support '{feature}', which this instance uses"):
                run(method, with_watts(instance))
        else:
            run(method, with_watts(instance))


def test_every_policy_is_in_the_table():
    assert [f"`simulate`: `{name}`" in SUPPORTED for name in POLICIES] == [True] * len(POLICIES)
