"""The policies of an audit: which one is named, what it gains where it was not chosen, who pays."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import coalloc
from coalloc import Cluster, Instance, Job, NodeGroup, Platform
from coalloc.measures.groups import Labels
from coalloc.studies.audit_model import ModelFit
from coalloc.studies.audit_policies import (
    AS_IT_WAS,
    CANDIDATES,
    PolicyTrial,
    Population,
    Trials,
    on_front,
    refinements,
    spelled,
)
from coalloc.studies.audit_samples import policy_starts
from coalloc.studies.audit_windows import History, window_of

POOL = Platform([Cluster("pool", [NodeGroup(4, power=1.0)], 0.0)])


def trials(jobs, length, audited, memberships=None, **policies):
    """Return schedules of jobs, of which these are the waits, in intervals of a length (s)."""
    instance = Instance(POOL, jobs)
    arrivals = np.array([job.arrival for job in jobs])
    window = window_of(History(instance, arrivals + audited), 0.0, float(arrivals.max()) + 1.0)
    tried = (PolicyTrial(label, {"policy": label}, np.array(waits)) for label, waits in policies.items())
    return Trials(
        Population.of(window, length, memberships or {}),
        PolicyTrial(AS_IT_WAS, None, np.array(audited)),
        tuple(tried),
        (),
    )


def hourly(number):
    return [Job(f"{k}", tasks=1, base_time=60.0, arrival=3600.0 * k) for k in range(number)]


def test_a_policy_is_chosen_on_odd_intervals_and_measured_on_even_ones():
    # One job an hour: those of hours 1, 3, 5 choose, those of 2, 4 measure. "lucky" is the best on average (10 of 40 s)
    # but not on the odd hours.
    found = trials(hourly(5), 3600.0, [40.0] * 5, steady=[10.0, 20.0, 10.0, 20.0, 10.0], lucky=[20, 0, 20, 0, 10])
    assert found.named.label == "steady"
    assert found.gain.mean == 0.5  # 20 of 40 s
    assert (found.gain.samples, math.isnan(found.gain.low), math.isnan(found.gain.high)) == (2, True, True)
    assert found.gain_over(found.audited.waits) == pytest.approx(1.0 - 70.0 / 200.0)
    table = found.table.set_index("policy")
    assert table.loc["steady", ["wait_chosen_on", "wait_measured_on"]].tolist() == [10.0, 20.0]
    assert table["kind"].to_dict() == {"lucky": "tried", "steady": "named", AS_IT_WAS: "audited"}


def test_intervals_without_jobs_do_not_count_and_a_gain_on_enough_of_them_has_an_interval():
    jobs = [job.replace(arrival=2.0 * job.arrival) for job in hourly(24)]
    waits = [100.0 if k % 2 else 10.0 for k in range(24)]
    found = trials(jobs, 3600.0, [100.0] * 24, some=[wait / (2 + k % 3) for k, wait in enumerate(waits)])
    assert found.jobs.num_intervals == 24
    # On the even ones 100 / (2 + k % 3) for odd k: a third each of 100/3, 50 and 25 is left of 100.
    assert found.gain.mean == pytest.approx(1.0 - (100.0 / 3.0 + 50.0 + 25.0) / 300.0)
    assert 0.5 < found.gain.low < found.gain.mean < found.gain.high < 0.75


def test_of_very_many_intervals_neighbours_are_samples_together():
    # 1001 even intervals, half of which have all waiting avoided: 50 %, give or take 4 standard errors of 1.6 %.
    found = trials(hourly(2002), 3600.0, [8.0] * 2002, some=[8.0 * (k % 4 == 1) for k in range(2002)])
    assert (found.gain.samples, found.gain.mean) == (1001, pytest.approx(0.5, abs=1e-3))
    assert 0.43 < found.gain.low < found.gain.mean < found.gain.high < 0.57


def test_of_policies_that_are_equally_good_the_one_with_the_shorter_tail_is_named():
    # 1 % more on average, and nobody waits 150 s.
    found = trials(hourly(3), 1e6, [200.0] * 3, harsh=[0.0, 150.0, 0.0], fair=[50.0, 51.0, 50.5], worse=[60.0] * 3)
    assert found.named.label == "fair"
    assert found.gain.mean == pytest.approx(1.0 - 151.5 / 600.0)  # on the one interval that there is


def test_no_policy_is_named_where_none_makes_jobs_wait_less():
    assert trials(hourly(2), 3600.0, [1.0, 9.0], other=[1.0, 0.0]).named is None


def test_groups_say_who_waits_and_who_starves():
    day = 86_400.0
    jobs = [
        Job("0", tasks=1, base_time=60.0, user="ann", estimate=600.0),
        Job("1", tasks=4, base_time=7200.0, user="bob", estimate=9000.0),
        Job("2", tasks=4, base_time=7200.0, user="ann", estimate=2.0 * day),
    ]
    # More than a day, and more than ten times what was asked for: job 1 alone starves.
    queues, only = Labels(["7", None], np.array([0, 1, 0])), Labels(["1"], np.array([0, 0, 0]))
    memberships = {"queue": queues, "partition": only}  # the only partition is no group
    found = trials(jobs, day, [3.0, 6.0, 9.0], memberships, other=[0.0, 2.0 * day, 2.0 * day])
    found = Trials(found.jobs, found.policies[0], (found.audited,), ())  # the other way round
    groups = found.groups().set_index(["by", "group"])
    assert groups["jobs"].to_dict() == {
        ("size", "1"): 1,
        ("size", "2-4"): 2,
        ("length", "up to 10 min"): 1,
        ("length", "1 h to 6 h"): 2,
        ("queue", "7"): 2,
        ("queue", "unknown"): 1,
        ("user", "user 1"): 2,
        ("user", "user 2"): 1,
    }
    assert groups.loc[("size", "2-4"), ["mean_before", "mean_after", "max_after"]].tolist() == [2.0 * day, 7.5, 9.0]
    assert groups.loc["size"][["starved_before", "starved_after"]].to_numpy().tolist() == [[0, 0], [1, 0]]
    assert found.groups(users=True)["group"].tolist()[-2:] == ["ann", "bob"]


def test_the_front_has_what_nothing_else_dominates_and_of_equal_points_the_first():
    points = np.array([[1.0, 5.0], [2.0, 3.0], [2.0, 3.0], [2.0, 4.0], [3.0, 1.0], [3.0, 9.0]])
    assert on_front(points).tolist() == [True, True, False, False, True, False]


def test_as_many_policies_are_tried_as_the_help_and_the_documentation_say():
    assert len(CANDIDATES) == 27


@pytest.mark.parametrize("label", CANDIDATES)
def test_every_candidate_runs_as_simulate_does_with_its_own_spelling(label):
    instance = coalloc.generate("lublin", seed=3, jobs=60, nodes=4, clusters=1, lowest_power=1.0, highest_power=1.0)
    jobs = [job.replace(arrival=job.arrival + 500.0, estimate=1.5 * job.base_time) for job in instance.jobs]
    instance = instance.replace(jobs=jobs)
    policy = CANDIDATES[label]
    assert spelled(policy) == label
    options = {name: option for name, option in policy.items() if name != "policy"}
    expected = [p.start for p in coalloc.simulate(instance, policy["policy"], **options).schedule.placements]
    begin = min(job.arrival for job in instance.jobs)
    window = window_of(History(instance, np.array(expected)), begin, 1e9)
    starts = policy_starts(window.sample, policy, knows_run_times=False)
    assert (starts + begin).tolist() == pytest.approx(expected)


def test_a_model_of_the_site_is_compared_start_by_start():
    # Two jobs of two of four processors for 60 s, at 0 and at 30 s; the model starts the second 60 s later.
    jobs = [Job("0", tasks=2, base_time=60.0), Job("1", tasks=2, base_time=60.0, arrival=30.0)]
    window = window_of(History(Instance(POOL, jobs), np.array([0.0, 30.0])), 0.0, 150.0)
    fit = ModelFit(window, PolicyTrial("model", {"policy": "fcfs"}, np.array([0.0, 60.0])), np.array([0.0, 0.0]))
    assert fit.differences.tolist() == [0.0, 60.0]
    assert fit.tau_starts == 1.0
    edges, recorded, simulated = fit.utilization
    # 240 processor-seconds in both.
    assert [float(shares.sum()) * (edges[1] - edges[0]) * 4 for shares in (recorded, simulated)] == pytest.approx(
        [240.0, 240.0]
    )
    assert recorded[edges[:-1] == 30.0].tolist() == [1.0]
    assert simulated[edges[:-1] == 30.0].tolist() == [0.5]
    # From 30 to 60 s half, from 60 to 90 s half, from 90 to 150 s half as well: 120 of 150 s differ by a half.
    assert fit.utilization_error == pytest.approx(0.4)
    assert "does not repeat the log" in fit.verdict
    # No job of the log waits: nothing ranks its waits.
    assert "Kendall's tau of starts 1.000, of waits undefined; " in fit.sentences[2]


def test_a_model_that_repeats_the_log_can_be_trusted():
    jobs = hourly(4)
    waits = np.array([10.0, 0.0, 30.0, 20.0])
    window = window_of(History(Instance(POOL, jobs), 3600.0 * np.arange(4) + waits), 0.0, 1e6)
    fit = ModelFit(window, PolicyTrial("model", {"policy": "fcfs"}, waits), waits)
    assert (fit.tau_waits, fit.wait_error, fit.utilization_error) == (1.0, 0.0, 0.0)
    assert "can be trusted" in fit.verdict
    rough = ModelFit(window, PolicyTrial("model", {"policy": "fcfs"}, 1.25 * waits), waits)
    assert "roughly" in rough.verdict


def test_the_best_order_of_easy_is_tried_with_other_orders_of_those_that_pass():
    waits = {"easy": [9.0, 9.0], "easy queue_order=f1": [1.0, 9.0], "list queue_order=f2 skip=true": [0.0, 0.0]}
    found = trials(hourly(2), 3600.0, [10.0, 10.0])
    tried = tuple(PolicyTrial(label, CANDIDATES[label], np.array(of_jobs)) for label, of_jobs in waits.items())
    # f1 is best on the odd hour. Its own order and "spt" are among the 27.
    more = refinements(replace(found, policies=tried))
    assert list(more) == [f"easy queue_order=f1 candidates={o}" for o in ("sjf", "f2", "f3", "f4", "wfp3", "unicef")]
    assert refinements(replace(found, policies=tried[2:])) == {}
