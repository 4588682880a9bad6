"""Policies in the words of Slurm: which have settings, and what an audit of an export says of them."""

from coalloc import audit
from coalloc.studies.audit_policies import CANDIDATES
from coalloc.studies.audit_slurm import SLURM, settings_of
from tests.cli.test_audit import SACCT


def test_settings_state_every_parameter_in_slurms_units():
    order = {"order": "multifactor", "favor_small": True, "weight_qos": 2_000_000, "max_age": 90_061.0}
    assert settings_of({"policy": "slurm", "bf_window": 2880, "queue_order": order}) == (
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
    assert settings_of({"policy": "slurm"})[2:] == ("PriorityType=priority/basic",)
    assert all(settings_of(policy) for policy in SLURM.values())


def test_slurm_has_no_settings_for_other_policies_orders_and_placements():
    others = ({"queue_order": "spt"}, {"allocation": "first-fit"}, {"queue_order": {"order": "f1"}})
    policies = [*CANDIDATES.values(), *({"policy": "slurm", **options} for options in others)]
    assert [policy for policy in policies if settings_of(policy)] == []


def test_an_audit_of_an_export_names_the_best_policy_that_slurm_has_settings_for(tmp_path, in_process):
    export = tmp_path / "october.txt"
    export.write_text(SACCT)
    given = {"easy": {"policy": "easy"}, "slurm": {"policy": "slurm"}}
    found = audit(export, processors=2, policies=given, processes=1, time_limit=0.02)
    # Under both job 2 waits 95 s for job 1, and job 3 not at all: it is the first of the two that is named.
    assert found.slurm_settings == settings_of({"policy": "slurm"})
    said = (
        "Slurm has no setting for easy. Of the policies that Slurm has settings for, slurm is best: mean wait 31.7 s."
    )
    assert ("settings of Slurm", said) in found.lines()
    assert found.document["slurm_settings"] == list(found.slurm_settings)
    tried = audit(export, processors=2, processes=1, time_limit=0.02).policies["policy"]
    assert {*SLURM} <= {*tried}
    assert audit(export, processors=2, policies={"easy": {"policy": "easy"}}, time_limit=0.02).slurm_settings == ()
