"""Names of processors as ranges: what they stand for, how they are read and written, and that nothing unfolds them."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coalloc.instance import Cluster, Instance, InstanceError, Job, NodeGroup, Platform, RunningJob
from coalloc.instance.numbering import UnknownProcessorError, intervals_of, names_of
from coalloc.instance.processor_names import MAX_PROCESSORS, ProcessorNames, ProcessorSets, Range, distinct, range_of
from coalloc.schedule import Placement, Schedule
from coalloc.schedule.files import read_schedule, write_schedule
from coalloc.simulator.processors import intervals_of as intervals_of_bits
from coalloc.simulator.processors import processors_of
from tests.strategies import LAW

# Two nodes of one core, three of two, one of four, in two clusters; the second has a hyphen and a slash in its name.
PLATFORM = Platform(
    [
        Cluster("C1", [NodeGroup(2, 1.0), NodeGroup(2, 1.0, cores=2)], 1.0),
        Cluster("a-0/1", [NodeGroup(1, 0.5, cores=2), NodeGroup(1, 1.0, cores=4)], 1.0),
    ]
)
NAMES = PLATFORM.processor_names
CLUSTERS = st.sampled_from(["C1", "C1/0", "a-b", "0-3"])
NUMBERS = st.integers(0, 3)


@st.composite
def range_texts(draw) -> str:
    """Draw a name, or a range of nodes, of cores, or of both."""
    first, first_core = draw(NUMBERS), draw(NUMBERS)
    last, last_core = draw(st.integers(first, 4)), draw(st.integers(first_core, 4))
    nodes = draw(st.sampled_from([f"{first}", f"{first}-{last}"]))
    return f"{draw(CLUSTERS)}/{nodes}" + draw(st.sampled_from(["", f".{first_core}", f".{first_core}-{last_core}"]))


texts = range_texts() | st.sampled_from(["nowhere", "C1", "C1/x", "C1/01", "\x1b[0m"])


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("C1/0", ["C1/0"]),
        ("C1/3-3", ["C1/3"]),
        ("C1/9-11", ["C1/9", "C1/10", "C1/11"]),
        ("C1/0.2", ["C1/0.2"]),
        ("C1/0.2-4", ["C1/0.2", "C1/0.3", "C1/0.4"]),
        ("C1/0-1.2", ["C1/0.2", "C1/1.2"]),
        ("C1/0-1.0-1", ["C1/0.0", "C1/0.1", "C1/1.0", "C1/1.1"]),
        ("0-3/1-2", ["0-3/1", "0-3/2"]),
        ("nowhere", ["nowhere"]),
        ("C1/5-3", ["C1/5-3"]),  # no range: a text like any other, which no processor has
        ("C1/01-2", ["C1/01-2"]),
    ],
)
def test_what_a_text_stands_for(text, names):
    assert list(ProcessorNames([text])) == names


@LAW
@given(st.lists(texts, max_size=6))
def test_names_are_a_sequence_as_the_tuple_of_them_is(given_texts):
    flat = tuple(name for text in given_texts for name in range_of(text).names())
    names = ProcessorNames(given_texts)
    assert names == flat
    assert flat == names
    assert list(flat) == names
    assert hash(names) == hash(flat)
    assert (len(names), tuple(names), tuple(reversed(names))) == (len(flat), flat, flat[::-1])
    assert [names[i] for i in range(-len(flat), len(flat))] == [*flat, *flat]
    assert (names[1:3], names[::-2], names[-2:]) == (flat[1:3], flat[::-2], flat[-2:])
    assert all(name in names for name in flat)
    assert [name in names for name in ("C1/0", "C1/9", "C1/0-1", "x")] == [
        name in flat for name in ("C1/0", "C1/9", "C1/0-1", "x")
    ]
    assert pickle.loads(pickle.dumps(names)) == names
    assert names != (*flat, "C1/0")


@LAW
@given(st.lists(texts, max_size=8))
def test_ranges_follow_from_the_names_alone(given_texts):
    # However they were given: as ranges, one by one, or written and read again.
    names = ProcessorNames(given_texts)
    one_by_one = ProcessorNames(tuple(names))
    assert names.texts == one_by_one.texts == ProcessorNames(names.texts).texts
    assert names == one_by_one
    assert len(names.texts) <= len(given_texts)


@LAW
@given(st.lists(st.lists(texts, max_size=3), max_size=4), st.lists(st.integers(0, 3), max_size=6))
def test_sets_as_columns_are_the_sets_that_are_given(some, numbers):
    # The same object several times, equal ones, and clusters that come in different orders.
    given_sets = [ProcessorNames(given_texts) for given_texts in some]
    listed = [given_sets[number] for number in numbers if number < len(given_sets)]
    sets = ProcessorSets.of(listed)
    assert [*sets] == listed
    assert [sets[i] for i in range(-len(listed), len(listed))] == [*listed, *listed]
    assert [*sets[1:-1]] == listed[1:-1]
    unique, which = distinct(sets)
    assert len(unique) == len({id(names) for names in listed})
    assert [unique[number] for number in which] == listed
    with pytest.raises(IndexError):
        sets[len(listed)]


@LAW
@given(st.lists(st.lists(st.integers(0, PLATFORM.num_processors - 1), unique=True, max_size=12), max_size=4))
def test_numbers_become_names_and_names_numbers(sets):
    # By the list of all names, which is as simple as can be.
    bits = [processors_of(members) for members in sets]
    names = names_of(PLATFORM.numbering, len(sets), intervals_of_bits(bits, PLATFORM.num_processors))
    assert [tuple(held) for held in names] == [tuple(NAMES[p] for p in sorted(members)) for members in sets]
    assert [held.texts for held in names] == [ProcessorNames(tuple(held)).texts for held in names]
    found = intervals_of(PLATFORM.numbering, names)
    members = [(h, p) for h, a, b in zip(found.holder, found.first, found.stop, strict=True) for p in range(a, b)]
    assert members == [(h, p) for h, members in enumerate(sets) for p in sorted(members)]


@pytest.mark.parametrize(
    "text", ["C1/4", "C1/1-2", "C1/2", "C1/0.0", "C1/2-3.0-2", "C1/0-3", "C2/0", "nowhere", "a-0/1/0-1.0-3"]
)
def test_names_of_no_processor_have_no_number(text):
    with pytest.raises(UnknownProcessorError, match=text):
        intervals_of(PLATFORM.numbering, [ProcessorNames(["C1/0"]), ProcessorNames([text])])


def test_a_large_set_is_shown_in_a_line():
    assert repr(ProcessorNames(["C1/0-127", "C1/130"])) == "<129 processors: C1/0-127, C1/130>"
    many = ProcessorNames([f"C1/{node}" for node in range(0, 20, 2)])
    assert repr(many) == "<10 processors: C1/0, C1/2, C1/4, C1/6, C1/8, C1/10, ... (10 ranges)>"
    assert repr(ProcessorNames()) == "<none>"


def test_consecutive_processors_are_written_as_ranges(tmp_path):
    placements = [
        Placement("J1", 0.0, 1.0, ["C1/0", "C1/1", "C1/2", "C1/4"]),
        Placement("J2", 0.0, 1.0, ["C2/0.2", "C2/0.3", "C2/1.0", "C2/1.1", "C2/1.2", "C2/1.3", "C2/2.0", "C2/2.1"]),
        Placement("J3", 0.0, 1.0, ["C1/6", "C1/5"]),
    ]
    write_schedule(Schedule(placements), tmp_path / "s.json")
    written = [p["nodes"] for p in json.loads((tmp_path / "s.json").read_text())["placements"]]
    assert written == [["C1/0-2", "C1/4"], ["C2/0.2-3", "C2/1.0-3", "C2/2.0-1"], ["C1/6", "C1/5"]]
    assert read_schedule(tmp_path / "s.json") == Schedule(placements)


BAD = ["C1/5-3", "C1/0-", "C1/-3", "C1/0-9999999999", "C1/0-3.1-", "C1/0-3-5", "C1/0-03", "C1/0.3-1", "C1/-"]


@pytest.mark.parametrize("text", BAD)
def test_a_bad_range_is_one_line(tmp_path, text):
    (tmp_path / "s.json").write_text(
        json.dumps(
            {
                "format": "coalloc-schedule",
                "version": 1,
                "placements": [{"job": "J1", "start": 0.0, "end": 1.0, "nodes": ["C1/0", text]}],
            }
        )
    )
    with pytest.raises(InstanceError) as caught:
        read_schedule(tmp_path / "s.json")
    assert (
        str(caught.value)
        .splitlines()[-1]
        .endswith(
            "placements[0].nodes[1]: must be a processor such as 'C1/0' or an ascending range such as 'C1/0-3' or "
            f"'C1/0-3.0-7' of at most 10000000 processors, got '{text}'"
        )
    )
    assert len(caught.value.faults) == 1


def test_a_huge_range_is_never_unfolded():
    # Ten million names would take half a gigabyte each time.
    names = ProcessorNames([f"C1/0-{MAX_PROCESSORS - 1}"])
    assert (len(names), names[-1], "C1/77" in names) == (MAX_PROCESSORS, f"C1/{MAX_PROCESSORS - 1}", True)
    assert names.ranges == (Range("C1", 0, MAX_PROCESSORS - 1),)
    schedule = Schedule([Placement("J1", 0.0, 1.0, names)])
    assert len(repr(schedule["J1"])) < 200


def platform_of(*groups: NodeGroup) -> Platform:
    return Platform([Cluster("C1", groups, 1.0)])


@pytest.mark.parametrize(
    ("nodes", "fault"),
    [
        ([["C1/0-9999999"]], "running[0].nodes: must be processors of the platform, got 'C1/0-9999999'"),
        ([["C1/0-1", "C1/1"]], "running[0].nodes: must not repeat 'C1/1' of running[0].nodes"),
        ([["C1/0-2"], ["C1/1-2", "C1/3"]], "running[1].nodes: must not repeat 'C1/1-2' of running[0].nodes"),
        ([["C1/4.0-1"], ["C1/4-5.1"]], "running[1].nodes: must not repeat 'C1/4.1' of running[0].nodes"),
        ([["C1/3-4"]], "running[0].nodes: must be processors of the platform, got 'C1/3-4'"),
    ],
)
def test_running_jobs_hold_ranges(nodes, fault):
    # Four nodes of one core, then two of two.
    platform = platform_of(NodeGroup(4, 1.0), NodeGroup(2, 1.0, cores=2))
    runs = [RunningJob(Job(f"R{i}", len(ProcessorNames(held)), 1.0), held, 1.0) for i, held in enumerate(nodes)]
    with pytest.raises(InstanceError) as caught:
        Instance(platform, [], runs)
    assert [str(f) for f in caught.value.faults] == [fault]


def test_running_jobs_that_are_apart_are_accepted():
    platform = platform_of(NodeGroup(4, 1.0), NodeGroup(2, 1.0, cores=2))
    held = [["C1/0-1", "C1/3"], ["C1/2"], ["C1/4-5.0"], ["C1/4-5.1"]]
    runs = [RunningJob(Job(f"R{i}", len(ProcessorNames(h)), 1.0), h, 1.0) for i, h in enumerate(held)]
    assert [run.nodes.texts for run in Instance(platform, [], runs).running] == [tuple(h) for h in held]


def test_intervals_of_sets_of_bits():
    # {0, 1, 2, 5}, none, {7}, {0, ..., 8}; the last processor is the last bit.
    sets = [0b100111, 0, 1 << 7, (1 << 9) - 1]
    found = intervals_of_bits(sets, 9)
    rows = np.stack([found.holder, found.first, found.stop], axis=1).tolist()
    assert rows == [[0, 0, 3], [0, 5, 6], [2, 7, 8], [3, 0, 9]]
