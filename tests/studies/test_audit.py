"""An audit: a period whose optimum is known by construction, what is kept, what is refused, what is shown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import coalloc
from coalloc import Cluster, CoallocError, Instance, InstanceError, Job, NodeGroup, Platform, Schedule, audit
from coalloc.documents.wording import between
from coalloc.studies import audit_samples, runs
from coalloc.studies.audit_rows import COLUMNS, ValueRange, row_of
from coalloc.studies.audit_windows import History, window_of
from coalloc.studies.audit_words import amount
from coalloc.studies.interruption import Interrupted
from tests.browser import visit
from tests.extras import needs_pictures
from tests.in_process import InProcess

DAY = 86_400.0
POOL = Platform([Cluster("pool", [NodeGroup(4, power=1.0)], 0.0)])


def month(days):
    """Return jobs of a month in which every day begins with eight jobs of two of four processors, the longest first.

    Run times are 1 to 8 h. Shortest first on two machines is optimal for them (Conway, Maxwell, Miller 1967), and each
    day they are packed without a gap: the waits are those of SPT, 0, 0, 1, 2, 1+3, 2+4, 1+3+5, 2+4+6 h, 34 in all.
    The log ran them longest first: 0, 0, 8, 7, 8+6, 7+5, 8+6+4, 7+5+3 h, 74 in all.
    """
    return [
        Job(f"{day}-{hours}", tasks=2, base_time=3600.0 * hours, arrival=day * DAY, estimate=DAY)
        for day in range(days)
        for hours in range(8, 0, -1)
    ]


OPTIMUM, LONGEST_FIRST = 34 / 8 * 3600.0, 74 / 8 * 3600.0


@pytest.fixture(autouse=True, scope="module")
def _here():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "LocalWorkers", InProcess)
        yield


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return tmp_path_factory.mktemp("audit") / "month.sqlite"


def ask(store, **options):
    asked = {
        "policy": "fcfs",
        "window": DAY,
        "policies": {"spt": {"policy": "spt"}},
        "time_limit": 0.02,
        "processes": 1,
    }
    return audit(Instance(POOL, month(2), name="month"), store=store, **(asked | options))


@pytest.fixture(scope="module")
def found(store):
    return ask(store)


def test_a_month_whose_optimum_is_known_is_told_within_the_gap(found):
    for row in [found.whole, *found.windows]:
        assert row["wait_as_it_was"] == pytest.approx(LONGEST_FIRST)
        assert row["wait_best"] == pytest.approx(OPTIMUM)
        # One machine of four processors: half the run times, and the work of all shorter jobs and half the own before
        # each. That is SPT on one machine of half the time, (1*7.5 + 2*6.5 + ... + 8*.5)/2 h = 60 h, and 18 h, less
        # the 36 h that jobs run: 42 - 12... the program's own bound must be within 15 % of the optimum.
        assert 0.85 * OPTIMUM <= row["wait_bound"] <= OPTIMUM
    wait, slowdown = found.answers
    assert wait.best == ValueRange(found.whole["wait_bound"], found.whole["wait_best"])
    assert wait.avoidable.low == pytest.approx(1.0 - 34 / 74)
    assert slowdown.best.low <= slowdown.best.high < slowdown.as_it_was


def test_shares_of_waiting_hold_what_was_lost(found):
    # SPT knows nothing of the estimates, which are all a day: it runs jobs as they come, as the log did. So nothing
    # tells order from estimates, and both may have cost up to the difference between the log and the bound.
    lost = LONGEST_FIRST - found.whole["wait_bound"]
    assert found.shares["order"] == ValueRange(0.0, pytest.approx(lost))
    assert found.shares["estimates"] == ValueRange(0.0, pytest.approx(lost))
    assert found.shares["capacity"].low > 0.0
    assert found.shares["fragmentation"].low == 0.0


def exact_month():
    """Return the month with exact estimates."""
    return [job.replace(estimate=job.base_time) for job in month(2)]


def known_run_times(store, policy, **policies):
    """Audit a policy on the month, its estimates exact, where others are simulated: by label, their queue orders."""
    given = {label: {"policy": "easy", "queue_order": order} for label, order in policies.items()}
    options = {"policies": given, "window": 2 * DAY, "time_limit": 0.02, "processes": 1}
    return audit(Instance(POOL, exact_month(), name="month"), policy=policy, store=store, **options)


def test_the_policy_that_avoids_waiting_is_named(tmp_path):
    # The log ran the longest first, 74 h a day; shortest first is optimal, 34 h.
    found = known_run_times(tmp_path / "lpt.sqlite", "lpt", longest="lpt", shortest="spt")
    wait = found.answers[0]
    assert (wait.policy, wait.online, wait.avoided) == ("shortest", pytest.approx(OPTIMUM), pytest.approx(40 / 74))
    assert "The policy shortest, which knows only user estimates, avoids 54.1 % of the wait." in found.headline
    assert "4.25 h under shortest, which knows only user estimates: 54.1 % avoided" in str(found)


def test_the_model_of_the_site_is_compared_with_the_log_and_is_no_advice(tmp_path):
    # Job 2 waits 120 s in the log, 90 s under FCFS; shortest first is the same, and 30 s are an error of the model.
    path = tmp_path / "log.swf"
    path.write_text(TRACE.replace("2 10 90", "2 10 120"))
    options = {"policies": {"shortest": {"policy": "spt"}}, "time_limit": 0.02, "processes": 1}
    found = audit(path, processors=4, as_ran="fcfs", before="1970-01-02", **options)
    assert found.sentences[0].startswith("As a model of the site, fcfs repeats the log roughly")
    assert found.model.differences.tolist() == [0.0, 30.0]
    assert str(found).splitlines()[2].startswith("model of the site     fcfs repeats the log roughly")
    assert found.trials.named is None
    assert "\nnamed policy          none of 2 policies tried makes jobs wait less with user estimates" in str(found)
    assert found.policies["kind"].tolist() == ["tried", "model", "audited"]  # the first two are equal
    with pytest.raises(CoallocError, match="as_ran: requires the schedule of a log"):
        audit(path, processors=4, as_ran="fcfs", policy="easy", **options)


def test_a_gain_is_said_of_the_model_too(tmp_path):
    # Longest first is the model of a log that ran so, shortest first the optimum; the log adds an hour for each job.
    run = coalloc.simulate(Instance(POOL, exact_month(), name="month"), "lpt")
    late = [p.replace(start=p.start + 3600.0, end=p.end + 3600.0) for p in run.schedule.placements]
    options = {"policies": {"shortest": {"policy": "spt"}}, "time_limit": 0.02, "processes": 1, "window": 2 * DAY}
    found = audit(Instance(POOL, exact_month(), name="month"), Schedule(late), as_ran="lpt", **options)
    assert found.answers[0].avoided == pytest.approx(1.0 - 34.0 / 82.0)
    assert "avoids 58.5 % of the wait, and 54.1 % of that under a simulated lpt." in found.headline


def test_a_policy_that_takes_too_long_is_given_up_and_said(tmp_path, monkeypatch):
    class Slow(InProcess):
        def run(self, tasks):
            for (key, _), (_, answer) in zip(tasks := list(tasks), super().run(tasks), strict=True):
                is_late = key.function is audit_samples.simulated_starts
                yield key, {"status": "timeout", "machine": {}} if is_late else answer

    monkeypatch.setattr(runs, "LocalWorkers", Slow)
    found = ask(tmp_path / "slow.sqlite")
    assert (found.trials.named, found.trials.unfinished) == (None, ("spt",))
    assert "0 tried; given up at the time limit: spt" in str(found)
    path = tmp_path / "log.swf"
    path.write_text(TRACE)
    with pytest.raises(CoallocError, match="as_ran: spt took longer than the policy limit"):
        audit(path, processors=4, time_limit=0.02, policies={"spt": {"policy": "spt"}}, as_ran="spt")


def test_a_log_that_no_policy_betters_says_so(tmp_path):
    found = known_run_times(tmp_path / "spt.sqlite", "spt", longest="lpt")
    assert (found.answers[0].policy, found.answers[0].avoided) == ("audited schedule", 0.0)
    assert found.headline.endswith("None of 1 policy tried makes jobs wait less with user estimates only.")
    assert "under longest" not in str(found)


def test_what_is_kept_is_not_run_again(found, store):
    said = []
    again = ask(store, progress=said.append)
    assert said == []
    assert again.document == found.document


def test_an_interrupt_keeps_what_has_ended(tmp_path):
    def stop(line):
        if line.endswith(" of 4)"):
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as interrupt:
        ask(tmp_path / "new.sqlite", progress=stop)
    assert len(interrupt.value.table) == 1
    assert interrupt.value.missing == ("0 s", "86400 s", "spt")


@needs_pictures
def test_the_table_the_page_and_the_picture_say_it(found, tmp_path):
    table = found.table
    assert tuple(table.columns) == COLUMNS
    assert table["window"].tolist() == ["the whole period", "0 s", "86400 s"]
    assert json.loads(json.dumps(found.document))["period"]["jobs"] == 16
    found.write_page(tmp_path / "page.html")
    page = Path(tmp_path / "page.html").read_text()
    assert [sentence for sentence in found.sentences if sentence not in page] == []
    assert page.count("<tr class") == len(found.policies)
    assert page.count("<img") == 1
    assert "<script" not in page
    shown = visit(tmp_path / "page.html", tmp_path)
    assert (shown.console, shown.requests) == ([], [])  # its own policy of contents admits all that it has
    assert found.draw(tmp_path / "audit.svg").axes
    # The schedule that is held is there: its waits are those of the table.
    starts = found.starts[found.starts["window"] == "the whole period"].set_index("job")["start"]
    waits = [starts[job.id] - job.arrival for job in month(2)]
    assert sum(waits) / len(waits) == pytest.approx(found.whole["wait_best"])
    assert str(found).splitlines()[0] == "trace                 month: 16 jobs on 4 processors, fcfs"


TRACE = """; UnixStartTime: 0
1 0 0 100 4 -1 -1 4 200 -1 1 1 -1 -1 -1 -1 -1 -1
2 10 90 50 2 -1 -1 2 60 -1 1 1 -1 -1 -1 -1 -1 -1
3 20 -1 50 2 -1 -1 2 60 -1 1 1 -1 -1 -1 -1 -1 -1
"""


def test_a_log_is_audited_as_it_ran(tmp_path):
    path = tmp_path / "log.swf"
    path.write_text(TRACE)
    found = audit(path, processors=4, time_limit=0.4, policies={"fcfs": {"policy": "fcfs"}}, before="1970-01-02")
    # Job 2 waits for all four processors until 100 s: nothing better is possible but to run it first (80 s for job 1).
    assert found.account[-1] == "1 job skipped: start unknown"
    assert (found.whole["jobs"], found.whole["wait_as_it_was"]) == (2, 45.0)
    assert found.whole["wait_best"] == 30.0  # job 1 waits until 60 s, when job 2 has ended
    assert found.windows[0]["window"] == "1970-01-01 00:00"


def test_a_period_of_one_window_is_run_once_at_the_limit_of_a_window(tmp_path):
    path = tmp_path / "log.swf"
    path.write_text(TRACE)
    said = []
    found = audit(path, processors=4, time_limit=0.02, policies={"fcfs": {"policy": "fcfs"}}, progress=said.append)
    assert said == [
        "1 policy run over the whole period, each for at most 5 min",
        "bounds and searches take up to 0.02 s for the whole period",
        "the whole period (1 of 2)",
        "fcfs (2 of 2)",
    ]
    (window,) = found.windows
    assert {**window, "window": "the whole period", "kind": "period"} == found.whole
    assert found.starts["window"].tolist() == ["the whole period"] * 2 + ["1970-01-01 00:00"] * 2


def test_each_limit_is_said_beforehand(tmp_path):
    said = []
    ask(tmp_path / "new.sqlite", progress=said.append)
    assert said[0] == "1 policy run over the whole period, each for at most 5 min"
    assert said[1].startswith("bounds and searches take up to ")
    assert said[1].endswith("for each of 2 intervals")


def test_that_a_log_is_not_possible_stands_first(tmp_path):
    # Jobs 1 and 2 ran beside each other from 10 to 60 s on four and two of four processors.
    path = tmp_path / "log.swf"
    path.write_text(TRACE.replace("2 10 90", "2 10 0"))
    found = audit(path, processors=4, time_limit=0.02, policies={"fcfs": {"policy": "fcfs"}})
    assert str(found).startswith(
        "warning               The log uses up to 6 processors at a time, but the platform has 4."
    )


@pytest.mark.parametrize(("processors", "is_warned"), [(7, False), (8, True), (40, True)])
def test_a_platform_that_the_log_hardly_uses_is_doubted(tmp_path, processors, is_warned):
    # The jobs use four processors at a time.
    path = tmp_path / "log.swf"
    path.write_text(TRACE)
    found = audit(path, processors=processors, time_limit=0.02, policies={"fcfs": {"policy": "fcfs"}})
    told = f"The log uses at most 4 of the {processors} processors at a time."
    assert [warning.startswith(told) for warning in found.warnings] == [True] * is_warned


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"after": 3 * DAY}, "arrivals are from 0 s to 86400 s"),
        ({"after": 5 * DAY, "before": 6 * DAY}, "no job waits or arrives in the period"),
        ({"after": "2026-10-01"}, "after: must be a number of seconds, because the trace has no start date"),
        ({"before": "soon"}, "before: must be a number of seconds or a date"),
        ({"window": 0.0}, "window: must be above 0 s"),
        ({"window": 1e-3}, "give at most 100000 intervals"),
        ({"time_limit": 0.0}, "time_limit: must be above 0 s"),
        ({"policy_limit": 0.0}, "policy_limit: must be above 0 s"),
        ({"as_ran": "easy"}, "as_ran: requires the schedule of a log"),
        ({"as_ran": "fastest"}, "unknown policy 'fastest'"),
        ({"processes": 0}, "processes: must be at least 1"),
        ({"policy": "fastest"}, "unknown policy 'fastest'"),
        (
            {"policy": None},
            "'month' does not contain the starts of its jobs; give a policy to simulate",
        ),
        ({"policies": {"easy": {"policy": "easy", "candidates": "x"}}}, "candidates of policy 'easy' must be one of"),
        ({"processors": 4}, "an instance contains its platform"),
    ],
)
def test_what_cannot_be_audited_is_refused_at_once(tmp_path, options, sentence):
    with pytest.raises(CoallocError, match=sentence):
        ask(tmp_path / "none.sqlite", **options)
    assert not (tmp_path / "none.sqlite").exists()


def test_a_schedule_of_an_instance_is_audited_and_not_beside_a_policy(tmp_path):
    instance = Instance(POOL, month(1), name="month")
    run = coalloc.simulate(instance, "fcfs")
    asked = {"policies": {"spt": {"policy": "spt"}}, "time_limit": 0.02}
    assert audit(instance, run.schedule, **asked).whole["wait_as_it_was"] == pytest.approx(LONGEST_FIRST)
    with pytest.raises(CoallocError, match="either a schedule or a policy"):
        audit(instance, run.schedule, policy="easy", **asked)
    with pytest.raises(CoallocError, match="does not contain the starts of its jobs"):
        audit(instance, Schedule([]), **asked)
    export = tmp_path / "export.txt"
    export.write_text("JobID|Submit\n")
    with pytest.raises(InstanceError, match="must contain the field"):
        audit(export, processors=4)


def test_a_schedule_below_a_bound_is_a_fault_of_ours():
    from coalloc.documents.errors import InternalError

    history = History(Instance(POOL, month(1)[:1]), 0.0 * History(Instance(POOL, month(1)[:1]), []).arrivals)
    outcome = {
        "bounds": {"wait": 5.0, "bounded_slowdown": 1.0, "makespan": 0.0},
        "without_fragmentation": {"bound": 0.0, "best": 0.0, "waited": 0.0},
        "schedules": [],
    }
    with pytest.raises(InternalError, match="the bound 5 on wait exceeds the 0 of 'audited schedule'"):
        row_of(window_of(history, 0.0, 1.0), "window", outcome, is_whole=False)


@pytest.mark.parametrize(
    ("low", "high", "text"), [(0.0, 9.3e-6, "0 s"), (1500.0, 1500.0000001, "25 min"), (0.0, 2.25, "0 s to 2.25 s")]
)
def test_a_range_within_a_millisecond_is_one_number(low, high, text):
    # Bounds of Unix times give way by ticks of about a microsecond, which a log in whole seconds knows nothing of.
    assert between(amount(low), amount(high)) == text
