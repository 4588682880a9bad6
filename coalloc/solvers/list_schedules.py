"""The first schedules of a call: lists in the named orders, each job where it ends first."""

from __future__ import annotations

from coalloc.rules.serial_generation import best_list_schedule
from coalloc.solvers.context import Context
from coalloc.solvers.method import Method
from coalloc.solvers.unrelated_machines import Machines

SHARE = 0.25
"""Share of the time limit after which no gaps are looked for any more, nor further orders tried."""


def _run(context: Context) -> None:
    target = context.proven if context.criterion.objective.is_latest_end else float("-inf")
    context.take(best_list_schedule(context.problem, target, context.deadline), METHOD.name)


def _accepts(context: Context) -> bool:
    return context.kept(Machines) is None  # an assignment that moves and swaps do not improve is known


METHOD = Method("list schedule", _run, _accepts, share=SHARE)
