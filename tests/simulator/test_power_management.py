"""Sites that the engine switches on and off: starts that wait, cores that are taken first, and joules per second."""

from __future__ import annotations

import numpy as np
import pytest

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform, PowerStates, RunningJob
from coalloc.heuristics.grid import SCHEDULERS
from coalloc.heuristics.registry import policy_named
from coalloc.rules.brokering import STRATEGIES
from coalloc.simulator.clock import Passes
from coalloc.simulator.engine import Engine
from coalloc.simulator.simulation import schedule_of_run
from coalloc.simulator.site import Partition
from tests.per_second import joules
from tests.power.test_sites import SITE
from tests.simulator.test_site import ByTable


def managed(instance, homes, local="fcfs", passes: Passes = "batch"):
    """Return the schedule of a run with a site per cluster, to which jobs go by a table of their ids."""
    parts = [
        Partition(policy_named(local, {}), (cluster.name,), cluster.name, power_management=True)
        for cluster in instance.platform.clusters
    ]
    schedule = schedule_of_run(instance, Engine(instance, parts, router=ByTable(homes), passes=passes).run())
    assert coalloc.check(instance, schedule, scope="cluster", power_management=True) == []
    return schedule


def starts(jobs, running=(), **options):
    instance = Instance(Platform([SITE]), jobs, running)
    return {p.job: (p.start, p.nodes) for p in managed(instance, {job.id: "S" for job in jobs}, **options)}


@pytest.mark.parametrize("passes", ["batch", "per-event"])
def test_jobs_wait_for_the_start_up_and_then_start_in_order(passes):
    # A comes at 3, the site is up at 23. B came at 10, C comes at 23: both start then. D comes when the site, whose
    # last job ends at 33, goes off at 48, and E while it starts up again.
    jobs = [
        Job("A", 2, 10.0, arrival=3.0),
        Job("B", 1, 5.0, arrival=10.0),
        Job("C", 1, 5.0, arrival=23.0),
        Job("D", 1, 5.0, arrival=48.0),
        Job("E", 7, 5.0, arrival=60.0),
    ]
    found = starts(jobs, passes=passes)
    assert {id: start for id, (start, _) in found.items()} == {"A": 23.0, "B": 23.0, "C": 23.0, "D": 68.0, "E": 73.0}


def test_in_the_second_grace_period_jobs_start_at_once():
    found = starts([Job("A", 1, 10.0), Job("B", 1, 10.0, arrival=44.0)])
    assert (found["A"][0], found["B"][0]) == (20.0, 44.0)


def test_cores_that_are_on_are_taken_first():
    # A holds core 0 and B core 1 from 20 to 30 and 40. At 34 core 0 is on still: C takes 0 and, of those that are off,
    # 2. At 46 core 1 is off (45), 0 and 2 on (to 49): D takes 0, 2 and then the lowest that is off, 1.
    jobs = [
        Job("A", 1, 10.0),
        Job("B", 1, 20.0),
        Job("C", 2, 10.0, arrival=34.0),
        Job("D", 3, 10.0, arrival=46.0),
    ]
    found = starts(jobs)
    assert found["C"] == (34.0, ("S/0", "S/2"))
    assert found["D"] == (46.0, ("S/0", "S/1", "S/2"))
    # With its grace over, core 0 is no better than another; core 1 is on still.
    found = starts([*jobs[:2], Job("C", 1, 10.0, arrival=42.0)])
    assert found["C"] == (42.0, ("S/1",))


def test_jobs_that_run_already_keep_a_site_on():
    running = [RunningJob(Job("R", 1, 9.0), ["S/0"], end=4.0)]
    assert starts([Job("A", 7, 10.0, arrival=2.0)], running)["A"][0] == 4.0
    assert starts([Job("A", 7, 10.0, arrival=18.0)], running)["A"][0] == 18.0
    assert starts([Job("A", 7, 10.0, arrival=19.0)], running)["A"][0] == 39.0


def test_a_site_of_several_clusters_or_without_power_states_is_refused():
    two = Platform([SITE, SITE.replace(name="T")])
    with pytest.raises(CoallocError, match="site 'both' has 2 clusters; power management requires one"):
        Engine(Instance(two, []), [Partition(policy_named("easy", {}), (), "both", power_management=True)])
    plain = Platform([Cluster("C", [NodeGroup(1, 1.0)], 0.0)])
    with pytest.raises(CoallocError, match="cluster 'C' has no power_states"):
        Engine(Instance(plain, []), [Partition(policy_named("easy", {}), power_management=True)])


def random_site(rng, name):
    """Return a site whose times are whole seconds; jobs of even base times last whole seconds on it."""
    chassis, boards, cores = rng.integers(1, 4, 3).tolist()
    watts = rng.uniform(0.0, 100.0, 6).tolist()
    times = rng.choice([0.0, 1.0, 5.0, 10.0, 20.0], 3).tolist()
    states = PowerStates(chassis, boards, cores, *watts[:5], *times, watts[5] if rng.random() < 0.5 else None)
    size = int(rng.integers(1, chassis * boards * cores + 1))
    nodes = [NodeGroup(size, float(rng.choice([0.5, 1.0, 2.0])))]
    return Cluster(name, nodes, 0.0, efficiency=float(rng.uniform(0.5, 2.0)), power_states=states)


def test_the_energy_of_100_random_runs_is_that_of_every_second():
    # Sums of up to some thousand watts: both round differently by less than 1e-9.
    restarts = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        sites = [random_site(rng, name) for name in "STU"[: rng.integers(1, 4)]]
        largest = max(site.num_processors for site in sites)
        arrivals = np.cumsum(rng.choice([0, 0, 1, 5, 15, 60], rng.integers(1, 15))).tolist()
        jobs = []
        for number, arrival in enumerate(arrivals):
            seconds = 2.0 * int(rng.integers(1, 30))
            estimate = seconds * int(rng.integers(1, 4))
            jobs.append(
                Job(f"J{number}", int(rng.integers(1, largest + 1)), seconds, arrival=arrival, estimate=estimate)
            )
        instance = Instance(Platform(sites), jobs)
        chosen = {"strategy": list(STRATEGIES)[seed % len(STRATEGIES)], "local": list(SCHEDULERS)[seed % 3]}
        run = coalloc.simulate(
            instance, "grid", **chosen, power_management=True, passes=("batch", "per-event")[seed % 2]
        )
        working = ("total", "extra")[seed // 2 % 2]
        metered = coalloc.energy(instance, run.schedule, power_management=True, working=working)
        assert metered.total == pytest.approx(joules(instance, run.schedule, working), rel=1e-9), seed
        homes = {placement.nodes[0][0] for placement in run.schedule}
        restarts += sum(metered.startups.values()) - len(homes)
    assert restarts > 50  # sites went off and on again


def test_the_series_of_a_run_has_the_power_that_it_had():
    instance = Instance(Platform([SITE]), [Job("A", 2, 10.0), Job("B", 1, 10.0, arrival=99.0)])
    for power_management in (False, True):
        run = coalloc.simulate(instance, "grid", power_management=power_management)
        series = run.series()
        area = (series["power"] * (series["end"] - series["start"])).sum()
        metered = coalloc.energy(instance, run.schedule, power_management=power_management)
        assert area == pytest.approx(metered.total, rel=1e-12)
        assert metered.makespan == (129.0 if power_management else 109.0)
