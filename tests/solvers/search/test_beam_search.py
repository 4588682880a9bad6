"""Beam search: what survives a stage by hand, and never worse than its start, valid, repeatable as laws."""

from __future__ import annotations

import time

import pytest
from hypothesis import given

from coalloc.checker import check
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.problem import Assignment, Problem, discretise
from coalloc.rules.serial_sgs import list_schedule
from coalloc.schedule import schedule_of
from coalloc.solvers.backends.worker import assignments_in
from coalloc.solvers.bounds.feasible_set import FeasibleSets
from coalloc.solvers.search.beam_search import PATIENCE, BeamSearch
from coalloc.solvers.search.beam_worker import start_worker
from coalloc.solvers.search.growth import Growth
from tests.small_instances import slotted_instances
from tests.strategies import LAW


def last_end(assignments: list[Assignment]) -> float:
    """Return the latest end, ticks."""
    return max((a.end for a in assignments), default=0.0)


def perfect_pairs() -> Problem:
    """Return eight jobs that fill five nodes without a gap, 40 s long, if 4 and 1 or 3 and 2 tasks go together."""
    platform = Platform((Cluster("C1", (NodeGroup(5, 1.0),), 1000.0),))
    return discretise(Instance(platform, tuple(Job(f"J{i}", 1 + i % 4, 10.0) for i in range(8))), None)


def test_dual_prices_of_the_bound_add_up_to_it() -> None:
    # No tick is worth more than 1, and together the jobs are worth the bound: 2 * (1 + 2 + 3 + 4) * 10 s / 5 nodes.
    sets = FeasibleSets(perfect_pairs())
    assert sets.dual_prices == [0.0] * 8
    assert sets.bound() == pytest.approx(40.0)
    assert sum(sets.dual_prices) == pytest.approx(40.0)
    assert all(worth <= 10.0 + 1e-6 for worth in sets.dual_prices)  # alone, a job runs 10 s


def found_in(stages: BeamSearch, rounds: int) -> list[list[Assignment]]:
    """Return the schedules of so many rounds that were better than those before."""
    found = [stages.round() for _ in range(rounds)]
    return [assignments for assignments in found if assignments is not None]


@pytest.mark.parametrize("by_knapsacks", [False, True])
def test_pairs_that_waste_nothing_survive(by_knapsacks: bool) -> None:
    problem = perfect_pairs()
    assert last_end(list_schedule(problem, range(8))) == 50.0  # 1 + 2, 3, 4 + 1, 2 + 3, 4: five times 10 s
    sets = FeasibleSets(problem)
    stages = BeamSearch(
        Growth.priced(problem),
        lower_bound=sets.bound(),
        dual_prices=sets.dual_prices,
        seed=0,
        by_knapsacks=by_knapsacks,
    )
    assert last_end(found_in(stages, 3)[-1]) == 40.0


def test_after_rounds_of_no_use_it_begins_anew() -> None:
    stages = BeamSearch(Growth.priced(perfect_pairs()), lower_bound=40.0, dual_prices=[0.0] * 8, seed=0)
    rounds = [stages.round() for _ in range(2 * PATIENCE + 10)]
    best = [number for number, found in enumerate(rounds) if found is not None and last_end(found) == 40.0]
    assert len(best) > 1  # nothing is better than 40 s
    assert best[1] - best[0] > PATIENCE


def test_a_round_gives_up_at_the_deadline() -> None:
    stages = BeamSearch(
        Growth.priced(perfect_pairs()),
        lower_bound=40.0,
        dual_prices=[0.0] * 8,
        seed=0,
        deadline=time.perf_counter(),
    )
    assert stages.round() is None


@LAW
@given(slotted_instances())
def test_it_is_valid_ever_better_and_repeats(drawn: tuple[Instance, float]) -> None:
    instance, slot = drawn
    problem = discretise(instance, slot)
    sets = FeasibleSets(problem)
    bound = sets.bound()

    def again() -> list[list[Assignment]]:
        return found_in(
            BeamSearch(Growth.priced(problem), lower_bound=bound, dual_prices=sets.dual_prices, seed=3),
            2,
        )

    found = again()
    for assignments in found:
        assert bound <= last_end(assignments)
        assert check(instance, schedule_of(problem, assignments)) == []
    assert [last_end(a) for a in found] == sorted({last_end(a) for a in found}, reverse=True)
    assert again() == found


@pytest.mark.parametrize("by_knapsacks", [False, True])
def test_another_process_says_what_it_finds_and_ends_with_its_input(by_knapsacks: bool) -> None:
    problem = perfect_pairs()
    sets = FeasibleSets(problem)
    bound = sets.bound()
    options = {"lower_bound": bound, "dual_prices": sets.dual_prices, "seed": 0, "by_knapsacks": by_knapsacks}
    with start_worker(problem, **options) as worker:
        deadline = time.perf_counter() + 60.0
        ends = []
        while 40.0 not in ends and time.perf_counter() < deadline:
            for message in worker.news():
                assignments = assignments_in(message, problem)
                assert check(problem.instance, schedule_of(problem, assignments)) == []
                ends.append(last_end(assignments))
            time.sleep(0.01)
        assert ends == sorted(set(ends), reverse=True)
        assert ends[-1] == 40.0
        worker.end_input()  # as the system does when whoever asks is killed
        assert worker._child.wait(20.0) == 0
