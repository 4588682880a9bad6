"""The policies by name, and how each is made from its options.

A policy with a name is a dataclass whose fields are its options, named in :data:`CHOICES` where their
values are. Options and their values are checked here, once for all policies.
"""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

from coalloc.allocation import Scope
from coalloc.heuristics.backfilling import Conservative, Easy
from coalloc.heuristics.classics import ListPolicy
from coalloc.heuristics.node_list import JOB_ORDERS, NODE_KEYS, NodeList
from coalloc.heuristics.pcbe import Criterion, EnergyOrder, Pcbe
from coalloc.instance import CoallocError
from coalloc.rules.allocation_rules import ALLOCATION_RULES
from coalloc.simulator.policy import Policy


@dataclass(frozen=True, slots=True)
class Entry:
    """A policy with a name: its type, one line on what it does, and the fields that the name decides.

    ``own_choices`` are values of options that mean something else here than in :data:`CHOICES`.
    """

    make: type[Policy]
    summary: str
    fixed: Mapping[str, Any] = field(default_factory=dict)
    own_choices: Mapping[str, Collection[Any]] = field(default_factory=dict)

    @property
    def options(self) -> dict[str, Any]:
        """The options by name, with their defaults."""
        assert dataclasses.is_dataclass(self.make)
        fields = [f for f in dataclasses.fields(self.make) if f.init and f.name not in self.fixed]
        return {f.name: f.default for f in fields}


def _listed(order: str, summary: str, *, skip: bool = False) -> Entry:
    return Entry(ListPolicy, summary, {"order": order, "skip": True} if skip else {"order": order})


POLICIES: Mapping[str, Entry] = {
    "fcfs": _listed(
        "fcfs", "first come, first served: the queue in order of arrival, up to the first that does not fit"
    ),
    "sjf": _listed("sjf", "small jobs first: fewest tasks"),
    "bjf": _listed("bjf", "big jobs first: most tasks"),
    "fpfs": _listed(
        "fcfs", "fit processors, first served: the queue in order of arrival, without those that do not fit", skip=True
    ),
    "spt": _listed("spt", "shortest processing time first, by the estimates"),
    "lpt": _listed("lpt", "longest processing time first, by the estimates"),
    "easy": Entry(Easy, "EASY backfilling: gaps are filled without delaying the first job that waits"),
    "conservative": Entry(
        Conservative, "conservative backfilling: gaps are filled without delaying any job that waits"
    ),
    "pcbe": Entry(
        Pcbe,
        "greedy for energy, or energy times delay: each waiting job that fits one node, on its best node",
        own_choices={"job_order": get_args(EnergyOrder), "node_order": get_args(EnergyOrder)},
    ),
    "node-list": Entry(
        NodeList,
        "jobs in order, each on the first node with room, up to the first job that fits none",
        own_choices={"job_order": tuple(JOB_ORDERS), "node_order": tuple(NODE_KEYS)},
    ),
}
"""Every policy by name."""

CHOICES: Mapping[str, Collection[Any]] = {
    "allocation": tuple(ALLOCATION_RULES),
    "criterion": get_args(Criterion),
    "scope": get_args(Scope),
    "skip": (False, True),
}
"""Values of each option that has a list of them."""

SECONDS = ("starvation",)
"""Options that are seconds, from 0 on."""


def policies() -> tuple[str, ...]:
    """Return the names of the policies that ``simulate`` knows."""
    return tuple(POLICIES)


def policy_named(name: str, options: Mapping[str, Any]) -> Policy:
    """Return a new policy; raises :class:`CoallocError` with a line for each fault."""
    if name not in POLICIES:
        near = difflib.get_close_matches(name, POLICIES, 1)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        raise CoallocError(f"there is no policy {name!r}{hint}; there are {', '.join(POLICIES)}")
    entry = POLICIES[name]
    faults = [fault for option, value in options.items() if (fault := _fault(name, entry, option, value))]
    if faults:
        raise CoallocError("\n".join(faults))
    return entry.make(**entry.fixed, **options)


def _fault(name: str, entry: Entry, option: str, value: Any) -> str:
    """Return what is wrong with an option, nothing if it is right."""
    if option not in entry.options:
        near = difflib.get_close_matches(option, entry.options, 1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        return f"policy {name!r} has no option {option}{hint}; it has {', '.join(entry.options) or 'none'}"
    if option in SECONDS and (isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0):
        return f"{option} of policy {name!r} must be a number of seconds from 0 on, got {value!r}"
    choices = entry.own_choices.get(option, CHOICES.get(option))
    if choices is not None and value not in choices:
        return f"{option} of policy {name!r} must be one of {', '.join(map(str, choices))}, got {value!r}"
    return ""
