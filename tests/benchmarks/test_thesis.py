"""The experiments of the thesis: their instances, what they plan, and that claims and bounds are what they say."""

from __future__ import annotations

import dataclasses

import pandas as pd
import pytest
import report
from claims import excess, is_least, saving
from experiment import NAMES, Experiment, experiment, rows_of, run
from figures import FIGURES
from measures import OAS, OAS_LEFT, OPTIMUM, measured
from results_table import results_of
from workloads import QUEUES, has_trace

from coalloc.heuristics.registry import policy_named
from coalloc.instance import CoallocError


def test_wl1_has_large_jobs_ahead_of_small_ones_that_fit_beside_them() -> None:
    for seed in range(1, 6):
        tasks = [job.tasks for job in QUEUES["WL-1"](seed).jobs]
        assert all(7 <= count <= 10 for count in tasks[:4])
        assert all(1 <= count <= 4 for count in tasks[4:])
        assert min(tasks[:4]) + min(tasks[4:]) <= 12


def test_wl2_is_wl3_with_most_tasks_first() -> None:
    drawn, decreasing = QUEUES["WL-3"](3).jobs, QUEUES["WL-2"](3).jobs
    assert [job.id for job in decreasing] == [f"J{i}" for i in range(1, 9)]
    assert [job.tasks for job in decreasing] == sorted((job.tasks for job in drawn), reverse=True)
    assert sorted(job.base_time for job in decreasing) == sorted(job.base_time for job in drawn)


@pytest.mark.parametrize("name", NAMES)
def test_specifications_name_policies_and_figures_that_there_are(name: str) -> None:
    if name == "mesd-estimates" and not has_trace():
        pytest.skip("needs the log of HPC2N")
    wanted = experiment(name)
    for options in wanted.strategies.values():
        policy_named(options["policy"], {key: value for key, value in options.items() if key != "policy"})
    assert FIGURES[name]
    full = experiment(name, is_full=True)
    assert full.seeds > wanted.seeds
    assert len({sample.call.key for sample in wanted.samples()}) == len(list(wanted.samples()))


def test_an_unknown_experiment_is_refused() -> None:
    with pytest.raises(CoallocError, match="there are pas-allocation"):
        experiment("pas")


def test_savings_and_excesses() -> None:
    # 8 instead of 10 and 16 saves 20 and 50 %; 10 instead of 8 is 25 % more.
    wide = pd.DataFrame({"A": [8.0], "B": [10.0], "C": [16.0]})
    assert saving(wide, "A", ["B", "C"]).tolist() == [pytest.approx(0.35)]
    assert excess(wide, "B", "A").tolist() == [pytest.approx(0.25)]
    assert is_least(wide, ["B"], ["B", "C"]).tolist() == [1.0]
    assert is_least(wide, ["B"], ["A", "B"]).tolist() == [0.0]


def small(name: str, **grid: tuple[object, ...]) -> Experiment:
    """Return an experiment with few points and one seed."""
    wanted = experiment(name, seeds=1)
    workload = dataclasses.replace(wanted.workload, grid={**wanted.workload.grid, **grid})
    return dataclasses.replace(wanted, workload=workload)


def test_strategies_compete_with_the_bound_of_what_they_may_do() -> None:
    # OAS never saturates a link, FCFS may: where links are what costs time, the bound of OAS is above that of FCFS.
    wanted = small("oas-workloads", workload=("WL-3",))
    rows = [
        {"workload": "WL-3", "seed": 1, "strategy": "reference"}
        | {
            "bound": 80.0,
            "is_optimum": True,
            "strict_bound": 100.0,
            "strict_is_optimum": False,
            "response_bound": 10.0,
        },
        *(
            {"workload": "WL-3", "seed": 1, "strategy": name, "makespan": 100.0, "response_mean": 20.0}
            | dict.fromkeys(("wait_mean", "execution_slowdown", "execution_slowdown_mean", "compaction"), 0.0)
            | dict.fromkeys(("coallocated_share", "saturated_share"), 0.0)
            for name in (OPTIMUM, "PAS-SJF", "FCFS")
        ),
    ]
    runs = results_of(wanted, rows).runs.set_index("strategy")
    assert runs["above_bound"].to_dict() == pytest.approx({OPTIMUM: 0.0, "PAS-SJF": 0.0, "FCFS": 0.25})
    assert runs["is_optimum"].to_dict() == {OPTIMUM: False, "PAS-SJF": False, "FCFS": True}
    assert runs["response_above_bound"].tolist() == pytest.approx([1.0] * 3)


def test_slots_are_worth_less_kept_than_moved_left() -> None:
    wanted = small("mesd-oas", workload=("WL-3",))
    (sample,) = (sample for sample in wanted.samples() if sample.measure == "slots")
    kept, left = measured(dataclasses.asdict(sample))["rows"]
    assert left["makespan"] <= kept["makespan"] <= kept["slotted_makespan"]
    assert (kept["starts"], left["starts"], kept["strategy"]) == ("keep", "left", OAS)


def test_an_experiment_runs_resumes_and_reports(tmp_path) -> None:
    wanted = small("pas-selection", heterogeneity=(50,), jobs=(6,))
    store = tmp_path / "store.sqlite"
    run(dataclasses.replace(wanted, strategies={}), store, jobs=1)
    with pytest.raises(CoallocError, match="6 of 7 samples have not run"):
        rows_of(wanted, store)
    assert run(wanted, store, jobs=1)
    rows = rows_of(wanted, store)
    assert run(wanted, store, jobs=1)
    assert rows_of(wanted, store) == rows
    assert [path.suffix for path in report.write(wanted, rows, tmp_path)] == [".md", ".csv", ".png"]
    page = (tmp_path / "pas-selection.md").read_text()
    assert "| Makespan hardly depends on the selection |" in page
    assert OAS_LEFT not in page
