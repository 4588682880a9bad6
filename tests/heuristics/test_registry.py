"""Policies by name: what there is, options, and one line per fault."""

import pytest

import coalloc
from coalloc import CoallocError, Policy
from coalloc.heuristics.registry import POLICIES, policy_named


def test_the_names_are_those_of_the_classics_and_what_followed():
    assert coalloc.policies()[:8] == ("fcfs", "sjf", "bjf", "fpfs", "spt", "lpt", "easy", "conservative")


@pytest.mark.parametrize("name", coalloc.policies())
def test_every_policy_follows_the_protocol_and_has_options_with_valid_defaults(name):
    assert isinstance(policy_named(name, {}), Policy)
    for option, default in POLICIES[name].options.items():
        assert policy_named(name, {option: default}) is not None
        choices = POLICIES[name].choices(option)
        assert not choices or default in choices


def test_policies_of_one_name_share_no_state():
    one, other = policy_named("conservative", {}), policy_named("conservative", {})
    assert one is not other
    assert one._places is not other._places


@pytest.mark.parametrize(
    ("name", "options", "lines"),
    [
        ("eazy", {}, ["there is no policy 'eazy' (did you mean 'easy'?); there are " + ", ".join(POLICIES)]),
        (
            "easy",
            {"alocation": "x"},
            ["policy 'easy' has no option alocation (did you mean allocation?); it has allocation, scope"],
        ),
        ("easy", {"order": "sjf"}, ["policy 'easy' has no option order; it has allocation, scope"]),
        ("pas", {"work_limit": 0}, ["work_limit of policy 'pas' must be at least 1, got 0"]),
        ("oas", {"work_limit": "x"}, ["work_limit of policy 'oas' must be a whole number, got 'x'"]),
        (
            "pas",
            {"allocation": "first-fit"},
            ["allocation of policy 'pas' must be one of pas, cbs, jpr, got 'first-fit'"],
        ),
        ("fpfs", {"skip": False}, ["policy 'fpfs' has no option skip; it has allocation, scope"]),
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
