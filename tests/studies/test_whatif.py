"""A what-if: waits computed by hand for each kind of change, what is kept, what is refused, what is shown."""

import tomllib
from itertools import islice

import numpy as np
import pytest

import coalloc
from coalloc import Cluster, CoallocError, Instance, InstanceError, Job, Limit, NodeGroup, Platform, Switch, Window
from coalloc.studies import runs
from coalloc.studies.interruption import Interrupted
from coalloc.studies.whatif import what_if
from coalloc.studies.whatif_plan import combinations_of, read_plan
from tests.browser import visit
from tests.extras import needs_pictures
from tests.in_process import InProcess

DAY = 86_400.0


pytestmark = pytest.mark.usefixtures("in_process")


def pool(nodes, **features):
    return Platform([Cluster("C1", [NodeGroup(nodes, power=1.0, **features)], 0.0)])


def ask(instance, *changes, **options):
    """Return the what-if of changes, each a kind and what a file states of it."""
    asked = [{"name": f"change {number}", **dict(change)} for number, change in enumerate(changes, 1)]
    return what_if(instance, {"change": asked}, **{"time_limit": 0.05, "processes": 1, **options})


def waits(found):
    return [(run.starts - found.of_jobs.arrivals).tolist() for run in found.runs]


# Two processors. EASY: A runs until 100 s, by its request until 200 s, when B has a reservation. C asks for too much to
# run before it, D does not: it runs from 30 s. B runs from 100 s, C from 150 s.
FOUR = Instance(
    pool(2),
    [
        Job("A", tasks=1, base_time=100.0, estimate=200.0, user="ann"),
        Job("B", tasks=2, base_time=50.0, arrival=10.0, user="bob"),
        Job("C", tasks=1, base_time=80.0, arrival=20.0, estimate=190.0, user="ann"),
        Job("D", tasks=1, base_time=30.0, arrival=30.0, estimate=60.0, user="bob"),
    ],
    name="four",
)
AS_IT_IS = [0.0, 90.0, 130.0, 0.0]


@pytest.mark.parametrize(
    ("kind", "given", "expected"),
    [
        # C and D may not pass B.
        ("policy", "fcfs", [0.0, 90.0, 130.0, 120.0]),
        # Three processors: B from 10 s to 60 s, then C and D.
        ("nodes", {"by": "+50 %"}, [0.0, 0.0, 40.0, 30.0]),
        # B's reservation is at 100 s, by when C ends; D is after B.
        ("walltimes", {"overestimate": 0}, [0.0, 90.0, 0.0, 120.0]),
        # Only C's request is right: it may run before the reservation at 200 s, too.
        ("walltimes", {"overestimate": 0, "jobs": {"user": "ann", "max_walltime": 195.0}}, [0.0, 90.0, 0.0, 120.0]),
    ],
)
def test_a_change_of_policy_nodes_or_walltimes(kind, given, expected):
    found = ask(FOUR, {kind: given})
    assert waits(found) == [AS_IT_IS, expected]
    row = found.table.iloc[1]
    assert row["wait_mean"] == sum(expected) / 4.0
    assert row["wait_difference"] == sum(expected) / 4.0 - 55.0
    assert (row["intervals"], np.isnan(row["wait_low"])) == (1, True)
    assert row["wait_bound"] <= row["wait_mean"]


def of_two_users(platform, limits=(), **requires):
    """Return jobs of 100 s of ann, then of 50 s of bob, two each of one processor, all at 0."""
    jobs = [
        Job(f"{user}{number}", 1, length, user=user, requires=requires.get(user, ()))
        for user, length in (("ann", 100.0), ("bob", 50.0))
        for number in (1, 2)
    ]
    return Instance(platform, jobs, limits=limits)


IN_TURN, APART = [0.0, 0.0, 100.0, 100.0], [0.0, 100.0, 0.0, 50.0]
"""Waits of these jobs on two processors, and on one each."""


def test_a_new_limit_and_another_capacity_of_a_declared_one():
    per_user = {"new_limit": {"each": "user", "running": 1}}
    of_processors = {"new_limit": {"each": "user", "processors": 1, "jobs": {"user": ["ann"]}}}
    found = ask(of_two_users(pool(2)), per_user, of_processors)
    # ann alone is limited: bob's jobs follow each other beside ann's first, from 0 s and 50 s.
    assert waits(found) == [IN_TURN, APART, APART]
    limited = of_two_users(pool(2), [Limit("bob", ["bob1", "bob2"], capacity=1)])
    found = ask(limited, {"limit": {"name": "bob", "capacity": 2}})
    assert waits(found) == [[0.0, 0.0, 100.0, 150.0], IN_TURN]


def test_partitions_are_merged_and_split():
    parts = [NodeGroup(1, power=1.0, features=[f"partition:{name}"]) for name in ("a", "b")]
    apart = of_two_users(Platform([Cluster("C1", parts, 0.0)]), ann=["partition:a"], bob=["partition:b"])
    assert waits(ask(apart, {"merge": {"partitions": ["a", "b"]}})) == [APART, IN_TURN]
    of_short = {"split": {"nodes": "50 %", "name": "short", "jobs": {"max_walltime": 60}}}
    assert waits(ask(of_two_users(pool(2)), of_short)) == [IN_TURN, APART]
    # The same within a partition: the third node is not part of it.
    parts = [NodeGroup(2, power=1.0, features=["partition:p"]), NodeGroup(1, power=1.0)]
    within = of_two_users(Platform([Cluster("C1", parts, 0.0)]), ann=["partition:p"], bob=["partition:p"])
    of_bob = {"split": {"nodes": "1", "name": "q", "partition": "p", "jobs": {"user": "bob", "partition": "p"}}}
    assert waits(ask(within, of_bob)) == [IN_TURN, APART]


def test_jobs_too_large_for_a_part_of_a_split_partition_use_both():
    instance = Instance(pool(2), [Job("small", 1, 10.0), Job("large", 2, 10.0, arrival=1.0)])
    found = ask(instance, {"split": {"nodes": "1", "name": "short", "jobs": {"max_tasks": 1}}})
    assert waits(found) == [[0.0, 9.0], [0.0, 9.0]]
    assert found.table["notes"].tolist() == ["", "1 job too large for one part: on both"]


@pytest.mark.parametrize(("level", "switches"), [("cluster", []), ("row", ["A", "B"])])
def test_a_level_of_the_topology_that_is_required_and_one_that_is_not(level, switches):
    # Three nodes each. P has two of C1, Q one of each, R two of C2. Under one switch Q has two of C2, and R waits.
    above = switches or [None, None]
    clusters = [Cluster(f"C{n}", [NodeGroup(3, power=1.0)], 0.0, switch=above[n - 1]) for n in (1, 2)]
    rows = [Switch(name, "root", bandwidth=0.0, level="row") for name in switches]
    jobs = [Job(name, 2, 100.0) for name in "PQR"]
    free = Instance(Platform(clusters, rows), [*jobs, Job("whole", 6, 10.0, arrival=150.0)])
    found = ask(free, {"level": {"name": level, "required": True}})
    assert waits(found) == [[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 100.0, 50.0]]
    assert found.table["notes"].tolist()[1] == f"1 job too large for one {level}: left as they are"
    required = found.runs[1].scenario.instance
    found = ask(required, {"level": {"name": level, "required": False}})
    assert waits(found) == [[0.0, 0.0, 100.0, 50.0], [0.0, 0.0, 0.0, 0.0]]


def test_moldable_jobs_follow_amdahls_law():
    # B on one processor instead of two: 100 s times (0.5 + 0.5) / (0.5 + 0.5 / 2) = 133.3 s, and it need not wait.
    # With its work kept it takes 200 s, and ends no earlier than on two from 100 s on.
    instance = Instance(pool(2), [Job("A", 1, 100.0), Job("B", 2, 100.0)])
    modes = [{"moldable": {"factors": [0.5, 8], "serial_share": share, "jobs": {"min_tasks": 2}}} for share in (0.5, 0)]
    found = ask(instance, *modes)
    assert waits(found) == [[0.0, 100.0], [0.0, 0.0], [0.0, 100.0]]
    assert found.table["response_mean"].tolist() == [150.0, pytest.approx(50.0 + 200.0 / 3.0), 150.0]
    assert found.table["policy"].tolist() == ["easy", "easy shapes=ends-first", "easy shapes=ends-first"]


def test_differences_have_an_interval_over_periods_and_jobs_before_the_period_do_not_count():
    jobs = [job.replace(id=f"{day}{job.id}", arrival=DAY * day + job.arrival) for day in range(7) for job in FOUR.jobs]
    found = ask(FOUR.replace(jobs=jobs), {"nodes": {"by": "+1"}}, window=DAY, after=DAY)
    row = found.table.iloc[1]
    # Each of six days as above: 17.5 s instead of 55 s.
    assert row[["jobs", "intervals"]].tolist() == [24, 6]
    assert row[["wait_difference", "wait_low", "wait_high"]].tolist() == [-37.5] * 3
    assert found.intervals[["scenario", "wait_mean"]].to_numpy().tolist() == [
        *[["the log as it is", 55.0]] * 6,
        *[["change 1", 17.5]] * 6,
    ]
    assert "No confidence interval of a difference includes 0." in found.sentences
    assert ask(FOUR.replace(jobs=jobs), {"nodes": {"by": "+1"}}, before=2 * DAY).table["jobs"].tolist() == [8, 8]


def test_changes_of_different_kinds_are_crossed():
    names = {"a": "policy", "b": "policy", "c": "walltimes", "d": "nodes"}
    given = {"policy": "fcfs", "walltimes": {"overestimate": 0}, "nodes": {"by": "+1"}}
    plan = read_plan({"change": [{"name": name, kind: given[kind]} for name, kind in names.items()]})
    assert [found.name for found in combinations_of(plan.change, True)] == [
        *("a", "b", "c", "d", "a + c", "a + d", "b + c", "b + d", "c + d", "a + c + d", "b + c + d")
    ]
    crossed = ask(FOUR, {"policy": "fcfs"}, {"nodes": {"by": "+1"}}, crossed=True)
    # FCFS on three processors: nobody could pass B, which starts at once.
    assert waits(crossed)[3] == [0.0, 0.0, 40.0, 30.0]
    with pytest.raises(CoallocError, match="more than 500 combinations"):
        combinations_of([*plan.change] * 20, True)


def test_a_what_if_resumes(tmp_path, monkeypatch):
    said, store = [], tmp_path / "store.sqlite"
    changes = {"nodes": {"by": "+1"}}, {"policy": "fcfs"}

    class Stopped(InProcess):
        def run(self, tasks):
            yield from islice(super().run(tasks), 2)
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(runs, "LocalWorkers", Stopped)
        with pytest.raises(Interrupted) as interrupted:
            ask(FOUR, *changes, store=store)
    # Bounds come after simulations: no row is complete.
    assert interrupted.value.missing == ("the log as it is", "change 1", "change 2")
    found = ask(FOUR, *changes, store=store, progress=said.append)
    # Policies share a bound: there are three simulations and two bounds. Two simulations were kept.
    assert said[0] == "3 scenarios: 3 of 5 simulations and bounds to run"
    assert ask(FOUR, *changes, store=store, progress=pytest.fail).table.equals(found.table)


def wrong(text, instance=FOUR):
    """Return the message for a file that holds a text."""
    with pytest.raises(InstanceError) as error:
        what_if(instance, tomllib.loads(text), processes=1)
    return str(error.value)


ONE = "[[change]]\nname = 'x'\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "change: is missing"),
        ("change = []", "change: must not be empty"),
        ("[[change]]\npolicy = 'easy'", "change[0].name: is missing"),
        ("policy = 3\n" + ONE + "policy = 'easy'", "policy: must be the name of a policy, or a table such as"),
        (ONE + "policy = 'fcfs'\n" + ONE + "policy = 'sjf'", "change[1].name: must be unique, got 'x' again"),
        ("[[change]]\nname = 'the log as it is'\npolicy = 'fcfs'", "change[0].name: must be unique, got"),
        ("[[change]]\nname = 'a + b'\npolicy = 'fcfs'", "change[0].name: must not contain ' + '"),
        (
            "policy = 'fcfs'\n" + ONE + "moldable = {factors = [2], serial_share = 0}",
            "change[0].moldable: requires a policy that selects modes (easy, mesd), got fcfs",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_one_line_with_its_key(text, message):
    said = wrong(text)
    assert said.startswith(message)
    assert "\n" not in said


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("", ": must have at least one of the keys policy, nodes, merge, split, walltimes"),
        ("node = {by = '+1'}", ".node: is not a known key (did you mean nodes?)"),
        ("nodes = {by = 'ten'}", ".nodes.by: must be a number of nodes or a percentage"),
        ("nodes = {by = 10}", ".nodes.by: must be a string, got 10"),
        ("nodes = {by = '+1 %'}", ".nodes.by: must change the number of nodes and leave some, got +1 % of 2 nodes"),
        ("nodes = {by = '-2'}", ".nodes.by: must change the number of nodes and leave some, got -2 of 2 nodes"),
        ("nodes = {by = '+1', cluster = 'C2'}", ".nodes.cluster: must be a cluster of the platform, got 'C2'"),
        ("policy = 'esay'", ".policy: unknown policy 'esay' (did you mean 'easy'?)"),
        ("policy = 'easy skip=1'", '.policy: states options in a table: {policy = "easy"'),
        ("policy = {policy = 'easy', foo = 1}", ".policy: policy 'easy' has no option foo"),
        ("walltimes = {overestimate = -1}", ".walltimes.overestimate: must be at least 0, got -1"),
        (
            "walltimes = {overestimate = 1, jobs = {user = 'anne'}}",
            ".walltimes.jobs.user: no job of the log has the user 'anne' (did you mean 'ann'?)",
        ),
        ("walltimes = {overestimate = 1, jobs = {min_tasks = 9}}", ".walltimes.jobs: selects no job of the log"),
        ("merge = {partitions = ['a']}", ".merge.partitions: must be at least two partitions"),
        ("merge = {partitions = ['a', 'b']}", ".merge.partitions: no part of the nodes is the partition 'a'"),
        (
            "split = {nodes = '2', name = 's', jobs = {max_tasks = 1}}",
            ".split.nodes: must be some of the 2 nodes and leave some, got 2",
        ),
        (
            "level = {name = 'row', required = true}",
            ".level.name: must be a level of the topology (cluster), got 'row'",
        ),
        ("limit = {name = 'l', capacity = 1}", ".limit.name: is no limit, got 'l'; the instance has no limits"),
        ("new_limit = {each = 'qos', running = 1}", ".new_limit.each: the log does not name the qos of its jobs"),
        ("new_limit = {each = 'user'}", ".new_limit: must have either running (jobs) or processors"),
        (
            "new_limit = {each = 'user', processors = 1}",
            ".new_limit.processors: must be at least 2, which one job of user 'bob' requires",
        ),
        ("moldable = {factors = [5], serial_share = 0}", ".moldable.factors: no selected job can run on so many"),
    ],
)
def test_what_is_wrong_with_a_change_is_one_line_with_its_key(change, message):
    said = wrong(ONE + change)
    assert said.startswith("change[0]" + message)
    assert "\n" not in said


def test_fewer_nodes_must_be_enough_for_every_job_and_for_what_holds_them():
    fewer = ONE + "nodes = {by = '-1'}"
    assert wrong(fewer).startswith("change[0].nodes.by: leaves too few nodes for 1 job of up to 2 tasks")
    platform = FOUR.platform.replace(unavailable=[Window("C1", 500.0, 600.0)])
    assert wrong(fewer, FOUR.replace(platform=platform)).startswith("change[0].nodes.by: fewer nodes are not supported")
    narrow = Instance(pool(2), [Job("J1", 1, 10.0), Job("J2", 1, 10.0)])
    assert waits(ask(narrow, {"nodes": {"by": "-1"}})) == [[0.0, 0.0], [0.0, 10.0]]


def test_all_that_is_wrong_is_said_together():
    text = ONE + "nodes = {by = '-2'}\n[[change]]\nname = 'y'\nlimit = {name = 'l', capacity = 1}"
    assert [line.partition(": ")[0] for line in wrong(text).splitlines()] == [
        "change[0].nodes.by",
        "change[1].limit.name",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"window": 0.0}, "window: must be above 0 s, got 0"),
        ({"time_limit": 0.0}, "time_limit: must be above 0 s"),
        ({"after": 1e9}, "no job arrives in the period"),
        ({"processors": 2}, "an instance contains its platform"),
    ],
)
def test_wrong_arguments_are_refused(options, message):
    with pytest.raises(CoallocError, match=message):
        ask(FOUR, {"policy": "fcfs"}, **options)


@needs_pictures
def test_the_page_shows_every_scenario_and_asks_nobody(tmp_path):
    found = ask(FOUR, {"nodes": {"by": "+1"}}, {"policy": "fcfs"})
    path = tmp_path / "page.html"
    found.write_page(path)
    seen = visit(path, tmp_path)
    assert (seen.console, seen.requests) == ([], [])
    for text in ("the log as it is", "change 1", "17.5 s", "-37.5 s", "The log has one interval"):
        assert text in seen.dom
    assert "55 s" in found.headline


def test_a_log_is_compared_with_its_recorded_schedule(tmp_path):
    rows = [(1, 0, 0, 100, 1, 200, 1), (2, 10, 90, 50, 2, 50, 2), (3, 20, 280, 80, 1, 190, 1), (4, 30, 0, 30, 1, 60, 2)]
    lines = [
        f"{n} {at} {wait} {run} {m} -1 -1 {m} {asked} -1 1 {u} -1 -1 -1 -1 -1 -1"
        for n, at, wait, run, m, asked, u in rows
    ]
    log = tmp_path / "four.swf"
    log.write_text("\n".join(lines))
    found = ask(log, {"policy": "fcfs"}, processors=2)
    assert found.table[["scenario", "wait_mean"]].to_numpy().tolist() == [
        ["the recorded schedule", 92.5],
        ["the log as it is", 55.0],
        ["change 1", 85.0],
    ]
    assert "in the log they waited 1.54 min, so the simulation is a poor model of the site" in found.headline
    assert coalloc.read_swf(log, processors=2).jobs[1].user == "2"
