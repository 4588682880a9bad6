"""``coalloc audit``, as a user runs it."""

from __future__ import annotations

import json
import shlex

import pandas as pd
import pytest

import coalloc
from coalloc.studies.interruption import Interrupted
from tests.cli.running import TINY, run, write
from tests.extras import needs_pictures
from tests.workloads.test_slurm import CONF, GRES, HEAD, NODES, QOS, RESERVATIONS, TREE, row

SACCT = """JobID|Submit|Start|End|NCPUS|State
1|2026-10-01T00:00:00|2026-10-01T00:00:00|2026-10-01T00:01:40|2|COMPLETED
1.0|2026-10-01T00:00:00|2026-10-01T00:00:00|2026-10-01T00:01:40|2|COMPLETED
2|2026-10-01T00:00:05|2026-10-01T00:01:40|2026-10-01T00:02:30|1|COMPLETED
3|2026-10-03T00:00:00|2026-10-03T00:00:10|2026-10-03T00:00:20|1|COMPLETED
"""
"""Job 2 waits 95 s for job 1, job 3 for nothing, 10 s."""

pytestmark = pytest.mark.usefixtures("in_process")
LIMITS = ("--time-limit", "0.02", "--against", "fcfs", "-j", "1")


@pytest.fixture
def export(tmp_path):
    return write(tmp_path / "october.txt", SACCT)


@needs_pictures
def test_an_export_is_audited_and_everything_written(export, tmp_path):
    files = {name: tmp_path / f"audit.{name}" for name in ("csv", "html", "svg")}
    tables = {name: tmp_path / f"{name}.csv" for name in ("starts", "policies", "groups")}
    asked = ("audit", export, "--processors", 2, "--window", "1d", *LIMITS, "-o", files["csv"], "--page", files["html"])
    asked += ("--time-limit", "2")  # at most: all is proved
    written = (text for name, path in tables.items() for text in (f"--{name}", path))
    result = run(*asked, "--plot", files["svg"], *written)
    assert result.exit_code == 0
    assert "1 record dropped: job step" in result.stderr
    # 95 and 10 s of three jobs. Job 1 first is best (95 s), or job 2 at 5 s and job 1 after it (55 s): 55/3 s.
    lines = result.stdout.splitlines()
    assert lines[2] == "mean wait             35 s in the audited schedule"
    assert lines[4].strip() == "18.3 s in the best known schedule: 47.6 % avoidable"
    table = pd.read_csv(files["csv"])
    assert table["window"].tolist() == ["the whole period", "2026-10-01 00:00", "2026-10-03 00:00"]
    assert "<img" in files["html"].read_text()
    assert pd.read_csv(tables["starts"])["start"].tolist()[:2] == [55.0, 5.0]
    assert pd.read_csv(tables["policies"])["policy"].tolist() == ["fcfs", "audited schedule"]
    # One job of two processors, two of one; two are of 50 s or less, and none of another class of lengths.
    groups = pd.read_csv(tables["groups"])
    assert groups[["by", "group", "jobs"]].to_numpy().tolist() == [
        ["size", "1", 2],
        ["size", "2-4", 1],
        ["length", "up to 10 min", 3],
    ]
    assert "<svg" in files["svg"].read_text()
    again = run(*asked, "--json")
    assert (again.exit_code, again.stderr) == (0, "")  # all is kept in audit.sqlite
    assert json.loads(again.stdout)["period"]["wait_as_it_was"] == 35.0


def test_groups_of_an_export_are_its_partitions_and_accounts_without_their_names(tmp_path):
    fields = "JobID|Account|Partition|QOS|Submit|Start|End|NCPUS"
    submit, start, end = (f"2026-10-01T00:0{minute}:00" for minute in range(3))
    rows = [
        f"{k}|{account}|{part}|normal|{submit}|{start}|{end}|1" for k, account, part in ((1, "phys", "a"), (2, "", "b"))
    ]
    export, groups = write(tmp_path / "log.txt", "\n".join([fields, *rows])), tmp_path / "groups.csv"
    assert run("audit", export, "--processors", 1, *LIMITS, "--groups", groups, "-q").exit_code == 0
    found = pd.read_csv(groups)[["by", "group"]].to_numpy().tolist()
    # Equal work: in the order of names. There is one QOS only, and no user.
    assert found[2:] == [["account", "account 1"], ["account", "account 2"], ["partition", "a"], ["partition", "b"]]
    assert run("audit", export, "--processors", 1, *LIMITS, "--groups", groups, "-q", "--users").exit_code == 0
    assert pd.read_csv(groups)["group"].tolist()[2:4] == ["phys", "unknown"]


def test_without_a_limit_a_period_of_few_jobs_is_audited_to_the_end(export):
    # 55/3 s on average (see above), proved: without a limit nothing is cut short, and no time is announced.
    result = run("audit", export, "--processors", 2, "--time-limit", "inf", "--against", "fcfs", "-j", "1", "--json")
    assert result.exit_code == 0
    assert "take up to" not in result.stderr
    period = json.loads(result.stdout)["period"]
    assert period["wait_bound"] == pytest.approx(55.0 / 3.0)
    assert period["wait_best"] == pytest.approx(55.0 / 3.0)


def test_what_has_ended_is_kept_at_an_interrupt(export, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise Interrupted(pd.DataFrame({"window": ["the whole period"]}), ["2026-10-01 00:00"])

    monkeypatch.setattr(coalloc, "audit", interrupted)
    table = tmp_path / "audit.csv"
    result = run("audit", export, "--processors", 2, "-o", table)
    assert (result.exit_code, result.stderr) == (
        0,
        "coalloc: interrupted with 1 of 2 rows; missing: 2026-10-01 00:00\n",
    )
    assert pd.read_csv(table)["window"].tolist() == ["the whole period"]


@needs_pictures
@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ([], "invalid value for TRACE: a trace requires --processors N or --platform FILE"),
        (
            ["--processors", 2, "--window", "week"],
            "invalid value for --window: must be a duration such as 7d, 12h or 3600",
        ),
        (
            ["--processors", 2, "--after", "2027-01-01"],
            "the period must begin before it ends, got 2027-01-01 00:00 to 2026-10-03",
        ),
        (["--processors", 2, "--after", "2026-10-02", "--before", "2026-10-02T12:00"], "no job waits or arrives in"),
        (["--processors", 2, "--partition", "gpu"], "there are no jobs to audit: 4 records read, 0 in the instance; "),
        (["--processors", 2, "--policy", "easy candidates=fast"], "candidates of policy 'easy' must be one of"),
        (["--processors", 2, "--page", "/no/such/folder.html"], "--store: /no/such/folder.sqlite cannot be written"),
        (["--processors", 2, "--store", "-"], "--store: - cannot be written: a store must be a file"),
    ],
)
def test_what_cannot_be_audited_is_one_line(export, options, sentence):
    result = run("audit", export, *LIMITS, *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.splitlines()[-1].startswith(f"coalloc: {sentence}")


def test_an_instance_needs_a_policy_and_has_its_platform(tmp_path):
    tiny = write(tmp_path / "tiny.json", TINY)
    assert "give a policy" in run("audit", tiny).stderr
    assert "an instance contains its platform" in run("audit", tiny, "--processors", 2).stderr


def test_an_imported_site_is_audited_with_every_feature(tmp_path):
    """An export with partitions, GRES, licenses, limits, precedence, modes, a reservation and a node that is down."""
    kept = {"User": "bob", "QOS": "none"}
    rows = [
        row("1", "00:00:00", "00:30:00", NNodes="2", NCPUS="8", NodeList="n[1-2]", QOS="normal"),
        row("2", "00:30:00", "00:40:00", QOS="normal", SubmitLine="sbatch -d afterok:1 b.sh"),
        row(
            "3",
            "00:10:00",
            Submit="00:05:00",
            Partition="gpu",
            NodeList="g1",
            AllocTRES="cpu=4,gres/gpu=2,mem=4G,node=1",
            **kept,
        ),
        row(
            "4",
            "00:12:00",
            "00:32:00",
            Submit="00:06:00",
            Constraints="amd",
            NodeList="n5",
            Licenses="matlab:1",
            Partition="batch",
        ),
        row(
            "5",
            "00:20:00",
            "01:00:00",
            Submit="00:07:00",
            NNodes="2",
            NCPUS="8",
            NodeList="n[3-4]",
            SubmitLine="sbatch --nodes=1-2 c.sh",
            **kept,
        ),
        row("6+0", "01:40:00", "02:10:00", Submit="01:08:00", NodeList="n4", **kept),
        row("6+1", "01:40:00", "02:10:00", Submit="01:08:00", NodeList="g2", **kept),
        row("9", "01:40:00", "03:40:00", Submit="01:20:00", NodeList="n3", Timelimit="02:00:00", **kept),
    ]
    written = {"sacct": "\n".join([HEAD, *rows]), "slurm-conf": CONF, "topology": TREE, "gres": GRES, "nodes": NODES}
    written |= {"reservations": RESERVATIONS, "assoc": QOS}
    asked = [text for name, content in written.items() for text in (f"--{name}", write(tmp_path / name, content))]
    site, schedule, groups = tmp_path / "site.json", tmp_path / "recorded.json", tmp_path / "groups.csv"
    imported = ("import", "slurm", *asked, "--after", "2026-10-01T00:04:00", "-o", site, "--schedule", schedule, "-q")
    assert run(*imported).exit_code == 0
    used = set(coalloc.read_instance(site).features)
    assert used == {"after", "lags", "limits", "requires", "resources", "shapes", "start", "unavailable"}
    assert "give a policy" in run("audit", site).stderr
    shown = ("audit", site, "--schedule", schedule, *LIMITS, "--window", "1h", "--groups", groups, "--json")
    result = run(*shown)
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert [window["jobs"] for window in found["windows"]] == [4, 3]
    assert all(row["wait_bound"] <= row["wait_best"] for row in [found["period"], *found["windows"]])
    # Since 0:04 job 2 waited 26 min, jobs 3 to 5 waited 5, 6 and 13 min, the others 32, 32 and 20 min.
    assert found["period"]["wait_as_it_was"] == pytest.approx(134 * 60.0 / 7.0)
    assert json.loads(run(*shown, "--as-ran", "slurm").stdout)["model"]["policy"] == "slurm"
    assert {*pd.read_csv(groups)["by"]} == {"size", "length", "user", "partition"}
    again = json.loads(run(*shlex.split(found["named_policy"]["command"])[1:], "--json").stdout)
    by_label = {row["policy"]: row["wait_mean"] for row in found["policies"]}
    assert again["metrics"]["wait_mean"] == pytest.approx(by_label[found["named_policy"]["label"]])
    refused = run("audit", write(tmp_path / "october.txt", SACCT), "--processors", 2, "--schedule", schedule)
    assert "--schedule: requires an instance; a trace contains its schedule" in refused.stderr


def test_a_log_with_a_broken_line_is_audited_without_it(tmp_path):
    # Job 2 waits for the processors of job 1, as its line says: 90 s, 45 s on average.
    log = write(
        tmp_path / "t.swf",
        "; MaxProcs: 4\nabc\n"
        "1 0 0 100 4 -1 -1 4 200 -1 1 1 -1 -1 -1 -1 -1 -1\n"
        "2 10 90 50 2 -1 -1 2 60 -1 1 1 -1 -1 -1 -1 -1 -1\n",
    )
    assert "--broken drop" in run("audit", log, *LIMITS).stderr
    audited = run("audit", log, *LIMITS, "--broken", "drop", "--json")
    assert json.loads(audited.stdout)["period"]["wait_as_it_was"] == 45.0
    assert audited.stderr.startswith(f"{log}: one cluster of 4 processors, from the header (MaxProcs)\n")


def test_of_an_empty_file_it_is_said_that_it_is_empty(tmp_path):
    empty = write(tmp_path / "empty.txt", "")
    result = run("audit", empty, "--processors", 2)
    assert (result.exit_code, result.stderr) == (2, f"{empty}: is empty, must contain a JSON object\n")


def test_the_printed_command_repeats_the_figure(tmp_path):
    # Job 2 runs from 10 s, job 3 beside it: EASY would start both at once, FCFS as the log did waits for job 1.
    log = write(
        tmp_path / "jobs of may.swf",
        "; MaxProcs: 4\n"
        "1 50 0 100 3 -1 -1 3 200 -1 1 1 -1 -1 -1 -1 -1 -1\n"
        "2 60 90 50 2 -1 -1 2 60 -1 1 1 -1 -1 -1 -1 -1 -1\n"
        "3 70 80 50 1 -1 -1 1 60 -1 1 1 -1 -1 -1 -1 -1 -1\n",
    )
    asked = ("audit", log, "--against", "easy candidates=spt", "-j", "1", "--time-limit", "0.02", "--json")
    whole, part = (json.loads(run(*asked, *more).stdout)["named_policy"] for more in ((), ("--after", "60")))
    assert whole["command"].endswith("jobs of may.swf' --processors 4 --policy easy -p candidates=spt")
    simulated = json.loads(run(*shlex.split(whole["command"])[1:], "--json").stdout)
    # Job 3 starts at 70 s, and 90 s remain of 170 s.
    assert simulated["metrics"]["wait_mean"] == 30.0
    assert whole["gain"] == pytest.approx(1.0 - 90.0 / 170.0)
    assert part["command"].endswith("--processors 4 --after 60 --against 'easy candidates=spt' --time-limit 0.1")
    again = json.loads(run(*shlex.split(part["command"])[1:], "--json").stdout)
    assert again["named_policy"] == part
    assert part["gain"] == whole["gain"]  # job 1 waits for nothing
