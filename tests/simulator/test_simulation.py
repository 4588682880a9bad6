"""Laws of every run: whatever the policy, whatever the options."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import coalloc
from coalloc import CoallocError
from coalloc.documents.errors import InternalError
from coalloc.measures.metrics import busy_time
from coalloc.simulator import simulation
from coalloc.testing.small import small_instance
from tests.simulator.listed import Listed

QUICK = tuple(name for name in coalloc.policies() if name not in ("pas", "oas", "pcbe", "node-list", "grid"))
"""Policies that solve no model, and do not need each job to fit one node, or one cluster."""


@st.composite
def cases(draw):
    """Draw an instance, some of whose jobs run shorter or longer than estimated, a policy and engine options."""
    instance, _ = small_instance(draw(st.integers(0, 10_000)))
    factors = st.sampled_from([0.5, 1.0, 1.0, 2.0])
    jobs = [job.replace(estimate=job.base_time * draw(factors)) for job in instance.jobs]
    options = {"passes": draw(st.sampled_from(["batch", "per-event"])), "kill": draw(st.booleans())}
    return instance.replace(jobs=jobs), draw(st.sampled_from(QUICK)), options


@given(cases())
def test_every_job_runs_once_and_the_checker_accepts_the_run(case):
    instance, policy, options = case
    run = coalloc.simulate(instance, policy, **options)
    assert [placement.job for placement in run.schedule] == [job.id for job in instance.jobs]
    assert coalloc.check(instance, run.schedule, links="shared") == []
    assert all(p.outcome == "completed" for p in run.schedule) or options["kill"]


@given(cases())
def test_work_is_conserved(case):
    # What the processors were used until the last placement ends is what the jobs, and those that ran before, held. A
    # node with several cores is busy while one of them is.
    instance, policy, options = case
    run = coalloc.simulate(instance, policy, **options)
    last = max(p.end for p in run.schedule)
    held = sum(len(p.nodes) * (p.end - p.start) for p in run.schedule)
    before = sum(len(running.nodes) * min(running.end, last) for running in instance.running)
    available = run.metrics["makespan"] * instance.platform.num_processors
    assert run.metrics["utilization"] * available == pytest.approx(held + before)
    busy = busy_time(instance, run.schedule)
    assert run.nodes["busy"].tolist() == list(busy.values())
    if all(node.cores == 1 for node in instance.platform.nodes):
        after = sum(len(running.nodes) * max(0.0, running.end - last) for running in instance.running)
        assert sum(busy.values()) == pytest.approx(held + before + after)


@given(cases())
def test_the_same_seed_gives_the_same_run(case):
    instance, policy, options = case
    runs = [coalloc.simulate(instance, policy, seed=1, **options) for _ in range(2)]
    assert runs[0].schedule == runs[1].schedule
    same = [{k: v for k, v in run.metrics.items() if not k.startswith("decision_time")} for run in runs]
    assert same[0] == same[1]


@given(cases())
def test_a_run_never_beats_the_bound_without_links(case):
    instance, policy, options = case
    exact = instance.replace(jobs=[job.replace(estimate=job.base_time, task_bandwidth=0.0) for job in instance.jobs])
    options["kill"] = False
    bound = coalloc.lower_bound(exact)
    makespan = coalloc.simulate(instance, policy, **options).metrics["makespan"]
    assert makespan >= bound * (1 - 1e-9)


def test_every_schedule_passes_the_checker_before_it_is_returned(monkeypatch):
    monkeypatch.setattr(simulation, "check", lambda *_, **__: ["overlap: made up"])
    with pytest.raises(InternalError, match="does not pass the checker: overlap: made up"):
        coalloc.simulate(coalloc.example("mesd-example"), "fcfs")


# ------------------------------------------------------------------------------ the public function


def test_a_policy_of_the_users_own_goes_wherever_a_name_goes():
    instance = coalloc.example("mesd-example")
    counts = {"J1": (2, 0, 0, 0), "J2": (1, 1, 1, 0), "J3": (0, 1, 1, 0), "J4": (0, 0, 1, 1)}
    run = coalloc.simulate(instance, Listed(counts))
    assert run.policy == "Listed"
    assert len(run.schedule) == 4


def test_what_is_printed_and_tabulated():
    # J1 and J3 as in FCFS: J1 on the fast nodes, J2 does not fit on the three others?  It does: 3 of 3.
    run = coalloc.simulate(coalloc.example("mesd-example"), "fcfs", allocation="first-fit")
    text = str(run).splitlines()
    assert text[0] == "policy     fcfs (allocation=first-fit)"
    assert text[1].startswith("jobs       4, 0.0 % co-allocated")
    frame = run.to_frame()
    assert list(frame.columns) == [
        "job", "tasks", "arrival", "start", "end", "wait", "run", "response", "nodes", "outcome",
    ]  # fmt: skip
    assert (frame["response"] == frame["wait"] + frame["run"]).all()
    assert list(run.nodes.columns) == ["node", "cluster", "effective_power", "busy", "busy_share"]
    assert run.nodes["busy_share"].max() <= 1.0
    assert {"decision_time_mean", "decision_time_max"} <= set(run.metrics)
    assert set(coalloc.metrics(run.instance, run.schedule)) < set(run.metrics)


def test_what_is_asked_of_a_run_is_asked_of_its_schedule():
    run = coalloc.simulate(coalloc.example("pcbe-8"), "pcbe")
    given, week = (run.instance, run.schedule), {"epoch": 1e9, "time_zone": "Europe/Stockholm"}
    pd.testing.assert_frame_equal(run.series(), coalloc.results.series(*given))
    pd.testing.assert_frame_equal(
        run.series(2.0, idle="from-first-use"), coalloc.results.series(*given, 2.0, idle="from-first-use")
    )
    window = {"after": 0.1, "before": 0.5}
    assert run.metrics_of(**window) == coalloc.results.metrics_of(*given, **window)
    pd.testing.assert_frame_equal(
        run.metrics_by("hour", **window, **week), coalloc.results.metrics_by(*given, "hour", **window, **week)
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"policy": "easy", "passes": "both"}, "passes: must be 'batch' or 'per-event', got 'both'"),
        ({"policy": "easy", "kill": "no"}, "kill: must be True or False, got 'no'"),
        ({"policy": "easy", "kill": 1}, "kill: must be True or False, got 1"),
        ({"policy": Listed({}), "skip": True}, "policy options require a policy name, got skip with a policy object"),
        (
            {"policy": 7},
            "policy: must be a string, an object with scope and decide or "
            "an object with scope and partitions and route, got 7",
        ),
        (
            {"policy": "easy", "kil": True},
            "policy 'easy' has no option kil; its options: queue_order, candidates, allocation, scope, shapes, preempt",
        ),
    ],
)
def test_a_wrong_argument_is_one_error(arguments, message):
    with pytest.raises(CoallocError) as error:
        coalloc.simulate(coalloc.example("mesd-example"), **arguments)
    assert str(error.value) == message


def test_progress_true_prints_on_standard_error(capsys, monkeypatch):
    monkeypatch.setattr("coalloc.simulator.engine.PASSES_PER_REPORT", 1)
    coalloc.simulate(coalloc.example("mesd-example"), "fcfs", progress=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("time 0 s: 0 jobs ended")


def test_simulating_loads_no_solver():
    import subprocess
    import sys

    program = (
        "import coalloc, sys\n"
        "coalloc.simulate(coalloc.example('mesd-example'), 'easy')\n"
        "print([name for name in ('pyomo', 'highspy', 'pandas', 'matplotlib') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert found.stdout == "[]\n"


class Tallying(Listed):
    """A policy that counts its decisions."""

    def tally(self):
        """Return the decisions so far."""
        return {"decisions_listed": len(self.seen)}


def test_what_a_policy_counts_is_a_metric_of_the_run():
    # Both jobs want both nodes: decisions at 0 and at 10 s.
    platform = coalloc.Platform([coalloc.Cluster("C1", [coalloc.NodeGroup(2, power=1.0)], 1.0)])
    jobs = [coalloc.Job(name, tasks=2, base_time=10.0) for name in ("J1", "J2")]
    run = coalloc.simulate(coalloc.Instance(platform, jobs), Tallying({"J1": (2,), "J2": (2,)}))
    assert run.metrics["decisions_listed"] == 2
