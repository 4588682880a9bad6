"""V of mixes of queue policies, by hand."""

import numpy as np
import pytest

import coalloc
from coalloc import Cluster, Instance, Job, NodeGroup, Platform, Sharing
from coalloc.measures.sharing import SHARING_METRICS, dedicated
from coalloc.measures.stability import (
    RUN_METRICS,
    WEIGHTS,
    makespan_ratio,
    relative_stability,
    stability,
    stability_terms,
)


def test_runs_and_terms_are_in_one_order():
    # The first four terms are metrics of a run; the last two are mean and deviation of its last one.
    assert list(WEIGHTS)[:4] == list(RUN_METRICS[:4])
    assert set(RUN_METRICS[:4]) <= set(SHARING_METRICS)
    assert list(WEIGHTS)[4:] == [f"{RUN_METRICS[4]}_mean", f"{RUN_METRICS[4]}_deviation"]


def test_terms_are_means_over_runs_and_the_deviation_of_the_makespan_ratio():
    # Two runs: 1 and 3 have mean 2; makespan ratios 1.0 and 1.4 have mean 1.2 and deviation 0.2.
    runs = np.array([[1.0, 0.5, 100.0, 40.0, 1.0], [3.0, 0.7, 300.0, 80.0, 1.4]])
    assert stability_terms(runs).tolist() == pytest.approx([2.0, 0.6, 200.0, 60.0, 1.2, 0.2])
    # Runs along the first axis, two mixes along the second: each mix has its own terms.
    both = stability_terms(np.stack([runs, 2.0 * runs], axis=1), axis=0)
    assert both[1].tolist() == pytest.approx((2.0 * both[0]).tolist())


def test_v_as_printed():
    # 3.0 * 2 + 2.6 * 0.5 + 1.8 * 100 + 1.0 * 40 + 3.0 * 1.2 + 2.6 * 0.1 = 6 + 1.3 + 180 + 40 + 3.6 + 0.26
    assert stability(np.array([2.0, 0.5, 100.0, 40.0, 1.2, 0.1])) == pytest.approx(231.16)


def test_relative_v_has_no_unit_and_its_mean_is_the_sum_of_the_weights():
    # Slowdowns 1 and 3 are 0.5 and 1.5 of their mean; all else is alike: 14 -+ 0.5 * 3.0.
    terms = np.array([[1.0, 0.5, 100.0, 40.0, 1.2, 0.1], [3.0, 0.5, 100.0, 40.0, 1.2, 0.1]])
    assert relative_stability(terms).tolist() == pytest.approx([12.5, 15.5])
    minutes = terms / np.array([1, 1, 60, 60, 1, 1])
    assert relative_stability(minutes).tolist() == pytest.approx([12.5, 15.5])
    # Over two scenarios as well: turnaround 100 and 300 in the second are 0.5 and 1.5 of their mean, 14 -+ 0.9.
    slower = np.array([[1.0, 0.5, 100.0, 40.0, 1.2, 0.1], [1.0, 0.5, 300.0, 40.0, 1.2, 0.1]])[:, np.newaxis]
    assert relative_stability(slower, among=(0, 1)).ravel().tolist() == pytest.approx([13.1, 14.9])


def test_a_term_that_is_nowhere_is_alike_everywhere():
    terms = np.array([[1.0, 0.0, 100.0, 40.0, 1.2, 0.0], [1.0, 0.0, 100.0, 40.0, 1.2, 0.0]])
    assert relative_stability(terms).tolist() == pytest.approx([14.0, 14.0])


def test_the_makespan_ratio_is_over_dedicated_nodes():
    # Two jobs of 100 s, the first from 50 on, the other from 60 on. One node with two places: both have half of it
    # from 60 to 240, the first then has had 10 + 90 and ends, the second ends at 250: makespan 200.
    # Without a second place: 50 to 150, 150 to 250: 200 as well. If all is communication: 110 and 200.
    def pair(share):
        group = NodeGroup(1, power=1.0, multiprogramming=2)
        platform = Platform([Cluster("C1", [group], link_bandwidth=5.0)], sharing=Sharing())
        jobs = [Job(f"J{n}", 1, 100.0, processing_share=share, arrival=50.0 + 10.0 * n) for n in range(2)]
        return Instance(platform, jobs)

    for share, ratio in ((1.0, 1.0), (0.0, 110.0 / 200.0)):
        shared = pair(share)
        schedules = [coalloc.simulate(instance, "loras").schedule for instance in (shared, dedicated(shared))]
        assert makespan_ratio(shared, *schedules) == pytest.approx(ratio)
    nobody = pair(1.0).replace(jobs=[])
    assert makespan_ratio(nobody, schedules[0], schedules[1]) == 1.0
