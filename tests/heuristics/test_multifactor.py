"""Slurm's multifactor priority: schedules by hand, and the ranks of Fair Tree by its rules for ties.

On one processor jobs of 10 s start in the order of their priorities once the first has ended.
"""

from __future__ import annotations

import math

import pytest

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform
from coalloc.heuristics.multifactor import Member, Multifactor, fair_tree

NONE = dict.fromkeys(("weight_age", "weight_fair_share", "weight_job_size", "weight_partition", "weight_qos"), 0.0)
FOREVER = 1e12
"""A half-life, s, after which what was long ago counts as all else does."""


def starts(jobs, processors=1, policy="easy", **options):
    """Return the starts of jobs under an order with these options and no other weights, s."""
    group = NodeGroup(processors, power=1.0, features=["cpu", "gpu"])
    instance = Instance(Platform([Cluster("C1", [group], 100.0)]), jobs)
    run = coalloc.simulate(instance, policy, queue_order={"order": "multifactor", **NONE, **options})
    return {placement.job: placement.start for placement in run.schedule}


def job(name, arrival, seconds=10.0, tasks=1, **others):
    return Job(name, tasks, seconds, arrival=arrival, **others)


TWO = [job("J0", 0.0, 100.0), job("J1", 10.0), job("J2", 20.0)]


def test_an_old_job_is_first_and_nice_puts_it_back():
    # At 100 s, ages of 90 and 80 s of 1000: priorities 90 and 80, with a nice of 50 for J1 40 and 80.
    age = {"weight_age": 1000.0, "max_age": 1000.0, "calc_period": 50.0}
    assert starts(TWO, **age) == {"J0": 0.0, "J1": 100.0, "J2": 110.0}
    assert starts(TWO, **age, nice={"J1": 50.0}) == {"J0": 0.0, "J1": 110.0, "J2": 100.0}


def test_priorities_last_for_a_period():
    # At 20 s, when there are two, J1 has 10 - 50 and J2 0: both count as 1, and J1 came first. With a period of 300 s
    # that is still so at 100 s.
    age = {"weight_age": 1000.0, "max_age": 1000.0, "calc_period": 300.0}
    assert starts(TWO, **age, nice={"J1": 50.0}) == {"J0": 0.0, "J1": 100.0, "J2": 110.0}


def test_age_counts_up_to_a_maximum():
    # At 100 s both have waited for more than 30 s: 1000 - 1 and 1000.
    age = {"weight_age": 1000.0, "max_age": 30.0, "calc_period": 50.0}
    assert starts(TWO, **age, nice={"J1": 1.0}) == {"J0": 0.0, "J1": 110.0, "J2": 100.0}


def test_priorities_are_whole_numbers():
    # At 100 s 9.0 and 8.0 of 100, and with 0.5 for a nice of J1 8.5, which is 8: J1, as it came first.
    age = {"weight_age": 100.0, "max_age": 1000.0, "calc_period": 50.0}
    assert starts(TWO, **age, nice={"J1": 0.5}) == {"J0": 0.0, "J1": 100.0, "J2": 110.0}


@pytest.mark.parametrize(("favor_small", "first", "last"), [(False, "J2", "J1"), (True, "J1", "J2")])
def test_large_jobs_are_first_or_small_ones(favor_small, first, last):
    # On two processors: 500 and 1000; where small ones are favoured 1000 and 500.
    jobs = [job("J0", 0.0, tasks=2), job("J1", 1.0), job("J2", 2.0, tasks=2)]
    assert starts(jobs, 2, weight_job_size=1000.0, favor_small=favor_small) == {"J0": 0.0, first: 10.0, last: 20.0}


def test_a_partition_has_a_priority():
    # Normalised to the highest: gpu 1, cpu 0.5; J3 is in none: 0.
    jobs = [TWO[0], job("J1", 1.0), job("J2", 2.0, requires=["cpu"]), job("J3", 3.0, requires=["gpu"])]
    found = starts(jobs, weight_partition=1000.0, partitions={"gpu": 4.0, "cpu": 2.0})
    assert found == {"J0": 0.0, "J3": 100.0, "J2": 110.0, "J1": 120.0}


def test_a_job_or_a_user_has_a_quality_of_service():
    # J2 is of eve: 10; J3 has 20 itself, though eve's jobs have 10; J1 none.
    jobs = [TWO[0], job("J1", 1.0), job("J2", 2.0, user="eve"), job("J3", 3.0, user="eve")]
    found = starts(jobs, weight_qos=1000.0, qos={"eve": 10.0, "J3": 20.0})
    assert found == {"J0": 0.0, "J3": 100.0, "J2": 110.0, "J1": 120.0}


FAIR = {"weight_fair_share": 10_000.0, "half_life": FOREVER, "calc_period": 1.0}


def test_who_has_had_less_is_first():
    # ann has had 100 s and bob nothing; then ann is first at 110, when bob has no other job.
    jobs = [job("A1", 0.0, 100.0, user="ann"), job("A2", 1.0, user="ann"), job("B1", 2.0, user="bob")]
    assert starts(jobs, **FAIR) == {"A1": 0.0, "B1": 100.0, "A2": 110.0}


@pytest.mark.parametrize("policy", ["easy", "list", "slurm"])
def test_shares_are_what_users_should_have(policy):
    # Usage over shares, ann : bob, with 2.5 shares and 1: at 200 s 100/2.5 : 100 - ann; at 300 s 200/2.5 : 100 - ann;
    # at 400 s 300/2.5 : 100 - bob; at 500 s 120 : 200 - ann.
    seconds = {"seconds": 100.0}
    jobs = [job("A1", 0.0, user="ann", **seconds), job("B1", 100.0, user="bob", **seconds)]
    jobs += [job(f"B{k}", 110.0 + k, user="bob", **seconds) for k in (2, 3)]
    jobs += [job(f"A{k}", 120.0 + k, user="ann", **seconds) for k in (2, 3, 4)]
    found = starts(jobs, policy=policy, **FAIR, shares={"ann": 2.5, "bob": 1.0})
    assert found == {"A1": 0, "B1": 100, "A2": 200, "A3": 300, "B2": 400, "A4": 500, "B3": 600}


@pytest.mark.parametrize(("half_life", "first"), [(100.0, "A2"), (FOREVER, "B2")])
def test_what_is_long_ago_counts_less(half_life, first):
    # At 1000 s ann has had 100 s, which ended 9 half-lives ago (less than 0.2 s are left), and bob the last 50 s.
    jobs = [job("A1", 0.0, 100.0, user="ann"), job("B1", 950.0, 50.0, user="bob")]
    jobs += [job("B2", 960.0, user="bob"), job("A2", 961.0, user="ann")]
    found = starts(jobs, **FAIR | {"half_life": half_life})
    assert found[first] == 1000.0


def test_an_account_ranks_all_of_its_users():
    # At 105 s physics has had 100 s, all of it ann's, and chemistry 5 s. Level fair shares: 0.5/(100/105) and
    # 0.5/(5/105): eve is before bob, who has had nothing. Without accounts bob is first.
    jobs = [job("A1", 0.0, 100.0, user="ann"), job("E1", 100.0, user="eve")]
    jobs += [job(f"{name[0].upper()}2", 105.0, user=name) for name in ("ann", "bob", "eve")]
    once = FAIR | {"calc_period": 105.0}
    shares = {"physics": [1.0, {"ann": 1.0, "bob": 1.0}], "chemistry": [1.0, {"eve": 1.0}]}
    assert starts(jobs, **once, shares=shares) == {"A1": 0, "E1": 100, "E2": 110, "B2": 120, "A2": 130}
    assert starts(jobs, **once) == {"A1": 0, "E1": 100, "B2": 110, "E2": 120, "A2": 130}


def test_ties_of_fair_tree():
    account = Member("account", 1.0, (Member("x", 1.0), Member("y", 1.0)))
    # All have no usage: all are first.
    assert fair_tree([Member("u", 1.0), account], {}) == {"u": 1.0, "x": 1.0, "y": 1.0}
    # u and the account have equal levels: u is ranked as y, the first of the account; x is third of three.
    assert fair_tree([Member("u", 1.0), account], {"u": 10.0, "x": 10.0}) == {"u": 1.0, "y": 1.0, "x": 1 / 3}
    # Two accounts with equal levels: their users are one list. a: 0.5/0.25, c: 0.25/0.5, b and d: 0.5/0.75, 0.75/0.5.
    accounts = [
        Member("one", 1.0, (Member("a", 1.0), Member("b", 1.0))),
        Member("two", 1.0, (Member("c", 1.0), Member("d", 3.0))),
    ]
    usage = {"a": 1.0, "b": 3.0, "c": 2.0, "d": 2.0}
    assert fair_tree(accounts, usage) == {"a": 1.0, "d": 0.75, "b": 0.5, "c": 0.25}
    # Who is not in the tree is beside its accounts; no shares are the last, whatever the usage.
    assert fair_tree([Member("u", 0.0), Member("v", 1.0)], {"w": 2.0, "v": 1.0}) == {"v": 1.0, "w": 2 / 3, "u": 1 / 3}


def test_a_user_of_whose_usage_next_to_nothing_is_left_is_as_one_without():
    # The part of ann, 5e-324 of 1e5 processor seconds, is 0 as a float.
    members = [Member("ann", 1.0), Member("bob", 1.0), Member("eve", 1.0)]
    assert fair_tree(members, {"ann": 5e-324, "bob": 1e5}) == {"ann": 1.0, "eve": 1.0, "bob": 1 / 3}


@pytest.mark.parametrize("nice", [math.nan, math.inf, "1"])
def test_nice_is_a_number(nice):
    with pytest.raises(CoallocError, match="nice of order 'multifactor'"):
        starts(TWO, nice={"J1": nice})


@pytest.mark.parametrize(
    "shares", [{"a": -1.0}, {"a": True}, {"a": [1.0, 2.0]}, {"a": [{}, {}]}, {"a": math.inf}, {"a": "1"}]
)
def test_shares_that_are_none(shares):
    with pytest.raises(
        CoallocError, match="shares of 'a' must be a number of at least 0, for an account with its members"
    ):
        Multifactor(shares=shares)
