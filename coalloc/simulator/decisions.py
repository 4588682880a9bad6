"""What a policy decides: jobs that start now, and instants at which it wants to be asked again."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from coalloc.documents.text import shortened, visible
from coalloc.instance import CoallocError


class Start(NamedTuple):
    """A decision: start a waiting job now, on ``counts`` processors of each class or on named ``nodes``.

    ``counts`` has shape ``(num_classes,)``, in the order of ``state.classes``; the engine then takes
    the free processors with the lowest numbers. ``nodes`` are names of processors, as in a schedule.
    """

    job_id: str
    counts: Sequence[int] = ()
    nodes: Sequence[str] = ()


class Wake(NamedTuple):
    """A decision: a scheduling pass at ``time`` (s), if jobs wait then, although nothing may arrive or end."""

    time: float


class DecisionError(CoallocError):
    """A policy answered what cannot be done."""


def decisions_of(answer: object, num_waiting: int) -> tuple[list[Start], list[Wake]]:
    """Return the starts and the wake-ups of a policy's answer, which may be endless.

    Not more starts are taken than jobs wait and one: that one is a start of a job that does not wait, or not any
    more, which the site refuses. Raises :class:`DecisionError` where the answer is something else.
    """
    if not isinstance(answer, Iterable):
        raise DecisionError(f"decide(state) must return the jobs to start, [] for none, got {shown(answer)}")
    starts: list[Start] = []
    wakes: list[Wake] = []
    for decision in answer:
        if isinstance(decision, Start):
            starts.append(decision)
            if len(starts) > num_waiting:
                break
        elif isinstance(decision, Wake):
            wakes.append(decision)
            if len(wakes) > num_waiting:
                raise DecisionError(
                    f"decide(state) may return one coalloc.Wake per waiting job, {num_waiting}, got more"
                )
        else:
            raise DecisionError(
                f"decide(state) must return coalloc.Start objects, got {shown(decision)} among them; "
                "only a coalloc.Wake may stand there too"
            )
    return starts, wakes


def refuse_past(wake: Wake, now: float) -> None:
    """Raise where a wake-up is not after now (s), or never."""
    try:
        is_after = math.isfinite(wake.time) and wake.time > now
    except TypeError:
        is_after = False
    if not is_after:
        raise DecisionError(f"the policy asked to be woken at {shown(wake.time)}, not a time in s after {now:.12g}")


def shown(answer: object) -> str:
    """Return a value of a policy's as a message shows it."""
    return visible(shortened(repr(answer)))
