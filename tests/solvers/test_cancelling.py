"""A solve that another thread stops, and one that ends with an exception of its progress function."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

import coalloc
from coalloc import CoallocError
from coalloc.solvers import cancelling
from coalloc.solvers.cancelling import cancellable, noticed

HARD = coalloc.generate("thesis-oas", seed=5, jobs=30)
"""Nothing proves its least total response time within minutes."""
WAYS: list[dict[str, Any]] = [
    {"objective": "total-response-time", "slot": "10%"},
    {"objective": "total-response-time"},
    {"objective": "total-response-time", "slot": "40%", "formulation": "mode"},
    {"objective": "total-response-time", "slot": "10%", "threads": 2},
]
LONG = 600.0
"""Seconds after which a thread that should have ended fails its test."""


@pytest.mark.parametrize("options", WAYS)
def test_a_task_of_asyncio_is_stopped_and_keeps_what_is_known(options: dict[str, Any]) -> None:
    async def stopped() -> coalloc.SolveResult:
        cancel = threading.Event()
        solving = asyncio.to_thread(
            coalloc.solve,
            HARD,
            time_limit=None,
            cancel=cancel,
            progress=lambda p: p.incumbent and cancel.set(),
            **options,
        )
        return await asyncio.wait_for(solving, LONG)

    result = asyncio.run(stopped())
    assert (result.status, result.stopped_by) == ("feasible", "interrupt")
    assert result.schedule is not None
    assert coalloc.check(HARD, result.schedule) == []


def test_a_solve_that_is_over_is_not_cancelled() -> None:
    cancel = threading.Event()
    small = HARD.replace(jobs=HARD.jobs[:1])
    result = coalloc.solve(small, cancel=cancel)
    cancel.set()
    assert result.status == "optimal"


def test_a_solve_that_is_cancelled_at_once_is_one_error() -> None:
    cancel = threading.Event()
    cancel.set()
    with pytest.raises(CoallocError, match="the solve was cancelled before it had a result"):
        coalloc.solve(HARD, cancel=cancel)


@pytest.mark.parametrize("lost", [1, 3])
def test_an_exception_that_a_library_loses_is_raised_again(lost: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cancelling, "AGAIN", 0.1)
    # Pyomo has bare excepts: an exception that reaches one of them would be gone, and the solve never end. Where it
    # reaches a callback of the garbage collector (hypothesis has one), pytest keeps it.
    cancel, swallowed = threading.Event(), list[BaseException]()

    def work() -> None:
        cancel.set()
        while len(swallowed) < lost:
            try:
                while True:
                    threading.Event().wait(0.01)
            except BaseException as error:
                swallowed.append(error)
        while True:
            threading.Event().wait(0.01)

    with pytest.raises(CoallocError, match="cancelled"):
        cancellable(cancel, work)
    assert len(swallowed) == lost


def test_an_exception_that_was_noticed_is_not_raised_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cancelling, "AGAIN", 0.1)
    cancel = threading.Event()

    def work() -> str:
        try:
            cancel.set()
            while True:
                threading.Event().wait(0.01)
        except KeyboardInterrupt:
            noticed()
        threading.Event().wait(0.5)  # it would have been raised again
        return "found until then"

    assert cancellable(cancel, work) == "found until then"


def test_ctrl_c_is_no_cancellation() -> None:
    def work() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cancellable(threading.Event(), work)


class MineError(Exception):
    """Of the user's own."""


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("options", WAYS)
def test_an_exception_of_progress_ends_the_solve(options: dict[str, Any], number: int) -> None:
    points: list[coalloc.results.TracePoint] = []

    def fail(point: coalloc.results.TracePoint) -> None:
        points.append(point)
        if len(points) == number:
            raise MineError

    with pytest.raises(MineError):
        coalloc.solve(HARD, time_limit=None, progress=fail, **options)
    assert len(points) == number
