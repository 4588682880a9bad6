"""What of the grid study is run: two grids, three meanings of speed, boards of other sizes, bounds of each week.

Weeks are merged from the traces as the specifications in this folder say, and never written. Runs are those of
:func:`coalloc.studies.grid_study`, kept as they end; the table of a scenario has them all, and is what everything else
reads.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

import coalloc
from coalloc import Instance
from coalloc.bench.tables import csv_of
from coalloc.documents.storage import write_atomically
from coalloc.documents.toml import load_toml

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
    store.parent.mkdir(parents=True, exist_ok=True)

    def study(weeks: Sequence[Instance], strategies: Sequence[str] | None, always_on: Sequence[str]) -> pd.DataFrame:
        return coalloc.studies.grid_study(
            weeks, strategies, always_on=always_on, store=store, processes=processes, progress=_say
        )

    parts = [study(weeks, None, ALWAYS_ON).assign(cores_per_board=AS_BUILT)]
    for cores in CORES_PER_BOARD:
        others = [with_boards(week, cores) for week in weeks]
        parts.append(study(others, [BEST], [BEST]).assign(cores_per_board=cores))
    return pd.concat(parts, ignore_index=True)[list(COLUMNS)]


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


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
