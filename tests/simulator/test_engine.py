"""The engine by hand: ends over shared links, kills, passes, running jobs, and what it refuses."""

import contextlib
import gc
import signal
import threading

import numpy as np
import pytest

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform, RunningJob
from coalloc.extend import Start, Wake
from coalloc.simulator.engine import Engine, Interrupted, PolicyError, Position
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
    with pytest.raises(CoallocError, match="job 'J1' uses a link without bandwidth"):
        coalloc.simulate(instance, Listed({"J1": (1, 1)}))


def test_an_end_that_no_longer_holds_makes_no_pass():
    # J1 and J2 as above, J3 needs all nodes from 80 on. At 75 the end of J1 moves from 150 to 200, at 200 that of J2
    # from 325 to 275. Nobody is asked at 150, and nobody at 325 while J3 runs until 400.
    jobs = [
        spread("J1"),
        spread("J2", arrival=75.0),
        Job("J3", tasks=4, base_time=125.0, arrival=80.0),
        Job("J4", tasks=4, base_time=1.0, arrival=90.0),
    ]
    policy = Listed({"J1": (1, 1), "J2": (1, 1), "J3": (2, 2), "J4": (2, 2)})
    for passes in ("batch", "per-event"):
        policy.seen.clear()
        run = coalloc.simulate(Instance(two_clusters(), jobs), policy, passes=passes)
        assert spans(run)["J4"] == (pytest.approx(400.0), pytest.approx(401.0))
        assert [now for now, *_ in policy.seen] == pytest.approx([0.0, 75.0, 80.0, 90.0, 200.0, 275.0, 400.0])


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


def test_event_by_event_simultaneous_ends_come_by_start_then_by_arrival():
    # J1, J3 and J4 end at 10, though their estimates say 11: J4 has run from 0, J3 and J1 from 5 on, when the nodes of
    # J2 became free; of the two J3 arrived first. The instance lists them in another order.
    jobs = [
        Job("J1", tasks=1, base_time=5.0, estimate=6.0, arrival=2.0),
        Job("J2", tasks=2, base_time=5.0),
        Job("J3", tasks=1, base_time=5.0, estimate=6.0, arrival=1.0),
        Job("J4", tasks=1, base_time=10.0, estimate=11.0),
        Job("J5", tasks=3, base_time=1.0, arrival=6.0),
    ]
    policy = Listed({"J1": (1,), "J2": (2,), "J3": (1,), "J4": (1,), "J5": (3,)})
    coalloc.simulate(Instance(one_cluster(3), jobs), policy, passes="per-event")
    assert [[id for id, _ in running] for now, _, running in policy.seen if now == 10.0] == [["J3", "J1"], ["J1"], []]


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
        ([Start("J2", (2,))], "the policy started job 'J2', which is not waiting"),
        ([Start("J9", (2,))], "the policy started job 'J9', which is not waiting"),
        ([Start("J1", (1,)), Start("J1", (1,))], "the policy started job 'J1', which is not waiting"),
        ([Start("J1", (2,))], "the policy gave job 'J1' (2) processors per class, but it has 1 tasks"),
    ],
)
def test_the_engine_believes_no_policy(starts, reason):
    with pytest.raises(CoallocError) as refusal:
        coalloc.simulate(TWO, Saying(*starts))
    assert str(refusal.value).startswith(f"{reason} (time 0 s: ")


def test_the_fault_of_a_policy_says_where_the_run_was():
    class Late(Saying):
        def decide(self, state):
            return [Start("J9", (1,))] if state.now == 9.0 else [Start("J1", (1,))]

    with pytest.raises(PolicyError) as refusal:
        coalloc.simulate(TWO, Late())
    assert str(refusal.value) == (
        "the policy started job 'J9', which is not waiting (time 9 s: 1 jobs ended, 0 running, 1 waiting, 0 not yet "
        "arrived)"
    )
    assert refusal.value.position == Position(now=9.0, ended=1, running=0, waiting=1, coming=0)


def test_a_policy_that_never_starts_a_job_is_reported():
    with pytest.raises(CoallocError) as report:
        coalloc.simulate(TWO, Saying())
    assert str(report.value) == (
        "the policy never starts the waiting jobs (2): the platform is empty, no job will arrive, "
        "and it does not start job 'J1' (1 tasks) on 2 processors "
        "(time 9 s: 0 jobs ended, 0 running, 2 waiting, 0 not yet arrived)"
    )


def test_a_policy_cannot_change_the_queue():
    class Vandal(Listed):
        def decide(self, state):
            for change in (
                state.queue.clear,
                state.queue.sort,
                lambda: state.queue.append(1),
                lambda: state.queue.__delitem__(0),
                lambda: state.queue.__setitem__(0, 1),
                lambda: state.running.__iadd__([1]),
            ):
                with pytest.raises(TypeError, match="lists of the state are read-only"):
                    change()
            assert sorted(state.queue[:1] + list(state.queue[1:]), key=id) == sorted(state.queue, key=id)
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
    where = "time 9 s: 1 jobs ended, 0 running, 1 waiting, 0 not yet arrived"
    assert str(interrupt.value) == f"interrupted in decide() of policy Impatient at {where}"
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
        (None, r"decide\(state\) must return the jobs to start \(\[\] for none\), got None"),
        (5, "got 5"),
        (["J1"], r"must return coalloc.extend.Start objects, got 'J1' among them"),
        ([None], "got None among them"),
        ([("J1", (1, 1))], "Start objects"),
        ([Start("J1", (1.0, 1.0))], r"gave job 'J1' \(1.0, 1.0\), not processor names or integers"),
        ([Start("J1", "ab")], "gave job 'J1' 'ab', not processor names or integers"),
        ([Start("J1", 2)], "gave job 'J1' 2, not processor names"),
        ([Start("J1", nodes=3)], "gave job 'J1' 3, not processor names"),
        ([Start("J1")], "gave job 'J1' 0 counts, but there are 2 node classes"),
        ([Start("J1", nodes=("X/0", "C1/0"))], "gave job 'J1' 'X/0', which is not a processor"),
        ([Start(None, (1, 1))], "'None', which is not waiting"),
        ([Start("J9", (1, 1))], "'J9', which is not waiting"),
        ([Start("J1", (1, 1)), Start("J1", (1, 1))], "'J1', which is not waiting"),
    ],
)
def test_an_answer_that_is_no_start_is_refused_in_words(answer, message):
    with pytest.raises(CoallocError, match=message) as caught:
        coalloc.simulate(Instance(two_clusters(), [spread("J1")]), Answers(answer))
    assert "\n" not in str(caught.value)


def test_an_asynchronous_policy_is_refused_without_a_warning(recwarn):
    class Asynchronous:
        scope = "platform"

        async def decide(self, state):
            return []

    with pytest.raises(PolicyError, match=r"but it is asynchronous; use a plain function \(time 0 s"):
        coalloc.simulate(TWO, Asynchronous())
    gc.collect()
    assert not recwarn.list


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        (Start("J1", (1, 1)), "the policy started job 'J1', which is not waiting (time 0 s"),
        (Wake(7.0), "decide(state) may return at most 2 coalloc.extend.Wake, one per waiting job, got more (time 0 s"),
        ("J1", "decide(state) must return coalloc.extend.Start objects, got 'J1' among them"),
    ],
)
def test_an_endless_answer_is_refused(decision, message):
    looked_at = 0

    class Endless(Answers):
        def decide(self, state):
            nonlocal looked_at
            while True:
                looked_at += 1
                yield decision

    with pytest.raises(CoallocError) as refusal:
        coalloc.simulate(Instance(two_clusters(), [spread("J1"), spread("J2")]), Endless(None))
    assert str(refusal.value).startswith(message)
    assert looked_at == 5  # two starts, two wake-ups, and one more


def test_counts_may_come_from_numpy():
    run = coalloc.simulate(Instance(two_clusters(20.0), [spread("J1")]), Answers([Start("J1", np.array([1, 1]))]))
    assert spans(run) == {"J1": (0.0, 100.0)}


def test_what_a_policy_raises_is_what_its_author_sees():
    class Faulty(Answers):
        def decide(self, state):
            raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        coalloc.simulate(Instance(two_clusters(), [spread("J1")]), Faulty(None))


# ------------------------------------------------------------------------------ wake-ups


class Sleeper(Listed):
    """Starts nothing until a time, at which it wakes up."""

    def __init__(self, counts, *times):
        super().__init__(counts)
        self.times = times

    def decide(self, state):
        starts = super().decide(state)
        return starts if state.now >= self.times[-1] else [Wake(time) for time in self.times]


def test_a_policy_wakes_up_although_nothing_happens():
    # J1 and J2 wait, asked at 0 and 3, until 5 and then 8.5, though asked for twice one pass each.
    jobs = [Job("J1", tasks=1, base_time=1.0), Job("J2", tasks=1, base_time=1.0)]
    policy = Sleeper({"J1": (1,), "J2": (1,)}, 5.0, 8.5)
    policy.decide = _once(policy.decide)
    run = coalloc.simulate(Instance(one_cluster(), jobs), policy)
    assert [now for now, *_ in policy.seen] == [0.0, 5.0, 8.5]
    assert spans(run) == {"J1": (8.5, 9.5), "J2": (8.5, 9.5)}


def _once(decide):
    """Return a policy's decision without the wake-ups that are not after now."""
    return lambda state: [d for d in decide(state) if isinstance(d, Start) or d.time > state.now]


def test_a_wake_up_comes_after_all_else_of_its_instant():
    # At 5 J1 ends, J3 arrives and the policy wakes up: one pass, in which J1 runs no more and J3 waits.
    class Early(Listed):
        def decide(self, state):
            return [*super().decide(state), *([Wake(5.0)] if state.now < 5.0 else [])]

    jobs = [
        Job("J1", tasks=1, base_time=5.0),
        Job("J2", tasks=2, base_time=1.0),
        Job("J3", tasks=1, base_time=1.0, arrival=5.0),
    ]
    policy = Early({"J1": (1,), "J2": (2,), "J3": (1,)})
    run = coalloc.simulate(Instance(one_cluster(3), jobs), policy)
    assert policy.seen == [(0.0, ["J1", "J2"], []), (5.0, ["J3"], [])]
    assert spans(run)["J3"] == (5.0, 6.0)


def test_nobody_is_woken_up_where_no_job_waits():
    policy = Sleeper({"J1": (1,), "J2": (1,)}, 20.0)
    jobs = [Job("J1", tasks=1, base_time=1.0), Job("J2", tasks=1, base_time=1.0, arrival=30.0)]
    policy.times = (2.0,)
    coalloc.simulate(Instance(one_cluster(), jobs), policy)
    assert [now for now, *_ in policy.seen] == [0.0, 2.0, 30.0]


@pytest.mark.parametrize(
    ("time", "shown"),
    [(0.0, "0.0"), (-1.0, "-1.0"), (float("inf"), "inf"), (float("nan"), "nan"), ("soon", "'soon'"), (None, "None")],
)
def test_a_wake_up_that_never_comes_is_refused(time, shown):
    with pytest.raises(CoallocError) as refusal:
        coalloc.simulate(TWO, Saying(Wake(time)))
    assert str(refusal.value) == (
        f"the policy requested a wake-up at {shown}, which is not a time after 0 s "
        "(time 0 s: 0 jobs ended, 0 running, 1 waiting, 1 not yet arrived)"
    )


def test_a_policy_that_only_wakes_up_for_ever_is_reported(monkeypatch):
    monkeypatch.setattr("coalloc.simulator.engine.MAX_IDLE_INSTANTS", 100)

    class Restless(Listed):
        def decide(self, state):
            return [Wake(state.now + 1.0)]

    with pytest.raises(CoallocError) as report:
        coalloc.simulate(TWO, Restless({}))
    # 9 instants before J2 arrives at 9, and 101 from then on.
    assert str(report.value) == (
        "the policy never starts the waiting jobs (2): no job has run, arrived or started in 100 consecutive "
        "scheduling passes "
        "(time 109 s: 0 jobs ended, 0 running, 2 waiting, 0 not yet arrived)"
    )


# ------------------------------------------------------------------------------ what a policy hears


def test_a_policy_hears_what_happens_before_it_is_asked():
    class Hearing(Listed):
        heard = ()

        def begin(self, state):
            self.heard = [("begin", state.now, [r.job.id for r in state.running])]

        def arrived(self, state, job):
            self.heard.append(("arrived", state.now, job.id, job.base_time, [j.id for j in state.queue]))

        def ended(self, state, running):
            self.heard.append(("ended", state.now, running.job.id, running.estimated_end, state.free))

        def decide(self, state):
            self.heard.append(("decide", state.now))
            return super().decide(state)

    running = RunningJob(Job("R", tasks=1, base_time=9.0), ("C1/0",), 5.0)
    jobs = [Job("J1", tasks=2, base_time=3.0, estimate=4.0), Job("J2", tasks=1, base_time=4.0, arrival=5.0)]
    policy = Hearing({"J1": (2,), "J2": (1,)})
    for _ in range(2):
        coalloc.simulate(Instance(one_cluster(), jobs, running=[running]), policy)
        assert policy.heard == [
            ("begin", 0.0, ["R"]),
            ("arrived", 0.0, "J1", 4.0, ["J1"]),
            ("decide", 0.0),
            ("ended", 5.0, "R", 5.0, (2,)),
            ("arrived", 5.0, "J2", 4.0, ["J1", "J2"]),
            ("decide", 5.0),
            ("ended", 8.0, "J1", 9.0, (2,)),
            ("decide", 8.0),
            ("ended", 12.0, "J2", 12.0, (2,)),
        ]


def test_what_the_code_of_a_policy_raises_says_where_the_run_was():
    # J1 ends at 100 s, when J2 waits: the policy fails at its second pass.
    class Failing(Listed):
        def decide(self, state):
            return [] if state.now > 0.0 and 1 / 0 else super().decide(state)

    jobs = [Job("J1", tasks=2, base_time=100.0), Job("J2", tasks=2, base_time=9.0)]
    with pytest.raises(ZeroDivisionError) as failure:
        coalloc.simulate(Instance(one_cluster(), jobs), Failing({"J1": (2,), "J2": (2,)}))
    assert failure.value.__notes__ == ["time 100 s: 1 jobs ended, 0 running, 1 waiting, 0 not yet arrived"]


def test_a_policy_sees_the_loads_of_links_and_the_names_of_free_nodes():
    class Looking(Listed):
        def arrived(self, state, job):
            self.found = [*getattr(self, "found", []), (state.link_loads, state.free_nodes)]

    # J1 puts 1 * 10 * (2 - 1)/1 = 10 MB/s on each of the links of 5 MB/s; J2 stays in C2 and loads none.
    jobs = [spread("J1"), Job("J2", 1, 10.0, arrival=1.0, task_bandwidth=9.0), Job("J3", 1, 1.0, arrival=2.0)]
    policy = Looking({"J1": (1, 1), "J2": (0, 1), "J3": (1, 0)})
    coalloc.simulate(Instance(two_clusters(), jobs), policy)
    assert policy.found == [
        ((0.0, 0.0), ("C1/0", "C1/1", "C2/0", "C2/1")),
        ((10.0, 10.0), ("C1/1", "C2/1")),
        ((10.0, 10.0), ("C1/1",)),
    ]


# ------------------------------------------------------------------------------ Ctrl-C


def test_ctrl_c_stops_a_run_although_a_solver_takes_it_for_itself():
    class Solving(Listed):
        def decide(self, state):
            if state.now == 9.0:
                with contextlib.suppress(KeyboardInterrupt):  # and decides by what it has found so far
                    signal.raise_signal(signal.SIGINT)
            return super().decide(state)

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(Interrupted, match="time 9 s: 1 jobs ended, 0 running, 1 waiting"):
        coalloc.simulate(TWO, Solving({"J1": (1,), "J2": (2,)}))
    assert signal.getsignal(signal.SIGINT) is before


def test_a_run_in_a_thread_leaves_signals_alone():
    found = []
    thread = threading.Thread(target=lambda: found.append(coalloc.simulate(TWO, "fcfs")))
    thread.start()
    thread.join()
    assert len(found[0].schedule) == 2
