"""Objectives of allocations: by hand, against brute force in every place of a lexicographic solve, limits, errors."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from itertools import count

import numpy as np
import pytest

import coalloc
from coalloc.extend import Constraint
from coalloc.instance import Cluster, CoallocError, Instance, Job, NodeGroup, Platform, Switch
from coalloc.objectives import OBJECTIVES
from coalloc.solvers import descent
from coalloc.solvers.limits import AtMost
from coalloc.solvers.result import SolveStatus
from coalloc.testing.brute_force import brute_force_oas
from coalloc.testing.small import SmallSize, small_instance

ALLOCATIONS = ("co-allocated-jobs", "used-clusters", "unmet-levels")
SMALL = SmallSize(max_jobs=3, max_clusters=4, max_per_cluster=2, max_processors=6, max_slots=6)
DEARER = (10, 14, 16)
"""Seeds of instances in which a least makespan takes more than the least weights of some objective."""
LIMIT = 600.0
"""Seconds, far beyond what is needed."""


def worth(name, instance, schedule):
    """Return an objective from its definition, by the names of processors."""
    platform, total = instance.platform, 0
    for placed in schedule:
        used = {node.split("/")[0] for node in placed.nodes}
        level = instance.job_by_id[placed.job].level
        if name == "used-clusters":
            total += len(used)
        elif name == "co-allocated-jobs":
            total += len(used) > 1
        elif level is not None and not level.required:
            above = [
                {cluster.name for cluster in platform.clusters if is_below(platform, cluster.switch, switch.name)}
                for switch in platform.switches
                if switch.level == level.name
            ]
            total += not any(used <= names for names in above)
    return total


def is_below(platform, switch, top):
    """Return whether a switch is one, or is connected through it."""
    parents = {one.name: one.parent for one in platform.switches}
    while switch in parents and switch != top:
        switch = parents[switch]
    return switch == top


class Counted(Constraint):
    """An objective of allocations is a number at most, by the definition alone."""

    def __init__(self, name, number):
        self.name, self.number = name, number

    def faults(self, instance, schedule):
        placed = list(schedule)
        if len(placed) == len(instance.jobs) and worth(self.name, instance, placed) > self.number:
            yield "it counts more"


def drawn(seed):
    """Return an instance with two rows of clusters, which half the jobs prefer, and a slot (s)."""
    instance, slot = small_instance(seed, SMALL)
    rng, platform = np.random.default_rng(seed), instance.platform
    parents = {switch.parent for switch in platform.switches}
    switches = [s if s.name in parents else s.replace(level="row") for s in platform.switches]
    clusters = platform.clusters
    if not switches:
        switches = [Switch(name, "root", 1e9, level="row") for name in "AB"]
        clusters = [cluster.replace(switch="AB"[int(rng.integers(2))]) for cluster in clusters]
    platform = platform.replace(switches=switches, clusters=clusters)
    level = {"name": "row", "required": False}
    jobs = [job.replace(level=level) if rng.random() < 0.7 else job for job in instance.jobs]
    return instance.replace(platform=platform, jobs=jobs), slot


@cache
def limits(seed, names, slotted=True):
    """Return for each objective its least value given those before it, and the constraint that keeps to it.

    None where there is no schedule. What several orders begin with is enumerated once.
    """
    if not names:
        return ()
    before, name = limits(seed, names[:-1], slotted), names[-1]
    if before is None:
        return None
    instance, slot = drawn(seed)
    slot, kept = slot if slotted else None, [limit for _, limit in before]
    if name in ALLOCATIONS:
        if not brute_force_oas(instance, slot, constraints=kept).feasible:
            return None
        counted = (Counted(name, number) for number in count())
        limit = next(c for c in counted if brute_force_oas(instance, slot, constraints=[*kept, c]).feasible)
        return (*before, (limit.number, limit))
    least = brute_force_oas(instance, slot, name, constraints=kept).objective
    return None if math.isinf(least) else (*before, (least, AtMost(instance, OBJECTIVES[name], least)))


def brute(seed, names, slotted=True):
    """Return the least value of each objective given those before it; None where there is no schedule."""
    found = limits(seed, names, slotted)
    return None if found is None else [value for value, _ in found]


ORDERS = [
    *((name,) for name in ALLOCATIONS),
    *((name, "makespan") for name in ALLOCATIONS),
    *(("makespan", name) for name in ALLOCATIONS),
    ("makespan", "used-clusters", "total-response-time"),
    ("unmet-levels", "used-clusters", "makespan"),
    ("unmet-levels", "makespan", "co-allocated-jobs"),
]


@pytest.mark.usefixtures("cpsat_or_not")
@pytest.mark.parametrize("names", ORDERS, ids=", ".join)
@pytest.mark.parametrize("seed", [0, *DEARER])
def test_each_is_least_among_the_schedules_that_keep_those_before(seed, names):
    instance, slot = drawn(seed)
    best = brute(seed, names)
    result = coalloc.solve(instance, objective=names, slot=slot, time_limit=LIMIT)
    if best is None:
        assert result.status == "infeasible"
        return
    assert result.status == "optimal"
    assert [level.value for level in result.solved_levels] == pytest.approx(best, rel=1e-6, abs=1e-6)
    assert coalloc.check(instance, result.schedule) == []
    metrics = coalloc.metrics(instance, result.schedule)
    for name, level in zip(names, result.solved_levels, strict=True):
        if name in ALLOCATIONS:
            assert level.value == level.lower_bound == worth(name, instance, result.schedule)
            assert metrics[name.replace("-", "_").replace("co_", "co")] == level.value
            assert coalloc.lower_bound(instance, name, slot=slot) <= level.value


@pytest.mark.parametrize("formulation", ["mode", "count", "node"])
@pytest.mark.parametrize("seed", DEARER)
def test_formulations_agree(seed, formulation):
    instance, slot = drawn(seed)
    names = ("makespan", "used-clusters")
    best = brute(seed, names)
    result = coalloc.solve(instance, objective=names, slot=slot, formulation=formulation, time_limit=LIMIT)
    assert [level.value for level in result.solved_levels] == pytest.approx(best, rel=1e-6)
    assert result.status == "optimal"


@pytest.mark.parametrize("names", [("makespan", "co-allocated-jobs"), ("used-clusters", "makespan")])
@pytest.mark.parametrize("seed", range(10, 12))
def test_continuous_time_encloses_what_brute_force_finds(seed, names):
    instance, _ = drawn(seed)
    best = brute(seed, names, slotted=False)
    result = coalloc.solve(instance, objective=names, time_limit=1.0)
    for value, level in zip(best, result.solved_levels, strict=True):
        assert level.lower_bound <= value * (1.0 + 1e-6)
        assert level.value >= value * (1.0 - 1e-6)
        if level.status == "optimal":
            assert level.value == pytest.approx(value, rel=1e-6)
        else:
            break  # those after it are least among other schedules


def racks(*jobs):
    """Return jobs on two clusters of three nodes and one of one, of which the first two are in one row."""
    sizes = {"C1": (3, "A"), "C2": (3, "A"), "C3": (1, "B")}
    clusters = [Cluster(name, [NodeGroup(n, 1.0)], 1e3, switch=row) for name, (n, row) in sizes.items()]
    return Instance(Platform(clusters, [Switch(name, "root", 1e3, level="row") for name in "AB"]), jobs)


def pairs(**fields):
    """Return three jobs of two tasks and 10 s that all arrive at once."""
    return racks(*(Job(f"J{j}", 2, 10.0, **fields) for j in range(3)))


def split():
    """Return a schedule of the three pairs in which two of them use two clusters each."""
    nodes = (("C1/0", "C2/0"), ("C1/1", "C3/0"), ("C2/1", "C2/2"))
    return coalloc.Schedule([coalloc.Placement(f"J{j}", 0.0, 10.0, held) for j, held in enumerate(nodes)])


@pytest.mark.parametrize(
    ("names", "values"),
    [
        # C1 and C2 take one pair each; the third takes a node of two of the three clusters, or waits.
        (("makespan", "co-allocated-jobs"), [10.0, 1.0]),
        (("co-allocated-jobs", "makespan"), [0.0, 20.0]),
        (("makespan", "used-clusters", "total-response-time"), [10.0, 4.0, 30.0]),
        (("used-clusters", "total-response-time", "makespan"), None),
        (("used-clusters", "total-response-time"), [3.0, 40.0]),
        # The third pair has a node of C1 and one of C2, which are in one row.
        (("makespan", "unmet-levels"), [10.0, 0.0]),
    ],
)
@pytest.mark.parametrize("slot", [None, 10.0])
def test_three_pairs(names, values, slot):
    instance = pairs(level={"name": "row", "required": False})
    if values is None:
        with pytest.raises(
            CoallocError, match="all objectives but the last must be makespan, maximum-lateness, co-all"
        ):
            coalloc.solve(instance, objective=names, slot=slot)
        return
    result = coalloc.solve(instance, objective=names, slot=slot, time_limit=LIMIT)
    assert result.status == "optimal"
    assert [level.value for level in result.solved_levels] == values


def test_a_preferred_level_that_is_too_small_is_unmet():
    # Seven tasks need both rows; four fit into row A, with two clusters.
    level = {"name": "row", "required": False}
    result = coalloc.solve(
        racks(Job("A", 7, 10.0, level=level), Job("B", 4, 10.0, level=level)), objective="unmet-levels"
    )
    assert (result.status, result.objective, result.unit) == ("optimal", 1.0, "jobs")
    assert str(result).splitlines()[1].split() == ["objective", "1", "jobs", "(unmet-levels)"]


def test_a_limit_on_the_makespan_holds():
    # Without a co-allocated job the third pair ends at 20 s.
    found = {
        limit: coalloc.solve(pairs(), objective="co-allocated-jobs", makespan_limit=limit) for limit in (20.0, 19.0)
    }
    assert {limit: result.objective for limit, result in found.items()} == {20.0: 0.0, 19.0: 1.0}
    assert {result.status for result in found.values()} == {"optimal"}
    tight = coalloc.solve(pairs(), objective="co-allocated-jobs", makespan_limit=9.0)
    assert (tight.status, tight.objective, tight.lower_bound) == ("infeasible", None, None)
    assert "job 'J0' must end by 9 s" in tight.message


def test_fixed_assignments_and_constraints_count():
    fixed = [coalloc.Fixed("J0", nodes=("C1/0", "C3/0"))]
    result = coalloc.solve(pairs(), objective="co-allocated-jobs", fixed=fixed)
    assert (result.status, result.objective) == ("optimal", 1.0)
    assert coalloc.lower_bound(pairs(), "co-allocated-jobs", fixed=fixed) == 1.0
    assert coalloc.lower_bound(pairs(), "used-clusters", method="least-weights") == 3.0


def test_a_limit_that_nothing_decides_leaves_the_bound(monkeypatch):
    # Of the limits 3 and 4 nothing is known, nor does a schedule of 5 clusters lead to another.
    solve_oas, known = descent.solve_oas, []

    def undecided(*given, **named):
        if not known:
            known.append(solve_oas(*given, **named))
            return known[0]
        return replace(known[0], status=SolveStatus.UNKNOWN, schedule=None, stopped_by="work")

    monkeypatch.setattr(descent, "solve_oas", undecided)
    result = coalloc.solve(pairs(), objective="used-clusters", start=split(), slot=10.0)
    assert (result.status, result.stopped_by) == ("feasible", "work")
    assert (result.objective, result.lower_bound) == (5.0, 3.0)


def test_an_interrupt_keeps_what_is_known():
    def interrupt(point):
        if point.incumbent is not None:
            raise KeyboardInterrupt

    result = coalloc.solve(pairs(), objective="used-clusters", makespan_limit=19.0, time_limit=None, progress=interrupt)
    assert (result.status, result.stopped_by) == ("feasible", "interrupt")
    assert result.lower_bound == 3.0


def test_a_start_is_taken_and_files_have_the_levels(tmp_path):
    known = coalloc.solve(pairs(), slot=10.0).schedule
    result = coalloc.solve(pairs(), objective=("used-clusters", "makespan"), slot=10.0, start=known)
    assert result.levels == {"used-clusters": 3.0, "makespan": 20.0}
    coalloc.io.write_result(result, tmp_path / "result.json")
    read = coalloc.io.read_result(tmp_path / "result.json")
    assert [(level.objective, level.unit) for level in read.solved_levels] == [
        ("used-clusters", "clusters"),
        ("makespan", "s"),
    ]


def test_nothing_to_schedule_counts_nothing():
    for name in ALLOCATIONS:
        result = coalloc.solve(racks(), objective=name)
        assert (result.status, result.objective, result.lower_bound) == ("optimal", 0.0, 0.0)


def test_unix_times():
    instance = pairs(arrival=1.7e9)
    result = coalloc.solve(instance, objective=("makespan", "used-clusters"), slot=10.0)
    assert (result.status, result.levels) == ("optimal", {"makespan": 10.0, "used-clusters": 4.0})


@pytest.mark.parametrize("name", ALLOCATIONS)
def test_what_is_refused(name):
    with pytest.raises(CoallocError, match=f"^objective of this formulation must be one of .*, got '{name}'$"):
        coalloc.build_model(pairs(), objective=name, slot=10.0)
    with pytest.raises(CoallocError, match=f"^objective of model 'pas' must be 'total-execution-time', got '{name}'$"):
        coalloc.solve(pairs(), model="pas", objective=name)
    with pytest.raises(CoallocError, match=r"one or more objectives but energy and edp, got .*, energy$"):
        coalloc.solve(pairs(), objective=(name, "energy"))
    with pytest.raises(CoallocError, match=r"^method of lower_bound must be one of least-weights, got 'best'$"):
        coalloc.lower_bound(pairs(), name, method="best")
    with pytest.raises(CoallocError, match=f"^makespan_limit requires objective energy or edp, got '{name}'$"):
        coalloc.lower_bound(pairs(), name, makespan_limit=10.0)


@pytest.mark.parametrize("name", ALLOCATIONS)
def test_many_allocations(name, monkeypatch):
    # Of the 15 allocations none is looked at: with room for a pair in C1 the least weights are those of one cluster.
    monkeypatch.setattr(descent, "MAX_MODES", 5)
    least = 3.0 if name == "used-clusters" else 0.0
    assert coalloc.lower_bound(pairs(), name) == least
    assert coalloc.solve(pairs(), objective=name).objective == least
    given = {"slot": 10.0, "start": split(), "time_limit": LIMIT}
    result = coalloc.solve(pairs(), objective="used-clusters", makespan_limit=19.0, **given)
    assert (result.status, result.stopped_by, result.lower_bound, result.objective) == ("feasible", "work", 4.0, 5.0)
    assert result.message == "only the lower bound was tried: the jobs have more than 5 allocations"
    with pytest.raises(
        CoallocError, match=r"'used-clusters' cannot be kept at . clusters: the jobs have more than 5 all"
    ):
        coalloc.solve(pairs(), objective=("makespan", "used-clusters", "total-response-time"), slot=10.0)
    wide = racks(Job("J1", 7, 10.0, level={"name": "row", "required": False}), Job("J2", 4, 10.0))
    assert (
        coalloc.lower_bound(wide, name) == {"co-allocated-jobs": 2.0, "used-clusters": 5.0, "unmet-levels": 1.0}[name]
    )
