"""Runs in which somebody else chooses: in the engine as pass by pass, and what is seen and paid on the way."""

from __future__ import annotations

import numpy as np
import pytest

from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform
from coalloc.api.episodes import Chosen, Course, Episodes, PoolEpisode, SteppedEpisode, episode_of, size_of_seen
from coalloc.api.stepping import BY_HAND
from coalloc.documents.errors import InternalError
from coalloc.engine import engine
from coalloc.simulator.policy import ENFORCED
from coalloc.simulator.simulation import engine_for
from coalloc.testing.features import small_feature_instance
from tests.simulator.test_pool_run import random_instance

SEEDS = range(60)


def tiny():
    """Return three jobs on two nodes: A (both, 100 s) at 0, B (one, 50 s) and C (one, 20 s, estimate 30 s) at 10 s."""
    platform = Platform([Cluster("C1", [NodeGroup(2, power=1.0)], link_bandwidth=1.0)])
    jobs = [
        Job("A", 2, 100.0),
        Job("B", 1, 50.0, arrival=10.0),
        Job("C", 1, 20.0, arrival=10.0, estimate=30.0),
    ]
    return Instance(platform, jobs)


def room(window, num_classes=1):
    return np.empty(window + 1, np.uint8), np.empty(size_of_seen(window, num_classes))


def course_of(instances, reward="wait_mean"):
    return Course(Episodes(instances, "platform"), reward)


def played(course, window, rng, number=0):
    """Choose at random, also what is not possible; return the rewards, and all that was seen."""
    is_possible, seen = room(window, course._episodes.num_classes)
    course.begin(number, is_possible, seen)
    rewards, views = [], [np.concatenate([is_possible, seen])]
    while not course.is_over:
        rewards.append(course.go_on(int(rng.integers(window + 1)), is_possible, seen))
        views.append(np.concatenate([is_possible, seen]))
    return rewards, views


def test_what_is_seen_and_paid():
    # A starts at 0 and ends at 100; then B and C have waited for 90 s. C starts first, B when C ends at 120.
    course = course_of([tiny()])
    assert isinstance(episode_of(tiny(), "platform"), PoolEpisode)
    is_possible, seen = room(2)
    course.begin(0, is_possible, seen)
    assert is_possible.tolist() == [1, 0, 1]
    assert seen.tolist() == [0, 1, 0, 0, 2, 2, 100, 0, 0, 0, 0, 0, 0, 0, 0]
    assert course.go_on(0, is_possible, seen) == 0.0
    assert is_possible.tolist() == [1, 1, 0]  # nothing runs, nothing is to come: to wait would be for ever
    assert seen.tolist() == [100, 2, 0, 1, 2, 1, 50, 90, 1, 30, 90, 0, 0, 0, 0]
    assert course.go_on(1, is_possible, seen) == -30.0
    assert seen.tolist() == [100, 1, 90, 1, 1, 1, 50, 90, 0, 0, 0, 30, 1, 0, 0]
    assert course.go_on(2, is_possible, seen) == 0.0  # wait
    assert course.go_on(2, is_possible, seen) == pytest.approx(-110 / 3)  # cannot wait: the first that fits starts
    assert (course.is_over, course.metric) == (True, pytest.approx(200 / 3))
    assert [(p.job, p.start) for p in course.result().schedule] == [("A", 0.0), ("B", 120.0), ("C", 100.0)]


@pytest.mark.parametrize("reward", ["wait_mean", "bounded_slowdown_mean"])
def test_runs_in_the_engine_are_those_pass_by_pass(reward):
    tried = 0
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        instance, window = random_instance(rng), int(rng.integers(1, 6))
        if not instance.jobs:
            continue
        tried += 1
        in_engine, stepped = (course_of([instance], reward) for _ in range(2))
        beginning = engine_for(instance, Chosen("platform"), name=BY_HAND)
        stepped._episodes._prepared[0] = SteppedEpisode(instance, beginning, "platform")
        ours, theirs = (played(course, window, np.random.default_rng(seed)) for course in (in_engine, stepped))
        np.testing.assert_allclose(np.array(ours[1]), np.array(theirs[1]), rtol=1e-12, atol=1e-9)
        assert in_engine.result().schedule == stepped.result().schedule
    assert tried > len(SEEDS) * 0.9


@pytest.mark.parametrize("reward", ["wait_mean", "bounded_slowdown_mean", "utilization"])
def test_rewards_sum_to_the_metric_whatever_the_features(reward):
    for seed in SEEDS:
        instance, _ = small_feature_instance(seed, features=ENFORCED)
        try:
            course = course_of([instance], reward)
        except CoallocError:
            continue  # a job fits nowhere
        rewards, _ = played(course, 3, np.random.default_rng(seed))
        expected = course.result().metrics[reward]
        assert course.metric == pytest.approx(expected, rel=1e-9, abs=1e-9)
        assert abs(sum(rewards)) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_a_run_begins_anew_and_instances_may_differ():
    courses = course_of([tiny(), tiny().replace(jobs=tiny().jobs[:1])])
    runs = [played(courses, 2, np.random.default_rng(7), number) for number in (0, 1, 0)]
    assert np.array_equal(runs[0][1], runs[2][1])
    assert len(runs[1][1]) == 2


def test_what_is_not_supported_is_refused():
    two = tiny().replace(platform=Platform([Cluster("C", [NodeGroup(1, power=1.0), NodeGroup(1, power=2.0)], 1.0)]))
    courses = course_of([tiny(), two])
    with pytest.raises(CoallocError, match="instance 1 has another number of node classes than the first"):
        courses.begin(1, *room(2))
    shared = tiny().replace(platform=Platform([Cluster("C", [NodeGroup(2, power=1.0, multiprogramming=2)], 1.0)]))
    with pytest.raises(CoallocError, match="time-shared nodes"):
        course_of([shared])
    with pytest.raises(CoallocError, match="the episode is not over"):
        courses.result()


def test_the_engine_refuses_wrong_numbers():
    pool = engine_for(tiny(), Chosen("platform"), name=BY_HAND).pool_by_hand()
    is_possible, seen = room(2)
    for arguments in ((3, 10.0, 3, is_possible), (0, -1.0, 3, is_possible), (0, 10.0, 1, is_possible[:1])):
        with pytest.raises(InternalError, match="of pool_run_choose is out of range"):
            engine().pool_run_choose(pool._made, *arguments, len(seen), seen)
    with pytest.raises(InternalError, match="num_seen of pool_run_choose is out of range"):
        engine().pool_run_choose(pool._made, 0, 10.0, 3, is_possible, 4, seen[:4])
