"""Free capacity over time: a vector as a step function, for policies, list schedules and searches.

A vector has the processors of each class first, then whatever else jobs take: in simulations memory, resources and
groups that outages close in part (:mod:`coalloc.rules.capacity_vectors`), in exact methods also bandwidth of links
(:mod:`coalloc.rules.profile`). A timeline knows no jobs and no rules, and queries name times, not indices of steps.
Its steps are in the engine (``timeline.c``).
"""

from __future__ import annotations

import math
import struct
from array import array
from collections.abc import Iterable, Iterator, Sequence
from ctypes import c_char, c_void_p
from functools import cache, lru_cache
from typing import Any, Generic, NamedTuple, Self, TypeVar

import numpy as np

from coalloc.documents.errors import CoallocError
from coalloc.engine import Handle, engine

Amount = TypeVar("Amount", int, float)


class Timeline(Generic[Amount]):
    """Free capacities over time; a step lasts from one change to the next, the last step for ever.

    It begins at ``since`` with the vector ``free``; each of the ``releases``, in order of time, adds a vector from its
    time on. The first ``num_classes`` numbers are processors of classes; all are unless given. As many of the last
    numbers as there is ``noise`` are floats: of them so much more is free than is left, and never less than that. The
    others are whole. Nothing is known of what was before the beginning, and nothing is taken there.
    """

    def __init__(
        self,
        since: float,
        free: Sequence[Amount],
        releases: Iterable[tuple[float, Sequence[Amount]]] = (),
        num_classes: int | None = None,
        noise: Sequence[float] = (),
    ) -> None:
        num_whole: int = len(free) - len(noise)
        self._num_classes: int = num_whole if num_classes is None else num_classes
        self._layout: struct.Struct = _layout(num_whole, len(noise))
        parts = np.array(free[num_whole:], float), np.array(noise, float)
        whole = np.array(free[:num_whole], np.int64)
        self._hold(engine().timeline_new(self._num_classes, num_whole, len(noise), since, whole, *parts))
        for time, released in releases:
            self._write(released)
            if self._calls.release(self._address, time):
                engine().timeline_release(self._handle, time)

    def free(self, start: float, end: float = -math.inf) -> tuple[Amount, ...]:
        """Return the vector that is free throughout ``[start, end)``; at ``start`` where that is empty."""
        self._calls.least(self._address, start, end)
        return self._layout.unpack(self._vector)

    def windows(
        self,
        release: float,
        duration: float,
        tasks: int,
        classes: Sequence[int] | None = None,
        before: float = math.inf,
    ) -> Iterator[float]:
        """Yield the starts from which ``tasks`` processors are free for a duration, in order.

        The processors are of ``classes`` (by index, all unless given), and may be others from step to step: a necessary
        condition, with one class a sufficient one. Starts are ``release`` and every later change before ``before``;
        room from then on is not asked for. What has no duration occupies nothing, and starts at its release.
        """
        if duration <= 0:
            yield release
            return
        asked = _indices(() if classes is None or len(classes) == self._num_classes else tuple(classes))
        window, address, (first, number) = self._calls.window, self._address, asked.buffer_info()
        start = window(address, release, False, duration, tasks, before, number, first)
        while start < math.inf:
            yield start
            start = window(address, start, True, duration, tasks, before, number, first)

    def window(self, release: float, duration: float, tasks: int, before: float = math.inf) -> float:
        """Return the first of the :meth:`windows` of all classes; infinity where there is none."""
        if duration <= 0:
            return release
        start: float = self._calls.window(self._address, release, False, duration, tasks, before, 0, None)
        return start

    def first_start(self, release: float, duration: float, amounts: Sequence[Amount]) -> float:
        """Return the first start from ``release`` on of a duration in which a vector is free; infinity without one."""
        if duration <= 0:
            return release
        self._write(amounts)
        start: float = self._calls.first_start(self._address, release, duration)
        return start

    def take(self, start: float, end: float, amounts: Sequence[Amount]) -> None:
        """Take a vector during ``[start, end)``; nothing where that is empty."""
        self._write(amounts)
        if self._calls.take(self._address, start, end):
            engine().timeline_take(self._handle, start, end)  # which raises what is wrong

    def give_back(self, start: float, end: float, amounts: Sequence[Amount]) -> None:
        """Give back what was taken; equal steps become one."""
        self._write(amounts)
        if self._calls.give_back(self._address, start, end):
            engine().timeline_give_back(self._handle, start, end)

    def advance(self, num_seen: int, turn: array[int], spans: Spans, *, is_by_start: bool) -> tuple[int, float]:
        """Let spans that are taken, in ``turn`` from one on, begin at the first window before their starts.

        Of a pool all are moved. Else this returns at the first that has a window: how many spans have been looked at,
        and that window, which is infinity where nothing is to be done but to call again. Where spans are looked at by
        start, equal ones are not searched for again where the one before has none.
        """
        columns: tuple[array[Any], ...] = (turn, spans.starts, spans.least_times, spans.tasks, spans.kinds)
        addresses = [column.buffer_info()[0] for column in columns]
        searched, window = spans.searched.buffer_info(), array("d", (math.inf,))
        num_seen = self._calls.advance(
            self._address,
            num_seen,
            len(turn),
            *addresses,
            searched[1],
            searched[0],
            is_by_start,
            window.buffer_info()[0],
        )
        if num_seen < 0:
            raise CoallocError("a timeline cannot move its spans")
        return num_seen, window[0]

    def compress(self, gains: Sequence[tuple[float, float]], spans: Spans, numbers: array[int]) -> np.ndarray[Any, Any]:
        """Let spans that are taken from a pool, by start, begin at the first window before; return their new order.

        That is by start, then by number. Each had no window before room was gained in the ``gains`` (start and end, s).
        """
        columns = (np.frombuffer(c, c.typecode) for c in (spans.starts, spans.least_times, spans.tasks, numbers))
        gained, order = np.array(gains, float).reshape(-1, 2).T.copy(), np.empty(len(numbers), np.int64)
        engine().timeline_compress(self._handle, len(gains), *gained, len(numbers), *columns, order)
        return order

    def changes(self, since: float) -> list[float]:
        """Return the times from ``since`` on at which a step begins."""
        times = np.empty(engine().timeline_num_changes(self._handle, since))
        engine().timeline_changes(self._handle, since, len(times), times)
        found: list[float] = times.tolist()
        return found

    def forget(self, now: float) -> None:
        """Drop what has passed: the timeline begins at ``now``."""
        engine().timeline_forget(self._handle, now)

    def copy(self) -> Self:
        """Return a timeline of its own with the same steps."""
        twin: Self = type(self).__new__(type(self))
        twin.__dict__ |= self.__dict__
        made = (c_void_p * 1)()
        if self._calls.copy(made, self._address):
            engine().timeline_copy(self._handle)
        twin._hold(Handle("timeline", made[0] or 0, self._calls.free))
        return twin

    def _hold(self, handle: Handle) -> None:
        """Hold a timeline of the engine, and the vector that its operations take or fill."""
        self._calls, self._handle, self._address = _calls(), handle, handle.address
        self._vector = (c_char * self._layout.size).from_address(self._calls.vector(handle.address))

    def _write(self, amounts: Sequence[Amount]) -> None:
        """Write what the next operation takes."""
        try:
            self._layout.pack_into(self._vector, 0, *amounts)
        except struct.error:
            raise CoallocError(f"a timeline cannot hold the amounts {tuple(amounts)}") from None


class Spans:
    """Spans that are taken from a timeline, in columns: their starts and least times (s), tasks and kinds.

    Up to ``searched`` (s) those of a kind are known to have no window: minus infinity where nothing is known.
    """

    def __init__(self) -> None:
        self.starts: array[float] = array("d")
        self.least_times: array[float] = array("d")
        self.tasks: array[int] = array("q")
        self.kinds: array[int] = array("q")
        self.searched: array[float] = array("d")


class _Calls(NamedTuple):
    """Operations of the engine that are called often, without its checks of their arguments."""

    copy: Any
    free: Any
    vector: Any
    least: Any
    take: Any
    give_back: Any
    release: Any
    window: Any
    first_start: Any
    advance: Any


@cache
def _calls() -> _Calls:
    return _Calls(*(getattr(engine(), f"timeline_{name}").raw for name in _Calls._fields))


@cache
def _layout(num_whole: int, num_parts: int) -> struct.Struct:
    """Return how the engine keeps a vector."""
    return struct.Struct(f"{num_whole}q{num_parts}d")


@lru_cache(1000)
def _indices(classes: tuple[int, ...]) -> array[int]:
    """Return classes as the engine takes them."""
    return array("q", classes)
