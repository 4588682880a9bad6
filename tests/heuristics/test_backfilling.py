"""EASY and conservative backfilling by hand, and EASY's promise as a law."""

from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform
from coalloc.heuristics.backfilling import Easy
from coalloc.testing.small import small_instance


def pool(nodes):
    """Return one cluster of reference nodes."""
    return Platform([Cluster("C1", [NodeGroup(nodes, power=1.0)], link_bandwidth=0.0)])


def starts(policy, jobs, nodes=4, **options):
    """Return the start of each job on a pool."""
    run = coalloc.simulate(Instance(pool(nodes), jobs), policy, **options)
    return {placement.job: placement.start for placement in run.schedule}


BLOCKED = [Job("J1", tasks=3, base_time=10.0), Job("J2", tasks=4, base_time=10.0)]
"""J1 leaves one node of four; J2 has to wait for it until 10."""


@pytest.mark.parametrize("policy", ["easy", "conservative"])
@pytest.mark.parametrize(
    ("job", "start"),
    [
        (Job("J3", tasks=1, base_time=10.0), 0),  # ends at 10, when J2 starts
        (Job("J3", tasks=1, base_time=10.5), 20),  # would delay J2 by half a second
        (Job("J3", tasks=2, base_time=1.0), 20),  # needs more than the one free node
    ],
)
def test_a_gap_is_filled_by_what_ends_in_time(policy, job, start):
    assert starts(policy, [*BLOCKED, job]) == {"J1": 0, "J2": 10, "J3": start}


@pytest.mark.parametrize("policy", ["easy", "conservative"])
def test_or_by_what_leaves_the_head_its_nodes(policy):
    # J2 needs three of the four nodes at 10: one is extra, so J3 may take it for 50 s, and J4 does not get another.
    jobs = [
        Job("J1", tasks=3, base_time=10.0),
        Job("J2", tasks=3, base_time=10.0),
        Job("J3", tasks=1, base_time=50.0),
        Job("J4", tasks=1, base_time=50.0),
    ]
    assert starts(policy, jobs) == {"J1": 0, "J2": 10, "J3": 0, "J4": 20}


@pytest.mark.parametrize(
    ("policy", "seconds", "expected"),
    [
        ("fcfs", 100.0, {"A": 0, "B": 100, "C": 150, "D": 150}),
        ("fpfs", 100.0, {"A": 0, "B": 190, "C": 6, "D": 100}),
        ("easy", 100.0, {"A": 0, "B": 100, "C": 150, "D": 7}),
        ("conservative", 60.0, {"A": 0, "B": 97, "C": 147, "D": 7}),
    ],
)
def test_examples_of_definitions(policy, seconds, expected):
    # A is estimated at 100 s. The docstrings of the policies have the steps.
    first = Job("A", 2, seconds, estimate=100.0)
    others = [Job("B", 3, 50.0, arrival=5.0), Job("C", 1, 150.0, arrival=6.0), Job("D", 1, 90.0, arrival=7.0)]
    assert starts(policy, [first, *others], nodes=3) == expected


def test_easy_may_delay_the_second_that_waits_and_conservative_does_not():
    # J1 holds three of four nodes until 10; J2 (3 nodes) is due then, J3 (4 nodes) at 20. J4 (1 node, 25 s) does not
    # delay J2: EASY starts it at 0, and J3 waits for it until 25. Conservative has promised 20 to J3: J4 waits.
    jobs = [
        Job("J1", tasks=3, base_time=10.0),
        Job("J2", tasks=3, base_time=10.0),
        Job("J3", tasks=4, base_time=10.0),
        Job("J4", tasks=1, base_time=25.0),
    ]
    assert starts("easy", jobs) == {"J1": 0, "J2": 10, "J3": 25, "J4": 0}
    assert starts("conservative", jobs) == {"J1": 0, "J2": 10, "J3": 20, "J4": 30}


@pytest.mark.parametrize("policy", ["easy", "conservative"])
def test_an_overdue_job_is_expected_to_end_now(policy):
    # J1 was to end at 5 and ends at 10. At 6 J3 arrives: J2 may start any moment, so J3 (1 node, 3 s) would delay it.
    jobs = [
        Job("J1", tasks=3, base_time=10.0, estimate=5.0),
        Job("J2", tasks=4, base_time=10.0),
        Job("J3", tasks=1, base_time=3.0, arrival=6.0),
    ]
    assert starts(policy, jobs) == {"J1": 0, "J2": 10, "J3": 20}


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        # J1 holds three of four nodes until 10; the others wait from 1 s on. By arrival J2 (4 nodes) is next, at 10; J3
        # (3 nodes, 5 s) and J4 (2 nodes, 4 s) follow at 20, together they do not fit: J4 at 25.
        ("fcfs", {"J2": 10, "J3": 20, "J4": 25}),
        # Fewest tasks first: J4 at 10; J3 does not fit beside it: 14; J2 at 19. Shortest first is the same.
        ("sjf", {"J2": 19, "J3": 14, "J4": 10}),
        ("spt", {"J2": 19, "J3": 14, "J4": 10}),
        # Longest first, then second longest: as by arrival.
        ("lpt", {"J2": 10, "J3": 20, "J4": 25}),
        # At 10 s all have waited for 9 s: J2 scores 0.9**3 * 4 = 2.9, J3 1.8**3 * 3 = 17.5, J4 2.25**3 * 2 = 22.8;
        # at 14 s J2 1.3**3 * 4 = 8.8, J3 2.6**3 * 3 = 52.7.
        ("wfp3", {"J2": 19, "J3": 14, "J4": 10}),
        # Latest arrival first, as a key of one's own: the ids count up.
        (lambda job, now: -int(job.id[1:]), {"J2": 19, "J3": 14, "J4": 10}),
    ],
)
def test_the_order_of_the_queue_is_an_option(order, expected):
    jobs = [
        Job("J1", tasks=3, base_time=10.0),
        Job("J2", tasks=4, base_time=10.0, arrival=1.0),
        Job("J3", tasks=3, base_time=5.0, arrival=1.0),
        Job("J4", tasks=2, base_time=4.0, arrival=1.0),
    ]
    assert starts("easy", jobs, queue_order=order) == {"J1": 0} | expected


@pytest.mark.parametrize(("candidates", "first"), [("queue", "J3"), ("spt", "J5"), ("lpt", "J4")])
def test_the_order_of_candidates_is_an_option(candidates, first):
    # J1 leaves one node of four until 20, when J2 is due. One of J3 (10 s), J4 (15 s) and J5 (8 s) passes J2 at 0.
    jobs = [
        Job("J1", tasks=3, base_time=20.0),
        Job("J2", tasks=4, base_time=10.0),
        Job("J3", tasks=1, base_time=10.0),
        Job("J4", tasks=1, base_time=15.0),
        Job("J5", tasks=1, base_time=8.0),
    ]
    found = starts("easy", jobs, candidates=candidates)
    assert found["J2"] == 20
    assert {job for job in ("J3", "J4", "J5") if found[job] == 0} == {first}


def test_keys_of_candidates_that_do_not_compare_are_one_clear_fault():
    # J1 leaves one node of three; J3 and J4 could pass J2.
    jobs = [Job("J1", 2, 20.0), Job("J2", 3, 10.0), Job("J3", 1, 10.0), Job("J4", 1, 10.0)]
    keys = {"J2": 2.0, "J3": 1.0, "J4": None}
    with pytest.raises(CoallocError, match="the keys of an order must be comparable with each other"):
        starts("easy", jobs, candidates=lambda job, now: keys[job.id])


def test_a_job_takes_other_nodes_where_the_preferred_ones_are_promised():
    # J1 holds two of three fast nodes until 5. J2 wants four nodes: at 5 fastest-first gives it the fast ones and one
    # of the slow ones. J3 (1 task, 50 s) prefers the free fast node, which is promised, and gets the extra slow one.
    platform = Platform(
        [
            Cluster("fast", [NodeGroup(3, power=1.0)], link_bandwidth=1.0),
            Cluster("slow", [NodeGroup(2, power=0.5)], link_bandwidth=1.0),
        ]
    )
    jobs = [
        Job("J1", tasks=2, base_time=5.0),
        Job("J2", tasks=4, base_time=10.0),
        Job("J3", tasks=1, base_time=50.0),
    ]
    run = coalloc.simulate(Instance(platform, jobs), "easy")
    assert (run.schedule["J2"].start, run.schedule["J3"].start, run.schedule["J3"].nodes) == (5.0, 0.0, ("slow/0",))


@pytest.mark.parametrize("policy", ["fcfs", "easy", "conservative"])
def test_the_allocation_is_what_the_rule_gives_on_the_free_processors(policy):
    # J1 holds three of A's four nodes: B has the most free nodes (3), so fewest-clusters puts J2 there. On the empty
    # platform it would be A.
    platform = Platform([Cluster("A", [NodeGroup(4, power=1.0)], 1.0), Cluster("B", [NodeGroup(3, power=1.0)], 1.0)])
    jobs = [Job("J1", tasks=3, base_time=10.0), Job("J2", tasks=1, base_time=10.0)]
    run = coalloc.simulate(Instance(platform, jobs), policy, allocation="fewest-clusters")
    assert {p.job: p.nodes for p in run.schedule} == {"J1": ("A/0", "A/1", "A/2"), "J2": ("B/0",)}


@pytest.mark.parametrize("policy", ["easy", "conservative"])
@pytest.mark.parametrize("early", [5e-10, 1e-9, 2e-9])
def test_a_job_that_ends_a_moment_before_its_estimate_makes_room(policy, early):
    # Nothing happens after J1 has ended: J2, which is reserved for 100, has to start then.
    jobs = [Job("J1", tasks=1, base_time=100.0 - early, estimate=100.0), Job("J2", tasks=1, base_time=10.0)]
    assert starts(policy, jobs, nodes=1) == {"J1": 0, "J2": 100.0 - early}


@dataclass
class Watched:
    """A policy, and the latest start that was due to each job by what is written down here."""

    policy: Easy
    promised: dict[str, float] = field(default_factory=dict)
    scope: str = "platform"

    def begin(self, state):
        """Begin a run."""
        self.policy.begin(state)

    def decide(self, state):
        """Note when, by the estimates, enough processors are free in all for the first job that waits."""
        decided = list(self.policy.decide(state))
        started = {start.job_id for start in decided}
        head = next((job for job in state.queue if job.id not in started), None)
        if head is not None:
            sizes = {job.id: job for job in state.queue}
            before = started - {job.id for job in list(state.queue)[list(state.queue).index(head) :]}
            ends = [(r.estimated_end, r.job.tasks) for r in state.running]
            allocator = state.allocator("fastest-first")
            ends += [
                (state.now + allocator.time(sizes[s.job_id], s.counts), sizes[s.job_id].tasks)
                for s in decided
                if s.job_id in before
            ]
            room = sum(state.free) - sum(sizes[id].tasks for id in before)
            for end, tasks in sorted(ends):
                room += tasks
                if room >= head.tasks:
                    self.promised[head.id] = min(end, self.promised.get(head.id, end))
                    break
        return decided


def exact(seed):
    """Return a small instance without traffic, whose jobs run at most as long as estimated."""
    instance, _ = small_instance(seed)
    rounds = (1.0, 1.5, 3.0, 1.25)
    jobs = [
        job.replace(task_bandwidth=0.0, estimate=job.base_time * rounds[i % 4]) for i, job in enumerate(instance.jobs)
    ]
    return instance.replace(jobs=jobs)


@given(seed=st.integers(0, 10_000))
def test_easy_never_delays_the_head_beyond_its_reservation(seed):
    policy = Watched(Easy())
    run = coalloc.simulate(exact(seed), policy)
    for job, latest in policy.promised.items():
        assert run.schedule[job].start <= latest + 1e-9 * max(1.0, latest)
