"""MESD over time: the example of the thesis, the batch rule by hand, and Algorithm 2 written plainly."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import coalloc
from coalloc.heuristics.mesd import Mesd
from coalloc.heuristics.plans import Planned
from coalloc.instance import Instance, Job
from coalloc.simulator.policy import Start, State
from tests.heuristics.mesd_reference import decisions
from tests.heuristics.runs import endable, estimated_instances, nodes, star, starts, without_traffic
from tests.strategies import LAW, instances


def test_the_example_of_the_thesis() -> None:
    # Section 3.3.4 as in errata 15. Ideal times: J1 100 (0.5/0.75 + 0.5) = 116.667 s, J2 50 (0.7/0.5 + 0.3) = 85 s,
    # J3 87.5 s, J4 100 (0.7/0.75 + 0.3) = 123.333 s.
    # 0 s: all at their ideal; J1 came first: N1, N2 until 116.667 s. On N3, N4, N5 J2 would take 50 (0.7/0.15 + 0.3)
    # = 248.333 s (163.333 s more), J3 75 (0.5/0.25 + 0.5) = 187.5 s (100 s more), J4 100 (0.7/0.25 + 0.3) = 310 s
    # (186.667 s more): J3 on N3, N4 until 187.5 s.
    # 116.667 s: N1, N2, N5 are free: J4 is at its ideal on N1, N2 until 240 s, J2 is not.
    # 187.5 s: J2 on N3, N4, N5 until 187.5 + 248.333 = 435.833 s.
    run = coalloc.simulate(coalloc.example("mesd-example"), "mesd")
    expected = {"J1": (0.0, 350 / 3), "J2": (187.5, 187.5 + 745 / 3), "J3": (0.0, 187.5), "J4": (350 / 3, 240.0)}
    assert {p.job: (p.start, p.end) for p in run.schedule} == {
        job: pytest.approx(times) for job, times in expected.items()
    }
    assert nodes(run) == {
        "J1": {"C1/0", "C1/1"},
        "J2": {"C1/2", "C1/3", "C1/4"},
        "J3": {"C1/2", "C1/3"},
        "J4": {"C1/0", "C1/1"},
    }
    assert run.metrics["makespan"] == pytest.approx(435.833, abs=1e-3)


def test_the_example_by_ratio() -> None:
    # On N3, N4, N5 the ratios are J2 248.333/85 = 2.92, J3 187.5/87.5 = 2.14, J4 310/123.333 = 2.51: J3 again.
    # 116.667 s: J4 (ratio 1) before J2, whose ratio on N1, N2, N5 is 2.92.
    example = coalloc.example("mesd-example")
    assert starts(example, "mesd", slowdown="ratio") == starts(example, "mesd")


def test_each_idea_can_be_left_out() -> None:
    # Both jobs fit at 0. J1 (3 tasks) takes C1's two nodes and one of C2; the second step moves one task to C2,
    # which leaves a fast node to J2. Without it J2 gets the last node of C2: 10 s at power 0.5 are 20 s.
    instance = Instance(star((2, 1.0, 9e9), (2, 0.5, 9e9)), (Job("J1", 3, 10.0), Job("J2", 1, 10.0)))
    ends = {
        step: {p.job: p.end for p in coalloc.simulate(instance, "mesd", second_step=step).schedule}
        for step in (True, False)
    }
    assert ends == {True: {"J1": 20.0, "J2": 10.0}, False: {"J1": 20.0, "J2": 20.0}}


def test_new_arrivals_wait_until_every_job_of_the_batch_has_started() -> None:
    # J0 has one of two nodes until 100 s. J1 and J2 need both: planned at 10 s for 100 s and 110 s. J3 needs one
    # node for 5 s, and one is free when it comes: it waits all the same, until J2 has started and ended.
    jobs = (Job("J0", 1, 100.0), Job("J1", 2, 10.0, arrival=10.0), Job("J2", 2, 10.0, arrival=10.0))
    instance = Instance(star((2, 1.0, 0.0)), (*jobs, Job("J3", 1, 5.0, arrival=20.0)))
    assert starts(instance, "mesd") == {"J0": 0.0, "J1": 100.0, "J2": 110.0, "J3": 120.0}


def test_a_lone_job_that_does_not_fit_is_planned_with_those_that_come_later() -> None:
    # N1, N2 have power 1, N3 has 0.5. J0 and K0 hold N1 until 100 s and N2 until 200 s. J1 needs two nodes and is
    # alone at 10 s: not planned. J2 comes at 20 s; nothing became free, so neither is planned, though N3 is free.
    # 100 s: J1 on N1, N3 would take 20 s, 10 s more than on N1, N2; J2 on N1 takes its ideal 8 s: J2 first.
    # J1 is planned for 108 s, when J2 leaves N1. Planned alone it would have started at 100 s.
    jobs = (Job("J0", 1, 100.0), Job("K0", 1, 200.0), Job("J1", 2, 10.0, arrival=10.0), Job("J2", 1, 8.0, arrival=20.0))
    instance = Instance(star((2, 1.0, 9e9), (1, 0.5, 9e9)), jobs)
    assert starts(instance, "mesd") == {"J0": 0.0, "K0": 0.0, "J1": 108.0, "J2": 100.0}


def test_planned_jobs_start_as_soon_as_their_nodes_are_free() -> None:
    # J1 is planned for 100 s, the estimated end of J0, which ends at 10 s.
    jobs = (Job("J0", 2, 10.0, estimate=100.0), Job("J1", 2, 5.0), Job("J2", 1, 5.0))
    assert starts(Instance(star((2, 1.0, 0.0)), jobs), "mesd") == {"J0": 0.0, "J1": 10.0, "J2": 15.0}


def test_planned_nodes_are_waited_for_when_a_job_is_overdue() -> None:
    # J0 on N1 should have ended at 10 s and is expected at any moment. 20 s: only J2 fits: N2 until 25 s; J1 is
    # planned for 25 s on both. N1 is free at 100 s only: J1 starts then, and J3, which came at 30 s, after it.
    jobs = (Job("J0", 1, 100.0, estimate=10.0), Job("J1", 2, 10.0, arrival=20.0), Job("J2", 1, 5.0, arrival=20.0))
    instance = Instance(star((2, 1.0, 0.0)), (*jobs, Job("J3", 1, 5.0, arrival=30.0)))
    assert starts(instance, "mesd") == {"J0": 0.0, "J1": 100.0, "J2": 20.0, "J3": 110.0}


def test_links_are_ignored() -> None:
    # Alone J1 loads both links with 1 * 10 * 1/1 = 10 MB/s, twice their capacity: its 10 s of communication double.
    jobs = (Job("J1", 2, 20.0, processing_share=0.5, task_bandwidth=10.0),)
    run = coalloc.simulate(Instance(star((1, 1.0, 5.0), (1, 1.0, 5.0)), jobs), "mesd")
    assert run.schedule["J1"].end == pytest.approx(30.0)


def test_a_lone_job_that_does_not_fit_waits_until_something_becomes_free() -> None:
    # J1 and J2 share two of three nodes: 0 to 100 s and 100 to 150 s. Once J2 has started J3 is alone and does not fit
    # on the third. J4 comes at 110 s; nothing has become free since, so neither is planned, though J4 would fit.
    # 150 s: J2 ends and both are planned, J3 first: 150 to 160 s; J4 from 160 s on.
    late = (Job("J3", 3, 10.0, arrival=10.0), Job("J4", 1, 10.0, arrival=110.0))
    instance = Instance(star((3, 1.0, 9e9)), (Job("J1", 2, 100.0), Job("J2", 2, 50.0), *late))
    assert starts(instance, "mesd") == {"J1": 0.0, "J2": 100.0, "J3": 150.0, "J4": 160.0}


def test_what_starts_in_the_same_pass_leaves_a_lone_job_too_little() -> None:
    # Two licences, three nodes. 10 s: J0 ends, J1 (both licences, until 30 s) and K (until 15 s) start, as planned.
    # J2, which came meanwhile, is alone and needs both licences: not planned. 15 s: K ends, so J2 and J3 are planned:
    # J3 starts at once, J2 at 30 s. If J2 were a batch by itself J3 would wait until it has started.
    cluster = coalloc.Cluster("C1", [coalloc.NodeGroup(3, 1.0)], 9e9)
    both = {"licences": 2.0}
    jobs = [
        Job("J0", 3, 10.0),
        Job("J1", 1, 20.0, resources=both),
        Job("K", 1, 5.0),
        Job("J2", 1, 5.0, arrival=2.0, resources=both),
        Job("J3", 1, 5.0, arrival=12.0),
    ]
    instance = Instance(coalloc.Platform([cluster], resources={"licences": 2.0}), jobs)
    assert starts(instance, "mesd") == {"J0": 0.0, "J1": 10.0, "K": 10.0, "J2": 30.0, "J3": 15.0}


def crowded(seed: int) -> Instance:
    """Return jobs that mostly wait, on up to three clusters, with links, estimates and all that restricts nodes."""
    rng = random.Random(seed)
    sizes, powers, bandwidths = (1, 2, 3), (1.0, 0.5, 0.25), (5.0, 20.0, 1e9)
    clusters = [
        coalloc.Cluster(
            f"C{number}",
            [coalloc.NodeGroup(rng.choice(sizes), rng.choice(powers)) for _ in range(rng.choice((1, 1, 2)))],
            rng.choice(bandwidths),
        )
        for number in range(rng.randint(1, 3))
    ]
    platform, jobs, now = coalloc.Platform(clusters), list[Job](), 0
    for number in range(12):
        now += rng.choice((0, 0, 3, 10, 25))
        within = [rng.choice(clusters)] if rng.random() < 0.25 else clusters
        seconds = float(rng.randint(2, 60))
        jobs.append(
            Job(
                f"J{number}",
                rng.randint(1, sum(cluster.num_processors for cluster in within)),
                seconds,
                arrival=float(now),
                estimate=seconds * rng.choice((0.5, 1.0, 1.0, 2.0)),
                processing_share=rng.choice((1.0, 0.5, 0.25)),
                task_bandwidth=rng.choice((0.0, 2.0, 8.0)),
                after=[rng.choice(jobs).id] if jobs and rng.random() < 0.2 else [],
                eligible=[cluster.name for cluster in within] if len(within) < len(clusters) else [],
            )
        )
    running = [coalloc.RunningJob(Job("R", 1, 30.0), platform.processor_names[-1:], float(rng.randint(5, 30)))]
    return Instance(platform, jobs, running if rng.random() < 0.5 else [])


def interrupted(seed: int) -> Instance:
    """Return jobs that mostly wait on equal nodes, all of which are at times not there, and share licences."""
    rng = random.Random(seed)
    size, windows, now = rng.randint(2, 6), list[coalloc.Window](), 0
    for _ in range(rng.randint(0, 2)):
        start = now + rng.randint(20, 80)
        now = start + rng.randint(5, 40)
        windows.append(coalloc.Window("C1", start=float(start), end=float(now)))
    clusters = [coalloc.Cluster("C1", [coalloc.NodeGroup(size, 1.0)], 1e9)]
    platform = coalloc.Platform(clusters, resources={"licences": float(rng.randint(2, 4))}, unavailable=windows)
    jobs, now = list[Job](), 0
    for number in range(10):
        now += rng.choice((0, 0, 3, 10, 25))
        seconds, licences = float(rng.randint(2, 40)), rng.choice((0.0, 1.0, 2.0))
        times = {"arrival": float(now), "estimate": seconds * rng.choice((0.5, 1.0, 1.0, 2.0))}
        taken = {"licences": licences} if licences else {}
        jobs.append(Job(f"J{number}", rng.randint(1, size), seconds, **times, resources=taken))
    return Instance(platform, jobs)


def as_defined(instance: Instance) -> None:
    """Assert that a run starts the jobs, at each instant, that the definitions of MESD start."""
    for now, expected, found in decisions(instance, coalloc.simulate(instance, "mesd").schedule):
        assert (now, found) == (now, expected)


@LAW
@given(instances(max_jobs=8, arrivals=False).map(without_traffic))
def test_off_line_it_is_algorithm_2(instance: Instance) -> None:
    as_defined(instance)


@pytest.mark.parametrize("make", [crowded, interrupted])
def test_on_line_it_is_algorithm_2_by_batches(make: Callable[[int], Instance]) -> None:
    for seed in range(150):
        as_defined(make(seed))


class Watched(Mesd):
    """MESD, with what it had planned before each decision and what it started then."""

    def __init__(self) -> None:
        super().__init__()
        self.left: set[str] = set()
        self.decisions: list[tuple[set[str], set[str]]] = []

    def _planned(self, *arguments: Any) -> Iterator[Planned]:
        for planned in super()._planned(*arguments):
            self.left.add(planned.job_id)
            yield planned

    def decide(self, state: State) -> list[Start]:
        """Decide and take a note."""
        before = set(self.left)
        starts = super().decide(state)
        started = {start.job_id for start in starts}
        self.decisions.append((before, started))
        self.left -= started
        return starts


@LAW
@given(estimated_instances(max_jobs=8, max_running=2).map(endable), st.booleans())
def test_nothing_starts_before_the_batch_has(instance: Instance, kill: bool) -> None:
    policy = Watched()
    run = coalloc.simulate(instance, policy, kill=kill)
    assert len(run.schedule) == len(instance.jobs)
    for batch, started in policy.decisions:
        assert started <= batch or batch <= started


@LAW
@given(estimated_instances(max_running=2).map(endable), st.sampled_from(("difference", "ratio")), st.booleans())
def test_the_same_run_again(instance: Instance, slowdown: str, second_step: bool) -> None:
    runs = [coalloc.simulate(instance, "mesd", slowdown=slowdown, second_step=second_step) for _ in range(2)]
    assert runs[0].schedule == runs[1].schedule


def test_a_window_that_takes_what_runs_already_is_no_closing():
    # The window takes the one processor of C1, which R1 holds all the while: that of C2 is free for J1 at once.
    window = coalloc.Window("C1", start=5.0, end=20.0, group=0, processors=1)
    clusters = [coalloc.Cluster(name, [coalloc.NodeGroup(1, 1.0)], 1.0) for name in ("C1", "C2")]
    platform = coalloc.Platform(clusters, unavailable=[window])
    running = [coalloc.RunningJob(coalloc.Job("R1", 1, 30.0), ["C1/0"], end=30.0)]
    instance = coalloc.Instance(platform, [coalloc.Job("J1", 1, 50.0)], running=running)
    placement = coalloc.simulate(instance, "mesd").schedule["J1"]
    assert (placement.start, list(placement.nodes)) == (0.0, ["C2/0"])
