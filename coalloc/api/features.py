"""Support of modelling features by methods, as each method declares it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from coalloc import checker
from coalloc.heuristics.registry import POLICIES
from coalloc.instance.features import FEATURES
from coalloc.problem import discretisation
from coalloc.simulator.policy import ENFORCED, ListsFeatures
from coalloc.simulator.replaying import Starts
from coalloc.solvers.energy import bounds as energy
from coalloc.solvers.packages import solving as package


def supported_features() -> Iterator[tuple[str, frozenset[str]]]:
    """Yield each method, and the features that it supports."""
    yield "`solve`, `build_model`: makespan and all other regular objectives", discretisation.SUPPORTED
    yield "`solve`, `build_model`: `energy`, `edp`", energy.SUPPORTED
    yield "`solve`, `build_model`: models `pas`, `cbs`, `jpr`", package.SUPPORTED
    yield "`lower_bound`: regular objectives", discretisation.SUPPORTED
    yield "`lower_bound`: `energy`, `edp`", energy.BOUNDED
    yield "`check`, `metrics`, `gantt`", checker.SUPPORTED
    yield from ((f'`replay`: `starts="{starts}"`', discretisation.SUPPORTED) for starts in get_args(Starts))
    for name, entry in POLICIES.items():
        made = entry.make
        yield f"`simulate`: `{name}`", made.supported_features if isinstance(made, ListsFeatures) else ENFORCED


def support_table() -> str:
    """Return the table of methods by features in Markdown; methods that support the same share a row.

    Bounds relax what they do not support.
    """
    rows: dict[tuple[str, frozenset[str]], list[str]] = {}
    for method, supported in supported_features():
        function, _, detail = method.partition(": ")
        rows.setdefault((function, supported.intersection(FEATURES)), []).append(detail)
    lines = [f"| method | {' | '.join(f'`{feature}`' for feature in FEATURES)} |", "|---" * (len(FEATURES) + 1) + "|"]
    for (function, supported), details in rows.items():
        method = ": ".join(filter(None, (function, ", ".join(details))))
        no = "relaxed" if function == "`lower_bound`" else "no"
        lines.append(f"| {method} | {' | '.join('yes' if feature in supported else no for feature in FEATURES)} |")
    return "\n".join(lines)
