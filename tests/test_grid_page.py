"""docs/grid.md and docstrings define the columns of a study of a grid, and the keys of a merge."""

import re
from pathlib import Path

from coalloc.measures.grid import GRID_METRICS
from coalloc.studies.grid import COLUMNS, grid_study
from coalloc.workloads.weeks.spec import MergeSpec, TraceSpec

PAGE = (Path(__file__).parents[1] / "docs" / "grid.md").read_text(encoding="utf-8")


def section(title):
    return PAGE.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def test_the_columns_of_a_study_are_defined():
    returned = grid_study.__doc__.split("Returns")[1].split("Raises")[0]
    assert set(re.findall(r"``(\w+)``", returned)) == set(COLUMNS) - set(GRID_METRICS)


def test_the_example_of_a_specification_has_every_key():
    # The comments of the example say what goes without a key.
    example = section("Building weeks from traces").split("```toml")[1].split("```")[0]
    keys = set(re.findall(r"^(\w+) =", example, re.MULTILINE))
    assert keys == {*MergeSpec.__dataclass_fields__, *TraceSpec.__dataclass_fields__} - {"traces"}
