"""The engine by hand: ends over shared links, kills, passes, running jobs, and what it refuses."""

import numpy as np
import pytest

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform, RunningJob, Start
from coalloc.simulator.engine import Engine, Interrupted
from coalloc.simulator.site import Partition
from tests.simulator.listed import Listed


def two_clusters(bandwidth=5.0, power=1.0):
    """Return two clusters of two nodes behind links of ``bandwidth`` MB/s."""
    return Platform([Cluster(name, [NodeGroup(2, power=power)], link_bandwidth=bandwidth) for name in ("C1", "C2")])


def one_cluster(nodes=2):
    """Return a cluster of reference nodes."""
    return Platform([Cluster("C1", [NodeGroup(nodes, power=1.0)], link_bandwidth=0.0)])


def spread(id, **changes):
    """Return a job of two tasks; one in each of two clusters, it loads both links with 1 * 10 * (2 - 1)/1 = 10 MB/s."""
    return Job(id, tasks=2, base_time=100.0, processing_share=0.5, task_bandwidth=10.0, **changes)


def spans(run):
    """Return start and end of each job by id."""
    return {placement.job: (placement.start, placement.end) for placement in run.schedule}


# ------------------------------------------------------------------------------ shared links


def test_two_jobs_share_a_saturated_link():
    # Each loads a link of 5 MB/s with 10: alone SAT 0.5, SC 2, Te = 100 (0.5 + 0.5 * 2) = 150 s; together 20 MB/s,
    # SAT 0.25, SC 4, Te = 100 (0.5 + 0.5 * 4) = 250 s. J1 starts at 0; J2 arrives at 75, when J1 is half done. The
    # other half takes J1 250/2 = 125 s, to 200. By then J2 has done 125/250 = half; alone again, the rest
    # takes 150/2 = 75 s, to 275.
    instance = Instance(two_clusters(), [spread("J1"), spread("J2", arrival=75.0)])
    run = coalloc.simulate(instance, Listed({"J1": (1, 1), "J2": (1, 1)}))
    assert spans(run) == {"J1": (0.0, pytest.approx(200.0)), "J2": (75.0, pytest.approx(275.0))}
    assert run.metrics["saturated_share"] == 1.0
    assert coalloc.check(instance, run.schedule, links="shared") == []


def test_a_job_within_a_cluster_does_not_notice_the_link():
    # J2 stays in C2: it takes its base time, and J1 is alone on the links: 150 s.
    instance = Instance(two_clusters(), [spread("J1"), Job("J2", tasks=1, base_time=80.0, task_bandwidth=99.0)])
    run = coalloc.simulate(instance, Listed({"J1": (1, 1), "J2": (0, 1)}))
    assert spans(run) == {"J1": (0.0, 150.0), "J2": (0.0, 80.0)}


def test_a_link_that_two_jobs_fill_exactly_slows_nobody_down():
    instance = Instance(two_clusters(bandwidth=20.0), [spread("J1"), spread("J2")])
    run = coalloc.simulate(instance, Listed({"J1": (1, 1), "J2": (1, 1)}))
    assert spans(run) == {"J1": (0.0, 100.0), "J2": (0.0, 100.0)}
    assert run.metrics["saturated_share"] == 0.0


def test_a_running_job_loads_its_links_until_its_given_end():
    # It runs until 125 whatever happens. Until then J1 advances at 1/250, so it is half done; the rest takes 75 s.
    running = RunningJob(spread("R"), ("C1/0", "C2/0"), 125.0)
    instance = Instance(two_clusters(), [spread("J1")], running=[running])
    run = coalloc.simulate(instance, Listed({"J1": (1, 1)}))
    assert spans(run) == {"J1": (0.0, pytest.approx(200.0))}
    assert run.schedule["J1"].nodes == ("C1/1", "C2/1")


def test_a_job_over_a_link_of_no_bandwidth_would_never_end():
    instance = Instance(two_clusters(bandwidth=0.0), [spread("J1")])
    with pytest.raises(CoallocError, match="job 'J1' loads a link of no bandwidth"):
        coalloc.simulate(instance, Listed({"J1": (1, 1)}))


# ------------------------------------------------------------------------------ estimates


def test_a_job_is_killed_at_its_limit_and_not_otherwise():
    # On nodes of power 0.5 SP = 2: J1 takes 100 (0.5 * 2 + 0.5) = 150 s, its limit is 60 (0.5 * 2 + 0.5) = 90 s.
    job = Job("J1", tasks=1, base_time=100.0, estimate=60.0, processing_share=0.5)
    instance = Instance(two_clusters(power=0.5), [job])
    killed = coalloc.simulate(instance, "fcfs", kill=True).schedule["J1"]
    assert (killed.end, killed.outcome) == (90.0, "killed")
    spared = coalloc.simulate(instance, "fcfs").schedule["J1"]
    assert (spared.end, spared.outcome) == (150.0, "completed")


def test_saturation_may_push_a_job_beyond_its_limit():
    # Both together have SC 4 and would take 250 s; the limit is the estimate with SC 1, 100 s.
    instance = Instance(two_clusters(), [spread("J1"), spread("J2")])
    run = coalloc.simulate(instance, Listed({"J1": (1, 1), "J2": (1, 1)}), kill=True)
    assert [(p.end, p.outcome) for p in run.schedule] == [(100.0, "killed"), (100.0, "killed")]


def test_a_policy_sees_estimates_and_never_run_times():
    policy = Listed({"J1": (2,), "J2": (1,)})
    jobs = [Job("J1", tasks=2, base_time=10.0, estimate=50.0), Job("J2", tasks=1, base_time=7.0, arrival=5.0)]
    coalloc.simulate(Instance(one_cluster(), jobs), policy)
    assert policy.seen == [(0.0, ["J1"], []), (5.0, ["J2"], [("J1", 50.0)]), (10.0, ["J2"], [])]


def test_what_a_policy_is_shown_has_the_estimate_as_base_time():
    class Curious(Listed):
        def decide(self, state):
            assert [job.base_time for job in state.queue] == [50.0]
            return super().decide(state)

    job = Job("J1", tasks=1, base_time=10.0, estimate=50.0, user="ada", memory=3.0)
    run = coalloc.simulate(Instance(one_cluster(), [job]), Curious({"J1": (1,)}))
    assert run.schedule["J1"].end == 10.0


# ------------------------------------------------------------------------------ passes


def test_one_pass_per_instant_or_one_per_event():
    # At 10 J1 ends and J2, J3 arrive. In a batch one pass sees both waiting and J1 gone. Event by event J2 arrives
    # first: J1, whose estimate is 20, still runs then.
    jobs = [
        Job("J1", tasks=1, base_time=10.0, estimate=20.0),
        Job("J2", tasks=2, base_time=1.0, arrival=10.0),
        Job("J3", tasks=2, base_time=1.0, arrival=10.0),
    ]
    counts = {"J1": (1,), "J2": (2,), "J3": (2,)}
    batch, single = Listed(counts), Listed(counts)
    coalloc.simulate(Instance(one_cluster(), jobs), batch)
    coalloc.simulate(Instance(one_cluster(), jobs), single, passes="per-event")
    assert batch.seen[1:] == [(10.0, ["J2", "J3"], []), (11.0, ["J3"], [])]
    assert single.seen[1:] == [
        (10.0, ["J2"], [("J1", 20.0)]),
        (10.0, ["J2", "J3"], [("J1", 20.0)]),
        (10.0, ["J2", "J3"], []),
        (11.0, ["J3"], []),
    ]


def test_event_by_event_a_job_whose_estimated_end_has_come_counts_as_finished():
    # J1 ends at 10, as estimated, so J2 starts when it arrives at 10, before the termination is looked at.
    jobs = [Job("J1", tasks=2, base_time=10.0), Job("J2", tasks=2, base_time=1.0, arrival=10.0)]
    policy = Listed({"J1": (2,), "J2": (2,)})
    run = coalloc.simulate(Instance(one_cluster(), jobs), policy, passes="per-event")
    assert policy.seen == [(0.0, ["J1"], []), (10.0, ["J2"], [])]
    assert spans(run)["J2"] == (10.0, 11.0)


def test_event_by_event_a_job_that_overruns_its_estimate_still_holds_its_nodes():
    jobs = [Job("J1", tasks=2, base_time=12.0, estimate=10.0), Job("J2", tasks=2, base_time=1.0, arrival=10.0)]
    run = coalloc.simulate(Instance(one_cluster(), jobs), "fcfs", passes="per-event")
    assert spans(run)["J2"] == (12.0, 13.0)


def test_running_jobs_hold_their_nodes():
    running = RunningJob(Job("R", tasks=1, base_time=99.0), ("C1/0",), 5.0)
    jobs = [Job("J1", tasks=2, base_time=3.0), Job("J2", tasks=1, base_time=4.0)]
    run = coalloc.simulate(Instance(one_cluster(), jobs, running=[running]), "fpfs")
    assert {p.job: (p.start, p.nodes) for p in run.schedule} == {"J1": (5.0, ("C1/0", "C1/1")), "J2": (0.0, ("C1/1",))}


def test_no_jobs_are_an_empty_schedule():
    run = coalloc.simulate(Instance(one_cluster(), []), "easy")
    assert len(run.schedule) == 0
    assert run.metrics["makespan"] == 0.0
    assert run.metrics["decision_time_mean"] == 0.0
    assert len(run.to_frame()) == 0


# ------------------------------------------------------------------------------ what is refused


class Saying(Listed):
    """Says what it is given, once per pass."""

    def __init__(self, *starts):
        super().__init__({})
        self.starts = starts

    def decide(self, state):
        return self.starts


TWO = Instance(one_cluster(), [Job("J1", tasks=1, base_time=1.0), Job("J2", tasks=2, base_time=1.0, arrival=9.0)])


@pytest.mark.parametrize(
    ("starts", "reason"),
    [
        ([Start("J2", (2,))], "the policy started 'J2', which is not waiting"),
        ([Start("J9", (2,))], "the policy started 'J9', which is not waiting"),
        ([Start("J1", (1,)), Start("J1", (1,))], "the policy started 'J1', which is not waiting"),
        ([Start("J1", (2,))], "the policy gave 'J1' (2) processors per class, it has 1 tasks"),
    ],
)
def test_the_engine_believes_no_policy(starts, reason):
    with pytest.raises(CoallocError) as refusal:
        coalloc.simulate(TWO, Saying(*starts))
    assert str(refusal.value).startswith(f"{reason} (at 0 s ")


def test_a_policy_that_never_starts_a_job_is_reported():
    with pytest.raises(CoallocError) as report:
        coalloc.simulate(TWO, Saying())
    assert str(report.value) == (
        "the policy leaves waiting jobs for ever (2): the platform is empty, nothing more arrives, "
        "and it does not start 'J1' (tasks: 1) on 2 processors "
        "(at 9 s 0 jobs have ended, 0 run, 2 wait, 0 are still to come)"
    )


def test_a_policy_cannot_change_the_queue():
    class Vandal(Listed):
        def decide(self, state):
            with pytest.raises((TypeError, AttributeError)):
                state.queue.clear()
            return super().decide(state)

    assert len(coalloc.simulate(TWO, Vandal({"J1": (1,), "J2": (2,)})).schedule) == 2


def test_an_interrupted_run_says_where_it_was():
    class Impatient(Listed):
        def decide(self, state):
            if state.now == 9.0:
                raise KeyboardInterrupt
            return super().decide(state)

    with pytest.raises(Interrupted) as interrupt:
        coalloc.simulate(TWO, Impatient({"J1": (1,), "J2": (2,)}))
    assert str(interrupt.value) == "interrupted: at 9 s 1 jobs have ended, 0 run, 1 wait, 0 are still to come"
    assert isinstance(interrupt.value, KeyboardInterrupt)


def test_progress_is_reported_while_it_runs(monkeypatch):
    monkeypatch.setattr("coalloc.simulator.engine.PASSES_PER_REPORT", 1)
    positions = []
    coalloc.simulate(TWO, "fcfs", progress=positions.append)
    assert [(p.now, p.ended, p.running, p.waiting, p.coming) for p in positions] == [
        (0.0, 0, 1, 0, 1),
        (1.0, 1, 0, 0, 1),
        (9.0, 1, 1, 0, 0),
        (10.0, 2, 0, 0, 0),
    ]


def test_the_decisions_are_counted_and_timed():
    run = Engine(TWO, [Partition(Listed({"J1": (1,), "J2": (2,)}))]).run()
    assert run.decisions == 2
    assert 0.0 < run.decision_max <= run.decision_total


# ------------------------------------------------------------------------------ answers of a policy


class Answers:
    """A policy that answers the same whatever it sees."""

    scope = "platform"

    def __init__(self, answer):
        self.answer = answer

    def decide(self, state):
        return self.answer


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, r"decide\(state\) must return the jobs to start, \[\] for none, got None"),
        (5, "got 5"),
        (["J1"], r"must return coalloc.Start objects, got 'J1' among them"),
        ([None], "got None among them"),
        ([("J1", (1, 1))], "Start objects"),
        ([Start("J1", (1.0, 1.0))], r"gave 'J1' \(1.0, 1.0\), not names or whole numbers"),
        ([Start("J1", "ab")], "gave 'J1' 'ab', not names or whole numbers"),
        ([Start("J1", 2)], "gave 'J1' 2, not names"),
        ([Start("J1", nodes=3)], "gave 'J1' 3, not names"),
        ([Start("J1")], "gave 'J1' 0 counts, there are 2 node classes"),
        ([Start("J1", nodes=("X/0", "C1/0"))], "gave 'J1' 'X/0', no processor"),
        ([Start(None, (1, 1))], "'None', which is not waiting"),
        ([Start("J9", (1, 1))], "'J9', which is not waiting"),
        ([Start("J1", (1, 1)), Start("J1", (1, 1))], "'J1', which is not waiting"),
    ],
)
def test_an_answer_that_is_no_start_is_refused_in_words(answer, message):
    with pytest.raises(CoallocError, match=message) as caught:
        coalloc.simulate(Instance(two_clusters(), [spread("J1")]), Answers(answer))
    assert "\n" not in str(caught.value)


def test_counts_may_come_from_numpy():
    run = coalloc.simulate(Instance(two_clusters(20.0), [spread("J1")]), Answers([Start("J1", np.array([1, 1]))]))
    assert spans(run) == {"J1": (0.0, 100.0)}


def test_what_a_policy_raises_is_what_its_author_sees():
    class Faulty(Answers):
        def decide(self, state):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        coalloc.simulate(Instance(two_clusters(), [spread("J1")]), Faulty(None))
