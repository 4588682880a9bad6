"""What a policy decides: jobs that start now, and instants at which it wants to be asked again."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple, cast

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


def decisions_of(answer: object, num_waiting: int) -> tuple[Sequence[Start], Sequence[Wake]]:
    """Return the starts and the wake-ups of a policy's answer, which may be endless.

    As many starts and as many wake-ups are good as jobs wait, and one decision more is looked at: of more starts one
    is of a job that does not wait, or no longer, which the site refuses. Raises :class:`DecisionError` where the
    answer is something else.
    """
    if not hasattr(type(answer), "__iter__"):
        raise DecisionError(f"decide(state) must return the jobs to start, [] for none, got {shown(answer)}")
    decisions = list(islice(cast(Iterable[object], answer), 2 * num_waiting + 1))
    for decision in decisions:
        if not isinstance(decision, Start):
            break
    else:  # as most answers are
        return cast(list[Start], decisions), ()
    for decision in decisions:
        if not isinstance(decision, (Start, Wake)):
            raise DecisionError(
                f"decide(state) must return coalloc.Start objects, got {shown(decision)} among them; "
                "only a coalloc.Wake may stand there too"
            )
    wakes = [decision for decision in decisions if isinstance(decision, Wake)]
    if len(wakes) > num_waiting:
        raise DecisionError(f"decide(state) may return one coalloc.Wake per waiting job, {num_waiting}, got more")
    return [decision for decision in decisions if isinstance(decision, Start)], wakes


def refuse_past(wakes: Iterable[Wake], now: float) -> None:
    """Raise where a wake-up is not after now (s), or never."""
    for wake in wakes:
        try:
            is_after = math.isfinite(wake.time) and wake.time > now
        except TypeError:
            is_after = False
        if not is_after:
            raise DecisionError(f"the policy asked to be woken at {shown(wake.time)}, not a time in s after {now:.12g}")


def shown(answer: object) -> str:
    """Return a value of a policy's as a message shows it."""
    return visible(shortened(repr(answer)))
