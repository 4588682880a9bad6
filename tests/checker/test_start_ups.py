"""The rule start-up of the checker: the first job after a site was off has waited for it to start up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalloc.checker import check
from coalloc.instance import Job, RunningJob
from tests.power.test_sites import SITE, grid, placed, runs
from tests.strategies import LAW

TWO = (SITE, SITE.replace(name="T"))
"""Start-ups take 20 s; a site goes off 5 + 10 s after its last job."""


def found(given, **options):
    violations = check(*given, power_management=True, **options)
    assert all(violation.rule == "start-up" for violation in violations)
    return [(v.jobs, v.where, v.when, v.amount, v.limit) for v in violations]


def test_the_first_job_of_a_site_waits_for_the_start_up():
    given = grid([Job("A", 1, 10.0, arrival=7.0)], [placed("A", 26.0, 36.0, [0])])
    assert found(given) == [(("A",), "S", 26.0, 19.0, 20.0)]
    assert check(*given) == []
    assert str(check(*given, power_management=True)[0]) == (
        "start-up: job A starts at 26 s on cluster S, which can start up at 7 s and requires 20 s for it"
    )
    assert found(grid([Job("A", 1, 10.0, arrival=7.0)], [placed("A", 27.0, 37.0, [0])])) == []


@pytest.mark.parametrize(
    ("arrival", "start", "waited"),
    [
        (44.0, 44.0, None),  # the site is on to 45
        (44.0, 45.0, None),  # and stays on for who starts at that instant
        (44.0, 46.0, 1.0),  # at 45 it went off, although B waited: it starts up again
        (44.0, 65.0, None),
        (50.0, 65.0, 15.0),
        (50.0, 70.0, None),
    ],
)
def test_a_later_job_waits_if_the_site_has_gone_off(arrival, start, waited):
    jobs = [Job("A", 1, 10.0), Job("B", 1, 10.0, arrival=arrival)]
    given = grid(jobs, [placed("A", 20.0, 30.0, [0]), placed("B", start, start + 10.0, [1])])
    assert found(given) == ([] if waited is None else [(("B",), "S", start, waited, 20.0)])


def test_a_site_may_have_been_started_up_for_a_job_that_starts_later():
    # A arrives at 0 and starts the site up; B arrives at 15, starts at 20, and A after it.
    jobs = [Job("A", 7, 10.0), Job("B", 7, 10.0, arrival=15.0)]
    assert found(grid(jobs, [placed("B", 20.0, 30.0, range(7)), placed("A", 30.0, 40.0, range(7))])) == []
    hasty = grid(jobs, [placed("B", 19.0, 29.0, range(7)), placed("A", 30.0, 40.0, range(7))])
    assert found(hasty) == [(("B",), "S", 19.0, 19.0, 20.0)]


def test_each_site_starts_up_for_itself():
    jobs = [Job("A", 1, 10.0), Job("B", 1, 10.0, arrival=30.0)]
    given = grid(jobs, [placed("A", 20.0, 30.0, [0]), placed("B", 30.0, 40.0, [0], "T")], TWO)
    assert found(given) == [(("B",), "T", 30.0, 0.0, 20.0)]


def test_running_jobs_keep_a_site_on():
    running = [RunningJob(Job("R", 1, 9.0), ["S/0"], end=5.0)]
    for start, waited in ((19.0, None), (20.0, None), (21.0, 1.0)):
        given = grid([Job("A", 1, 10.0)], [placed("A", start, start + 10.0, [0])], running=running)
        assert found(given) == ([] if waited is None else [(("A",), "S", 21.0, 1.0, 20.0)])


def test_unknown_jobs_and_processors_do_not_hide_the_rule():
    given = grid([Job("A", 1, 10.0)], [placed("A", 0.0, 10.0, [0]), placed("X", 0.0, 10.0, [1, 9])])
    rules = [violation.rule for violation in check(*given, power_management=True)]
    assert rules == ["unknown-job", "unknown-processor", "start-up"]


@LAW
@given(runs(), st.data())
def test_who_starts_a_second_before_the_site_is_up_is_named(given, data):
    instance, schedule = given
    first = data.draw(st.sampled_from(schedule.placements))
    site = first.nodes[0].split("/")[0]
    own = min((p for p in schedule if p.nodes[0].startswith(site)), key=lambda p: p.start)
    hasty = own.replace(start=own.start - 1.0, end=own.end - 1.0)
    changed = schedule.replace(placements=[hasty if p is own else p for p in schedule])
    named = [v for v in check(instance, changed, power_management=True) if v.rule == "start-up"]
    assert own.job in [v.jobs[0] for v in named]
