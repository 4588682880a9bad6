"""The OAS solver around its formulations: reasons, starts, limits, horizons, and formulations of the user's own."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from itertools import count
from typing import Any

import pyomo.environ as pyo
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coalloc
from coalloc.checker import check
from coalloc.documents.errors import InternalError
from coalloc.instance import Cluster, CoallocError, Instance, Job, NodeGroup, Platform, RunningJob
from coalloc.models import oas_mode
from coalloc.objectives import Criterion
from coalloc.problem import Assignment, Problem, discretise
from coalloc.rules.serial_sgs import best_list_schedule
from coalloc.schedule import Placement, Schedule
from coalloc.solvers import portfolio
from coalloc.solvers.backends import cpsat
from coalloc.solvers.backends.highs import SolverLimits
from coalloc.solvers.backends.worker import Note, Worker
from coalloc.solvers.feasibility import why_infeasible
from coalloc.solvers.incumbent import OPENING, Incumbent
from coalloc.solvers.method import Method
from coalloc.solvers.oas import solve_oas
from coalloc.solvers.result import ModelSize, ModelSolution, SolveOptions, SolveStatus, StoppedBy, TracePoint
from coalloc.solvers.search import beams, branch_and_bound, deadlines, list_annealing, set_tree, with_cpsat
from coalloc.solvers.search.beam_search import BeamSearch
from coalloc.solvers.solve_state import SolveState
from coalloc.testing.brute_force import brute_force_oas
from tests.explanations.test_infeasible import many_ends_by
from tests.extras import AUTO
from tests.small_instances import TINY, slotted_instances, small_instance
from tests.strategies import LAW

FORMULATIONS = ("node", "count", "mode")


def star(*clusters: tuple[int, float, float]) -> Platform:
    """Return clusters C1, C2, ... of (nodes, power, link bandwidth) around one switch."""
    return Platform(tuple(Cluster(f"C{i}", (NodeGroup(n, p),), b) for i, (n, p, b) in enumerate(clusters, 1)))


def five(seconds: Sequence[float] = (30.0, 30.0, 20.0, 20.0, 20.0), **changes: Any) -> Instance:
    """Return two nodes and single-task jobs: longest first ends at 70 s, the optimum is 60 s, the simple bound too."""
    jobs = tuple(Job(f"J{i}", 1, t) for i, t in enumerate(seconds))
    return Instance(star((2, 1.0, 1.0)), jobs, **changes)


# ------------------------------------------------------------------------------ infeasible, empty, wrong


def test_infeasible_has_a_reason_for_each_job_that_is() -> None:
    # 2 tasks over two clusters of one node: 10 and 20 MB/s on links of 5 and 8. J2 fits.
    jobs = (Job("J1", 2, 9.0, 0.5, 10.0), Job("J2", 2, 9.0, 0.5, 1.0), Job("J<3", 2, 9.0, 0.5, 20.0))
    result = coalloc.solve(Instance(star((1, 1.0, 5.0), (1, 1.0, 8.0)), jobs), slot="50%")
    assert (result.status, result.stopped_by, result.schedule) == ("infeasible", "proof", None)
    assert (result.objective, result.lower_bound, result.gap) == (None, None, None)
    first, second = result.message.split("; ")
    assert "'J1' saturates a link on every allocation" in first
    assert "10 MB/s on the link of 'C1', whose limit is 5 MB/s" in first
    assert "20 MB/s on the link of 'C1'" in second


def test_the_reason_is_the_mildest_way_to_run() -> None:
    # 3 tasks on 2 + 2 nodes load both links with 10 MB/s, whichever way. C1's carries 4, C2's 8: both at 10 / 4.
    instance = Instance(star((2, 1.0, 4.0), (2, 1.0, 8.0), (1, 1.0, 8.0)), (Job("J1", 3, 9.0, 0.5, 10.0),))
    # Over C2 and C3, 10 MB/s on links of 8: an overload of 1.25 where C1 has 2.5.
    (reason,) = why_infeasible(discretise(instance, None))
    assert "whose limit is 8 MB/s" in reason


def test_a_running_job_makes_nothing_infeasible() -> None:
    # R holds and saturates everything until 100 s; J1 starts then.
    running = (RunningJob(Job("R", 2, 99.0, 0.5, 50.0), ("C1/0", "C2/0"), 100.0),)
    instance = Instance(star((1, 1.0, 10.0), (1, 1.0, 10.0)), (Job("J1", 2, 10.0, 0.5, 10.0),), running)
    result = coalloc.solve(instance, slot=10.0)
    assert (result.status, result.objective) == ("optimal", 110.0)


@pytest.mark.parametrize("slot", [None, 10.0])
def test_no_jobs_are_done_at_once(slot: float | None) -> None:
    result = coalloc.solve(Instance(star((2, 1.0, 1.0)), ()), slot=slot)
    assert (result.status, result.objective, result.lower_bound, result.gap) == ("optimal", 0.0, 0.0, 0.0)
    assert result.schedule is not None
    assert len(result.schedule) == 0


def test_a_slot_that_is_too_fine_names_the_remedy() -> None:
    with pytest.raises(CoallocError, match=r'slot=0\.0001 is 0\.0001 s: .*did you mean slot="50%"') as refused:
        coalloc.solve(five((29.0, 28.0, 17.0, 13.0, 23.0)), slot=1e-4, formulation="mode")
    assert "nonzeros" in str(refused.value)


# ------------------------------------------------------------------------------ limits, trace, origin


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_the_optimum_beyond_the_list_schedule(formulation: str) -> None:
    result = coalloc.solve(five(), slot=10.0, formulation=formulation)
    assert (result.status, result.objective, result.lower_bound) == ("optimal", 60.0, 60.0)
    assert result.options.formulation == formulation
    assert result.model_size is not None
    incumbents = [point.incumbent for point in result.trace]
    assert (incumbents[0], incumbents[-1]) == (70.0, 60.0)


@pytest.mark.parametrize("reason", ["work", "time", "interrupt"])
def test_a_model_that_is_stopped_leaves_the_list_schedule_and_its_bound(reason: StoppedBy) -> None:
    def run_model(model: pyo.ConcreteModel, limits: SolverLimits, **_: Any) -> ModelSolution:
        assert (limits.work, limits.seed, limits.threads) == (9, 4, 2)
        return ModelSolution(SolveStatus.UNKNOWN, reason, None, 5.0, ModelSize(1, 1, 1, 1))

    options = SolveOptions(slot=10.0, work_limit=9, seed=4, threads=2)
    result = solve_oas(five(), options, formulation="mode", run_model=run_model)
    assert (result.status, result.stopped_by) == ("feasible", reason)
    assert result.objective == 70.0
    assert result.lower_bound in (50.0, 60.0)  # the model's, or the simple bound


def test_a_time_limit_too_short_for_anything_returns_the_list_schedule_and_a_bound() -> None:
    instance = coalloc.generate("thesis-oas", seed=2)
    result = coalloc.solve(instance, slot="25%", time_limit=1e-6)
    assert (result.status, result.stopped_by) == ("feasible", "time")
    assert result.objective is not None
    assert result.lower_bound is not None
    assert 0 < result.lower_bound < result.objective
    assert result.schedule is not None
    assert check(instance, result.schedule) == []


def test_a_gap_that_is_reached_before_any_model() -> None:
    result = coalloc.solve(five(), slot=10.0, gap=0.2)
    assert (result.status, result.stopped_by, result.objective) == ("feasible", "gap", 70.0)
    assert result.model_size is None
    assert result.gap == pytest.approx(1 / 7)


def test_the_makespan_counts_from_the_earliest_arrival() -> None:
    # All of it 1000 s later: 60 s still, in whole slots of the clock.
    later = tuple(job.replace(arrival=1000.0) for job in five().jobs)
    result = coalloc.solve(Instance(star((2, 1.0, 1.0)), later), slot=10.0)
    assert (result.status, result.objective, result.lower_bound) == ("optimal", 60.0, 60.0)
    # With a running job from 0 on, whatever the earliest arrival.
    running = (RunningJob(Job("R", 1, 9.0), ("C1/0",), 5.0),)
    assert coalloc.solve(Instance(star((2, 1.0, 1.0)), later, running), slot=10.0).objective == 1060.0


def test_a_running_job_that_outlasts_the_schedule_raises_no_bound() -> None:
    # R holds the slow node for long. Its work up to its end is none that the makespan waits for.
    running = (RunningJob(Job("R", 1, 100.0), ("C2/0",), 1000.0),)
    instance = Instance(star((2, 1.0, 1.0), (1, 0.5, 1.0)), five().jobs, running)
    result = coalloc.solve(instance, slot=10.0)
    assert (result.status, result.objective) == ("optimal", 60.0)


def test_the_trace_improves_to_what_is_returned() -> None:
    points: list[TracePoint] = []
    result = coalloc.solve(coalloc.generate("paper-oas", seed=2, jobs=6), slot="50%", progress=points.append)
    assert tuple(points) == result.trace
    incumbents = [p.incumbent for p in points if p.incumbent is not None]
    bounds = [p.lower_bound for p in points if p.lower_bound is not None]
    assert incumbents == sorted(incumbents, reverse=True)
    assert bounds == sorted(bounds)
    assert incumbents[-1] == pytest.approx(result.objective)
    assert max(bounds) <= incumbents[-1] * (1 + 1e-9)


@pytest.mark.parametrize("formulation", [AUTO, "mode"])
def test_the_same_seed_gives_the_same_schedule(formulation: str) -> None:
    instance = coalloc.generate("paper-oas", seed=0, jobs=6)
    one, two = (coalloc.solve(instance, slot="100%", formulation=formulation, seed=3) for _ in range(2))
    assert one.schedule == two.schedule


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_the_sum_of_responses_may_need_a_longer_horizon_than_the_makespan(formulation: str) -> None:
    # One fast node, one of power 0.2. Both at once end at 50 s at the latest: 30 + 50 = 80. On the fast node alone they
    # end at 10 and 40 s, and so 50 in all.
    jobs = (Job("J1", 1, 30.0), Job("J2", 1, 10.0))
    instance = Instance(star((1, 1.0, 1.0), (1, 0.2, 1.0)), jobs)
    result = coalloc.solve(instance, slot=10.0, objective="total-response-time", formulation=formulation)
    assert (result.status, result.objective) == ("optimal", 50.0)


@pytest.mark.parametrize(("objective", "method"), [("makespan", "feasible-set"), ("total-response-time", "prices")])
def test_a_formulation_that_runs_out_of_time_bounds_no_worse_than_lower_bound(objective: str, method: str) -> None:
    # A solver that finds nothing: what is left is the bound that there is without it.
    def run_model(model: pyo.ConcreteModel, limits: SolverLimits, **_: Any) -> ModelSolution:
        assert limits.time < 60.0
        return ModelSolution(SolveStatus.UNKNOWN, "time", None, -math.inf, ModelSize(1, 1, 1, 1))

    instance = coalloc.generate("thesis-oas", seed=1, jobs=6)
    options = SolveOptions(slot=1e5, objective=objective, time_limit=60.0)
    result = solve_oas(instance, options, formulation="mode", run_model=run_model)
    bound = coalloc.lower_bound(instance, slot=1e5, objective=objective)
    assert result.lower_bound == pytest.approx(bound)
    assert method in {point.source for point in result.trace}


@LAW
@given(slotted_instances(TINY))
def test_no_optimal_sum_of_responses_ends_beyond_the_horizon(drawn: tuple[Instance, float]) -> None:
    instance, slot = drawn
    problem = discretise(instance, slot)
    horizon = int(Criterion.of(problem, "total-response-time").horizon(best_list_schedule(problem)))
    best = brute_force_oas(instance, slot, objective="total-response-time").schedule
    assert best is not None
    assert max(p.end for p in best) <= slot * horizon * (1 + 1e-9)


def test_without_a_complete_method_the_search_goes_on_until_its_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    # No proof for this one by bounds and simulated annealing, and its model at 1 % is too large to build.
    monkeypatch.setattr(cpsat, "is_installed", lambda: False)
    without(monkeypatch, branch_and_bound.METHOD.name, "Pumpkin")
    instance = coalloc.generate("thesis-oas", seed=2)
    result = coalloc.solve(instance, slot="1%", time_limit=2.0)
    assert (result.status, result.stopped_by, result.model_size) == ("feasible", "time", None)
    assert "the instance is too large for the complete methods" in result.message
    assert result.timings["search"] > 0.0
    *stages, total = result.timings.values()
    assert (list(result.timings)[-1], sum(stages)) == ("total", pytest.approx(total))
    assert dict(result.lines())["time"].startswith(f"{total:.2f} s (search ")


def test_a_work_limit_ends_the_search_by_work_and_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpsat, "is_installed", lambda: False)
    instance = coalloc.generate("thesis-oas", seed=2)
    one, two = (coalloc.solve(instance, slot="1%", work_limit=20) for _ in range(2))
    assert one.stopped_by == "work"
    assert one.schedule == two.schedule


def test_a_worker_that_was_started_early_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    # The search is interrupted while CP-SAT loads beside it.
    ended = []

    class Worker:
        is_alive = True

        def __init__(self, note: Note) -> None: ...

        def close(self) -> None:
            ended.append(self)

    def interrupted(incumbent: Incumbent, *_: Any, **__: Any) -> None:
        if incumbent.round == OPENING - 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(cpsat, "is_installed", lambda: True)
    monkeypatch.setattr(cpsat, "start_worker", Worker)
    without(monkeypatch, branch_and_bound.METHOD.name)
    monkeypatch.setattr(with_cpsat, "_may_begin", lambda _: False)
    monkeypatch.setattr(list_annealing, "_anneal_in_rounds", interrupted)
    result = coalloc.solve(coalloc.generate("thesis-oas", seed=2), slot="1%", threads=2)
    assert result.stopped_by == "interrupt"
    assert len(ended) == 1


def without(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Take methods off the table of the portfolio."""
    monkeypatch.setattr(portfolio, "METHODS", tuple(m for m in portfolio.METHODS if m.name not in names))


@pytest.fixture
def helpers(monkeypatch: pytest.MonkeyPatch) -> list[Worker]:
    """The processes that search beside the portfolio, as they are started."""
    started: list[Worker] = []
    start = beams.start_worker

    def start_worker(*given: Any, **options: Any) -> Worker:
        started.append(start(*given, **options))
        return started[-1]

    monkeypatch.setattr(beams, "start_worker", start_worker)
    return started


def test_many_jobs_are_searched_on_every_core_by_processes_that_end_with_it(helpers: list[Worker]) -> None:
    instance = coalloc.generate("thesis-oas", seed=2, jobs=24)
    result = coalloc.solve(instance, slot="15%", time_limit=2.0, threads=3)
    assert (result.status, result.stopped_by) == ("feasible", "time")
    assert "the instance is too large for the complete methods" in result.message
    assert [helper.is_alive for helper in helpers] == [False, False]


def test_out_of_time_no_method_runs_once_a_schedule_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    # Longest job and packing, then lists: 70 s where 60 s is the optimum (and the bound), so others would have more.
    monkeypatch.setattr(SolveState, "remaining", property(lambda state: 60.0 if state.schedule is None else 0.0))
    result = coalloc.solve(five())
    assert {point.source for point in result.trace} == {"longest job and packing", "list schedule"}
    assert (result.objective, result.stopped_by) == (70.0, "time")


def test_no_process_is_started_for_which_no_time_is_left(
    helpers: list[Worker], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Every look at the clock takes 0.02 s of the 0.4 s that are left at first, less than a process takes to load.
    looks = count()
    started: list[str] = []
    monkeypatch.setattr(SolveState, "remaining", property(lambda _: max(0.0, 0.4 - 0.02 * next(looks))))
    monkeypatch.setattr(cpsat, "is_installed", lambda: True)
    monkeypatch.setattr(cpsat, "start_worker", lambda _: started.append("CP-SAT"))
    without(monkeypatch, branch_and_bound.METHOD.name)
    assert coalloc.solve(coalloc.generate("thesis-oas", seed=2, jobs=24), slot="15%", threads=2).status == "feasible"
    looks = count()
    assert coalloc.solve(coalloc.generate("thesis-oas", seed=2), slot="1%", threads=2).schedule is not None
    assert (helpers, started) == ([], [])


def test_what_another_core_finds_is_taken(helpers: list[Worker], monkeypatch: pytest.MonkeyPatch) -> None:
    # Here nothing else improves on the list schedule.
    without(monkeypatch, "list annealing", branch_and_bound.METHOD.name)
    monkeypatch.setattr(BeamSearch, "round", lambda _: time.sleep(0.01))
    instance = coalloc.generate("thesis-oas", seed=2, jobs=24)
    result = coalloc.solve(instance, slot="15%", time_limit=60.0, threads=2, gap=0.015)
    assert result.trace[-1].source == "beam search"
    assert len(helpers) == 1


@pytest.mark.extras
def test_a_work_limit_leaves_no_choice_to_the_clock(helpers: list[Worker]) -> None:
    instance = coalloc.generate("thesis-oas", seed=2, jobs=24)
    one, two = (coalloc.solve(instance, slot="15%", threads=2, work_limit=3) for _ in range(2))
    assert (one.schedule, one.stopped_by) == (two.schedule, "work")
    assert helpers == []


@pytest.mark.extras
@pytest.mark.parametrize("seed", range(8))
def test_the_other_methods_prove_what_branch_and_bound_does(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    instance, slot = small_instance(seed)
    found = coalloc.solve(instance, slot=slot)
    without(monkeypatch, branch_and_bound.METHOD.name)
    other = coalloc.solve(instance, slot=slot)
    assert (found.status, found.objective) == (other.status, other.objective)
    assert set_tree.METHOD.name not in {point.source for point in other.trace}


@pytest.mark.parametrize("slot", ["5%", None])
def test_branch_and_bound_proves_what_the_bounds_leave_open(monkeypatch: pytest.MonkeyPatch, slot: str | None) -> None:
    without(monkeypatch, "Pumpkin")
    result = coalloc.solve(coalloc.generate("thesis-oas", seed=18), slot=slot)
    assert (result.status, result.trace[-1].source) == ("optimal", set_tree.METHOD.name)


@pytest.mark.parametrize("slot", [10.0, None])
def test_ctrl_c_in_a_model_ends_the_portfolio(monkeypatch: pytest.MonkeyPatch, slot: float | None) -> None:
    # Without CP-SAT, Pumpkin and search a model has to close the gap; HiGHS takes Ctrl-C as a reason to stop.
    runs = []

    def interrupted(*_: Any, **__: Any) -> ModelSolution:
        runs.append(1)
        return ModelSolution(SolveStatus.UNKNOWN, "interrupt", None, 0.0, ModelSize(0, 0, 0, 0))

    monkeypatch.setattr(cpsat, "is_installed", lambda: False)
    without(monkeypatch, branch_and_bound.METHOD.name, "list annealing", "Pumpkin")
    result = solve_oas(five(), SolveOptions(slot=slot), run_model=interrupted)
    assert (result.stopped_by, result.status, len(runs)) == ("interrupt", "feasible", 1)


# ------------------------------------------------------------------------------ starts


def in_whole_slots(instance: Instance, seconds: Sequence[tuple[float, float, str]], slot: float | None) -> Schedule:
    """Return a schedule of (start, end, node), in the order of the jobs."""
    placements = (Placement(job.id, s, e, (node,)) for job, (s, e, node) in zip(instance.jobs, seconds, strict=True))
    return Schedule(tuple(placements), slot=slot, instance=instance.name)


OPTIMAL = ((0.0, 30.0, "C1/0"), (30.0, 60.0, "C1/0"), (0.0, 20.0, "C1/1"), (20.0, 40.0, "C1/1"), (40.0, 60.0, "C1/1"))
"""A schedule of ``five()`` that ends at 60 s."""


def test_a_start_that_is_optimal_needs_no_model() -> None:
    result = coalloc.solve(five(), slot=10.0, start=in_whole_slots(five(), OPTIMAL, 10.0))
    assert (result.status, result.objective, result.model_size) == ("optimal", 60.0, None)
    assert "warm start" in [point.source for point in result.trace]


def test_a_continuous_start_serves_in_slots_and_one_in_slots_in_continuous_time() -> None:
    for slot, of_start in ((10.0, None), (None, 10.0)):
        result = coalloc.solve(five(), slot=slot, start=in_whole_slots(five(), OPTIMAL, of_start))
        assert (result.status, result.objective) == ("optimal", 60.0)


def test_a_start_is_moved_left() -> None:
    late = tuple((start + 500.0, end + 500.0, node) for start, end, node in OPTIMAL)
    assert coalloc.solve(five(), slot=10.0, start=in_whole_slots(five(), late, 10.0)).objective == 60.0


def test_a_start_that_breaks_a_rule_is_refused_with_the_rule() -> None:
    overlapping = (*OPTIMAL[:4], (30.0, 50.0, "C1/1"))
    with pytest.raises(CoallocError, match=r"start must be a valid schedule of the instance: .*C1/1"):
        coalloc.solve(five(), slot=10.0, start=in_whole_slots(five(), overlapping, 10.0))
    with pytest.raises(CoallocError, match="start must be a valid schedule"):
        coalloc.solve(five(), slot=10.0, start=Schedule(()))


# ------------------------------------------------------------------------------ continuous time


def test_continuous_time_is_feasible_with_a_bound_unless_they_meet() -> None:
    # 7 jobs of 10.5 s on 2 nodes: by area 36.75 s, in truth 42.
    jobs = tuple(Job(f"J{i}", 1, 10.5) for i in range(7))
    result = coalloc.solve(Instance(star((2, 1.0, 1.0)), jobs), time_limit=1.5)
    assert result.objective == pytest.approx(42.0)
    assert result.lower_bound is not None
    assert 36.75 - 1e-9 <= result.lower_bound <= 42.0
    assert result.schedule is not None
    assert result.schedule.slot is None
    assert result.status == ("optimal" if result.lower_bound >= 42.0 * (1 - 1e-6) else "feasible")


@settings(LAW, max_examples=4)
@given(slotted_instances(TINY), st.sampled_from(["makespan", "total-response-time"]))
def test_continuous_time_brackets_the_optimum(drawn: tuple[Instance, float], objective: str) -> None:
    instance, _ = drawn
    best = brute_force_oas(instance, None, objective=objective)  # type: ignore[arg-type] # a str of the strategy
    result = coalloc.solve(instance, objective=objective, time_limit=0.5)
    assert result.objective is not None
    assert result.lower_bound is not None
    assert result.lower_bound <= best.objective * (1 + 1e-6) + 1e-9
    assert result.objective >= best.objective * (1 - 1e-6) - 1e-9
    assert result.status in ("optimal", "feasible")


def test_jobs_shorter_than_a_slot_are_no_trouble() -> None:
    # The mean is 251 s, the slot 62.75 s; rounded down the short jobs take no slot at all.
    result = coalloc.solve(five((1000.0, 1.0, 1.0, 1.0)))
    assert (result.status, result.objective) == ("optimal", 1000.0)


# ------------------------------------------------------------------------------ formulations of the user's own


class Own:
    """The least that a formulation must offer: it builds and extracts."""

    def build(self, problem: Problem, *, horizon: int, objective: str, lower_bound: int) -> pyo.ConcreteModel:
        """Return the mode model."""
        return oas_mode.build(problem, horizon=horizon, objective=objective, lower_bound=lower_bound)

    def extract(self, model: pyo.ConcreteModel) -> Schedule:
        """Return the schedule of the mode model."""
        return oas_mode.extract(model)


class Forgetful(Own):
    """Loses a job."""

    def extract(self, model: pyo.ConcreteModel) -> Schedule:
        """Return all but the last."""
        schedule = super().extract(model)
        return Schedule(schedule.placements[:-1], slot=schedule.slot, instance=schedule.instance)


class Hasty(Own):
    """Ends every job in the first slot."""

    def extract(self, model: pyo.ConcreteModel) -> Schedule:
        """Return everything at once."""
        schedule = super().extract(model)
        return Schedule(
            tuple(placement.replace(start=0.0, end=10.0) for placement in schedule),
            slot=schedule.slot,
            instance=schedule.instance,
        )


class Contradictory(Own):
    """Has no solution."""

    def build(self, problem: Problem, *, horizon: int, objective: str, lower_bound: int) -> pyo.ConcreteModel:
        """Return a model with two rows that exclude each other."""
        model = super().build(problem, horizon=horizon, objective=objective, lower_bound=lower_bound)
        model.contradiction = pyo.Constraint(expr=pyo.quicksum(model.x.values()) == 0)
        return model


class WithStart(Own):
    """Takes starts, and notes them."""

    def __init__(self) -> None:
        self.starts: list[Sequence[Assignment]] = []

    def set_start(self, model: pyo.ConcreteModel, assignments: Sequence[Assignment]) -> None:
        """Set the start of the mode model."""
        self.starts.append(assignments)
        oas_mode.set_start(model, assignments)


def test_a_formulation_that_builds_and_extracts_will_do() -> None:
    result = coalloc.solve(five(), slot=10.0, formulation=Own())
    assert (result.status, result.objective, result.options.formulation) == ("optimal", 60.0, "Own")


def test_a_formulation_may_take_the_start() -> None:
    formulation = WithStart()
    coalloc.solve(five(), slot=10.0, formulation=formulation)
    (start,) = formulation.starts
    assert max(a.end for a in start) == 7


@pytest.mark.parametrize("formulation", [Forgetful(), Hasty()])
def test_a_wrong_schedule_is_caught(formulation: Own) -> None:
    with pytest.raises(InternalError, match="the schedule of a solver has"):
        coalloc.solve(five(), slot=10.0, formulation=formulation)


def test_a_model_without_solution_is_not_called_an_infeasible_instance() -> None:
    # Within 3 + 3 + 2 + 2 + 2 slots every order of the jobs fits.
    result = coalloc.solve(five(), slot=10.0, formulation=Contradictory())
    assert (result.status, result.schedule) == ("infeasible", None)
    assert result.message.startswith("the model of formulation Contradictory has no solution within 12 slots")


def test_a_formulation_of_ones_own_needs_a_slot() -> None:
    with pytest.raises(CoallocError, match="requires a time slot"):
        coalloc.solve(five(), formulation=Own())


@pytest.mark.extras
def test_arrivals_in_unix_time_are_not_counted_out_in_slots() -> None:
    # Each job needs two of three nodes: 60 s, then 120 s after the arrival. There are 1.6e8 slots of 10 s before it.
    node = NodeGroup(3, power=1.0, idle_watts=1.0, static_watts=2.0, core_watts=1.0)
    jobs = [Job(f"J{n}", 2, 60.0, arrival=1.6e9) for n in (1, 2)]
    instance = Instance(Platform([Cluster("C1", [node], link_bandwidth=1.0)]), jobs)
    for formulation in ("auto", "count", "mode", "node"):
        result = coalloc.solve(instance, slot=10.0, formulation=formulation)
        assert (result.status, result.objective) == (SolveStatus.OPTIMAL, pytest.approx(120.0))
    near = instance.replace(jobs=[job.replace(arrival=0.0) for job in jobs])
    energies = [coalloc.solve(given, slot=10.0, objective="energy") for given in (instance, near)]
    assert [found.status for found in energies] == [SolveStatus.OPTIMAL] * 2
    assert energies[0].objective == pytest.approx(energies[1].objective)
    found = coalloc.solve(instance, slot=10.0, objective="total-response-time")
    assert (found.status, found.objective) == (SolveStatus.OPTIMAL, pytest.approx(180.0))


def test_a_bound_after_every_job_has_to_have_ended_is_a_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    # A bound of 70 s, wherever it comes from, and every job must end by 65 s; not so where one may end later.
    def prove(incumbent: Incumbent) -> None:
        incumbent.prove(70.0, "a bound")

    monkeypatch.setattr(portfolio, "METHODS", (Method("a bound", prove),))
    late = five()
    late = late.replace(jobs=[job.replace(deadline=65.0) for job in late.jobs])
    assert solve_oas(late, SolveOptions(time_limit=1.0), explains=False).status is SolveStatus.INFEASIBLE
    free = late.replace(jobs=[late.jobs[0].replace(deadline=None), *late.jobs[1:]])
    assert solve_oas(free, SolveOptions(time_limit=0.2), explains=False).status is SolveStatus.UNKNOWN


def test_that_nothing_ends_in_time_is_proven_whatever_schedules_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    # Without deadlines the least makespan is 2733.3 s; by 2800 s there is a schedule, by 2700 s none.
    monkeypatch.setattr(portfolio, "METHODS", (deadlines.METHOD,))
    options = SolveOptions(objective="total-response-time", time_limit=10.0, work_limit=10_000)
    assert solve_oas(many_ends_by(2700.0), options, explains=False).status is SolveStatus.INFEASIBLE
    assert solve_oas(many_ends_by(2800.0), options, explains=False).schedule is not None
