"""Processors that two jobs hold at once."""

from __future__ import annotations

import random
from collections import Counter

from coalloc.checker import check, overlaps
from coalloc.checker.rows import rows_of
from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.schedule import Placement, Schedule
from tests.checker.changes import changed, rules


def test_back_to_back_jobs_do_not_overlap_by_rounding():
    # 0.1 + 0.2 is a little more than 0.3.
    instance = Instance(
        Platform((Cluster("C1", (NodeGroup(1, 1.0),), 0.0),)), (Job("A", 1, 0.1), Job("B", 1, 0.2), Job("C", 1, 1.0))
    )
    nodes = ("C1/0",)
    tight = Schedule(
        (Placement("A", 0.0, 0.1, nodes), Placement("B", 0.1, 0.1 + 0.2, nodes), Placement("C", 0.3, 1.3, nodes))
    )
    assert tight["B"].end > tight["C"].start
    assert check(instance, tight) == []
    assert rules(check(instance, changed(tight, "C", start=0.29, end=1.29))) == {"overlap": 1}


def pile(size: int) -> tuple[Instance, Schedule]:
    """Return ``size`` jobs on the same two processors at the same time."""
    platform = Platform((Cluster("C1", (NodeGroup(2, 1.0),), 0.0),))
    jobs = tuple(Job(f"J{i}", 2, 10.0 + i) for i in range(size))
    return Instance(platform, jobs), Schedule(tuple(Placement(j.id, 0.0, j.base_time, ("C1/0", "C1/1")) for j in jobs))


def test_every_overlapping_pair_is_reported_once_with_its_processors():
    violations = check(*pile(4))
    assert [v.jobs for v in violations] == [(f"J{i}", f"J{k}") for i in range(4) for k in range(i + 1, 4)]
    assert {v.where for v in violations} == {"C1/0-1"}


def test_a_hopeless_schedule_names_each_job_but_not_each_pair(monkeypatch):
    monkeypatch.setattr(overlaps, "OVERLAP_PAIRS", 50)
    instance, schedule = pile(20)
    violations = check(instance, schedule)
    assert rules(violations) == {"overlap": 19}
    assert {job for v in violations for job in v.jobs} == set(instance.job_by_id)


def test_jobs_back_to_back_do_not_count_as_a_hopeless_schedule(monkeypatch):
    # J0, J1, J2 overlap in 3 pairs on 2 processors, which makes 6; the chain behind them makes none.
    monkeypatch.setattr(overlaps, "OVERLAP_PAIRS", 6)
    instance, schedule = pile(6)
    chain = schedule
    for i, start in ((3, 12.0), (4, 25.0), (5, 39.0)):
        chain = changed(chain, f"J{i}", start=start, end=start + 10.0 + i)
    assert [v.jobs for v in check(instance, chain)] == [("J0", "J1"), ("J0", "J2"), ("J1", "J2")]


def test_rows_are_disjoint_where_there_are_no_pairs(monkeypatch):
    monkeypatch.setattr(overlaps, "SORTED_AT_ONCE", 20)
    rng = random.Random(1)
    groups = NodeGroup(3, 1.0), NodeGroup(2, 1.0, cores=4)
    platform = Platform((Cluster("C1", groups, 0.0), Cluster("C2", groups[:1], 0.0)))
    names = list(platform.processor_index)
    seen = Counter()
    for _ in range(300):
        placements, jobs = [], []
        for i in range(rng.randint(1, 6)):
            nodes = tuple(rng.sample(names, rng.randint(1, 4)))
            start = float(rng.randint(0, 9))
            placements.append(Placement(f"J{i}", start, start + rng.randint(0, 3), nodes))
            jobs.append(Job(f"J{i}", len(nodes), 1.0))
        rows = rows_of(Instance(platform, jobs), Schedule(placements))
        pairs = overlaps._pairs(rows)
        assert overlaps._are_disjoint(rows) == (not pairs)
        seen[bool(pairs)] += 1
    assert min(seen.values()) > 30
