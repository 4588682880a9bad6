"""What word of an instance exists where: every method, and the words that it does not know, as each says itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from coalloc.heuristics.registry import POLICIES
from coalloc.instance.words import WORDS
from coalloc.simulator.policy import IsIgnorant
from coalloc.simulator.replaying import Starts
from coalloc.solvers.bounds.energy import UNKNOWN_WORDS as UNKNOWN_TO_ENERGY
from coalloc.solvers.package import UNKNOWN_WORDS as UNKNOWN_TO_PACKAGES

NOTHING: frozenset[str] = frozenset()


def unknown_words() -> Iterator[tuple[str, frozenset[str]]]:
    """Yield each method, and the words that it refuses."""
    yield "`solve`, `build_model`: makespan and all other regular objectives", NOTHING
    yield "`solve`, `build_model`: `energy`, `edp`", UNKNOWN_TO_ENERGY
    yield "`solve`, `build_model`: models `pas`, `cbs`, `jpr`", UNKNOWN_TO_PACKAGES
    yield "`lower_bound`: regular objectives", NOTHING
    yield "`lower_bound`: `energy`, `edp`", UNKNOWN_TO_ENERGY
    yield "`check`, `metrics`, `gantt`", NOTHING
    yield from ((f'`replay`: `starts="{starts}"`', NOTHING) for starts in get_args(Starts))
    for name, entry in POLICIES.items():
        made = entry.make
        own = made.unknown_words if isinstance(made, IsIgnorant) else NOTHING
        yield f"`simulate`: `{name}`", own


def words_table() -> str:
    """Return the table of methods by words in Markdown: a row for the methods of a function that know the same."""
    rows: dict[tuple[str, frozenset[str]], list[str]] = {}
    for method, unknown in unknown_words():
        function, _, detail = method.partition(": ")
        rows.setdefault((function, unknown), []).append(detail)
    lines = [f"| method | {' | '.join(f'`{word}`' for word in WORDS)} |", "|---" * (len(WORDS) + 1) + "|"]
    for (function, unknown), details in rows.items():
        method = ": ".join(filter(None, (function, ", ".join(details))))
        lines.append(f"| {method} | {' | '.join('no' if word in unknown else 'yes' for word in WORDS)} |")
    return "\n".join(lines)
