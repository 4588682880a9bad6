"""What bounds the objective is what a second computation says: each bound, and each difference, recomputed."""

from __future__ import annotations

import pytest

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform
from coalloc.explanations.bounding import Bounded, what_moves
from coalloc.testing.small import small_instance


def star(*clusters: tuple[int, float, float]) -> Platform:
    """Return clusters C1, C2, ... of (nodes, power, link bandwidth) around one switch."""
    return Platform([Cluster(f"C{i}", [NodeGroup(n, power=p)], b) for i, (n, p, b) in enumerate(clusters, 1)])


def bound_reason(instance, **options):
    """Return what bounds an instance, without the gap."""
    (reason,) = (r for r in coalloc.explain(instance, **options).of("bound") if r.kind != "gap")
    return reason


def test_what_the_time_limit_cut_short_moves_nothing():
    # Bounds by hand: 100 as it is, 90 with more on the link of C1; 80 on that of C2 was cut, and may be 100 as well.
    instance = Instance(star((2, 1.0, 1.0), (2, 0.5, 1.0)), [Job("J1", 1, 40.0)])

    def bound(changed):
        wide = [cluster.name for cluster in changed.platform.clusters if cluster.link_bandwidth > 1.0]
        return {"C1": Bounded(90.0, False), "C2": Bounded(80.0, True)}.get("".join(wide), Bounded(100.0, False))

    moves, cut = what_moves(instance, bound, "s")
    assert (moves.kind, moves.where, moves.amount) == ("link", "C1", 90.0)
    assert (cut.kind, cut.amount) == ("cut", None)
    assert cut.sentence.startswith(
        "the time limit cut the bound short with 2 instead of 1 MB/s on the link of 'C2': nothing"
    )


def test_the_longest_job():
    # J2 arrives at 50 s and takes 100 s: 150 s; the others are done by then.
    instance = Instance(star((2, 1.0, 1.0)), [Job("J1", 1, 40.0), Job("J2", 1, 100.0, arrival=50.0)])
    reason = bound_reason(instance)
    assert (reason.kind, reason.jobs, reason.amount) == ("longest-job", ("J2",), 150.0)
    alone = instance.replace(jobs=(instance.jobs[1],))
    assert coalloc.lower_bound(alone) + 50.0 == 150.0  # the makespan of J2 alone counts from its arrival
    without = instance.replace(jobs=(instance.jobs[0],))
    assert coalloc.lower_bound(without) < 150.0


def test_the_area():
    # Four jobs of 100 s on two nodes: 400 processor-seconds, 200 s.
    instance = Instance(star((2, 1.0, 1.0)), [Job(f"J{i}", 1, 100.0) for i in range(4)])
    reason = bound_reason(instance)
    assert (reason.kind, reason.amount, reason.limit) == ("area", 400.0, 2)
    assert coalloc.lower_bound(instance, method="area") == pytest.approx(200.0)
    # One more node: 400 / 3 s.
    (moves,) = coalloc.explain(instance).of("capacity")
    assert (moves.kind, moves.where, moves.limit) == ("cluster", "C1", pytest.approx(200.0))
    assert moves.amount == pytest.approx(400.0 / 3.0)


def test_jobs_that_are_too_wide_to_run_side_by_side():
    # Two jobs of 2 tasks on 3 nodes: one after the other, 200 s, where their area is 400 / 3 s.
    instance = Instance(star((3, 1.0, 1.0)), [Job("J1", 2, 100.0), Job("J2", 2, 100.0)])
    assert bound_reason(instance).kind == "packing"
    assert coalloc.lower_bound(instance, method="packing") == pytest.approx(200.0)
    assert coalloc.lower_bound(instance, method="longest-job") == pytest.approx(100.0)


def test_the_link_that_keeps_two_jobs_apart():
    # Each job is on both clusters of 2 nodes, with 10 MB/s on both links of 15: one after the other, 200 s. Twice the
    # bandwidth of one link alone does not help; a node more in a cluster holds a job by itself: both at once, 100 s.
    jobs = [Job(f"J{i}", 3, 100.0, processing_share=0.5, task_bandwidth=10.0) for i in (1, 2)]
    narrow = Instance(star((3, 1.0, 15.0), (2, 1.0, 15.0), (1, 1.0, 30.0)), jobs)
    found = coalloc.explain(narrow).of("capacity")
    for reason in found:
        assert reason.amount == pytest.approx(100.0)
        assert reason.limit == pytest.approx(200.0) or reason.kind == "nothing"


@pytest.mark.parametrize("seed", [1, 2, 4, 5])
def test_every_difference_is_what_lower_bound_says_of_the_changed_instance(seed):
    instance, _ = small_instance(seed)
    explanation = coalloc.explain(instance)
    before = coalloc.lower_bound(instance)
    platform = instance.platform
    for reason in explanation.of("capacity"):
        assert reason.limit == pytest.approx(before)
        if reason.kind == "releases":
            first = min(job.arrival for job in instance.jobs)
            changed = instance.replace(jobs=tuple(job.replace(arrival=first) for job in instance.jobs))
            assert coalloc.lower_bound(changed) == pytest.approx(reason.amount)
        elif reason.kind == "cluster":
            (cluster,) = (c for c in platform.clusters if c.name == reason.where)
            options = []
            for group in cluster.nodes:
                larger = cluster.replace(nodes=(*cluster.nodes, group.replace(count=1)))
                clusters = tuple(larger if c is cluster else c for c in platform.clusters)
                options.append(coalloc.lower_bound(instance.replace(platform=platform.replace(clusters=clusters))))
            assert any(found == pytest.approx(reason.amount) for found in options)
        elif reason.kind == "link":
            clusters = tuple(
                c.replace(link_bandwidth=2 * c.link_bandwidth) if c.name == reason.where else c
                for c in platform.clusters
            )
            switches = tuple(
                s.replace(bandwidth=2 * s.bandwidth) if s.name == reason.where else s for s in platform.switches
            )
            changed = instance.replace(platform=platform.replace(clusters=clusters, switches=switches))
            assert coalloc.lower_bound(changed) == pytest.approx(reason.amount)


def test_sums_are_bounded_by_each_job_alone_or_by_one_fast_machine():
    # One job: alone. Two jobs of 100 s on one node end at 100 and 200 s, in all 300 s, not 200.
    one = Instance(star((1, 1.0, 1.0)), [Job("J1", 1, 100.0)])
    assert bound_reason(one, objective="total-response-time").kind == "alone"
    two = one.replace(jobs=(*one.jobs, Job("J2", 1, 100.0)))
    reason = bound_reason(two, objective="total-response-time")
    assert (reason.kind, reason.amount) == ("squashed-area", pytest.approx(300.0))


def test_a_schedule_that_meets_the_bound_and_one_that_does_not():
    instance = Instance(star((1, 1.0, 1.0)), [Job("J1", 1, 100.0)])
    best = coalloc.solve(instance).schedule
    (gap,) = (r for r in coalloc.explain(instance, best).of("bound") if r.kind == "gap")
    assert (gap.amount, gap.limit) == (100.0, 100.0)
    late = coalloc.Schedule([coalloc.Placement("J1", 25.0, 125.0, ["C1/0"])])
    (gap,) = (r for r in coalloc.explain(instance, late).of("bound") if r.kind == "gap")
    assert (gap.amount, gap.limit) == (125.0, 100.0)
    assert "25 s (20 %) above the bound of 100 s" in gap.sentence


def test_a_schedule_that_is_not_valid_is_explained_by_the_rules_it_breaks():
    instance = Instance(star((1, 1.0, 1.0)), [Job("J1", 1, 100.0)])
    broken = coalloc.Schedule([coalloc.Placement("J1", 0.0, 99.0, ["C1/0"])])
    explanation = coalloc.explain(instance, broken)
    assert [(r.about, r.where) for r in explanation.reasons] == [("invalid", "duration")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objective": "energy"}, "objective of explain must be a regular one, got 'energy'"),
        ({"jobs": ["J9"]}, "jobs: the instance has no job 'J9'"),
    ],
)
def test_what_cannot_be_explained_is_one_error(options, message):
    instance = coalloc.generate("pcbe", seed=1) if "objective" in options else Instance(star((1, 1.0, 1.0)), [])
    with pytest.raises(CoallocError, match=message):
        coalloc.explain(instance, **options)


def test_an_instance_without_jobs_has_nothing_to_explain():
    assert str(coalloc.explain(Instance(star((1, 1.0, 1.0)), []))) == "no job waited, and there is nothing to explain"


def test_in_unix_time_the_area_bounds_what_no_job_alone_does():
    # Three jobs of 500 s one after the other: 1500 s. A millionth of 1.7e9 s is more than the 1000 s beyond one.
    instance = Instance(star((1, 1.0, 1.0)), [Job(f"J{j}", 1, 500.0, arrival=1.7e9) for j in range(3)])
    reason = bound_reason(instance)
    assert (reason.kind, reason.amount, reason.limit) == ("area", 1500.0, 1)
