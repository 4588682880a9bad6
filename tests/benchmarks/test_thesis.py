"""The experiments of the thesis: their instances, what they plan, and that claims and bounds are what they say."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import experiment as experiments
import optima
import pandas as pd
import pytest
import thesis_report
from claims import excess, is_least, saving
from experiment import NAMES, Experiment, experiment, rows_of, run
from figures import FIGURES
from measures import OAS, OAS_LEFT, OPTIMUM, RANKS, measured, power_ranks, ranks
from results_table import results_of
from workloads import HPC2N, TRACES, Workload, has_trace

from coalloc import Cluster, Instance, Job, NodeGroup, Placement, Platform, Schedule
from coalloc.heuristics.registry import policy_named
from coalloc.instance import CoallocError
from tests.in_process import InProcess


def test_wl1_has_large_jobs_ahead_of_small_ones_that_fit_beside_them() -> None:
    for seed in range(1, 6):
        tasks = [job.tasks for job in drawn("WL-1", seed).jobs]
        assert all(7 <= count <= 10 for count in tasks[:4])
        assert all(1 <= count <= 4 for count in tasks[4:])
        assert min(tasks[:4]) + min(tasks[4:]) <= 12


def test_wl2_is_wl3_with_most_tasks_first() -> None:
    as_drawn, decreasing = drawn("WL-3", 3).jobs, drawn("WL-2", 3).jobs
    assert [job.id for job in decreasing] == [f"J{i}" for i in range(1, 9)]
    assert [job.tasks for job in decreasing] == sorted((job.tasks for job in as_drawn), reverse=True)
    assert sorted(job.base_time for job in decreasing) == sorted(job.base_time for job in as_drawn)


def test_an_optimum_is_certified_and_compared_with_the_table(tmp_path) -> None:
    call = optima.calls_of(experiment("paper-oas", seeds=1), 20.0)[0]
    rows = optima.certified(call.argument | {"percentages": [250.0]})["rows"]
    assert [row["solve"] for row in rows] == [optima.STRICT, optima.SATURATED, "slots of 250 %"]
    assert all(row["certificate"] for row in rows)
    wrong = rows[2] | {"optimum": 1.01 * rows[2]["optimum"]}  # certified, but not what the experiment has
    unproved = {"workload": "WL-1", "seed": 1, "solve": rows[2]["solve"], "is_proven": False}
    lines = optima.table_of(experiment("paper-oas"), [*rows[:2], wrong, unproved]).splitlines()
    assert [line.rstrip(" |") for line in lines[2:]] == [
        f"| {optima.STRICT} | 1 | 1 | 1 | 1",
        f"| {optima.SATURATED} | 1 | 1 | 1 | 1",
        "| slots of 250 % | 2 | 1 | 1 | 0",
    ]


def test_queues_of_the_paper_fit_its_six_nodes_and_differ() -> None:
    tasks = [job.tasks for job in drawn("WL-1", 2, "paper-oas").jobs]
    assert set(tasks[:4]) <= {4, 5}
    assert set(tasks[4:]) <= {1, 2}
    random = [drawn(f"WL-{number}", 2, "paper-oas") for number in range(3, 7)]
    assert {one.platform.num_processors for one in random} == {6}
    assert len({one.jobs for one in random}) == 4


def test_base_times_of_a_queue_spread_as_the_point_says() -> None:
    usual, narrow, even = (drawn("WL-3", 1, base_times=name) for name in ("Weibull 1", "Weibull 3", "uniform"))
    assert usual.jobs == drawn("WL-3", 1).jobs
    # The same draws to the power of a third: what lies between them shrinks. Tasks are drawn before.
    assert spread(narrow) < spread(usual)
    assert [job.tasks for job in even.jobs] == [job.tasks for job in usual.jobs]
    assert even.jobs != usual.jobs


def drawn(queue: str, seed: int, generator: str = "thesis-oas", **point: str) -> Instance:
    """Return a queue by name."""
    return Workload("queue", {}, generator).instance({"workload": queue, **point}, seed)


def spread(instance: Instance) -> float:
    """Return the ratio of the longest base time to the shortest."""
    times = [job.base_time for job in instance.jobs]
    return max(times) / min(times)


def test_a_generated_point_says_the_range_of_shares() -> None:
    grid = {"jobs": 6, "shares": "0.1:0.2"}
    jobs = Workload("generator", {}, "thesis-pas").instance(grid, 1).jobs
    assert all(0.1 <= job.processing_share <= 0.2 for job in jobs)


def test_jobs_of_more_processing_on_faster_nodes_rank_alike() -> None:
    # J1 asks 9 s of the fast node, J2 3 s of the slow one, J3 1 + 1 s of both: by a task 9 > 3 > 1 beside powers
    # 1 > 0.5 < 0.75, ranks (3, 2, 1) and (3, 1, 2): 1 - 6*(0 + 1 + 1)/(3*8) = 0.5. By all tasks 9 > 3 > 2: the same.
    clusters = [Cluster("F", [NodeGroup(1, power=1.0)], 125.0), Cluster("S", [NodeGroup(1, power=0.5)], 125.0)]
    jobs = [Job("J1", tasks=1, base_time=9.0), Job("J2", tasks=1, base_time=3.0), Job("J3", tasks=2, base_time=1.0)]
    nodes = {"J1": ("F/0",), "J2": ("S/0",), "J3": ("F/0", "S/0")}
    starts = {"J1": (0.0, 9.0), "J2": (0.0, 6.0), "J3": (9.0, 11.0)}
    schedule = Schedule([Placement(name, *starts[name], nodes[name]) for name in nodes])
    assert power_ranks(Instance(Platform(clusters), jobs), schedule) == pytest.approx(dict.fromkeys(RANKS, 0.5))
    assert ranks([2.0, 1.0, 2.0]).tolist() == [2.5, 1.0, 2.5]


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


def test_logs_are_read_where_the_environment_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TRACES, str(tmp_path))
    assert experiment("mesd-large").workload.kind == "generator"  # jobs like those of the log
    with pytest.raises(CoallocError, match=f"mesd-estimates needs the log .* in {tmp_path}"):
        experiment("mesd-estimates")
    (tmp_path / HPC2N).touch()
    assert experiment("mesd-estimates").workload.kind == "trace"


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
            | dict.fromkeys(("wait_mean", "execution_slowdown", "execution_slowdown_mean", "utilization"), 0.0)
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


def test_an_experiment_runs_resumes_and_reports(tmp_path, monkeypatch) -> None:
    wanted = dataclasses.replace(small("pas-selection", heterogeneity=(50,), jobs=(6,)), together=False)
    store = tmp_path / "store.sqlite"
    run(dataclasses.replace(wanted, strategies={}), store, jobs=1)
    with pytest.raises(CoallocError, match="6 of 7 samples have not run"):
        rows_of(wanted, store)
    monkeypatch.setattr(experiments, "LocalWorkers", InProcess)
    assert run(wanted, store, jobs=1)
    rows = rows_of(wanted, store)
    assert run(wanted, store, jobs=1)
    assert rows_of(wanted, store) == rows
    assert [path.suffix for path in thesis_report.write(wanted, rows, tmp_path)] == [".md", ".csv", ".png"]
    page = (tmp_path / "pas-selection.md").read_text()
    assert "| Makespan hardly depends on the selection |" in page
    assert OAS_LEFT not in page


def test_a_page_is_written_again_from_its_table(tmp_path) -> None:
    # Its figures are the same, and it says still whose code made them; strategies together are one sample.
    wanted = small("pas-selection", heterogeneity=(50,), jobs=(6,))
    with pytest.raises(CoallocError, match=r"has no pas-selection\.md"):
        thesis_report.write_again(wanted, tmp_path)
    assert [sample.measure for sample in wanted.samples()] == ["bounds", "policies"]
    rows = [row for sample in wanted.samples() for row in measured(dataclasses.asdict(sample))["rows"]]
    thesis_report.write(wanted, rows, tmp_path)
    page = tmp_path / "pas-selection.md"
    made = page.read_text().replace("1 seeds; ", "1 seeds; other code, ")
    page.write_text(made)
    thesis_report.write_again(wanted, tmp_path)
    assert page.read_text() == made
