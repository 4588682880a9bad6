"""What bounds the objective is what a second computation says: each bound, and each difference, recomputed."""

from __future__ import annotations

import pytest

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform
from coalloc.explanations.bounding import Bounded, bound_of, what_moves
from coalloc.objectives import Criterion, objective_of
from coalloc.problem import discretise
from coalloc.testing.brute_force import brute_force_oas
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

    moves, cut = what_moves(instance, bound, lambda _: None, "s")
    assert (moves.kind, moves.where, moves.amount) == ("link", "C1", 90.0)
    assert (cut.kind, cut.amount) == ("cut", None)
    assert cut.sentence.startswith(
        "the time limit interrupted the bound with a bandwidth of 2 instead of 1 MB/s on the link of 'C2': the "
        "effect is unknown"
    )


def test_optima_are_compared_where_both_are_proved_and_bounds_elsewhere():
    # Optima by hand: 120 as it is, 110 with more on the link of C1, none proved for C2, 120 with more nodes. Bounds:
    # 100, and 90 with more on the link of C2.
    instance = Instance(star((2, 1.0, 1.0), (2, 0.5, 1.0)), [Job("J1", 1, 40.0)])

    def wide(changed):
        return "".join(cluster.name for cluster in changed.platform.clusters if cluster.link_bandwidth > 1.0)

    def bound(changed):
        return Bounded({"C2": 90.0}.get(wide(changed), 100.0), False)

    def optimum(changed):
        return {"C1": 110.0, "C2": None}.get(wide(changed), 120.0)

    of_bound, of_optimum = what_moves(instance, bound, optimum, "s")
    assert of_optimum.sentence.endswith("'C1' the optimum is 110 s, lower by 10 s")
    assert (of_optimum.about, of_optimum.where, of_optimum.amount, of_optimum.limit) == ("optimum", "C1", 110.0, 120.0)
    assert of_bound.sentence.endswith("'C2' the bound is 90 s, lower by 10 s")
    assert (of_bound.about, of_bound.where, of_bound.amount, of_bound.limit) == ("capacity", "C2", 90.0, 100.0)

    (nothing,) = what_moves(instance, bound, lambda _: 120.0, "s")
    assert (nothing.about, nothing.kind, nothing.limit) == ("optimum", "nothing", 120.0)


def test_a_schedule_is_held_against_the_proved_optimum():
    # Three nodes, five jobs of 2, 2, 2, 1, 1 tasks and 100, 100, 100, 150, 150 s: area 900 / 3 = 300 s, and no two
    # of two tasks run side by side: 300 s. Jobs of 150 s fill the third node to 300 s. With a node more: 2 + 2 fit.
    shapes = [(2, 100.0), (2, 100.0), (2, 100.0), (1, 150.0), (1, 150.0)]
    instance = Instance(star((3, 1.0, 1.0)), [Job(f"J{k}", *shape) for k, shape in enumerate(shapes)])
    explanation = coalloc.explain(instance, coalloc.simulate(instance, "fcfs").schedule)
    changed = instance.replace(platform=star((4, 1.0, 1.0)))
    best = coalloc.solve(changed)
    assert best.status == "optimal"
    (moves,) = explanation.of("optimum")
    assert (moves.kind, moves.where, moves.limit, moves.amount) == ("cluster", "C1", 300.0, best.objective)
    assert explanation.of("capacity") == ()


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
    # One more node: 400 / 3 s, but of three nodes at most three jobs run at a time, so that the optimum is still 200 s.
    (moves,) = bounds_that_move(instance)
    assert (moves.kind, moves.where, moves.limit) == ("cluster", "C1", pytest.approx(200.0))
    assert moves.amount == pytest.approx(400.0 / 3.0)
    explanation = coalloc.explain(instance)
    assert [(r.kind, r.limit) for r in explanation.of("optimum")] == [("nothing", pytest.approx(200.0))]
    assert explanation.of("capacity") == ()


def test_jobs_that_are_too_wide_to_run_side_by_side():
    # Two jobs of 2 tasks on 3 nodes: one after the other, 200 s, where their area is 400 / 3 s.
    instance = Instance(star((3, 1.0, 1.0)), [Job("J1", 2, 100.0), Job("J2", 2, 100.0)])
    assert bound_reason(instance).kind == "packing"
    assert coalloc.lower_bound(instance, method="packing") == pytest.approx(200.0)
    assert coalloc.lower_bound(instance, method="longest-job") == pytest.approx(100.0)


def test_the_link_that_keeps_two_jobs_apart():
    # A job is on two or three of the clusters of 2 nodes, with 10 MB/s on each of their links of 15; two jobs at once
    # fill all 6 nodes, so that they share a link: one after the other, 200 s. With 30 MB/s on one link they may share
    # that, and with a node more in a cluster one job is in it by itself: both at once, 100 s.
    jobs = [Job(f"J{i}", 3, 100.0, processing_share=0.5, task_bandwidth=10.0) for i in (1, 2)]
    narrow = Instance(star(*[(2, 1.0, 15.0)] * 3), jobs)
    found = coalloc.explain(narrow).of("optimum")
    assert {(reason.kind, reason.where) for reason in found} == {
        (kind, f"C{i}") for kind in ("link", "cluster") for i in (1, 2, 3)
    }
    for reason in found:
        assert (reason.amount, reason.limit) == (pytest.approx(100.0), pytest.approx(200.0))


def bounds_that_move(instance):
    """Return what moves the bound on the makespan, no optimum being proved."""

    def criterion(changed):
        return Criterion(discretise(changed, None), objective_of("makespan"))

    return what_moves(instance, bound_of(criterion, 60.0), lambda _: None, "s")


def changed_by(instance, reason):
    """Return the instances that a reason may mean: several where a cluster has several kinds of nodes."""
    platform = instance.platform
    if reason.kind == "releases":
        first = min(job.arrival for job in instance.jobs)
        return [instance.replace(jobs=tuple(job.replace(arrival=first) for job in instance.jobs))]
    if reason.kind == "cluster":
        (cluster,) = (c for c in platform.clusters if c.name == reason.where)
        larger = [cluster.replace(nodes=(*cluster.nodes, group.replace(count=1))) for group in cluster.nodes]
        replaced = [tuple(new if c is cluster else c for c in platform.clusters) for new in larger]
        return [instance.replace(platform=platform.replace(clusters=clusters)) for clusters in replaced]
    clusters = tuple(
        c.replace(link_bandwidth=2 * c.link_bandwidth) if c.name == reason.where else c for c in platform.clusters
    )
    switches = tuple(s.replace(bandwidth=2 * s.bandwidth) if s.name == reason.where else s for s in platform.switches)
    return [instance.replace(platform=platform.replace(clusters=clusters, switches=switches))]


@pytest.mark.parametrize("seed", [1, 2, 4, 5])
def test_every_difference_is_what_a_second_computation_says_of_the_changed_instance(seed):
    instance, _ = small_instance(seed)
    before = coalloc.lower_bound(instance)
    for reason in (r for r in bounds_that_move(instance) if r.kind != "nothing"):
        assert reason.limit == pytest.approx(before)
        bounds = map(coalloc.lower_bound, changed_by(instance, reason))
        assert any(found == pytest.approx(reason.amount) for found in bounds)
    explanation = coalloc.explain(instance)
    assert explanation.of("capacity") == ()
    least = brute_force_oas(instance, slot=None).objective
    for reason in explanation.of("optimum"):
        assert reason.limit == pytest.approx(least)
        changed = [instance] if reason.kind == "nothing" else changed_by(instance, reason)
        assert any(brute_force_oas(one, slot=None).objective == pytest.approx(reason.amount) for one in changed)


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
    assert "25 s above the optimum of 100 s (gap 20 %)" in gap.sentence


def test_a_schedule_that_is_not_valid_is_explained_by_the_rules_it_breaks():
    instance = Instance(star((1, 1.0, 1.0)), [Job("J1", 1, 100.0)])
    broken = coalloc.Schedule([coalloc.Placement("J1", 0.0, 99.0, ["C1/0"])])
    explanation = coalloc.explain(instance, broken)
    assert [(r.about, r.where) for r in explanation.reasons] == [("invalid", "duration")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objective": "energy"}, "objective of explain must be regular, got 'energy'"),
        ({"jobs": ["J9"]}, "jobs: must be jobs of the instance, got 'J9'"),
    ],
)
def test_what_cannot_be_explained_is_one_error(options, message):
    instance = coalloc.generate("pcbe", seed=1) if "objective" in options else Instance(star((1, 1.0, 1.0)), [])
    with pytest.raises(CoallocError, match=message):
        coalloc.explain(instance, **options)


def test_an_instance_without_jobs_has_nothing_to_explain():
    assert str(coalloc.explain(Instance(star((1, 1.0, 1.0)), []))) == "nothing to explain: no job waited"


def test_in_unix_time_the_area_bounds_what_no_job_alone_does():
    # Three jobs of 500 s one after the other: 1500 s. A millionth of 1.7e9 s is more than the 1000 s beyond one.
    instance = Instance(star((1, 1.0, 1.0)), [Job(f"J{j}", 1, 500.0, arrival=1.7e9) for j in range(3)])
    reason = bound_reason(instance)
    assert (reason.kind, reason.amount, reason.limit) == ("area", 1500.0, 1)
