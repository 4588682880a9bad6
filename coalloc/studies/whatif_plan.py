"""The file of a what-if, TOML: the policy of the site and the changes; and the scenarios that they make of a log."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import pydantic
from pydantic import Field

from coalloc.documents.errors import Fault, InstanceError
from coalloc.documents.sentences import faults_of
from coalloc.documents.storage import FilePath
from coalloc.documents.text import quoted
from coalloc.documents.toml import load_toml
from coalloc.documents.values import Listed, Text, Value, value
from coalloc.instance import CoallocError
from coalloc.studies.whatif_changes import (
    DeclaredLimit,
    Level,
    Merge,
    Moldable,
    NewLimit,
    Nodes,
    PolicyField,
    Split,
    Walltimes,
)
from coalloc.studies.whatif_report import AS_IT_IS, AS_IT_RAN
from coalloc.studies.whatif_scenario import Scenario

MOST_SCENARIOS = 500
"""Scenarios of one what-if; each is a simulation and a bound."""

AND = " + "
"""Stands between the names of changes that are crossed."""


@value()
class NamedChange(Value):
    """A named change of one kind or several, made in the order of these fields."""

    name: Text
    policy: PolicyField | None = None
    nodes: Nodes | None = None
    merge: Merge | None = None
    split: Split | None = None
    walltimes: Walltimes | None = None
    level: Level | None = None
    moldable: Moldable | None = None
    limit: DeclaredLimit | None = None
    new_limit: NewLimit | None = None

    def __post_init__(self) -> None:
        if not self.kinds:
            raise InstanceError([Fault("", f"must have at least one of the keys {', '.join(KINDS)}")])

    @property
    def kinds(self) -> dict[str, Any]:
        """Changes of the scenario, by kind."""
        return {kind: found for kind in KINDS if (found := getattr(self, kind)) is not None}


KINDS = tuple(name for name in NamedChange.__dataclass_fields__ if name != "name")
"""The kinds of changes, in the order in which they are made."""


@value()
class WhatIfPlan(Value):
    """The policy of the site, and the changes that are tried against it."""

    change: Annotated[Listed[NamedChange], Field(min_length=1)]
    policy: PolicyField = field(default_factory=lambda: {"policy": "easy"})

    def __post_init__(self) -> None:
        names = [AS_IT_IS, AS_IT_RAN, *(change.name for change in self.change)]
        faults = [
            Fault(f"change[{place}].name", f"must be unique, got {quoted(name)} again")
            for place, name in enumerate(names, -2)
            if name in names[: place + 2]
        ]
        faults += [
            Fault(f"change[{place}].name", f"must not contain {quoted(AND)}, which joins the names of crossed changes")
            for place, change in enumerate(self.change)
            if AND in change.name
        ]
        if faults:
            raise InstanceError(faults)


@dataclass(frozen=True)
class Combination:
    """Changes that are made together, with their places in the file; none: the log as it is."""

    places: tuple[int, ...]
    changes: tuple[NamedChange, ...]

    @property
    def name(self) -> str:
        """The names of its changes."""
        return AND.join(change.name for change in self.changes)

    @property
    def kinds(self) -> dict[str, tuple[int, Any]]:
        """The place and the content of each kind of change, in the order in which they are made."""
        pairs = zip(self.places, self.changes, strict=True)
        found = {kind: (place, given) for place, change in pairs for kind, given in change.kinds.items()}
        return {kind: found[kind] for kind in KINDS if kind in found}

    def applied(self, scenario: Scenario) -> Scenario:
        """Return a scenario with the changes made; raise with the path of the kind that is wrong for it."""
        for kind, (place, given) in self.kinds.items():
            try:
                scenario = replace(scenario, policy=given) if kind == "policy" else given.applied(scenario)
            except InstanceError as error:
                first, *others = error.faults
                more = f" (and {len(others)} more)" if others else ""
                fault = Fault(first.path, first.sentence + more).under(f"change[{place}].{kind}")
                raise InstanceError([fault]) from None
        return scenario


def read_plan(changes: FilePath | Mapping[str, Any]) -> WhatIfPlan:
    """Return the plan in a file, or in what such a file holds.

    Raises
    ------
    InstanceError
        The file cannot be read, is no TOML, or has wrong keys: a line for each.
    """
    source = None if isinstance(changes, Mapping) else os.fspath(changes)
    document = changes if isinstance(changes, Mapping) else load_toml(changes)[0]
    try:
        return pydantic.TypeAdapter(WhatIfPlan).validate_python(dict(document))
    except pydantic.ValidationError as error:
        raise InstanceError(faults_of(error, WhatIfPlan), source) from None


def combinations_of(changes: Sequence[NamedChange], crossed: bool) -> list[Combination]:
    """Return each change alone; crossed, all sets of changes of which no two have a kind in common."""
    found: list[Combination] = []
    last = [Combination((place,), (change,)) for place, change in enumerate(changes)]
    while last:
        found += last
        if len(found) > MOST_SCENARIOS:
            raise CoallocError(f"more than {MOST_SCENARIOS} combinations of changes; give fewer changes")
        last = [more for held in last for more in _extended(held, changes)] if crossed else []
    return found


def _extended(held: Combination, changes: Sequence[NamedChange]) -> Iterator[Combination]:
    """Yield a combination with each of the later changes that is of other kinds."""
    for place in range(held.places[-1] + 1, len(changes)):
        if not held.kinds.keys() & changes[place].kinds.keys():
            yield Combination((*held.places, place), (*held.changes, changes[place]))


def scenarios_of(base: Scenario, found: Sequence[Combination], source: str | None) -> list[Scenario]:
    """Return what combinations of changes make of a log; raise for all that are wrong for it, each fault once."""
    made: list[Scenario] = []
    faults: dict[Fault, None] = {}
    for combination in found:
        try:
            made.append(combination.applied(base))
        except InstanceError as error:
            faults |= dict.fromkeys(error.faults)
    if faults:
        raise InstanceError(faults, source)
    return made
