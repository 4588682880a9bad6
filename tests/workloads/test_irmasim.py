"""IRMaSim files: what is read, and that nothing wrong is read silently."""

import copy
import json

import pytest

import coalloc
from coalloc import InstanceError
from coalloc.problem.execution import execution_time
from coalloc.workloads.irmasim import read_irmasim

PLATFORM = {
    "platform": {
        "machine": {
            "id": "machine",
            "model_name": "modelV1",
            "global_links": {"type": "none", "latency": "0us"},
            "clusters": [
                {"id": "C1", "nodes": [{"type": "fast", "number": 2}, {"type": "slow"}], "local_links": {}},
            ],
        }
    },
    "node": {
        "fast": {"id": "fast", "processors": [{"type": "pf", "number": 1}], "memory": {"capacity": 32}},
        "slow": {"id": "slow", "processors": [{"type": "ps", "count": 1}]},
    },
    "processor": {
        "pf": {
            "cores": 4, "clock_rate": 3.0, "dpflops_per_cycle": 2, "static_power": 10, "dynamic_power": 5.5,
            "min_power": 0.05, "uarch": "basic", "llc_size": 8, "power": 100, "type": "CPU",
            "b": -1e-5, "c": 1, "da": 1, "db": 1, "dc": 1, "dd": 1,
        },
        "ps": {"cores": 8, "clock_rate": 1.5, "static_power": 2.0, "dynamic_power": 1.5, "min_power": 0.5},
    },
}  # fmt: skip
"""Two nodes of 3 GHz that do two operations per cycle, and one of 1.5 GHz that does one."""

WORK = {"req_ops": 3e9, "ipc": 1, "req_time": 4, "req_energy": 7.5, "mem": 0, "mem_vol": 0}
PROFILED = {
    "jobs": [
        {"id": "a", "subtime": 5.0, "res": 4, "profile": "p"},
        {"id": 2, "subtime": 3.5, "res": 1, "profile": "p"},
    ],
    "profiles": {"p": WORK},
}
PLAIN = {"jobs": [{"id": "a", "subtime": 5, "ntasks": 4, "nodes": 1, **WORK}]}


@pytest.fixture
def files(tmp_path):
    """Return a function that writes both files, changed by setting ``path`` (keys) to a value or deleting it."""

    def write(platform=PLATFORM, workload=PROFILED, *changes):
        documents = {"platform": copy.deepcopy(platform), "workload": copy.deepcopy(workload)}
        for file, path, *value in changes:
            part = documents[file]
            for key in path[:-1]:
                part = part[key]
            if value:
                part[path[-1]] = value[0]
            else:
                del part[path[-1]]
        paths = [tmp_path / f"{name}.json" for name in documents]
        for path, document in zip(paths, documents.values(), strict=True):
            path.write_text(json.dumps(document))
        return paths

    return write


def faults(paths):
    with pytest.raises(InstanceError) as error:
        read_irmasim(*paths)
    folder = str(paths[0].parent)
    return [line.replace(folder + "/", "") for line in str(error.value).splitlines()]


def test_nodes_have_the_power_and_the_watts_of_their_processors(files):
    fast, slow = coalloc.read_irmasim(*files()).platform.clusters[0].nodes
    # Reference: 1.5 GHz, one operation per cycle.
    assert (fast.count, fast.cores, fast.power, fast.clock, fast.flops_per_cycle) == (2, 4, 4.0, 3.0, 2.0)
    assert (fast.idle_watts, fast.static_watts, fast.core_watts, fast.off_watts) == (0.5, 10.0, 5.5, None)
    assert (slow.count, slow.cores, slow.power, slow.idle_watts) == (1, 8, 1.0, 1.0)


def test_every_task_does_all_operations(files):
    instance = read_irmasim(*files())
    job = instance.job_by_id["a"]
    # 3e9 operations at 3e9 * 2 and at 1.5e9 per second, however many tasks there are.
    times = [execution_time(job, 1.0 / group.effective_power) for group in instance.platform.clusters[0].nodes]
    assert times == [0.5, 2.0]
    assert (job.tasks, job.estimate, job.energy_estimate, job.processing_share) == (4, 4.0, 7.5, 1.0)


def test_operations_are_rounded_up_to_whole_cycles_of_the_program(files):
    # ceil(3e9 / 0.7) = 4285714286 operations.
    job = read_irmasim(*files(PLATFORM, PLAIN, ("workload", ("jobs", 0, "ipc"), 0.7))).jobs[0]
    assert job.base_time == 4285714286 / 1.5e9


def test_the_first_submission_is_time_0(files):
    instance = read_irmasim(*files())
    assert [(job.id, job.arrival) for job in instance.jobs] == [("a", 1.5), ("2", 0.0)]
    assert (instance.origin, instance.name) == (0.0, f"{files()[0].parent.name}-workload")


def test_jobs_may_carry_their_profile(files):
    plain, profiled = read_irmasim(*files(PLATFORM, PLAIN)), read_irmasim(*files())
    assert plain.jobs[0] == profiled.jobs[0].replace(arrival=0.0)


def test_an_energy_figure_may_be_missing(files):
    assert (
        read_irmasim(*files(PLATFORM, PLAIN, ("workload", ("jobs", 0, "req_energy")))).jobs[0].energy_estimate is None
    )


def test_a_workload_may_be_empty(files):
    assert read_irmasim(*files(PLATFORM, {"jobs": []}), name="none").jobs == ()


PF = ("processor", "pf")
NODES = ("platform", "machine", "clusters", 0, "nodes")


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            ("platform", ("nodes",), {}),
            "platform.json: nodes: is not a known key (did you mean node?); known keys: platform, node, processor",
        ),
        (("platform", (*PF, "watts"), 1), "platform.json: processor.pf.watts: is not a known key"),
        (("platform", (*PF, "dynamic_power")), "platform.json: processor.pf.dynamic_power: is missing"),
        (("platform", (*PF, "dynamic_power"), -1), "platform.json: processor.pf.dynamic_power: must be at least 0"),
        (("platform", (*PF, "clock_rate"), 0), "platform.json: processor.pf.clock_rate: must be above 0, got 0"),
        (("platform", (*PF, "min_power"), 1.5), "platform.json: processor.pf.min_power: must be at most 1, got 1.5"),
        (("platform", (*PF, "cores"), 2.5), "platform.json: processor.pf.cores: must be an integer, got 2.5"),
        (("platform", (*PF, "static_power"), "5"), "platform.json: processor.pf.static_power: must be a number"),
        (("platform", ("node", "slow")), "platform.json: platform.machine.clusters[0].nodes[1].type: must be a key"
         " of node, got 'slow'"),
        (("platform", ("processor", "ps")), "platform.json: node.slow.processors[0].type: must be a key of processor"),
        (("platform", (*NODES, 0, "number"), 0), "platform.json: platform.machine.clusters[0].nodes[0].number: must be"
         " at least 1, got 0"),
        (("platform", NODES, []), "platform.json: platform.machine.clusters[0].nodes: must not be empty"),
        (("platform", ("platform", "other"), {"clusters": [{"id": "C1", "nodes": [{"type": "fast"}]}]}),
         "platform.json: platform: must contain one platform, got 2"),
        (("platform", ("node", "fast", "processors"), [{"type": "pf"}, {"type": "pf"}]),
         "platform.json: node.fast.processors: must list one processor, got 2"),
        (("workload", ("seed",), 1), "workload.json: seed: is not a known key; known keys: jobs, profiles"),
        (("workload", ("jobs", 0, "profile"), "q"), "workload.json: jobs[0].profile: must be a key of profiles"),
        (("workload", ("jobs", 0, "res")), "workload.json: jobs[0].ntasks: is missing (or res)"),
        (("workload", ("jobs", 0, "ntasks"), 3), "workload.json: jobs[0].res: must equal ntasks, 3, got 4"),
        (("workload", ("jobs", 0, "res"), 9), "workload.json: jobs[0]: has 9 tasks, but the largest node has 8 cores"),
        (("workload", ("jobs", 0, "nodes"), 2), "workload.json: jobs[0].nodes: must be 1, got 2: IRMaSim jobs"),
        (("workload", ("jobs", 0, "ntasks_per_node"), 2), "workload.json: jobs[0].ntasks_per_node: must be 4, all"),
        (("workload", ("jobs", 0, "subtime"), -1.0), "workload.json: jobs[0].subtime: must be at least 0, got -1"),
        (("workload", ("jobs", 0, "id"), "2"), "workload.json: jobs[1].id: must not repeat the job id '2' of "
        "jobs[0].id"),
        (("workload", ("profiles", "p", "req_ops"), 0), "workload.json: profiles.p.req_ops: must be above 0, got 0"),
        (("workload", ("profiles", "p", "ipc"), float("inf")), "workload.json: profiles.p.ipc: must be finite"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line_with_its_path(files, change, line):
    (found,) = faults(files(PLATFORM, PROFILED, change))
    assert found.startswith(line)


@pytest.mark.parametrize("key", ["count", "number"])
def test_several_processors_are_refused_with_the_reason(files, key):
    (line,) = faults(files(PLATFORM, PROFILED, ("platform", ("node", "fast", "processors", 0, key), 2)))
    assert line == (
        f"platform.json: node.fast.processors[0].{key}: must be 1, got 2; describe several processors "
        "of a node as one, with all their cores and watts"
    )


def test_clusters_have_ids_of_their_own(files):
    clusters = [{"id": "C1", "nodes": [{"type": "fast"}]}, {"id": "C1", "nodes": [{"type": "slow"}]}]
    (line,) = faults(files(PLATFORM, PROFILED, ("platform", ("platform", "machine", "clusters"), clusters)))
    assert line.startswith(
        "platform.json: platform.machine.clusters[1].id: must not repeat the id 'C1' of platform.machine"
    )


def test_all_faults_of_a_file_come_at_once(files):
    wrong = (("workload", ("jobs", 0, "subtime"), -1), ("workload", ("jobs", 1, "res"), 0))
    assert len(faults(files(PLATFORM, PROFILED, *wrong))) == 2


def test_keys_that_stand_twice_are_refused(files):
    platform, workload = files()
    workload.write_text('{"jobs": [], "jobs": []}')
    assert faults((platform, workload)) == ["workload.json: jobs: occurs twice in the same object"]


def test_the_instance_can_be_written_and_read(files, tmp_path):
    instance = read_irmasim(*files())
    coalloc.write_instance(instance, tmp_path / "copy.json")
    assert coalloc.read_instance(tmp_path / "copy.json") == instance
