"""Pages from templates: what comes from outside is text on them, nothing else."""

import re

import jinja2
import pytest

from coalloc.bench.page import FOLDED, Content, page
from coalloc.bench.tables import Table
from coalloc.documents.pages import rendered

STRANGE = "</title><script>alert('x')</script>\x07{{ 7 * 7 }}"
SHOWN = "&lt;/title&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;\\x07{{ 7 * 7 }}"


def test_whatever_comes_from_outside_is_text():
    # The title twice (head and heading), and once: a fact's name and text, a warning, the reading, and a table's
    # title, head and entry.
    table = Table((STRANGE,), ((STRANGE,),))
    found = page(Content(STRANGE, [(STRANGE, STRANGE)], [STRANGE], STRANGE, {STRANGE: table}, []))
    assert found.count(SHOWN) == 9
    assert "<script" not in found
    assert "\x07" not in found


def test_a_long_table_is_folded_and_the_pictures_follow_the_first():
    short, long = (Table(("n",), tuple((i,) for i in range(lines))) for lines in (FOLDED, FOLDED + 1))
    found = page(Content("t", [], [], "", {"short": short, "long": long}, [b"<svg/>"]))
    marks = re.findall(r"<(h2|table|img|details|/details)\b", found)
    assert marks == ["h2", "table", "img", "h2", "details", "table", "/details"]
    assert f"<summary>{FOLDED + 1} lines</summary>" in found


@pytest.mark.parametrize("template", ["gantt.html", "report.html"])
def test_a_part_that_is_missing_is_an_error(template):
    with pytest.raises(jinja2.UndefinedError):
        rendered(template, title="t")
