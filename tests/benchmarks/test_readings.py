"""Readings of the sources: verdicts, the design, agreement with printed numbers, and what a level changes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from readings import OURS, name_of, rows_of, scores, source_lines
from readings_das2 import jobs_of
from readings_design import NO, OPEN, YES, Claim, Factor, Judged, Printed, best, design
from readings_sources import SOURCES, by_application, estimated, pas_rows, queue_rows, without_startups
from scenarios import studied

import coalloc
from coalloc import Job
from coalloc.measures.intervals import ConfidenceInterval
from coalloc.rules.brokering import STRATEGIES

FACTORS = (Factor("a", ("a0", "a1")), Factor("b", ("b0", "b1", "b2")), Factor("c", ("c0", "c1")))


def found(value: float, width: float = 1.0) -> ConfidenceInterval:
    return ConfidenceInterval(value, value - width, value + width, 20)


def test_a_verdict_needs_the_whole_interval():
    least, most = Claim("", least=0.0), Claim("", most=3.0)
    assert [least.verdict(found(value)) for value in (2.0, 0.5, -2.0)] == [YES, OPEN, NO]
    assert [most.verdict(found(value)) for value in (1.0, 3.5, 5.0)] == [YES, OPEN, NO]
    assert least.verdict(ConfidenceInterval(-0.1, np.nan, np.nan, 1)) == NO
    assert least.verdict(ConfidenceInterval(np.nan, np.nan, np.nan, 0)) == "-"


def test_factors_that_alone_change_a_verdict_are_crossed():
    # The verdict is no with a1 or with b2, unless both: c changes nothing, and is not crossed.
    asked = []

    def judge(reading):
        asked.append(tuple(reading.values()))
        value = -5.0 if (reading["a"] == "a1") != (reading["b"] == "b2") else 5.0
        return Judged([found(value)], [])

    readings = [tuple(reading.values()) for reading, _ in design(FACTORS, FACTORS, [Claim("", least=0.0)], judge)]
    ours, single = (
        [("a0", "b0", "c0")],
        [("a1", "b0", "c0"), ("a0", "b1", "c0"), ("a0", "b2", "c0"), ("a0", "b0", "c1")],
    )
    assert readings == [*ours, *single, ("a1", "b1", "c0"), ("a1", "b2", "c0")]
    assert asked == readings  # none is judged twice


def test_factors_that_are_not_varied_stay_as_ours():
    readings = design(FACTORS, FACTORS[2:], [Claim("", least=0.0)], lambda _: Judged([found(5.0)], []))
    assert [name_of(FACTORS, reading) for reading, _ in readings] == [OURS, "c1"]


def test_agreement_with_printed_numbers():
    # |12 - 10| / 12, |5 - 10| / 10 and 0 for two zeros: (1/6 + 1/2 + 0) / 3.
    one = Printed("", (10.0, 10.0, 0.0), (12.0, 5.0, 0.0))
    assert one.error == pytest.approx((1 / 6 + 1 / 2) / 3)
    assert Printed("", range(7), (70, 60, 50, 40, 30, 20, 10)).correlation == pytest.approx(-1.0)
    assert np.isnan(Printed("", range(6), range(6)).correlation)


def test_the_best_reading_has_the_highest_correlation_or_else_the_least_error():
    assert best({"x": (0.5, 0.1), "y": (0.7, 0.9), "z": (0.7, 0.2)}) == ["y", "z"]
    assert best({"x": (np.nan, 0.1), "y": (np.nan, 0.9)}) == ["x"]
    assert best({}) == []


def test_rows_of_a_reading_are_scored_again():
    source = SOURCES[0]
    judged = Judged([found(1.0)] * len(source.claims), [Printed("p", range(1, 8), (1, 2, 3, 4, 5, 6, 14))])
    table = pd.DataFrame(list(rows_of(source, {f.name: f.levels[1] for f in source.factors}, judged)))
    assert scores(table[table["claim"] == "p"]) == {table["reading"][0]: (1.0, pytest.approx(1 / 14, rel=1e-5))}


def test_the_page_counts_readings_and_names_what_the_best_say():
    source = SOURCES[0]  # four claims; factors links, shares and sizes
    levels = [factor.levels for factor in source.factors]
    names = [factor.name for factor in source.factors]
    ours, narrow = (dict(zip(names, (levels[0][k], levels[1][0], levels[2][0]), strict=True)) for k in (0, 1))
    judged = [Judged([found(v)] * 4, [Printed("p", (10.0,), (h,))]) for v, h in ((5.0, 20.0), (-5.0, 11.0))]
    rows = [row for r, j in zip((ours, narrow), judged, strict=True) for row in rows_of(source, r, j)]
    text = "\n".join(source_lines(source, pd.DataFrame(rows)))
    assert f"| 1 | {source.claims[0].says} | 1 of 2 | 1 | 0 | no |" in text  # the second reading agrees better
    assert f"Best agreement: {levels[0][1]}." in text
    assert "Not varied: shares, sizes;" in text
    assert "| ours | 5 (4 to 6) yes |" in text


def test_every_source_has_levels_and_one_bound_per_claim():
    for source in SOURCES:
        levels = [level for factor in source.factors for level in factor.levels]
        assert len(set(levels)) == len(levels), source.name
        assert all((claim.least is None) != (claim.most is None) for claim in source.claims)


def test_run_times_by_application_keep_the_work():
    drawn = coalloc.generate("cisne", seed=3)
    instance = by_application(drawn)
    work = [sum(job.tasks * job.base_time for job in one.jobs) for one in (drawn, instance)]
    times = {user: {job.base_time for job in instance.jobs if job.user == user} for user in ("IS", "MG")}
    assert work[1] == pytest.approx(work[0])
    assert [len(values) for values in times.values()] == [1, 1]
    assert times["MG"].pop() == pytest.approx(2.5 * times["IS"].pop())


def test_noisy_estimates_are_one_to_five_times_the_run_time():
    instance = coalloc.generate("cisne", seed=3)
    factors = [job.estimate / job.base_time for job in estimated(instance, "noisy estimates", 1).jobs]
    assert 1.0 <= min(factors) < 1.5 < 4.5 < max(factors) <= 5.0
    assert estimated(instance, "exact estimates", 1) is instance


def test_three_cells_of_pas_are_those_of_the_schedules():
    setting = {"links": "0.7 GB/s", "shares": "0.1 to 0.5", "sizes": "log2 of tasks is gamma"}
    instance = coalloc.generate(
        "thesis-pas", seed=1, heterogeneity=50, bsbw=1.1, link_bandwidth=700.0, share_low=0.1, share_high=0.5
    )
    clusters = {node.name: node.cluster for node in instance.platform.nodes}
    for row in pas_rows(0, **setting):
        schedule = coalloc.simulate(instance, "pas", selection="fcfs", allocation=row["strategy"]).schedule
        placements = [(job, schedule[job.id]) for job in instance.jobs]
        assert row["response"] == pytest.approx(np.mean([placed.end - job.arrival for job, placed in placements]))
        several = [len({clusters[name] for name in placed.nodes}) > 1 for _, placed in placements]
        assert row["shared"] == pytest.approx(np.mean(several))


def test_three_cells_of_a_queue_are_those_of_the_schedules():
    row = next(iter(queue_rows(0, "thesis-oas", "uniform")))
    large = coalloc.generate("thesis-oas", seed=2, jobs=4, min_tasks=7, max_tasks=10, base_times="uniform")
    small = coalloc.generate("thesis-oas", seed=3, jobs=4, min_tasks=1, max_tasks=4, base_times="uniform")
    jobs = [job.replace(id=f"J{k}") for k, job in enumerate((*large.jobs, *small.jobs), start=1)]
    instance = large.replace(jobs=jobs)
    for column, policy, options in (
        ("mesd", "mesd", {}),
        ("fcfs fewest-clusters", "fcfs", {"allocation": "fewest-clusters"}),
        ("pas spt", "pas", {"selection": "spt"}),
    ):
        schedule = coalloc.simulate(instance, policy, **options).schedule
        assert row[column] == max(schedule[job.id].end for job in jobs)
    assert row["optimum"] <= min(row["left 50"], row["keep 50"], row["pas spt"]) * (1 + 1e-9)


def week(name: str = "week-1") -> coalloc.Instance:
    jobs = [Job(f"J{n}", tasks=2**n, base_time=600.0, arrival=100.0 * n, user="u") for n in range(7)]
    return coalloc.Instance(coalloc.grid.platform("grid2"), jobs, name=name)


def test_without_start_ups_nobody_waits_for_one():
    waits = [
        coalloc.simulate(one, "grid", strategy="MCT", power_management=True).metrics["wait_mean"]
        for one in (week(), without_startups(week()))
    ]
    assert waits == [20.0, 0.0]


def test_a_stand_in_has_jobs_at_each_site_that_fit_it():
    jobs = list(jobs_of(week(), [week(str(number)).replace(jobs=week().jobs[: number + 1]) for number in range(7)], 6))
    # Each site gets week (6 + 7 i) mod 7 = 6, whose jobs have 1 to 64 tasks; no site is smaller.
    assert len(jobs) == 35
    assert len({job.id for job in jobs}) == 35
    halves = list(jobs_of(week(), [week().replace(jobs=[Job("J", tasks=100, base_time=1.0, user="u")])], 0))
    assert [job.id for job in halves] == ["DAS2-Vrije-J"]  # the only one of 144 processors


def test_weeks_are_studied_as_grid_study_does(tmp_path):
    names = ("MaxAR_v", "MST", "LBal_E")
    weeks = [week("week-1"), week("week-2").replace(jobs=week().jobs[2:])]
    ours = studied(weeks, names, ("MST",), tmp_path / "runs.sqlite", 1)
    theirs = coalloc.studies.grid_study(weeks, names, always_on=["MST"])
    keys = ["week", "strategy", "power_management"]
    columns = [name for name in ours if name in theirs]
    assert "energy" in columns
    assert "waited_share" in columns
    pd.testing.assert_frame_equal(
        ours[columns].sort_values(keys, ignore_index=True), theirs[columns].sort_values(keys, ignore_index=True)
    )
    assert set(ours["strategy"]) <= set(STRATEGIES)
