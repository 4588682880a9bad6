"""An objective and a constraint of a user's own, each in a few lines of what is public, solved by the portfolio."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Placement, Platform, Schedule
from coalloc.extend import (
    AllowedNodes,
    AllowedShapes,
    Constraint,
    MostTasks,
    NotTogether,
    RegularObjective,
    TimeBounds,
    TimeRow,
)
from coalloc.instance.constraints import Declaration, PlacedJob
from coalloc.solvers.backends import cpsat
from coalloc.testing import SmallSize, brute_force_oas, small_instance

FEW = SmallSize(max_jobs=4, max_slots=16)
"""What brute force still enumerates in a moment where every start is tried."""


@dataclass(frozen=True)
class WeightedTardiness(RegularObjective):
    """The sum over the jobs of weight times the seconds by which they end after their due dates."""

    weights: Mapping[str, float]
    due: Mapping[str, float]
    name = "weighted-tardiness"

    def cost(self, job: Job, start: float, end: float) -> float:
        """Return the weighted tardiness of a job, s."""
        return self.weights[job.id] * max(0.0, end - self.due[job.id])


@dataclass(frozen=True)
class MaximumLateness(RegularObjective):
    """The greatest difference of end and due date; negative where all jobs are early."""

    due: Mapping[str, float]
    name = "maximum-lateness"
    aggregate = "max"
    least = float("-inf")

    def cost(self, job: Job, start: float, end: float) -> float:
        """Return the lateness of a job, s."""
        return end - self.due[job.id]


@dataclass(frozen=True)
class Apart(Constraint):
    """Two jobs do not run at the same time."""

    one: str
    other: str

    def declare(self, instance: Instance) -> Iterable[Declaration]:
        """Return the row that says so."""
        yield NotTogether((self.one, self.other))

    def faults(self, instance: Instance, schedule: Iterable[PlacedJob]) -> Iterable[str]:
        """Yield a sentence where they overlap."""
        one, other = (next(p for p in schedule if p.job == job) for job in (self.one, self.other))
        if one.start < other.end - 1e-6 and other.start < one.end - 1e-6:
            yield f"{self.one} and {self.other} run at the same time"


@dataclass(frozen=True)
class WithinFirstCluster(Constraint):
    """A job stays in the first cluster, ``C1``."""

    name: str

    def declare(self, instance: Instance) -> Iterable[Declaration]:
        """Yield the nodes that are there."""
        yield AllowedNodes(self.name, [n for n, node in enumerate(instance.platform.nodes) if node.cluster == 0])

    def faults(self, instance: Instance, schedule: Iterable[PlacedJob]) -> Iterable[str]:
        """Yield each of its processors elsewhere."""
        elsewhere = (node for p in schedule if p.job == self.name for node in p.nodes if not node.startswith("C1/"))
        yield from (f"{self.name} is on {node}" for node in elsewhere)


def due_dates(seed: int, instance: Instance, slot: float) -> tuple[dict[str, float], dict[str, float]]:
    """Return random weights and due dates within the first slots."""
    rng = np.random.default_rng(seed)
    ids = [job.id for job in instance.jobs]
    return dict.fromkeys(ids, 1.0) | {id: float(rng.integers(1, 5)) for id in ids}, {
        id: slot * float(rng.uniform(0.0, 8.0)) for id in ids
    }


@pytest.mark.parametrize("seed", range(0, 100, 5))
def test_weighted_tardiness_is_solved_like_any_objective(seed: int) -> None:
    instance, slot = small_instance(seed)
    objective = WeightedTardiness(*due_dates(seed, instance, slot))
    best = brute_force_oas(instance, slot, objective)
    result = coalloc.solve(instance, objective=objective, slot=slot)
    assert (result.status, result.options.objective) == ("optimal", "weighted-tardiness")
    assert result.objective == pytest.approx(best.objective, rel=1e-6, abs=1e-6 * slot)
    assert result.schedule is not None
    assert result.objective == objective.of_schedule(instance, result.schedule)


@pytest.mark.parametrize("seed", range(100, 110))
def test_maximum_lateness_may_be_negative(seed: int) -> None:
    instance, slot = small_instance(seed)
    objective = MaximumLateness(due_dates(seed, instance, slot)[1])
    best = brute_force_oas(instance, slot, objective)
    result = coalloc.solve(instance, objective=objective, slot=slot)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(best.objective, rel=1e-6, abs=1e-6 * slot)


@pytest.mark.parametrize("seed", [seed for seed in range(15) if len(small_instance(seed, FEW)[0].jobs) > 1])
def test_two_jobs_are_kept_apart(seed: int) -> None:
    instance, slot = small_instance(seed, FEW)
    apart = Apart(instance.jobs[0].id, instance.jobs[-1].id)
    best = brute_force_oas(instance, slot, constraints=[apart])
    result = coalloc.solve(instance, slot=slot, constraints=[apart])
    assert result.status == "optimal"
    assert result.objective == pytest.approx(best.objective, rel=1e-6)
    assert result.schedule is not None
    assert list(apart.faults(instance, result.schedule)) == []


@pytest.mark.parametrize("seed", range(6))
def test_a_job_is_kept_within_a_cluster(seed: int) -> None:
    instance, slot = small_instance(seed, FEW)
    within = WithinFirstCluster(instance.jobs[0].id)
    best = brute_force_oas(instance, slot, constraints=[within])
    for formulation in ("auto", "mode", "count"):
        result = coalloc.solve(instance, slot=slot, formulation=formulation, constraints=[within])
        if not best.feasible:
            assert result.status == "infeasible"
            assert "but the constraints allow" in result.message
            continue
        assert result.status == "optimal"
        assert result.objective == pytest.approx(best.objective, rel=1e-6)
        assert result.schedule is not None
        assert list(within.faults(instance, result.schedule)) == []


def test_both_together() -> None:
    # Two jobs of 10 s on two nodes, both due at once: side by side 2 * 10 + 10 = 30 weighted seconds, apart the one of
    # weight 2 goes first: 2 * 10 + 20 = 40.
    platform = Platform([Cluster("C1", [NodeGroup(2, power=1.0)], link_bandwidth=1.0)])
    instance = Instance(platform, [Job("J1", 1, 10.0), Job("J2", 1, 10.0)])
    objective = WeightedTardiness({"J1": 1.0, "J2": 2.0}, {"J1": 0.0, "J2": 0.0})
    for slot in (10.0, None):
        assert coalloc.solve(instance, objective=objective, slot=slot).objective == 30.0
        apart = coalloc.solve(instance, objective=objective, slot=slot, constraints=[Apart("J1", "J2")], time_limit=2.0)
        assert apart.objective == 40.0
        assert apart.lower_bound is not None
        assert apart.lower_bound <= 40.0


@pytest.mark.parametrize("formulation", ["node", "count", "mode"])
def test_every_formulation_knows_the_rows_of_a_constraint(formulation: str) -> None:
    # Side by side both end at 10 s, apart at 20 s.
    platform = Platform([Cluster("C1", [NodeGroup(2, power=1.0)], link_bandwidth=1.0)])
    instance = Instance(platform, [Job("J1", 1, 10.0), Job("J2", 1, 10.0)])
    result = coalloc.solve(instance, slot=10.0, formulation=formulation, constraints=[Apart("J1", "J2")])
    assert (result.status, result.objective) == ("optimal", 20.0)


class Late(RegularObjective):
    """Seconds by which jobs end after an instant; early ones take some off."""

    name = "late"

    def cost(self, job: Job, start: float, end: float) -> float:
        """Return the seconds."""
        return end - 1e9


class Early(Late):
    """The sooner the worse."""

    least = float("-inf")

    def cost(self, job: Job, start: float, end: float) -> float:
        """Return minus the end."""
        return -end


class Endless(Late):
    """A cost that is no number."""

    def cost(self, job: Job, start: float, end: float) -> float:
        """Return infinity."""
        return float("inf")


@pytest.mark.parametrize("slot", [None, "100%"])
@pytest.mark.parametrize(
    ("objective", "sentence"),
    [
        (Late(), r"objective 'late': its value may be -2e\+09, below its attribute least=0; set least"),
        (Early(), "objective 'late' is not regular: job 'J1' costs -10 with end 10 s, but only -15 with end 15 s"),
        (Endless(), "objective 'late': the cost of job 'J1' is not finite"),
    ],
)
def test_an_objective_that_is_not_what_it_says_is_refused(objective: Late, sentence: str, slot: str | None) -> None:
    # Two jobs of 10 s on one node end in turn by 20 s: starts at 0, 5, 10, 15 and 20 s are looked at.
    instance = Instance(Platform([Cluster("C1", [NodeGroup(1, 1.0)], 1.0)]), [Job("J1", 1, 10.0), Job("J2", 1, 10.0)])
    with pytest.raises(CoallocError, match=sentence):
        coalloc.solve(instance, objective=objective, slot=slot)


class OnlyFaults(Apart):
    """What is forbidden, told to nobody before a schedule is there."""

    declare = Constraint.declare


TWO_NODES = Platform([Cluster("C1", [NodeGroup(2, 1.0)], 1.0)])
TWO_JOBS = [Job("J1", 1, 10.0), Job("J2", 1, 10.0)]


@pytest.mark.usefixtures("cpsat_or_not")
@pytest.mark.parametrize(("slot", "formulation"), [(None, "auto"), (10.0, "auto"), (10.0, "mode"), (10.0, "count")])
def test_what_faults_alone_forbid_costs_the_proof_but_no_schedule(slot: float | None, formulation: str) -> None:
    # Every search starts both jobs at 0 on the two nodes, and proves 10 s. Apart the second ends at 20 s.
    result = coalloc.solve(
        Instance(TWO_NODES, TWO_JOBS), constraints=[OnlyFaults("J1", "J2")], slot=slot, formulation=formulation
    )
    assert (result.status, result.objective, result.lower_bound) == ("feasible", 20.0, 10.0)
    assert result.stopped_by == "work"
    assert result.message == (
        "OnlyFaults is violated by schedules that its declarations accept; the lower bound ignores these violations"
    )
    incumbents = [point.incumbent for point in result.trace if point.incumbent is not None]
    assert min(incumbents) == 20.0  # what was refused was never known


@pytest.mark.usefixtures("cpsat_or_not")
@pytest.mark.parametrize("slot", [None, 10.0])
def test_what_faults_alone_forbid_is_optimal_where_the_bound_is_attained(slot: float | None) -> None:
    # On one node the jobs take turns anyway, and end at 20 s. On two, J3 takes both nodes for 10 s: with J1 and J2 side
    # by side all end at 20 s, which is the bound, and with them apart at 30 s.
    one_node = Platform([Cluster("C1", [NodeGroup(1, 1.0)], 1.0)])
    result = coalloc.solve(Instance(one_node, TWO_JOBS), constraints=[OnlyFaults("J1", "J2")], slot=slot)
    assert (result.status, result.objective, result.message) == ("optimal", 20.0, "")
    wide = Instance(TWO_NODES, [*TWO_JOBS, Job("J3", 2, 10.0)])
    result = coalloc.solve(wide, constraints=[OnlyFaults("J1", "J2")], slot=slot)
    assert (result.status, result.objective, result.lower_bound) == ("feasible", 30.0, pytest.approx(20.0))


@dataclass(frozen=True)
class Never(Constraint):
    """No schedule will do."""

    def faults(self, instance: Instance, schedule: Iterable[PlacedJob]) -> Iterable[str]:
        """Yield a sentence."""
        yield "no"


def test_a_solve_ends_where_faults_alone_refuse_all() -> None:
    result = coalloc.solve(Instance(TWO_NODES, TWO_JOBS), constraints=[Never()], time_limit=0.5)
    assert (result.status, result.stopped_by, result.lower_bound) == ("unknown", "time", 10.0)
    assert result.message.startswith("Never is violated by schedules")


@dataclass(frozen=True)
class Declared(Constraint):
    """Two jobs do not run at the same time; nothing but the declaration says so."""

    one: str
    other: str

    def declare(self, instance: Instance) -> Iterable[Declaration]:
        yield NotTogether((self.one, self.other))


@pytest.mark.usefixtures("cpsat_or_not")
@pytest.mark.parametrize("slot", [None, 10.0])
def test_a_declaration_alone_is_known_to_searches_models_and_the_check(slot: float | None) -> None:
    instance, apart = Instance(TWO_NODES, TWO_JOBS), Declared("J1", "J2")
    result = coalloc.solve(instance, constraints=[apart], slot=slot, time_limit=5.0)
    assert (result.status, result.objective) == ("optimal", 20.0)
    together = coalloc.solve(instance).schedule
    assert together is not None
    assert list(apart.faults(instance, together)) == ["jobs 'J1' and 'J2' run at the same time"]


@pytest.mark.parametrize("slot", [None, 10.0])
def test_a_chain_of_many_jobs_is_one_schedule(slot: float | None) -> None:
    # One after the other: 1,500 times 10 s. Following the chain by recursion would be too deep.
    jobs = [Job(f"J{k}", 1, 10.0, after=[f"J{k - 1}"] if k else []) for k in range(1_500)]
    result = coalloc.solve(Instance(TWO_NODES, jobs), slot=slot)
    assert (result.status, result.objective) == ("optimal", 15_000.0)


@dataclass(frozen=True)
class SameStart(Constraint):
    """Two jobs start together."""

    one: str
    other: str

    def declare(self, instance: Instance) -> Iterable[Declaration]:
        for late, early in ((self.one, self.other), (self.other, self.one)):
            yield TimeRow(((1, "start", late), (-1, "start", early)), 0.0)


@pytest.mark.usefixtures("cpsat_or_not")
@pytest.mark.parametrize("slot", [None, 10.0])
def test_jobs_that_wait_for_each_other_start_together(slot: float | None) -> None:
    # J1 and J2 take both nodes for 10 s, J3 one of them before or after: 20 s.
    instance = Instance(TWO_NODES, [*TWO_JOBS, Job("J3", 1, 10.0)])
    result = coalloc.solve(instance, constraints=[SameStart("J1", "J2")], slot=slot, time_limit=5.0)
    assert (result.status, result.objective) == ("optimal", 20.0)
    assert result.schedule is not None
    assert result.schedule["J1"].start == result.schedule["J2"].start


@dataclass(frozen=True)
class Stating(Constraint):
    """One declaration."""

    declared: Declaration

    def declare(self, instance: Instance) -> Iterable[Declaration]:
        yield self.declared


@pytest.mark.parametrize(
    ("declared", "sentence"),
    [
        (TimeBounds("J1", earliest_start=5.0), "job 'J1' starts at 0 s, before 5 s"),
        (TimeBounds("J1", latest_start=-5.0), "job 'J1' starts at 0 s, after -5 s"),
        (TimeBounds("J1", latest_end=5.0), "job 'J1' ends at 10 s, after 5 s"),
        (AllowedShapes("J1", {2}), "job 'J1' has 1 task, which the constraint does not allow"),
        (AllowedNodes("J1", ()), "job 'J1' has tasks on nodes of 'C1' that the constraint excludes"),
        (MostTasks("J1", (0, 1), 0), "job 'J1' has 1 task on nodes where the constraint allows 0"),
        (TimeRow(((1, "start", "J1"),), 3.0), "the start of job 'J1' is 0 s, must be at least 3 s"),
        (TimeRow(((-1, "end", "J1"),), -3.0), "the end of job 'J1' is 10 s, must be at most 3 s"),
        (
            TimeRow(((1, "start", "J1"), (-1, "end", "J2")), 1.0),
            "the start of job 'J1' less the end of job 'J2' is -10 s, must be at least 1 s",
        ),
    ],
)
def test_a_schedule_is_checked_against_each_declaration(declared: Declaration, sentence: str) -> None:
    instance = Instance(TWO_NODES, TWO_JOBS)
    schedule = coalloc.solve(instance).schedule
    assert schedule is not None
    constraint = Stating(declared)
    assert next(iter(constraint.faults(instance, schedule))) == sentence
    found = coalloc.check(instance, schedule, constraints=[constraint])
    assert found[0].rule == "constraint"


def test_a_constraint_of_a_class_that_other_processes_cannot_know() -> None:
    # 24 jobs of 1 s on one node take 24 s; a second core would search beside the first.
    class Local(Never):
        def faults(self, instance: Instance, schedule: Iterable[PlacedJob]) -> Iterable[str]:
            return ()

    jobs = [Job(f"J{k}", 1 + k % 2, 1.0 + 0.25 * (k % 3)) for k in range(24)]
    platform = Platform([Cluster("C1", [NodeGroup(2, 1.0), NodeGroup(2, 0.7)], 1.0)])
    result = coalloc.solve(Instance(platform, jobs), constraints=[Local()], threads=2, time_limit=1.0)
    assert result.schedule is not None


@pytest.mark.usefixtures("cpsat_or_not")
@pytest.mark.parametrize("slot", [10.0, 50.0, None])
def test_rows_that_name_jobs_which_an_explanation_leaves_out(slot: float | None) -> None:
    # One after the other J1 and J2 end at 200 s, and both are due at 150 s, without J3.
    platform = Platform([Cluster("C1", [NodeGroup(4, 1.0, memory=100.0)], 125.0)])
    due = [Job("J1", 1, 100.0, deadline=150.0), Job("J2", 1, 100.0, deadline=150.0, memory=60.0)]
    instance = Instance(platform, [*due, Job("J3", 1, 10.0)])
    result = coalloc.solve(instance, slot=slot, constraints=[Apart("J1", "J2")])
    assert (result.status, result.schedule) == ("infeasible", None)
    assert result.message == (
        "no schedule satisfies the constraints; no schedule satisfies this irreducible set of conditions: "
        "job 'J1' must end by 150 s; job 'J2' must end by 150 s"
    )


def test_a_row_that_names_no_job_to_schedule() -> None:
    with pytest.raises(
        CoallocError, match="constraint Declared: NotTogether refers to 'J9', which is not a job to schedule"
    ):
        coalloc.solve(Instance(TWO_NODES, TWO_JOBS), slot=10.0, constraints=[Declared("J1", "J9")])


def test_what_no_bound_knows_is_proven_where_the_optimum_without_it_keeps_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # No bound alone is tight here, and the exact search does not know that jobs are apart. Without that it proves
    # 4033.3 s, and of the schedules of that length some have J4 and J5 one after the other.
    monkeypatch.setattr(cpsat, "is_installed", lambda: False)
    clusters = [Cluster("C1", [NodeGroup(6, 1.0)], 125.0), Cluster("C2", [NodeGroup(8, 0.6)], 50.0)]
    jobs = [
        Job("J1", 8, 1200.0, 0.7, 15.0),
        Job("J2", 4, 900.0, 0.8, 10.0),
        Job("J3", 3, 1500.0, 0.9, 5.0, arrival=60.0),
        Job("J4", 5, 600.0, 0.6, 20.0, arrival=120.0),
        Job("J5", 2, 2400.0, arrival=200.0),
        Job("J6", 10, 700.0, 0.8, 4.0, arrival=300.0),
        Job("J7", 1, 300.0, arrival=600.0),
        Job("J8", 6, 800.0, 0.75, 12.0, arrival=900.0),
    ]
    result = coalloc.solve(Instance(Platform(clusters), jobs), constraints=[Apart("J4", "J5")], time_limit=60.0)
    assert (result.status, result.objective) == ("optimal", pytest.approx(4033.3333333))


def test_check_asks_constraints_where_every_job_is_placed_once() -> None:
    instance = Instance(Platform([Cluster("C1", [NodeGroup(2, 1.0)], 1.0)]), [Job("J1", 1, 10.0), Job("J2", 1, 10.0)])
    together = Schedule((Placement("J1", 0.0, 10.0, ("C1/0",)), Placement("J2", 0.0, 10.0, ("C1/1",))))
    (violation,) = coalloc.check(instance, together, constraints=[Apart("J1", "J2")])
    assert str(violation) == "constraint: Apart: J1 and J2 run at the same time"
    apart = Schedule((together["J1"], Placement("J2", 10.0, 20.0, ("C1/1",))))
    assert coalloc.check(instance, apart, constraints=[Apart("J1", "J2")]) == []
    half = apart.replace(placements=apart.placements[:1])
    assert [v.rule for v in coalloc.check(instance, half, constraints=[Apart("J1", "J2")])] == ["missing-job"]


def test_what_is_no_constraint_is_refused() -> None:
    platform = Platform([Cluster("C1", [NodeGroup(2, power=1.0)], link_bandwidth=1.0)])
    with pytest.raises(CoallocError, match=r"^constraints\[0\]: must be a Constraint, got 'J1'$"):
        coalloc.solve(Instance(platform, [Job("J1", 1, 10.0)]), slot=10.0, constraints=["J1"])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (lambda: TimeBounds("J1", earliest_start=math.nan), "TimeBounds of job 'J1' must be numbers, got nan"),
        (lambda: MostTasks("J1", [0], -1), "the number of MostTasks must be at least 0, got -1"),
        (lambda: NotTogether(("J1", "J1")), "a NotTogether must name each job once"),
        (lambda: AllowedNodes("J1", [0, 2]), "AllowedNodes refers to node 2, but the platform has nodes 0 to 1"),
        (lambda: MostTasks("J1", [-1], 1), "MostTasks refers to node -1, but the platform has nodes 0 to 1"),
        (lambda: Stating(None), "constraint Stating: declare must return declarations, got None"),
    ],
)
def test_a_declaration_that_says_nothing_is_refused_in_one_line(made: Callable[[], Constraint], sentence: str) -> None:
    with pytest.raises(CoallocError) as caught:
        coalloc.solve(Instance(TWO_NODES, TWO_JOBS), constraints=[made()])
    assert str(caught.value).endswith(sentence)
    assert "\n" not in str(caught.value)


def test_a_constraint_that_returns_nothing_is_refused() -> None:
    class Forgetful(Constraint):
        def declare(self, instance: Instance) -> Any:
            NotTogether(("J1", "J2"))

    with pytest.raises(CoallocError, match="constraint Forgetful: declare must return declarations, got None"):
        coalloc.solve(Instance(TWO_NODES, TWO_JOBS), constraints=[Forgetful()])
