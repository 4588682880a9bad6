"""The experiment of CISNE: its points are what they say, and its claims and tables compute what they say."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import sharing_experiment
import sharing_report
from sharing_claims import behind, excess, least, narrower, printed, relative_to_scenarios, spread
from sharing_experiment import OFF, Study, experiment, instance_of, rows_of, run, settings_of
from sharing_results import excess_interval, results_of, value_intervals

from coalloc.instance import CoallocError
from coalloc.measures.stability import RUN_METRICS, stability
from tests.in_process import InProcess

MIXES = ("SJF-JFirst", "FCFS-FFit", "SNPF-BFit")


def test_the_specification_is_the_experiment_of_the_source() -> None:
    wanted = experiment()
    assert wanted.mixes == MIXES
    scenarios = wanted.studies["scenarios"]
    assert (len(list(scenarios.points())), scenarios.seeds) == (9, 20)
    for study in wanted.studies.values():
        swept = list(study.grid.values())[-1]
        assert study.base is None or study.base in swept
        for point, _, call in wanted.samples(study):
            assert call.argument["settings"] == settings_of(point)


def test_a_point_sets_what_it_names_and_nothing_else() -> None:
    plain = instance_of({"scenario": 3, "load": "net"}, seed=2)
    for name, attributes in (
        ("contract", {"contract": None}),
        ("cooperation", {"cooperation": False}),
        ("all", {"contract": None, "cooperation": False, "coscheduling": False}),
    ):
        found = instance_of(settings_of({"scenario": 3, "load": "net", "off": name}), seed=2)
        assert found.sharing == plain.sharing.replace(**attributes)
        assert (found.jobs, found.local_users) == (plain.jobs, plain.local_users)
    assert set(OFF) == {"none", "contract", "cooperation", "coscheduling", "all"}
    slower = instance_of({"scenario": 3, "load": "net", "paging_slowdown": 2.0, "wait_factor": 0.5}, seed=2)
    assert slower.sharing == plain.sharing.replace(paging_slowdown=2.0, wait_factor=0.5)
    wide = instance_of(settings_of({"scenario": 2, "load": "net", "nodes": 16}), seed=2)
    assert len(wide.platform.nodes) == 16
    assert len({user.node for user in wide.local_users}) == 8


def runs_with(turnaround: np.ndarray) -> np.ndarray:
    """Return two equal runs of each cell, in which V as printed is 1.8 times a turnaround and nothing else."""
    runs = np.zeros((2, *turnaround.shape, len(RUN_METRICS)))
    runs[..., RUN_METRICS.index("turnaround_mean")] = turnaround
    return runs


def test_statistics_of_claims() -> None:
    # Three scenarios, two loads, three mixes; V is 1.8 times these.
    turnaround = np.array([[[1, 2, 4], [2, 1, 4]], [[3, 2, 3], [6, 2, 3]], [[1, 2, 8], [2, 4, 8]]], dtype=float)
    runs = runs_with(turnaround)
    # Mix 0 over mix 1: 1/2, 2; 3/2, 3; 1/2, 1/2: less 1, their mean is (-.5 + 1 + .5 + 2 - .5 - .5)/6 = 1/3.
    assert excess(printed, 0, 1)(runs) == pytest.approx(1 / 3)
    assert excess(printed, 0, 1, scenario=1)(runs) == pytest.approx(1.25)
    # Mix 2 over the better of the others: 4 and 4 times; 1.5 and 1.5; 8 and 4.
    assert [behind(printed, 2, scenario)(runs) for scenario in range(3)] == pytest.approx([3.0, 0.5, 5.0])
    assert [least(printed, mix)(runs) for mix in range(3)] == pytest.approx([3 / 6, 3 / 6, 0.0])
    # Means over loads by scenario: 1.5, 4.5, 1.5 for mix 0; 1.5, 2, 3 for mix 1.
    assert spread(printed, 0)(runs) == pytest.approx(2.0)
    assert spread(printed, 1)(runs) == pytest.approx(1.0)
    assert narrower(printed, 1, 0)(runs) == pytest.approx(-1.0)
    # Several resamples at once give the same, one number each.
    assert spread(printed, 0)(np.stack([runs, 2.0 * runs])) == pytest.approx([2.0, 2.0])
    # Relative to mixes and scenarios: load 0 has mean 26/9, load 1 32/9; the other terms are alike, 14 - 1.8 of them.
    by_load = 12.2 + 1.8 * turnaround / np.array([26 / 9, 32 / 9])[:, np.newaxis]
    found = relative_to_scenarios(runs)
    assert found == pytest.approx(by_load)


def test_an_experiment_runs_resumes_and_reports(tmp_path, monkeypatch) -> None:
    sweep = Study("contract", 2, {"jobs": [8], "scenario": [2, 3], "contract": [0.25, 0.5]}, 0.5)
    wanted = dataclasses.replace(experiment(), studies={"contract": sweep})
    store = tmp_path / "store.sqlite"
    one = dataclasses.replace(wanted, studies={"contract": dataclasses.replace(sweep, seeds=1)})
    assert run(one, ["contract"], store, jobs=1)
    with pytest.raises(CoallocError, match="contract: 4 of 8 samples have not run"):
        rows_of(wanted, "contract", store)
    monkeypatch.setattr(sharing_experiment, "LocalWorkers", InProcess)
    assert run(wanted, ["contract"], store, jobs=1)
    rows = rows_of(wanted, "contract", store)
    assert [(row["scenario"], row["contract"], row["seed"], row["mix"]) for row in rows[:4]] == [
        (2, 0.25, 0, "SJF-JFirst"),
        (2, 0.25, 0, "FCFS-FFit"),
        (2, 0.25, 0, "SNPF-BFit"),
        (2, 0.25, 1, "SJF-JFirst"),
    ]
    assert all(row["gap"] >= -1e-9 for row in rows)
    paths = sharing_report.write(wanted, "contract", rows, tmp_path)
    assert [path.name for path in paths] == ["contract.md", "contract.csv", "contract.png"]
    page = paths[0].read_text()
    assert sharing_report.write_again(wanted, "contract", tmp_path) == [paths[0], paths[2]]
    assert paths[0].read_text() == page
    assert "| scenario | contract | turnaround, % |" in page
    results = results_of(wanted, "contract", rows)
    # V of the second mix at the last point, by hand from its two runs; and its excess over the first.
    values = []
    for mix in MIXES[:2]:
        here = [row for row in rows if (row["scenario"], row["contract"], row["mix"]) == (3, 0.5, mix)]
        table = np.array([[row[name] for name in RUN_METRICS] for row in here])
        terms = [*table.mean(axis=0), table[:, 4].std()]
        values.append(float(np.dot(terms, [3.0, 2.6, 1.8, 1.0, 3.0, 2.6])))
    assert [interval.mean for interval in value_intervals(results, (0, 1, 1), stability)[:2]] == pytest.approx(values)
    over = excess_interval(results, (0, 1, 1), stability, "FCFS-FFit", "SJF-JFirst")
    assert over.mean == pytest.approx(values[1] / values[0] - 1.0)
