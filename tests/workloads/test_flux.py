"""From the jobs and resources of a Flux instance to an instance: every feature of the samples, and every error."""

from __future__ import annotations

import json

import pytest

import coalloc
from coalloc import InstanceError

R = {
    "version": 1,
    "execution": {
        "R_lite": [
            {"rank": "0-1,3", "children": {"core": "0-3"}},
            {"rank": "2", "children": {"core": "[0-7]", "gpu": "0-1"}},
        ],
        "nodelist": ["n[1-2]", "g1", "n3"],
        "properties": {"batch": "0-1,3", "debug": "1", "gpu": "2"},
        "starttime": 0,
        "expiration": 0,
    },
}
CONFIG = """
[queues.batch]
requires = ["batch"]
policy.limits.duration = "2h"
[queues.all]
policy.limits.duration = "0"
[queues.expedite]
parent = "batch"
policy.limits.duration = "30m"
[policy.limits]
duration = "1d"
[sched-fluxion-resource]
match-policy = "first"
"""


def graph():
    """Return a graph of two racks with one node each, of two cores; the second has a GPU and 2 GB of memory."""
    found = {"nodes": [], "edges": []}

    def add(type, name, above=None, **others):
        id = str(len(found["nodes"]))
        data = {"type": type, "basename": type, "name": name, "rank": -1, "unit": "", "size": 1} | others
        found["nodes"].append({"id": id, "metadata": data})
        if above is not None:
            found["edges"].append({"source": above, "target": id, "metadata": {"subsystem": "containment"}})
        return id

    root = add("cluster", "cedar0")
    row = add("row", "row0", root)
    for k in range(2):
        rack = add("rack", f"rack{k}", row)
        node = add("node", f"node{k}", rack, rank=k, properties={"batch": ""} if k else {})
        socket = add("socket", "socket0", node)
        for core in range(2):
            add("core", f"core{core}", socket)
    add("gpu", "gpu0", socket)
    add("memory", "memory0", socket, size=2, unit="GB")
    add("ssd", "ssd0", node)
    return {"graph": found}


def ran(id, start=1060.0, end=1360.0, **others):
    """A job of two cores of n1 that was submitted at 1,000 s."""
    usual = {"t_submit": 1000.0, "t_run": start, "t_cleanup": end, "state": "INACTIVE", "ncores": 2, "nnodes": 1}
    usual |= {"nodelist": "n1", "duration": 600.0, "username": "ann", "queue": "batch", "urgency": 16}
    return {"id": id, **usual, **others}


@pytest.fixture
def read(tmp_path):
    """Return what reads jobs and resources."""

    def reading(*jobs, resources=R, config=None, text=None, **options):
        paths = [tmp_path / "october.json", tmp_path / "R.json"]
        paths[0].write_text(json.dumps({"jobs": jobs}) if text is None else text)
        paths[1].write_text(json.dumps(resources))
        if config is not None:
            options["config"] = tmp_path / "system.toml"
            options["config"].write_text(config)
        return coalloc.io.read_flux(*paths, **options)

    return reading


def test_ranks_are_nodes_with_their_cores_gpus_and_properties(read):
    (cluster,) = read(ran(1)).instance.platform.clusters
    # n1 and n3 are equal; n2 is of debug, too.
    assert [(g.count, g.cores, dict(g.resources), g.features) for g in cluster.nodes] == [
        (2, 4, {}, ("batch", "partition:batch")),
        (1, 4, {}, ("batch", "debug", "partition:batch")),
        (1, 8, {"gpu": 2.0}, ("gpu",)),
    ]


def test_a_graph_is_clusters_below_switches(read):
    log = read(ran(1, nodelist="node1"), resources=graph())
    platform = log.instance.platform
    assert [(c.name, c.switch, c.nodes[0].cores, c.nodes[0].memory) for c in platform.clusters] == [
        ("row0/rack0", "row0", 2, None),
        ("row0/rack1", "row0", 2, 2000.0),
    ]
    assert [(s.name, s.parent, s.level) for s in platform.switches] == [("row0", "cedar0", "row")]
    assert dict(platform.clusters[1].nodes[0].resources) == {"gpu": 1.0}
    assert log.instance.jobs[0].requires == ("partition:batch",)
    assert "not expressed: resources of type ssd (1)" in log.report.sentences


def test_vertices_are_named_and_counted_by_default(read):
    # RFC 4: the base name is the type, the name is the base name with the number, and a pool has one resource.
    short = graph()
    for vertex in short["graph"]["nodes"]:
        data = vertex["metadata"]
        number = {"id": int(data["name"][-1])} if data["name"][-1].isdigit() else {}
        kept = {key: data[key] for key in ("properties", "unit") if data.get(key)}
        vertex["metadata"] = {"type": data["type"], **number, **kept} | ({"size": 2} if data["size"] == 2 else {})
    short["graph"]["nodes"][0]["metadata"]["name"] = "cedar0"
    short["graph"]["nodes"][3]["metadata"]["status"] = 1
    log = read(ran(1, nodelist="node1"), resources=short)
    assert log.instance == read(ran(1, nodelist="node1"), resources=graph()).instance
    assert "not expressed: nodes that are down since an unknown time, taken as available (1)" in log.report.sentences


def test_a_graph_inside_of_a_resource_set_has_its_properties(read):
    execution = {"R_lite": [{"rank": "0-1", "children": {"core": "0-1"}}], "nodelist": ["node[0-1]"]}
    both = {"version": 1, "execution": execution | {"properties": {"fast": "0"}}, "scheduling": graph()}
    assert read(ran(1, queue="fast", nodelist="node0"), resources=both).instance.jobs[0].requires == ("partition:fast",)


def test_edges_with_relationships_are_read(read):
    old = graph()
    for edge in [*old["graph"]["edges"]]:
        edge["metadata"] = {"name": {"containment": "contains"}}
        back = {"source": edge["target"], "target": edge["source"], "metadata": {"name": {"containment": "in"}}}
        old["graph"]["edges"].append(back)
    new, other = read(ran(1, nodelist="node1"), resources=graph()), read(ran(1, nodelist="node1"), resources=old)
    assert new.instance.platform == other.instance.platform


def test_jobs_are_as_they_ran(read):
    log = read(ran(1, t_sched=1030.0), ran(2, nodelist="n[1-2]", ncores=8, nnodes=2, start=1400.0, end=1500.0))
    first = log.instance.job_by_id["1"]
    assert (first.id, first.tasks, first.base_time, first.estimate, first.user) == ("1", 2, 300.0, 600.0, "user1")
    # The clock begins with the first arrival: that of job 2, at 1,000 s.
    assert {job.id: job.arrival for job in log.instance.jobs} == {"1": 30.0, "2": 0.0}
    assert coalloc.check(log.instance, log.schedule) == []
    assert {placement.job: placement.start for placement in log.schedule} == {"1": 60.0, "2": 400.0}


def test_queues_of_the_configuration_have_nodes_and_limits(read):
    jobs = [ran(1, duration=0.0), ran(2, duration=0.0, queue="expedite"), ran(3, duration=0.0, queue="all")]
    log = read(*jobs, config=CONFIG)
    by_id = log.instance.job_by_id
    assert {id: job.estimate for id, job in by_id.items()} == {"1": 7200.0, "2": 1800.0, "3": 300.0}
    assert {id: job.requires for id, job in by_id.items()} == {
        "1": ("partition:batch",),
        "2": ("partition:expedite",),
        "3": (),
    }


def test_node_exclusive_matching_makes_processors_of_nodes(read):
    log = read(ran(1, nnodes=2, nodelist="n[1-2]"), config=CONFIG.replace("first", "lonodex"))
    assert (log.instance.platform.num_processors, log.instance.jobs[0].tasks) == (4, 2)


def test_whatever_is_dropped_changed_or_not_expressed_is_counted(read):
    jobs = [
        ran(1, urgency=31, jobs=[ran(9)]),
        ran(2, state="RUN", end="", runtime=100.0),
        {
            "id": 3,
            "t_submit": 1000.0,
            "state": "SCHED",
            "queue": "batch",
            "name": "x",
            "dependencies": ["after-finish=1"],
        },
        ran(4, end=1060.0),
        ran(5, ncores=99),
        ran(6, queue="other"),
        ran(7, queue="gpu", ncores=12, nodelist="g1"),
        ran(8, nodelist="n[1,77]"),
    ]
    log = read(*jobs)
    assert {placement.job for placement in log.schedule} == {"1", "2"}  # 6 had cores of n1 as well
    report = log.report
    assert report.sentences == (
        "8 records read, 4 in the instance",
        "4 nodes with 20 CPUs in 1 cluster",
        "1 record dropped: never started",
        "1 record dropped: run time not above 0",
        "1 record dropped: more processors than the platform",
        "1 record dropped: more processors, memory or generic resources than its nodes have",
        "1 job changed: had not ended: run time until the end of the log",
        "not expressed: jobs inside of jobs (flux jobs --recursive), left out (1)",
        "not expressed: jobs on nodes that the resources do not have, left out of the recorded schedule (1)",
        "not expressed: partition or queue that the site does not have: any node will do (1)",
        "not expressed: urgencies other than 16, which are for a queue order (1)",
        "not in the export: t_sched, bank, gpus of jobs",
    )


def test_one_job_stands_alone(read):
    assert len(read(text=json.dumps(ran(1))).instance.jobs) == 1


def test_a_slice_is_in_utc(read):
    log = read(ran(1), ran(2, start=2000.0, end=2100.0), after="1970-01-01T00:17:00")
    assert [run.job.id for run in log.instance.running] == []
    log = read(ran(1), ran(2, start=2000.0, end=2100.0), after="1970-01-01T00:20:00")
    # 1,200 s: job 1 runs until 1,360 s.
    assert [(run.job.id, run.end) for run in log.instance.running] == [("1", 160.0)]


def test_names_are_numbered_unless_they_are_to_be_kept(read):
    assert read(ran(1), names="keep").instance.jobs[0].user == "ann"


JOBS_WITH_ERRORS = {
    "jobs[0]: must be the object of a job, got '7'": 7,
    "jobs[0]: t_run must be a number, got 'x'": ran(1, start="x"),
    "jobs[0]: t_run must be at least 0, got -1": ran(1, start=-1),
    "jobs[0]: id must be an integer, got 'a'": ran("a"),
    "jobs[0]: ncores must be at least 1, got 0": ran(1, ncores=0),
    "jobs[0]: nodelist must be a list of nodes such as n[001-128,200], got 'n[1-'": ran(1, nodelist="n[1-"),
    "jobs[0]: t_run must be known for a job of state RUN": ran(1, state="RUN", start=""),
    "jobs[0]: t_cleanup must be known for a job of state INACTIVE": ran(1, end=""),
    "jobs[0]: name must be without control or format characters, got 'a\\nb'": ran(1, name="a\nb"),
    "jobs[0]: jobs must be a list of jobs, got '5'": ran(1, jobs=5),
}


@pytest.mark.parametrize("sentence", JOBS_WITH_ERRORS)
def test_a_malformed_job_is_one_line(read, sentence):
    with pytest.raises(InstanceError) as error:
        read(JOBS_WITH_ERRORS[sentence])
    assert str(error.value).startswith(f"{error.value.source}: {sentence}")
    assert "\n" not in str(error.value)
    assert read(JOBS_WITH_ERRORS[sentence], ran(2), broken="drop").report.num_broken == 1


def changed(path, value):
    """R with a part that is another, or none."""
    found = json.loads(json.dumps(R))
    *inner, last = path
    holder = found
    for key in inner:
        holder = holder[key]
    if value is None:
        del holder[last]
    else:
        holder[last] = value
    return found


def changed_graph(change):
    found = graph()
    change(found["graph"])
    return found


RESOURCES_WITH_ERRORS = {
    ": must have execution (R of RFC 20) or graph (JGF)": {},
    "version: must be 1, got 2": changed(["version"], 2),
    "execution: must be an object, got 3": changed(["execution"], 3),
    "execution.R_lite: must be a list": changed(["execution", "R_lite"], None),
    "execution.R_lite[0]: must be an object, got 1": changed(["execution", "R_lite", 0], 1),
    "execution.R_lite[0].rank: must be an idset such as 0-3,7, got 'x'": changed(
        ["execution", "R_lite", 0, "rank"], "x"
    ),
    "execution.R_lite: must have each rank once, got rank 2 twice": changed(["execution", "R_lite", 0, "rank"], "0-2"),
    "execution.R_lite[0].children: must be an object": changed(["execution", "R_lite", 0, "children"], None),
    "execution.R_lite[0].children.core: must be an idset": changed(["execution", "R_lite", 0, "children", "core"], 4),
    "execution.nodelist: must have a name of its own for each of 4 ranks": changed(["execution", "nodelist"], ["n1"]),
    "execution.nodelist[0]: must be a hostlist": changed(["execution", "nodelist", 0], "n[1"),
    "execution.properties.x: must be of ranks of R_lite, got 9": changed(["execution", "properties", "x"], "9"),
    "graph.nodes: must have a vertex of type node": {"graph": {"nodes": [], "edges": []}},
    "graph.nodes[0].metadata: must be an object": {"graph": {"nodes": [{"id": "0"}], "edges": []}},
    "graph.edges[0]: must connect vertices of the graph, got 'x'": changed_graph(
        lambda graph: graph["edges"][0].update(target="x")
    ),
    "graph.edges[13]: must not put vertex '1' in two others": changed_graph(
        lambda graph: graph["edges"].insert(13, {"source": "2", "target": "1", "metadata": {}})
    ),
    "graph.edges: must be a tree": changed_graph(
        lambda graph: graph["edges"].append({"source": "1", "target": "0", "metadata": {}})
    ),
    "graph.nodes: node 'node0' must contain vertices of type core": changed_graph(
        lambda graph: [vertex["metadata"].update(type="pu") for vertex in graph["nodes"][5:7]]
    ),
    "graph.nodes: must not repeat node 'node0'": changed_graph(
        lambda graph: [v["metadata"].update(name="node0") for v in graph["nodes"] if v["metadata"]["type"] == "node"]
    ),
    "graph.nodes[4].metadata.size: must be an integer, got 'x'": changed_graph(
        lambda graph: graph["nodes"][4]["metadata"].update(size="x")
    ),
}


@pytest.mark.parametrize("sentence", RESOURCES_WITH_ERRORS)
def test_malformed_resources_are_one_line(read, sentence):
    with pytest.raises(InstanceError) as error:
        read(ran(1), resources=RESOURCES_WITH_ERRORS[sentence])
    assert sentence.lstrip(": ") in str(error.value)
    assert "\n" not in str(error.value)


CONFIGS_WITH_ERRORS = {
    "is not TOML": "[queues",
    "queues: must be an object, got 3": "queues = 3",
    "queues.a: must be an object, got 3": "queues.a = 3",
    "queues.a.parent: must be a queue, got 'b'": '[queues.a]\nparent = "b"',
    "queues.a.parent: must be a queue, got": "[queues.a]\nparent = [1]",
    "queues.a.requires: must be properties of the resources, got": "[queues.a]\nrequires = [[1]]",
    "queues.a.requires: must be a list, got 'b'": '[queues.a]\nrequires = "b"',
    "queues.a.requires: must be properties of the resources, got 'batc' (did you mean 'batch'?)": (
        '[queues.a]\nrequires = ["batc"]'
    ),
    "policy.limits.duration: must be a duration such as 30m or 8h, got 5": "policy.limits.duration = 5",
    "queues.a.policy.limits.duration: must be a duration such as 30m or 8h, got '2 h'": (
        '[queues.a]\npolicy.limits.duration = "2 h"'
    ),
}


@pytest.mark.parametrize("sentence", CONFIGS_WITH_ERRORS)
def test_a_malformed_configuration_is_one_line(read, sentence):
    with pytest.raises(InstanceError) as error:
        read(ran(1), config=CONFIGS_WITH_ERRORS[sentence])
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)


def test_a_job_stands_once(read):
    with pytest.raises(InstanceError, match=r"jobs\[1\]: id must be unique, but 1 stands twice"):
        read(ran(1), ran(1))


def test_a_listing_without_jobs_is_one_line(read):
    with pytest.raises(InstanceError, match="jobs: must be the list of jobs that flux jobs --json prints"):
        read(text="{}")
