"""The broker: assignments, one site as a policy of its own, plans against a reference, laws, bad input."""

from dataclasses import dataclass

import pytest

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform, RunningJob
from coalloc.heuristics.grid import Grid
from coalloc.rules.brokering import STRATEGIES

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


def busy(seed, platform, jobs=60, pace=0.02):
    """Return jobs that come so close together that many wait; some run shorter than estimated, some longer."""
    largest = max(cluster.num_processors for cluster in platform.clusters)
    drawn = coalloc.generate("lublin", seed=seed, jobs=jobs, nodes=max(4, largest), clusters=1).jobs
    factors = (1.0, 2.5, 0.5, 1.0, 4.0)
    crowded = [
        job.replace(
            tasks=min(job.tasks, largest),
            arrival=pace * job.arrival,
            estimate=factors[number % 5] * job.base_time,
            processing_share=1.0,
            task_bandwidth=0.0,
            user=str(number % 3),
        )
        for number, job in enumerate(drawn)
    ]
    return Instance(platform, crowded)


FULL = sites(12, 6, 20, powers=(1.0, 3.0, 1.5), efficiencies=(0.8, 1.6, 1.0), watts=30.0)
"""Three sites of which everything is known that a strategy may ask for."""


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
@pytest.mark.parametrize("strategy", ["MaxAR_v", "MST_veff"])
def test_a_grid_of_one_site_is_its_scheduler(local, passes, strategy):
    for seed in range(2):
        instance = busy(seed, sites(16, powers=(1.5,)), jobs=100, pace=0.1)
        grid = coalloc.simulate(instance, "grid", strategy=strategy, local=local, passes=passes)
        alone = coalloc.simulate(instance, local, passes=passes)
        assert grid.schedule == alone.schedule
        assert alone.metrics["wait_median"] > 0.0


# ------------------------------------------------------------------------------ plans


def reference(state, job, in_order):
    """Return planned start, last planned end and sums of waits at a site, from the definitions."""
    now, capacity = state.now, state.platform.num_processors
    power = state.classes[0].effective_power
    spans = [(run.start, max(now, run.estimated_end), run.job) for run in state.running]
    ahead = now
    for waiting in [*state.queue, job]:
        seconds = waiting.estimate / power
        for start in sorted({now, *(end for _, end, _ in spans)}):
            instants = [start, *(begin for begin, _, _ in spans if start < begin < start + seconds)]
            held = [sum(other.tasks for begin, end, other in spans if begin <= t < end) for t in instants]
            if start >= ahead and max(held) + waiting.tasks <= capacity:
                break
        spans.append((start, start + seconds, waiting))
        ahead = start if in_order else now
    waits = [
        sum((begin - other.arrival) * weight(other) for begin, _, other in spans)
        for weight in (lambda _: 1, lambda j: j.tasks, lambda j: j.estimate, lambda j: j.tasks * j.estimate)
    ]
    return [spans[-1][0], max(end for _, end, _ in spans), *waits]


@pytest.mark.parametrize("local", LOCALS)
@pytest.mark.parametrize("seed", range(3))
def test_plans_are_those_of_the_definition_whatever_has_happened(local, seed):
    compared = []

    @dataclass
    class Compared(Grid):
        def route(self, sites, job):
            for site in sites:
                if job.tasks <= site.largest_job:
                    found = self._plans.prospect(site.number, job, sum(site.state.free))
                    expected = reference(site.state, job, in_order=local == "fcfs")
                    assert [found.start, found.last_end, *found.waits] == pytest.approx(expected, rel=1e-12)
                    compared.append(len(site.state.queue))
            return super().route(sites, job)

    coalloc.simulate(busy(seed, FULL), Compared("MWWT_W", local))
    assert max(compared) > 5
    assert min(compared) == 0


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
    instance = busy(2, FULL)
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
            [f"strategy 'MST_veff' needs the efficiency of every cluster; '{name}' has none" for name in ("A", "B")],
        ),
        (
            {"strategy": "LBal_E"},
            sites(2),
            ["strategy 'LBal_E' needs the watts of a busy core of every cluster; 'C1' has none"],
        ),
        (
            {},
            Platform([Cluster("A", [NodeGroup(1, power=1.0), NodeGroup(2, power=0.5)], link_bandwidth=0.0)]),
            ["policy 'grid' needs nodes of one effective power in each cluster; 'A' has 1, 0.5"],
        ),
        ({}, sites(2, 1), ["job 'J1' has 3 tasks, the largest site has 2 processors"]),
    ],
)
def test_a_fault_is_a_line_before_anything_runs(options, platform, lines):
    instance = Instance(platform, [Job("J1", tasks=3 if platform.num_processors == 3 else 1, base_time=1.0)])
    with pytest.raises(CoallocError) as faults:
        coalloc.simulate(instance, "grid", **options)
    found = str(faults.value).splitlines()
    assert len(found) == len(lines)
    assert all(line.endswith(expected) for line, expected in zip(found, lines, strict=True))
