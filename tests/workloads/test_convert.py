"""Eight consecutive jobs of a real trace on three clusters."""

from pathlib import Path

import pytest

from coalloc.instance import Cluster, NodeGroup, Platform
from coalloc.workloads.communication import largest_task_bandwidth
from coalloc.workloads.convert import convert_swf

KTH = Path(__file__).parents[3] / "shared" / "data" / "swf" / "KTH-SP2-1996-2.1-cln.swf.gz"
PLATFORM = Platform(
    tuple(
        Cluster(name, (NodeGroup(nodes, power),), 125.0)
        for name, nodes, power in [("C1", 32, 1.0), ("C2", 24, 0.75), ("C3", 16, 0.5)]
    )
)


def test_communication_is_drawn_unless_told_otherwise(tmp_path):
    trace = tmp_path / "t.swf"
    trace.write_text("1 0 -1 100 40 -1 -1 40 200 -1 1 1 1 -1 1 -1 -1 -1\n")
    instance, report = convert_swf(trace, None, PLATFORM, seed=4)
    assert instance.platform == PLATFORM
    assert instance.jobs[0].task_bandwidth > 0.0
    assert instance.jobs[0].processing_share < 1.0
    assert report.num_jobs == 1
    without, _ = convert_swf(trace, None, PLATFORM, communication="none")
    assert (without.jobs[0].task_bandwidth, without.jobs[0].processing_share) == (0.0, 1.0)


@pytest.mark.skipif(not KTH.is_file(), reason="the KTH trace of ../shared is absent")
def test_a_slice_of_kth_with_jobs_of_2_to_32_processors():
    instance, report = convert_swf(KTH, "13956:13964", PLATFORM, seed=1)
    assert [job.tasks for job in instance.jobs] == [2, 16, 24, 8, 9, 8, 2, 32]
    assert [job.base_time for job in instance.jobs] == [949, 974, 5901, 32846, 3527, 15254, 955, 9265]
    assert [job.arrival for job in instance.jobs] == [0, 929, 1148, 1484, 1537, 1563, 1739, 2130]
    assert all(job.task_bandwidth <= largest_task_bandwidth(job.tasks, PLATFORM) for job in instance.jobs)
    assert all(job.estimate >= job.base_time for job in instance.jobs)
    assert report.num_jobs == 8
