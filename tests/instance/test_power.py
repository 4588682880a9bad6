"""What a node draws, and watts from physics."""

import pytest

from coalloc.instance import Cluster, CoallocError, NodeGroup, Platform
from coalloc.instance.power import at_clock, known_watts, node_watts, require_watts, switching_watts

NODE = NodeGroup(1, power=2.0, cores=4, idle_watts=3.0, static_watts=10.0, core_watts=8.0, clock=2.0)


def test_static_watts_are_drawn_once_and_core_watts_per_busy_core():
    assert [node_watts(NODE, busy) for busy in range(3)] == [3.0, 18.0, 26.0]


def test_missing_watts_are_named_by_node_group():
    groups = (NODE, NODE.replace(core_watts=None), NodeGroup(1, 1.0, off_watts=1.0))
    platform = Platform((Cluster("C1", (NODE,), 0.0), Cluster("C2", groups, 0.0)))
    with pytest.raises(CoallocError) as error:
        require_watts(platform)
    assert str(error.value).splitlines() == [
        "clusters[1].nodes[1] (cluster 'C2') has no core_watts: energy requires them; use 0 for no power draw",
        "clusters[1].nodes[2] (cluster 'C2') has no idle_watts, static_watts, core_watts: "
        "energy requires them; use 0 for no power draw",
    ]
    with pytest.raises(CoallocError, match="has no core_watts"):
        known_watts(groups[1])


def test_zero_watts_are_watts():
    silent = NODE.replace(idle_watts=0.0, static_watts=0.0, core_watts=0.0)
    require_watts(Platform((Cluster("C1", (silent,), 0.0),)))
    assert node_watts(silent, 4) == 0.0


def test_switching_power_is_half_c_v_squared_f():
    # 1/2 * 2 nF * (1.5 V)^2 * 2 GHz = 0.5 * 2e-9 * 2.25 * 2e9 = 4.5 W
    assert switching_watts(2e-9, 1.5, 2.0) == pytest.approx(4.5, rel=1e-12)
    with pytest.raises(CoallocError, match="at least 0"):
        switching_watts(-1.0, 1.0, 1.0)


def test_half_the_clock_takes_an_eighth_of_the_core_watts_if_voltage_follows():
    slow = at_clock(NODE, 1.0)
    assert (slow.power, slow.core_watts, slow.clock) == (1.0, 1.0, 1.0)
    assert (slow.static_watts, slow.idle_watts, slow.cores) == (10.0, 3.0, 4)
    # Half of it where the voltage stays; V^2 f = 0.8^2 / 2 = 0.32 of it at 80 % of the voltage.
    assert at_clock(NODE, 1.0, voltage_ratio=1.0).core_watts == 4.0
    assert at_clock(NODE, 1.0, voltage_ratio=0.8).core_watts == pytest.approx(0.32 * 8.0, rel=1e-12)


def test_scaling_agrees_with_the_formula():
    base = NODE.replace(core_watts=switching_watts(1e-9, 1.2, 2.0))
    assert at_clock(base, 3.0, voltage_ratio=1.1).core_watts == pytest.approx(
        switching_watts(1e-9, 1.2 * 1.1, 3.0), rel=1e-12
    )


@pytest.mark.parametrize("group", [NODE.replace(clock=None), NODE.replace(core_watts=None)])
def test_what_cannot_be_scaled(group):
    with pytest.raises(CoallocError, match="must have a clock and core_watts"):
        at_clock(group, 1.0)


@pytest.mark.parametrize(("clock", "ratio"), [(0.0, None), (1.0, 0.0)])
def test_clock_and_voltage_are_above_0(clock, ratio):
    with pytest.raises(CoallocError, match="must be above 0"):
        at_clock(NODE, clock, ratio)
