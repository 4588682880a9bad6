"""The broker: assignments, one site as a policy of its own, plans against a reference, laws, bad input."""

import math
import random
from dataclasses import dataclass

import pytest

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, Lag, NodeGroup, Platform, PowerStates, RunningJob
from coalloc.heuristics.grid import Grid
from coalloc.rules.brokering import STRATEGIES
from tests.heuristics.grid_reference import homes_by_definition, plan

LOCALS = ("easy", "fcfs", "conservative")


def sites(*sizes, powers=(), efficiencies=(), watts=None):
    """Return clusters C1, C2, ... of so many nodes, of power 1 where nothing else is said."""
    powers, efficiencies = powers or (1.0,) * len(sizes), efficiencies or (1.0,) * len(sizes)
    drawn = {} if watts is None else {"idle_watts": 1.0, "static_watts": 2.0, "core_watts": watts}
    return Platform(
        [
            Cluster(f"C{k}", [NodeGroup(size, power=power, **drawn)], link_bandwidth=0.0, efficiency=efficiency)
            for k, (size, power, efficiency) in enumerate(zip(sizes, powers, efficiencies, strict=True), 1)
        ]
    )


def homes(run):
    """Return the cluster of each job by its id."""
    return {placement.job: placement.nodes[0].partition("/")[0] for placement in run.schedule}


def busy(seed, platform, jobs=60, pace=0.02, step=0.0):
    """Return jobs that come so close together that many wait; some run shorter than estimated, some longer.

    With a ``step`` all times are multiples of it, s, so that much happens at one instant.
    """

    def rounded(time):
        return step * round(time / step) if step else time

    largest = max(cluster.num_processors for cluster in platform.clusters)
    drawn = coalloc.generate("lublin", seed=seed, jobs=jobs, nodes=max(4, largest), clusters=1).jobs
    factors = (1.0, 2.5, 0.5, 1.0, 4.0)
    crowded = [
        job.replace(
            tasks=min(job.tasks, largest),
            arrival=rounded(pace * job.arrival),
            base_time=max(step, rounded(job.base_time)),
            estimate=factors[number % 5] * max(step, rounded(job.base_time)),
            processing_share=1.0,
            task_bandwidth=0.0,
            user=str(number % 3),
        )
        for number, job in enumerate(drawn)
    ]
    return Instance(platform, crowded)


FULL = sites(12, 6, 20, powers=(1.0, 3.0, 1.5), efficiencies=(0.8, 1.6, 1.0), watts=30.0)
"""Three sites of which everything is known that a strategy may ask for."""


POWERED = FULL.replace(
    clusters=[
        cluster.replace(
            nodes=[NodeGroup(cluster.num_processors, cluster.nodes[0].power)],
            power_states=PowerStates(2, 5, 2, 50.0, 5.0, 110.0, 17.8, 26.0, 20.0, 5.0, 10.0),
        )
        for cluster in FULL.clusters
    ]
)
"""The same sites with power states: start-ups of 20 s, grace of 5 and 10 s."""


# ------------------------------------------------------------------------------ assignments


def test_of_simultaneous_arrivals_each_sees_those_before_it_and_none_is_moved():
    # Jobs per processor: J1 finds all at 1/2, J2 1, 1/2, 1/2, J3 1, 1, 1/2, J4 again all equal. C1 holds J1 until 50,
    # so J4 waits there, although J2 leaves C2 at 1.
    long, short = {"tasks": 2, "base_time": 50.0}, {"tasks": 2, "base_time": 1.0}
    jobs = [Job("J1", **long), Job("J2", **short), Job("J3", **long), Job("J4", **long)]
    run = coalloc.simulate(Instance(sites(2, 2, 2), jobs), "grid", strategy="MLp")
    assert homes(run) == {"J1": "C1", "J2": "C2", "J3": "C3", "J4": "C1"}
    assert run.schedule["J4"].start == 50.0


def test_a_job_that_ends_when_another_arrives_counts_no_more():
    # J1 is in C1 until 10; at 10 both sites are empty, and the first is chosen.
    jobs = [Job("J1", tasks=1, base_time=10.0), Job("J2", tasks=1, base_time=10.0, arrival=10.0)]
    assert homes(coalloc.simulate(Instance(sites(2, 2), jobs), "grid", strategy="MPL"))["J2"] == "C1"
    later = [jobs[0], jobs[1].replace(arrival=9.0)]
    assert homes(coalloc.simulate(Instance(sites(2, 2), later), "grid", strategy="MPL"))["J2"] == "C2"


def test_jobs_that_run_already_count_at_their_site():
    # Two of C1's four processors are held, none of C2's two: 1/4 with the job against 1/2; without C1's it is 2/4.
    running = RunningJob(Job("R", tasks=2, base_time=90.0), ("C1/0", "C1/1"), 90.0)
    jobs = [Job("J1", tasks=1, base_time=1.0)]
    held = Instance(sites(4, 2), jobs, running=[running])
    assert homes(coalloc.simulate(held, "grid", strategy="MaxAR_v"))["J1"] == "C2"  # 2/4 against 2/2
    assert homes(coalloc.simulate(held, "grid", strategy="MPL"))["J1"] == "C2"  # 3/4 against 1/2
    assert homes(coalloc.simulate(held.replace(running=[]), "grid", strategy="MPL"))["J1"] == "C1"  # 1/4 against 1/2


def test_a_job_runs_for_its_base_time_over_the_speed_of_its_site():
    platform = sites(1, 1, powers=(1.0, 4.0))
    run = coalloc.simulate(Instance(platform, [Job("J1", tasks=1, base_time=100.0)]), "grid", strategy="MaxAR_v")
    assert (homes(run)["J1"], run.schedule["J1"].end) == ("C2", 25.0)


def test_speed_counts_power_times_availability():
    slow = Cluster("slow", [NodeGroup(2, power=8.0, availability=0.25)], link_bandwidth=0.0)
    fast = Cluster("fast", [NodeGroup(2, power=3.0)], link_bandwidth=0.0)
    run = coalloc.simulate(Instance(Platform([slow, fast]), [Job("J1", tasks=1, base_time=1.0)]), "grid")
    assert homes(run) == {"J1": "fast"}


def test_only_sites_that_are_large_enough_get_a_job():
    # C1 is nine times as fast, and has no node with the memory for J2.
    nodes = [NodeGroup(4, power=9.0, memory=100.0), NodeGroup(3, power=1.0, memory=900.0)]
    platform = Platform([Cluster(f"C{k}", [group], link_bandwidth=0.0) for k, group in enumerate(nodes, 1)])
    jobs = [Job("J1", tasks=3, base_time=5.0), Job("J2", tasks=3, base_time=5.0, memory=500.0)]
    for strategy in ("MaxAR_v", "MST_v", "Random"):
        run = coalloc.simulate(Instance(platform, jobs), "grid", strategy=strategy)
        assert homes(run)["J2"] == "C2"
    assert homes(coalloc.simulate(Instance(platform, jobs), "grid"))["J1"] == "C1"


def test_a_job_within_one_site_keeps_its_spread_and_lags():
    # B starts 5 s after the end of A at 10 s.
    spread = {"max_clusters": 1, "min_tasks_per_cluster": 2}
    jobs = [Job("A", 2, 10.0, **spread), Job("B", 3, 10.0, **spread, lags=[Lag("A", min=5.0)])]
    schedule = coalloc.simulate(Instance(sites(3, 3), jobs), "grid").schedule
    assert {placement.job: placement.start for placement in schedule} == {"A": 0.0, "B": 15.0}


def test_the_first_job_planned_to_start_decides_where_it_waits():
    # C1 is free at 30 by J1's estimate, C2 at 20 by J2's: J3 goes to C2, although C1 in fact is free at 5.
    jobs = [
        Job("J1", tasks=2, base_time=5.0, estimate=30.0),
        Job("J2", tasks=2, base_time=20.0),
        Job("J3", tasks=2, base_time=1.0, arrival=1.0),
    ]
    run = coalloc.simulate(Instance(sites(2, 2), jobs), "grid", strategy="MST")
    assert homes(run) == {"J1": "C1", "J2": "C2", "J3": "C2"}
    assert run.schedule["J3"].start == 20.0


# ------------------------------------------------------------------------------ one site


@pytest.mark.parametrize("local", LOCALS)
@pytest.mark.parametrize("passes", ["batch", "per-event"])
def test_a_grid_of_one_site_is_its_scheduler(local, passes):
    for seed in range(2):
        instance = busy(seed, sites(16, powers=(1.5,)), jobs=100, pace=0.1)
        grid = coalloc.simulate(instance, "grid", local=local, passes=passes)
        alone = coalloc.simulate(instance, local, passes=passes)
        assert grid.schedule == alone.schedule
        assert alone.metrics["wait_median"] > 0.0


# ------------------------------------------------------------------------------ plans


def reference(site, job, in_order):
    """Return planned start, last planned end and sums of waits at a site, from the definitions."""
    state = site.state
    since = state.now if site.power is None else site.power.earliest_start(state.now)
    power = state.classes[0].effective_power
    running = [(run.start, max(state.now, run.estimated_end), run.job) for run in state.running]
    queue = [(waiting, waiting.estimate / power) for waiting in [*state.queue, job]]
    spans = [*running, *plan(running, queue, since, state.platform.num_processors, in_order=in_order)]
    waits = [
        sum((begin - other.arrival) * weight(other) for begin, _, other in spans)
        for weight in (lambda _: 1, lambda j: j.tasks, lambda j: j.estimate, lambda j: j.tasks * j.estimate)
    ]
    return [spans[-1][0], max(end for _, end, _ in spans), *waits]


def test_the_sums_that_a_view_has_are_those_of_the_jobs_at_each_site():
    seen = []

    @dataclass
    class Summed(Grid):
        def route(self, sites, job):
            view = self._view(3, sites, job)
            jobs = [[*site.state.queue, *(run.job for run in site.state.running)] for site in sites]
            assert (view.tasks, view.estimate) == (job.tasks, job.estimate)
            assert view.admissible == [number for number, size in enumerate((12, 6, 20)) if size >= job.tasks]
            assert view.free == [sum(site.state.free) for site in sites]
            assert view.num_jobs == [len(held) for held in jobs]
            assert view.assigned_tasks == [sum(k.tasks for k in held) for held in jobs]
            assert view.assigned_estimates == [math.fsum(k.estimate for k in held) for held in jobs]
            assert view.assigned_work == [math.fsum(k.tasks * k.estimate for k in held) for held in jobs]
            seen.append(view.num_jobs[0])
            return super().route(sites, job)

    coalloc.simulate(busy(4, FULL), Summed("MLB_veff"))
    assert max(seen) > 5


@pytest.mark.parametrize("local", LOCALS)
@pytest.mark.parametrize(("seed", "step", "passes"), [(0, 0.0, "batch"), (1, 60.0, "batch"), (2, 60.0, "per-event")])
@pytest.mark.parametrize("power_management", [False, True])
def test_plans_are_those_of_the_definition_whatever_has_happened(local, seed, step, passes, power_management):
    compared, off = [], []
    platform = POWERED if power_management else FULL

    @dataclass
    class Compared(Grid):
        def route(self, sites, job):
            for site in sites:
                if job.tasks <= site.largest_job:
                    found = self._plans.prospect(site.number, job, sum(site.state.free))
                    expected = reference(site, job, in_order=local == "fcfs")
                    assert [found.start, found.last_end, *found.waits] == pytest.approx(expected, rel=1e-12)
                    compared.append(len(site.state.queue))
                    off.append(power_management and site.power.earliest_start(site.state.now) > site.state.now)
            return super().route(sites, job)

    coalloc.simulate(busy(seed, platform, step=step), Compared("MWWT_W", local, power_management), passes=passes)
    assert max(compared) > 5
    assert min(compared) == 0
    assert any(off) == power_management


def beside_one_that_runs(end, jobs):
    """Return where MST sends jobs on two sites of four nodes, of which the second is held until ``end`` (s)."""
    held = RunningJob(Job("R", tasks=4, base_time=end), tuple(f"C2/{node}" for node in range(4)), end)
    return homes(coalloc.simulate(Instance(sites(4, 4), jobs, running=[held]), "grid", strategy="MST"))


def test_a_plan_is_made_again_when_a_job_starts_that_was_planned_for_later():
    # Planned at 0 on C1: J1 0 to 10, J2 10 to 20, J3 20 to 30, J4 30 to 55. EASY starts J4 at 0, which does not delay
    # J2; J3 then is planned from 25 to 35, and J5 at 35, before C2 is free. By the old plan it would be 55.
    jobs = [
        Job("J1", tasks=3, base_time=10.0),
        Job("J2", tasks=3, base_time=10.0),
        Job("J3", tasks=4, base_time=10.0),
        Job("J4", tasks=1, base_time=25.0),
        Job("J5", tasks=4, base_time=1.0, arrival=1.0),
    ]
    assert set(beside_one_that_runs(45.0, jobs).values()) == {"C1"}


def test_a_plan_is_made_again_when_a_planned_start_has_passed():
    # J1 is overdue from 10 on. At 50 it is expected to end now, J2 then is planned from 50 to 60, J3 from 60 to 70: J4
    # starts earlier on C2. By the plan of 2 s, J2 from 10 to 20 and J3 from 20 to 30, it would start on C1 now.
    jobs = [
        Job("J1", tasks=4, base_time=90.0, estimate=10.0),
        Job("J2", tasks=4, base_time=10.0, arrival=1.0),
        Job("J3", tasks=4, base_time=10.0, arrival=2.0),
        Job("J4", tasks=4, base_time=10.0, arrival=50.0),
    ]
    assert beside_one_that_runs(65.0, jobs) == {"J1": "C1", "J2": "C1", "J3": "C1", "J4": "C2"}


# ------------------------------------------------------------------------------ choice of site


def crowded(seed, power_management):
    """Return 24 jobs that mostly wait, on two to four sites, some of which only one site may run.

    All times are whole seconds and all powers are powers of two, so that nothing is rounded.
    """
    rng = random.Random(seed)
    clusters = []
    for number, size in enumerate(rng.sample(range(2, 11), rng.randint(2, 4)), 1):
        watts, startup, grace = rng.choice((26.0, 40.0)), rng.choice((0.0, 4.0, 16.0)), rng.choice((0.0, 3.0, 8.0))
        drawn = {} if power_management else {"idle_watts": 1.0, "static_watts": 2.0, "core_watts": watts}
        states = PowerStates(1, 4, 3, 50.0, 5.0, 110.0, 17.75, watts, startup, 2.0, grace) if power_management else None
        nodes = [NodeGroup(size, rng.choice((1.0, 1.0, 2.0, 4.0)), **drawn)]
        efficiency = rng.choice((0.75, 1.0, 1.5))
        clusters.append(Cluster(f"C{number}", nodes, 0.0, efficiency=efficiency, power_states=states))
    names, jobs, now = [cluster.name for cluster in clusters], [], 0
    for number in range(24):
        now += rng.choice((0, 0, 1, 2, 5))
        eligible = rng.sample(names, rng.choice((len(names), len(names), len(names), 2, 1)))
        largest = max(cluster.num_processors for cluster in clusters if cluster.name in eligible)
        tasks, seconds = min(rng.choice((1, 1, 2, 3, 5, 10)), largest), float(rng.randint(1, 40))
        estimate, share = seconds * rng.choice((0.5, 1.0, 1.0, 1.0, 1.0, 3.0)), rng.choice((1.0, 1.0, 0.5))
        times = {"arrival": float(now), "estimate": estimate, "processing_share": share}
        jobs.append(Job(f"J{number}", tasks, seconds, **times, eligible=sorted(eligible)))
    running = [RunningJob(Job("R", 1, 9.0), ["C2/0"], 9.0)] if rng.random() < 0.5 else []
    return Instance(Platform(clusters), jobs, running)


@pytest.mark.parametrize("strategy", [name for name in STRATEGIES if name != "Random"])
@pytest.mark.parametrize(
    ("seed", "local", "power_management"), [(2, "easy", False), (2, "fcfs", False), (3, "conservative", True)]
)
def test_every_job_goes_where_the_definition_of_the_strategy_sends_it(strategy, seed, local, power_management):
    instance = crowded(seed, power_management)
    run = coalloc.simulate(instance, "grid", strategy=strategy, local=local, power_management=power_management)
    expected = homes_by_definition(run, strategy, in_order=local == "fcfs", power_management=power_management)
    assert homes(run) == expected


# ------------------------------------------------------------------------------ power management


def test_a_plan_knows_that_a_site_is_off():
    # C1 starts up for J1, 0 to 20, and both jobs are planned there at 20; C2 is off, too: tied, the first is chosen. At
    # 25 J3 finds C1 full until 120 and C2 off until 45. At 140 C1 is in its second grace: J4 starts at once, on C1; J5
    # finds C1 full until 150, before C2 could start up.
    states = PowerStates(1, 1, 2, 50.0, 0.0, 110.0, 17.8, 26.0, 20.0, 5.0, 40.0)
    sites = [Cluster(name, [NodeGroup(2, 1.0)], 0.0, power_states=states) for name in ("C1", "C2")]
    jobs = [
        Job("J1", 1, 100.0),
        Job("J2", 1, 100.0, arrival=5.0),
        Job("J3", 1, 10.0, arrival=25.0),
        Job("J4", 2, 10.0, arrival=140.0),
        Job("J5", 2, 10.0, arrival=141.0),
    ]
    run = coalloc.simulate(Instance(Platform(sites), jobs), "grid", strategy="MST", power_management=True)
    assert homes(run) == {"J1": "C1", "J2": "C1", "J3": "C2", "J4": "C1", "J5": "C1"}
    assert [placement.start for placement in run.schedule] == [20.0, 20.0, 45.0, 140.0, 150.0]
    assert run.power_management


def test_processors_that_are_off_are_available_to_a_broker():
    # Nothing runs anywhere and all is off: 1 * v = 1, 3, 1.5.
    run = coalloc.simulate(Instance(POWERED, [Job("J1", 2, 30.0)]), "grid", power_management=True)
    assert (homes(run)["J1"], run.schedule["J1"].start, run.schedule["J1"].end) == ("C2", 20.0, 30.0)


def test_balanced_energy_is_that_of_working_cores():
    # 1560 J on reference nodes: 130 per processor of C1, 1560/3/6 = 87 of C2, 1560/1.5/20 = 52 of C3, the least.
    instance = Instance(POWERED, [Job("J1", 2, 30.0)])
    assert homes(coalloc.simulate(instance, "grid", strategy="LBal_E"))["J1"] == "C3"


def test_without_power_management_the_sites_are_never_off():
    instance = busy(1, POWERED)
    run = coalloc.simulate(instance, "grid", strategy="MCT")
    assert run.schedule == coalloc.simulate(busy(1, FULL), "grid", strategy="MCT").schedule
    assert not run.power_management


# ------------------------------------------------------------------------------ laws


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_neither_the_numbers_of_users_nor_later_jobs_change_an_assignment(strategy):
    instance = busy(7, FULL, jobs=80)
    cut = sorted(job.arrival for job in instance.jobs)[50]
    early = instance.replace(jobs=[job.replace(user=f"u{job.user}") for job in instance.jobs if job.arrival < cut])
    assert 10 < len(early.jobs) < 60
    all_homes = homes(coalloc.simulate(instance, "grid", strategy=strategy, seed=3))
    early_homes = homes(coalloc.simulate(early, "grid", strategy=strategy, seed=3))
    assert early_homes == {job.id: all_homes[job.id] for job in early.jobs}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_run_is_accepted_within_clusters(strategy):
    instance = busy(2, FULL, jobs=30)
    for local in LOCALS:
        run = coalloc.simulate(instance, "grid", strategy=strategy, local=local, kill=True)
        assert coalloc.check(instance, run.schedule, scope="cluster") == []


# ------------------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("options", "platform", "lines"),
    [
        ({"strategy": "maxar_V"}, FULL, ["got 'maxar_V' (did you mean 'MaxAR_v'?)"]),
        ({"local": "eazy"}, FULL, ["must be one of easy, fcfs, conservative, got 'eazy' (did you mean 'easy'?)"]),
        (
            {"strategy": "MST_veff"},
            Platform([Cluster(name, [NodeGroup(1, power=1.0)], link_bandwidth=0.0) for name in ("A", "B")]),
            [f"strategy 'MST_veff' requires the efficiency of every cluster; '{name}' has none" for name in ("A", "B")],
        ),
        (
            {"strategy": "LBal_E"},
            sites(2),
            ["strategy 'LBal_E' requires the watts of a busy core of every cluster; 'C1' has none"],
        ),
        (
            {},
            Platform([Cluster("A", [NodeGroup(1, power=1.0), NodeGroup(2, power=0.5)], link_bandwidth=0.0)]),
            ["policy 'grid' requires nodes of one effective speed in each cluster; 'A' has 1, 0.5"],
        ),
        (
            {"power_management": True},
            sites(2, 2),
            [f"(cluster '{name}') has no power_states: power management requires them" for name in ("C1", "C2")],
        ),
        ({}, sites(2, 1), ["job 'J1' has 3 tasks, but the largest site has 2 processors"]),
    ],
)
def test_a_fault_is_a_line_before_anything_runs(options, platform, lines):
    instance = Instance(platform, [Job("J1", tasks=3 if platform.num_processors == 3 else 1, base_time=1.0)])
    with pytest.raises(CoallocError) as faults:
        coalloc.simulate(instance, "grid", **options)
    found = str(faults.value).splitlines()
    assert len(found) == len(lines)
    assert all(line.endswith(expected) for line, expected in zip(found, lines, strict=True))
