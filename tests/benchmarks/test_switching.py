"""The instances and rows of the study of the least energy."""

from __future__ import annotations

from switching import DAY, day_of, day_rows, small

import coalloc
from coalloc import Instance, Job


def test_small_instances_have_ten_jobs_on_three_sites() -> None:
    instance = small(3)
    assert (len(instance.jobs), len(instance.platform.clusters)) == (10, 3)
    assert all(job.arrival % 5.0 == 0.0 for job in instance.jobs)


def test_a_day_has_its_jobs_and_a_row_for_each_schedule() -> None:
    platform = coalloc.grid.platform("grid1")
    jobs = [Job(f"J{k}", tasks=2, base_time=100.0, arrival=k * DAY / 2 + 7.0) for k in range(6)]
    day = day_of(Instance(platform, jobs), 1)
    assert [(job.id, job.arrival) for job in day.jobs] == [("J2", 0.0), ("J3", DAY / 2)]
    rows = list(day_rows("week", day, 10.0))
    # On KTH a start-up takes 20 s x 12,812 W, and 100 s of 2 cores 27.2 kJ: no other site takes less for such jobs. The
    # first job's grace period is 5 s x 2 x 127.8 W; the site draws 32 W for 100 s and 115 s.
    least = 2 * (256_240.0 + 27_200.0) + 1_278.0 + 32.0 * 215.0
    (found,) = (row for row in rows if row.startswith("| `least_energy` |"))
    _, _, energy, _, startups, late, _ = found.split("|")
    assert (energy.strip(), startups.strip(), late.strip()) == (f"{least / 1e6:.2f}", "2", "0")
