"""Tables in HTML: text from data stays text."""

from coalloc.documents.html import MOST_ROWS, heading, lines_table, table

NASTY = "</script><script>alert(1)</script>&\"'\x1b"


def test_text_from_data_is_escaped_wherever_it_stands():
    safe = "&lt;/script&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;&#34;&#39;\\x1b"
    for made in (heading(NASTY, NASTY), table([NASTY], [[NASTY]]), lines_table([(NASTY, NASTY)])):
        assert "script>" not in made
        assert made.count(safe) == 2


def test_numbers_are_to_the_right_and_what_is_not_there_stays_empty():
    rows = table(["a"], [["x"], [0.1 + 0.2], [None]]).splitlines()
    assert '<tr><td style="text-align: left">x</td></tr>' in rows
    assert "<tr><td>0.3</td></tr>" in rows
    assert "<tr><td></td></tr>" in rows


def test_a_long_table_says_how_much_there_is_more():
    made = table(["a", "b"], [[i, i] for i in range(MOST_ROWS + 7)])
    assert made.count("<tr>") == 1 + MOST_ROWS + 1
    assert ">and 7 more</td>" in made
    assert "more" not in table(["a", "b"], [[i, i] for i in range(MOST_ROWS)])
