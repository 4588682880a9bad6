"""A history cut into windows: who is in which, what ran, how long others had waited."""

from __future__ import annotations

import numpy as np
import pytest

from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform, Shape, Sharing, Window
from coalloc.studies.audit_windows import History, arriving, cut, refuse_unequal, restrictions, window_of

POOL = Platform([Cluster("pool", [NodeGroup(4, power=1.0)], 0.0)])

JOBS = [
    Job("1", tasks=3, base_time=100.0, arrival=0.0, estimate=150.0),
    Job("2", tasks=3, base_time=50.0, arrival=10.0),
    Job("3", tasks=1, base_time=10.0, arrival=130.0),
]
"""On four processors 2 waits for 1 until 100 s and runs until 150 s; 3 starts when it comes."""

HISTORY = History(Instance(POOL, JOBS), np.array([0.0, 100.0, 130.0]))


def test_a_window_has_what_waits_or_arrives_and_what_runs():
    # At 60 s job 1 runs for 40 s more, 90 by its estimate, and 2 has waited 50 s of its 90.
    window = window_of(HISTORY, 60.0, 120.0)
    assert [(job.id, job.arrival) for job in window.sample.instance.jobs] == [("2", 0.0)]
    (running,) = window.sample.instance.running
    assert (running.job.id, list(running.nodes), running.end) == ("1", ["pool/0", "pool/1", "pool/2"], 40.0)
    assert window.sample.waited.tolist() == [50.0]
    assert window.sample.remaining.tolist() == [90.0]
    assert window.starts.tolist() == [40.0]
    assert window.num_waiting == 1
    # 50 s waited + 40; (90 + 50) / 50; until 150 s, which is 90 on its clock.
    assert window.sample.measured(window.starts) == {"wait": 90.0, "bounded_slowdown": 2.8, "makespan": 90.0}
    assert window.sample.work == 3 * 40.0 + 3 * 50.0


def test_windows_cover_the_period_and_those_without_jobs_are_left_out():
    windows = cut(HISTORY, 0.0, 400.0, 60.0, window_of)
    ids = [[job.id for job in window.sample.instance.jobs] for window in windows]
    assert [(window.begin, window.end) for window in windows] == [(0.0, 60.0), (60.0, 120.0), (120.0, 180.0)]
    assert ids == [["1", "2"], ["2"], ["3"]]
    assert window_of(HISTORY, 300.0, 400.0) is None


def test_jobs_back_to_back_use_no_more_than_there_is_whatever_rounding_does():
    # 0.1 + 0.2 is above 0.3 as floats.
    jobs = [Job("1", tasks=4, base_time=0.2, arrival=0.1), Job("2", tasks=4, base_time=1.0, arrival=0.1)]
    window = window_of(History(Instance(POOL, jobs), np.array([0.1, 0.3])), 0.0, 1.0)
    assert (window.most_used, window.is_possible) == (4, True)


def test_a_log_that_used_more_than_there_is_is_not_possible():
    crowded = History(HISTORY.instance, np.array([0.0, 10.0, 130.0]))  # 6 processors from 10 to 60 s
    whole = window_of(crowded, 0.0, 200.0)
    assert (whole.most_used, whole.is_possible) == (6, False)
    later = window_of(History(HISTORY.instance.replace(jobs=[*JOBS, JOBS[2].replace(id="4", arrival=20.0)]),
                              np.array([0.0, 10.0, 130.0, 30.0])), 20.0, 25.0)  # fmt: skip
    assert [run.job.id for run in later.sample.instance.running] == ["1"]
    assert (later.num_crowded_out, later.is_possible) == (1, False)
    assert window_of(HISTORY, 0.0, 200.0).is_possible


@pytest.mark.parametrize(
    ("instance", "sentence"),
    [
        (Instance(Platform([Cluster("a", [NodeGroup(4, power=2.0)], 0.0)]), JOBS), "identical processors of speed 1"),
        (
            Instance(
                Platform([Cluster(name, [NodeGroup(4, power=1.0)], 9.0) for name in "ab"]),
                [Job("1", tasks=2, base_time=1.0, task_bandwidth=1.0, processing_share=0.5)],
            ),
            "jobs without communication",
        ),
        (Instance(POOL, [JOBS[0].replace(times={"gpu": 9.0})]), "does not support times of jobs"),
        (Instance(POOL.replace(sharing=Sharing()), JOBS), "does not support time-shared nodes"),
    ],
)
def test_what_logs_say_nothing_of_is_refused(instance, sentence):
    with pytest.raises(CoallocError, match=sentence):
        refuse_unequal(instance)


@pytest.mark.parametrize(
    ("instance", "names"),
    [
        (HISTORY.instance, []),
        (
            Instance(Platform([Cluster("a", [NodeGroup(4, 1.0, memory=9.0)], 0.0)]), [Job("1", 1, 1.0, memory=1.0)]),
            ["memory"],
        ),
        (window_of(HISTORY, 60.0, 120.0).sample.instance, ["running"]),
        (Instance(POOL, [JOBS[0], JOBS[1].replace(after=["1"])]), ["after"]),
        (Instance(POOL, [JOBS[0].replace(deadline=900.0, shapes=[Shape(1, 9.0)])]), ["deadline", "shapes"]),
        (Instance(POOL.replace(unavailable=[Window("pool", 60.0, 90.0)]), JOBS), ["unavailable"]),
    ],
)
def test_what_restricts_jobs_beside_their_processors(instance, names):
    refuse_unequal(instance)
    assert restrictions(instance) == names


def test_jobs_that_arrive_in_an_interval_are_taken_without_others():
    # Job 2 waits at 60 s, and job 1 runs: neither is part of it. Job 3 arrives 70 s later, and starts at once.
    window = arriving(HISTORY, 60.0, 200.0)
    assert ([job.id for job in window.sample.instance.jobs], window.rows.tolist()) == (["3"], [2])
    assert (window.sample.jobs.release.tolist(), window.starts.tolist()) == ([70.0], [70.0])
    assert (list(window.sample.instance.running), window.sample.waited.tolist()) == ([], [0.0])
    assert arriving(HISTORY, 20.0, 130.0) is None
