"""The independent checker: whether a schedule of any origin is valid for an instance, and if not, why.

The checker shares no formula with the packages that make schedules. Slowdowns, link loads and durations are computed
here a second time, from the definitions of the thesis (chapter 2, as corrected in errata 3), on purpose, so that an
error there cannot hide itself. It has in common with them only the definition of an instance and of equal numbers
(:mod:`coalloc.instance.rounding`).

Every violation is reported. The names of the rules are stable; :data:`RULES` defines each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from coalloc.checker import (
    clusters,
    constraints,
    durations,
    interruptions,
    jobs,
    links,
    nodes,
    outages,
    overlaps,
    processors,
    resources,
    start_ups,
    times,
)
from coalloc.checker.rule import Case, Deadlines, Faulting, Links, Scope, Violation
from coalloc.instance import CoallocError, Instance, public
from coalloc.instance.features import refuse_unsupported
from coalloc.instance.power import require_power_states
from coalloc.schedule import Schedule

FAMILIES = (
    jobs, processors, times, clusters, outages, interruptions, durations, overlaps, links, nodes, resources,
    constraints, start_ups,
)  # fmt: skip
"""The files of rules, in the order in which violations are reported."""
_ORDER = tuple(rule for file in FAMILIES for rule in file.RULES)

RULES = {name: meaning for rule in (jobs.OTHER_INSTANCE, *_ORDER) for name, meaning in rule.meanings.items()}
"""Name and meaning of each rule, in the order in which violations are reported."""
SUPPORTED = frozenset(feature for rule in _ORDER for feature in rule.features)
"""The modelling features that a rule checks."""
ON_SHARED_NODES = frozenset(feature for rule in _ORDER if rule.on_shared_nodes for feature in rule.features)
"""The modelling features that a rule checks where nodes are time-shared."""


@public
def check(
    instance: Instance,
    schedule: Schedule,
    links: Links = "strict",
    saturation: float = 0.0,
    scope: Scope = "platform",
    *,
    power_management: bool = False,
    deadlines: Deadlines = "enforce",
    constraints: Sequence[Faulting] = (),
) -> list[Violation]:
    """List every rule that a schedule violates.

    The checker recomputes all durations and loads from the definitions, independently of the code that makes schedules.

    Parameters
    ----------
    instance : Instance
        The platform and the jobs.
    schedule : Schedule
        A schedule of any origin.
    links : {"strict", "shared", "ignore"}, default "strict"
        ``"strict"``: links must not saturate, and the communication slowdown is 1. ``"shared"``: links may saturate,
        and the slowdown follows the load over time. ``"ignore"``: the slowdown is 1, and loads are not checked.
    saturation : float, default 0.0
        Share of its bandwidth by which the load of a strict link may exceed the bandwidth.
    scope : {"platform", "cluster", "node"}, default "platform"
        Where the tasks of one job may run: on several clusters, within one cluster, or on one node.
    power_management : bool, default False
        Whether clusters are off at first, start up for jobs, and go off when idle.
    deadlines : {"enforce", "report"}, default "enforce"
        ``"enforce"``: a missed deadline is a violation, and so is an exceeded maximal lag. ``"report"``: a missed
        deadline only counts in the metric ``deadlines_missed``, and maximal lags are not checked.
    constraints : sequence of objects, default ()
        Custom constraints: objects with ``faults(instance, schedule)``, as for ``coalloc.solve``.

    Returns
    -------
    list of Violation
        One entry per violation, empty if the schedule is valid.

    Raises
    ------
    CoallocError
        An option or a combination of options is not supported. The content of the schedule never raises.

    See Also
    --------
    coalloc.explain : Explain why jobs wait, or why there is no schedule.

    Notes
    -----
    ``coalloc.checker.RULES`` defines every rule. Source: thesis, chapter 2, as corrected in errata 3.

    Examples
    --------
    >>> import coalloc
    >>> instance = coalloc.example("pas-figure-3.3")
    >>> schedule = coalloc.solve(instance).schedule
    >>> coalloc.check(instance, schedule)
    []
    >>> incomplete = schedule.replace(placements=schedule.placements[1:])
    >>> [violation.rule for violation in coalloc.check(instance, incomplete)]
    ['missing-job']
    """
    _refuse_options(links, saturation)
    refuse_unsupported(instance, "check", SUPPORTED)
    if instance.shares_nodes:
        refuse_unsupported(instance, "check with time-shared nodes", ON_SHARED_NODES)
    if power_management:
        require_power_states(instance.platform)
    case = Case(instance, schedule, links, saturation, scope, power_management, deadlines, constraints)
    if other := list(jobs.OTHER_INSTANCE.violations(case)):
        return other
    with np.errstate(all="ignore"):  # finite numbers of any size are allowed, and their sums may overflow
        for rule in _ORDER:
            if rule.applies_to(instance):
                case.found.extend(rule.violations(case))
    return case.found


def _refuse_options(links: Links, saturation: float) -> None:
    """Raise :class:`CoallocError` where a saturation is none, or is tolerated where links may saturate anyway."""
    if not 0.0 <= saturation < math.inf:
        raise CoallocError(f"saturation: must be finite and at least 0, got {saturation!r}")
    if saturation > 0.0 and links != "strict":
        raise CoallocError(f"saturation={saturation!r} requires links='strict', got links={links!r}")
