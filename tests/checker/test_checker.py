"""The checker accepts what is valid, and names the rule that each mutation breaks."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from coalloc.checker import RULES, check
from coalloc.instance import Cluster, CoallocError, Instance, NodeGroup, Platform
from coalloc.schedule import Placement, Schedule
from tests.checker.changes import changed, rules
from tests.strategies import LAW, instances, list_schedule


def test_the_worked_example_of_the_thesis_is_valid(mesd):
    instance, schedule = mesd
    assert [round(p.end, 3) for p in schedule] == [116.667, 187.5, 240.0, 435.833]
    assert check(instance, schedule) == []


def test_the_published_time_of_j2_is_refused(mesd):
    # Table 3.5 prints 258.3 s for J2; by the definitions it takes 248.333 s (errata 15).
    instance, schedule = mesd
    (violation,) = check(instance, changed(schedule, "J2", end=187.5 + 258.3))
    assert violation.rule == "duration"
    assert violation.amount == pytest.approx(258.3)
    assert violation.limit == pytest.approx(50.0 * (0.7 / 0.15 + 0.3))
    assert "too late" in violation.sentence


def test_a_grid_at_its_limits_is_valid(grid):
    assert check(*grid) == []
    assert check(Instance(grid[0].platform, ()), Schedule(())) == []


# Each mutation breaks one rule and no other.
MUTATIONS = {
    "a job dropped": (lambda s: s.replace(placements=s.placements[1:]), "missing-job", ("J1",)),
    "a job placed twice": (
        lambda s: s.replace(placements=(*s.placements, Placement("J3", 20.0, 50.0, ("C2/2", "C2/3")))),
        "duplicate-job",
        ("J3",),
    ),
    "a job of nobody": (
        lambda s: s.replace(placements=(*s.placements, Placement("J9", 20.0, 50.0, ("C2/2", "C2/3")))),
        "unknown-job",
        ("J9",),
    ),
    "start before arrival": (lambda s: changed(s, "J3", start=19.0, end=49.0), "arrival", ("J3",)),
    "shift onto a busy processor": (lambda s: changed(s, "J3", start=171.0, end=201.0), "overlap", ("J2", "J3")),
    "swap to a busy node": (lambda s: changed(s, "J3", nodes=("C1/2", "C1/0")), "overlap", ("J1", "J3")),
    "swap to a slower node": (lambda s: changed(s, "J3", nodes=("C3/2", "C1/3")), "duration", ("J3",)),
    "swap to a foreign node": (lambda s: changed(s, "J3", nodes=("C4/0", "C1/3")), "unknown-processor", ("J3",)),
    "swap to a core that a node does not have": (
        lambda s: changed(s, "J3", nodes=("C1/2.0", "C1/3")),
        "unknown-processor",
        ("J3",),
    ),
    "one task too few": (lambda s: changed(s, "J3", nodes=("C1/2",)), "task-count", ("J3",)),
    "one task too many": (
        lambda s: changed(s, "J3", nodes=("C1/2", "C1/3", "C2/3")),
        "task-count",
        ("J3",),
    ),
    "one processor twice": (lambda s: changed(s, "J3", nodes=("C1/2", "C1/2")), "repeated-processor", ("J3",)),
    "no processors": (lambda s: changed(s, "J3", nodes=()), "task-count", ("J3",)),
    "end too early": (lambda s: changed(s, "J3", end=49.0), "duration", ("J3",)),
    "end too late": (lambda s: changed(s, "J3", end=51.0), "duration", ("J3",)),
    "no time at all": (lambda s: changed(s, "J3", end=20.0), "duration", ("J3",)),
    "end before start": (lambda s: changed(s, "J3", end=10.0), "duration", ("J3",)),
    "a link over its capacity": (lambda s: changed(s, "J1", start=60.0, end=160.0), "link-load", ("J1", "J2")),
}


@pytest.mark.parametrize("name", MUTATIONS)
def test_each_mutation_breaks_just_its_rule(grid, name):
    instance, schedule = grid
    mutate, rule, jobs = MUTATIONS[name]
    violations = check(instance, mutate(schedule))
    assert {violation.rule for violation in violations} == {rule}
    assert {violation.jobs for violation in violations} == {jobs}
    assert rule in RULES
    assert all(job in violation.sentence for violation in violations for job in violation.jobs)


def test_a_bad_schedule_never_raises_and_every_fault_is_reported(grid):
    instance, _ = grid
    placements = (
        Placement("J1", -5.0, -7.0, ("C1/0", "C1/0", "nowhere", "\x1b[31m")),
        Placement("J1", 1e300, 1e301, ()),
        Placement("<script>", -1e308, 1e308, ("C1/0",)),
        Placement("J3", 0.0, 0.0, ("C2/0", "C2/0", "C2/1")),
    )
    violations = check(instance, Schedule(placements, slot=1e-300))
    assert rules(violations) == {
        "missing-job": 1,  # J2
        "duplicate-job": 1,  # J1
        "unknown-job": 1,  # the script
        "task-count": 2,  # J1's second, J3
        "repeated-processor": 2,
        "unknown-processor": 2,  # nowhere, the escape sequence
        "arrival": 2,  # J1 at -5, J3 at 0
        "duration": 2,  # J1 ends before it starts, J3 takes no time
    }
    assert all(v.sentence.isprintable() and v.rule in RULES for v in violations)
    for links in ("shared", "ignore"):
        assert {v.rule for v in check(instance, Schedule(placements), links=links)} >= {"missing-job", "duration"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"links": "none"}, "links: must be 'strict', 'shared' or 'ignore', got 'none'"),
        ({"scope": "rack"}, "scope: must be 'platform', 'cluster' or 'node', got 'rack'"),
        ({"saturation": -0.1}, "saturation: must be finite and at least 0, got -0.1"),
        ({"saturation": float("inf")}, "saturation: must be finite and at least 0, got inf"),
        ({"saturation": float("nan")}, "saturation: must be a number, got nan"),
        ({"saturation": True}, "saturation: must be a number, got True"),
        ({"saturation": "10%"}, "saturation: must be a number, got '10%'"),
        ({"links": "shared", "saturation": 0.1}, "saturation=0.1 requires links='strict', got links='shared'"),
    ],
)
def test_what_is_not_supported_is_one_error_that_lists_what_is(grid, options, message):
    with pytest.raises(CoallocError) as caught:
        check(*grid, **options)
    assert str(caught.value) == message


@st.composite
def valid_schedules(draw: st.DrawFn) -> tuple[Instance, Schedule, str]:
    """Draw a valid schedule with at least one job, its instance and its scope; Z/0 is the slowest node, and idle."""
    instance = draw(instances(min_jobs=2, max_cores=2, switches=2, max_running=2))
    scope = draw(st.sampled_from(("platform", "platform", "cluster", "node")))
    reduced, schedule = list_schedule(instance, scope, slot=draw(st.sampled_from((None, None, 40.0))))
    assume(len(schedule) > 0)
    slowest = Cluster("Z", (NodeGroup(1, 0.01),), 1e9)
    platform = Platform((*instance.platform.clusters, slowest), instance.platform.switches)
    return reduced.replace(platform=platform), schedule, scope


def drop(_: Instance, schedule: Schedule, chosen: Placement) -> Schedule:
    return schedule.replace(placements=tuple(p for p in schedule if p is not chosen))


def place_twice(_: Instance, schedule: Schedule, chosen: Placement) -> Schedule:
    return schedule.replace(placements=(*schedule.placements, chosen))


def start_early(instance: Instance, schedule: Schedule, chosen: Placement) -> Schedule:
    length = chosen.end - chosen.start
    start = instance.job_by_id[chosen.job].arrival - 1.0
    return changed(schedule, chosen.job, start=start, end=start + length)


def end_early(_: Instance, schedule: Schedule, chosen: Placement) -> Schedule:
    return changed(schedule, chosen.job, end=chosen.start + 0.99 * (chosen.end - chosen.start))


def end_late(_: Instance, schedule: Schedule, chosen: Placement) -> Schedule:
    return changed(schedule, chosen.job, end=chosen.start + 1.01 * (chosen.end - chosen.start))


def one_task_less(_: Instance, schedule: Schedule, chosen: Placement) -> Schedule:
    return changed(schedule, chosen.job, nodes=chosen.nodes[1:])


def to_foreign_node(_: Instance, schedule: Schedule, chosen: Placement) -> Schedule:
    return changed(schedule, chosen.job, nodes=("C9/0", *chosen.nodes[1:]))


def to_slower_node(instance: Instance, schedule: Schedule, chosen: Placement) -> Schedule | None:
    if instance.job_by_id[chosen.job].processing_share == 0.0:
        return None
    return changed(schedule, chosen.job, nodes=("Z/0", *chosen.nodes[1:]))


def onto_busy_processor(_: Instance, schedule: Schedule, chosen: Placement) -> Schedule | None:
    other = next((p for p in schedule if p is not chosen), None)
    if other is None:
        return None
    busy = other.nodes[0]
    nodes = (busy, *(name for name in chosen.nodes if name != busy))[: len(chosen.nodes)]
    return changed(schedule, chosen.job, start=other.start, end=other.start + chosen.end - chosen.start, nodes=nodes)


SINGLE_MUTATIONS = {
    drop: "missing-job",
    place_twice: "duplicate-job",
    start_early: "arrival",
    end_early: "duration",
    end_late: "duration",
    one_task_less: "task-count",
    to_foreign_node: "unknown-processor",
    to_slower_node: "duration",
    onto_busy_processor: "overlap",
}


@LAW
@given(valid_schedules())
def test_a_list_schedule_is_valid(drawn):
    instance, schedule, scope = drawn
    assert check(instance, schedule, scope=scope) == []
    assert check(instance, schedule, links="ignore", scope=scope) == []


@LAW
@given(drawn=valid_schedules(), data=st.data())
def test_every_single_mutation_is_named(drawn, data):
    instance, schedule, scope = drawn
    for mutate, rule in SINGLE_MUTATIONS.items():
        chosen = data.draw(st.sampled_from(schedule.placements))
        mutant = mutate(instance, schedule, chosen)
        if mutant is not None:
            named = [v for v in check(instance, mutant, scope=scope) if v.rule == rule and chosen.job in v.jobs]
            assert named, mutate.__name__
