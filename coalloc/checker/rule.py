"""Concepts of the checker: a violation and its sentence, a case (the schedule to check), and a rule.

Each file of rules ends with its ``RULES``. :mod:`coalloc.checker.checker` lists these files in the order in which
violations are reported.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, Protocol, runtime_checkable

from coalloc.checker import shared_nodes
from coalloc.checker.processor_sets import Floats
from coalloc.checker.rows import CheckedRows, link_loads, rows_of
from coalloc.instance import Instance, visible
from coalloc.schedule import Schedule

Links = Literal["strict", "shared", "ignore"]
Scope = Literal["platform", "cluster", "node"]
Deadlines = Literal["enforce", "report"]


@dataclass(frozen=True, slots=True)
class Violation:
    """A violation of one rule by a schedule; printing it shows a sentence.

    Attributes
    ----------
    rule : str
        Name of the rule, a key of ``coalloc.checker.RULES``.
    jobs : tuple of str
        Ids of the jobs.
    where : str
        Names of the processors (separated by ``", "``), the link or the node; empty if there is none.
    when : float or None
        Time at which the violation begins, s; None if the rule has no time.
    amount : float
        The measured value, in the unit of the rule: jobs, processors, s, MB/s, MB, or the share of a job's work.
    limit : float
        The permitted value, in the same unit.
    sentence : str
        The violation as a sentence.

    Examples
    --------
    >>> import coalloc
    >>> instance = coalloc.example("pas-figure-3.3")
    >>> first = coalloc.check(instance, coalloc.Schedule([], instance=instance.name))[0]
    >>> (first.rule, first.jobs)
    ('missing-job', ('J1',))
    """

    rule: str
    jobs: tuple[str, ...]
    where: str
    when: float | None
    amount: float
    limit: float
    sentence: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.sentence}"


@runtime_checkable
class Faulting(Protocol):
    """A custom constraint: it names the faults of a schedule."""

    def faults(self, instance: Instance, schedule: Iterable[Any], /) -> Iterable[str]:
        """Return a sentence for each way in which a schedule violates the constraint."""


@dataclass(frozen=True)
class Case:
    """A schedule to check, with the options of :func:`coalloc.check`; ``found`` are the violations of earlier rules."""

    instance: Instance
    schedule: Schedule
    links: Links
    saturation: float
    scope: Scope
    power_management: bool
    deadlines: Deadlines
    constraints: Sequence[Faulting]
    found: list[Violation] = field(default_factory=list)

    @cached_property
    def rows(self) -> CheckedRows:
        """The running jobs and the placements as columns."""
        return rows_of(self.instance, self.schedule)

    @cached_property
    def loads(self) -> Floats:
        """The load of every row on every link, MB/s, shape ``(num_rows, num_links)``."""
        return link_loads(self.rows, self.instance)

    @cached_property
    def shared_rows(self) -> list[shared_nodes.Row]:
        """The placements on time-shared nodes, each with its progress."""
        rows = shared_nodes.rows_of(self.instance, self.rows, self.loads)
        bandwidths = [link.bandwidth for link in self.instance.platform.links] if self.links == "shared" else None
        shared_nodes.make_progress(self.instance, rows, bandwidths)
        return rows

    def has_found(self, *rules: str) -> bool:
        """Return whether one of some earlier rules is violated."""
        return any(violation.rule in rules for violation in self.found)


@dataclass(frozen=True, slots=True)
class Rule:
    """One or more rules that one function checks: their names and meanings, and the modelling features they check.

    Rules of features run only where an instance uses one of them, unless ``runs_without``. ``on_shared_nodes`` says
    whether the features are checked on time-shared nodes as well.
    """

    meanings: Mapping[str, str]
    violations: Callable[[Case], Iterable[Violation]]
    features: Collection[str] = ()
    runs_without: bool = False
    on_shared_nodes: bool = True

    def applies_to(self, instance: Instance) -> bool:
        """Return whether an instance gives the rule something to check."""
        return not self.features or self.runs_without or not instance.features.isdisjoint(self.features)


def seconds(time: float) -> str:
    """Return a time with its unit."""
    return f"{time:.12g} s"


def counted(number: int, noun: str) -> str:
    """Return ``1 task`` or ``3 tasks``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def listed(names: Sequence[str], shown: int = 5) -> str:
    """Return the first names, made visible, and how many more there are."""
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(visible(name) for name in names[:shown]) + more
