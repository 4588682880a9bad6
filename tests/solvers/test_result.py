"""What a result says of itself, and which points of a trace are news."""

from __future__ import annotations

from dataclasses import replace

import coalloc
from coalloc.solvers.result import News, TracePoint


def test_points_are_news_where_they_change_by_a_thousandth_or_close_the_gap():
    said: list[str] = []
    news = News(said.append)
    # 2000 is the first; 1998.5 is 0.075 % below it and is not told; 1997 is 0.15 % below 2000; a bound of 1996.5 is the
    # first, 1997 closes the gap although it is 0.025 % above.
    for incumbent, bound in ((2000.0, None), (1998.5, None), (1997.0, None), (1997.0, 1996.5), (1997.0, 1997.0)):
        news(TracePoint(0.0, incumbent, bound, "a search"))
    assert [line.split()[3::2] for line in said] == [
        ["2000", "-", "-", "search"],
        ["1997", "-", "-", "search"],
        ["1997", "1996.5", "0.03", "a"],
        ["1997", "1997", "0.00", "a"],
    ]


def test_a_solver_that_was_not_needed_is_named():
    solved = coalloc.solve(coalloc.example("thesis-oas-1"), slot="100%")
    assert dict(solved.lines())["model"] == "oas/auto, no model needed"
    asked = replace(solved, options=replace(solved.options, solver="cbc"))
    assert dict(asked.lines())["model"] == "oas/auto, no model needed, so cbc did nothing"
