"""Strategies of a broker over weeks of a grid: what runs, what is kept, and what is refused."""

import math

import pandas as pd
import pytest

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform
from coalloc.instance import PowerStates
from coalloc.studies.grid import COLUMNS
from coalloc.studies.interruption import Interrupted
from tests.cli.running import run
from tests.extras import needs_pictures

STATES = PowerStates(
    chassis=1,
    boards=1,
    cores=2,
    site_watts=10.0,
    chassis_watts=0.0,
    board_watts=0.0,
    core_idle_watts=1.0,
    core_working_watts=5.0,
    startup_time=20.0,
    core_grace=0.0,
    site_grace=0.0,
)


def site(name, power, states=STATES, efficiency=1.0):
    return Cluster(name, [NodeGroup(2, power)], link_bandwidth=0.0, efficiency=efficiency, power_states=states)


PLATFORM = Platform([site("slow", 1.0), site("fast", 2.0)])
WEEKS = [
    Instance(PLATFORM, [Job("J1", 1, 100.0), Job("J2", 2, 100.0, arrival=10.0)], name="week-01"),
    Instance(PLATFORM, [Job("J1", 2, 60.0, arrival=5.0)], name="week-02"),
]
STRATEGIES = ["MLp", "MLp_v"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("study")
    for week in WEEKS:
        coalloc.write_instance(week, path / f"{week.name}.json.gz")
    return path


@pytest.fixture(scope="module")
def said():
    return []


@pytest.fixture(scope="module")
def table(folder, said):
    return coalloc.studies.grid_study(
        WEEKS, STRATEGIES, always_on=["MLp"], store=folder / "kept.sqlite", progress=said.append, processes=2
    )


def test_there_is_a_row_for_each_week_and_strategy(table, said):
    assert list(table) == list(COLUMNS)
    assert table[["week", "strategy", "power_management", "jobs"]].to_numpy().tolist() == [
        ["week-01", "MLp", True, 2],
        ["week-01", "MLp_v", True, 2],
        ["week-02", "MLp", True, 1],
        ["week-02", "MLp_v", True, 1],
        ["week-01", "MLp", False, 2],
        ["week-02", "MLp", False, 1],
    ]
    assert len(said) == 10  # the six, and the bounds of two weeks, both ways
    assert any(line.startswith("week-02: MLp, always on (") for line in said)


def test_a_row_has_the_metrics_of_its_run(table):
    # Week 2: J1 goes to the first site, which starts up for 20 s at 10 + 2*1 W and then draws 10 + 2*5 W for 60 s; on
    # the fast one for 30 s. Always on, both sites draw 24 W and the working cores 8 W more, for the 60 s.
    rows = {(row.strategy, row.power_management): row for row in table.itertuples() if row.week == "week-02"}
    assert rows["MLp", True].energy == pytest.approx(20 * 12 + 60 * 20)
    assert rows["MLp_v", True].energy == pytest.approx(20 * 12 + 30 * 20)
    assert rows["MLp", False].energy == pytest.approx(60 * (24 + 8))
    assert rows["MLp_v", True].wait_mean == pytest.approx(20.0)
    # B: 5 + 60/2 = 35 s; C_max: 5 + 20 + 60 = 85 s.
    assert rows["MLp", True].competitive_factor == pytest.approx(85 / 35)


def test_a_row_has_the_distance_to_the_bounds_of_its_week(table):
    # Week 2: a busy core has 5 W and half of 10 W. 2 * 60 s on the slow site: 1200 J, 2 * 30 s on the fast one: 600 J.
    # The makespan is 30 s at least; start-ups of 20 s are in neither bound.
    rows = {(row.strategy, row.power_management): row for row in table.itertuples() if row.week == "week-02"}
    of_fast = rows["MLp_v", True]
    assert of_fast.energy_bound == pytest.approx(600.0)
    assert of_fast.energy_gap == pytest.approx(1.0 - 600.0 / (20 * 12 + 600))
    assert (of_fast.makespan, of_fast.makespan_bound, of_fast.makespan_gap) == pytest.approx((50.0, 30.0, 0.4))
    assert rows["MLp", True].energy_bound == of_fast.energy_bound
    # Always on: 24 W for 30 s, and 2 * 30 core-seconds on the fast site at 5 - 1 W.
    assert rows["MLp", False].energy_bound == pytest.approx(24 * 30 + 60 * 4)
    assert (table[["energy_gap", "makespan_gap"]] >= 0.0).all(axis=None)


def test_what_is_kept_is_not_run_again(table, folder):
    said = []
    again = coalloc.studies.grid_study(
        WEEKS, STRATEGIES, always_on=["MLp"], store=folder / "kept.sqlite", progress=said.append
    )
    pd.testing.assert_frame_equal(again, table)
    assert said == []


def test_runs_may_be_without_a_limit(table, in_process):
    endless = coalloc.studies.grid_study(WEEKS[1], STRATEGIES, always_on=["MLp"], time_limit=math.inf)
    assert endless["makespan"].tolist() == table[table["week"] == "week-02"]["makespan"].tolist()


def test_an_interrupted_study_keeps_what_has_ended(tmp_path, in_process):
    def interrupt(_):
        raise KeyboardInterrupt

    with pytest.raises(Interrupted) as caught:
        coalloc.studies.grid_study(WEEKS[1], STRATEGIES, store=tmp_path / "kept.sqlite", progress=interrupt)
    assert len(caught.value.table) == 0
    assert caught.value.missing == ("week-02: MLp", "week-02: MLp_v")


@pytest.mark.parametrize(
    ("weeks", "options", "fault"),
    [
        ([], {}, "grid_study requires at least one week"),
        (
            [WEEKS[0], WEEKS[1].replace(platform=Platform([site("slow", 1.0), site("fast", 3.0)]))],
            {},
            "week 'week-02' must have the platform of week 'week-01'",
        ),
        (WEEKS, {"strategies": ["MLP"]}, "did you mean"),
        (WEEKS, {"strategies": ["MLp"], "always_on": ["MXL"]}, "'MXL'"),
        (WEEKS, {"processes": 0}, "processes: must be at least 1, got 0"),
        (WEEKS, {"time_limit": 0.0}, "time_limit: must be above 0 s, got 0.0"),
        (
            Instance(Platform([site("slow", 1.0, states=None), site("fast", 2.0)]), []),
            {"strategies": STRATEGIES},
            r"clusters\[0\] \(cluster 'slow'\) has no power_states: the other clusters have them$",
        ),
        (
            Instance(Platform([site("slow", 1.0), site("fast", 2.0, efficiency=None)]), []),
            {"strategies": ["MLp_eff"]},
            "strategy 'MLp_eff' requires the efficiency of every cluster; 'fast' has none",
        ),
        (
            Instance(PLATFORM, [Job("J1", 3, 1.0)]),
            {},
            "job 'J1' has 3 tasks, but no cluster has as many processors",
        ),
    ],
)
def test_what_would_fail_is_said_before_anything_runs(tmp_path, weeks, options, fault):
    with pytest.raises(CoallocError, match=fault):
        coalloc.studies.grid_study(weeks, store=tmp_path / "kept.sqlite", **options)
    assert not (tmp_path / "kept.sqlite").exists()


@needs_pictures
def test_the_command_writes_table_and_pictures(table, folder):
    weeks = [folder / f"{week.name}.json.gz" for week in WEEKS]
    chosen = ["--strategy", "MLp", "--strategy", "MLp_v", "--always-on", "MLp"]
    result = run(
        "study", "grid", *weeks, *chosen, "--store", folder / "kept.sqlite", "-o", folder / "table.csv",
        "--plot", folder / "figures",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert result.stderr == ""
    assert "Change by power management, compared with all clusters always on:" in result.stdout
    pd.testing.assert_frame_equal(pd.read_csv(folder / "table.csv"), table)
    assert sorted(path.name for path in (folder / "figures").iterdir()) == [
        "degradations.png",
        "means.png",
        "power-management-MLp.png",
        "summary.csv",
    ]


def test_the_command_refuses_before_anything_runs(folder):
    week = folder / "week-01.json.gz"
    result = run("study", "grid", week, "--strategy", "MLP", "-o", folder / "other.csv")
    assert result.exit_code == 2
    assert "did you mean" in result.stderr
    assert run("study", "grid", week, "--plot", week).exit_code == 2
    assert not list(folder.glob("other*"))
