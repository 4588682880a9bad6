import csv
from io import StringIO

from coalloc.bench.tables import Table, csv_of, markdown, shown_entry

TABLE = Table(("name", "time"), (("a|b\nc", 1.23456), ("<script>", None)))


def test_a_table_in_markdown():
    assert markdown(TABLE).splitlines() == [
        "| name | time |",
        "| --- | ---: |",
        "| a\\|b\\\\nc | 1.235 |",
        "| \\<script> |  |",
    ]


def test_numbers_are_short_and_large_ones_whole():
    entries = (None, 0.123456, 8710000.0, 3, "x", True)
    assert [shown_entry(entry) for entry in entries] == ["", "0.1235", "8710000.0", "3", "x", "True"]


def test_csv_has_empty_fields_for_what_is_not_there_and_json_for_what_has_parts():
    text = csv_of(["a", "b", "c"], [{"a": 1.5, "b": {"y": 1, "x": 2}, "z": 0}, {"a": 'say "a,b"'}])
    assert list(csv.reader(StringIO(text))) == [
        ["a", "b", "c"],
        ["1.5", '{"x": 2, "y": 1}', ""],
        ['say "a,b"', "", ""],
    ]


def test_a_table_without_lines_has_its_heads():
    assert markdown(Table(("a", "b"), ())) == "| a | b |\n| ---: | ---: |"
