"""Values held as columns are those of a tuple, wherever somebody looks."""

from __future__ import annotations

import copy
import pickle
from array import array
from dataclasses import fields
from operator import attrgetter

import pytest
from hypothesis import given
from hypothesis import strategies as st

import coalloc
from coalloc import Cluster, Instance, InstanceError, Job, NodeGroup, Placement, Platform
from coalloc.documents.kinds import document_of
from coalloc.instance.columns import Columns, by_name, column
from coalloc.instance.files import INSTANCE
from coalloc.instance.processor_names import ProcessorNames
from tests.instance.test_features import EXAMPLES
from tests.strategies import LAW

POOL = Platform([Cluster("C1", [NodeGroup(4, power=1.0)], link_bandwidth=10.0)])
JOBS = tuple(Job(f"J{n}", tasks=n, base_time=10.0 * n, arrival=float(n), user=f"u{n % 2}") for n in (1, 2, 3))


def as_columns(jobs, names=None):
    """Return jobs as columns of these fields, or of all."""
    names = names or [field.name for field in fields(Job)]
    return Columns(Job, {name: list(map(attrgetter(name), jobs)) for name in names})


def trace():
    """Return ``JOBS`` as a reader fills them in: the fields that others have are their defaults."""
    columns = {"id": ["J1", "J2", "J3"], "tasks": array("q", [1, 2, 3]), "user": ["u1", "u0", "u1"]}
    columns |= {name: array("d", [10.0, 20.0, 30.0]) for name in ("base_time", "estimate")}
    return Columns(Job, columns | {"arrival": array("d", [1.0, 2.0, 3.0])})


def test_columns_equal_the_tuple_of_their_values():
    jobs = trace()
    assert jobs == JOBS
    assert jobs == JOBS
    assert jobs == as_columns(JOBS)
    assert jobs not in (JOBS[:2], list(JOBS), as_columns(JOBS[::-1]))
    assert (len(jobs), hash(jobs), repr(jobs)) == (3, hash(JOBS), repr(JOBS))
    assert [type(getattr(jobs[0], field.name)) for field in fields(Job)] == [
        type(getattr(JOBS[0], field.name)) for field in fields(Job)
    ]
    for same in (copy.deepcopy(jobs), pickle.loads(pickle.dumps(jobs))):
        assert same == jobs


@LAW
@given(st.integers(-3, 2), st.slices(3))
def test_columns_are_a_sequence_as_the_tuple_is(place, part):
    jobs = trace()
    assert jobs[place] == JOBS[place]
    assert jobs[part] == JOBS[part]
    assert tuple(reversed(jobs)) == JOBS[::-1]
    assert (jobs.index(JOBS[place]), jobs.count(JOBS[0]), JOBS[1] in jobs) == (place % 3, 1, True)
    assert (jobs + JOBS[:1], JOBS[:1] + jobs) == (JOBS + JOBS[:1], JOBS[:1] + JOBS)
    with pytest.raises(IndexError):
        jobs[3]


@pytest.mark.parametrize("jobs", [JOBS, trace()], ids=["tuple", "columns"])
def test_fields_and_names_are_read_of_both(jobs):
    assert list(column(jobs, "arrival")) == [1.0, 2.0, 3.0]
    assert list(column(jobs, "weight")) == [1.0, 1.0, 1.0]
    found = by_name(jobs, "id")
    assert (list(found), len(found), found["J2"], found.get("J4")) == (["J1", "J2", "J3"], 3, JOBS[1], None)
    assert ("J3" in found, "J4" in found) == (True, False)


@pytest.mark.parametrize("feature", EXAMPLES)
def test_an_instance_of_columns_is_that_of_the_jobs(feature):
    plain = EXAMPLES[feature]
    stated = [f.name for f in fields(Job) if f.name == "id" or any(getattr(j, f.name) != f.default for j in plain.jobs)]
    instance = plain.replace(jobs=as_columns(plain.jobs, stated))
    assert instance == plain
    assert plain == instance
    assert hash(instance) == hash(plain)
    for derived in ("features", "origin", "time_base", "mean_base_time", "largest_task_memory", "resources_asked"):
        assert getattr(instance, derived) == getattr(plain, derived)
    assert instance.replace(name="other").jobs is instance.jobs
    assert document_of(instance, INSTANCE) == document_of(plain, INSTANCE)
    assert coalloc.solve(instance).schedule == coalloc.solve(plain).schedule


def test_an_instance_of_columns_has_the_faults_of_the_jobs():
    # Of each kind one: an id that is there twice, a job that is too large, and one that names no cluster.
    jobs = [JOBS[0], Job("J1", 5, 1.0), Job("J3", 1, 1.0, eligible=["C2"])]
    messages = []
    for listed in (jobs, as_columns(jobs)):
        with pytest.raises(InstanceError) as caught:
            Instance(POOL, listed)
        messages.append(str(caught.value).splitlines())
    assert (
        messages[0]
        == messages[1]
        == [
            "jobs[1].id: must not repeat the job id 'J1' of jobs[0].id",
            "jobs[1].tasks: must be at most 4 (all processors of the platform), got 5",
            "jobs[2].eligible[0]: must be a cluster of the platform, got 'C2'",
        ]
    )


def test_columns_of_other_values_are_no_jobs():
    placements = Columns(Placement, {"job": ["J1"], "start": [0.0], "end": [1.0], "nodes": [ProcessorNames(["C1/0"])]})
    with pytest.raises(InstanceError, match=r"jobs\[0\]: must be an object"):
        Instance(POOL, placements)
