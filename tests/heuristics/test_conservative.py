"""Conservative backfilling: how reservations move, its promise as a law, and the definition written plainly."""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import le
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

import coalloc
from coalloc.heuristics.conservative import Compression, Conservative
from coalloc.instance import Instance, Job
from coalloc.problem.allocation import Allocation, Scope
from coalloc.rules.allocation_rules import RuleName
from coalloc.rules.orders import Keys, OrderName, ordered
from coalloc.simulator.policy import Start, State, Wake
from tests.heuristics.runs import endable, estimated_instances, star, starts, without_traffic
from tests.strategies import LAW, instances


def on(nodes: int, *jobs: Job) -> Instance:
    """Return an instance on one cluster of reference nodes."""
    return Instance(star((nodes, 1.0, 0.0)), jobs)


def test_reservations_move_forward_when_a_job_ends_early() -> None:
    # J1 is estimated at 10 and ends at 4: everybody moves up.
    instance = on(4, Job("J1", 4, 4.0, estimate=10.0), Job("J2", 3, 10.0), Job("J3", 4, 10.0), Job("J4", 1, 10.0))
    assert starts(instance, "conservative") == {"J1": 0, "J2": 4, "J3": 14, "J4": 4}


@pytest.mark.parametrize(("compression", "expected"), [("start", (7, 2)), ("arrival", (2, 10))])
def test_the_order_in_which_they_move_is_an_option(compression: str, expected: tuple[float, float]) -> None:
    # A holds two of three nodes, by its estimate until 10, B the third until 15, when K takes all. J1 (2 nodes, 8 s)
    # does not fit before K: reserved for 25. J2 (2 nodes, 5 s) does: 10. At 2 A ends. By start J2 moves first, to
    # [2, 7), and J1 to [7, 15). By arrival J1 moves first: [2, 10) is free; and J2 stays at 10.
    held = Job("A", 2, 2.0, estimate=10.0), Job("B", 1, 15.0), Job("K", 3, 10.0)
    instance = on(3, *held, Job("J1", 2, 8.0), Job("J2", 2, 5.0))
    found = starts(instance, "conservative", compression=compression)
    assert found == {"A": 0, "B": 0, "K": 15} | dict(zip(("J1", "J2"), expected, strict=True))


def test_a_job_that_stays_does_not_keep_an_equal_one_from_moving() -> None:
    # J1 and J2 are equal: at 4 J1 moves into the gap that A leaves, and J2 to where J1 was, and further, to 9.
    jobs = (Job("A", 2, 4.0, estimate=10.0), Job("J1", 2, 5.0), Job("J2", 2, 5.0))
    assert starts(on(2, *jobs), "conservative") == {"A": 0, "J1": 4, "J2": 9}


def test_by_arrival_a_job_may_move_where_an_equal_one_before_it_did_not_fit() -> None:
    # Three nodes: A holds all until 5, B and C are reserved for [5, 11), J1 for 11, J2 for 15. At 1 A ends. In order of
    # arrival: B moves to 1; J1 does not, for C is at 5; C moves to 1; now [7, 11) is free before J1: J2 moves there.
    held = Job("A", 3, 1.0, estimate=5.0), Job("B", 1, 6.0)
    instance = on(3, *held, Job("J1", 3, 4.0), Job("C", 1, 6.0), Job("J2", 3, 4.0))
    expected = {"A": 0, "B": 1, "J1": 11, "C": 1, "J2": 7}
    assert starts(instance, "conservative", compression="arrival") == expected


@pytest.mark.parametrize(("compression", "start"), [("start", 20), ("arrival", 23)])
def test_a_reservation_is_kept_where_nothing_ends_or_arrives(compression: str, start: float) -> None:
    # A has one of two nodes, by its estimate until 100, B the other until 20. J (2 nodes) is reserved for 100, K (1
    # node, 3 s) for 20. At 10 A ends. By start K moves to 10, and J to 20. By arrival J moves first, to 23, behind K;
    # then K moves to 10 and ends at 13. J stays at 23, when nothing happens but its start.
    jobs = (Job("A", 1, 10.0, estimate=100.0), Job("B", 1, 20.0), Job("J", 2, 5.0), Job("K", 1, 3.0))
    expected = {"A": 0, "B": 0, "J": start, "K": 10}
    assert starts(on(2, *jobs), "conservative", compression=compression) == expected


def test_jobs_that_arrive_together_get_reservations_in_the_order_of_the_queue() -> None:
    # Three jobs for one node: by arrival 0, 5, 7; shortest first J3, J2, J1.
    jobs = (Job("J1", 1, 5.0), Job("J2", 1, 2.0), Job("J3", 1, 1.0))
    assert starts(on(1, *jobs), "conservative") == {"J1": 0, "J2": 5, "J3": 7}
    assert starts(on(1, *jobs), "conservative", queue_order="spt") == {"J1": 3, "J2": 1, "J3": 0}


def test_reservations_may_move_forward_in_the_order_of_the_queue() -> None:
    # A ends at 2, not at 10. J1 has [10, 19), J2 [19, 22). By start J1 moves first, to 2, J2 to 11. Shortest first J2
    # moves first, to [2, 5), where there is room before J1's 10; and J1 to 5.
    jobs = (Job("A", 2, 2.0, estimate=10.0), Job("J1", 2, 9.0, arrival=1.0), Job("J2", 2, 3.0, arrival=1.5))
    options = {"queue_order": "spt", "compression": "queue"}
    assert starts(on(2, *jobs), "conservative", queue_order="spt") == {"A": 0, "J1": 2, "J2": 11}
    assert starts(on(2, *jobs), "conservative", **options) == {"A": 0, "J1": 5, "J2": 2}


def test_an_object_serves_several_runs() -> None:
    # Four jobs of 4 tasks: one after the other on 4 nodes, all at once on 16; then again on 4.
    policy, jobs = Conservative(), [Job(f"J{i}", 4, 10.0) for i in range(4)]
    in_turn = {"J0": 0, "J1": 10, "J2": 20, "J3": 30}
    assert starts(on(4, *jobs), policy) == in_turn
    assert starts(on(16, *jobs), policy) == dict.fromkeys(in_turn, 0)
    assert starts(on(4, *jobs), policy) == in_turn


def generous(instance: Instance) -> Instance:
    """Return an instance without traffic, whose jobs run at most as long as estimated."""
    factors = (1.0, 1.5, 3.0, 1.25)
    quiet = without_traffic(instance).jobs
    return instance.replace(
        jobs=tuple(job.replace(estimate=job.base_time * factors[i % 4]) for i, job in enumerate(quiet))
    )


class Noting(Conservative):
    """Conservative backfilling, and the first start that it promised to each job."""

    def __init__(self, compression: Compression) -> None:
        super().__init__(compression=compression)
        self.promised: dict[str, float] = {}

    def decide(self, state: State) -> list[Start | Wake]:
        """Decide, and note what is new."""
        decided = super().decide(state)
        kept = {place.job.id: place.start for place in self._places}
        started = {start.job_id: state.now for start in decided if isinstance(start, Start)}
        self.promised = kept | started | self.promised
        return decided


@LAW
@given(instances(max_jobs=8).map(generous), st.sampled_from(get_args(Compression)))
def test_nobody_starts_later_than_first_promised(instance: Instance, compression: Compression) -> None:
    policy = Noting(compression)
    run = coalloc.simulate(instance, policy)
    assert set(policy.promised) == {job.id for job in instance.jobs}
    assert all(run.schedule[job].start <= latest for job, latest in policy.promised.items())


Booking = tuple[float, float, Allocation]
"""Start and end (s), and the processors of each class."""


@dataclass
class Plain:
    """The definition, from the list of all bookings at every question."""

    order: OrderName
    compression: Compression
    allocation: RuleName
    scope: Scope
    places: dict[str, Booking] = field(default_factory=dict)
    expected: dict[str, float] = field(default_factory=dict)

    def decide(self, state: State) -> list[Start | Wake]:
        """Return the jobs whose reservations have come and whose processors are free."""
        running = {run.job.id: run.estimated_end for run in state.running}
        jobs = {job.id: job for job in state.queue}
        by_start = sorted(self.places, key=lambda id: self.places[id][0])
        if min(running.values(), default=state.now) < state.now or any(p[0] < state.now for p in self.places.values()):
            kept, self.places = self.places, {}
            for id in by_start:
                self.places[id] = self.earliest(state, jobs[id])
            self.places = {id: self.places[id] for id in kept}
        elif any(end > state.now for id, end in self.expected.items() if id not in running):
            by_order = [job.id for job in ordered(state.queue, Keys(self.order).at(state)) if job.id in self.places]
            orders = {"start": by_start, "arrival": list(self.places), "queue": by_order}
            for id in orders[self.compression]:
                place = self.places.pop(id)
                found = self.earliest(state, jobs[id])
                self.places[id] = found if found[0] < place[0] else place
                self.places = {job: self.places[job] for job in jobs if job in self.places}
        new = [job for job in state.queue if job.id not in self.places]
        for job in ordered(new, Keys(self.order).at(state)):
            self.places[job.id] = self.earliest(state, job)
        self.places = {job: self.places[job] for job in jobs}
        free = state.free
        due: list[Start] = []
        for id, (start, _, counts) in self.places.items():
            if start <= state.now and all(map(le, counts, free)):
                free = tuple(n - m for n, m in zip(free, counts, strict=True))
                due.append(Start(id, counts))
        self.expected = running | {start.job_id: self.places.pop(start.job_id)[1] for start in due}
        first = min((place[0] for place in self.places.values()), default=state.now)
        return [*due, Wake(first)] if first > state.now and first not in self.expected.values() else due

    def earliest(self, state: State, job: Job) -> Booking:
        """Return the earliest place that the running jobs and the other places leave."""
        allocator, now = state.allocator(self.allocation), state.now
        booked = [(now, max(now, run.estimated_end), run.counts) for run in state.running] + [*self.places.values()]

        def free(*instants: float) -> list[int]:
            return [
                min(c.capacity - sum(b[2][g] for b in booked if b[0] <= t < b[1]) for t in instants)
                for g, c in enumerate(state.classes)
            ]

        changes = sorted({now, *(t for b in booked for t in b[:2] if t > now)})
        for start in changes:
            counts = allocator.choose(job, free(start))
            while counts is not None:
                end = start + allocator.time(job, counts)
                throughout = free(start, *(t for t in changes if start < t < end))
                if all(map(le, counts, throughout)):
                    return start, end, counts
                counts = allocator.choose(job, throughout)
        raise AssertionError("every job fits the empty platform")


@LAW
@given(
    estimated_instances(max_jobs=9, max_running=2).map(endable),
    st.sampled_from(get_args(OrderName)),
    st.sampled_from(get_args(Compression)),
    st.sampled_from(get_args(RuleName)),
    st.sampled_from(("platform", "cluster")),
)
def test_it_is_the_definition(
    instance: Instance, order: OrderName, compression: Compression, rule: RuleName, scope: Scope
) -> None:
    largest = max(cluster.num_processors for cluster in instance.platform.clusters)
    jobs = tuple(job.replace(tasks=min(job.tasks, largest)) for job in instance.jobs)
    instance = instance.replace(jobs=jobs) if scope == "cluster" else instance
    expected = coalloc.simulate(instance, Plain(order, compression, rule, scope)).schedule
    assert coalloc.simulate(instance, Conservative(order, compression, rule, scope)).schedule == expected
