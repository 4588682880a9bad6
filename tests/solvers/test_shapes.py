"""Jobs of several shapes: every method chooses, and none takes what does not fit."""

from __future__ import annotations

import pytest

import coalloc
from coalloc import Cluster, Instance, Job, NodeGroup, Platform, RunningJob, Shape
from coalloc.problem import discretise
from coalloc.solvers.backends import cpsat
from coalloc.solvers.backends.pumpkin import Question
from coalloc.solvers.bounds.simple import least_works, packing
from coalloc.testing import brute_force_oas, small_feature_instance
from coalloc.testing.small import SmallSize

FORMULATIONS = ("auto", "mode", "count", "node")
ONE = Platform([Cluster("C1", [NodeGroup(4, power=1.0)], link_bandwidth=10.0)])
TWO = Platform([Cluster(name, [NodeGroup(2, power=1.0)], link_bandwidth=10.0) for name in ("C1", "C2")])
MOLDABLE = Job("A", 2, 10.0, shapes=[Shape(4, 6.0), Shape(1, 18.0)])


def solved(instance, formulation="auto", **options):
    """Return the latest end, and the shape of each job."""
    result = coalloc.solve(instance, formulation=formulation, slot=2.0, **options)
    assert result.status == "optimal"
    assert coalloc.check(instance, result.schedule, scope=options.get("scope", "platform")) == []
    return result.objective, [placement.shape for placement in result.schedule]


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([], (6.0, [1])),  # alone it takes all processors
        ([Job("B", 2, 10.0)], (10.0, [0, 0])),  # side by side; else 6 + 10
        ([Job("B", 3, 18.0)], (18.0, [2, 0])),  # beside the wide job there is one processor; else 18 + 6
    ],
)
def test_the_shape_that_serves_all_is_chosen(formulation, others, expected):
    assert solved(Instance(ONE, [MOLDABLE, *others]), formulation) == expected


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_shape_that_saturates_a_link_is_not_taken(formulation):
    # Four tasks at 10 MB/s put 2 * 10 * 2/3 = 13.3 MB/s on both links, two are in one cluster; at 7 MB/s it is 9.3.
    assert solved(Instance(TWO, [MOLDABLE.replace(task_bandwidth=10.0)]), formulation) == (10.0, [0])
    assert solved(Instance(TWO, [MOLDABLE.replace(task_bandwidth=7.0)]), formulation) == (6.0, [1])


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize(("scope", "expected"), [("cluster", (10.0, [0])), ("node", (18.0, [2]))])
def test_the_scope_leaves_the_shapes_that_fit_into_a_part(formulation, scope, expected):
    assert solved(Instance(TWO, [MOLDABLE]), formulation, scope=scope) == expected


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_shapes_go_with_the_other_words(formulation):
    # B comes after A and must end by 16 s, so that A has to be wide; C takes 4 s on nodes of kind x in its shape.
    platform = Platform([Cluster("C1", [NodeGroup(4, power=1.0, features=["x"])], link_bandwidth=10.0)])
    jobs = [
        MOLDABLE,
        Job("B", 1, 10.0, after=["A"], deadline=16.0),
        Job("C", 1, 9.0, after=["A"], shapes=[Shape(3, 9.0, times={"x": 4.0})]),
    ]
    assert solved(Instance(platform, jobs), formulation, objective="total-response-time") == (32.0, [1, 0, 1])


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_equal_jobs_with_other_shapes_are_not_exchanged(formulation):
    # D alone can be done in 4 s: it is wide first, and the others run side by side: 4 + 10.
    jobs = [Job(name, 2, 10.0, shapes=[Shape(4, 9.0)]) for name in "ABC"]
    instance = Instance(ONE, [*jobs[:2], Job("D", 2, 10.0, shapes=[Shape(4, 4.0)])])
    problem = discretise(instance, 2.0)
    assert problem.kinds == (0, 0, 1)
    assert discretise(Instance(ONE, jobs), 2.0).kinds == (0, 0, 0)
    assert solved(instance, formulation) == (14.0, [0, 0, 1])


def test_continuous_time_is_closed_by_the_search():
    result = coalloc.solve(Instance(ONE, [MOLDABLE, Job("B", 2, 9.5)]))
    assert (result.status, result.objective) == ("optimal", 10.0)


def test_a_deadline_that_no_shape_keeps_is_infeasible():
    result = coalloc.solve(Instance(ONE, [MOLDABLE.replace(deadline=5.0)]))
    assert (result.status, result.message) == (
        "infeasible",
        "job 'A' must end by 5 s, but it starts at 0 s or later and takes at least 6 s",
    )


def test_a_job_without_room_says_so_of_its_narrowest_shape():
    jobs = [Job("A", 4, 10.0, eligible=["C1"], shapes=[Shape(3, 12.0)])]
    assert coalloc.solve(Instance(TWO, jobs)).message.startswith("job 'A' has 3 tasks, but the constraints allow 2 ")
    assert coalloc.solve(Instance(TWO, jobs), scope="cluster").status == "infeasible"


@pytest.mark.parametrize("method", ["longest-job", "work", "area", "packing", "feasible-set", "best"])
def test_bounds_hold_whatever_shape_is_taken(method):
    # Two such jobs bring 18 processor seconds each at the least (one task), so 9 s; side by side they take 10 s.
    twice = Instance(ONE, [MOLDABLE, MOLDABLE.replace(id="B")])
    least = {"longest-job": 6.0}.get(method, 9.0)
    assert least - 1e-6 <= coalloc.lower_bound(twice, method=method) <= 10.0


def test_bounds_of_sums_hold_whatever_shape_is_taken():
    instance = Instance(ONE, [MOLDABLE, MOLDABLE.replace(id="B")])
    # One after the other, wide: 6 + 12; side by side: 20.
    best = coalloc.solve(instance, objective="total-response-time", slot=2.0)
    assert best.objective == 18.0
    for method in ("longest-job", "prices"):
        assert 12.0 <= coalloc.lower_bound(instance, "total-response-time", method) <= 18.0


def test_packing_takes_the_shape_that_weighs_least():
    problem = discretise(Instance(ONE, [MOLDABLE]), None)
    assert least_works(problem) == [18.0]
    # Three tasks of four weigh 1 to the function for halves, so does the shape of three; that of two weighs a half.
    wide = Job("B", 3, 10.0, shapes=[Shape(2, 16.0)])
    assert packing(discretise(Instance(ONE, [wide, wide.replace(id="C")]), None)) == pytest.approx(16.0)


def test_sets_are_listed_in_whatever_shape_fits():
    # With scope cluster: A in one task on C1, beside B on C2. Three tasks of A on C2 would leave B no room.
    groups = ([NodeGroup(1, power=1.0)], [NodeGroup(3, power=1.0)])
    platform = Platform([Cluster(f"C{c + 1}", nodes, link_bandwidth=10.0) for c, nodes in enumerate(groups)])
    instance = Instance(platform, [Job("A", 3, 10.0, shapes=[Shape(1, 10.0)]), Job("B", 3, 10.0)])
    assert coalloc.lower_bound(instance, method="feasible-set", scope="cluster") == pytest.approx(10.0)


def test_running_sets_count_the_narrowest_shape():
    # Jobs of 4 or 1 tasks, in equal time: four of them run at once on four processors.
    jobs = [Job(f"J{j}", 4, 10.0, shapes=[Shape(1, 10.0)]) for j in range(4)]
    assert coalloc.solve(Instance(ONE, jobs)).objective == 10.0


def test_pumpkin_takes_of_levels_of_one_duration_what_all_of_them_take():
    # In 10 s one task on the fast node, or two on all: the prefix of the fast node has no part of the second.
    groups = [NodeGroup(1, power=1.0), NodeGroup(1, power=0.5)]
    platform = Platform([Cluster("C1", groups, link_bandwidth=10.0)])
    job = Job("A", 1, 10.0, shapes=[Shape(2, 5.0)])
    problem = discretise(Instance(platform, [job, job.replace(id="B")]), 5.0)
    document = Question(problem, 0, 8).document(time_limit=1.0, seed=0)
    assert document["jobs"][0]["prefixes"] == {"2": {"prefix 1": 1}, "4": {"prefix 1": 1}}


def test_the_solvers_in_processes_agree(monkeypatch):
    # Running until 4 s: one of four processors. A narrow beside the others: 18; any other order ends later.
    running = [RunningJob(Job("R", 1, 9.0), ["C1/0"], 4.0)]
    jobs = [MOLDABLE, *(Job(name, 2, 8.0, shapes=[Shape(3, 6.0)]) for name in "BCD")]
    instance = Instance(ONE, jobs, running)
    with_cpsat = coalloc.solve(instance, slot=1.0).objective
    monkeypatch.setattr(cpsat, "is_installed", lambda: False)
    assert coalloc.solve(instance, slot=1.0).objective == with_cpsat
    assert coalloc.solve(instance, slot=1.0, formulation="count").objective == with_cpsat


def test_a_schedule_with_shapes_is_a_start():
    instance = Instance(ONE, [MOLDABLE, Job("B", 2, 10.0)])
    first = coalloc.solve(instance, slot=2.0).schedule
    again = coalloc.solve(instance, slot=2.0, start=first, formulation="mode")
    assert again.trace[0].source == "warm start"
    assert again.objective == 10.0


def test_what_is_said_of_a_schedule_is_said_of_its_shapes():
    instance = Instance(ONE, [MOLDABLE])
    schedule = coalloc.solve(instance).schedule
    # Four processors for 6 s; of its own shape there would be two.
    assert coalloc.metrics(instance, schedule)["utilization"] == pytest.approx(1.0)
    assert coalloc.metrics(instance, schedule)["bounded_slowdown_mean"] == 1.0
    assert [p.shape for p in coalloc.replay(instance, schedule, starts="left")] == [1]
    assert [reason.kind for reason in coalloc.explain(instance, schedule).of("wait")] == []


def test_shapes_that_take_equally_long_do_not_contradict_each_other():
    # Seen on this instance: CP-SAT called optional intervals of equal length infeasible. Best are 9 slots of 12.5 s.
    size = SmallSize(max_jobs=3, max_slots=12, max_processors=6)
    instance, slot = small_feature_instance(39, size, ("shapes", "times", "unavailable", "after", "deadline"))
    assert brute_force_oas(instance, slot).objective == 112.5
    assert coalloc.solve(instance, slot=slot).objective == 112.5
