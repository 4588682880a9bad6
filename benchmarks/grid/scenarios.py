"""What of the grid study is run: two grids, three meanings of speed, boards of other sizes, bounds of each week.

Weeks are merged from the traces as the specifications in this folder say. All strategies run on a week in one process,
as :func:`coalloc.studies.grid_study` runs each; weeks are kept as they end. The table of a scenario has all runs.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

import coalloc
from coalloc import CoallocError, Instance
from coalloc.bench.calls import Call
from coalloc.bench.outcomes import Outcome, Row, is_failed
from coalloc.bench.running import BenchProgress, outcomes_of, run_calls
from coalloc.bench.tables import csv_of
from coalloc.bench.workers import LocalWorkers
from coalloc.documents.storage import write_atomically
from coalloc.documents.toml import load_toml
from coalloc.instance.files import instance_hash
from coalloc.rules.brokering import STRATEGIES
from coalloc.studies.grid import run_strategy
from coalloc.studies.interruption import Interrupted

HERE = Path(__file__).resolve().parent
GRIDS = ("grid1", "grid2")
SPEEDS = ("site", "processor", "origin")
BEST = "MaxAR_v"
"""What the source ranks first, and compares with all switched on in its Figures 13 to 17."""
ALWAYS_ON = (BEST, "MST_v", "MLp_v", "LBal_E")
"""What runs with all switched on as well: the strategies that the source names for their quality and their energy."""
CORES_PER_BOARD = (1, 8)
"""Cores per board tried at every site, in addition to those of the machines."""
AS_BUILT = 0
"""What the column ``cores_per_board`` has where the boards are those of the machines."""
COLUMNS = (
    "week",
    "strategy",
    "power_management",
    "cores_per_board",
    "jobs",
    "competitive_factor",
    "wait_mean",
    "waited_share",
    "sd_b",
    "energy",
    "energy_efficiency",
)
"""Columns of the table of runs; docs/grid.md defines them."""
WEEKLY = ("week", "energy_bound", "startup_energy", "startups")
"""What the week takes at least with power management, J; what the start-ups of ``BEST`` take of it, J; how many."""
TIME_LIMIT = 7200.0
"""Seconds after which a week is killed: far more than any takes."""
DEFAULTS = {"local": "easy", "working": "total", "seed": 0}
"""Options of a run."""
DIGITS = 10
"""Of the numbers in a table: what is beyond is rounding."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """A grid and a meaning of the speed of its sites."""

    grid: str
    speeds: str

    @property
    def name(self) -> str:
        """What its files are called."""
        return f"{self.grid}-{self.speeds}"


SCENARIOS = tuple(Scenario(grid, speeds) for grid in GRIDS for speeds in SPEEDS)


@functools.cache
def weeks_of(scenario: Scenario, traces: Path, number: int) -> Sequence[Instance]:
    """Return the first weeks of a scenario; ``traces`` is the folder of the logs."""
    spec, _ = load_toml(HERE / f"{scenario.grid}.toml")
    logs = [trace | {"swf": str(traces.resolve() / Path(trace["swf"]).name)} for trace in spec["traces"]]
    merged = coalloc.io.merge_swf(spec | {"traces": logs, "name": scenario.grid, "speeds": scenario.speeds})
    return merged.weeks[:number]


def with_boards(week: Instance, cores: int) -> Instance:
    """Return a week on the same platform with so many cores on every board."""
    clusters = []
    for cluster in week.platform.clusters:
        states = cluster.power_states
        assert states is not None
        boards = -(-cluster.num_processors // cores)
        states = dataclasses.replace(states, cores=cores, boards=-(-boards // states.chassis))
        clusters.append(cluster.replace(power_states=states))
    return week.replace(platform=week.platform.replace(clusters=clusters))


def run(scenario: Scenario, traces: Path, number: int, store: Path, processes: int) -> pd.DataFrame:
    """Run what the store lacks of a scenario and return the table of all of it, a row per run."""
    weeks = weeks_of(scenario, traces, number)
    parts = [studied(weeks, tuple(STRATEGIES), ALWAYS_ON, store, processes).assign(cores_per_board=AS_BUILT)]
    for cores in CORES_PER_BOARD:
        others = [with_boards(week, cores) for week in weeks]
        parts.append(studied(others, (BEST,), (BEST,), store, processes).assign(cores_per_board=cores))
    return pd.concat(parts, ignore_index=True)[list(COLUMNS)]


def studied(
    weeks: Sequence[Instance], strategies: Sequence[str], always_on: Sequence[str], store: Path, processes: int
) -> pd.DataFrame:
    """Return a row for each strategy and week, after running the weeks that the store lacks."""
    asked = {"strategies": list(strategies), "always_on": list(always_on)}
    with tempfile.TemporaryDirectory() as folder:
        calls = []
        for number, week in enumerate(weeks):
            path = Path(folder) / f"{number}.json"
            coalloc.write_instance(week, path)
            given = {"week": instance_hash(week)}
            calls.append(Call(of_week, asked, TIME_LIMIT, given=given, local={"path": str(path)}))
        store.parent.mkdir(parents=True, exist_ok=True)
        done = run_calls(calls, store, functools.partial(LocalWorkers, processes), _say)
        outcomes = [outcome for outcome in outcomes_of(calls, store) if outcome]
    failed = [outcome["message"] for outcome in outcomes if is_failed(outcome)]
    if failed:
        raise CoallocError(f"{len(failed)} of {len(calls)} weeks failed, the first: {failed[0]}")
    if done.is_interrupted:
        raise Interrupted(pd.DataFrame(), [])
    return pd.DataFrame([row for outcome in outcomes for row in outcome["rows"]])


def of_week(argument: Mapping[str, Any]) -> Row:
    """Return a row for each strategy on a week."""
    week = coalloc.read_instance(argument["path"])
    rows = []
    for power_management, names in ((True, argument["strategies"]), (False, argument["always_on"])):
        for name in names:
            options = {**DEFAULTS, "strategy": name, "power_management": power_management}
            known = {"week": week.name, "strategy": name, "power_management": power_management, "jobs": len(week.jobs)}
            rows.append({**known, **run_strategy(options, week)["metrics"]})
    return {"status": "done", "rows": rows}


def weekly(scenario: Scenario, traces: Path, number: int) -> pd.DataFrame:
    """Return what is known of each week besides its runs: :data:`WEEKLY`."""
    return pd.DataFrame([_of_week(week) for week in weeks_of(scenario, traces, number)], columns=list(WEEKLY))


def _of_week(week: Instance) -> tuple[str, float, float, int]:
    bound = coalloc.lower_bound(week, "energy", scope="cluster", power_management=True)
    run = coalloc.simulate(week, "grid", strategy=BEST, power_management=True)
    metered = coalloc.energy(week, run.schedule, power_management=True)
    return week.name, bound, metered.parts["startup"], sum(metered.startups.values())


def write_table(path: Path, table: pd.DataFrame) -> None:
    """Write a table as CSV."""
    columns = [str(name) for name in table.columns]
    write_atomically(path, csv_of(columns, _records(table)))


def _records(table: pd.DataFrame) -> Iterator[dict[str, object]]:
    for row in table.to_dict("records"):
        yield {str(name): f"{cell:.{DIGITS}g}" if isinstance(cell, float) else cell for name, cell in row.items()}


def _say(_call: Call, _outcome: Outcome, progress: BenchProgress) -> None:
    print(progress, file=sys.stderr, flush=True)
