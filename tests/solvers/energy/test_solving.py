"""Least energy and EDP: against brute force, against every policy, and what they refuse."""

from __future__ import annotations

import itertools

import numpy as np
import pyomo.environ as pyo
import pytest
from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform
from coalloc.instance import RunningJob
from coalloc.models import energy_blocks
from coalloc.problem import discretise_for_energy
from coalloc.solvers.backends.highs import SolverLimits, solve_model
from coalloc.solvers.energy import run
from coalloc.solvers.solve_state import SolveState
from coalloc.testing.brute_force_energy import brute_force_energy
from coalloc.testing.features import with_features
from coalloc.testing.small import small_metered_instance, with_memory
from tests.shared import shared

COMPARATIVES = ("energy_1", "energy_2", "energy_3", "edp_2", "edp_3")
POLICIES = [
    ("pcbe", {"criterion": criterion, "job_order": jobs, "node_order": nodes})
    for criterion in ("energy", "edp")
    for jobs in ("low-first", "high-first")
    for nodes in ("low-first", "high-first")
] + [
    ("node-list", {"job_order": jobs, "node_order": nodes})
    for jobs, nodes in (
        ("first", "first"),
        ("shortest", "first"),
        ("shortest", "high-flops"),
        ("shortest", "low-power"),
    )
]


def random_instance(seed: int, cores: int = 2, clusters: int = 1, jobs: int = 3) -> Instance:
    """Return a tiny instance whose nodes differ in speed and watts, two of them equal now and then."""
    rng = np.random.default_rng(seed)
    groups = [
        NodeGroup(
            int(rng.integers(1, 3)) if cores > 1 else 2,
            power=float(rng.choice([0.5, 1.0, 2.0])),
            cores=cores,
            idle_watts=float(rng.choice([0.0, 1.0])),
            static_watts=float(rng.choice([1.0, 4.0])),
            core_watts=float(rng.choice([1.0, 5.0])),
        )
        for _ in range(clusters if clusters > 1 else 2 if seed % 2 else 1)
    ]
    if clusters == 1:
        parts = [Cluster("C1", groups, 10.0)]
    else:
        parts = [Cluster(f"C{n}", [group], 10.0) for n, group in enumerate(groups, start=1)]
    return Instance(
        Platform(parts),
        [
            Job(
                f"J{n}",
                int(rng.integers(1, cores + 1)) if clusters == 1 else int(rng.integers(1, 4)),
                float(rng.choice([3.0, 4.0, 10.0 / 3.0, 7.0])),
                arrival=float(rng.choice([0.0, 1.0, 5.5])),
                processing_share=0.8,
                task_bandwidth=float(rng.choice([0.0, 8.0])) if clusters > 1 else 0.0,
            )
            for n in range(1, jobs + 1)
        ],
        name=f"seed {seed}",
    )


def assert_equal(instance, objective="energy", **options):
    found = coalloc.solve(instance, objective=objective, **options)
    slot, scope = options.get("slot"), options.get("scope", "platform")
    expected = brute_force_energy(instance, slot, objective, scope, options.get("makespan_limit"))
    if not expected.feasible:
        assert (found.status, found.schedule) == ("infeasible", None)
        return
    metered = coalloc.energy(instance, found.schedule)
    assert found.status == "optimal"
    assert found.objective == pytest.approx(expected.objective, rel=2e-6)
    assert found.objective == pytest.approx(metered.total if objective == "energy" else metered.edp, rel=1e-12)
    assert coalloc.check(instance, found.schedule, scope=scope) == []
    assert metered.makespan <= options.get("makespan_limit", np.inf) + 1e-9


@pytest.mark.parametrize("seed", [4, 6, 7])
@pytest.mark.parametrize("limit", [None, 9.0])
def test_jobs_within_nodes_in_slots(seed, limit):
    assert_equal(random_instance(seed), slot=2.0, scope="node", makespan_limit=limit or 1e3)


@pytest.mark.parametrize(("seed", "limit"), [*enumerate((1e3, 1e3, 9.0, 9.0) * 2)])
def test_jobs_within_nodes_in_continuous_time(seed, limit):
    assert_equal(random_instance(seed), scope="node", makespan_limit=limit)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("cores", "scope"), [(1, "platform"), (1, "cluster"), (2, "platform"), (2, "cluster")])
def test_jobs_over_several_nodes_in_slots(seed, cores, scope):
    assert_equal(random_instance(seed, cores, clusters=2, jobs=2), slot=2.5, scope=scope)


@pytest.mark.parametrize(("seed", "cores", "clusters", "scope"), [(1, 1, 2, "platform"), (5, 2, 1, "cluster")])
@pytest.mark.parametrize("objective", ["energy", "edp"])
def test_jobs_over_several_nodes_in_continuous_time(seed, cores, clusters, scope, objective):
    # There is no model: a schedule and a bound are found. 1,000 lists are far more than three jobs on these nodes have.
    instance = random_instance(seed, cores, clusters)
    found = coalloc.solve(instance, objective=objective, scope=scope, work_limit=1000)
    expected = brute_force_energy(instance, None, objective, scope)
    assert found.objective == pytest.approx(expected.objective, rel=1e-9)
    assert 0.0 < found.lower_bound <= expected.objective * (1.0 + 1e-9)
    assert (found.status, found.stopped_by) in {("optimal", "proof"), ("feasible", "work")}
    assert coalloc.check(instance, found.schedule, scope=scope) == []


def beside(instance: Instance, seed: int) -> Instance:
    """Return an instance with jobs that run already, on one to three processors, one for very long now and then."""
    rng = np.random.default_rng(seed)
    names = [str(name) for name in rng.permutation(instance.platform.processor_names)[: int(rng.integers(1, 4))]]
    ends = rng.choice([0.5, 3.0, 4.25, 9.0, 30.0], len(names))
    runs = [
        RunningJob(Job(f"R{n}", 1, 50.0), (name,), float(end))
        for n, (name, end) in enumerate(zip(names, ends, strict=True))
    ]
    return instance.replace(running=runs)


@pytest.mark.parametrize(("seed", "limit"), [*enumerate((9.0, 9.0, 1e3, 1e3) * 2)])
def test_jobs_within_nodes_beside_running_ones(seed, limit):
    assert_equal(beside(random_instance(seed), seed), scope="node", makespan_limit=limit)


@pytest.mark.parametrize(("seed", "cores", "scope"), [(0, 1, "platform"), (3, 1, "cluster"), (1, 2, "platform")])
def test_jobs_over_several_nodes_beside_running_ones(seed, cores, scope):
    assert_equal(beside(random_instance(seed, cores, clusters=2, jobs=2), seed), slot=2.5, scope=scope)


@pytest.mark.parametrize("seed", [4, 6, 7])
def test_jobs_within_nodes_beside_running_ones_in_slots(seed):
    assert_equal(beside(random_instance(seed), seed), slot=2.0, scope="node")


@pytest.mark.parametrize(("seed", "slot"), [(1, None), (5, 2.0), (6, 2.0), (9, None)])
def test_jobs_within_nodes_share_memory_with_running_ones(seed, slot):
    assert_equal(with_memory(beside(random_instance(seed), seed), seed), slot=slot, scope="node")


@pytest.mark.parametrize("seed", [0, 3, 5])
@pytest.mark.parametrize("scope", ["platform", "cluster"])
def test_jobs_over_several_nodes_share_memory(seed, scope):
    assert_equal(with_memory(random_instance(seed, 2, clusters=2, jobs=2), seed), slot=2.5, scope=scope)


@pytest.mark.parametrize("slot", [None, 5.0])
def test_two_jobs_that_memory_keeps_apart_draw_static_watts_for_longer(slot):
    # Both at once: 10 s * 10 W + 2 * 10 J. With 600 of 1000 MB each one after the other: 20 s * 10 W + 20 J.
    instance = one_node([0.0, 0.0])
    node = instance.platform.clusters[0].nodes[0].replace(memory=1000.0)
    platform = Platform([instance.platform.clusters[0].replace(nodes=[node])])
    for memory, joules in ((500.0, 120.0), (600.0, 220.0)):
        jobs = [job.replace(memory=memory) for job in instance.jobs]
        found = coalloc.solve(Instance(platform, jobs), objective="energy", scope="node", slot=slot)
        assert (found.status, found.objective) == ("optimal", pytest.approx(joules))


def times(instance: Instance, factor: float, later: float = 0.0) -> Instance:
    """Return an instance all of whose times are so many times as long, with arrivals later by some seconds."""
    jobs = [
        job.replace(
            base_time=factor * job.base_time, estimate=factor * job.estimate, arrival=factor * job.arrival + later
        )
        for job in instance.jobs
    ]
    return instance.replace(jobs=jobs)


@pytest.mark.parametrize(("factor", "later"), [(1e-3, 0.0), (1e7, 0.0), (1.0, 1e6)])
@pytest.mark.parametrize("slot", [None, 2.0])
def test_the_unit_of_time_does_not_matter(factor, later, slot):
    instance = random_instance(7)
    assert_equal(times(instance, factor, later), scope="node", slot=slot and slot * factor)


@pytest.mark.parametrize("slot", [None, 2.0])
def test_a_limit_that_is_just_kept_is_kept(slot):
    instance = random_instance(7)
    shortest = coalloc.solve(instance, objective="makespan", scope="node", slot=slot)
    assert shortest.status == "optimal"
    assert_equal(instance, scope="node", slot=slot, makespan_limit=shortest.objective)
    assert_equal(instance, scope="node", slot=slot, makespan_limit=shortest.objective * (1.0 - 1e-6))


@pytest.mark.parametrize("seed", range(2))
def test_edp(seed):
    assert_equal(random_instance(seed), "edp", scope="node")
    assert_equal(random_instance(seed), "edp", scope="node", slot=2.0)


def one_node(arrivals, idle_watts: float = 0.0) -> Instance:
    """Return jobs of one task and 10 s on a node of two cores: 10 W as soon as one is busy, and 1 W for each."""
    node = NodeGroup(1, power=1.0, cores=2, idle_watts=idle_watts, static_watts=10.0, core_watts=1.0)
    jobs = [Job(f"J{n}", 1, 10.0, arrival=arrival) for n, arrival in enumerate(arrivals, start=1)]
    return Instance(Platform([Cluster("C1", [node], 0.0)]), jobs)


def test_a_job_waits_to_share_a_node():
    # At once: busy for 16 s, 160 + 20 J. Together from 6 s on: busy for 10 s, 100 + 20 J. Errata 23.
    found = coalloc.solve(one_node([0.0, 6.0]), objective="energy", scope="node")
    assert found.objective == pytest.approx(120.0)
    first, second = (p.start for p in found.schedule)
    assert first == pytest.approx(second)
    assert found.options.scope == "node"


@pytest.mark.parametrize("unit", [2.0**-14, 2.0**30])
@pytest.mark.parametrize(("seed", "slot"), [(4, None), (7, None), (7, 2.0), (11, 2.0)])
def test_tiny_and_huge_seconds_change_nothing(seed, slot, unit):
    # A watt for unit s is unit J. Where rows in seconds met absolute tolerances, schedules of 1e9 s were refused, and
    # what was left was called optimal: 38.6 units of joules instead of 36.8 with seed 7.
    instance = random_instance(seed)
    expected = brute_force_energy(instance, slot, "energy", "node").objective
    jobs = [
        job.replace(base_time=job.base_time * unit, arrival=job.arrival * unit, estimate=job.estimate * unit)
        for job in instance.jobs
    ]
    scaled = instance.replace(jobs=tuple(jobs))
    found = coalloc.solve(scaled, objective="energy", scope="node", slot=slot and slot * unit)
    assert found.status == "optimal"
    assert found.objective / unit == pytest.approx(expected, rel=2e-6)
    assert coalloc.lower_bound(scaled, "energy") / unit == pytest.approx(coalloc.lower_bound(instance, "energy"))


def with_running(instance: Instance, end: float) -> Instance:
    """Return an instance in which a job holds the first core until then."""
    return instance.replace(running=[RunningJob(Job("R", 1, 500.0), ("C1/0.0",), end)])


@pytest.mark.parametrize("slot", [None, 5.0])
def test_a_job_that_outlasts_the_schedule_draws_until_the_schedule_ends(slot):
    # J1 runs on the second core for 10 s: 10 W and 1 W for each core until then, whatever R draws later.
    found = coalloc.solve(with_running(one_node([0.0]), 400.0), objective="energy", scope="node", slot=slot)
    assert (found.status, found.objective) == ("optimal", pytest.approx(120.0))


@pytest.mark.parametrize("slot", [None, 2.0])
def test_a_job_that_arrives_later_ends_the_schedule_later(slot):
    # J1 needs 10 s on the second core and arrives at 6 s, R ends at 12 s: busy from 0 to 16 s, 160 + 12 + 10 J.
    found = coalloc.solve(with_running(one_node([6.0]), 12.0), objective="energy", scope="node", slot=slot)
    assert (found.status, found.objective) == ("optimal", pytest.approx(182.0))


@pytest.mark.parametrize("slot", [None, 5.0])
def test_a_job_runs_beside_one_that_outlasts_the_limit(slot):
    # Both end at 20 s, the limit, where R goes on; the node may have a second block, for J2 arrives after J1 can end.
    instance = with_running(one_node([0.0, 10.0]), 400.0)
    found = coalloc.solve(instance, objective="energy", scope="node", slot=slot, makespan_limit=20.0)
    assert (found.status, found.objective) == ("optimal", pytest.approx(20 * 10.0 + 20.0 + 20.0))


@pytest.mark.parametrize(("scope", "slot"), [("node", None), ("node", 5.0), ("cluster", 5.0)])
def test_the_least_makespan_beside_a_running_job(scope, slot):
    # Two jobs of 10 s share the second core until R ends at 5 s: at 0 and at 5 s.
    instance = with_running(one_node([0.0, 0.0]), 5.0)
    found = coalloc.solve(instance, objective="makespan", scope=scope, slot=slot)
    assert (found.status, found.objective) == ("optimal", pytest.approx(15.0))


def test_counting_cores_over_nodes_would_be_wrong():
    # Two nodes of two cores: jobs of 1, 2 and 1 tasks. At once they share nodes as 1 + 1 and 2: 24 W for 10 s.
    node = NodeGroup(2, power=1.0, cores=2, idle_watts=0.0, static_watts=10.0, core_watts=1.0)
    jobs = [Job(f"J{n}", tasks, 10.0) for n, tasks in enumerate((1, 2, 1), start=1)]
    instance = Instance(Platform([Cluster("C1", [node], 0.0)]), jobs)
    for scope in ("platform", "cluster", "node"):
        found = coalloc.solve(instance, objective="energy", slot=10.0, scope=scope)
        assert found.objective == pytest.approx(240.0)
        assert found.status == "optimal"


@pytest.mark.parametrize("scope", ["platform", "cluster", "node"])
def test_an_end_is_that_of_the_slot_for_joules_and_limit_as_for_the_makespan(scope):
    # One job of 10 s in slots of 4 s: it holds its core until 12 s and draws 11 W until then.
    instance = one_node([0.0])
    found = coalloc.solve(instance, objective="energy", slot=4.0, scope=scope, makespan_limit=12.0)
    assert (found.status, found.objective) == ("optimal", pytest.approx(132.0))
    assert (found.schedule.slot, found.schedule["J1"].end) == (4.0, 12.0)
    assert coalloc.energy(instance, coalloc.replay(instance, found.schedule)).total == pytest.approx(110.0)
    for objective in ("makespan", "energy", "edp"):
        too_tight = coalloc.solve(instance, objective=objective, slot=4.0, scope=scope, makespan_limit=11.9)
        assert (too_tight.status, too_tight.schedule) == ("infeasible", None)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("slot", [None, 2.0])
def test_no_objective_finds_a_shorter_schedule_than_the_makespan_does(seed, slot):
    instance = random_instance(seed)
    shortest = coalloc.solve(instance, objective="makespan", scope="node", slot=slot)
    for objective in ("energy", "edp"):
        found = coalloc.solve(instance, objective=objective, scope="node", slot=slot)
        assert found.schedule.slot == slot
        assert coalloc.energy(instance, found.schedule).makespan >= shortest.lower_bound
    within = coalloc.solve(instance, objective="energy", scope="node", slot=slot, makespan_limit=shortest.objective)
    assert within.status == "optimal"


@pytest.mark.parametrize("name", COMPARATIVES)
def test_no_policy_beats_the_exact_models_on_a_comparative(name):
    folder = shared("data", "pcbe", name)
    instance = coalloc.read_irmasim(folder / "platform.json", folder / "workload.json")
    exact = {o: coalloc.solve(instance, objective=o, scope="node") for o in ("energy", "makespan")}
    assert all(result.status == "optimal" for result in exact.values())
    for policy, options in POLICIES:
        metered = coalloc.energy(instance, coalloc.simulate(instance, policy, **options).schedule)
        assert exact["energy"].lower_bound <= metered.total * (1 + 1e-9), (policy, options)
        assert exact["makespan"].lower_bound <= metered.makespan * (1 + 1e-9), (policy, options)


def test_edp_where_many_makespans_have_the_least_energy():
    # Without idle watts and with one job per core energy is that of the cores alone, 2 W * 10 s each, at any makespan.
    # The model of energy need not find the shortest: the scan must, 12 s for the job that arrives at 2 s.
    node = NodeGroup(1, power=1.0, cores=2, idle_watts=0.0, static_watts=0.0, core_watts=2.0)
    instance = Instance(Platform([Cluster("C1", [node], 0.0)]), [Job("J1", 1, 10.0), Job("J2", 1, 10.0, arrival=2.0)])
    found = coalloc.solve(instance, objective="edp", scope="node", makespan_limit=12.2)
    assert (found.status, found.objective) == ("optimal", pytest.approx(480.0, rel=2e-6))


@pytest.mark.parametrize("slot", [None, 5.0])
def test_more_jobs_than_have_sets_are_proven_by_what_a_node_holds(slot):
    # 15 jobs of 2 tasks and 10 s on two nodes of 2 cores: one node has 8 of them, 80 s, though 75 s would do by area.
    # 20 J and 30 J for the node of each job, 2 * 1 W idle: 15 * 50 + 160 J.
    group = NodeGroup(2, power=1.0, cores=2, idle_watts=1.0, static_watts=4.0, core_watts=1.0)
    instance = Instance(Platform([Cluster("C1", [group], 0.0)]), [Job(f"J{n:02}", 2, 10.0) for n in range(15)])
    found = coalloc.solve(instance, objective="edp", scope="node", slot=slot, time_limit=20.0)
    assert found.status == "optimal"
    assert found.objective == pytest.approx(80.0 * (15 * 50.0 + 160.0))


@pytest.mark.parametrize("name", COMPARATIVES)
def test_no_policy_has_a_lower_edp_on_a_comparative(name):
    folder = shared("data", "pcbe", name)
    instance = coalloc.read_irmasim(folder / "platform.json", folder / "workload.json")
    exact = coalloc.solve(instance, objective="edp", scope="node")
    assert exact.status == "optimal"
    for policy, options in POLICIES:
        metered = coalloc.energy(instance, coalloc.simulate(instance, policy, **options).schedule)
        assert exact.objective <= metered.edp * (1 + 1e-9), (policy, options)


def test_a_comparative_is_proven_in_slots():
    folder = shared("data", "pcbe", "edp_3")
    instance = coalloc.read_irmasim(folder / "platform.json", folder / "workload.json")
    continuous = coalloc.solve(instance, objective="energy", scope="node")
    slotted = coalloc.solve(instance, objective="energy", scope="node", slot=0.5)
    assert (continuous.status, slotted.status) == ("optimal", "optimal")
    assert continuous.lower_bound <= slotted.objective


# ------------------------------------------------------------------------------ starts


def start_at(instance: Instance, *starts: float) -> coalloc.Schedule:
    """Return the jobs of :func:`one_node` on cores of their own."""
    cores = instance.platform.processor_names
    pairs = enumerate(zip(instance.jobs, starts, strict=True))
    return coalloc.Schedule(tuple(coalloc.Placement(job.id, s, s + 10.0, (cores[n],)) for n, (job, s) in pairs))


@pytest.mark.parametrize(("start", "kept"), [(4.0, 4.0), (3.0, 4.0)])
def test_a_start_is_moved_onto_slots_and_kept_where_time_is_up(start, kept):
    # No list schedule waits; the start does, and both jobs share the node from the second slot on.
    instance = one_node([0.0, 4.0])
    found = coalloc.solve(
        instance, objective="energy", slot=4.0, start=start_at(instance, start, 4.0), work_limit=1, time_limit=1e-9
    )
    assert found.schedule["J1"].start == kept
    assert found.message.startswith("the time limit is too short to build the model of at least ")


def test_a_start_that_ends_too_late_is_said():
    instance = one_node([0.0, 4.0])
    found = coalloc.solve(
        instance, objective="energy", scope="node", start=start_at(instance, 5.0, 5.0), makespan_limit=14.5
    )
    assert found.message == "the warm start does not end within makespan_limit=14.5 s"
    assert (found.status, found.objective) == ("optimal", pytest.approx(120.0))


def test_a_start_that_is_no_schedule_is_refused():
    instance = one_node([0.0, 4.0])
    with pytest.raises(CoallocError, match="start must be a valid schedule"):
        coalloc.solve(instance, objective="energy", scope="node", start=start_at(instance, 0.0, 3.0))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"objective": "energy", "formulation": "blocks"}, "must be auto in continuous time"),
        ({"objective": "energy", "slot": 5.0, "formulation": "count"}, "must be auto or mode"),
        ({"model": "pas", "makespan_limit": 9.0}, "require model 'oas'"),
        ({"objective": "energy", "slot": 5.0, "scope": "rack"}, "scope: must be"),
        ({"objective": "energy", "slot": 5.0, "links": "shared"}, "must be 'strict'"),
    ],
)
def test_what_is_refused(options, words):
    with pytest.raises(CoallocError, match=words):
        coalloc.solve(one_node([0.0]), **options)


def test_no_watts_are_an_error_that_names_the_group():
    instance = Instance(Platform([Cluster("C1", [NodeGroup(1, power=1.0)], 0.0)]), [Job("J1", 1, 1.0)])
    with pytest.raises(CoallocError, match="'C1'"):
        coalloc.solve(instance, objective="energy", slot=1.0)


def test_a_limit_that_cannot_be_kept_is_said():
    found = coalloc.solve(one_node([0.0]), objective="energy", scope="node", makespan_limit=9.0)
    assert (found.status, found.schedule) == ("infeasible", None)
    assert "makespan_limit=9" in found.message


def test_a_model_that_presolve_takes_for_solved_has_no_schedule():
    # Brute force finds no schedule. HiGHS 1.15.1 has an optimum after presolve, of which it then says that it violates
    # a row: without presolve it sees that there is none.
    instance, _ = small_metered_instance(115)
    limit = 114.41928139599554
    assert not brute_force_energy(instance, 25.0, "energy", "platform", limit).feasible
    found = coalloc.solve(instance, objective="energy", slot=25.0, makespan_limit=limit)
    assert (found.status, found.schedule) == ("infeasible", None)


# ------------------------------------------------------------------------------ limits that strike


def assert_honest(found: coalloc.SolveResult) -> None:
    """Assert that a limit that struck left a schedule with a bound below it, or said that none is known."""
    assert (found.schedule is None) == (found.status in ("unknown", "infeasible"))
    assert found.schedule is None or found.lower_bound <= found.objective
    assert found.stopped_by == ("proof" if found.status in ("optimal", "infeasible") else "time")


@pytest.mark.parametrize("limit", [None, 100.0])
def test_edp_is_not_infeasible_where_time_runs_out(limit):
    # A bound of minus infinity, nothing is proven, was taken for that of a problem without a schedule.
    found = coalloc.solve(
        coalloc.example("pcbe-8"), objective="edp", scope="node", makespan_limit=limit, time_limit=0.01
    )
    assert_honest(found)
    assert found.status == "feasible"


@pytest.mark.parametrize("objective", ["energy", "edp"])
@pytest.mark.parametrize("slot", [None, 1.0])
@pytest.mark.parametrize(("seed", "makespan_limit"), [(4, None), (7, 10.0)])
def test_the_time_limit_may_strike_at_every_stage(monkeypatch, objective, slot, seed, makespan_limit):
    # The clock is read before every stage: time is up from the first reading on, from the second on, and so on.
    # The least makespan with seed 7 is 9.7 s, 11 s in slots of 1 s.
    instance = random_instance(seed)
    options = {"objective": objective, "scope": "node", "slot": slot, "makespan_limit": makespan_limit}
    readings = 0

    def remaining(search):
        nonlocal readings
        readings += 1
        return 60.0 if readings <= allowed else 0.0

    monkeypatch.setattr(SolveState, "remaining", property(remaining))
    allowed, cut = 0, 0
    while readings >= allowed:
        readings = 0
        found = coalloc.solve(instance, **options)
        cut += readings > allowed
        assert_honest(found)
        allowed += 1
    assert found.status == ("optimal" if slot is None or makespan_limit is None else "infeasible")
    assert cut >= 2


# ------------------------------------------------------------------------------ models that are too large


def many(jobs: int, nodes: int) -> Instance:
    """Return jobs of PCBE's profiles on equal nodes of four cores."""
    drawn = coalloc.generate("pcbe", seed=1, jobs=jobs)
    (cluster,) = drawn.platform.clusters
    return drawn.replace(platform=Platform([cluster.replace(nodes=[cluster.nodes[0].replace(count=nodes)])]))


def test_building_is_counted_in_continuous_time():
    # About 5 s are counted for building: before, it was begun, and went on for 40 s.
    found = coalloc.solve(many(50, 8), objective="energy", scope="node", time_limit=2.0)
    assert_honest(found)
    assert found.timings["build"] == 0.0
    assert found.message.startswith("the time limit is too short to build the model of at least ")
    assert found.lower_bound >= coalloc.lower_bound(many(50, 8), "energy", scope="node") * (1.0 - 1e-9)


@pytest.mark.parametrize("objective", ["energy", "edp"])
@pytest.mark.parametrize(("slot", "where"), [(None, "in continuous time"), (1.0, "slots")])
def test_beyond_the_size_limit_the_best_schedule_and_the_bound_of_the_relaxation_are_left(
    monkeypatch, objective, slot, where
):
    monkeypatch.setattr(run, "MAX_NONZEROS", 100)
    monkeypatch.setattr(run, "has_sets", lambda _: False)  # or they prove it without a model
    instance = random_instance(7)
    found = coalloc.solve(instance, objective=objective, scope="node", slot=slot, time_limit=0.5)
    assert (found.status, found.stopped_by, found.timings["build"]) == ("feasible", "time", 0.0)
    if objective == "energy":
        assert where in found.message
        assert found.message.endswith(
            "the result is the best schedule of the searches with the bound of the relaxations"
        )
    assert coalloc.lower_bound(instance, objective) <= found.lower_bound * (1.0 + 1e-9)
    assert found.lower_bound <= found.objective
    with pytest.raises(CoallocError, match="above the limit of 100; use a"):
        coalloc.build_model(instance, objective="energy", scope="node", slot=slot)


def test_more_allocation_vectors_than_are_enumerated_leave_a_schedule_and_a_bound(monkeypatch):
    # Three jobs of 1 or 2 tasks on 2 nodes of 2 cores have more than 5 of them.
    monkeypatch.setattr(run, "MAX_MODES", 5)
    monkeypatch.setattr(run, "has_sets", lambda _: False)
    found = coalloc.solve(random_instance(7), objective="energy", scope="node", work_limit=100)
    assert (found.status, found.stopped_by) == ("feasible", "work")
    assert "more than 5 allocation vectors" in found.message


def test_nonzeros_of_blocks_are_estimated():
    # Counted in the matrix that the solver gets, of jobs that arrive all at once and of jobs that do not.
    for last_arrival in (0.0, 40.0):
        jobs = coalloc.generate("pcbe", seed=3, jobs=14, last_arrival=last_arrival)
        problem = discretise_for_energy(jobs, None, scope="node")
        model = energy_blocks.build(problem, horizon=problem.horizon_in_turn)
        nonzeros = LinearStandardFormCompiler().write(model, mixed_form=True, set_sense=None).A.nnz
        estimate = energy_blocks.estimate_nonzeros(problem, np.inf)
        assert nonzeros <= estimate <= 3 * nonzeros
        assert nonzeros / 4 < energy_blocks.estimate_nonzeros(problem, nonzeros / 4) <= estimate


@pytest.mark.parametrize("seed", range(6))
def test_forbidden_sets_are_those_of_the_definition(seed):
    # Every set whose jobs ask for more cores, or memory, than a node has, and no part of it does.
    instance = with_memory(random_instance(seed, cores=4, jobs=6), seed)
    problem = discretise_for_energy(instance, None, scope="node")
    for g, node in enumerate(problem.classes):
        here = [j for j, modes in enumerate(problem.modes) if any(c.allocation[g] for c in modes)]

        def exceeds(jobs, node=node):
            tasks = sum(instance.jobs[j].tasks for j in jobs)
            asked = sum(instance.jobs[j].tasks * (instance.jobs[j].memory or 0.0) for j in jobs)
            return tasks > 4 or (node.group.memory is not None and asked > node.group.memory)

        sets = [set(s) for size in range(2, 7) for s in itertools.combinations(here, size) if exceeds(s)]
        minimal = {frozenset(s) for s in sets if not any(exceeds(s - {j}) for j in s)}
        found = [frozenset(items) for items in energy_blocks.forbidden_sets(problem, g)]
        assert len(found) == len(set(found))
        assert set(found) == minimal


# ------------------------------------------------------------------------------ models to extend


def solved(model, **rows) -> tuple[float, coalloc.Schedule]:
    """Return what a model takes, J, with some rows added, and its schedule."""
    for name, row in rows.items():
        model.add_component(name, pyo.Constraint(expr=row))
    solution = solve_model(model, SolverLimits(time=60.0, gap=1e-7), integral=False)
    assert solution.status == "optimal"
    return solution.objective, coalloc.schedule_of_model(model)


def start_of(model, job: int):
    """Return the start of a job in a model of energy, in units of the model."""
    if model.problem.slot is None:
        return model.start[job]
    return pyo.quicksum(t * x for (j, _, t), x in model.x.items() if j == job)


@pytest.mark.parametrize("slot", [None, 5.0])
def test_a_row_that_is_added_forbids_nothing_else(slot):
    # Both jobs share the node for 10 s, 100 + 20 J; one after the other, and be it the first of the list, 200 + 20 J.
    # With idle watts the known schedule, which takes less, would be the horizon.
    instance = one_node([0.0, 0.0], idle_watts=1.0)
    for first, second in ((0, 1), (1, 0)):
        model = coalloc.build_model(instance, objective="energy", scope="node", slot=slot)
        after = start_of(model, second) >= start_of(model, first) + 10.0 / model.unit
        joules, schedule = solved(model, after=after)
        assert joules == pytest.approx(220.0)
        starts = [p.start for p in schedule]
        assert starts[second] == pytest.approx(starts[first] + 10.0, abs=1e-5)


@pytest.mark.parametrize("slot", [None, 5.0])
def test_jobs_that_a_row_keeps_apart_leave_the_node_idle_between(slot):
    # From 0 to 10 s and from 30 to 40 s: 2 * 110 J and nothing between, though no optimal schedule needs two blocks.
    # All jobs in turn end at 20 s: the row needs a longer horizon.
    model = coalloc.build_model(
        one_node([0.0, 0.0]), objective="energy", scope="node", slot=slot, horizon=40.0 / (slot or 1.0)
    )
    joules, schedule = solved(model, apart=start_of(model, 1) >= start_of(model, 0) + 30.0 / model.unit)
    assert joules == pytest.approx(220.0)
    assert coalloc.energy(model.problem.instance, schedule).total == pytest.approx(220.0)


@pytest.mark.parametrize("slot", [None, 5.0])
def test_a_row_may_tell_equal_nodes_apart(slot):
    node = NodeGroup(2, power=1.0, cores=2, idle_watts=0.0, static_watts=10.0, core_watts=1.0)
    instance = Instance(Platform([Cluster("C1", [node], 0.0)]), [Job("J1", 1, 10.0)])
    model = coalloc.build_model(instance, objective="energy", scope="node", slot=slot)
    here = [y for (_, g, *_), y in model.y.items() if g == 1] if slot is None else _on_second_node(model)
    joules, schedule = solved(model, here=pyo.quicksum(here) >= 1)
    assert joules == pytest.approx(110.0)
    assert schedule["J1"].nodes == ("C1/1.0",)


def _on_second_node(model):
    return [x for (j, p, _), x in model.x.items() if model.problem.modes[j][p].allocation[1]]


# ------------------------------------------------------------------------------ words


def test_a_job_may_be_on_some_nodes_alone():
    # 10 s at 1 W on the frugal node, 5 s at 20 W on the fast one, which alone has what the job requires: 100 J, not 10.
    groups = [
        NodeGroup(1, power=1.0, idle_watts=0.0, static_watts=1.0, core_watts=0.0),
        NodeGroup(1, power=2.0, idle_watts=0.0, static_watts=20.0, core_watts=0.0, features=["gpu"]),
    ]
    platform = Platform([Cluster("C1", groups[:1], 10.0), Cluster("C2", groups[1:], 10.0)])
    free = Instance(platform, [Job("J1", 1, 10.0)])
    assert coalloc.solve(free, objective="energy").objective == pytest.approx(10.0)
    for word in ({"requires": ["gpu"]}, {"eligible": ["C2"]}):
        instance = Instance(platform, [Job("J1", 1, 10.0, **word)])
        for slot in (None, 1.0):
            result = coalloc.solve(instance, objective="energy", slot=slot)
            assert (result.status, result.objective) == ("optimal", pytest.approx(100.0))
        assert coalloc.lower_bound(instance, "energy") == pytest.approx(100.0)


@pytest.mark.parametrize("objective", ["energy", "edp"])
@pytest.mark.parametrize("seed", range(4))
def test_where_jobs_may_be_agrees_with_brute_force(seed, objective):
    drawn, slot = small_metered_instance(seed)
    instance = with_features(drawn, np.random.default_rng([seed, 9]), ["eligible", "requires"])
    best = brute_force_energy(instance, slot, objective)
    result = coalloc.solve(instance, objective=objective, slot=slot, time_limit=600.0)
    assert (result.status == "infeasible") == (not best.feasible)
    if best.feasible:
        assert (result.status, result.objective) == ("optimal", pytest.approx(best.objective, rel=1e-5))
        assert coalloc.lower_bound(instance, objective, slot=slot) <= best.objective * (1.0 + 1e-6)
