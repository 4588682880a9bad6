"""The commands that make instances: ``generate``, ``convert``, ``examples``; and ``schema``."""

import gzip
import json

import jsonschema
import pytest

import coalloc
from coalloc import read_instance
from coalloc.workloads.generators import generators
from tests.cli.running import TINY, run, write

TRACE = """\
; MaxProcs: 4
1 0 -1 100 2 -1 -1 2 200 -1 1 7 -1 -1 -1 -1 -1 -1
2 10 -1 -1 1 -1 -1 1 60 -1 1 7 -1 -1 -1 -1 -1 -1
3 20 -1 90 9 -1 -1 9 90 -1 1 8 -1 -1 -1 -1 -1 -1
4 30 -1 80 -1 -1 -1 3 60 -1 1 9 -1 -1 -1 -1 -1 -1
"""
"""Job 2 has no run time; job 3 is larger than four processors; job 4 asks for 3 and is cut to 60 s."""

PLATFORM = {
    "format": "coalloc-platform",
    "version": 1,
    "clusters": [{"name": name, "link_bandwidth": 100.0, "nodes": [{"count": 2, "power": 1.0}]} for name in "AB"],
}


def test_generate_draws_what_the_function_draws(tmp_path):
    path = tmp_path / "wl.json"
    made = run("generate", "thesis-oas", "--seed", 3, "-p", "jobs=5", "-p", "share_low=0.6", "-o", path)
    assert (made.exit_code, made.stdout) == (0, "")
    assert made.stderr == f"{path}: 5 jobs; clusters of 4, 4, 4 processors\n"
    assert read_instance(path) == coalloc.generate("thesis-oas", seed=3, jobs=5, share_low=0.6)


def test_generate_prints_the_file_where_none_is_named(tmp_path):
    path = tmp_path / "wl.json"
    printed = run("generate", "paper-oas", "--seed", 3)
    run("generate", "paper-oas", "--seed", 3, "-o", path)
    assert printed.stdout == path.read_text()


def test_a_parameter_may_be_a_text():
    printed = run("generate", "perfect-packing", "-p", "cuts=pinwheel", "-p", "jobs=5")
    assert printed.exit_code == 0
    assert len(json.loads(printed.stdout)["jobs"]) == 5


def test_generate_lists_generators_with_parameters():
    listed = run("generate", "--list").stdout
    for name, description in generators().items():
        assert f"{name}: " in listed
        assert all(f"  {parameter} " in listed for parameter in description.parameters)


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["nothing"], "coalloc: unknown generator 'nothing'; available: cisne, feitelson96, lublin, paper-oas"),
        (
            ["thesis-oas", "-p", "job=3"],
            "coalloc: job: is not a known key (did you mean jobs?); known keys: jobs, clusters, nodes, ",
        ),
        (["thesis-oas", "-p", "jobs=0"], "coalloc: jobs: must be at least 1, got 0"),
        (["thesis-oas", "-p", "jobs=true"], "coalloc: jobs: must be an integer, got true"),
        (["thesis-oas", "-p", "mean_base_time=NaN"], "coalloc: mean_base_time: must be "),
        (["thesis-oas", "-p", "jobs"], "coalloc: invalid value for --parameter: must be KEY=VALUE, got 'jobs'"),
        (["thesis-oas", "-p", "jobs=3", "-p", "jobs=4"], "coalloc: invalid value for --parameter: jobs is given twice"),
        (["thesis-oas", "-p", f"jobs={'[' * 100_000}"], "coalloc: jobs: must be an integer, got '[["),
        (["thesis-oas", "--seed", "-1"], "coalloc: seed: must be an integer of at least 0, got -1"),
        ([], "coalloc: invalid value for NAME: give a generator, or --list to list all"),
    ],
)
def test_what_cannot_be_generated(tmp_path, arguments, line):
    output = write(tmp_path / "mine.json", "mine")
    refused = run("generate", *arguments, "-o", output)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr.startswith(line)
    assert output.read_text() == "mine"


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "trace.swf.gz"
    path.write_bytes(gzip.compress(TRACE.encode()))
    return path


@pytest.fixture
def platform(tmp_path):
    return write(tmp_path / "platform.json", PLATFORM)


def test_convert_makes_an_instance_of_a_slice_and_says_what_it_changed(trace, platform, tmp_path):
    output = tmp_path / "wl.json"
    arguments = ["convert", "--from", "swf", trace, "--slice", "0:2", "--platform", platform, "--seed", 1]
    made = run(*arguments, "-o", output)
    assert made.exit_code == 0
    assert made.stderr.splitlines() == [
        f"{output}: 2 jobs; clusters of 2, 2 processors",
        f"{trace}: 4 jobs read, 2 in the instance",
        f"{trace}: 1 job dropped: run time not above 0",
        f"{trace}: 1 job dropped: more processors than the platform",
        f"{trace}: 1 job changed: no processors allocated, requested processors used",
        f"{trace}: 1 job changed: run time cut to the requested walltime",
    ]
    instance = read_instance(output)
    assert [(job.id, job.tasks, job.base_time) for job in instance.jobs] == [("1", 2, 100.0), ("4", 3, 60.0)]
    assert all(0.5 <= job.processing_share <= 0.9 for job in instance.jobs)
    assert run("solve", output, "--slot", "25%", "-q").exit_code == 0
    quiet = run(*arguments, "--quiet", "--communication", "none")
    assert quiet.stderr == ""
    assert [job["processing_share"] for job in json.loads(quiet.stdout)["jobs"]] == [1.0, 1.0]


def test_convert_mends_what_it_is_asked_to(trace, platform):
    options = ["--invalid", "one-second", "--oversize", "clip", "--name", "all"]
    made = json.loads(run("convert", "--from", "swf", trace, "--platform", platform, *options, "-q").stdout)
    assert made["name"] == "all"
    assert [(job["id"], job["tasks"], job["base_time"]) for job in made["jobs"]] == [
        ("1", 2, 100.0),
        ("2", 1, 1.0),
        ("3", 4, 90.0),
        ("4", 3, 60.0),
    ]


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--slice", "0:9"], "{trace}: slice: must be within the 2 valid jobs of the trace, got '0:9'"),
        (["--slice", "one"], "coalloc: slice: must be a range such as '100:108', got 'one'"),
        (["--invalid", "keep"], "coalloc: invalid: must be 'drop' or 'one-second', got 'keep'"),
        (
            ["--from", "gwf"],
            "coalloc: invalid value for --from: must be one of instance, swf, sacct, irmasim, got 'gwf'",
        ),
        (["--to", "csv"], "coalloc: invalid value for --to: must be one of instance, swf, got 'csv'"),
        (
            ["--from", "instance"],
            "coalloc: invalid value for --from: must name the format of the trace (--from swf, sacct",
        ),
        (
            ["--from", "instance", "--to", "swf"],
            "coalloc: invalid value for --platform: requires a trace; an instance contains its platform",
        ),
        (["--schedule", "{trace}"], "coalloc: invalid value for --schedule: requires an instance file and --to swf"),
        (["--platform", "{trace}"], "{trace}: is not JSON: "),
        (["-o", "{trace}"], "coalloc: --output: {trace} cannot be written: it is an input"),
    ],
)
def test_what_cannot_be_converted(trace, platform, options, line):
    options = [option.format(trace=trace) for option in options]
    refused = run("convert", trace, "--from", "swf", "--platform", platform, *options)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr.startswith(line.format(trace=trace))
    assert refused.stderr.count("\n") == 1
    assert gzip.decompress(trace.read_bytes()).decode() == TRACE


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ([], "a trace requires --processors N or --platform FILE;"),
        (
            ["--platform", "p.json", "--processors", 4],
            "a trace requires either --processors N or --platform FILE, got both;",
        ),
    ],
)
def test_a_trace_needs_one_platform(tmp_path, options, sentence):
    silent = write(tmp_path / "silent.swf", TRACE.replace("; MaxProcs: 4", "; Version: 2.2"))
    refused = run("convert", "--from", "swf", silent, *options)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert sentence in refused.stderr


def test_a_trace_may_run_on_one_pool(trace, tmp_path):
    output = tmp_path / "pool.json"
    assert run("convert", "--from", "swf", trace, "--processors", 9, "-o", output, "-q").exit_code == 0
    instance = read_instance(output)
    assert [cluster.num_processors for cluster in instance.platform.clusters] == [9]
    assert [job.id for job in instance.jobs] == ["1", "3", "4"]


@pytest.fixture
def irmasim(tmp_path):
    """Return a platform file of one node of two cores at 2 GHz, and a workload file of one job."""
    processor = {"cores": 2, "clock_rate": 2, "static_power": 4, "dynamic_power": 3, "min_power": 0.25}
    platform = {
        "platform": {"p": {"clusters": [{"id": "C1", "nodes": [{"type": "n"}]}]}},
        "node": {"n": {"processors": [{"type": "q"}]}},
        "processor": {"q": processor},
    }
    job = {"id": 7, "subtime": 9, "ntasks": 2, "req_ops": 6e9, "ipc": 1, "req_time": 4, "req_energy": 5}
    return write(tmp_path / "platform.json", platform), write(tmp_path / "workload.json", {"jobs": [job]})


def test_files_of_irmasim_become_an_instance(irmasim, tmp_path):
    platform, workload = irmasim
    output = tmp_path / "pcbe.json"
    made = run("convert", "--from", "irmasim", workload, "--platform", platform, "-o", output, "--name", "one")
    assert (made.exit_code, made.stderr) == (0, f"{output}: 1 job; one cluster of 2 processors\n")
    instance = read_instance(output)
    assert (instance.name, instance.jobs[0].id, instance.jobs[0].base_time) == ("one", "7", 3.0)
    assert run("simulate", output, "--policy", "pcbe", "-p", "criterion=edp").exit_code == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ([], "--platform: an IRMaSim workload requires an IRMaSim platform file"),
        (["--processors", 2], "--platform: an IRMaSim workload requires an IRMaSim platform file"),
        (["--platform", "{platform}", "--slice", "0:1"], "--slice: requires --from swf"),
        (["--platform", "{workload}"], "{workload}: platform: is missing"),
    ],
)
def test_what_cannot_be_converted_from_irmasim(irmasim, options, words):
    platform, workload = irmasim
    options = [str(option).format(platform=platform, workload=workload) for option in options]
    refused = run("convert", "--from", "irmasim", workload, *options)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert words.format(workload=workload) in refused.stderr


def test_an_instance_and_its_schedule_become_a_trace(tmp_path):
    tiny, schedule, output = write(tmp_path / "tiny.json", TINY), tmp_path / "s.json", tmp_path / "tiny.swf.gz"
    assert run("solve", tiny, "-o", schedule, "-q").exit_code == 0
    made = run("convert", tiny, "--to", "swf", "--schedule", schedule, "-o", output)
    assert (made.exit_code, made.stdout) == (0, "")
    assert made.stderr.splitlines() == [
        f"{output}: 3 jobs written",
        f"{output}: 3 jobs renumbered from 1 by arrival, because not all ids are integers",
        f"{output}: 3 jobs without node names",
    ]
    rows = [line.split() for line in gzip.decompress(output.read_bytes()).decode().splitlines() if line[0] != ";"]
    # J1 takes both nodes for 100 s, J2 one for 100 s, J3 one for 50 s: run time, processors, status 1.
    assert [(row[3], row[4], row[10]) for row in rows] == [("100", "2", "1"), ("100", "1", "1"), ("50", "1", "1")]
    assert max(float(row[2]) + float(row[3]) for row in rows) == 200.0


def test_a_slice_of_a_trace_is_printed_as_a_trace(trace, platform):
    printed = run("convert", "--from", "swf", trace, "--slice", "1:2", "--platform", platform, "--to", "swf", "-q")
    assert (printed.exit_code, printed.stderr) == (0, "")
    assert printed.stdout.splitlines()[-1] == "4 0 -1 60 3 -1 -1 3 60 -1 1 9 -1 -1 -1 -1 -1 -1"


def test_examples_are_listed_and_written(tmp_path):
    listed = run("examples").stdout.splitlines()
    assert [line.split()[0] for line in listed] == [*coalloc.examples(), *coalloc.grid.platforms()]
    assert "thesis-oas-1         8 jobs; clusters of 4, 4, 4 processors" in listed
    path = tmp_path / "wl.json.gz"
    assert run("examples", "thesis-oas-1", "-o", path).exit_code == 0
    assert read_instance(path) == coalloc.example("thesis-oas-1")


def test_platforms_are_listed_and_written_among_the_examples(tmp_path):
    assert "grid2                platform; clusters of 64, 64, 64, 64, 100, 144, 240, 430, 1024 processors" in (
        run("examples").stdout.splitlines()
    )
    path = tmp_path / "grid.json"
    written = run("examples", "grid1", "-o", path)
    assert written.exit_code == 0
    assert written.stderr == f"{path}: clusters of 100, 128, 240, 430, 1024, 1152, 1368 processors\n"
    assert coalloc.io.read_platform(path) == coalloc.grid.platform("grid1")
    printed = json.loads(run("examples", "grid2", "--speeds", "processor").stdout)
    assert (printed["format"], len(printed["clusters"])) == ("coalloc-platform", 9)
    assert printed["clusters"][8]["nodes"][0]["power"] == 1.0  # LANL has the slowest processors


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["grid1", "--speeds", "core"], "speeds: must be 'site', 'processor' or 'origin', got 'core'"),
        (["pcbe-8", "--speeds", "site"], "requires a platform: grid1, grid2"),
        (["--speeds", "site"], "give the example to write"),
    ],
)
def test_speeds_are_those_of_a_platform(arguments, words):
    refused = run("examples", *arguments)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert words in refused.stderr


def test_a_bundled_platform_stands_where_a_file_could(trace):
    for name, clusters in (("grid1", 7), ("thesis-oas-1", 3)):
        made = run("convert", "--from", "swf", trace, "--platform", f"example:{name}", "-q")
        assert len(json.loads(made.stdout)["platform"]["clusters"]) == clusters
    refused = run("convert", "--from", "swf", trace, "--platform", "example:grid3")
    assert (refused.exit_code, refused.stderr.partition(";")[0]) == (2, "coalloc: unknown example 'grid3'")


def test_an_example_that_there_is_not(tmp_path):
    refused = run("examples", "[/b]")
    assert refused.exit_code == 2
    assert refused.stderr.startswith("coalloc: unknown example '[/b]'; available: ")
    assert run("examples", "-o", tmp_path / "x.json").exit_code == 2


@pytest.mark.parametrize("kind", ["instance", "platform", "schedule", "result"])
def test_a_schema_accepts_what_the_commands_write(kind, tmp_path):
    tiny = write(tmp_path / "instance.json", TINY)
    write(tmp_path / "platform.json", PLATFORM)
    run("solve", tiny, "--slot", 50, "-o", tmp_path / "schedule.json", "--result", tmp_path / "result.json")
    validator = jsonschema.Draft202012Validator(json.loads(run("schema", kind).stdout))
    for name in ("instance", "platform", "schedule", "result"):
        assert validator.is_valid(json.loads((tmp_path / f"{name}.json").read_text())) == (name == kind)


def test_a_parameter_of_a_generator_as_an_option_names_the_remedy():
    refused = run("generate", "thesis-oas", "--jobs", 5)
    assert refused.exit_code == 2
    (line,) = refused.stderr.splitlines()
    assert "--jobs; to set a parameter of a generator, use -p jobs=VALUE; see" in line


BROKEN = """; UnixStartTime: 1000000
; TimeZone: 3600
; MaxProcs: 16
1 0 0 100 4 -1 -1 4 200 -1 1 1 7 -1 2 -1 -1 -1
2 10 90 50 2 -1 -1 2 60 -1 1 1 -1 -1 -1 -1 1 5
abc 0 0 100 4
3 20 5 50 2 -1 -1 2 -1 -1 5 -1 -1 -1 -1 -1 9 5
"""
"""Line 6 is broken; job 3 follows a job that is not there, and asks for no time."""


def test_a_trace_without_its_broken_lines_says_what_it_said(tmp_path):
    path = write(tmp_path / "t.swf", BROKEN)
    assert "skips malformed lines" in run("convert", "--from", "swf", "--to", "swf", path).stderr
    result = run("convert", "--from", "swf", "--to", "swf", path, "--broken", "drop")
    lines = result.stdout.splitlines()
    assert [line for line in lines if not line.startswith(";")] == [
        "1 0 0 100 4 -1 -1 4 200 -1 1 1 7 -1 2 -1 -1 -1",
        "2 10 90 50 2 -1 -1 2 60 -1 1 1 -1 -1 -1 -1 1 5",
        "3 20 5 50 2 -1 -1 2 50 -1 5 -1 -1 -1 -1 -1 -1 -1",
    ]
    assert {"; UnixStartTime: 1000000", "; TimeZone: 3600", "; MaxProcs: 16"} <= set(lines)
    assert f"{path}: one cluster of 16 processors, from the header (MaxProcs)" in result.stderr


def test_a_slice_of_a_trace_begins_later(tmp_path):
    path = write(tmp_path / "t.swf", BROKEN)
    result = run("convert", "--from", "swf", "--to", "swf", path, "--broken", "drop", "--slice", "1:3")
    lines = result.stdout.splitlines()
    # Job 2 arrived at 10 s, which is 0 s now; that it came after job 1 says nothing without it.
    assert "; UnixStartTime: 1000010" in lines
    assert "2 0 90 50 2 -1 -1 2 60 -1 1 1 -1 -1 -1 -1 -1 -1" in lines


def test_an_export_of_slurm_becomes_a_trace_with_its_waits(tmp_path):
    export = write(
        tmp_path / "october.txt",
        "JobID|Submit|Start|End|NCPUS|State\n"
        "1|1970-01-02T00:00:00|1970-01-02T00:00:30|1970-01-02T00:01:40|2|COMPLETED\n",
    )
    lines = run("convert", "--from", "sacct", "--to", "swf", export, "--processors", 2).stdout.splitlines()
    (job,) = (line for line in lines if not line.startswith(";"))
    assert job.split()[2:5] == ["30", "70", "2"]
    began = next(float(line.split(":")[1]) for line in lines if line.startswith("; UnixStartTime"))
    assert began + float(job.split()[1]) == 86400.0


def test_import_slurm_writes_the_instance_and_the_recorded_schedule(tmp_path):
    write(tmp_path / "slurm.conf", "NodeName=n[1-2] CPUs=2\nPartitionName=all Nodes=ALL\n")
    head = "JobID|User|State|Submit|Start|End|NCPUS|NodeList\n"
    times = "2026-10-01T00:00:00|2026-10-01T00:01:00|2026-10-01T00:02:00"
    export = write(tmp_path / "log.txt", f"{head}1|ann|COMPLETED|{times}|4|n[1-2]\n")
    instance, schedule = tmp_path / "i.json", tmp_path / "s.json"
    files = ("--sacct", export, "--slurm-conf", tmp_path / "slurm.conf")
    made = run("import", "slurm", *files, "-o", instance, "--schedule", schedule)
    assert (made.exit_code, made.stdout) == (0, "")
    assert made.stderr.splitlines()[1:3] == [
        f"{export}: 1 record read, 1 in the instance",
        f"{export}: 2 nodes with 4 CPUs in 1 cluster",
    ]
    assert made.stderr.splitlines()[-1] == f"{schedule}: 1 of 1 job placed"
    assert run("check", instance, schedule).exit_code == 0
    write(tmp_path / "slurm.conf", "NodeName=n1 CPUs=x\n")
    broken = run("import", "slurm", *files)
    assert (broken.exit_code, broken.stderr) == (
        2,
        f"{tmp_path / 'slurm.conf'}: line 1: cpus must be an integer, got 'x'\n",
    )


def test_import_flux_writes_the_instance_and_the_recorded_schedule(tmp_path):
    execution = {"R_lite": [{"rank": "0-1", "children": {"core": "0-1"}}], "nodelist": ["n[1-2]"]}
    resources = write(tmp_path / "R.json", json.dumps({"version": 1, "execution": execution}))
    ran = {"id": 7, "t_submit": 100, "t_run": 160, "t_cleanup": 220, "state": "INACTIVE", "ncores": 4}
    jobs = write(tmp_path / "jobs.json", json.dumps({"jobs": [ran | {"nodelist": "n[1-2]"}]}))
    instance, schedule = tmp_path / "i.json", tmp_path / "s.json"
    files = ("--jobs", jobs, "--resources", resources)
    made = run("import", "flux", *files, "-o", instance, "--schedule", schedule)
    assert (made.exit_code, made.stdout) == (0, "")
    assert made.stderr.splitlines()[1:3] == [
        f"{jobs}: 1 record read, 1 in the instance",
        f"{jobs}: 2 nodes with 4 CPUs in 1 cluster",
    ]
    assert made.stderr.splitlines()[-1] == f"{schedule}: 1 of 1 job placed"
    assert run("check", instance, schedule).exit_code == 0
    write(tmp_path / "R.json", '{"version": 2, "execution": {}}')
    broken = run("import", "flux", *files)
    assert (broken.exit_code, broken.stderr) == (2, f"{resources}: version: must be 1, got 2\n")
