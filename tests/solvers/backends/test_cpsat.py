"""CP-SAT in its own process, against brute force; skipped where the extra ``cpsat`` is not installed."""

import sys
from types import SimpleNamespace

import pytest

import coalloc
from coalloc.checker import check
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform, RunningJob
from coalloc.objectives import Criterion
from coalloc.problem import discretise
from coalloc.rules.serial_sgs import best_list_schedule
from coalloc.rules.tuning import MANY_FOR_SUMS
from coalloc.schedule import schedule_of
from coalloc.solvers.backends import cpsat
from coalloc.solvers.backends.highs import solve_model
from coalloc.solvers.backends.worker import GRACE
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.portfolio import SEARCHED_ON
from coalloc.solvers.result import SolveOptions
from coalloc.solvers.solve_state import SolveState
from coalloc.testing.brute_force import brute_force_oas
from coalloc.testing.small import small_instance

pytestmark = [
    pytest.mark.extras,
    pytest.mark.skipif(not cpsat.is_installed(), reason="the extra cpsat is not installed"),
]


def run(problem, objective="makespan", time_limit=60.0, **options):
    """Return the last bound (ticks) and the best assignments."""
    first = best_list_schedule(problem)
    bounds, schedules = [0], [first]
    criterion = Criterion.of(problem, objective)
    cpsat.solve_cpsat(
        criterion,
        first,
        lower_bound=0,
        time_limit=time_limit,
        on_bound=bounds.append,
        on_schedule=schedules.append,
        **options,
    )
    return max(bounds), min(schedules, key=criterion.value)


@pytest.mark.parametrize("objective", ["makespan", "total-response-time"])
@pytest.mark.parametrize("seed", range(100, 112))
def test_it_proves_the_optimum_that_brute_force_finds(seed, objective):
    instance, slot = small_instance(seed)
    problem = discretise(instance, slot)
    bound, best = run(problem, objective)
    optimum = brute_force_oas(instance, slot, objective=objective).objective
    criterion = Criterion.of(problem, objective)
    assert criterion.reported(bound) == pytest.approx(optimum, rel=1e-6)
    assert criterion.reported(criterion.value(best)) == pytest.approx(optimum, rel=1e-6)
    assert check(instance, schedule_of(problem, best)) == []


@pytest.mark.parametrize("seed", range(112, 118))
def test_rounded_down_its_bound_is_the_floor_optimum(seed):
    instance, slot = small_instance(seed)
    problem = discretise(instance, slot, "down")
    bound, _ = run(problem)
    floor = brute_force_oas(instance, slot, rounding="down").objective
    assert max(0.0, problem.clock.seconds(bound) - instance.origin) == pytest.approx(max(0.0, floor), rel=1e-6)


def test_it_ends_when_nobody_asks_any_more():
    problem = discretise(coalloc.generate("thesis-oas", seed=5, jobs=40), 10_000.0)
    first = best_list_schedule(problem)
    document = cpsat.document_of(Criterion.of(problem, "makespan"), first, lower_bound=0)
    with cpsat.start_worker() as worker:
        news = worker.messages(document | {"time_limit": 120.0, "work_limit": None, "threads": 1, "seed": 0}, 120.0)
        assert "status" not in next(news)
        worker.end_input()  # as the system does when whoever asks is killed
        assert worker._child.wait(20.0) == 0


def test_a_link_that_carries_nothing_takes_no_load_however_small():
    # One job fits into each cluster; the third could run beside them only with a task in each, over a link.
    clusters = [Cluster(name, [NodeGroup(3, power=1.0)], link_bandwidth=0.0) for name in ("A", "B")]
    jobs = [Job(f"J{i}", 2, 100.0, 0.5, task_bandwidth=1e-3) for i in range(3)]
    problem = discretise(Instance(Platform(clusters), jobs), 100.0)
    bound, best = run(problem)
    assert (bound, max(a.end for a in best)) == (2, 2)


def test_a_link_that_running_jobs_overload_has_nothing_free_until_enough_of_them_end():
    # R1 and R2 load both links with 10 MB/s each, of which they carry 15: nothing is free until R1 ends at 100 s, and
    # 5 MB/s until R2 ends at 200 s. The job spreads over both clusters of 3 nodes with 3 * 6 * 1/3 = 6 MB/s at least:
    # two slots from 200 s on.
    clusters = [Cluster(name, [NodeGroup(3, power=1.0)], link_bandwidth=15.0) for name in ("A", "B")]
    running = [
        RunningJob(Job(f"R{n}", 2, 1.0, 0.5, task_bandwidth=10.0), (f"A/{n}", f"B/{n}"), end=100.0 * n) for n in (1, 2)
    ]
    jobs = [Job("J1", 4, 200.0, 0.5, task_bandwidth=6.0), Job("J2", 1, 100.0)]
    instance = Instance(Platform(clusters), jobs, running)
    problem = discretise(instance, 100.0)
    bound, best = run(problem)
    assert (bound, max(a.end for a in best)) == (4, 4)
    assert check(instance, schedule_of(problem, best)) == []


@pytest.mark.parametrize("bandwidth", [1e-300, 1e-12])
def test_loads_far_above_the_capacity_of_a_link_are_no_obstacle(bandwidth):
    # A job of two tasks cannot be over both clusters; one fits into each, the third comes after them.
    clusters = [Cluster(name, [NodeGroup(3, power=1.0)], link_bandwidth=bandwidth) for name in ("A", "B")]
    jobs = [Job(f"J{i}", 2, 100.0, 0.5, task_bandwidth=1e12) for i in range(3)]
    bound, best = run(discretise(Instance(Platform(clusters), jobs), 100.0))
    assert (bound, max(a.end for a in best)) == (2, 2)


def test_it_stops_when_the_caller_has_enough():
    problem = discretise(small_instance(100)[0], small_instance(100)[1])
    heard = []
    first = best_list_schedule(problem)
    cpsat.solve_cpsat(
        Criterion.of(problem, "makespan"),
        first,
        lower_bound=0,
        time_limit=60.0,
        on_bound=heard.append,
        is_done=lambda: True,
    )
    assert len(heard) == 1


def test_the_same_seed_gives_the_same_schedule():
    problem = discretise(*small_instance(104))
    assert run(problem, seed=3) == run(problem, seed=3)


def test_a_child_that_dies_leaves_what_is_known(monkeypatch):
    monkeypatch.setattr(sys, "executable", "false")
    problem = discretise(*small_instance(104))
    assert run(problem) == (0, best_list_schedule(problem))


def test_a_worker_solves_one_problem_after_another_and_ends_with_its_block():
    problem = discretise(*small_instance(104))
    optimum = brute_force_oas(*small_instance(104)).objective
    with cpsat.start_worker() as worker:
        for _ in range(2):
            bound, _ = run(problem, worker=worker)
            assert Criterion.of(problem, "makespan").reported(bound) == pytest.approx(optimum, rel=1e-6)
            assert worker.is_alive
    assert not worker.is_alive


def test_a_worker_that_is_left_before_the_end_is_ended():
    problem = discretise(*small_instance(104))
    with cpsat.start_worker() as worker:
        run(problem, time_limit=-GRACE, worker=worker)
        assert not worker.is_alive


class Listener:
    """A worker that notes what it is told, and has nothing to say."""

    def messages(self, document, time_limit):
        self.document, self.time_limit = document, time_limit
        yield from ()


def test_saying_the_problem_is_part_of_the_time_limit(monkeypatch):
    clock = iter((100.0, 103.0))
    monkeypatch.setattr(cpsat, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    listener, problem = Listener(), discretise(*small_instance(104))
    cpsat.solve_cpsat(
        Criterion.of(problem, "makespan"), best_list_schedule(problem), lower_bound=0, time_limit=10.0, worker=listener
    )
    assert (listener.time_limit, listener.document["time_limit"]) == (7.0, 7.0)


def test_a_sum_of_many_jobs_is_not_for_cpsat_once_a_schedule_is_known(monkeypatch):
    monkeypatch.setattr(cpsat, "solve_cpsat", lambda *_, **__: pytest.fail("it was asked"))
    instance = coalloc.generate("thesis-oas", seed=0, jobs=MANY_FOR_SUMS)
    result = coalloc.solve(instance, slot="50%", objective="total-response-time", work_limit=1)
    assert result.schedule is not None
    assert SEARCHED_ON in result.message


def test_no_job_is_held_for_longer_than_it_runs_to_look_less_slowed_down():
    # Of 20 s: on the fast node from 10 s to 20 s, (20 - 0)/10 = 2; on the slow one from 40 s to 60 s, 60/20 = 3. On the
    # fast node, but held as long as on the slow one, it would seem to be 30/20 = 1.5.
    platform = Platform([Cluster("C1", [NodeGroup(1, 2.0), NodeGroup(1, 1.0)], 1.0)])
    busy = [RunningJob(Job("R1", 1, 50.0), ["C1/0"], 10.0), RunningJob(Job("R2", 1, 50.0), ["C1/1"], 40.0)]
    instance = Instance(platform, [Job("J1", 1, 20.0)], running=busy)
    bound, best = run(discretise(instance, 10.0), "mean-bounded-slowdown")
    assert bound == pytest.approx(2.0, rel=1e-6)
    assert [(a.start, a.end) for a in best] == [(1, 2)]


def test_a_sum_in_slots_rounded_down_may_be_less_than_what_is_proven_of_it():
    # One node, each job at its only start: ends of 2.00099, 5.00099 and 10 s. In slots of 1 ms, rounded down, these are
    # 2000, 5000 and 10000, which no deadline lets be more: 17.000 s, though 17.001 s are proven of the sum.
    seconds, ends = (2.00099, 3.0, 4.99901), (2.00099, 5.00099, 10.0)
    jobs = [Job(f"J{j}", 1, s, deadline=end) for j, (s, end) in enumerate(zip(seconds, ends, strict=True))]
    instance = Instance(Platform([Cluster("C1", [NodeGroup(1, 1.0)], 1.0)]), jobs)
    problem = discretise(instance, None)
    state = SolveState(instance, SolveOptions(objective="total-response-time", time_limit=60.0))
    incumbent = Incumbent(state, problem, Criterion.of(problem, "total-response-time"), solve_model)
    incumbent.take(best_list_schedule(problem), "list schedule")
    incumbent.prove(17.0018, "another")
    with incumbent.resources:
        cpsat.solve_here(incumbent)
    assert state.lower_bound == pytest.approx(17.00198)
