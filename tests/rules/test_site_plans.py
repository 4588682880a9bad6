"""Plans of sites by hand."""

import pytest

from coalloc import Job
from coalloc.rules.site_plans import NOBODY, SitePlan


def planned(*jobs, in_order=False):
    """Return the plan of 10 processors at 100 s, of which 6 run until 120; and the planned start of each job."""
    plan, starts = SitePlan(100.0, 4, [(120.0, 6)], in_order=in_order), {}
    for job in jobs:
        starts[job.id] = plan.start(job.tasks, job.base_time, 100.0)
        plan.add(job, job.base_time, 100.0)
    return plan, starts


WIDE = Job("wide", tasks=8, base_time=50.0, arrival=90.0)
SHORT = Job("short", tasks=4, base_time=20.0, arrival=95.0)
LONG = Job("long", tasks=2, base_time=30.0, arrival=100.0)


def test_each_job_starts_at_the_earliest_instant_at_which_it_fits_beside_those_before_it():
    # WIDE needs the six of the running job: 120 to 170. SHORT fits before it: 100 to 120. LONG would be in the way of
    # nobody from 120 on: 2 are free beside WIDE.
    _, starts = planned(WIDE, SHORT, LONG)
    assert starts == {"wide": 120.0, "short": 100.0, "long": 120.0}


def test_in_order_no_job_starts_before_the_one_ahead():
    _, starts = planned(WIDE, SHORT, LONG, in_order=True)
    # Beside WIDE there is no room for SHORT until 170; LONG starts with it, not at 120.
    assert starts == {"wide": 120.0, "short": 170.0, "long": 170.0}


def test_the_summary_has_first_start_last_end_and_the_sums_of_waits():
    # WIDE waits 120 - 90 = 30 s, SHORT 100 - 95 = 5 s.
    plan, _ = planned(WIDE, SHORT)
    assert plan.summary == (100.0, 170.0, (35.0, 30 * 8 + 5 * 4, 30 * 50 + 5 * 20, 30 * 400 + 5 * 80))


@pytest.mark.parametrize(("at", "is_planned"), [(100.0, True), (99.0, False)])
def test_a_job_that_starts_leaves_the_plan(at, is_planned):
    plan, _ = planned(SHORT)
    assert plan.starts_as_planned("short", at) is is_planned
    assert plan.summary == NOBODY


def test_a_job_that_joins_after_another_has_started_counts_once():
    # Four processors are held until 100 s. A and then B are planned for 100 to 110. A starts as planned and leaves the
    # plan; B, which arrived at 0, has waited 100 s, with 4 tasks of 10 s each.
    plan = SitePlan(0.0, 0, [(100.0, 4)], in_order=False)
    plan.add(Job("A", 4, 10.0), 10.0, 0.0)
    assert plan.starts_as_planned("A", 100.0)
    plan.add(Job("B", 4, 10.0), 10.0, 0.0)
    start = 110.0  # behind A, whose processors the plan has until then
    assert plan.summary == (start, 120.0, (110.0, 440.0, 1100.0, 4400.0))
