"""A scheduler in another program: its starts, what it hears, and what it does wrong."""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path

import pytest

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform
from coalloc.extend import ExternalPolicy

FCFS = [sys.executable, str(Path(__file__).with_name("external_fcfs.py"))]


def answering(*lines: str) -> list[str]:
    """Return the command of a scheduler that answers these lines, whatever it is asked, then ends."""
    answers = [f"sys.stdin.readline(); print({line!r}, flush=True)" for line in lines]
    return [sys.executable, "-c", "; ".join(["import sys", "sys.stdin.readline()", *answers])]


def starts(run):
    return {placement.job: placement.start for placement in run.schedule}


@pytest.mark.parametrize("seed", range(3))
def test_the_starts_of_first_come_first_served(seed):
    instance = coalloc.generate("lublin", seed=seed, jobs=60, nodes=64)
    policy = ExternalPolicy(FCFS)
    expected = starts(coalloc.simulate(instance, "fcfs"))
    assert starts(coalloc.simulate(instance, policy)) == expected
    assert starts(coalloc.simulate(instance, policy)) == expected  # one object serves several runs


def test_jobs_that_failures_interrupt_end_and_arrive_again():
    instance = coalloc.generate("lublin", seed=3, jobs=60, nodes=64)
    failures = coalloc.io.sample_failures(instance.platform, 300_000.0, 3600.0, 400_000.0, seed=1)
    expected = coalloc.simulate(instance, "fcfs", failures=failures)
    assert expected.metrics["interruptions"] > 5
    assert starts(coalloc.simulate(instance, ExternalPolicy(FCFS), failures=failures)) == starts(expected)


def test_counts_of_several_clusters():
    instance = coalloc.generate("thesis-oas", seed=4, jobs=12)
    run = coalloc.simulate(instance, ExternalPolicy(FCFS))
    assert starts(run) == starts(coalloc.simulate(instance, "fcfs", allocation="first-fit"))


TWO = Instance(
    Platform([Cluster("C1", [NodeGroup(2, 1.0)], 1.0)]),
    [Job("J1", 1, 10.0), Job("J2", 2, 10.0, arrival=5.0, estimate=20.0)],
)


def test_what_it_reads(tmp_path):
    heard = tmp_path / "heard"
    program = f"""
import json, sys
with open({str(heard)!r}, "w") as file:
    for line in sys.stdin:
        file.write(line)
        if json.loads(line)["event"] == "decide":
            ready = "J2" if '"ended":["J1"]' in line else "J1" if '"id":"J1"' in line else None
            print(json.dumps({{"start": [ready] if ready else []}}), flush=True)
"""
    run = coalloc.simulate(TWO, ExternalPolicy([sys.executable, "-c", program]))
    assert starts(run) == {"J1": 0.0, "J2": 10.0}
    gc.collect()
    begin, *decisions = map(json.loads, heard.read_text().splitlines())
    assert begin["event"] == "begin"
    assert (begin["protocol"], begin["scope"], begin["running"]) == (1, "platform", [])
    assert begin["classes"] == [{"cluster": "C1", "processors": 2, "power": 1.0}]
    assert begin["platform"]["clusters"][0]["name"] == "C1"
    first, second, third = decisions
    assert (first["now"], first["free"], [job["id"] for job in first["arrived"]]) == (0.0, [2], ["J1"])
    assert (second["now"], second["free"], second["ended"]) == (5.0, [1], [])
    assert second["arrived"][0]["base_time"] == 20.0  # the estimate: no policy knows the run time
    assert (third["now"], third["free"], third["arrived"], third["ended"]) == (10.0, [2], [], ["J1"])


@pytest.mark.parametrize(
    ("stop", "again"), [("suspend", '{"start": ["J1"]}'), ("requeue", '{"start": [{"job": "J1", "counts": [1]}]}')]
)
def test_it_stops_jobs(stop, again):
    # J2 takes both processors from 5 to 15 s: then J1, whose 10 s have been 5, resumes or starts anew.
    second = f'{{"{stop}": ["J1"], "start": ["J2"]}}'
    waiting = [] if stop == "suspend" else ["{}"]  # J1 is in the queue again
    run = coalloc.simulate(TWO, ExternalPolicy(answering('{"start": ["J1"]}', second, *waiting, again)))
    assert [(p.start, p.end) for p in run.schedule] == [(15.0, 20.0 if stop == "suspend" else 25.0), (5.0, 15.0)]


def test_starts_by_name_of_node_and_wakes():
    one = TWO.replace(jobs=TWO.jobs[:1])
    lines = '{"wake": 3.0}', '{"start": [{"job": "J1", "nodes": ["C1/1"]}]}'
    run = coalloc.simulate(one, ExternalPolicy(answering(*lines)))
    assert starts(run) == {"J1": 3.0}
    assert list(run.schedule["J1"].nodes) == ["C1/1"]


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("", "command '': it names no program"),
        ("no-such-program", "command 'no-such-program': "),
        ([sys.executable, "-c", "raise SystemExit(3)"], "ended without an answer, with exit code 3"),
        (
            answering("nonsense"),
            'the scheduler must answer {"start": [...], "wake": time} in one line, got \'nonsense\'',
        ),
        (answering('{"stop": []}'), "the scheduler must answer {"),
        (answering('{"start": "J1"}'), 'the scheduler must answer a list "start", got "J1"'),
        (answering('{"start": ["JX"]}'), 'the scheduler starts "JX", which is no waiting job'),
        (answering('{"start": [["J1"]]}'), 'the scheduler starts ["J1"], which is no waiting job'),
        (answering('{"start": ["J1", "J1"]}'), "the policy "),
        (answering('{"start": [{"job": "J1"}]}'), 'a start must have "job" and a list "counts" or "nodes"'),
        (answering('{"start": [{"job": "J1", "counts": 1}]}'), 'a start must have "job" and a list'),
        (answering('{"start": [{"job": "J1", "counts": [3]}]}'), "the policy gave job 'J1'"),
        (answering('{"start": [{"job": "J1", "counts": ["a"]}]}'), "the policy gave job 'J1'"),
        (answering('{"wake": 0}'), "the policy requested a wake-up at 0"),
        (answering('{"wake": "soon"}'), "the policy requested a wake-up at 'soon'"),
    ],
)
def test_what_it_does_wrong_is_one_line(command, sentence):
    with pytest.raises(CoallocError) as report:
        coalloc.simulate(TWO, ExternalPolicy(command))
    assert sentence in str(report.value)
    assert "\n" not in str(report.value)


def test_too_little_room():
    with pytest.raises(CoallocError, match="the scheduler starts job 'J2', for which too little is free"):
        coalloc.simulate(TWO, ExternalPolicy(answering('{"start": ["J1"]}', '{"start": ["J2"]}')))


@pytest.mark.parametrize("known", [False, True])
def test_jobs_that_are_cancelled_or_changed_while_they_wait(known):
    jobs = [Job("J1", 2, 10.0), Job("J2", 1, 5.0, arrival=1.0), Job("J3", 2, 5.0, arrival=1.0)]
    simulation = coalloc.Simulation(TWO.replace(jobs=jobs), ExternalPolicy(FCFS))
    simulation.run(until=2.0 if known else 0.5)  # whether the program has heard of them
    simulation.cancel("J2")
    simulation.change("J3", tasks=1)
    simulation.change("J3", base_time=7.0, estimate=7.0)
    simulation.run()
    placement = simulation.result().schedule["J3"]
    assert (placement.start, placement.end) == (10.0, 17.0)
    with pytest.raises(CoallocError, match="copy"):
        simulation.branch()
