"""Waiting jobs in an order: what is small, what may pass, and long queues as short ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalloc.instance import CoallocError, Job
from coalloc.rules.orders import Order
from coalloc.rules.queues import FEW, WaitingJobs, waiting_jobs


def least_time(job: Job) -> float:
    """Return what a job takes at least, s."""
    return job.estimate


class Moment(NamedTuple):
    """A decision."""

    queue: Sequence[Job]
    now: float


def shown(waiting: WaitingJobs) -> list[str]:
    """Return the ids of the jobs in order."""
    return [job.id for job in waiting.jobs]


@dataclass
class Gap:
    """Processors that are free, some for longer than until an instant (s)."""

    room: int
    spare: int
    end: float

    def take(self, tasks: int) -> None:
        """Take processors, the spare ones first."""
        self.room, self.spare = self.room - tasks, max(0, self.spare - tasks)

    def admits(self, job: Job, now: float) -> bool:
        """Take the processors of a job if it may have them; return whether it may."""
        may = job.tasks <= self.room and (job.tasks <= self.spare or now + job.estimate <= self.end)
        if may:
            self.take(job.tasks)
        return may


THREE = [Job("a", 2, 30.0, arrival=0.0), Job("b", 3, 10.0, arrival=5.0), Job("c", 1, 20.0, arrival=6.0)]


@pytest.mark.parametrize(
    ("order", "expected"),
    [("fcfs", "abc"), ("sjf", "cab"), ("spt", "bca"), ("wfp3", "abc"), (lambda job, now: -job.arrival, "cba")],
)
def test_jobs_stand_in_order_whenever_they_come(order: Order, expected: str) -> None:
    # wfp3 at 7 s: a (7/30)**3 * 2 = 0.025, b (2/10)**3 * 3 = 0.024, c (1/20)**3 = 0.0001.
    waiting = waiting_jobs(order, least_time)
    for number in (1, 2, 3):
        waiting.update(Moment(THREE[:number], 7.0))
    assert "".join(shown(waiting)) == expected


def test_those_that_leave_are_gone() -> None:
    waiting = waiting_jobs("spt", least_time)
    waiting.update(Moment(THREE, 7.0))
    waiting.leave(1, [2])  # b, the first, and a, the last
    assert shown(waiting) == ["c"]
    waiting.update(Moment([THREE[2], Job("d", 1, 5.0, arrival=8.0)], 8.0))
    assert shown(waiting) == ["d", "c"]


def test_small_jobs_and_those_that_may_pass() -> None:
    # b needs more than two; of a and c, with one spare processor, a passes only if its 30 s are over in time.
    waiting = waiting_jobs("fcfs", least_time)
    waiting.update(Moment(THREE, 7.0))
    assert waiting.small(2) == [0, 2]
    assert waiting.small(2, first=1) == [2]
    assert list(waiting.passing([0, 2], Gap(2, 1, 37.0), 7.0)) == [0, 2]
    assert list(waiting.passing([0, 2], Gap(2, 1, 36.5), 7.0)) == [2]
    assert list(waiting.passing([0, 2], Gap(0, 1, 99.0), 7.0)) == []


def test_keys_that_do_not_compare_are_one_clear_fault() -> None:
    keys: Callable[[Job, float], Any] = lambda job, now: None if job.id == "b" else 1.0  # noqa: E731
    with pytest.raises(CoallocError, match="the keys of an order must be comparable with each other"):
        waiting_jobs(keys, least_time).update(Moment(THREE, 7.0))


sizes = st.lists(st.tuples(st.integers(1, 5), st.integers(1, 5)), min_size=FEW + 5, max_size=FEW + 20)


@given(sizes, st.sampled_from(("fcfs", "spt", "wfp3")), st.data())
def test_a_long_queue_answers_as_its_list_does(drawn: list[tuple[int, int]], order: Order, data: st.DataObject) -> None:
    # It grows, loses jobs from its head and elsewhere, and grows again.
    jobs = [Job(f"J{i}", n, float(t), arrival=float(i)) for i, (n, t) in enumerate(drawn)]
    waiting, queue = waiting_jobs(order, least_time), jobs[: FEW + 2]
    for now in (100.0, 200.0, 300.0):
        waiting.update(Moment(queue, now))
        listed = list(waiting.jobs)
        room, spare, first = data.draw(st.integers(1, 5)), data.draw(st.integers(0, 4)), data.draw(st.integers(0, 9))
        small = [place for place, job in enumerate(listed) if place >= first and job.tasks <= room]
        assert list(waiting.small(room, first)) == small
        passing = [k for k in small if listed[k].tasks <= spare or now + listed[k].estimate <= now + 3.0]
        assert list(waiting.passing(waiting.small(room, first), Gap(room, spare, now + 3.0), now)) == passing
        gap, filled = Gap(room, spare, now + 3.0), []
        for place in waiting.passing(small, gap, now):
            filled.append(place)
            gap.take(listed[place].tasks)
        gap = Gap(room, spare, now + 3.0)
        assert filled == [k for k in passing if gap.admits(listed[k], now)]
        num_first = data.draw(st.integers(0, 3))
        others = [k for k in passing if k >= num_first][:4]
        gone = {listed[k].id for k in [*range(num_first), *others]}
        waiting.leave(num_first, others)
        known = {job.id for job in queue}
        new = [job for job in jobs if job.id not in known][:3] if now < 300.0 else []
        jobs = [job for job in jobs if job.id not in gone]
        queue = [job for job in queue if job.id not in gone] + new
