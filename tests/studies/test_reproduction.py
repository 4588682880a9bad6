"""Reproduction of the sources: the list names what exists, and tables compare as they do by hand."""

from __future__ import annotations

import csv
import io
import re
import tomllib
from pathlib import Path

import pandas as pd
import pytest

from coalloc.studies.reproduction import Input, Outcome, Part, agreement, checksum, looked_for, read_list

CLONE = Path(__file__).parents[2]
INPUTS, PARTS = read_list(CLONE)


def part(**fields: object) -> Part:
    """Return a part whose table has policies, compared over seeds at each load."""
    given = {"source": "s", "name": "p", "command": "", "results": "r", "table": "p.csv", "page": "p.md"}
    compared = {"who": ["policy"], "over": "seed", "points": ["load"], "measures": ["wait"]}
    return Part(**{**given, **compared, **fields})


@pytest.mark.parametrize("one", PARTS, ids=lambda one: f"{one.source}-{one.name}")
def test_a_part_names_a_script_inputs_and_columns_that_exist(one: Part) -> None:
    assert (CLONE / one.command.split()[0]).is_file()
    assert set(one.inputs) <= set(INPUTS)
    if one.measures:
        with (CLONE / one.results / one.table).open(newline="") as file:
            assert {*one.points, *one.who, one.over, *one.measures} <= set(next(csv.reader(file)))
        assert (CLONE / one.results / one.page).is_file()


def test_parts_of_the_thesis_answer_the_figures_that_their_specifications_name() -> None:
    for one in PARTS:
        specification = CLONE / "benchmarks" / "thesis" / f"{one.name}.toml"
        if specification.is_file():
            said = tomllib.loads(specification.read_text())["figures"]
            first, *rest = re.findall(r"\d+(?:\.\d+)?", said.split("Table")[0])
            ends = [first, *rest]
            assert set(ends) <= set(one.figures), one.name
            if " to " in said:
                chapter, begin, end = (*first.split("."), ends[1].split(".")[1])
                assert list(one.figures) == [f"{chapter}.{n}" for n in range(int(begin), int(end) + 1)]
            assert [f"Table {number}" for number in one.tables] == re.findall(r"Table [\d.]+", said)


def test_every_source_has_a_quick_part() -> None:
    quick = {one.source for one in PARTS if one.quick is not None}
    assert quick == {"thesis", "oas-paper", "pcbe", "cisne", "grid"}


def table(text: str) -> pd.DataFrame:
    """Return a table of runs: load, seed, policy, wait."""
    return pd.read_csv(io.StringIO("load,seed,policy,wait\n" + text))


def committed() -> pd.DataFrame:
    """Return a run of five seeds: at both loads B waits 1 s longer than A, and C as long as A plus or minus 2 s."""
    noise = (-2, -1, 0, 1, 2)
    lines = [
        f"{load},{seed},{policy},{wait}"
        for load in (1, 2)
        for seed, other in enumerate(noise)
        for policy, wait in (("A", 10), ("B", 11 + 0.01 * seed), ("C", 10.1 + other))
    ]
    return table("\n".join(lines))


def test_two_tables_compare_as_by_hand() -> None:
    # Committed means: A 10, C 10.1, B 11.02, so A < C < B; only B - A differs significantly, at each of two loads.
    # Load 1 here: A 5 < C 6 < B 7, the same order: 1. Load 2: B 1 < C 2 < A 3, the reverse: -1. Load 3 is new.
    ours = table("1,0,A,5\n1,0,B,7\n1,0,C,6\n2,0,A,3\n2,0,B,1\n2,0,C,2\n3,0,A,1\n3,0,B,2\n3,0,C,3")
    found = agreement(part(), "wait", ours, committed())
    assert found.correlations == pytest.approx((1.0, -1.0))
    assert (found.pairs, found.same) == (2, 1)
    assert Outcome(part(), "run", agreements=(found,)).disagrees  # the median of 1 and -1 is not above 0
    same = agreement(part(), "wait", committed(), committed())
    assert (same.correlation, same.pairs, same.same) == (1.0, 2, 2)


def test_points_and_policies_of_one_table_alone_are_left_out() -> None:
    # A and B at load 1 are all that both have: two have no rank correlation, and their sign agrees.
    found = agreement(part(), "wait", table("1,0,A,5\n1,0,B,7\n1,0,D,1"), committed())
    assert (found.correlations, found.pairs, found.same) == ((), 1, 1)
    assert not Outcome(part(), "run", agreements=(found,)).disagrees


def test_an_input_is_found_in_subfolders_by_its_sum(tmp_path: Path) -> None:
    (tmp_path / "a" / "log").mkdir(parents=True)
    (tmp_path / "a" / "log" / "x.json").write_text("x")
    wanted = Input("log", "origin", "licence", checksum(tmp_path / "a" / "log"))
    assert looked_for(wanted, None).state == "missing"
    assert looked_for(wanted, tmp_path).found == tmp_path / "a" / "log"
    (tmp_path / "a" / "log" / "x.json").rename(tmp_path / "a" / "log" / "y.json")  # the sum is one of names, too
    assert looked_for(wanted, tmp_path).state == "changed"
    (tmp_path / "b" / "log").mkdir(parents=True)
    (tmp_path / "b" / "log" / "x.json").write_text("x")
    assert looked_for(wanted, tmp_path).found == tmp_path / "b" / "log"
