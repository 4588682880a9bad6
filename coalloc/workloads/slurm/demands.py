"""Requirements of Slurm jobs on nodes: partitions, constraints, memory and generic resources.

Source: the manual pages sbatch (``--constraint``) and sacct (AllocTRES, ReqTRES, ReqMem) of Slurm.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from coalloc.workloads.slurm.platform import Demand, SiteLayout
from coalloc.workloads.slurm.values import UNKNOWN, FieldError, resources

PARTITION = "partition:"
"""Prefix of the feature that the nodes of a partition have and its jobs require."""

TOKEN = re.compile(r"\s*([^\s&|,()\[\]*]+|[&|,()\[\]*])")


class Unmet(StrEnum):
    """Requirement of a job that its instance does not express."""

    PARTITION = "partition or queue that the site does not have: any node will do"
    FEATURE = "constraint on a feature that no node has: left out"
    SAME_FEATURE = "constraint [a|b] that all nodes have the same feature: any of them will do"
    COUNTED = "constraint that a number of nodes have a feature: left out"
    RESOURCE = "generic resource that no node has: left out"
    LICENSE = "license that slurm.conf does not have, or not enough of: left out"
    OTHER = "trackable resource other than CPUs, memory, nodes, GRES and licenses: left out"


@dataclass(slots=True)
class Demands:
    """The demands of the jobs of a site; equal ones are one object."""

    layout: SiteLayout
    known: dict[str, tuple[tuple[str, ...], tuple[Unmet, ...]]] = field(default_factory=dict)
    generic: dict[str, tuple[tuple[tuple[str, float], ...], tuple[Unmet, ...]]] = field(default_factory=dict)
    demands: dict[tuple[object, ...], tuple[Demand, list[Unmet]]] = field(default_factory=dict)
    capacities: dict[Demand, int] = field(default_factory=dict)

    def of(
        self, fields: Mapping[str, str], memory: float | None, tasks: int, is_exclusive: bool
    ) -> tuple[Demand, list[Unmet]]:
        """Return what a job of so many tasks asks of nodes, and what cannot be expressed.

        ``memory`` of a task, MB, counts where the resources of the job do not state it.
        """
        texts = [fields.get(name, "") for name in ("Partition", "Constraints", "AllocTRES", "ReqTRES")]
        key = (*texts, memory, tasks, is_exclusive)
        if key not in self.demands:
            self.demands[key] = self._of(texts, memory, tasks, is_exclusive)
        return self.demands[key]

    def _of(self, texts: list[str], memory: float | None, tasks: int, is_exclusive: bool) -> tuple[Demand, list[Unmet]]:
        partition, constraint, given, asked = texts
        in_partition, unmet_partition = self._partition(partition)
        constrained, unmet_constraint = self._constraint(constraint)
        generic, unmet_resources = self._generic(*(("ReqTRES", asked) if "gres/" in asked else ("AllocTRES", given)))
        in_all = resources("AllocTRES", given).get("mem")
        demand = Demand(
            (*in_partition, *constrained),
            memory if in_all is None else in_all / tasks,
            tuple((name, amount / tasks) for name, amount in generic),
            is_exclusive,
        )
        return demand, [*unmet_partition, *unmet_constraint, *unmet_resources]

    def capacity(self, demand: Demand) -> int:
        """Return how many tasks of a job the nodes have place for at once."""
        if demand not in self.capacities:
            self.capacities[demand] = self.layout.capacity(demand)
        return self.capacities[demand]

    def _generic(self, field: str, text: str) -> tuple[tuple[tuple[str, float], ...], tuple[Unmet, ...]]:
        """Return the generic resources in a list of resources, and what else is in it that cannot be expressed."""
        if text not in self.generic:
            held, unmet = [], []
            for name, amount in sorted(resources(field, text).items()):
                if name.startswith("gres/") and any(name in dict(kind.node.gres) for kind in self.layout.kinds):
                    held += [(name, amount)] if amount > 0 else []
                elif name.startswith("gres/"):
                    unmet.append(Unmet.RESOURCE)
                elif name not in ("cpu", "mem", "node") and not name.startswith("license/"):
                    unmet.append(Unmet.OTHER)
            self.generic[text] = tuple(held), tuple(unmet)
        return self.generic[text]

    def _partition(self, name: str) -> tuple[tuple[str, ...], tuple[Unmet, ...]]:
        """Return the feature that nodes of a partition have, or of one of several."""
        key = PARTITION + name
        if key not in self.known:
            there = {part for part in name.split(",") if part in self.layout.site.partitions}
            kinds = [k for k, kind in enumerate(self.layout.kinds) if kind.partitions & there]
            found = self.layout.feature(key, kinds) if kinds else ()
            self.known[key] = found, () if kinds or not name else (Unmet.PARTITION,)
        return self.known[key]

    def _constraint(self, text: str) -> tuple[tuple[str, ...], tuple[Unmet, ...]]:
        """Return the features that nodes have which satisfy a constraint."""
        if text in UNKNOWN:
            return (), ()
        if text not in self.known:
            reading = _Constraint(self.layout, text)
            kinds = reading.read()
            if reading.names is not None and not reading.unmet:
                self.known[text] = tuple(dict.fromkeys(reading.names)), ()
            else:
                self.known[text] = self.layout.feature(f"constraint:{text}", kinds), tuple(dict.fromkeys(reading.unmet))
        return self.known[text]


class _Constraint:
    """A constraint while it is read, from left to right: ``&`` and ``|`` bind alike, parentheses group.

    ``names`` are the features of a constraint that is a list of features that nodes have all, None of another.
    """

    def __init__(self, layout: SiteLayout, text: str) -> None:
        self.layout, self.text = layout, text
        self.tokens = TOKEN.findall(text)
        self.names: list[str] | None = []
        self.unmet: list[Unmet] = []
        self.all = frozenset(range(len(layout.kinds)))

    def read(self) -> frozenset[int]:
        """Return the kinds of nodes that satisfy the constraint."""
        kinds = self._expression()
        if self.tokens or not self.text.isprintable():
            self._refuse()
        return kinds

    def _refuse(self) -> None:
        raise FieldError("Constraints", "features with & | ( ) [ ] *, such as intel&ib", self.text)

    def _expression(self) -> frozenset[int]:
        kinds = self._term()
        while self.tokens and self.tokens[0] in "&|,":
            if self.tokens.pop(0) == "|":
                self.names = None
                kinds |= self._term()
            else:
                kinds &= self._term()
        return kinds

    def _term(self) -> frozenset[int]:
        token = self.tokens.pop(0) if self.tokens else ""
        if token in ("(", "["):
            kinds = self._group("]" if token == "[" else ")")
        elif token and token not in "&|,)]*":
            kinds = self._feature(token)
        else:
            self._refuse()
        if self.tokens[:1] == ["*"]:
            self.tokens.pop(0)
            if not self.tokens or not self.tokens.pop(0).isdecimal():
                self._refuse()
            self.unmet.append(Unmet.COUNTED)
            return self.all
        return kinds

    def _group(self, end: str) -> frozenset[int]:
        before = len(self.unmet)
        kinds = self._expression()
        if self.tokens[:1] != [end]:
            self._refuse()
        self.tokens.pop(0)
        if end == "]" and Unmet.COUNTED in self.unmet[before:]:
            return self.all
        if end == "]" and self.names is None:
            self.unmet.append(Unmet.SAME_FEATURE)
        return kinds

    def _feature(self, name: str) -> frozenset[int]:
        kinds = frozenset(k for k, kind in enumerate(self.layout.kinds) if name in kind.node.features)
        if not kinds:
            self.unmet.append(Unmet.FEATURE)
            return self.all
        if self.names is not None:
            self.names.append(name)
        return kinds
