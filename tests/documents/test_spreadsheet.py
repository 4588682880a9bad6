"""What a spreadsheet would execute is text."""

import pandas as pd

from coalloc.documents.spreadsheet import csv_of_table, inert


def test_texts_that_begin_like_a_formula_are_quoted_and_numbers_stay():
    assert [inert(cell) for cell in ("=1+2", "@sum", "+a", "-b", "\tc", "-", "", "J=1", -1.5, None)] == [
        "'=1+2",
        "'@sum",
        "'+a",
        "'-b",
        "'\tc",
        "-",
        "",
        "J=1",
        -1.5,
        None,
    ]


def test_cells_names_of_columns_and_labels_of_rows():
    table = pd.DataFrame({"job": ["=cmd()", "J1"], "wait": [-1.0, 2.0], "=x": [None, "@y"]}, index=["-a", "b"])
    assert csv_of_table(table) == "job,wait,'=x\n'=cmd(),-1.0,\nJ1,2.0,'@y\n"
    assert csv_of_table(table, "name").splitlines()[1] == "'-a,'=cmd(),-1.0,"
