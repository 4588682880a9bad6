"""Policies in the words of Slurm and Flux: which have settings, and what an audit of a log says of them."""

import json

import pytest

from coalloc import audit
from coalloc.studies.audit_policies import CANDIDATES
from coalloc.studies.audit_sites import FLUX, SLURM, flux_settings, slurm_settings
from tests.cli.test_audit import SACCT
from tests.workloads.test_flux import ran


def test_settings_state_every_parameter_in_slurms_units():
    order = {"order": "multifactor", "favor_small": True, "weight_qos": 2_000_000, "max_age": 90_061.0}
    assert slurm_settings({"policy": "slurm", "bf_window": 2880, "queue_order": order}) == (
        "SchedulerType=sched/backfill",
        "SchedulerParameters=bf_interval=30,bf_window=2880,bf_resolution=60,bf_max_job_test=100,bf_max_job_user=0",
        "PriorityType=priority/multifactor",
        "PriorityWeightAge=1000",
        "PriorityWeightFairshare=10000",
        "PriorityWeightJobSize=1000",
        "PriorityWeightPartition=1000",
        "PriorityWeightQOS=2000000",
        "PriorityMaxAge=1-01:01:01",
        "PriorityDecayHalfLife=7-00:00:00",
        "PriorityCalcPeriod=0-00:05:00",
        "PriorityFavorSmall=YES",
    )
    assert slurm_settings({"policy": "slurm"})[2:] == ("PriorityType=priority/basic",)
    assert all(slurm_settings(policy) for policy in SLURM.values())


def test_slurm_has_no_settings_for_other_policies_orders_and_placements():
    others = ({"queue_order": "spt"}, {"allocation": "first-fit"}, {"queue_order": {"order": "f1"}})
    policies = [*CANDIDATES.values(), *({"policy": "slurm", **options} for options in others)]
    assert [policy for policy in policies if slurm_settings(policy)] == []


def test_an_audit_of_an_export_names_the_best_policy_that_slurm_has_settings_for(tmp_path, in_process):
    export = tmp_path / "october.txt"
    export.write_text(SACCT)
    given = {"easy": {"policy": "easy"}, "slurm": {"policy": "slurm"}}
    found = audit(export, processors=2, policies=given, processes=1, time_limit=0.02)
    # Under both job 2 waits 95 s for job 1, and job 3 not at all: it is the first of the two that is named.
    assert found.settings == slurm_settings({"policy": "slurm"})
    said = (
        "Slurm has no setting for easy. Of the policies that Slurm has settings for, slurm is best: mean wait 31.7 s."
    )
    assert ("settings of Slurm", said) in found.lines()
    assert found.document["settings"] == list(found.settings)
    tried = audit(export, processors=2, processes=1, time_limit=0.02).policies["policy"]
    assert {*SLURM} <= {*tried}
    assert audit(export, processors=2, policies={"easy": {"policy": "easy"}}, time_limit=0.02).settings == ()


def test_settings_of_flux_are_its_table():
    assert flux_settings({"policy": "flux", "queue_policy": "hybrid", "queue_depth": 128}) == (
        "[sched-fluxion-qmanager]",
        'queue-policy = "hybrid"',
        "queue-params.queue-depth = 128",
        "policy-params.reservation-depth = 64",
    )
    assert flux_settings({"policy": "flux"})[1:] == ('queue-policy = "fcfs"', "queue-params.queue-depth = 32")
    assert all(flux_settings(policy) for policy in FLUX.values())
    others = [{"policy": "flux", "queue_order": "spt"}, {"policy": "flux", "scope": "cluster"}, *SLURM.values()]
    assert [policy for policy in [*others, *CANDIDATES.values()] if flux_settings(policy)] == []


@pytest.fixture
def listing(tmp_path):
    """A listing of Flux, three jobs on two cores: A runs from 0 to 300 s on one, B waits for both, C behind B."""
    jobs = [
        ran(1, 1000.0, 1300.0, ncores=1, duration=300.0),
        ran(2, 1300.0, 1400.0, t_submit=1010.0, ncores=2, duration=100.0, queue="debug"),
        ran(3, 1400.0, 1500.0, t_submit=1020.0, ncores=1, duration=100.0),
    ]
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps({"jobs": jobs}))
    return path


def test_an_audit_of_a_listing_of_flux_tries_its_policies(listing, in_process):
    found = audit(listing, processors=2, processes=1, time_limit=0.02)
    waits = found.policies.set_index("policy")["wait_mean"]
    # As it ran and under FCFS: 0, 290 and 380 s. EASY starts C at once, next to A.
    assert waits["audited schedule"] == waits["flux"] == pytest.approx(670 / 3)
    assert waits["flux queue_policy=easy queue_depth=1024"] == pytest.approx(290 / 3)
    assert found.settings == flux_settings(FLUX["flux queue_policy=easy queue_depth=1024"])
    assert found.groups.query("by == 'partition'")["group"].tolist() == ["batch", "debug"]
    assert audit(listing, processors=2, partition="debug", processes=1, time_limit=0.02).whole["jobs"] == 1
