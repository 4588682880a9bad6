"""Values held as columns are those of a tuple, wherever somebody looks."""

from __future__ import annotations

import copy
import json
import pickle
from array import array
from dataclasses import fields
from operator import attrgetter

import pytest
from hypothesis import given
from hypothesis import strategies as st

import coalloc
from coalloc import Cluster, Instance, InstanceError, Job, NodeGroup, Placement, Platform
from coalloc.documents.columns import FEW, Columns, by_name, column, gathered
from coalloc.documents.kinds import document_of
from coalloc.instance.files import INSTANCE, instance_hash
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


def written(tmp_path, change=lambda job, n: None):
    """Return the file of an instance of more jobs than are held as objects, each changed as it was parsed."""
    plain = [{"id": f"J{n}", "tasks": 1 + n % 4, "base_time": 1 + n, "user": f"u{n % 3}"} for n in range(2 * FEW + 7)]
    document = document_of(Instance(POOL, JOBS), INSTANCE) | {"version": 3, "jobs": plain}
    for n, job in enumerate(plain):
        change(job, n)
    path = tmp_path / "instance.json"
    path.write_text(json.dumps(document))
    return path, document


def partly(job, n):
    """State fields of some jobs alone: in no block, in all, from the second block on, in turn."""
    job |= {"arrival": n / 2} if n >= FEW else {}
    job |= {"estimate": 2.0 * n + 1} if n % 2 else {}
    job |= {"after": [f"J{n - 1}"]} if n % FEW == 5 else {}
    job |= {"lags": [{"after": "J0", "from": "start", "min": 1.0}], "times": {}} if n == FEW + 9 else {}


@pytest.mark.parametrize("change", [lambda job, n: None, partly], ids=["plain", "partly"])
def test_many_jobs_of_a_file_are_columns_that_equal_its_jobs(tmp_path, change):
    path, document = written(tmp_path, change)
    instance = coalloc.read_instance(path)
    plain = Instance(POOL, tuple(Job(**as_argument(job)) for job in document["jobs"]), name=instance.name)
    assert type(instance.jobs) is Columns
    assert instance == plain
    assert document_of(instance, INSTANCE) == document_of(plain, INSTANCE)
    assert instance_hash(instance) == instance_hash(plain)
    texts = []
    for one in (instance, plain):
        coalloc.write_instance(one, tmp_path / "again.json")
        texts.append((tmp_path / "again.json").read_bytes())
    assert texts[0] == texts[1]
    assert coalloc.read_instance(tmp_path / "again.json") == instance


def as_argument(job):
    """Return a parsed job as the arguments that make it."""
    return job | {"lags": [coalloc.Lag(lag["after"], "start", lag["min"]) for lag in job.get("lags", [])]}


WRONG = {
    "jobs[3].tasks: must be at least 1, got 0": lambda job: job.update(tasks=0),
    "jobs[3].tasks: must be an integer, got 2.5": lambda job: job.update(tasks=2.5),
    "jobs[3].base_time: is missing": lambda job: job.pop("base_time"),
    "jobs[3].estimate: must be a number, got null": lambda job: job.update(estimate=None),
    "jobs[3].arrival: must be finite, got NaN": lambda job: job.update(arrival=float("nan")),
    "jobs[3].id: must not repeat the job id 'J1' of jobs[1].id": lambda job: job.update(id="J1"),
    "jobs[3].eligible[0]: must be a cluster of the platform, got 'C9'": lambda job: job.update(eligible=["C9"]),
}


@pytest.mark.parametrize("line", WRONG)
def test_an_error_among_many_jobs_has_the_words_of_one_among_few(tmp_path, line):
    path, _ = written(tmp_path, lambda job, n: WRONG[line](job) if n == 3 else None)
    with pytest.raises(InstanceError) as caught:
        coalloc.read_instance(path)
    assert str(caught.value).splitlines() == [f"{path}: {line}"] or line in str(caught.value)


def test_many_values_that_are_made_one_after_another_become_columns():
    jobs = [Job(f"J{n}", 1, 1.0 + n, user="u" if n > FEW else None) for n in range(3 * FEW)]
    assert type(gathered(Job, iter(jobs))) is Columns
    assert gathered(Job, iter(jobs)) == tuple(jobs)
    assert gathered(Job, iter(jobs[:FEW])) == tuple(jobs[:FEW])
