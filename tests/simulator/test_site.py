"""Several sites in one run: each with its clusters, its queue and its policy, and a router in front of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform, RunningJob
from coalloc.extend import Start, Wake
from coalloc.heuristics.registry import policy_named
from coalloc.simulator.engine import Engine, PolicyError
from coalloc.simulator.policy import Policy, State
from coalloc.simulator.processors import indices_of
from coalloc.simulator.simulation import schedule_of_run
from coalloc.simulator.site import Partition, Site
from tests.simulator.listed import Listed


def grid(*sizes: int) -> Platform:
    """Return clusters C1, C2, ... of so many reference nodes."""
    return Platform([Cluster(f"C{k}", [NodeGroup(n, power=1.0)], link_bandwidth=9.0) for k, n in enumerate(sizes, 1)])


@dataclass
class ByTable:
    """A router that sends each job where a table says."""

    table: dict[str, str]

    def route(self, sites: Sequence[Site], job: Job) -> Site:
        return next(site for site in sites if site.name == self.table[job.id])


class MostFree:
    """A router that sends each job to the site with most free processors less those that wait for one, by name."""

    def route(self, sites: Sequence[Site], job: Job) -> Site:
        large = [site for site in sites if site.largest_job >= job.tasks]
        return max(large, key=lambda site: sum(site.state.free) - sum(other.tasks for other in site.state.queue))


def partitions(**policies: str) -> list[Partition]:
    """Return a site per cluster, each with a policy."""
    return [Partition(policy_named(policy, {}), (cluster,), f"S-{cluster}") for cluster, policy in policies.items()]


def test_each_site_has_its_own_queue_policy_and_processors():
    # S-C1 (2 nodes, FCFS): A takes both until 10, B waits for both until then, C waits behind it until 15.
    # S-C2 (3 nodes, EASY): D takes 2 until 10, E needs 3 and is reserved 10, F fits beside D and is done by then.
    jobs = [
        Job("A", tasks=2, base_time=10.0),
        Job("B", tasks=2, base_time=5.0),
        Job("C", tasks=1, base_time=1.0),
        Job("D", tasks=2, base_time=10.0),
        Job("E", tasks=3, base_time=5.0),
        Job("F", tasks=1, base_time=10.0),
    ]
    instance = Instance(grid(2, 3), jobs)
    router = ByTable(dict.fromkeys("ABC", "S-C1") | dict.fromkeys("DEF", "S-C2"))
    run = Engine(instance, partitions(C1="fcfs", C2="easy"), router=router).run()
    assert list(run.starts) == [0.0, 10.0, 15.0, 0.0, 10.0, 0.0]
    schedule = schedule_of_run(instance, run)
    assert [schedule[id].nodes for id in "ADF"] == [("C1/0", "C1/1"), ("C2/0", "C2/1"), ("C2/2",)]
    assert coalloc.check(instance, schedule, scope="cluster") == []


def test_a_pass_is_held_only_where_something_happens():
    quick, slow = Listed({"A": (1,)}), Listed({"B": (1,), "C": (1,)})
    jobs = [Job("A", tasks=1, base_time=1.0), Job("B", tasks=1, base_time=5.0), Job("C", tasks=1, base_time=5.0)]
    sites = [Partition(quick, ("C1",), "Q"), Partition(slow, ("C2",), "S")]
    Engine(Instance(grid(1, 1), jobs), sites, router=ByTable({"A": "Q", "B": "S", "C": "S"})).run()
    assert [seen[0] for seen in quick.seen] == [0.0]
    assert [seen[0] for seen in slow.seen] == [0.0, 5.0]


def test_a_site_of_several_clusters_sees_them_alone():
    # The site has C3 and C1, in this order: its processors 0 and 1 are C3/0 and C3/1, processor 2 is C1/0.
    @dataclass
    class Curious(Listed):
        platforms: list[tuple[str, ...]] = field(default_factory=list)

        def decide(self, state):
            self.platforms.append((*state.platform.processor_names, *state.names(state.free_processors)))
            return super().decide(state)

    policy = Curious({"A": (1, 1), "B": (1, 0)})
    jobs = [Job("A", tasks=2, base_time=4.0), Job("B", tasks=1, base_time=4.0, arrival=1.0)]
    instance = Instance(grid(1, 5, 2), jobs)
    run = Engine(instance, [Partition(policy, ("C3", "C1"))]).run()
    assert policy.platforms == [
        ("C3/0", "C3/1", "C1/0", "C3/0", "C3/1", "C1/0"),
        ("C3/0", "C3/1", "C1/0", "C3/1"),
    ]
    assert [p.nodes for p in schedule_of_run(instance, run)] == [("C1/0", "C3/0"), ("C3/1",)]


def test_the_links_of_all_sites_are_one_network():
    # A in one site puts 2 * 10 * 2/3 = 13.33 MB/s on the links of C1 and C2: SC 1.3333, Te 100 (0.5 + 0.5 * 1.3333).
    # B in the other site stays in C3.
    link = 10.0
    platform = Platform([Cluster(f"C{k}", [NodeGroup(2, power=1.0)], link_bandwidth=link) for k in (1, 2, 3)])
    jobs = [
        Job("A", tasks=4, base_time=100.0, processing_share=0.5, task_bandwidth=10.0),
        Job("B", tasks=2, base_time=100.0, processing_share=0.5, task_bandwidth=10.0),
    ]

    class Looking(Listed):
        def ended(self, state, running):
            self.loads = [link.name for link in state.platform.links], state.link_loads

    sites = [Partition(Looking({"A": (2, 2)}), ("C2", "C1"), "W"), Partition(Looking({"B": (2,)}), ("C3",), "E")]
    run = Engine(Instance(platform, jobs), sites, router=ByTable({"A": "W", "B": "E"})).run()
    assert run.ends == pytest.approx([100 * (0.5 + 0.5 * 4 / 3), 100.0])
    assert [site.policy.loads for site in sites] == [(["C2", "C1"], (0.0, 0.0)), (["C3"], (0.0,))]


def test_running_jobs_are_at_the_site_that_has_their_nodes():
    running = RunningJob(Job("R", tasks=1, base_time=9.0), ("C2/0",), 7.0)
    jobs = [Job("A", tasks=1, base_time=1.0), Job("B", tasks=1, base_time=1.0)]
    router = ByTable({"A": "S-C1", "B": "S-C2"})
    run = Engine(Instance(grid(1, 1), jobs, running=[running]), partitions(C1="fcfs", C2="fcfs"), router=router).run()
    assert list(run.starts) == [0.0, 7.0]


@dataclass
class AsleepUntil:
    """A site that is off until ``wakes``: whoever comes before starts then."""

    wakes: float
    scope: str = "platform"

    def decide(self, state: State) -> list[Start | Wake]:
        if state.now < self.wakes:
            return [Wake(self.wakes)]
        return [Start(job.id, (job.tasks,)) for job in list(state.queue)[: sum(state.free)]]


def test_each_site_wakes_up_by_itself():
    jobs = [Job("A", tasks=1, base_time=1.0), Job("B", tasks=1, base_time=1.0), Job("C", tasks=1, base_time=50.0)]
    sites = [
        Partition(AsleepUntil(30.0), ("C1",), "A"),
        Partition(AsleepUntil(20.0), ("C2",), "B"),
        Partition(Listed({"C": (1,)}), ("C3",), "C"),
    ]
    run = Engine(Instance(grid(1, 1, 1), jobs), sites, router=ByTable({id: id for id in "ABC"})).run()
    assert list(run.starts) == [30.0, 20.0, 0.0]


# ------------------------------------------------------------------------------ a router is a policy's equal


@dataclass
class Broker:
    """The same router and sites as one policy over the whole platform, FCFS at each of three clusters."""

    scope: str = "cluster"
    queues: tuple[list[str], ...] = ([], [], [])
    known: set[str] = field(default_factory=set)

    def begin(self, state: State) -> None:
        self.queues, self.known = ([], [], []), set()

    def arrived(self, state: State, job: Job) -> None:
        jobs = {other.id: other for other in state.queue}
        capacity = [node_class.capacity for node_class in state.classes]
        waiting = [sum(jobs[id].tasks for id in queue) for queue in self.queues]
        large = [g for g in range(3) if capacity[g] >= job.tasks]
        chosen = max(large, key=lambda g: state.free[g] - waiting[g])
        self.queues[chosen].append(job.id)

    def decide(self, state: State) -> list[Start]:
        jobs, free, starts = {job.id: job for job in state.queue}, list(state.free), []
        for g, queue in enumerate(self.queues):
            while queue and jobs[queue[0]].tasks <= free[g]:
                job = jobs[queue.pop(0)]
                free[g] -= job.tasks
                starts.append(Start(job.id, tuple(job.tasks if k == g else 0 for k in range(3))))
        return starts


@pytest.mark.parametrize("seed", range(5))
def test_three_sites_behind_a_router_are_a_broker_that_is_one_policy(seed):
    made = coalloc.generate("lublin", seed=seed, jobs=150, nodes=24, clusters=1)
    instance = Instance(grid(24, 12, 6), made.jobs)
    sites = Engine(instance, partitions(C1="fcfs", C2="fcfs", C3="fcfs"), router=MostFree()).run()
    whole = Engine(instance, [Partition(Broker())]).run()
    assert sites.starts == whole.starts
    assert sites.ends == whole.ends
    assert [list(indices_of(p)) for p in sites.processors] == [list(indices_of(p)) for p in whole.processors]
    assert len(set(sites.starts)) > 100  # jobs did not all wait for one thing


# ------------------------------------------------------------------------------ what is refused


TWO = Instance(grid(2, 3), [Job("A", tasks=3, base_time=1.0)])


@pytest.mark.parametrize(
    ("where", "message"),
    [
        (
            "S-C1",
            "the router sent job 'A' (3 tasks) to site 'S-C1', which has room for 2 tasks (time 0 s: 0 jobs ended",
        ),
        (None, "the router sent job 'A' to an unknown site (time 0 s: 0 jobs ended"),
    ],
)
def test_the_engine_believes_no_router(where, message):
    class Fixed:
        def route(self, sites, job):
            return next((site for site in sites if site.name == where), None)

    with pytest.raises(PolicyError) as refusal:
        Engine(TWO, partitions(C1="fcfs", C2="fcfs"), router=Fixed()).run()
    assert str(refusal.value).startswith(message)
    assert refusal.value.position.waiting == 0


def test_the_fault_of_a_policy_names_its_site():
    sites = [Partition(Listed({}), ("C1",), "W"), Partition(Listed({"A": (9,)}), ("C2",), "E")]
    sites[1].policy.decide = lambda state: [Start("A", (2,))]
    with pytest.raises(
        PolicyError, match=r"^site 'E': the policy gave job 'A' \(2\) processors per class, but it has 3 tasks"
    ):
        Engine(TWO, sites, router=ByTable({"A": "E"})).run()


@pytest.mark.parametrize(
    ("sites", "instance", "message"),
    [
        ([Partition(Listed({}), ("C1", "C9"), "W")], TWO, "site 'W' has unknown cluster 'C9'; available: 'C1', 'C2'"),
        (
            [Partition(Listed({}), ("C1", "C2"), "W"), Partition(Listed({}), ("C2",), "E")],
            TWO,
            "cluster 'C2' must be in one site, got 'W' and 'E'",
        ),
        (
            partitions(C1="fcfs", C2="fcfs"),
            Instance(grid(2, 3), [Job("A", tasks=4, base_time=1.0)]),
            "job 'A' has 4 tasks, but the largest site has 3 processors",
        ),
        (
            partitions(C1="fcfs", C2="fcfs"),
            Instance(grid(1, 1), [], running=[RunningJob(Job("R", tasks=2, base_time=1.0), ("C1/0", "C2/0"), 2.0)]),
            "running job 'R' must be within one site",
        ),
        (partitions(C1="fcfs", C2="fcfs"), Instance(grid(2, 3), []), "a simulation with 2 sites requires a router"),
    ],
)
def test_sites_that_make_no_run_are_refused(sites, instance, message):
    router = None if "router" in message else ByTable({})
    with pytest.raises(CoallocError) as refusal:
        Engine(instance, sites, router=router)
    assert str(refusal.value) == message


# ------------------------------------------------------------------------------ laws


@dataclass
class Watched:
    """A policy that notes when something happens at its site, and when it is asked."""

    policy: Policy
    happened: set[float] = field(default_factory=set)
    asked: set[float] = field(default_factory=set)

    @property
    def scope(self):
        return self.policy.scope

    def arrived(self, state, job):
        self.happened.add(state.now)

    def ended(self, state, running):
        self.happened.add(state.now)

    def decide(self, state):
        self.asked.add(state.now)
        for decision in self.policy.decide(state):
            if isinstance(decision, Wake):
                self.happened.add(decision.time)
            yield decision


@dataclass
class OnePerPass:
    """Starts one job at each pass: it uses every pass there is, and wakes up after a while where one more fits."""

    scope: str = "platform"

    def decide(self, state):
        choose = state.allocator("fewest-clusters").choose
        fitting = [(job, choose(job, state.free)) for job in state.queue if job.tasks <= sum(state.free)]
        if fitting:
            yield Start(fitting[0][0].id, fitting[0][1])
        if len(fitting) > 1:
            yield Wake(state.now + 777.0)


def narrow(seed: int, share: float) -> Instance:
    """Return jobs on three clusters, whose links carry so large a share of what one job alone asks at most."""
    drawn = coalloc.generate("lublin", seed=seed, jobs=25, nodes=12, clusters=3)
    clusters = [c.replace(link_bandwidth=share * c.link_bandwidth) for c in drawn.platform.clusters]
    jobs = [job.replace(arrival=0.1 * job.arrival) for job in drawn.jobs]
    return drawn.replace(platform=Platform(clusters), jobs=jobs)


@given(
    st.integers(0, 10_000),
    st.sampled_from(["one-per-pass", "fcfs", "easy", "easy, wfp3", "conservative", "conservative, spt", "mesd"]),
    st.floats(0.05, 0.5),
    st.sampled_from(["batch", "per-event"]),
)
def test_no_policy_is_asked_and_no_job_starts_when_nothing_happens(seed, name, share, passes):
    instance = narrow(seed, share)
    named, _, order = name.partition(", ")
    options = {"queue_order": order} if order else {}
    policy = Watched(OnePerPass() if name == "one-per-pass" else policy_named(named, options))
    run = Engine(instance, [Partition(policy)], passes=passes).run()
    assert policy.asked <= policy.happened
    assert set(run.starts) <= policy.asked
    assert coalloc.check(instance, schedule_of_run(instance, run), links="shared") == []


@given(st.integers(0, 10_000), st.floats(0.05, 0.5))
def test_sites_are_asked_when_something_happens_there(seed, share):
    # A site of two clusters, the links of which saturate, and a site of one.
    drawn = narrow(seed, share)
    instance = drawn.replace(jobs=[job for job in drawn.jobs if job.tasks <= 8])
    policies = [Watched(policy_named("easy", {})), Watched(OnePerPass())]
    sites = [Partition(policies[0], ("C1", "C3"), "W"), Partition(policies[1], ("C2",), "E")]
    run = Engine(instance, sites, router=MostFree()).run()
    assert all(policy.asked <= policy.happened for policy in policies)
    assert set(run.starts) <= policies[0].asked | policies[1].asked
    assert coalloc.check(instance, schedule_of_run(instance, run), links="shared") == []
