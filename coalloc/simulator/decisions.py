"""Decisions of a policy: jobs that start now, or stop for others, and times at which it wants to be asked again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import islice
from types import CoroutineType
from typing import Any, NamedTuple

from coalloc.documents.text import shortened, visible
from coalloc.instance import CoallocError


class Start(NamedTuple):
    """Decision of a policy: start a waiting job now, on processors counted by class or named.

    Parameters
    ----------
    job_id : str
        Id of the job.
    counts : sequence of int, default ()
        Number of processors of each class, shape ``(num_classes,)``, in the order of ``state.classes``; the free
        processors with the lowest numbers are taken. An allocation rule may have chosen them from ``state.room``.
    nodes : sequence of str, default ()
        Names of the processors, instead of ``counts``.

    See Also
    --------
    coalloc.Policy : The interface of a policy.

    Examples
    --------
    >>> from coalloc.extend import Start
    >>> Start("J1", counts=(2, 1))
    Start(job_id='J1', counts=(2, 1), nodes=())
    """

    job_id: str
    counts: Sequence[int] = ()
    nodes: Sequence[str] = ()


class Wake(NamedTuple):
    """Decision of a policy: run a scheduling pass at a given time if jobs are waiting then.

    Parameters
    ----------
    time : float
        Time of the pass, s, after the current time.

    See Also
    --------
    coalloc.Policy : The interface of a policy.

    Examples
    --------
    >>> from coalloc.extend import Wake
    >>> Wake(60.0)
    Wake(time=60.0)
    """

    time: float


class Preempt(NamedTuple):
    """Decision of a policy: stop a running job now.

    It joins the queue again, behind the others, and starts anew. A suspended one keeps its memory and resources, and is
    in ``state.suspended`` until a ``Start(job_id)`` resumes it on its processors.

    Parameters
    ----------
    job_id : str
        Id of the job, which has started before now.
    suspend : bool, default False
        Whether the job is suspended.

    See Also
    --------
    coalloc.extend.Start : The decision that starts a job.

    Examples
    --------
    >>> from coalloc.extend import Preempt
    >>> Preempt("J1")
    Preempt(job_id='J1', suspend=False)
    """

    job_id: str
    suspend: bool = False


class DecisionError(CoallocError):
    """A policy answered what cannot be done."""


def decisions_of(answer: Any, num_waiting: int, num_running: int = 0) -> list[object]:
    """Return the decisions of an answer, which may be endless.

    As many starts and as many wake-ups are good as jobs wait, and each running job may stop once. One decision more is
    looked at: then one of the starts is of a job that does not wait, or no longer, or there are too many wake-ups.
    Raises :class:`DecisionError` where the answer has no decisions in it.
    """
    if isinstance(answer, CoroutineType):
        answer.close()  # or Python warns that nobody has awaited it
        raise DecisionError("decide(state) must return the jobs to start, but it is asynchronous; use a plain function")
    if not hasattr(type(answer), "__iter__"):
        raise DecisionError(f"decide(state) must return the jobs to start ([] for none), got {shown(answer)}")
    return list(islice(answer, 2 * (num_waiting + num_running) + 1))


def wake_time(decision: object, now: float) -> float:
    """Return when a wake-up is to be, s; raises :class:`DecisionError` where it is none, or not after now (s)."""
    if not isinstance(decision, Wake):
        raise DecisionError(
            f"decide(state) must return coalloc.extend.Start objects, got {shown(decision)} among them; "
            "coalloc.extend.Wake is allowed as well"
        )
    try:
        is_after = math.isfinite(decision.time) and decision.time > now
    except TypeError:
        is_after = False
    if not is_after:
        raise DecisionError(
            f"the policy requested a wake-up at {shown(decision.time)}, which is not a time after {now:.12g} s"
        )
    return decision.time


def shown(answer: object) -> str:
    """Return a value of a policy's as a message shows it."""
    return visible(shortened(repr(answer)))
