"""The platforms of the two-level study against the tables that follow from theirs."""

import pytest

import coalloc
from coalloc import CoallocError

TABLE_7 = {
    "KTH": (1, 1, 1, 1, 2.30263158, 1),
    "SDSC-SP2": (1.28, 1, 1, 1.18181818, 1.88157895, 3.07741935),
    "HPC2N": (2.4, 3.30898876, 2.53846154, 1.27272727, 1.17105263, 25.8602151),
    "CTC": (4.3, 1, 1, 1.22727273, 2.15789474, 4.75268817),
    "LANL": (10.24, 1.38764045, 1.19230769, 1.09090909, 1.90789474, 3.51612903),
    "SDSC-BLUE": (11.52, 4.26966292, 3, 2, 1.03947368, 143.134946),
    "SDSC-DS": (13.68, 6.46067416, 4.80769231, 2.18181818, 1, 280.806452),
}
DAS2 = (1, 1, 1.35961538, 1.18181818, 1.52808989, 6.77419355)
TABLE_9 = {
    "DAS2-Amsterdam": DAS2,
    "DAS2-Delft": DAS2,
    "DAS2-Utrecht": DAS2,
    "DAS2-Leiden": DAS2,
    "KTH": (1.5625, 1, 1, 1, 1.96629213, 1),
    "DAS2-Vrije": (2.25, 1, 1.35961538, 1.18181818, 1.48314607, 12.3655914),
    "HPC2N": (3.75, 3.30898876, 2.53846154, 1.27272727, 1, 25.8602151),
    "CTC": (6.71875, 1, 1, 1.22727273, 1.84269663, 4.75268817),
    "LANL": (16, 1.38764045, 1.19230769, 1.09090909, 1.62921348, 3.51612903),
}
"""As printed: processors, idle and working watts of a core, watts of a board, efficiency, speed; the least is 1."""


def relative(platform):
    """Return the columns of the tables by site."""
    rows = [
        (
            c.num_processors,
            c.power_states.core_idle_watts,
            c.power_states.core_working_watts,
            c.power_states.board_watts,
            c.efficiency,
            c.nodes[0].effective_power,
        )
        for c in platform.clusters
    ]
    least = [min(column) for column in zip(*rows, strict=True)]
    shares = [tuple(value / low for value, low in zip(row, least, strict=True)) for row in rows]
    return dict(zip((cluster.name for cluster in platform.clusters), shares, strict=True))


@pytest.mark.parametrize(("name", "table"), [("grid1", TABLE_7), ("grid2", TABLE_9)])
def test_the_relative_tables_follow(name, table):
    found = relative(coalloc.grid.platform(name))
    assert list(found) == list(table)
    for site, row in table.items():
        assert found[site] == pytest.approx(row, rel=1e-8), site


def test_the_totals_of_tables_3_and_4():
    assert coalloc.grid.platforms() == ("grid1", "grid2")
    assert [coalloc.grid.platform(name).num_processors for name in coalloc.grid.platforms()] == [4442, 2194]


def test_speeds_per_processor_are_relative_to_the_slowest():
    # GFLOPS per processor: LANL 65.4/1024 is the least; SDSC-DS 5223/1368, 59.8 times as much; KTH 18.6/100.
    platform = coalloc.grid.platform("grid1", speeds="processor")
    powers = {cluster.name: cluster.nodes[0].power for cluster in platform.clusters}
    assert min(powers, key=powers.get) == "LANL"
    assert powers["LANL"] == 1.0
    assert powers["SDSC-DS"] == pytest.approx(5223 / 1368 * 1024 / 65.4)
    assert powers["SDSC-DS"] / powers["KTH"] == pytest.approx(20.5, abs=0.05)  # errata 28
    assert coalloc.grid.platform("grid1", speeds="origin") == platform
    assert coalloc.grid.platform("grid1") == coalloc.grid.platform("grid1", speeds="site") != platform


def test_what_the_source_lacks_has_the_documented_defaults():
    for name in coalloc.grid.platforms():
        for cluster in coalloc.grid.platform(name).clusters:
            states, processors = cluster.power_states, cluster.num_processors
            per_board = 8 if cluster.name in ("SDSC-BLUE", "SDSC-DS") else 2 if "DAS2" in cluster.name else 1
            assert (states.cores, states.chassis, states.chassis_watts) == (per_board, 2, 0.0)
            assert states.site_watts == (32.0 if cluster.name == "KTH" else 50.0)
            assert (states.startup_time, states.core_grace, states.site_grace) == (20.0, 5.0, 10.0)
            assert states.num_chassis(processors) == 2
            assert states.startup_watts is None
    # SDSC-DS: 171 boards in chassis of 86; idle 50 + 171 * 240 + 1368 * 115 W.
    states = coalloc.grid.platform("grid1").clusters[6].power_states
    assert (states.boards, states.num_boards(1368)) == (86, 171)
    assert states.startup_draw(1368) == pytest.approx(198410.0)


def test_platforms_come_back_from_files(tmp_path):
    for name in coalloc.grid.platforms():
        coalloc.io.write_platform(coalloc.grid.platform(name), tmp_path / "platform.json")
        assert coalloc.io.read_platform(tmp_path / "platform.json") == coalloc.grid.platform(name)


def test_bad_names_and_speeds_list_those_there_are():
    with pytest.raises(CoallocError, match="unknown platform 'grid3'; available: grid1, grid2"):
        coalloc.grid.platform("grid3")
    with pytest.raises(CoallocError, match="speeds: must be 'site', 'processor' or 'origin', got 'core'"):
        coalloc.grid.platform("grid1", speeds="core")
