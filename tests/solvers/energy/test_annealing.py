"""Annealing for energy and EDP: against brute force, and what it measures against the meter."""

import pytest

import coalloc
from coalloc.models.energy_costs import costs_of
from coalloc.objectives.metered import metered_objective
from coalloc.problem import discretise_for_energy
from coalloc.rules.serial_sgs import best_list_schedule
from coalloc.schedule import schedule_of
from coalloc.solvers.energy import annealing
from coalloc.testing.brute_force_energy import brute_force_energy
from tests.solvers.energy.test_solving import beside, random_instance


def annealed(instance, name="energy", *, slot=None, scope="node", limit=None, iterations=1500, seed=0):
    """Return the schedules that annealing reports, in order."""
    problem = discretise_for_energy(instance, slot, scope=scope)
    found = []
    annealing.anneal(
        problem,
        costs_of(problem),
        best_list_schedule(problem),
        worth=metered_objective(name).worth,
        makespan_limit=limit,
        iterations=iterations,
        seed=seed,
        on_schedule=lambda assignments: found.append(schedule_of(problem, assignments)),
    )
    return found


@pytest.mark.parametrize("name", ["energy", "edp"])
@pytest.mark.parametrize(("seed", "slot"), [(0, None), (3, None), (5, 2.0), (6, None)])
def test_three_jobs_are_scheduled_best_within_nodes(name, seed, slot):
    # 1,500 lists are far more than three jobs on up to four nodes have; the first job named may be one that arrives
    # late, so that schedules in which jobs wait are among them.
    instance = random_instance(seed)
    best = annealed(instance, name, slot=slot)[-1]
    expected = brute_force_energy(instance, slot, name, "node")
    assert metered_objective(name).of_schedule(instance, best) == pytest.approx(expected.objective, rel=1e-9)


@pytest.mark.parametrize(("seed", "clusters", "scope"), [(1, 2, "platform"), (4, 2, "platform"), (5, 1, "cluster")])
def test_three_jobs_are_scheduled_best_over_nodes_and_links(seed, clusters, scope):
    instance = random_instance(seed, 3 - clusters, clusters)
    best = annealed(instance, scope=scope)[-1]
    expected = brute_force_energy(instance, None, "energy", scope)
    assert coalloc.energy(instance, best).total == pytest.approx(expected.objective, rel=1e-9)
    assert coalloc.check(instance, best, scope=scope) == []


@pytest.mark.parametrize("seed", range(3))
def test_what_lists_take_is_what_the_meter_says(seed):
    instance = beside(random_instance(seed), seed)
    problem = discretise_for_energy(instance, None, scope="node")
    lists = annealing.Lists(problem, costs_of(problem))
    options = [lists.option(a.job, a.mode) for a in best_list_schedule(problem)]
    parts = [lists.measured(tuple(o for o in options if o.part == k)) for k in range(lists.num_parts)]
    metered = coalloc.energy(instance, schedule_of(problem, lists.assignments(parts)))
    assert max(part.end for part in parts) - instance.origin == pytest.approx(metered.makespan)
    assert lists.joules(sum(part.joules for part in parts), metered.makespan) == pytest.approx(metered.total)


def test_schedules_that_are_reported_keep_the_limit_and_get_better():
    instance = coalloc.generate("pcbe", seed=2, jobs=6)
    found = [coalloc.energy(instance, schedule) for schedule in annealed(instance, limit=12.0, iterations=400)]
    assert all(metered.makespan <= 12.0 + 1e-9 for metered in found)
    joules = [metered.total for metered in found]
    assert joules == sorted(joules, reverse=True)
    assert len(joules) > 1


def test_the_same_seed_finds_the_same():
    instance = coalloc.generate("pcbe", seed=2, jobs=6)
    assert annealed(instance, iterations=300, seed=4) == annealed(instance, iterations=300, seed=4)


def test_many_allocation_vectors_are_drawn_from():
    # 12 tasks on 24 nodes of 4 cores: more vectors than are ever enumerated, a few of which are taken.
    instance = coalloc.generate("pcbe", seed=2, jobs=4)
    (cluster,) = instance.platform.clusters
    nodes = [group.replace(count=12) for group in cluster.nodes]
    wide = instance.replace(
        platform=instance.platform.replace(clusters=[cluster.replace(nodes=nodes)]),
        jobs=[job.replace(tasks=12) for job in instance.jobs],
    )
    best = annealed(wide, scope="platform", iterations=200)[-1]
    assert coalloc.check(wide, best) == []
