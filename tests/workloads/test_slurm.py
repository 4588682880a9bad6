"""From a Slurm site's files to an instance: the platform, the jobs, what relates and limits them, and every error."""

from __future__ import annotations

import dataclasses
import random

import pytest

import coalloc
from coalloc import CoallocError, InstanceError, Lag, Limit, Shape
from coalloc.workloads.slurm.lines import Faults, conf_lines
from coalloc.workloads.slurm.submit import submitted
from coalloc.workloads.slurm.values import FieldError, generic_resources, hosts, resources, walltime

CONF = """\
# a small site
ClusterName=cedar
SelectTypeParameters=CR_Core_Memory
Licenses=matlab:2,ansys
NodeName=DEFAULT Sockets=2 CoresPerSocket=2 RealMemory=8000
NodeName=n[1-4] Feature=intel,ib
NodeName=n[5-6] Feature=amd,ib
NodeName=g[1-2] CPUs=8 RealMemory=16000 Gres=gpu:4 \\
    Feature=amd
PartitionName=DEFAULT MaxTime=2:00:00
PartitionName=batch Nodes=n[1-6] PriorityTier=2
PartitionName=gpu Nodes=g[1-2] MaxTime=1-00
PartitionName=all Nodes=ALL
"""
TREE = """\
SwitchName=s1 Nodes=n[1-3]
SwitchName=s2 Nodes=n[4-6]
SwitchName=s3 Nodes=g[1-2]
SwitchName=row1 Switches=s[1-2]
SwitchName=row2 Switches=s3
SwitchName=top Switches=row[1-2]
"""
BLOCKS = """\
- topology: other
  flat: true
- topology: blocks
  cluster_default: True
  block:
    block_sizes:
      - 2
      - 4
    blocks:
    - block: b1
      nodes: n[1-2]
    - block: b2  # the second
      nodes: n[3-4]
    - block: b3
      nodes: n[5-6]
"""
GRES = "AutoDetect=off\nNodeName=g[1-2] Name=gpu Type=a100 File=/dev/nvidia[0-3]\n"
NODES = (
    "NodeName=n6 Arch=x86_64 CPUAlloc=0 CPUEfctv=4 CPUTot=4 ActiveFeatures=amd,ib Gres=(null) OS=Linux 5.14 #1 SMP "
    "RealMemory=8000 State=DOWN*+DRAIN Partitions=batch,all Reason=bad disk [root@2026-10-01T01:00:00]\n"
)
RESERVATIONS = """\
ReservationName=maint StartTime=2026-10-01T03:00:00 EndTime=2026-10-01T04:00:00 Nodes=n[1-2] Flags=MAINT Licenses=(null)
ReservationName=course StartTime=2026-10-01T02:00:00 EndTime=2026-10-01T02:30:00 Nodes=g1 Flags= Licenses=matlab:1
"""
QOS = "Name|Flags|GrpTRES|GrpJobs|MaxJobsPU|MaxTRESPU\nnormal||||1|\nlong||cpu=4|||gres/gpu=1\n"
ASSOC = "Cluster|Account|User|Partition|ParentName|GrpJobs|GrpTRES|MaxJobs|GrpTRESMins\n"

HEAD = (
    "JobID|JobName|User|Account|Partition|QOS|State|Submit|Start|End|Timelimit|NNodes|NCPUS|ReqTRES|AllocTRES|"
    "NodeList|Constraints|Licenses|Reservation|SubmitLine"
)


def row(id, start="00:10:00", end="00:20:00", **other):
    """A record of the first of October; a time that is no clock time stands as it is."""
    at = {"Submit": other.pop("Submit", "00:00:00"), "Start": start, "End": end}
    times = {name: f"2026-10-01T{time}" if time[:1].isdigit() else time for name, time in at.items()}
    usual = dict.fromkeys(HEAD.split("|"), "") | {"User": "ann", "Account": "phys", "Partition": "all", "QOS": "none"}
    usual |= {"State": "COMPLETED", "Timelimit": "01:00:00", "NNodes": "1", "NCPUS": "4", "NodeList": "n1"}
    fields = usual | {"JobID": id} | times | other
    return "|".join(fields[name] for name in HEAD.split("|"))


@pytest.fixture
def read(tmp_path):
    """Return what reads rows of accounting and files of a site."""

    def reading(*rows, conf=CONF, head=HEAD, assoc=(), options=None, **files):
        (tmp_path / "slurm.conf").write_text(conf)
        (tmp_path / "october.txt").write_text("\n".join([head, *rows]) + "\n")
        paths = {}
        for name, text in files.items():
            paths[name] = tmp_path / (f"{name}.yaml" if text.startswith("-") else name)
            paths[name].write_text(text)
        for number, text in enumerate(assoc):
            (tmp_path / f"assoc{number}").write_text(text)
        tables = [tmp_path / f"assoc{number}" for number in range(len(assoc))]
        return coalloc.io.read_slurm(
            tmp_path / "october.txt", tmp_path / "slurm.conf", assoc=tables, **paths, **(options or {})
        )

    return reading


def fields_of(job, *names):
    return {name: getattr(job, name) for name in names}


# ------------------------------------------------------------------------------ the platform


def test_nodes_are_groups_of_clusters_below_switches(read):
    log = read(topology=TREE, gres=GRES)
    platform = log.instance.platform
    assert [(c.name, c.switch, [(g.count, g.cores, g.memory) for g in c.nodes]) for c in platform.clusters] == [
        ("s1", "row1", [(3, 4, 8000.0)]),
        ("s2", "row1", [(1, 4, 8000.0), (2, 4, 8000.0)]),
        ("s3", "row2", [(2, 8, 16000.0)]),
    ]
    assert [(s.name, s.parent, s.level) for s in platform.switches] == [
        ("row1", "top", "switch level 2"),
        ("row2", "top", "switch level 2"),
    ]
    assert dict(platform.clusters[2].nodes[0].resources) == {"gres/gpu": 4.0, "gres/gpu:a100": 4.0}
    assert dict(platform.resources) == {"license/matlab": 2.0, "license/ansys": 1.0}


def test_blocks_are_clusters_below_larger_blocks(read):
    log = read(topology=BLOCKS)
    platform = log.instance.platform
    assert [(c.name, c.switch) for c in platform.clusters] == [
        ("b1", "blocks of 4: b1"),
        ("b2", "blocks of 4: b1"),
        ("b3", "blocks of 4: b3"),
        ("unconnected", None),
    ]
    assert {s.level for s in platform.switches} == {"block size 4"}
    assert "not expressed: nodes without a switch, in a cluster of their own (2)" in log.report.sentences


def test_without_a_topology_there_is_one_cluster(read):
    (cluster,) = read().instance.platform.clusters
    assert (cluster.name, [group.count for group in cluster.nodes]) == ("cedar", [4, 2, 2])


@pytest.mark.parametrize(
    "conf",
    [
        "SelectType=select/linear\nNodeName=n[1-2] CPUs=4\nPartitionName=all Nodes=ALL\n",
        "NodeName=n[1-2] CPUs=4\nPartitionName=all Nodes=ALL OverSubscribe=EXCLUSIVE\n",
    ],
)
def test_a_site_of_whole_nodes_has_nodes_as_processors(read, conf):
    instance = read(row("1", NNodes="2", NCPUS="8"), conf=conf).instance
    assert (instance.platform.num_processors, instance.jobs[0].tasks) == (2, 2)
    assert read(row("1"), conf=conf, options={"unit": "cpus"}).instance.platform.num_processors == 8


def test_cpus_and_memory_that_the_system_keeps_are_not_there(read):
    conf = (
        "NodeName=n1 CPUs=8 ThreadsPerCore=2 CoreSpecCount=1 RealMemory=100 MemSpecLimit=40\nPartitionName=a Nodes=n1\n"
    )
    (group,) = read(conf=conf).instance.platform.clusters[0].nodes
    assert (group.cores, group.memory) == (6, 60.0)


def test_a_configuration_may_include_files_and_sets_of_nodes(read, tmp_path):
    (tmp_path / "nodes.conf").write_text("NodeName=n[1-2] Feature=big CPUs=2\nNodeName=n3 CPUs=2\n")
    conf = "Include nodes.conf\nNodeSet=large Feature=big\nPartitionName=large Nodes=large\n"
    log = read(row("1", Partition="large", NCPUS="2"), conf=conf)
    assert log.instance.jobs[0].requires == ("partition:large",)
    assert [(g.count, g.features) for g in log.instance.platform.clusters[0].nodes] == [
        (2, ("big", "partition:large")),
        (1, ()),
    ]


def test_nodes_that_are_down_are_outages_and_reservations_hold_nodes(read):
    # The clock begins with the first arrival, 0:00; the log ends at 4:00.
    log = read(row("1", end="04:00:00"), nodes=NODES, reservations=RESERVATIONS)
    windows = [(w.cluster, w.start, w.end, list(w.nodes)) for w in log.instance.platform.unavailable]
    assert windows == [
        ("cedar", 3600.0, 14400.0, ["cedar/5"]),
        ("cedar", 10800.0, 14400.0, ["cedar/0", "cedar/1"]),
    ]
    (course,) = log.instance.running
    assert (course.job.id, course.start, course.end) == ("reservation 1", 7200.0, 9000.0)
    assert list(course.nodes)[::7] == ["cedar/6.0", "cedar/6.7"]
    assert dict(course.job.resources) == {"license/matlab": 1.0}
    assert log.report.sentences[0] == "1 record read, 1 in the instance, 1 advance reservation"


@pytest.mark.parametrize("state", ["IDLE+POWERED_DOWN", "IDLE+CLOUD+POWERING_DOWN", "IDLE+POWER_DOWN"])
def test_a_node_that_saves_power_is_available(read, state):
    log = read(row("1", end="04:00:00"), nodes=NODES.replace("DOWN*+DRAIN", state))
    assert list(log.instance.platform.unavailable) == []


def test_a_node_that_is_drained_ends_its_jobs(read):
    # The node is drained since 1:00; its job ends at 1:30, the log at 2:00.
    log = read(row("1", end="02:00:00"), row("2", "00:50:00", "01:30:00", NodeList="n6"), nodes=NODES)
    assert [(w.start, w.end) for w in log.instance.platform.unavailable] == [(5400.0, 7200.0)]
    assert coalloc.check(log.instance, log.schedule) == []


def test_jobs_in_a_reservation_are_left_to_it(read):
    log = read(row("1"), row("2", Reservation="course"), reservations=RESERVATIONS)
    assert [job.id for job in log.instance.jobs] == ["1"]
    assert log.report.dropped == {"ran in a reservation, which holds its nodes itself": 1}


# ------------------------------------------------------------------------------ jobs


def test_jobs_have_what_accounting_says(read):
    tres = "billing=8,cpu=8,gres/gpu=2,mem=4000M,node=1"
    log = read(row("7", NCPUS="8", ReqTRES=tres, AllocTRES=tres, Partition="gpu", NodeList="g2", Licenses="matlab:1"))
    (job,) = log.instance.jobs
    assert fields_of(job, "id", "tasks", "arrival", "base_time", "estimate", "user", "memory", "requires") == {
        "id": "7",
        "tasks": 8,
        "arrival": 0.0,
        "base_time": 600.0,
        "estimate": 3600.0,
        "user": "user1",
        "memory": 500.0,
        "requires": ("partition:gpu",),
    }
    assert dict(job.task_resources) == {"gres/gpu": 0.25}
    assert dict(job.resources) == {"license/matlab": 1.0}
    (placement,) = log.schedule
    assert (placement.start, next(iter(placement.nodes))) == (600.0, "cedar/7.0")


@pytest.mark.parametrize(
    ("constraint", "kinds", "unmet"),
    [
        ("intel", "i", None),
        ("amd&ib", "a", None),
        ("intel|amd", "iag", None),
        ("(intel|amd)&ib", "ia", None),
        ("intel|amd&ib", "ia", None),  # from left to right
        ("[intel|amd]", "iag", "constraint [a|b] that all nodes have the same feature: any of them will do"),
        ("[intel*1&amd*2]", "iag", "constraint that a number of nodes have a feature: left out"),
        ("ib*2", "iag", "constraint that a number of nodes have a feature: left out"),
        ("intel&new", "i", "constraint on a feature that no node has: left out"),
    ],
)
def test_constraints_are_features(read, constraint, kinds, unmet):
    text = row("1", Constraints="...").replace("|", "^").replace("...", constraint)
    log = read(text, head=HEAD.replace("|", "^"))
    (job,), groups = log.instance.jobs, log.instance.platform.clusters[0].nodes
    assert "".join(k for k, group in zip("iag", groups, strict=True) if {*job.requires} <= {*group.features}) == kinds
    assert [*log.report.unexpressed][:1] == ([unmet] if unmet else ["partitions with a priority tier"])


def test_an_exclusive_job_has_its_nodes_alone(read):
    # Two jobs of 2 CPUs fit on one node of 4; if the first is exclusive they do not.
    conf = "NodeName=n1 CPUs=4\nPartitionName=all Nodes=ALL\n"
    rows = [row("1", NCPUS="2", SubmitLine="sbatch --exclusive a.sh"), row("2", NCPUS="2", SubmitLine="sbatch a.sh")]
    assert coalloc.solve(read(*rows, conf=conf).instance).objective == 1200.0
    assert coalloc.solve(read(rows[1], rows[1].replace("2|", "3|", 1), conf=conf).instance).objective == 600.0


def test_a_range_of_nodes_is_moldable(read):
    line = "sbatch -N 1-3 --exclusive=user a.sh --nodes=9"
    log = read(row("1", NNodes="2", NCPUS="8", NodeList="n[1-2]", SubmitLine=line))
    assert log.instance.jobs[0].shapes == (Shape(4, 1200.0, 3600.0), Shape(12, 400.0, 3600.0))
    assert not read(row("1", SubmitLine=line), options={"speedup": "none"}).instance.jobs[0].shapes


def test_requeued_jobs_run_again_and_running_jobs_run_until_the_end(read):
    # The second run of 1 had not ended at 02:00, when the log ends; its walltime is that of the partition.
    log = read(
        row("1", State="NODE_FAIL"),
        row("1", "00:30:00", "Unknown", State="RUNNING", Submit="00:20:00", Timelimit="UNLIMITED", Partition="batch"),
        row("2", end="02:00:00", NodeList="n2", Timelimit="03:00:00"),
    )
    assert [fields_of(job, "id", "base_time", "estimate", "after") for job in log.instance.jobs] == [
        {"id": "1 run 1", "base_time": 600.0, "estimate": 3600.0, "after": ()},
        {"id": "2", "base_time": 6600.0, "estimate": 10800.0, "after": ()},
        {"id": "1", "base_time": 5400.0, "estimate": 7200.0, "after": ("1 run 1",)},
    ]


def test_the_period_cuts_the_log(read):
    # At 1:00 job 1 has ended, 2 runs on all CPUs of n2, 3 waits; 4 arrives after 2:00.
    log = read(
        row("1"),
        row("2", "00:50:00", "01:30:00", NodeList="n2"),
        row("3", "01:10:00", "01:20:00"),
        row("4", "03:00:00", "03:10:00", Submit="02:00:00"),
        options={"after": "2026-10-01T01:00:00", "before": "2026-10-01T02:00:00"},
    )
    (running,), (waiting,) = log.instance.running, log.instance.jobs
    assert (running.job.id, running.end, next(iter(running.nodes))) == ("2", 1800.0, "cedar/1.0")
    assert (waiting.id, waiting.arrival, log.schedule["3"].start) == ("3", 0.0, 600.0)
    assert log.report.sentences[0] == "4 records read, 1 in the instance, 1 running at its beginning"
    assert log.report.dropped == {"ended before the period": 1, "arrived after the period": 1}
    assert log.report.changed == {"arrived before the period: arrival set to its beginning": 1}


def test_what_has_no_place_is_dropped_and_what_is_unknown_left_out(read):
    log = read(
        row("1", NCPUS="99"),
        row("2", NCPUS="32", Partition="batch"),
        row("3", AllocTRES="cpu=4,mem=90G,node=1"),
        row("4", Partition="gone", AllocTRES="cpu=4,gres/fpga=1,bb/x=1", Licenses="comsol:1"),
        row("5.batch"),
        row("6", "None", "Unknown", State="CANCELLED by 3"),
    )
    assert [(job.id, job.requires) for job in log.instance.jobs] == [("4", ())]
    assert log.report.dropped == {
        "job step": 1,
        "never started": 1,
        "more processors than the platform": 1,
        "more processors, memory or generic resources than its nodes have": 2,
    }
    assert log.report.unexpressed == {
        "generic resource that no node has: left out": 1,
        "license that slurm.conf does not have, or not enough of: left out": 1,
        "partition or queue that the site does not have: any node will do": 1,
        "partitions with a priority tier": 1,
        "trackable resource other than CPUs, memory, nodes, GRES and licenses: left out": 1,
    }


# ------------------------------------------------------------------------------ relations and limits


def test_dependencies_are_precedence(read):
    told = "sbatch --dependency={} a.sh"
    log = read(
        row("1"),
        row("2_1", "00:10:00", "00:15:00"),
        row("2_2", "00:10:00", "00:15:00"),
        row("3", "00:20:00", "01:00:00", SubmitLine=told.format("afterok:1:2,afterany:9")),
        row("4", "00:12:00", SubmitLine=told.format("after:1+2")),
        row("5", "00:12:00", SubmitLine="sbatch -d afterany:1"),
        row("6", "00:30:00", "01:00:00", SubmitLine=told.format("afterok:1?afterok:2_1")),
        row("7", "00:30:00", "01:00:00", SubmitLine=told.format("expand:1")),
        row("8_2", "00:30:00", "01:00:00", SubmitLine=told.format("aftercorr:2")),
    )
    jobs = log.instance.job_by_id
    assert {id: jobs[id].after for id in jobs if jobs[id].after} == {"3": ("1", "2_1", "2_2"), "8_2": ("2_2",)}
    assert jobs["4"].lags == (Lag("1", "start", 120.0),)
    assert {what: log.report.unexpressed[what] for what in log.report.unexpressed if what.startswith("dep")} == {
        "dependencies of which any one suffices (?): left out": 1,
        "dependency of another type, or not readable: left out": 1,
        "dependency on a job outside the log: left out": 1,
        "dependency that the log contradicts: left out": 1,
    }


def test_a_singleton_waits_for_the_jobs_of_its_name_and_user(read):
    single = "sbatch --dependency=singleton a.sh"
    log = read(
        row("1", JobName="x"),
        row("2", JobName="x", Submit="00:01:00"),
        row("3", "00:20:00", "00:30:00", JobName="x", Submit="00:02:00", SubmitLine=single),
        row("4", "00:30:00", "00:40:00", JobName="x", Submit="00:03:00", SubmitLine=single),
        row("5", JobName="x", User="bob", Submit="00:04:00"),
    )
    assert [job.after for job in log.instance.jobs] == [(), (), ("1", "2"), ("3",), ()]


def test_components_of_a_heterogeneous_job_start_together(read):
    line = "sbatch -N 1 : -N 1-2 a.sh"
    log = read(
        row("1+0", SubmitLine=line), row("1+1", NodeList="n2", SubmitLine=line), row("2+0"), row("2+1", "00:11:00")
    )
    assert [job.lags for job in log.instance.jobs] == [(), (Lag("1+0", "start", 0.0, 0.0),), (), ()]
    run = coalloc.simulate(log.instance, "easy")
    assert run.schedule["1+0"].start == run.schedule["1+1"].start
    assert log.report.unexpressed["components of heterogeneous jobs with different starts: independent"] == 2


def test_a_throttled_array_is_a_limit(read):
    line = "sbatch --array=1-3%2 a.sh"
    rows = [row(f"5_{k}", SubmitLine=line, NodeList=f"n{k}") for k in (1, 2, 3)]
    limit = Limit("array 5", ["5_1", "5_2", "5_3"], 2.0)
    assert read(*rows).instance.limits == (limit,)
    waiting = row("5_[4-9%2]", "Unknown", "Unknown", State="PENDING")
    assert read(*(text.replace("%2", "") for text in rows), waiting).instance.limits == (limit,)


def test_limits_of_qos_and_associations(read):
    # GrpJobs and GrpTRES of phys are for its child account, too, but what a QOS limits is not limited again: GrpTRES of
    # QOS long comes before that of phys. MaxJobs of an account is of each of its users.
    assoc = ASSOC + "c|phys|||root|3|cpu=10||\nc|sub|||phys||||5\nc|sub|bob||||||\nc|ai|||root|||1|\n"
    rows = [row("1", QOS="normal"), row("2", QOS="normal"), row("3", Account="sub"), row("4", Account="ai", User="bob")]
    rows += [row("5", Account="ai", User="bob"), row("6", QOS="long", NCPUS="2"), row("7", QOS="long", NCPUS="3")]
    rows += [row("8", QOS="long", NCPUS="5")]
    log = read(*rows, assoc=[QOS, assoc])
    assert {limit.name: (limit.jobs, limit.capacity, limit.amounts) for limit in log.instance.limits} == {
        "QOS normal of user1: MaxJobsPU": (("1", "2"), 1.0, ()),
        "account1: GrpTRES cpu": (("1", "2", "3"), 10.0, (4.0, 4.0, 4.0)),
        "account1: GrpJobs": (("1", "2", "3", "6", "7", "8"), 3.0, ()),
        "user2 in account2: MaxJobs": (("4", "5"), 1.0, ()),
        "QOS long: GrpTRES cpu": (("6", "7"), 4.0, (2.0, 3.0)),
    }
    assert log.report.unexpressed["limits GrpTRESMins"] == 1
    assert log.report.unexpressed["limits on jobs that alone exceed them"] == 1


def test_the_qos_of_a_partition_comes_first_unless_that_of_the_job_says_otherwise(read):
    conf = CONF.replace("PartitionName=all", "PartitionName=all QOS=part")
    rows = [row("1", QOS="mine"), row("2", QOS="mine"), row("3", QOS="mine")]
    tables = "Name|Flags|GrpJobs|MaxJobsPU\npart||1|\nmine|{}|2|2\n"
    names = [
        [limit.name for limit in read(*rows, conf=conf, assoc=[tables.format(flags)]).instance.limits]
        for flags in ("", "DenyOnLimit,OverPartQOS")
    ]
    assert names == [
        ["QOS part: GrpJobs", "QOS mine of user1: MaxJobsPU"],
        ["QOS mine: GrpJobs", "QOS mine of user1: MaxJobsPU"],
    ]


def test_names_of_persons_stay_out_unless_asked_for(read, tmp_path):
    assoc = ASSOC + "c|phys|||root|1||1|\n"
    for options, known in (({}, False), ({"names": "keep"}, True)):
        log = read(row("1"), row("2"), assoc=[assoc], reservations=RESERVATIONS, options=options)
        coalloc.write_instance(log.instance, tmp_path / "i.json")
        text = (tmp_path / "i.json").read_text()
        assert [name in text for name in ("ann", "phys", "course")] == [known] * 3


# ------------------------------------------------------------------------------ as a whole


def test_the_instance_can_be_simulated_solved_and_checked(read, tmp_path):
    tres = "cpu=4,mem=2G,node=1"
    log = read(
        row("1", AllocTRES=tres),
        row("2", AllocTRES=tres, NodeList="n2", Submit="00:05:00"),
        row("3", "00:20:00", "00:50:00", AllocTRES=tres, SubmitLine="sbatch -d afterok:1 a.sh"),
        topology=TREE,
        gres=GRES,
        reservations=RESERVATIONS,
        assoc=[QOS],
    )
    assert coalloc.check(log.instance, log.schedule) == []
    assert len(coalloc.simulate(log.instance, "easy").schedule) == 3
    assert coalloc.solve(log.instance, time_limit=20.0).status == "optimal"
    coalloc.write_instance(log.instance, tmp_path / "i.json")
    assert coalloc.read_instance(tmp_path / "i.json") == log.instance


@pytest.mark.parametrize("seed", range(12))
def test_a_log_that_keeps_the_rules_of_its_site_is_a_valid_schedule(read, seed):
    # Each job takes so many CPUs on each of some nodes, in the order of submission, from when they are free and what it
    # waits for has ended.
    rng, rows, held, ends = random.Random(seed), [], dict[str, list[tuple[int, int]]](), dict[str, int]()
    cpus = {"n": 4, "g": 8}
    for number in range(12):
        names = rng.sample(["n1", "n2", "n3", "n4", "n5", "n6"], rng.randint(1, 3)) if number % 3 else ["g1"]
        each, run, other = rng.randint(1, cpus[names[0][0]]), rng.randint(1, 50), rng.choice([*ends, ""])
        is_exclusive = rng.random() < 0.2
        each = cpus[names[0][0]] if is_exclusive else each
        start = max([10 * number, ends.get(other, 0)])
        while any(s < start + run and start < e for name in names for s, e in held.get(name, [])):
            start += 1  # alone on its nodes, so that all of its CPUs are free
        for name in names:
            held.setdefault(name, []).append((start, start + run))
        ends[str(number)] = start + run
        tres = f"cpu={each * len(names)},mem={each * len(names) * 500}M,node={len(names)}"
        line = "sbatch" + " --exclusive" * is_exclusive + f" -d afterok:{other}" * bool(other) + " a.sh"
        times = {"Submit": clock(10 * number), "start": clock(start), "end": clock(start + run)}
        more = {"NodeList": ",".join(names), "NCPUS": str(each * len(names)), "AllocTRES": tres, "SubmitLine": line}
        rows.append(row(str(number), NNodes=str(len(names)), **times, **more))
    log = read(*rows, topology=TREE)
    assert len(log.schedule) == len(rows)
    assert coalloc.check(log.instance, log.schedule) == []


def clock(seconds):
    """Return a time of the day."""
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def test_fields_that_an_export_lacks_are_named(read):
    head = "JobID|Submit|Start|End|NCPUS"
    log = read("1|2026-10-01T00:00:00|2026-10-01T00:01:00|2026-10-01T00:02:00|2", head=head)
    assert (
        "not in the export: AllocTRES, NodeList, NNodes, Partition, Account, QOS, User, JobName, Constraints, "
        "Licenses, Reservation, SubmitLine"
    ) in log.report.sentences
    assert len(log.schedule) == 0


def test_a_report_is_a_value(read):
    report = read(row("1")).report
    assert (report.num_records, report.num_jobs, dataclasses.replace(report, num_jobs=2).num_jobs) == (1, 1, 2)


# ------------------------------------------------------------------------------ values


def test_hostlists():
    assert hosts("", "n[001-003,7],login,r[1-2]c[1-2]") == (
        *("n001", "n002", "n003", "n7", "login"),
        *("r1c1", "r1c2", "r2c1", "r2c2"),
    )
    for text in ("n[1-", "n]1[", "n[a-b]", "n[3-1]", "n[1-9999999]", "n[[1]]", "n[1][1-999999999999]"):
        with pytest.raises(FieldError):
            hosts("Nodes", text)


def test_amounts_and_times():
    assert resources("", "billing=3,cpu=8,mem=16G,gres/gpu:a100=2,energy=1,fs/disk=2") == {
        "cpu": 8.0,
        "mem": 16384.0,
        "gres/gpu:a100": 2.0,
    }
    assert generic_resources("", "gpu:a100:4(S:0-1),gpu:v100:2,lustre:no_consume:4K,shard") == {
        "gres/gpu": 6.0,
        "gres/gpu:a100": 4.0,
        "gres/gpu:v100": 2.0,
        "gres/shard": 1.0,
    }
    times = {"90": 5400.0, "1:30": 90.0, "1:00:00": 3600.0, "1-12": 129600.0, "1-0:30": 88200.0, "UNLIMITED": None}
    assert {text: walltime("", text) for text in times} == times


def test_options_end_with_the_script_and_components_with_a_colon():
    assert submitted("srun -n4 --array 1-9%3 -N2-4 prog -d singleton").nodes == (2, 4)
    assert submitted("srun --exclusive -d singleton prog").dependency == "singleton"
    assert submitted("sbatch -N1-2 : -N3-4 : --exclusive a.sh", 1).nodes == (3, 4)
    assert submitted('sbatch --wrap "a -N 1-2" --switches=1').unexpressed == (
        "a maximum of leaf switches (--switches)",
    )


def test_lines_continue_and_end_in_comments(tmp_path):
    path = tmp_path / "a.conf"
    path.write_text('A=1 B="two words" \\\n  # nothing\n c = 3 # no\n\nD=\n')
    faults = Faults()
    assert [(line.number, line.pairs) for line in conf_lines(str(path), faults)] == [
        (1, {"a": "1", "b": "two words"}),
        (3, {"c": "3"}),
        (5, {"d": ""}),
    ]


# ------------------------------------------------------------------------------ errors

NODE, PART = "NodeName=n1 CPUs=4\n", "PartitionName=p Nodes=n1\n"
TIMES = "StartTime=2026-10-01T03:00:00 EndTime=2026-10-01T04:00:00"
SHOWN = "NodeName=n1 CPUTot=4 RealMemory=1"
COLUMNS = "must have the columns of sacctmgr show assoc (Account, User), sacctmgr show qos (Name) or sshare, got"
HOSTS = "must be a list of nodes such as n[001-128,200], got"
AMOUNT = "must be an amount such as 16 or 4G, got"
DURATION = "must be a duration such as 1-12:00:00, got"
TIME = "must be a time such as 2026-10-01T12:00:00, got"
LISTED = "must be a list such as cpu=8,mem=16G,gres/gpu=1, got"
GENERIC = "must be a list such as gpu:a100:4,gpu:v100:2, got"
MALFORMED = [
    ("slurm.conf", "", "line 1: must be the first line of a slurm.conf with NodeName lines, but no line has one"),
    ("slurm.conf", NODE + "what", "line 2: must consist of pairs Key=Value, got 'what'"),
    ("slurm.conf", NODE + "A=1 what B=2", "line 2: must consist of pairs Key=Value, got 'what B=2'"),
    ("slurm.conf", NODE + "=3", "line 2: must consist of pairs Key=Value, got '=3'"),
    ("slurm.conf", "NodeName=n[1- CPUs=4", f"line 1: nodename {HOSTS} 'n[1-'"),
    ("slurm.conf", "NodeName= CPUs=4", f"line 1: nodename {HOSTS} ''"),
    ("slurm.conf", "NodeName=n1 CPUs=many", "line 1: cpus must be an integer, got 'many'"),
    ("slurm.conf", "NodeName=n1 Sockets=-2", "line 1: sockets must be an integer, got '-2'"),
    ("slurm.conf", "NodeName=n1 CPUs=2 CoreSpecCount=2", "line 1: must leave at least one of 2 CPUs to jobs"),
    ("slurm.conf", "NodeName=n1 RealMemory=lots", f"line 1: RealMemory {AMOUNT} 'lots'"),
    ("slurm.conf", "NodeName=n1 Gres=:4", f"line 1: Gres {GENERIC} ':4'"),
    ("slurm.conf", "NodeName=n1 Gres=a:b:c:4", f"line 1: Gres {GENERIC} 'a:b:c:4'"),
    ("slurm.conf", NODE + NODE, "line 2: NodeName must not repeat node 'n1'"),
    ("slurm.conf", NODE + "PartitionName=p Nodes=n2", "line 2: Nodes must be nodes of a NodeName line, got 'n2'"),
    ("slurm.conf", NODE + "PartitionName=p,q Nodes=n1", "line 2: PartitionName must be one name, got 'p,q'"),
    ("slurm.conf", NODE + "PartitionName=p Nodes=n1 MaxTime=soon", f"line 2: MaxTime {DURATION} 'soon'"),
    ("slurm.conf", NODE + "NodeSet=s Nodes=x", "line 2: Nodes must be nodes of a NodeName line, got 'x'"),
    ("slurm.conf", NODE + "Licenses=a:b", f"line 2: Licenses {AMOUNT} 'b'"),
    ("slurm.conf", NODE + "DownNodes=[", f"line 2: downnodes {HOSTS} '['"),
    (
        "slurm.conf",
        "NodeName=n1 Feature=a\x07",
        "line 1: feature must be without control or format characters, got 'a\\x07'",
    ),
    ("gres", "Name=gpu Count=x", f"line 1: Count {AMOUNT} 'x'"),
    ("gres", "NodeName=n1 Type=a100", "line 1: must have Name= or AutoDetect="),
    ("gres", "NodeName=n[ Name=gpu", f"line 1: nodename {HOSTS} 'n['"),
    ("topology", "Switch=s1", "line 1: must begin with SwitchName=, BlockName= or BlockSizes=, got 'switch'"),
    ("topology", "SwitchName=s1", "line 1: 's1' must have either Nodes= or Switches="),
    ("topology", "SwitchName= Nodes=n1", "line 1: SwitchName must be a name of its own, got ''"),
    ("topology", "BlockName=b Nodes=n1\nBlockName=b Nodes=n2", "line 2: BlockName must be a name of its own, got 'b'"),
    (
        "topology",
        "SwitchName=a Nodes=n1\nSwitchName=b Nodes=n1",
        "line 2: node 'n1' must be in one switch or block, is also in 'a'",
    ),
    (
        "topology",
        "SwitchName=a Nodes=n1\nSwitchName=b Switches=c",
        "line 2: Switches of 'b' must be switches of the file, got 'c'",
    ),
    (
        "topology",
        "SwitchName=a Nodes=n1\nSwitchName=b Switches=a\nSwitchName=c Switches=a",
        "line 3: switch 'a' must be below one switch, not two",
    ),
    (
        "topology",
        "SwitchName=b Switches=c\nSwitchName=c Switches=b",
        "line 2: switches must be a tree, but 'b' is below itself",
    ),
    ("topology", "BlockName=b Nodes=n1\nBlockSizes=1,x", "line 2: BlockSizes must be an integer, got 'x'"),
    ("topology", "-what", "line 1: must be an entry 'key: value' or '- value', got '-what'"),
    ("topology", "- block: b1", "line 1: must begin with '- topology: NAME'"),
    ("topology", "- topology: t\n  shape: star", "line 2: must be an entry of a topology, got 'shape'"),
    (
        "topology",
        "- topology: t\n  tree:\n    switches:\n    - switch: s",
        "line 4: 's' must have either Nodes= or Switches=",
    ),
    ("nodes", "n1 up", "line 1: must begin with NodeName=, as scontrol show node -o prints it, got 'n1 up'"),
    ("nodes", "NodeName=n1 CPUTot=0", "line 1: CPUTot must be at least 1, got '0'"),
    ("nodes", "NodeName=n1 CPUTot=x", "line 1: CPUEfctv must be an integer, got 'x'"),
    ("nodes", SHOWN + " State=DOWN Reason=x [a@2026-99-01T00:00:00]", f"line 1: Reason {TIME} '2026-99-01T00:00:00'"),
    (
        "reservations",
        "Name=r",
        "line 1: must begin with ReservationName=, as scontrol show reservation -o prints it, got 'Name=r'",
    ),
    ("reservations", "ReservationName=r StartTime=now", f"line 1: StartTime {TIME} 'now'"),
    ("reservations", "ReservationName=r StartTime=2026-10-01T03:00:00", "line 1: EndTime must be after StartTime"),
    ("reservations", f"ReservationName=r {TIMES} Nodes=n9", "line 1: Nodes must be nodes of slurm.conf, got 'n9'"),
    (
        "assoc",
        "what",
        "line 1: must name the columns (Account|User|...), as sacctmgr --parsable2 prints them, got 'what'",
    ),
    (
        "assoc",
        "A|B\n1|2",
        f"line 1: {COLUMNS} 'a|b'",
    ),
    ("assoc", "Name|GrpJobs\nq|1|2", "line 2: must have 2 columns, as in the first line, got 3"),
    ("assoc", "Name|GrpJobs\nq|many", "line 2: GrpJobs must be an integer, got 'many'"),
    ("assoc", "Name|GrpTRES\nq|cpu", f"line 2: GrpTRES {LISTED} 'cpu'"),
    ("assoc", "Account|User|MaxJobs\n|ann|1", "line 2: Account must not be empty"),
    ("october.txt", row("1", AllocTRES="cpu"), f"line 2: AllocTRES {LISTED} 'cpu'"),
    (
        "october.txt",
        row("1", Constraints="a&"),
        "line 2: Constraints must be features with & | ( ) [ ] *, such as intel&ib, got 'a&'",
    ),
    ("october.txt", row("1", NNodes="x"), "line 2: NNodes must be an integer, got 'x'"),
    ("october.txt", row("1", Licenses="a:b"), f"line 2: Licenses {AMOUNT} 'b'"),
    (
        "october.txt",
        row("one"),
        "line 2: JobID must be the number of a job (7), an array task (7_1) or a step (7.0), got 'one'",
    ),
]
REMEDY = ' (broken="drop" or --broken drop skips malformed lines)'


@pytest.mark.parametrize(("file", "text", "sentence"), MALFORMED)
def test_a_malformed_file_is_one_line(read, tmp_path, file, text, sentence):
    rows = [text] if file == "october.txt" else []
    files = {file: text} if file in ("gres", "topology", "nodes", "reservations") else {}
    with pytest.raises(InstanceError) as caught:
        read(*rows, conf=text if file == "slurm.conf" else NODE + PART, assoc=[text] * (file == "assoc"), **files)
    name = {"assoc": "assoc0", "topology": "topology.yaml" if text.startswith("-") else "topology"}.get(file, file)
    assert str(caught.value) == f"{tmp_path / name}: {sentence}{REMEDY * (file == 'october.txt')}"


def test_a_broken_line_of_accounting_may_be_dropped(read):
    broken = [row("2", Constraints="("), row("3", start="x"), row("4", NNodes="x"), row("5", Licenses="a:b")]
    log = read(*broken, row("1"), options={"broken": "drop"})
    assert [(job.id, job.base_time) for job in log.instance.jobs] == [("1", 600.0)]
    assert "4 malformed lines skipped" in log.report.sentences


def test_a_period_must_be_of_times(read):
    with pytest.raises(CoallocError, match="after must be a time such as 2026-10-01T12:00:00, got 'monday'"):
        read(row("1"), options={"after": "monday"})
    with pytest.raises(CoallocError, match="must begin before it ends, got after 2026-10-02 and before 2026-10-01"):
        read(row("1"), options={"after": "2026-10-02", "before": "2026-10-01"})
