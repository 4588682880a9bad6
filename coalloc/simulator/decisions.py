"""What a policy decides: jobs that start now, and instants at which it wants to be asked again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import islice
from types import CoroutineType
from typing import Any, NamedTuple

from coalloc.documents.text import shortened, visible
from coalloc.instance import CoallocError


class Start(NamedTuple):
    """A decision: start a waiting job now, on ``counts`` processors of each class or on named ``nodes``.

    ``counts`` has shape ``(num_classes,)``, in the order of ``state.classes``; the engine then takes
    the free processors with the lowest numbers. It may be what an allocation rule chose of ``state.room``.
    ``nodes`` are names of processors, as in a schedule.
    """

    job_id: str
    counts: Sequence[int] = ()
    nodes: Sequence[str] = ()


class Wake(NamedTuple):
    """A decision: a scheduling pass at ``time`` (s), if jobs wait then, although nothing may arrive or end."""

    time: float


class DecisionError(CoallocError):
    """A policy answered what cannot be done."""


def decisions_of(answer: Any, num_waiting: int) -> list[object]:
    """Return the decisions of an answer, which may be endless.

    As many starts and as many wake-ups are good as jobs wait. One decision more is looked at: then one of the starts is
    of a job that does not wait, or no longer, or there are too many wake-ups. Raises :class:`DecisionError` where the
    answer has no decisions in it.
    """
    if isinstance(answer, CoroutineType):
        answer.close()  # or Python warns that nobody has awaited it
        raise DecisionError("decide(state) must return the jobs to start: it is asynchronous, and nobody awaits it")
    if not hasattr(type(answer), "__iter__"):
        raise DecisionError(f"decide(state) must return the jobs to start, [] for none, got {shown(answer)}")
    return list(islice(answer, 2 * num_waiting + 1))


def wake_time(decision: object, now: float) -> float:
    """Return when a wake-up is to be, s; raises :class:`DecisionError` where it is none, or not after now (s)."""
    if not isinstance(decision, Wake):
        raise DecisionError(
            f"decide(state) must return coalloc.extend.Start objects, got {shown(decision)} among them; "
            "only a coalloc.extend.Wake may stand there too"
        )
    try:
        is_after = math.isfinite(decision.time) and decision.time > now
    except TypeError:
        is_after = False
    if not is_after:
        raise DecisionError(f"the policy asked to be woken at {shown(decision.time)}, not a time in s after {now:.12g}")
    return decision.time


def shown(answer: object) -> str:
    """Return a value of a policy's as a message shows it."""
    return visible(shortened(repr(answer)))
