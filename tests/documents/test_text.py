"""Foreign text in messages: nothing in it is obeyed by a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalloc.documents.text import MAX_SHOWN, quoted, shortened, visible
from coalloc.instance import Fault, InstanceError


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("J1", "J1"),
        ("Año 1", "Año 1"),
        ("a\nb", r"a\nb"),
        ("\x1b[31m", r"\x1b[31m"),
        ("\x9b31m", r"\x9b31m"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
        ("\u2066x\u2069", r"\u2066x\u2069"),
        ("\u200b", r"\u200b"),
        ("\u2028", r"\u2028"),
        ("\ud800", r"\ud800"),
        ("\U000e0041", r"\U000e0041"),
    ],
)
def test_what_a_terminal_could_obey_is_escaped(text, shown):
    assert visible(text) == shown


@given(st.text())
def test_visible_text_is_printable_and_stays(text):
    assert visible(text).isprintable()
    assert visible(visible(text)) == visible(text)
    assert quoted(text).isprintable()


def test_long_texts_are_cut():
    assert shortened("x" * MAX_SHOWN) == "x" * MAX_SHOWN
    assert shortened("x" * (MAX_SHOWN + 1)) == "x" * (MAX_SHOWN - 3) + "..."
    assert (
        quoted(
            "abc",
        )
        == "'abc'"
    )


def test_the_name_of_a_file_is_foreign_too():
    assert str(InstanceError([Fault("a", "is b")], "x\ny.json")) == r"x\ny.json: a: is b"


@pytest.mark.parametrize(("count", "last"), [(50, "is 49"), (51, "and 1 more error"), (53, "and 3 more errors")])
def test_a_message_has_fifty_lines_and_a_count(count, last):
    error = InstanceError([Fault("", f"is {i}") for i in range(count)], "f")
    assert str(error).splitlines()[-1] == f"f: {last}"
    assert len(error.faults) == count
