"""``coalloc simulate``: series, groups and windows, as a user asks for them."""

import json

import pandas as pd
import pytest

import coalloc
from tests.cli.running import TINY, run, write
from tests.extras import needs_pictures

SWF = """; MaxProcs: 2
1 0 -1 100 2 -1 -1 2 100 -1 1 7 -1 -1 -1 -1 -1 -1
2 5 -1 50 1 -1 -1 1 60 -1 1 8 -1 -1 -1 -1 -1 -1
3 200 -1 50 1 -1 -1 1 60 -1 1 7 -1 -1 -1 -1 -1 -1
"""
"""Job 1 takes both processors from 0 to 100; job 2 arrives at 5 and waits 95 s; job 3 starts as it arrives."""


@pytest.fixture
def tiny(tmp_path):
    return write(tmp_path / "tiny.json", TINY)


@pytest.fixture
def trace(tmp_path):
    return write(tmp_path / "trace.swf", SWF)


@needs_pictures
def test_a_run_over_time_is_written_and_drawn(trace, tmp_path):
    table, figure = tmp_path / "s.csv", tmp_path / "s.png"
    done = run("simulate", trace, "--processors", 2, "--series", table, "--series-plot", figure, "-q")
    assert done.exit_code == 0
    assert [line.split() for line in done.stdout.splitlines()[-2:]] == [
        ["series", str(table)],
        ["series-plot", str(figure)],
    ]
    found = pd.read_csv(table)
    assert found["start"].tolist() == [0.0, 5.0, 100.0, 150.0, 200.0]
    assert found["queue_length"].tolist() == [0.0, 1.0, 0.0, 0.0, 0.0]
    assert found["busy_processors"].tolist() == [2.0, 2.0, 1.0, 0.0, 1.0]
    assert figure.read_bytes().startswith(b"\x89PNG")


def test_series_come_in_steps_of_equal_length(trace, tmp_path):
    assert (
        run("simulate", trace, "--processors", 2, "--series", tmp_path / "s.csv", "--every", 125, "-q").exit_code == 0
    )
    assert pd.read_csv(tmp_path / "s.csv")["busy_processors"].tolist() == [(200 + 25) / 125, (25 + 50) / 125]


def test_groups_are_printed_and_written(trace, tmp_path):
    done = run("simulate", trace, "--processors", 2, "--by", "user", "--table", tmp_path / "users.csv", "-q")
    assert done.exit_code == 0
    *heading, first, second = done.stdout.splitlines()[-4:]
    assert heading == [
        "            processor     mean   p95 of         mean  mean bounded",
        "user  jobs    time, s  wait, s  wait, s  response, s      slowdown",
    ]
    rows = [first.split(), second.split()]
    assert [row[:4] for row in rows] == [["7", "2", "250", "0"], ["8", "1", "50", "95"]]
    assert pd.read_csv(tmp_path / "users.csv")[["user", "jobs", "wait_max"]].to_numpy().tolist() == [
        [7, 2, 0],
        [8, 1, 95],
    ]


def test_jobs_without_a_user_are_a_group(tiny):
    done = run("simulate", tiny, "--by", "user", "-q")
    assert done.stdout.splitlines()[-1].split()[:2] == ["-", "3"]
    (row,) = json.loads(run("simulate", tiny, "--by", "user", "-q", "--json").stdout)["groups"]["rows"]
    assert (row["user"], row["jobs"]) == (None, 3)


def test_users_are_data(tmp_path):
    node = coalloc.Cluster("C1", [coalloc.NodeGroup(1, power=1.0)], 0.0)
    instance = coalloc.Instance(coalloc.Platform([node]), [coalloc.Job("J", tasks=1, base_time=1.0, user="[red]x[/b]")])
    coalloc.write_instance(instance, tmp_path / "i.json")
    assert "[red]x[/b]" in run("simulate", tmp_path / "i.json", "--by", "user", "-q").stdout


def test_a_window_is_said_beside_the_whole(trace):
    done = run("simulate", trace, "--processors", 2, "--after", 5, "--before", 200, "--by", "hour", "-q")
    lines = done.stdout.splitlines()
    assert "interval   1 of 3 jobs, which arrive at or after 5 s and before 200 s" in lines
    assert "  wait     mean 95 s, median 95 s, p95 95 s, p99 95 s, max 95 s" in lines
    assert lines[-1].split()[:2] == ["0", "1"]  # the groups are those of the window too
    document = json.loads(run("simulate", trace, "--processors", 2, "--after", 5, "--json", "-q").stdout)
    assert document["window"]["after"] == 5.0
    assert document["window"]["before"] is None
    assert document["window"]["metrics"]["jobs"] == 2.0
    assert document["metrics"]["jobs"] == 3.0


def test_hours_follow_the_clock_of_the_trace(trace):
    # 1027839845 is a Sunday, 09:04:05 in Stockholm.
    options = ["--epoch", "1027839845", "--time-zone", "Europe/Stockholm"]
    document = json.loads(run("simulate", trace, "--processors", 2, "--by", "hour", *options, "--json", "-q").stdout)
    assert [(row["hour"], row["jobs"]) for row in document["groups"]["rows"]] == [(6 * 24 + 9, 3)]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--by", "queue"], "invalid value for --by: must be one of user, size, hour, got 'queue'"),
        (["--table", "t.csv"], "invalid value for --table: requires --by"),
        (["--epoch", "3"], "invalid value for --epoch: requires --by"),
        (["--by", "user", "--time-zone", "UTC"], "time_zone requires by='hour', got by='user'"),
        (
            ["--by", "hour", "--time-zone", "Nowhere"],
            "unknown time zone 'Nowhere'; use a name such as Europe/",
        ),
        (
            ["--after", "1e9"],
            "no job of the schedule arrives from after=1000000000 to before=inf s; arrivals are from 0 to",
        ),
        (["--series", "s.csv", "--every", "-1"], "invalid value for --every: must be above 0 s, got -1"),
        (["--series", "s.csv", "--every", "nan"], "invalid value for --every: must be above 0 s, got nan"),
        (["--every", "1"], "invalid value for --every: requires --series or --series-plot"),
        (["--no-requeue"], "invalid value for --no-requeue: requires --failures"),
        (["--series-plot", "s.html"], "cannot draw to 's.html': the extension must be one of .png, .svg, .pdf"),
        (["--series", "s.csv", "--every", "1e-9"], "every=1e-09 s divides 200 s into 2e+11 steps, above the limit"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(tiny, tmp_path, monkeypatch, arguments, sentence):
    monkeypatch.chdir(tmp_path)
    done = run("simulate", tiny, "-q", *arguments)
    assert done.exit_code == 2
    assert sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["tiny.json"]
