"""The experiments of CISNE: what is drawn, and what scenarios and loads have in common."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import coalloc
from coalloc import CoallocError, Sharing
from coalloc.workloads.generators import generate
from coalloc.workloads.generators.cisne import USER_TIME


def facts(job):
    """Return what does not depend on the kind of application."""
    return job.id, job.tasks, job.base_time, job.arrival


def test_the_cluster_is_that_of_the_source():
    instance = generate("cisne", seed=1, jobs=5)
    assert len(instance.platform.nodes) == 8
    assert instance.platform.num_processors == 32
    assert instance.local_users == ()
    assert instance.sharing == Sharing()


def test_scenarios_differ_in_users_and_paging_alone():
    one, two, three = (generate("cisne", seed=3, scenario=scenario) for scenario in (1, 2, 3))
    assert one.jobs == two.jobs == three.jobs
    assert two.local_users == three.local_users != ()
    assert (two.sharing.paging, three.sharing.paging) == (0.0, 0.125)
    assert {user.node for user in two.local_users} == {"C1/0", "C1/1", "C1/2", "C1/3"}


def test_loads_differ_in_kinds_alone():
    # A job that is IS where a quarter is, is so where half and three quarters are: draws are the same.
    loads = {load: generate("cisne", seed=3, jobs=400, load=load, scenario=2) for load in ("cpu", "mixed", "net")}
    kinds = [[job.user for job in instance.jobs] for instance in loads.values()]
    assert len({tuple(map(facts, instance.jobs)) for instance in loads.values()}) == 1
    assert len({instance.local_users for instance in loads.values()}) == 1
    assert all(pair != ("IS", "MG") for pair in zip(kinds[0], kinds[1], strict=True))
    # Shares of IS among 400: 5 sigma are 5 * sqrt(0.25 * 0.75 / 400) = 0.108 and 0.125.
    assert [k.count("IS") / 400 for k in kinds] == [pytest.approx(share, abs=0.125) for share in (0.25, 0.5, 0.75)]


def test_kinds_have_their_share_memory_and_factor():
    plain = generate("cisne", seed=1, is_memory=10, mg_memory=20, is_share=0.1, mg_share=0.8)
    longer = generate("cisne", seed=1, is_memory=10, mg_memory=20, is_share=0.1, mg_share=0.8, is_factor=2.0)
    assert {(j.user, j.memory, j.processing_share) for j in plain.jobs} == {("IS", 10.0, 0.1), ("MG", 20.0, 0.8)}
    for one, other in zip(plain.jobs, longer.jobs, strict=True):
        factor = 2.0 if one.user == "IS" else 1.0
        assert other.base_time == pytest.approx(factor * one.base_time, abs=1e-3)


def test_users_are_of_the_three_profiles_in_their_shares():
    instance = generate("cisne", seed=1, jobs=300, scenario=2, nodes=64, user_nodes=64, offered_load=0.5)
    users = instance.local_users
    number = Counter(user.profile for user in users)
    # 3,000 users and more: 5 sigma of 0.62 are below 0.045.
    assert len(users) > 3000
    assert number["xwindows"] / len(users) == pytest.approx(0.62, abs=0.045)
    assert number["internet"] / len(users) == pytest.approx(0.33, abs=0.045)
    active = [user.end - user.start for user in users if user.profile == "internet"]
    assert np.mean(active) == pytest.approx(900, abs=5 * 900 / len(active) ** 0.5)
    assert {(u.cpu, u.memory) for u in users if u.profile == "shell"} == {(0.6, 40.0)}


def test_users_are_there_longer_than_jobs_come():
    instance = generate("cisne", seed=2, scenario=2)
    until = USER_TIME * max(job.arrival + job.base_time for job in instance.jobs)
    for node in range(4):
        assert max(user.end for user in instance.local_users if user.node == f"C1/{node}") >= until


def test_one_node_will_do():
    instance = generate("cisne", seed=1, jobs=5, nodes=1, user_nodes=1, scenario=3)
    assert {job.tasks for job in instance.jobs} == {1}


def test_more_nodes_with_users_than_nodes_are_a_fault():
    with pytest.raises(CoallocError, match=r"user_nodes: must be at most nodes = 8, got 9"):
        generate("cisne", user_nodes=9)


@pytest.mark.parametrize("mix", ["SJF-JFirst", "FCFS-FFit", "SNPF-BFit"])
def test_every_mix_runs_every_scenario(mix):
    for scenario in (1, 2, 3):
        instance = generate("cisne", seed=5, jobs=30, scenario=scenario)
        run = coalloc.simulate(instance, "loras", mix=mix)  # checked
        assert len(run.schedule) == 30
