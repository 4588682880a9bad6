"""Statements of instances as one constraint; the checker does not ask it, but has rules of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from coalloc.instance import Instance
from coalloc.instance.constraints import Constraint, Declaration
from coalloc.instance.features import FEATURES


@dataclass(frozen=True, slots=True)
class StatedConstraint(Constraint):
    """Statements of an instance on each job by the features that it uses."""

    def declare(self, instance: Instance) -> Iterator[Declaration]:
        """Yield what each feature declares."""
        for name in sorted(instance.features, key=list(FEATURES).index):
            yield from FEATURES[name].declare(instance)
