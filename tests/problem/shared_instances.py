"""Small random instances with shared nodes, for laws."""

from __future__ import annotations

from hypothesis import strategies as st

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, LocalUser, NodeGroup, Platform, Schedule, Sharing
from tests.simulator.named import FirstFree


@st.composite
def shared_instances(draw):
    """Draw instances with users, scarce memory and several places per node."""
    group = NodeGroup(
        draw(st.integers(1, 3)),
        power=draw(st.sampled_from((0.5, 1.0))),
        memory=100.0,
        multiprogramming=draw(st.integers(1, 3)),
    )
    sharing = Sharing(
        contract=draw(st.sampled_from((None, 0.1, 0.5, 1.0))),
        paging=draw(st.sampled_from((0.0, 0.2))),
        coscheduling=draw(st.booleans()),
        cooperation=draw(st.booleans()),
    )
    clusters = [Cluster(f"C{i}", [group], 5.0) for i in range(draw(st.integers(1, 2)))]
    platform = Platform(clusters, sharing=sharing)
    drawn = [
        Job(
            f"J{i}",
            tasks=draw(st.integers(1, len(platform.nodes))),
            base_time=draw(st.sampled_from((10.0, 50.0, 100.0 / 3.0))),
            processing_share=draw(st.sampled_from((0.0, 0.5, 1.0))),
            task_bandwidth=draw(st.sampled_from((0.0, 10.0))),
            arrival=draw(st.sampled_from((0.0, 10.0, 25.0))),
            memory=draw(st.sampled_from((0.0, 30.0, 45.0))),
        )
        for i in range(draw(st.integers(1, 8)))
    ]
    users = []
    for node in platform.nodes:
        times = sorted(draw(st.sets(st.sampled_from((0.0, 10.0, 20.0, 35.0, 60.0, 80.0)), max_size=4)))
        users += [
            LocalUser(node.name, start, end, cpu=draw(st.sampled_from((0.2, 0.9))), memory=50.0)
            for start, end in zip(times[::2], times[1::2], strict=False)
        ]
    return Instance(platform, drawn, local_users=users)


def outcome(instance: Instance) -> Schedule | str:
    """Return the schedule of a run, or what is wrong with it."""
    try:
        return coalloc.simulate(instance, FirstFree()).schedule
    except CoallocError as error:
        return str(error)
