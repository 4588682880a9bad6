"""How jobs may be spread over clusters: fields and a custom constraint, in methods, policies and the checker."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import coalloc
from coalloc import (
    Cluster,
    CoallocError,
    Instance,
    InstanceError,
    Job,
    NodeGroup,
    Placement,
    Platform,
    Schedule,
    Switch,
)
from coalloc.extend import AllowedNodes, AllowedSpreads, Constraint, Start
from coalloc.instance.spread import Spread
from coalloc.testing import brute_force_oas, small_feature_instance

SPREADING = ("max_clusters", "min_tasks_per_cluster", "slices", "level")
CLOSE = 1e-6


def racks(*sizes: int, rows: str = "") -> Platform:
    """Return clusters of so many equal nodes, R1, R2, ..., each under the switch that its letter names."""
    clusters = [
        Cluster(f"R{n}", [NodeGroup(size, power=1.0)], link_bandwidth=100.0, switch=rows[n - 1] if rows else None)
        for n, size in enumerate(sizes, start=1)
    ]
    return Platform(clusters, [Switch(row, "root", 100.0, level="row") for row in sorted(set(rows))])


def tasks_in(placement: Placement) -> dict[str, int]:
    """Return the tasks of a placement in each cluster that it uses."""
    names = [node.partition("/")[0] for node in placement.nodes]
    return {name: names.count(name) for name in dict.fromkeys(names)}


class Even(Constraint):
    """Each cluster has an even number of the tasks of a job."""

    def declare(self, instance):
        return [AllowedSpreads(job.id, are_even) for job in instance.jobs]


def are_even(tasks):
    return all(count % 2 == 0 for count in tasks)


# ------------------------------------------------------------------------------ spreads


def every(spread: Spread, tasks: int, rooms: tuple[int, ...]) -> set[tuple[int, ...]]:
    """Return every spread of so many tasks that is kept, one vector after the other."""
    grid = np.indices([room + 1 for room in rooms]).reshape(len(rooms), -1).T
    return {tuple(row) for row in grid.tolist() if sum(row) == tasks and spread.keeps(row)}


@pytest.mark.parametrize("allows", [None, lambda tasks: tasks[0] != 2])
def test_found_are_all_spreads_that_are_kept(allows):
    levels = (None, (frozenset({0, 2}), frozenset({1})), (frozenset({1, 3}),))
    for options in itertools.product((None, 1, 2), (1, 2, 3), (None, 1, 2, 3), levels):
        spread = Spread(*options, allows)
        for tasks in range(1, 8):
            kept = every(spread, tasks, (3, 4, 1, 2))
            for order in ([0, 1, 2, 3], [3, 1, 0, 2]):
                found = list(spread.found(tasks, (3, 4, 1, 2), order))
                assert len(found) == len(set(found)), spread
                assert set(found) == kept, spread


def test_the_first_clusters_of_an_order_have_most_tasks():
    # Five tasks on two clusters of three: the second of the order is filled, as far as the rest finds room.
    assert next(Spread(max_clusters=2).found(5, (3, 4, 3), [2, 0, 1])) == (2, 0, 3)
    assert next(Spread(max_clusters=2).found(7, (3, 4, 3), [2, 0, 1])) == (0, 4, 3)
    assert next(Spread(min_tasks=2).found(5, (3, 4, 4), [2, 0, 1])) == (2, 0, 3)


# ------------------------------------------------------------------------------ methods


@pytest.mark.parametrize("formulation", ["auto", "mode", "count", "node"])
@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        # Three racks of 2, and J2 holds one node: four tasks of J1 are free at once, but on three racks.
        ({}, 10.0),
        ({"max_clusters": 2}, 10.0),
        ({"max_clusters": 1}, None),
        ({"min_tasks_per_cluster": 2}, 10.0),
        ({"slices": 2}, 10.0),
        ({"slices": 4}, None),
        # Only R1 and R2 are under one switch: J2 has to be on R3.
        ({"level": {"name": "row"}}, 10.0),
    ],
)
def test_one_job_beside_another(formulation, fields, expected):
    platform = racks(2, 2, 2, rows="AAB")
    other = Job("J2", 1, 10.0)
    try:
        instance = Instance(platform, [Job("J1", 4, 10.0, **fields), other])
    except InstanceError:
        assert expected is None
        return
    result = coalloc.solve(instance, slot=5.0, formulation=formulation)
    assert (result.status, result.objective) == (("infeasible", None) if expected is None else ("optimal", expected))
    if "level" in fields:
        assert tasks_in(result.schedule["J1"]) == {"R1": 2, "R2": 2}


@pytest.mark.parametrize("formulation", ["auto", "mode", "count", "node"])
def test_jobs_that_want_the_same_rack_wait(formulation):
    # 3 + 3 tasks fit on 4 + 2 processors at once, but each job wants one rack of its own, and only R1 has three.
    jobs = [Job(f"J{n}", 3, 10.0, max_clusters=1) for n in (1, 2)]
    assert coalloc.solve(Instance(racks(4, 2), jobs), slot=10.0, formulation=formulation).objective == 20.0
    free = [job.replace(max_clusters=2) for job in jobs]
    assert coalloc.solve(Instance(racks(4, 2), free), slot=10.0, formulation=formulation).objective == 10.0


@pytest.mark.parametrize("formulation", ["auto", "mode", "count", "node"])
def test_a_constraint_allows_spreads(formulation):
    # Two racks of three hold 2 + 2 tasks of J1 and 1 + 1 of J2; even numbers of both do not fit at once.
    instance = Instance(racks(3, 3), [Job("J1", 4, 10.0), Job("J2", 2, 10.0)])
    assert coalloc.solve(instance, slot=10.0, formulation=formulation).objective == 10.0
    result = coalloc.solve(instance, slot=10.0, formulation=formulation, constraints=[Even()])
    assert (result.status, result.objective) == ("optimal", 20.0)
    assert all(count % 2 == 0 for placement in result.schedule for count in tasks_in(placement).values())
    apart = Schedule(
        [Placement("J1", 0.0, 10.0, ["R1/0", "R1/1", "R1/2", "R2/0"]), Placement("J2", 0.0, 10.0, ["R2/1", "R2/2"])]
    )
    (violation,) = coalloc.check(instance, apart, constraints=[Even()])
    assert violation.rule == "constraint"
    assert "job 'J1' has 3, 1 tasks in the clusters, which the constraint excludes" in str(violation)


def test_a_constraint_is_not_asked_of_too_many_allocations():
    instance = Instance(racks(*[9] * 9), [Job(f"J{n}", 40, 10.0) for n in range(3)])
    with pytest.raises(coalloc.UnsupportedFeature, match=r"'AllowedSpreads of Even'.*more than 200,000 allocations"):
        coalloc.solve(instance, constraints=[Even()])


def test_many_allocations_are_spread_without_a_list_of_them():
    # 60 tasks on ten racks of ten: J1 takes six of them in equal slices, and J2 the four that are left.
    jobs = [Job("J1", 60, 10.0, slices=6), Job("J2", 40, 10.0, max_clusters=4), Job("J3", 1, 5.0)]
    result = coalloc.solve(Instance(racks(*[10] * 10), jobs), time_limit=10.0)
    assert (result.status, result.objective) == ("optimal", 15.0)
    assert sorted(tasks_in(result.schedule["J1"]).values()) == [10] * 6


def test_why_a_job_fits_nowhere():
    with_level = Job("J1", 5, 10.0, max_clusters=2, level={"name": "row"})
    result = coalloc.solve(Instance(racks(2, 3, 4, rows="ABA"), [with_level.replace(max_clusters=1)]))
    assert result.status == "infeasible"
    assert result.message == (
        "job 'J1' has 5 tasks, and no clusters have room for them with max_clusters=1 and level 'row'"
    )
    assert coalloc.solve(Instance(racks(2, 3, 4, rows="ABA"), [with_level])).status == "optimal"


def test_a_spread_is_one_of_the_reasons():
    # J4 and J5 hold a node of each rack until 10 s, and J2 wants both of one by then.
    end = {"deadline": 10.0}
    jobs = [
        Job("J2", 2, 10.0, max_clusters=1, **end),
        Job("J4", 1, 10.0, eligible=["R1"], **end),
        Job("J5", 1, 10.0, eligible=["R2"], **end),
    ]
    message = coalloc.solve(Instance(racks(2, 2), jobs)).message
    assert "irreducible" in message
    assert "job 'J2' uses at most 1 cluster" in message


def test_what_does_not_know_spreads_says_so():
    instance = Instance(racks(2, 2), [Job("J1", 2, 10.0, max_clusters=1)])
    apart = Schedule([Placement("J1", 0.0, 10.0, ["R1/0", "R2/0"])])
    with pytest.raises(CoallocError, match=r"^job J1 is spread over clusters as its max_clusters, .* exclude$"):
        coalloc.replay(instance, apart, starts="left")


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("features", [SPREADING[:2], SPREADING[2:], ("slices", "times", "limits")])
def test_the_optimum_is_that_of_brute_force(seed, features):
    instance, slot = small_feature_instance(seed, features=features)
    for grid in (slot, None):
        expected = brute_force_oas(instance, grid)
        result = coalloc.solve(instance, slot=grid, time_limit=30.0)
        assert result.status == ("optimal" if expected.feasible else "infeasible")
        if expected.feasible:
            assert result.objective == pytest.approx(expected.objective, rel=CLOSE)
            assert coalloc.lower_bound(instance, slot=grid) <= expected.objective * (1.0 + CLOSE)


# ------------------------------------------------------------------------------ the checker


def test_a_preferred_level_forbids_nothing():
    instance = Instance(racks(2, 2, rows="AB"), [Job("J1", 4, 10.0, level={"name": "row", "required": False})])
    assert "level" not in instance.features
    assert coalloc.solve(instance).status == "optimal"


# ------------------------------------------------------------------------------ policies


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative", "mesd", "oas", "fpfs"])
def test_policies_keep_to_spreads(policy):
    # J1 to J3 want one rack each, of which only R3 has three processors; J4 has two slices, on R1 and R2.
    jobs = [*(Job(f"J{n}", 3, 10.0, max_clusters=1) for n in (1, 2, 3)), Job("J4", 4, 10.0, slices=2)]
    instance = Instance(racks(2, 2, 3), jobs)
    run = coalloc.simulate(instance, policy)
    assert coalloc.check(instance, run.schedule, links="shared") == []
    assert sorted(run.schedule[f"J{n}"].start for n in (1, 2, 3)) == [0.0, 10.0, 20.0]
    assert tasks_in(run.schedule["J4"]) in ({"R1": 2, "R2": 2}, {"R1": 2, "R3": 2}, {"R2": 2, "R3": 2})


@pytest.mark.parametrize("scope", ["cluster", "node"])
def test_a_scope_leaves_slices_no_clusters(scope):
    instance = Instance(racks(2, 2), [Job("J1", 2, 10.0, slices=2)])
    with pytest.raises(CoallocError, match=r"restricts its tasks in each cluster|largest node has 1 proc"):
        coalloc.simulate(instance, "fcfs", scope=scope)
    assert coalloc.solve(instance, scope=scope).status == "infeasible"


def test_the_engine_refuses_another_spread():
    class Reckless:
        scope = "platform"

        def decide(self, state):
            return [Start("J1", (1, 1))]

    instance = Instance(racks(2, 2), [Job("J1", 2, 10.0, max_clusters=1)])
    with pytest.raises(CoallocError, match=r"gave job 'J1' \(1, 1\) processors in the clusters"):
        coalloc.simulate(instance, Reckless())


@pytest.mark.parametrize("seed", range(40, 60))
def test_simulated_schedules_are_valid(seed):
    instance, _ = small_feature_instance(seed, features=("max_clusters", "slices", "level", "shapes", "unavailable"))
    for policy in ("fcfs", "easy", "conservative", "mesd"):
        try:
            run = coalloc.simulate(instance, policy)
        except CoallocError as error:
            assert "suffices for" in str(error)  # noqa: PT017 - some find no room even on the empty platform
        else:
            assert coalloc.check(instance, run.schedule, links="shared", deadlines="report") == []


# ------------------------------------------------------------------------------ faults


def test_faults_of_fields():
    jobs = [
        Job("J1", 4, 10.0, slices=3),
        Job("J2", 4, 10.0, slices=4, max_clusters=2),
        Job("J3", 4, 10.0, min_tasks_per_cluster=5),
        Job("J4", 4, 10.0, level={"name": "column"}),
    ]
    with pytest.raises(InstanceError) as caught:
        Instance(racks(4, 4, rows="AB"), jobs)
    assert str(caught.value).splitlines() == [
        "jobs[2].min_tasks_per_cluster: must be at most the tasks (4), got 5",
        "jobs[0].slices: must divide the tasks (4), got 3",
        "jobs[0].slices: must be at most 2 (the clusters of the platform), got 3",
        "jobs[1].slices: must be at most 2 (the clusters of the platform), got 4",
        "jobs[1].slices: must be at most max_clusters (2), got 4",
        "jobs[3].level.name: must be the level of a switch of the platform, got 'column'",
    ]


def test_a_level_is_not_within_itself():
    clusters = racks(2, 2).clusters
    switches = [Switch("A", "root", 1.0, level="row"), Switch("B", "A", 1.0), Switch("C", "B", 1.0, level="row")]
    with pytest.raises(InstanceError, match="must differ from the level of switch 'A' above it, got 'row'"):
        Platform([clusters[0].replace(switch="C"), clusters[1].replace(switch="A")], switches)


@pytest.mark.parametrize("formulation", ["auto", "mode", "count", "node"])
def test_a_cluster_that_a_job_may_not_use_adds_no_row(formulation):
    # J1 is on the two nodes of C1, by one constraint, and has all spreads of its tasks, by another: J2 runs beside it.
    platform = Platform([Cluster(name, [NodeGroup(2, power=1.0)], 100.0) for name in ("C1", "C2")])
    instance = Instance(platform, [Job("J1", 2, 10.0), Job("J2", 2, 10.0)])
    declared = [AllowedSpreads("J1", lambda tasks: sum(tasks) == 2), AllowedNodes("J1", (0, 1))]
    result = coalloc.solve(instance, slot=10.0, formulation=formulation, constraints=declared)
    assert (result.status, result.objective) == ("optimal", 10.0)
