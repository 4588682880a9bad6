"""An audit of an instance whose jobs are restricted by more than their processors: partitions, limits, outages."""

from __future__ import annotations

import pytest

from coalloc import (
    Cluster,
    CoallocError,
    Instance,
    Job,
    NodeGroup,
    Placement,
    Platform,
    Schedule,
    Shape,
    UnsupportedFeature,
    Window,
    audit,
    solve,
)
from coalloc.instance.features import FEATURES
from coalloc.studies.audit_samples import OBJECTIVES, measure_arrivals
from coalloc.testing import small_feature_instance

DAY = 86_400.0
PARTS = [NodeGroup(1, power=1.0, features=[f"partition:{name}"]) for name in "ab"]
PLATFORM = Platform([Cluster("C", PARTS, 0.0)], unavailable=[Window("C", 9 * DAY, 10 * DAY)])
SPT = {"spt": {"policy": "list", "queue_order": "spt", "skip": True}}

pytestmark = pytest.mark.usefixtures("in_process")


def day_of(number):
    """Return jobs of a day on two partitions of one processor: two of 100 s on the one, 50 s and 10 s on the other."""
    return [
        Job(f"{part}{number}{k}", 1, length, arrival=number * DAY, requires=[f"partition:{part}"], user=f"of {part}")
        for k, (part, length) in enumerate([("a", 100.0), ("a", 100.0), ("b", 50.0), ("b", 10.0)])
    ]


def recorded(jobs):
    """Return the schedule of such jobs in their order: waits of 0, 100, 0 and 50 s a day, 37.5 s on average."""
    starts = [0.0, 100.0, 0.0, 50.0] * (len(jobs) // 4)
    return Schedule(
        Placement(job.id, job.arrival + start, job.arrival + start + job.base_time, ["C/0" if "a" in job.id else "C/1"])
        for job, start in zip(jobs, starts, strict=True)
    )


DAYS = [*day_of(0), *day_of(1)]
SITE = Instance(PLATFORM, DAYS, name="site")


def ask(instance=SITE, schedule=None, **options):
    given = {"policies": SPT, "window": DAY, "time_limit": 0.1, "processes": 1}
    return audit(instance, recorded(DAYS) if schedule is None else schedule, **(given | options))


def test_a_site_is_audited_on_its_partitions():
    # Shortest first is optimal on each partition: 0 and 100 s, 0 and 10 s, 27.5 s on average. One pool of two
    # processors would do with 15 s, see below.
    found = ask()
    for row in [found.whole, *found.windows]:
        assert (row["wait_as_it_was"], row["wait_best"], row["wait_best_by"]) == (37.5, 27.5, "spt")
        assert 0.0 < row["wait_bound"] <= 27.5
        assert row["is_possible"]
    assert [row["jobs"] for row in found.windows] == [4, 4]
    assert found.answers[0].policy == "spt"
    assert found.trials.gain.mean == pytest.approx(10.0 / 37.5)  # on the second day
    groups = found.groups.set_index(["by", "group"])
    assert groups.loc[("partition", "a"), ["mean_before", "mean_after"]].tolist() == [50.0, 50.0]
    assert groups.loc[("partition", "b"), ["mean_before", "mean_after"]].tolist() == [25.0, 5.0]
    assert found.account[-1].startswith(
        "intervals are not cut, because jobs are also restricted by requires, unavailable: "
    )
    starts = found.starts.set_index(["window", "job"])["start"]
    assert [starts["86400 s"][f"b1{k}"] - DAY for k in (2, 3)] == [10.0, 0.0]


def test_jobs_before_the_period_are_simulated_but_not_counted():
    # A job of the first day holds partition b until 20 s after midnight: the others wait 20 and 30 s under SPT, 20 and
    # 70 s in the order of their numbers.
    long = Job("long", 1, 120.0, arrival=DAY - 100.0, requires=["partition:b"])
    late = [p.replace(start=p.start + 20.0, end=p.end + 20.0) if "b" in p.job else p for p in recorded(day_of(1))]
    schedule = Schedule([Placement("long", DAY - 100.0, DAY + 20.0, ["C/1"]), *late])
    found = ask(SITE.replace(jobs=[long, *day_of(1)]), schedule, after=DAY)
    assert (found.whole["jobs"], found.whole["wait_as_it_was"]) == (4, 47.5)
    assert (found.whole["wait_best"], found.whole["wait_best_by"]) == (37.5, "spt")
    assert found.whole["wait_bound"] <= 27.5  # of these jobs alone
    assert found.command.endswith("--after 86400.0 --against 'list queue_order=spt skip=true' --time-limit 0.1")


def test_a_policy_that_does_not_support_a_feature_is_left_out_and_said():
    suspend = {"policy": "easy", "preempt": "suspend"}
    found = ask(policies={**SPT, "suspend": suspend})
    assert found.policies["policy"].tolist() == ["spt", "audited schedule"]
    assert found.account[-1] == "not tried, because it does not support unavailable: suspend"
    with pytest.raises(UnsupportedFeature, match="policy 'easy preempt=suspend' does not support 'unavailable'"):
        ask(as_ran=suspend)


def test_the_model_of_a_site_says_whose_settings_it_has():
    found = ask(as_ran="slurm")
    assert ("PriorityType=priority/basic" in found.settings, found.model.trial.label) == (True, "slurm")
    assert "slurm queue_order=multifactor" in ask(as_ran="slurm", policies=None).policies["policy"].tolist()


def test_a_record_that_breaks_a_rule_is_no_schedule_of_the_site():
    # The optimum of one pool of two processors, which partitions forbid: waits of 0, 0, 10 and 50 s.
    times = {
        "b12": (0.0, 50.0, "C/0"),
        "b13": (0.0, 10.0, "C/1"),
        "a10": (10.0, 110.0, "C/1"),
        "a11": (50.0, 150.0, "C/0"),
    }
    pooled = [Placement(job, DAY + start, DAY + end, [node]) for job, (start, end, node) in times.items()]
    found = ask(SITE.replace(jobs=day_of(1)), Schedule(pooled))
    assert (found.whole["wait_as_it_was"], found.whole["wait_best"]) == (15.0, 27.5)
    assert found.warnings[0].startswith("The audited schedule breaks rules of the instance")


def test_jobs_without_a_start_are_simulated_but_not_counted():
    # Job b02 of 50 s runs after b03 under SPT, and job b03 alone counts on its partition.
    placed = [p for p in recorded(DAYS) if p.job != "b02"]
    found = ask(schedule=Schedule(placed))
    assert found.whole["jobs"] == 7
    assert "1 job simulated, but not counted: start unknown" in found.account
    with pytest.raises(CoallocError, match="--schedule FILE"):
        audit(SITE, policies=SPT)


def test_run_times_of_other_modes_are_those_of_the_schedule():
    # On one processor the job runs for 100 s, on two for 50 s: the second job waits until 100 s, or until 50 s.
    jobs = [Job("1", 1, 100.0, shapes=[Shape(2, 50.0)]), Job("2", 2, 10.0)]
    instance = Instance(Platform([Cluster("C", [NodeGroup(2, power=1.0)], 0.0)]), jobs)
    ends_first = {"policy": "easy", "shapes": "ends-first"}
    found = audit(instance, policy=ends_first, policies={"first": {"policy": "fcfs"}}, processes=1, time_limit=0.1)
    assert (found.whole["makespan_as_it_was"], found.whole["makespan_best"]) == (60.0, 60.0)
    # (50 / 50 + 60 / 10) / 2, and job 2 waits 100 s under FCFS.
    assert found.whole["bounded_slowdown_as_it_was"] == 3.5
    assert found.policies.set_index("policy")["wait_mean"].to_dict() == {"audited schedule": 25.0, "first": 50.0}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("features", [None, ("shapes", "limits", "start"), ("lags", "requires", "unavailable")])
def test_bounds_are_below_what_is_optimal_with_all_features(seed, features):
    known = sorted({*FEATURES} - {"times"}) if features is None else features
    drawn, _ = small_feature_instance(seed, features=known)
    clusters = [
        cluster.replace(nodes=[group.replace(power=1.0) for group in cluster.nodes])
        for cluster in drawn.platform.clusters
    ]
    jobs = [job.replace(task_bandwidth=0.0, processing_share=1.0, deadline=None) for job in drawn.jobs]
    instance = drawn.replace(platform=drawn.platform.replace(clusters=clusters), jobs=jobs)
    results = {name: solve(instance, objective=objective, time_limit=20.0) for name, objective in OBJECTIVES.items()}
    if results["wait"].status == "infeasible":
        pytest.skip("no schedule, no bound")
    for measure, low in measure_arrivals({"begin": 0.0, "time_limit": 0.3}, instance)["bounds"].items():
        result = results[measure]
        assert result.status == "optimal"
        best = max(place.end for place in result.schedule) if measure == "makespan" else result.objective
        assert low <= best * (1.0 + 1e-9)
