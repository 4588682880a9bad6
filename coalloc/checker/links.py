"""The rule on strict links: link-load."""

from __future__ import annotations

from collections.abc import Iterator

from coalloc.checker.rule import Case, Rule, Violation, listed
from coalloc.checker.totals import excesses
from coalloc.instance import visible
from coalloc.instance.rounding import capacity_limit


def _links(case: Case) -> Iterator[Violation]:
    """Yield each overload of each link: one violation from its first to its last point in time, with the peak."""
    for k, link in enumerate(case.instance.platform.links if case.links == "strict" else ()):
        limit = link.bandwidth * (1.0 + case.saturation)
        for excess in excesses(case.rows, case.loads[:, k], capacity_limit(link.bandwidth, case.saturation)):
            sentence = (
                f"link {visible(link.name)} carries up to {excess.peak:.12g} MB/s {excess.period}, "
                f"but its limit is {limit:.12g} MB/s; jobs then: {listed(excess.jobs)}"
            )
            yield Violation("link-load", excess.jobs, link.name, excess.start, excess.peak, limit, sentence)


RULES = (
    Rule(
        {
            "link-load": "with strict links the load of a link is at most (1 + saturation) times its bandwidth at any "
            "time at which a job of the schedule loads it"
        },
        _links,
    ),
)
