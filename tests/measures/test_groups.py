"""Metrics of groups of jobs: small runs by hand, and what groups must add up to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalloc.instance import Cluster, CoallocError, Instance, Job, NodeGroup, Platform
from coalloc.measures.groups import metrics_by
from coalloc.measures.metrics import JOB_METRICS, metrics
from coalloc.schedule import Placement, Schedule
from tests.strategies import LAW, instances, list_schedule

DAY, HOUR = 86_400.0, 3600.0


def placed(*jobs: Job, waits: float = 0.0) -> tuple[Instance, Schedule]:
    """Return jobs that each wait so long, on processors of their own."""
    names = iter(f"C1/{number}" for number in range(sum(job.tasks for job in jobs)))
    placements = tuple(
        Placement(j.id, j.arrival + waits, j.arrival + waits + j.base_time, tuple(next(names) for _ in range(j.tasks)))
        for j in jobs
    )
    nodes = (NodeGroup(sum(job.tasks for job in jobs), 1.0),)
    return Instance(Platform((Cluster("C1", nodes, 0.0),)), jobs), Schedule(placements)


def test_users_by_hand():
    # User 9 has a wait of 0 and one of 30 s: mean and median 15, the 90th percentile 27; user 10 one of 5; nobody 1.
    jobs = (
        Job("A", 1, 10.0, user="10"),
        Job("B", 2, 20.0, user="9"),
        Job("C", 1, 40.0, user="9"),
        Job("D", 1, 50.0),
    )
    instance, schedule = placed(*jobs)
    starts = {"A": 5.0, "B": 30.0, "C": 0.0, "D": 1.0}
    schedule = Schedule(tuple(p.replace(start=starts[p.job], end=p.end + starts[p.job]) for p in schedule.placements))
    found = metrics_by(instance, schedule, "user")
    assert found["user"].dropna().tolist() == ["9", "10"]  # by number; those without a user last
    assert found["jobs"].tolist() == [2, 1, 1]
    assert found["processor_seconds"].tolist() == [80.0, 10.0, 50.0]
    assert found["wait_mean"].tolist() == [15.0, 5.0, 1.0]
    assert found["wait_median"].tolist() == [15.0, 5.0, 1.0]
    assert found["wait_p90"].tolist() == pytest.approx([27.0, 5.0, 1.0])
    assert found["wait_max"].tolist() == [30.0, 5.0, 1.0]
    # B responds in 50 s after a run of 20 s, C in 40 after 40: 2.5 and 1; A in 15 after 10; D in 51 after 50.
    assert found["bounded_slowdown_mean"].tolist() == pytest.approx([1.75, 1.5, 1.02])


def test_the_order_of_users_is_that_of_their_numbers_and_names():
    jobs = [Job(f"J{i}", 1, 1.0, user=user) for i, user in enumerate(["u10", "b", "u9", "01", "1", "10", "9"])]
    assert metrics_by(*placed(*jobs), "user")["user"].tolist() == ["01", "1", "9", "10", "b", "u9", "u10"]


def test_size_classes_hold_their_limits():
    tasks = (1, 2, 4, 5, 16, 17, 64, 65, 300)
    found = metrics_by(*placed(*(Job(f"J{n}", n, 1.0) for n in tasks)), "size")
    assert found["size"].tolist() == ["1", "2-4", "5-16", "17-64", "65+"]
    assert found["jobs"].tolist() == [1, 2, 2, 2, 2]
    assert found["processor_seconds"].tolist() == [1.0, 6.0, 21.0, 81.0, 365.0]


def test_classes_without_jobs_are_not_listed():
    assert metrics_by(*placed(Job("A", 1, 1.0), Job("B", 100, 1.0)), "size")["size"].tolist() == ["1", "65+"]


def test_hours_are_those_of_a_week_from_monday_on():
    # The clock starts on a Monday at 0:00; the last job arrives in the hour of the first, a week later.
    arrivals = (0.0, HOUR - 0.5, HOUR, 6 * DAY + 23 * HOUR, 7 * DAY)
    found = metrics_by(*placed(*(Job(f"J{a}", 1, 1.0, arrival=a) for a in arrivals)), "hour")
    assert found["hour"].tolist() == [0, 1, 167]
    assert found["jobs"].tolist() == [3, 1, 1]


def test_an_epoch_and_a_time_zone_set_the_clock():
    # The HPC2N trace starts at 1027839845: Sunday 28 July 2002, 09:04:05 in Stockholm, which then is 2 h ahead of UTC.
    # 100 days later it is a Tuesday, and only 1 h ahead: 08:04:05, where clocks without summer time would show 09.
    jobs = (Job("A", 1, 1.0), Job("B", 1, 1.0, arrival=100 * DAY))
    found = metrics_by(*placed(*jobs), "hour", epoch=1027839845, time_zone="Europe/Stockholm")
    assert found["hour"].tolist() == [24 + 8, 6 * 24 + 9]
    assert metrics_by(*placed(*jobs), "hour", epoch=1027839845)["hour"].tolist() == [24 + 7, 6 * 24 + 7]


def test_only_the_jobs_of_a_window_count():
    jobs = [Job(f"J{a}", 1, 1.0, arrival=a, user="u" if a < 20 else "v") for a in (0.0, 10.0, 20.0, 30.0)]
    found = metrics_by(*placed(*jobs), "user", after=10.0, before=30.0)
    assert found[["user", "jobs"]].to_numpy().tolist() == [["u", 1], ["v", 1]]


def test_an_empty_schedule_has_no_groups():
    instance, _ = placed(Job("A", 1, 1.0))
    for by in ("user", "size", "hour"):
        assert list(metrics_by(instance, Schedule(()), by)) == [by, *JOB_METRICS]
        assert len(metrics_by(instance, Schedule(()), by)) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "queue"}, "by: must be 'user', 'size' or 'hour', got 'queue'"),
        ({"by": "user", "epoch": 0}, "epoch requires by='hour', got by='user'"),
        ({"by": "size", "time_zone": "UTC"}, "time_zone requires by='hour', got by='size'"),
        (
            {"by": "hour", "time_zone": "Europe/Nowhere"},
            "unknown time zone 'Europe/Nowhere'; use a name such as Europe/Stockholm",
        ),
        ({"by": "hour", "time_zone": "../x"}, "unknown time zone '../x'; use a name such as Europe/Stockholm"),
        ({"by": "hour", "epoch": -1.0}, "epoch must be a Unix time from 0 to 4e+09 s, got -1"),
        (
            {"by": "user", "after": 1.0},
            "no job of the schedule arrives from after=1 to before=inf s; arrivals are from 0 to 0 s",
        ),
    ],
)
def test_wrong_options_are_one_line(options, message):
    with pytest.raises(CoallocError) as error:
        metrics_by(*placed(Job("A", 1, 1.0)), **options)
    assert str(error.value) == message


def test_arrivals_beyond_all_calendars_are_refused():
    with pytest.raises(CoallocError, match="puts arrivals outside the calendar"):
        metrics_by(*placed(Job("A", 1, 1.0, arrival=1e15)), "hour")


@LAW
@given(instances(max_jobs=8, max_cores=2, switches=1), st.sampled_from(["user", "size", "hour"]), st.data())
def test_groups_add_up_to_all_jobs(instance, by, data):
    users = st.sampled_from([None, "a", "b"])
    instance = instance.replace(jobs=tuple(job.replace(user=data.draw(users)) for job in instance.jobs))
    reduced, schedule = list_schedule(instance)
    found, all_jobs = metrics_by(reduced, schedule, by), metrics(reduced, schedule)
    for name in ("jobs", "processor_seconds", "total_execution_time", "total_response_time"):
        assert found[name].sum() == pytest.approx(all_jobs[name])
    for name in ("wait_max", "response_max", "bounded_slowdown_max"):
        assert found[name].max() == pytest.approx(all_jobs[name]) or not len(found)
    for name in ("wait_mean", "execution_slowdown_mean", "bounded_slowdown_mean", "coallocated_share"):
        assert (found[name] * found["jobs"]).sum() == pytest.approx(all_jobs[name] * all_jobs["jobs"])


@LAW
@given(instances(max_jobs=8))
def test_each_group_is_measured_as_its_jobs_alone_are(instance):
    # A schedule of the jobs of one size class alone has the same metrics of jobs.
    reduced, schedule = list_schedule(instance)
    found = metrics_by(reduced, schedule, "size").set_index("size")
    alone = [placement for placement in schedule if len(placement.nodes) == 1]
    if alone:
        expected = metrics(reduced, Schedule(tuple(alone)))
        compared = [name for name in JOB_METRICS if name != "saturated_share"]  # links are loaded by others as well
        assert found.loc["1", compared].to_dict() == pytest.approx({name: expected[name] for name in compared})
