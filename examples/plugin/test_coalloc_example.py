"""What the plugin adds, as users of coalloc see it."""

import coalloc


def test_the_job_that_came_last_starts_first():
    # Each of three jobs takes the only node for 10 s. A starts at 0 s; of B (1 s) and C (2 s) C is next, at 10 s.
    platform = coalloc.Platform([coalloc.Cluster("C1", [coalloc.NodeGroup(1, power=1.0)], 125.0)])
    jobs = [coalloc.Job(name, 1, 10.0, arrival=float(time)) for time, name in enumerate("ABC")]
    run = coalloc.simulate(coalloc.Instance(platform, jobs), "last-come", allocation="first-fit")
    assert [run.schedule[name].start for name in "ABC"] == [0.0, 20.0, 10.0]


def test_jobs_join_the_shortest_queue():
    # Four jobs of two tasks arrive at once: each of two clusters of two nodes gets every second one.
    clusters = [coalloc.Cluster(name, [coalloc.NodeGroup(2, power=1.0)], 125.0) for name in ("C1", "C2")]
    jobs = [coalloc.Job(f"J{number}", 2, 10.0) for number in range(4)]
    run = coalloc.simulate(coalloc.Instance(coalloc.Platform(clusters), jobs), "shortest-queue", queue_order="spt")
    assert [placement.nodes[0] for placement in run.schedule] == ["C1/0", "C2/0", "C1/0", "C2/0"]


def test_one_of_two_equal_jobs_is_late():
    # Two jobs of 10 s on one node, both due at 10 s: the second ends at 20 s.
    platform = coalloc.Platform([coalloc.Cluster("C1", [coalloc.NodeGroup(1, power=1.0)], 125.0)])
    jobs = [coalloc.Job(name, 1, 10.0, due_date=10.0) for name in "AB"]
    result = coalloc.solve(coalloc.Instance(platform, jobs), objective="late-jobs", slot=10.0)
    assert (result.status, result.objective) == ("optimal", 1.0)


def test_generated_jobs_are_equal():
    jobs = coalloc.generate("equal-jobs", seed=1, jobs=3).jobs
    assert len(jobs) == 3
    assert len({job.base_time for job in jobs}) == 1
