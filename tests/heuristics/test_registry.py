"""Policies by name: what there is, options, and one line per fault."""

import pytest

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform, Policy
from coalloc.heuristics.registry import POLICIES, policy_named
from coalloc.simulator.engine import Interrupted
from coalloc.simulator.routing import Broker


def test_the_names_are_those_of_the_classics_and_what_followed():
    assert coalloc.policies()[:8] == ("fcfs", "sjf", "bjf", "fpfs", "spt", "lpt", "easy", "conservative")


@pytest.mark.parametrize("name", coalloc.policies())
def test_every_policy_follows_the_protocol_and_has_options_with_valid_defaults(name):
    assert isinstance(policy_named(name, {}), (Policy, Broker))
    for option, default in POLICIES[name].options.items():
        assert policy_named(name, {option: default}) is not None
        choices = POLICIES[name].choices(option)
        assert not choices or default in choices


def test_policies_of_one_name_share_no_state():
    one, other = policy_named("conservative", {}), policy_named("conservative", {})
    assert one is not other
    assert one._places is not other._places


def cores(nodes, powers):
    """Return clusters of nodes of four cores each, with watts."""
    watts = {"idle_watts": 50.0, "static_watts": 90.0, "core_watts": 20.0}
    groups = [NodeGroup(nodes, power=power, cores=4, **watts) for power in powers]
    return Platform([Cluster(f"C{k}", [group], link_bandwidth=1e3) for k, group in enumerate(groups, 1)])


def load(platform, *estimates):
    """Return jobs of 1 to 4 tasks, one every 5 s, that run shorter than estimated or longer."""
    jobs = [
        Job(
            f"J{i}", tasks=1 + 3 * i % 4, base_time=10.0 + 7 * i % 30, arrival=5.0 * i, estimate=estimates[i % 3] + 40.0
        )
        for i in range(12)
    ]
    return Instance(platform, jobs)


@pytest.mark.parametrize("name", coalloc.policies())
def test_a_policy_keeps_nothing_from_one_run_to_the_next(name, monkeypatch):
    # One object for a run to the end, one that is left in the middle, and one on another platform, whose jobs have the
    # same names: it decides as a new one does.
    def leave(position):
        if position.waiting:
            raise KeyboardInterrupt

    monkeypatch.setattr("coalloc.simulator.engine.PASSES_PER_REPORT", 4)
    options = {"work_limit": 100} if "work_limit" in POLICIES[name].options else {}
    small, large = load(cores(1, (1.0,)), 0.0, 50.0, 500.0), load(cores(1, (1.0, 0.5)), 90.0, 0.0, 10.0)
    policy = policy_named(name, options)
    for first, second in ((small, large), (large, small)):
        coalloc.simulate(first, policy)
        with pytest.raises(Interrupted):
            coalloc.simulate(first, policy, progress=leave)
        assert coalloc.simulate(second, policy).schedule == coalloc.simulate(second, name, **options).schedule


@pytest.mark.parametrize(
    ("name", "options", "lines"),
    [
        ("eazy", {}, ["unknown policy 'eazy' (did you mean 'easy'?); available: " + ", ".join(POLICIES)]),
        (
            "easy",
            {"alocation": "x"},
            [
                "policy 'easy' has no option alocation (did you mean allocation?); "
                "its options: queue_order, candidates, allocation, scope, shapes, preempt"
            ],
        ),
        (
            "fcfs",
            {"queue_order": "sjf"},
            ["policy 'fcfs' has no option queue_order; its options: skip, allocation, scope"],
        ),
        (
            "easy",
            {"queue_order": "fifo"},
            [
                "queue_order of policy 'easy' must be one of fcfs, sjf, bjf, spt, lpt, largest-area, wfp3, unicef, "
                "f1, f2, f3, f4, multifactor, a function or an object with key(state) and changes_every, got 'fifo'"
            ],
        ),
        (
            "easy",
            {"queue_order": {"weight_age": 1}, "candidates": {"order": "multifactor", 1: 2}},
            [
                "queue_order of policy 'easy' must have one of multifactor as its order, got None",
                "candidates of policy 'easy' is wrong: order 'multifactor' has no option 1; its options: weight_age, "
                "weight_fair_share, weight_job_size, weight_partition, weight_qos, max_age, half_life, calc_period, "
                "favor_small, shares, partitions, qos, nice",
            ],
        ),
        (
            "easy",
            {"queue_order": {"order": "multi"}, "candidates": {"order": "multifactor", "weight_age": -1}},
            [
                "queue_order of policy 'easy' must have one of multifactor as its order, got 'multi' (did you mean "
                "'multifactor'?)",
                "candidates of policy 'easy' is wrong: weight_age of order 'multifactor' must be at least 0, got -1",
            ],
        ),
        (
            "list",
            {"queue_order": {"order": "multifactor", "weight_ag": 1, "shares": {}}},
            [
                "queue_order of policy 'list' is wrong: order 'multifactor' has no option weight_ag (did you mean "
                "weight_age?); its options: weight_age, weight_fair_share, weight_job_size, weight_partition, "
                "weight_qos, max_age, half_life, calc_period, favor_small, shares, partitions, qos, nice"
            ],
        ),
        ("pas", {"work_limit": 0}, ["work_limit of policy 'pas' must be at least 1, got 0"]),
        ("oas", {"work_limit": "x"}, ["work_limit of policy 'oas' must be an integer, got 'x'"]),
        (
            "pas",
            {"allocation": "first-fit"},
            ["allocation of policy 'pas' must be one of pas, cbs, jpr, got 'first-fit'"],
        ),
        ("fpfs", {"skip": False}, ["policy 'fpfs' has no option skip; its options: allocation, scope"]),
        (
            "fcfs",
            {"skip": "yes", "scope": "rack", "allocation": 7},
            [
                "skip of policy 'fcfs' must be one of False, True, got 'yes'",
                "scope of policy 'fcfs' must be one of platform, cluster, node, got 'rack'",
                "allocation of policy 'fcfs' must be one of fastest-first, fewest-clusters, best-processing, "
                "first-fit, got 7",
            ],
        ),
    ],
)
def test_a_fault_is_a_line_that_says_what_there_is(name, options, lines):
    with pytest.raises(CoallocError) as faults:
        policy_named(name, options)
    assert str(faults.value).splitlines() == lines
