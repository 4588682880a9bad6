"""Instance and platform files: what is written is read back, what is wrong is said, all of it, once."""

from __future__ import annotations

import gzip
import itertools
import json
import os
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalloc.documents.values import LARGEST
from coalloc.instance import (
    Cluster,
    CoallocError,
    Instance,
    InstanceError,
    Job,
    NodeGroup,
    Platform,
    PowerStates,
    RunningJob,
    Switch,
    read_instance,
    read_platform,
    write_instance,
    write_platform,
)
from coalloc.instance.consistency import MAX_PROCESSORS
from tests.instance.documents import ABSENT, CROSS_FAULTS, FIELD_FAULTS, FIXTURES, VALID, broken, lines_of
from tests.strategies import LAW, instances

FAULTS = FIELD_FAULTS | CROSS_FAULTS

ODD_IDS = (
    "<script>",
    "</script>",
    "[/b]",
    "$x_$",
    "../x",
    "/etc/passwd",
    "-",
    " ",
)
UNPRINTABLE = ("\x1b[31m", "a\nb", "\u202eabc", "a\x85", "\0")

texts = st.sampled_from(ODD_IDS) | st.text(min_size=1, max_size=8).filter(str.isprintable)
non_negative = st.floats(0, LARGEST)
positive = st.floats(0, LARGEST, exclude_min=True)
maybe = st.none() | non_negative

odd_groups = st.builds(
    NodeGroup,
    count=st.integers(1, 3),
    power=st.floats(1e-40, LARGEST),  # with the availability above 1e-100
    availability=st.floats(1e-50, 1),
    cores=st.integers(1, 3),
    off_watts=maybe,
    idle_watts=maybe,
    static_watts=maybe,
    core_watts=maybe,
    clock=st.none() | positive,
    flops_per_cycle=st.none() | positive,
    memory=maybe,
)


odd_states = st.builds(
    PowerStates,
    chassis=st.integers(1, 3),
    boards=st.integers(1, 3),
    cores=st.integers(6, 9),
    site_watts=non_negative,
    chassis_watts=non_negative,
    board_watts=non_negative,
    core_idle_watts=non_negative,
    core_working_watts=non_negative,
    startup_time=non_negative,
    core_grace=non_negative,
    site_grace=non_negative,
    startup_watts=maybe,
)


@st.composite
def odd_clusters(draw, name, switch):
    """Draw a cluster, with nodes of any kind, or with power states and nodes without watts."""
    states = draw(st.none() | odd_states)
    plain = st.builds(NodeGroup, count=st.integers(1, 3), power=st.floats(1e-9, 1e9))
    groups = draw(st.lists(odd_groups if states is None else plain, min_size=1, max_size=2))
    return Cluster(name, groups, draw(non_negative), switch, draw(st.none() | positive), states)


@st.composite
def odd_instances(draw):
    """Draw instances in which everything that a file can say is said, with names of any kind."""
    switches = draw(st.lists(texts, unique=True, max_size=3))
    tree = [
        Switch(name, draw(st.sampled_from(switches[:i])) if i else name + "root", draw(non_negative))
        for i, name in enumerate(switches)
    ]
    if tree and tree[0].parent in switches:
        tree, switches = [], []
    uppers = st.sampled_from([None, *switches])
    clusters = [
        draw(odd_clusters(name, draw(uppers))) for name in draw(st.lists(texts, unique=True, min_size=1, max_size=3))
    ]
    platform = Platform(clusters, tree)
    jobs = [
        Job(
            name,
            draw(st.integers(1, platform.num_processors)),
            draw(positive),
            draw(st.floats(0, 1)),
            draw(non_negative),
            draw(non_negative),
            draw(positive),
            draw(st.none() | texts),
            draw(maybe),
            draw(maybe),
            draw(st.just(1.0) | non_negative),
            draw(maybe),
        )
        for name in draw(st.lists(texts, unique=True, max_size=4))
    ]
    running = [RunningJob(job, platform.processor_names[: job.tasks], draw(non_negative)) for job in jobs[:1]]
    return Instance(platform, jobs[1:], running, draw(texts))


@LAW
@given(odd_instances(), st.sampled_from([".json", ".json.gz"]))
def test_writing_then_reading_is_the_identity(tmp_path_factory, instance, suffix):
    path = tmp_path_factory.mktemp("law") / f"instance{suffix}"
    write_instance(instance, path)
    assert read_instance(path) == instance
    write_platform(instance.platform, path)
    assert read_platform(path) == instance.platform
    assert os.listdir(path.parent) == [path.name]


@LAW
@given(odd_instances())
def test_files_are_plain_ascii_text(tmp_path_factory, instance):
    # So that `cat` shows them without obeying the escape sequences of an id.
    path = tmp_path_factory.mktemp("law") / "instance.json"
    write_instance(instance, path)
    assert all(byte == 0x0A or 0x20 <= byte < 0x7F for byte in path.read_bytes())


@LAW
@given(instances(max_cores=3, switches=2, max_running=2, min_jobs=0))
def test_ordinary_instances_come_back_too(tmp_path_factory, instance):
    path = tmp_path_factory.mktemp("law") / "instance.json.gz"
    write_instance(instance, path)
    assert read_instance(path) == instance


def test_the_same_instance_gives_the_same_bytes(tmp_path):
    instance = read_instance(FIXTURES / "instance-v1.json")
    contents = set()
    for name in ("a.json.gz", "b.json.gz"):
        write_instance(instance, tmp_path / name)
        contents.add((tmp_path / name).read_bytes())
    assert len(contents) == 1


def test_a_file_reads_well(tmp_path):
    platform = Platform([Cluster("C1", [NodeGroup(4, power=1.0)], link_bandwidth=125.0)])
    write_instance(Instance(platform, [Job("J1", 3, 600.0)], name="wl1"), tmp_path / "wl1.json")
    assert (
        (tmp_path / "wl1.json").read_text()
        == """{
  "format": "coalloc-instance",
  "version": 1,
  "name": "wl1",
  "platform": {
    "clusters": [
      {
        "name": "C1",
        "nodes": [
          {"count": 4, "power": 1.0, "availability": 1.0, "cores": 1}
        ],
        "link_bandwidth": 125.0
      }
    ]
  },
  "jobs": [
    {"id": "J1", "tasks": 3, "base_time": 600.0, "processing_share": 1.0, "task_bandwidth": 0.0, \
"arrival": 0.0, "estimate": 600.0}
  ]
}
"""
    )


def test_version_1_is_read_for_ever():
    groups = (NodeGroup(2, 1.0, 0.9, 4, 5.0, 50.0, 60.0, 12.5, 2.4, 8.0, 64000.0), NodeGroup(1, 0.75))
    platform = Platform(
        (Cluster("C1", groups, 125.0, "S1"), Cluster("C2", (NodeGroup(4, 0.5),), 60.0)), (Switch("S1", "S0", 250.0),)
    )
    jobs = (Job("J1", 3, 670000.0, 0.7, 12.5, 10.0, 700000.0, "u1", 100.0, 5e6, 2.5, 9e5), Job("J2", 1, 100.0))
    running = (RunningJob(Job("R1", 2, 50.0), ("C1/1.3", "C1/2"), 25.5),)
    assert read_instance(FIXTURES / "instance-v1.json") == Instance(platform, jobs, running, "every key of version 1")


def test_an_instance_without_jobs_is_valid(tmp_path):
    path = tmp_path / "none.json"
    path.write_text(json.dumps(broken((("jobs",), []), (("running",), ABSENT))))
    assert read_instance(path).jobs == ()


NOT_ALONE = ("duplicate cluster name", "switch below itself")
"""Faults that take away what other parts of the valid document refer to."""


def test_each_fault_is_reported_once_with_its_path_and_no_other(tmp_path):
    for name, (place, content, line) in FAULTS.items():
        lines = lines_of(tmp_path / "wl1.json", broken((place, content)))
        assert lines.count(line) == 1, name
        assert lines == [line] if name not in NOT_ALONE else len(set(lines)) == len(lines), name


def test_all_faults_come_at_once(tmp_path):
    # Faults in fields, between fields and of the text itself; pydantic alone would stop after the first sort.
    document = broken(
        (("version",), 7),
        (("platform", "clusters", 0, "nodes", 0, "power"), -1),
        (("platform", "clusters", 1, "name"), "C1"),
        (("platform", "switches"), [{"name": "A", "parent": "B", "bandwidth": 1}, {"name": "B", "parent": "A"}]),
        (("jobs", 0), {"id": "J2", "tasks": 99, "base_time": "nan-here"}),
        (("running", 0, "nodes", 1), "C1/3"),
    )
    text = json.dumps(document).replace('"nan-here"', "1e999").replace('"tasks": 8', '"tasks": 0, "tasks": 8.5')
    assert sorted(lines_of(tmp_path / "wl1.json", text)) == [
        "jobs[0].base_time: must be finite, got 1e999",
        "jobs[0].tasks: must be at most 8 (all processors of the platform), got 99",
        "jobs[1].id: must not repeat the job id 'J2' of jobs[0].id",
        "jobs[1].tasks: must be an integer, got 8.5",
        "jobs[1].tasks: occurs twice in the same object",
        "platform.clusters[0].nodes[0].power: must be above 0, got -1",
        "platform.clusters[1].name: must not repeat the cluster name 'C1' of clusters[0].name",
        "platform.clusters[1].switch: must name a switch of the platform, got 'S1'",
        "platform.switches[0].parent: must not form a cycle of switches, got 'B'",
        "platform.switches[1].bandwidth: is missing",
        "platform.switches[1].parent: must not form a cycle of switches, got 'A'",
        "running[0].nodes[1]: must not repeat 'C1/3' of running[0].nodes[0]",
        "version: must be 1, 2 or 3 (the supported versions), got 7",
    ]


def _apart(one: str, other: str) -> bool:
    """Return whether neither fault takes away the place of the other, or all that it would be compared with."""
    first, second = FAULTS[one][0], FAULTS[other][0]
    is_whole = {first, second} & {("platform",), ("platform", "clusters")}
    return not is_whole and first[: len(second)] != second and second[: len(first)] != first


HIDING = ("processors beyond any machine", "running nowhere")  # then every job fits; then no two hold the same
BETWEEN = [name for name in CROSS_FAULTS if name not in HIDING]
PAIRS = [pair for pair in itertools.combinations([*list(FIELD_FAULTS)[::4], *BETWEEN], 2) if _apart(*pair)]


def test_no_fault_hides_another(tmp_path):
    for one, other in PAIRS:
        (place, content, line), (other_place, other_content, other_line) = FAULTS[one], FAULTS[other]
        lines = lines_of(tmp_path / "wl1.json", broken((place, content), (other_place, other_content)))
        assert {line, other_line} <= set(lines), (one, other)


def test_another_kind_of_file_gives_one_line(tmp_path):
    with pytest.raises(InstanceError) as caught:
        read_instance(FIXTURES / "schedule-v1.json")
    assert str(caught.value).endswith("schedule-v1.json: format: must be 'coalloc-instance', got 'coalloc-schedule'")


@pytest.mark.parametrize(("number", "shown"), [("NaN", "NaN"), ("-Infinity", "-Infinity"), ("1e999", "1e999")])
@pytest.mark.parametrize("key", ["base_time", "tasks", "note"])
def test_numbers_that_are_not_finite(tmp_path, number, shown, key):
    text = json.dumps(broken((("jobs", 0, key), "HERE"))).replace('"HERE"', number)
    assert f"jobs[0].{key}: must be finite, got {shown}" in lines_of(tmp_path / "wl1.json", text)


@pytest.mark.parametrize("digits", [400, 10_000])
def test_whole_numbers_without_end(tmp_path, digits):
    # Python itself refuses to read 4,301 digits, with advice about its own settings.
    text = json.dumps(VALID).replace("600.0", "1" + "0" * (digits - 1))
    (line,) = lines_of(tmp_path / "wl1.json", text)
    assert line == f"jobs[0].base_time: must be finite, got 1{'0' * 36}..."


def test_a_key_that_stands_twice_at_the_top(tmp_path):
    text = json.dumps(VALID).replace('"version": 1', '"version": 1, "version": 1')
    assert lines_of(tmp_path / "wl1.json", text) == ["version: occurs twice in the same object"]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "is empty, must contain a JSON object"),
        ("hello", "is not JSON: Expecting value (line 1, column 1)"),
        (json.dumps(VALID)[:-9], "is not JSON: "),
        ("{'a': 1}", "is not JSON: "),
        ("[]", "must contain a JSON object, got a list"),
        ("null", "must contain a JSON object, got null"),
        ('"\\u001b[31m"', r"must contain a JSON object, got '\x1b[31m'"),
        ("1e999", "must contain a JSON object, got 1e999"),
        ('{"a": "' + "\n" + '"}', "is not JSON: "),
        ("[" * 101 + "]" * 101, "is nested too deeply: the limit is 100 levels"),
        ('{"a":' * 100_000, "is nested too deeply: the limit is 100 levels"),
    ],
)
def test_text_that_is_no_document(tmp_path, text, line):
    (got,) = lines_of(tmp_path / "wl1.json", text)
    assert got.startswith(line)


def test_a_trace_is_told_apart(tmp_path):
    (tmp_path / "t.swf").write_text("1 0 0 10 1\n")
    with pytest.raises(InstanceError, match=r"is not JSON: .*; to read a trace use coalloc.read_swf$"):
        read_instance(tmp_path / "t.swf")


def test_a_misspelt_key_gets_the_known_one(tmp_path):
    with pytest.raises(
        InstanceError, match=r"arrivals: is not a known key \(did you mean arrival\?\); known keys: id, "
    ):
        Job("J1", 1, 1.0, arrivals=5.0)


def test_a_hundred_million_brackets(tmp_path):
    path = tmp_path / "bomb.json"
    path.write_bytes(b"[" * 100_000_000)
    with pytest.raises(InstanceError, match=r"bomb\.json: is nested too deeply: the limit is 100 levels$"):
        read_instance(path)


def test_brackets_in_texts_do_not_nest(tmp_path):
    path = tmp_path / "wl1.json"
    path.write_text(json.dumps(broken((("jobs", 0, "id"), '\\"[' * 200), (("jobs", 1, "id"), "[{" * 1_000_000))))
    assert read_instance(path).jobs[0].id == '\\"[' * 200


@pytest.mark.parametrize("content", [b"\xff\xfe{\x00}\x00", b'{"name": "\xc3"}'])
def test_bytes_that_are_no_utf_8(tmp_path, content):
    path = tmp_path / "wl1.json"
    path.write_bytes(content)
    with pytest.raises(InstanceError, match=r"wl1\.json: is not valid UTF-8 \(byte \d+\)$"):
        read_instance(path)


def test_a_byte_order_mark_is_not_a_fault(tmp_path):
    path = tmp_path / "wl1.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(VALID).encode())
    assert read_instance(path).name == "wl1"


def test_a_gzip_bomb_ends_at_the_limit(tmp_path):
    # 300 MB of blanks in 300 kB.
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(b" " * 1_000_000) * 300)
    with pytest.raises(InstanceError, match=r"bomb\.json\.gz: exceeds the size limit of 256 MB \(decompressed\)$"):
        read_instance(path)


def test_the_limit_can_be_told(tmp_path):
    path = tmp_path / "wl1.json"
    path.write_text(json.dumps(VALID))
    size = path.stat().st_size
    assert read_instance(path, limit=size).name == "wl1"
    with pytest.raises(InstanceError, match="exceeds the size limit of"):
        read_instance(path, limit=size - 1)


@pytest.mark.parametrize("damage", [lambda c: c[:-5], lambda c: b"no gzip", lambda c: c[:20] + b"\xff\x00" + c[22:]])
def test_a_damaged_gzip_file(tmp_path, damage):
    path = tmp_path / "wl1.json.gz"
    path.write_bytes(damage(gzip.compress(json.dumps(VALID).encode())))
    with pytest.raises(InstanceError, match=r"^[^\n]*wl1\.json\.gz: is not a complete gzip file: [^\n]+$"):
        read_instance(path)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(InstanceError, match=r"none\.json: cannot be read: no such file or directory$"):
        read_instance(tmp_path / "none.json")
    with pytest.raises(InstanceError, match=r"cannot be read: is a directory$"):
        read_instance(tmp_path)
    with pytest.raises(InstanceError, match=r"a\\x00b: embedded null byte$|cannot be read"):
        read_instance(f"{tmp_path}/a\0b")
    with pytest.raises(InstanceError, match=r"^no\\n\\x1bne: cannot be read"):
        read_instance("no\n\x1bne")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission(tmp_path):
    (tmp_path / "wl1.json").touch(mode=0)
    with pytest.raises(InstanceError, match=r"cannot be read: permission denied$"):
        read_instance(tmp_path / "wl1.json")


def test_a_million_faults_do_not_fill_the_screen(tmp_path):
    path = tmp_path / "wl1.json"
    path.write_text(json.dumps(broken((("jobs",), [{"id": f"J{i}", "tasks": 0, "base_time": 1} for i in range(2000)]))))
    with pytest.raises(InstanceError) as caught:
        read_instance(path)
    assert len(caught.value.faults) == 2000
    lines = str(caught.value).splitlines()
    assert len(lines) == 51
    assert lines[-1] == f"{path}: and 1950 more errors"


def test_absurd_counts_are_refused_before_they_cost_memory(tmp_path):
    most = broken((("platform", "clusters", 0, "nodes", 0, "count"), MAX_PROCESSORS - 4))
    path = tmp_path / "wl1.json"
    path.write_text(json.dumps(most))
    # Running jobs are looked up without a list of ten million names.
    assert "processor_names" not in vars(read_instance(path).platform)


@pytest.mark.parametrize("key", ["a b", "a\nb", "\x1b[31m", "", "x" * 1000, "a.b"])
def test_odd_keys_stay_on_one_short_line(tmp_path, key):
    (line,) = lines_of(tmp_path / "wl1.json", broken((("jobs", 0, key), 1)))
    assert line.startswith("jobs[0]")
    assert line.isprintable()
    _, _, known = line.partition("known keys: ")
    assert len(line) - len(known) < 240


@pytest.mark.parametrize("name", UNPRINTABLE)
def test_names_have_no_control_or_format_characters(tmp_path, name):
    # Terminals obey escape sequences, and U+202E turns what follows: such names hide what they are.
    sentence = f"must not contain control or format characters, got {name!r}"
    for key, made in {
        "id": lambda: Job(name, 1, 1.0),
        "user": lambda: Job("J1", 1, 1.0, user=name),
        "name": lambda: Cluster(name, [NodeGroup(1, power=1.0)], 1.0),
    }.items():
        with pytest.raises(InstanceError) as caught:
            made()
        assert str(caught.value) == f"{key}: {sentence}"
    path = tmp_path / "instance.json"
    document = json.loads(json.dumps(VALID)) | {"name": name}
    path.write_text(json.dumps(document))
    with pytest.raises(InstanceError) as caught:
        read_instance(path)
    assert str(caught.value) == f"{path}: name: {sentence}"


@pytest.mark.parametrize("name", ODD_IDS)
def test_odd_ids_are_shown_escaped(tmp_path, name):
    document = broken((("jobs", 0, "id"), name), (("jobs", 1, "id"), name))
    (line,) = lines_of(tmp_path / "wl1.json", document)
    assert line == f"jobs[1].id: must not repeat the job id {name!r} of jobs[0].id"
    assert line.isprintable()


def test_long_ids_are_shortened(tmp_path):
    document = broken((("jobs", 0, "id"), "x" * 10_000), (("jobs", 1, "id"), "x" * 10_000))
    (line,) = lines_of(tmp_path / "wl1.json", document)
    assert line == f"jobs[1].id: must not repeat the job id '{'x' * 57}...' of jobs[0].id"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@LAW
@given(st.data())
def test_whatever_stands_where_it_is_read_or_refused(tmp_path_factory, data):
    # Anything at any place: an instance or an InstanceError, never another exception, never two equal lines.
    places = [place for place, _, _ in FAULTS.values()]
    path = tmp_path_factory.mktemp("law") / "wl1.json"
    path.write_text(json.dumps(broken((data.draw(st.sampled_from(places)), data.draw(json_values)))))
    try:
        read_instance(path)
    except InstanceError as error:
        lines = [str(fault) for fault in error.faults]
        assert len(set(lines)) == len(lines) > 0
        assert all(line.isprintable() for line in lines)


def test_a_platform_is_read_wherever_it_stands(tmp_path):
    platform = read_platform(FIXTURES / "platform-v1.json")
    assert platform == Platform((Cluster("C1", (NodeGroup(4, 1.0),), 125.0, "S1"),), (Switch("S1", "S0", 250.0),))
    inner = {
        key: part for key, part in json.loads((FIXTURES / "platform-v1.json").read_text()).items() if key[0] in "cs"
    }
    path = tmp_path / "p.json"
    path.write_text(json.dumps({"format": "coalloc-platform", "version": 1, "platform": inner}))
    assert read_platform(path) == platform
    whole = FIXTURES / "instance-v1.json"
    assert read_platform(whole) == read_instance(whole).platform


@pytest.mark.parametrize("wrap", [lambda platform: platform, lambda platform: {"platform": platform}])
def test_faults_of_a_platform_file(tmp_path, wrap):
    clusters = [{"name": "C", "link_bandwidth": 1, "nodes": [{"count": 0, "power": 1}]}] * 2
    path = tmp_path / "p.json"
    path.write_text(json.dumps({"format": "coalloc-platform", "version": 1, **wrap({"clusters": clusters})}))
    with pytest.raises(InstanceError) as caught:
        read_platform(path)
    assert [fault.path.removeprefix("platform.") for fault in caught.value.faults] == [
        "clusters[0].nodes[0].count",
        "clusters[1].nodes[0].count",
        "clusters[1].name",
    ]


def test_a_failed_write_leaves_nothing(tmp_path):
    instance = read_instance(FIXTURES / "instance-v1.json")
    with pytest.raises(CoallocError, match=r"^[^\n]*none/x\.json: cannot be written: no such file or directory$"):
        write_instance(instance, tmp_path / "none" / "x.json")
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(CoallocError, match=r"cannot be written: is a directory$"):
        write_instance(instance, tmp_path / "folder.json")
    assert os.listdir(tmp_path) == ["folder.json"]
    assert os.listdir(tmp_path / "folder.json") == []


def test_an_interrupted_write_keeps_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "x.json"
    path.write_text("old")

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pathlib.Path.replace", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_instance(read_instance(FIXTURES / "instance-v1.json"), path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["x.json"]


def test_writing_follows_links_and_the_mask(tmp_path):
    # A link stays a link, and the file has the rights of any new file, not those of a temporary one.
    instance = read_instance(FIXTURES / "instance-v1.json")
    (tmp_path / "link.json").symlink_to(tmp_path / "target.json")
    write_instance(instance, tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink()
    assert read_instance(tmp_path / "target.json") == instance
    (tmp_path / "plain").touch()
    assert stat.S_IMODE((tmp_path / "target.json").stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)


def test_a_device_is_written_to_not_replaced():
    write_instance(read_instance(FIXTURES / "instance-v1.json"), "/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
