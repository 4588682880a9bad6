"""From an accounting export of Slurm to an instance: times, fields, what is dropped and what is refused."""

from __future__ import annotations

import gzip
import logging

import pytest

from coalloc import InstanceError, read_sacct
from coalloc.instance import Cluster, NodeGroup, Platform
from coalloc.workloads.slurm.sacct import SacctOptions, read_sacct_with_report
from coalloc.workloads.slurm.sacct_records import is_sacct
from coalloc.workloads.swf import pool

FIELDS = "JobID|User|Partition|State|Submit|Eligible|Start|End|Elapsed|Timelimit|NNodes|NCPUS|ReqMem"
NO_NAMES = (
    "must list the field names (JobID|Submit|Start|End|...), as sacct --parsable2 prints them (without --noheader)"
)


def row(id, state="COMPLETED", submit="00:00:00", start="00:01:00", end="01:01:00", **other):
    """A record of the first of October; a time that is no clock time stands as it is."""
    at = {"Submit": submit, "Start": start, "End": end, "Eligible": other.pop("Eligible", submit)}
    told = {name: f"2026-10-01T{time}" if time[:1].isdigit() and "T" not in time else time for name, time in at.items()}
    usual = {"User": "ann", "Partition": "batch", "Elapsed": "01:00:00", "Timelimit": "1-00:00:00", "NNodes": "1"}
    fields = {"JobID": id, "State": state, "NCPUS": "4", "ReqMem": "2Gc", **usual, **told, **other}
    return "|".join(fields[name] for name in FIELDS.split("|"))


def export(tmp_path, *rows, head=FIELDS, name="october.txt"):
    path = tmp_path / name
    text = "\n".join([head, *rows]) + "\n"
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


@pytest.mark.parametrize("name", ["october.txt", "october.txt.gz"])
def test_jobs_have_what_the_export_says(tmp_path, name):
    # 8_1 comes 10 s before 7, so it is first and the clock begins with it: 7 arrives at 10 s, starts at 60 + 10 s.
    path = export(
        tmp_path,
        row("7"),
        row("8_1", submit="2026-09-30T23:59:50", start="00:00:05", end="00:10:05", Timelimit="15:00", User="bob"),
        name=name,
    )
    instance, report = read_sacct_with_report(path, pool(8))
    assert [(j.id, j.arrival, j.tasks, j.base_time, j.estimate, j.user) for j in instance.jobs] == [
        ("8_1", 0.0, 4, 600.0, 900.0, "bob"),
        ("7", 10.0, 4, 3600.0, 86400.0, "ann"),
    ]
    assert report.starts == (15.0, 70.0)
    assert report.sentences == ("2 records read, 2 in the instance",)
    assert instance.name == "october"
    assert is_sacct(str(path))


@pytest.mark.parametrize("delimiter", ["|", "^"])
def test_an_export_without_names_of_fields_is_known_by_its_delimiters(tmp_path, delimiter):
    path = tmp_path / "nohead.txt"
    path.write_text(delimiter.join(["88000", "eve", "batch", "COMPLETED", "2026-10-05T00:09:46", "32"]))
    assert is_sacct(str(path))
    with pytest.raises(InstanceError, match="must list the field names"):
        read_sacct(path, 8)


def test_what_is_no_run_of_a_job_is_dropped_and_counted(tmp_path):
    path = export(
        tmp_path,
        row("7"),
        row("7.batch"),
        row("7.0"),
        row("9", "CANCELLED by 1000", start="None", end="00:05:00"),
        row("10_[3-9%2]", "PENDING", start="Unknown", end="Unknown"),
        row("11", "RUNNING", end="Unknown"),
        row("12", "NODE_FAIL", start="00:02:00", end="00:03:00"),
        row("12", start="00:10:00", end="00:20:00"),
        row("13", "CANCELLED by 1000", end="00:01:00"),
        row("14", NCPUS="99"),
    )
    instance, report = read_sacct_with_report(path, pool(8))
    assert [(job.id, job.base_time) for job in instance.jobs] == [("7", 3600.0), ("12", 600.0)]
    assert report.sentences == (
        "10 records read, 2 in the instance",
        "2 records dropped: job step",
        "2 records dropped: never started",
        "1 record dropped: still running at the time of the export",
        "1 record dropped: requeued; a later run of the same job is kept",
        "1 record dropped: run time not above 0",
        "1 record dropped: more processors than the platform",
    )


def test_a_job_arrives_when_it_is_eligible_and_never_after_its_start(tmp_path):
    path = export(
        tmp_path,
        row("1", Eligible="00:00:30"),
        row("2", submit="00:00:20", Eligible="00:02:00"),
        row("3", Eligible="Unknown"),
        row("4", Timelimit="UNLIMITED"),
        row("5", Timelimit="30:00"),
    )
    instance, report = read_sacct_with_report(path, pool(8))
    assert {job.id: job.arrival for job in instance.jobs} == {"1": 30.0, "2": 60.0, "3": 0.0, "4": 0.0, "5": 0.0}
    assert {job.id: (job.base_time, job.estimate) for job in instance.jobs if job.id in "45"} == {
        "4": (3600.0, 3600.0),
        "5": (1800.0, 1800.0),
    }
    assert report.sentences[1:] == (
        "1 job changed: arrival set to the eligible time, which is later than the submission",
        "1 job changed: arrival set to the start, which is earlier than the submission or the eligible time",
        "1 job changed: no requested walltime, run time used",
        "1 job changed: run time cut to the requested walltime",
    )


def test_processors_are_cpus_or_nodes_and_memory_counts_where_nodes_have_some(tmp_path):
    # 2 nodes with 4 CPUs in all: 16 GB per node are 8192 MB per CPU, and 16384 per node.
    path = export(tmp_path, row("1", NNodes="2", ReqMem="16Gn"), row("2", ReqMem="8G"), row("3", ReqMem="0"))
    assert [job.memory for job in read_sacct(path, 8).jobs] == [None, None, None]
    with_memory = Platform([Cluster("C", [NodeGroup(8, 1.0, memory=64_000.0)], 0.0)])
    assert [job.memory for job in read_sacct(path, platform=with_memory).jobs] == [8192.0, 2048.0, 0.0]
    nodes = read_sacct(path, platform=with_memory, unit="nodes").jobs
    assert [(job.tasks, job.memory) for job in nodes] == [(2, 16384.0), (1, 8192.0), (1, 0.0)]


def test_other_fields_that_say_the_same_will_do(tmp_path):
    # Times since 1970, seconds and minutes as numbers, a list of resources; --parsable ends each line with a bar.
    head = "JobID|Submit|Start|ElapsedRaw|TimelimitRaw|AllocTRES|"
    path = export(tmp_path, "5|1790812800|1790812860|120|3|billing=4,cpu=4,mem=4G,node=1|", head=head)
    (job,) = read_sacct(path, 4).jobs
    assert (job.tasks, job.base_time, job.estimate) == (4, 120.0, 180.0)


def test_fields_may_be_separated_by_something_else(tmp_path):
    # A bar within a field is then none between fields.
    path = export(tmp_path, row("7", User="a^b").replace("|", "~").replace("^", "|"), head=FIELDS.replace("|", "~"))
    assert read_sacct(path, 8).jobs[0].user == "a|b"
    assert is_sacct(str(path))


def test_one_partition_alone(tmp_path):
    path = export(tmp_path, row("1"), row("2", Partition="gpu"))
    instance, report = read_sacct_with_report(path, pool(8), SacctOptions(partition="gpu"))
    assert [job.id for job in instance.jobs] == ["2"]
    assert report.dropped == {"other partition": 1}


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([row("7", submit="Unknown")], "line 2: Submit must be a time such as 2026-10-01T12:00:00, got 'Unknown'"),
        ([row("7", start="Unknown")], "line 2: Start must be known for a job of state COMPLETED, got 'Unknown'"),
        ([row("7"), row("8", end="Unknown")], "line 3: End must be known for a job of state COMPLETED, got 'Unknown'"),
        ([row("7", start="x")], "line 2: Start must be a time such as 2026-10-01T12:00:00, got 'x'"),
        ([row("7", Timelimit="soon")], "line 2: Timelimit must be a duration such as 1-12:00:00, got 'soon'"),
        ([row("7", NCPUS="4.5")], "line 2: NCPUS must be an integer, got '4.5'"),
        ([row("7", ReqMem="lots")], "line 2: ReqMem must be an amount such as 4000M, 4Gc or 16Gn, got 'lots'"),
        (
            [row("seven")],
            "line 2: JobID must be the number of a job (7), an array task (7_1) or a step (7.0), got 'seven'",
        ),
        ([row("7", User="a|b")], "line 2: must have 13 fields, as in the first line, got 14"),
    ],
)
def test_a_broken_line_is_named_with_its_field(tmp_path, rows, sentence):
    path = export(tmp_path, *rows)
    with pytest.raises(InstanceError) as refused:
        read_sacct(path, 8)
    remedy = '(broken="drop" or --broken drop skips malformed lines)'
    assert str(refused.value) == f"{path}: {sentence} {remedy}"
    _, report = read_sacct_with_report(path, pool(8), SacctOptions(broken="drop"))
    assert report.sentences[-2:] == ("1 malformed line skipped", sentence)


@pytest.mark.parametrize(
    ("head", "sentences"),
    [
        ("JobID|Submit|NCPUS", ["must contain the field Start", "must contain the field End (or Elapsed)"]),
        ("JobID|Submit|Start|End", ["must contain the field AllocCPUS or NCPUS or AllocTRES"]),
        ("7|ann", [NO_NAMES]),
    ],
)
def test_an_export_without_the_fields_is_refused(tmp_path, head, sentences):
    path = export(tmp_path, head=head)
    with pytest.raises(InstanceError) as refused:
        read_sacct(path, 8)
    assert str(refused.value).splitlines() == [f"{path}: line 1: {sentence}" for sentence in sentences]


def test_what_was_dropped_is_a_warning(tmp_path, caplog):
    path = export(tmp_path, row("7"), row("7.0"))
    with caplog.at_level(logging.WARNING, logger="coalloc.workloads.slurm.sacct"):
        read_sacct(path, 8)
    assert [record.getMessage() for record in caplog.records] == [f"{path}: 1 record dropped: job step"]
