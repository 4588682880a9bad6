"""Choice of the slots of a model, and its size with each: the answer to a caller who asks for a model without a slot.

A coarse slot makes a small model of rounded times, a fine one a large model of times that are nearly exact; how much
the rounding costs a schedule is measured by :func:`coalloc.slot_study`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from coalloc.documents.wording import duration_text
from coalloc.models import Formulation
from coalloc.objectives import Criterion
from coalloc.problem import in_other_slots
from coalloc.solvers.model_run import MAX_NONZEROS, ModelRun

SHARES = (1.0, 0.5, 0.25, 0.15, 0.1, 0.05)
"""Slots that are told, as shares of the mean base time."""


@dataclass(frozen=True, slots=True)
class SlotChoice:
    """A slot (s, and its share of the mean base time) and the model: slots, about how many nonzeros.

    ``rounding`` is by how much the processor-seconds of all jobs grow that are rounded up, each at its fastest.
    """

    share: float
    seconds: float
    num_slots: int
    nonzeros: int
    rounding: float

    @property
    def sentence(self) -> str:
        """The choice in a line."""
        size = f"about {_rounded(self.nonzeros):,} nonzeros"
        if self.nonzeros > MAX_NONZEROS:
            size += f", above the limit of {MAX_NONZEROS:,}"
        return (
            f'slot="{100 * self.share:g}%" ({duration_text(self.seconds)}): {self.num_slots:,} slots, {size}; '
            f"rounding adds {100 * self.rounding:.3g} % to the processor time"
        )


def slot_choices(run: ModelRun, criterion: Criterion, formulation: Formulation) -> Iterator[SlotChoice]:
    """Yield the choices for a criterion in continuous time, coarsest first, to the first that is too large to build."""
    exact = criterion.problem
    for share in SHARES:
        seconds = share * (exact.instance.mean_base_time or 1.0)
        slotted = Criterion(in_other_slots(exact, seconds, "up"), criterion.objective)
        horizon = int(slotted.horizon())
        nonzeros = run.size(slotted, formulation, horizon)
        work = _work(slotted) - _work(criterion)
        yield SlotChoice(share, seconds, horizon, nonzeros, work / (_work(criterion) or math.inf))
        if nonzeros > MAX_NONZEROS:
            return


def _work(criterion: Criterion) -> float:
    """Return the processor-seconds of all jobs, each at its fastest."""
    problem = criterion.problem
    return math.fsum(levels[0].tasks * problem.clock.seconds(levels[0].duration) for levels in problem.levels)


def missing_slot(run: ModelRun, criterion: Criterion, formulation: Formulation, name: str) -> str:
    """Return what a caller is told who asks for a model of a formulation without a slot, a line for each choice."""
    choices = (choice.sentence for choice in slot_choices(run, criterion, formulation))
    asked = (
        f"formulation {name!r} requires a time slot, in seconds or as a share of the mean reference run time; choices:"
    )
    return "\n".join([asked, *choices])


def _rounded(count: int) -> int:
    """Return a count with two digits: an estimate is no better."""
    return int(float(f"{count:.2g}"))
