"""Run times by feature of nodes in simulations: paces, estimates and choices of nodes, each derived by hand."""

from __future__ import annotations

import pytest

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Placement, Platform, Schedule
from coalloc.extend import Start
from coalloc.heuristics.registry import POLICIES

LINKED = Platform(
    [
        Cluster("C1", [NodeGroup(2, power=1.0, availability=0.25, features=["a"])], link_bandwidth=5.0),
        Cluster("C2", [NodeGroup(2, power=1.0)], link_bandwidth=5.0),
    ]
)
"""A job of base time 100 s, sigma 0.5, that takes 60 s with an "a", one task in each cluster: 60 (2 + 0.5 SC) in C1 and
100 (0.5 + 0.5 SC) in C2, the slower decides. At 10 MB/s per task SC is 2 alone, 180 s; with another 4, 250 s."""
WATTS = {"idle_watts": 1.0, "static_watts": 2.0, "core_watts": 1.0}
TWO = Platform(
    [
        Cluster("C1", [NodeGroup(1, power=2.0, **WATTS)], link_bandwidth=10.0),
        Cluster("C2", [NodeGroup(1, power=1.0, **WATTS, features=["gpu"])], link_bandwidth=10.0),
    ]
)


def crossing(name, arrival):
    return Job(name, 2, 100.0, 0.5, task_bandwidth=10.0, arrival=arrival, times={"a": 60.0})


class Across:
    """Starts each job with one task in each cluster."""

    scope = "platform"

    def decide(self, state):
        return [Start(job.id, counts=(1, 1)) for job in state.queue]


def test_which_kind_of_node_is_slowest_depends_on_the_links():
    # A is half done when B arrives at 90 s. Its other half takes 125 s: 215 s. B is half done then: 90 s more.
    instance = Instance(LINKED, [crossing("A", 0.0), crossing("B", 90.0)])
    run = coalloc.simulate(instance, Across())
    assert [p.end for p in run.schedule] == pytest.approx([215.0, 305.0])
    assert coalloc.check(instance, run.schedule, links="shared") == []
    late = run.schedule.replace(placements=[p.replace(end=p.end + 0.1) for p in run.schedule])
    assert {v.rule for v in coalloc.check(instance, late, links="shared")} == {"duration"}


def test_replay_keeps_starts_and_gives_the_ends_that_links_cause():
    instance = Instance(LINKED, [crossing("A", 0.0), crossing("B", 90.0)])
    nodes = ["C1/0", "C2/0"], ["C1/1", "C2/1"]
    given = Schedule([Placement("A", 0.0, 1.0, nodes[0]), Placement("B", 90.0, 91.0, nodes[1])])
    assert [p.end for p in coalloc.replay(instance, given)] == pytest.approx([215.0, 305.0])


def test_replay_moves_left_by_the_times_that_jobs_name():
    # On C2/0 A takes 20 s, and B, which names no time for a GPU, 10 s after it.
    jobs = [Job("A", 1, 100.0, times={"gpu": 20.0}), Job("B", 1, 10.0)]
    given = Schedule([Placement("A", 5.0, 25.0, ["C2/0"]), Placement("B", 50.0, 60.0, ["C2/0"])])
    left = coalloc.replay(Instance(TWO, jobs), given, starts="left")
    assert [(p.start, p.end) for p in left] == [(0.0, 20.0), (20.0, 30.0)]


@pytest.mark.parametrize("name", [name for name in POLICIES if name not in ("node-list", "loras", "grid")])
def test_a_job_goes_where_its_own_time_is_least(name):
    # C1/0 is twice as fast for others, but A takes 10 s with a GPU and 50 s without. B takes 50 s or 100 s.
    jobs = [Job("A", 1, 100.0, times={"gpu": 10.0}), Job("B", 1, 100.0, arrival=1.0)]
    run = coalloc.simulate(Instance(TWO, jobs), name)
    assert [(list(p.nodes), p.end) for p in run.schedule] == [(["C2/0"], 10.0), (["C1/0"], 51.0)]


class Noting(Across):
    """Starts jobs on any node, and notes the estimated ends."""

    def decide(self, state):
        self.times = [dict(job.times) for job in state.queue]
        yield from (Start(job.id, nodes=("C2/0",)) for job in state.queue if state.free[1])

    def ended(self, _, running):
        self.estimated_end = running.estimated_end


def test_an_estimate_is_off_by_the_same_factor_on_all_nodes():
    # The user says 150 s where it is 100 s: half as much again. With a GPU that is 30 s instead of 20 s.
    policy = Noting()
    run = coalloc.simulate(Instance(TWO, [Job("A", 1, 100.0, estimate=150.0, times={"gpu": 20.0})]), policy)
    assert (policy.times, policy.estimated_end) == ([{"gpu": 30.0}], 30.0)
    assert run.schedule["A"].end == 20.0


def test_a_job_is_killed_at_the_limit_that_its_estimate_sets_on_its_nodes():
    instance = Instance(TWO, [Job("A", 1, 100.0, estimate=50.0, times={"gpu": 20.0})])
    run = coalloc.simulate(instance, "easy", kill=True)
    assert run.schedule["A"] == Placement("A", 0.0, 10.0, ["C2/0"], "killed")


def test_easy_plans_with_the_times_that_jobs_name():
    # A holds C2/0 to 40 s. B needs both nodes: its reservation is at 40 s. C takes 40 s on C1/0 and passes it, D 41 s.
    jobs = [
        Job("A", 1, 999.0, times={"gpu": 40.0}),
        Job("B", 2, 10.0, arrival=1.0),
        Job("D", 1, 80.0, arrival=1.0),
        Job("C", 1, 78.0, arrival=1.0),
    ]
    run = coalloc.simulate(Instance(TWO, jobs), "easy")
    assert {p.job: p.start for p in run.schedule} == {"A": 0.0, "B": 40.0, "C": 1.0, "D": 50.0}


def test_packages_with_named_times_count_as_unproven():
    timed, plain = Job("A", 1, 100.0, times={"gpu": 10.0}), Job("A", 1, 100.0)
    counts = [coalloc.simulate(Instance(TWO, [job]), "pas").metrics["decisions_unproven"] for job in (timed, plain)]
    assert counts == [1, 0]


def test_shared_nodes_have_one_speed():
    shared = TWO.replace(clusters=[c.replace(nodes=[c.nodes[0].replace(multiprogramming=2)]) for c in TWO.clusters])
    instance = Instance(shared, [Job("A", 1, 100.0, times={"gpu": 10.0})])
    with pytest.raises(CoallocError, match=r"^simulate with time-shared nodes does not support 'times'"):
        coalloc.simulate(instance, "loras")
    with pytest.raises(CoallocError, match=r"^check with time-shared nodes does not support 'times'"):
        coalloc.check(instance, Schedule([]))
