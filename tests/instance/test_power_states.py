"""Power states: how many boards and chassis there are, and what all of them draw idle."""

import pytest

from coalloc.instance import Cluster, CoallocError, InstanceError, NodeGroup, Platform, PowerStates
from coalloc.instance.power import is_metered, require_metered, require_power_states, require_watts

STATES = PowerStates(
    chassis=2,
    boards=13,
    cores=4,
    site_watts=32.0,
    chassis_watts=3.0,
    board_watts=110.0,
    core_idle_watts=17.8,
    core_working_watts=26.0,
    startup_time=20.0,
    core_grace=5.0,
    site_grace=10.0,
)
NODES = NodeGroup(1, 1.0, idle_watts=0.0, static_watts=0.0, core_watts=0.0)


def test_processors_fill_boards_and_boards_fill_chassis():
    # A board has 4 places, a chassis 52.
    assert [STATES.num_boards(n) for n in (1, 4, 5, 100)] == [1, 1, 2, 25]
    assert [STATES.num_chassis(n) for n in (1, 52, 53, 104)] == [1, 1, 2, 2]


def test_a_start_up_draws_as_all_of_the_site_idle_by_default():
    # 100 processors: 32 + 2 * 3 + 25 * 110 + 100 * 17.8
    assert STATES.startup_draw(100) == pytest.approx(4568.0)
    assert STATES.replace(startup_watts=7.0).startup_draw(100) == 7.0
    assert STATES.replace(startup_watts=0.0).startup_draw(100) == 0.0


def test_a_cluster_fills_its_places_at_most():
    assert Cluster("C", [NodeGroup(104, 1.0)], 0.0, power_states=STATES).num_processors == 104
    with pytest.raises(InstanceError) as error:
        Platform([Cluster("C", [NodeGroup(100, 1.0), NodeGroup(5, 1.0)], 0.0, power_states=STATES)])
    assert str(error.value) == (
        "clusters[0].power_states: must have places for the 105 processors of the cluster, got 104 "
        "(2 chassis of 13 boards of 4 cores)"
    )


def test_a_platform_is_metered_by_the_watts_of_all_nodes_or_the_power_states_of_all_clusters():
    nodes = Cluster("N", [NODES], 0.0)
    states = Cluster("S", [NodeGroup(1, 1.0)], 0.0, power_states=STATES)
    assert is_metered(Platform([nodes, nodes.replace(name="M")]))
    assert is_metered(Platform([states, states.replace(name="T")]))
    assert not is_metered(Platform([nodes, states]))
    assert not is_metered(Platform([nodes, nodes.replace(name="M", nodes=[NodeGroup(1, 1.0)])]))
    for refuse in (require_metered, require_power_states):
        with pytest.raises(CoallocError, match=r"^clusters\[0\] \(cluster 'N'\) has no power_states: the other"):
            refuse(Platform([nodes, states]))


def test_what_looks_at_the_watts_of_nodes_says_so():
    platform = Platform([Cluster("S", [NodeGroup(1, 1.0)], 0.0, power_states=STATES)])
    require_metered(platform)
    with pytest.raises(CoallocError) as error:
        require_watts(platform)
    assert str(error.value) == (
        "clusters[0].nodes[0] (cluster 'S') has no idle_watts, static_watts, core_watts: "
        "node watts are required here, not the power_states of the cluster"
    )
