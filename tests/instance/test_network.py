"""The tree of switches: what lies below a link, what is refused, and how processors are named."""

from __future__ import annotations

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalloc.instance import Cluster, Instance, InstanceError, Job, NodeGroup, Platform, RunningJob, Switch
from coalloc.instance.consistency import MAX_PROCESSORS, network_faults
from coalloc.instance.network import ROOT
from tests.strategies import LAW, platforms


def cluster(name: str, switch: str | None = None, bandwidth: float = 1.0) -> Cluster:
    """Return a cluster of one node."""
    return Cluster(name, (NodeGroup(1, 1.0),), bandwidth, switch)


def faults(clusters, switches):
    """Return the lines about (name, switch) and (name, parent) pairs."""
    return [str(fault) for fault in network_faults(clusters, switches)]


def test_a_star_has_one_link_per_cluster():
    links = Platform((cluster("A", bandwidth=2.0), cluster("B", bandwidth=3.0))).links
    assert [(link.name, link.bandwidth, link.clusters) for link in links] == [
        ("A", 2.0, frozenset([0])),
        ("B", 3.0, frozenset([1])),
    ]


def test_a_switch_separates_all_clusters_below_it():
    # S0 - S1 - A, S1 - S2 - B, S2 - C, S0 - D: below S1 are A, B, C, below S2 are B, C.
    platform = Platform(
        (cluster("A", "S1"), cluster("B", "S2"), cluster("C", "S2"), cluster("D")),
        (Switch("S2", "S1", 20.0), Switch("S1", "S0", 10.0)),
    )
    assert [(link.name, link.bandwidth, sorted(link.clusters)) for link in platform.links[4:]] == [
        ("S2", 20.0, [1, 2]),
        ("S1", 10.0, [0, 1, 2]),
    ]
    assert platform.network.graph["root"] == ("switch", "S0")
    assert platform.network.has_edge(("switch", "S0"), ("cluster", "D"))


def test_a_cluster_may_name_the_root():
    tree = (Switch("S1", "S0", 1.0),)
    assert Platform((cluster("A", "S0"), cluster("B", "S1")), tree).network.has_edge(("switch", "S0"), ("cluster", "A"))


def test_a_cluster_and_a_switch_may_share_a_name():
    platform = Platform((cluster("S1", "S1"),), (Switch("S1", "S0", 1.0),))
    assert nx.is_tree(platform.network)
    assert [link.clusters for link in platform.links] == [frozenset([0]), frozenset([0])]


@LAW
@given(platforms(switches=4))
def test_the_network_is_a_tree_and_each_link_an_edge_of_it(platform):
    assert nx.is_tree(platform.network)
    assert len(platform.links) == platform.network.number_of_edges()
    for link in platform.links[len(platform.clusters) :]:
        # Without the edge above the switch the tree falls apart into what is below and the rest.
        parent = next(switch.parent for switch in platform.switches if switch.name == link.name)
        cut = platform.network.copy()
        cut.remove_edge(("switch", parent), ("switch", link.name))
        below = nx.node_connected_component(cut, ("switch", link.name))
        assert link.clusters == {i for i, c in enumerate(platform.clusters) if ("cluster", c.name) in below}


def test_cycles_of_switches():
    assert faults([], [("A", "B"), ("B", "C"), ("C", "A"), ("D", "A")]) == [
        "switches[0].parent: must not form a cycle of switches, got 'B'",
        "switches[1].parent: must not form a cycle of switches, got 'C'",
        "switches[2].parent: must not form a cycle of switches, got 'A'",
    ]
    assert faults([], [("A", "A")]) == ["switches[0].parent: must not form a cycle of switches, got 'A'"]


def test_a_tree_has_one_root():
    assert faults([], [("A", "R1"), ("B", "R2")]) == ["switches: must have one root, got 2: 'R1', 'R2'"]
    (line,) = faults([], [(f"S{i}", f"R{i}") for i in range(1000)])
    assert line.startswith("switches: must have one root, got 1000: 'R0', 'R1', 'R10'")
    assert len(line) < 150


def test_names_are_unique_and_known():
    assert faults([("A", None), ("B", "S1"), ("A", "S9")], [("S1", "S0"), ("S1", "S0")]) == [
        "clusters[2].name: must not repeat the cluster name 'A' of clusters[0].name",
        "switches[1].name: must not repeat the switch name 'S1' of switches[0].name",
        "clusters[2].switch: must name a switch of the platform, got 'S9'",
    ]
    assert faults([("A", ROOT)], []) == [f"clusters[0].switch: must name a switch of the platform, got '{ROOT}'"]


def test_what_cannot_be_read_is_not_held_against_others():
    # The second switch has no readable name: it may be the S9 that the cluster means, or the second root.
    assert faults([("A", "S9"), (None, None), ("A", None)], [("S1", "S0"), (None, "X")]) == [
        "clusters[2].name: must not repeat the cluster name 'A' of clusters[0].name"
    ]


def test_a_long_cascade_needs_no_recursion():
    chain = tuple(Switch(f"S{i}", f"S{i - 1}", 1.0) for i in range(1, 2001))
    assert nx.is_tree(Platform((cluster("A", "S2000"),), chain).network)


def test_processors_are_numbered_through_a_cluster():
    platform = Platform([Cluster("C1", [NodeGroup(1, 1.0), NodeGroup(2, 1.0, cores=2)], 1.0), cluster("C2")])
    assert platform.processor_names == ("C1/0", "C1/1.0", "C1/1.1", "C1/2.0", "C1/2.1", "C2/0")
    assert platform.processor_node == (0, 1, 1, 2, 2, 3)
    assert platform.num_processors == 6


names = st.text("AB/.01", min_size=1, max_size=4)
groups = st.builds(NodeGroup, count=st.integers(1, 12), power=st.just(1.0), cores=st.integers(1, 3))


@LAW
@given(st.lists(names, unique=True, min_size=1, max_size=4), st.data())
def test_cluster_names_with_slashes_and_dots_never_collide(cluster_names, data):
    # "A" with node 0 and "A/0" with node 0 have processors "A/0" and "A/0/0".
    clusters = [Cluster(name, data.draw(st.lists(groups, min_size=1, max_size=2)), 1.0) for name in cluster_names]
    platform = Platform(clusters)
    assert len(set(platform.processor_names)) == platform.num_processors
    for name in platform.processor_names:  # and each is found again by its name
        Instance(platform, (), (RunningJob(Job("R", 1, 1.0), (name,), 1.0),))


@pytest.mark.parametrize(
    "name",
    ["C1/1", "C1/2.0", "C1/0.0", "C1/1.2", "C1/01.0", "C1/1.00", "C1", "/0", "C2/0", "C1/-1", "C1/\u0660", "C1/0\n"],
)
def test_names_that_are_no_processors(name):
    # C1/0 has one core, C1/1 has the cores 0 and 1.
    platform = Platform([Cluster("C1", [NodeGroup(1, 1.0), NodeGroup(1, 1.0, cores=2)], 1.0)])
    assert name not in platform.processor_index
    with pytest.raises(InstanceError, match="must be a processor "):
        Instance(platform, (), (RunningJob(Job("R", 1, 1.0), (name,), 1.0),))


def test_the_largest_platform():
    assert Platform([Cluster("C", [NodeGroup(MAX_PROCESSORS, 1.0)], 1.0)]).num_processors == MAX_PROCESSORS
    with pytest.raises(InstanceError, match="clusters: must have at most 10000000 processors in total, got 10000001"):
        Platform([Cluster("C", [NodeGroup(MAX_PROCESSORS, 1.0)], 1.0), cluster("D")])


def test_nodes_that_hardly_do_anything_are_refused():
    # 1/5e-324 is no finite number, and the product of two powers of 1e-200 is 0.
    sentence = r"clusters\[0\]\.nodes\[1\]\.power: must be at least 1e-100 when multiplied by availability, got "
    for slow in (NodeGroup(1, 5e-324), NodeGroup(1, 1e-200, 1e-200)):
        with pytest.raises(InstanceError, match=sentence):
            Platform([Cluster("C", [NodeGroup(1, 1.0), slow], 1.0)])
