"""The instances of a study: one, several, none of one name twice."""

import pytest

import coalloc
from coalloc import CoallocError
from coalloc.studies.instances import instances_of


def test_one_instance_and_several():
    first, second = coalloc.example("mesd-example"), coalloc.example("pas-figure-3.3")
    assert instances_of(first) == [first]
    assert instances_of(iter([first, second])) == [first, second]


@pytest.mark.parametrize("study", [lambda given: coalloc.compare(given, ["fcfs"]), coalloc.slot_study])
def test_rows_that_could_not_be_told_apart_are_refused(study):
    twice = [coalloc.example("mesd-example")] * 2
    with pytest.raises(CoallocError, match=r"distinct names, got mesd-example more than once; use instance\.replace"):
        study(twice)


@pytest.mark.parametrize("given", ["wl1.json", None, 3, ["wl1.json"]])
def test_what_is_no_instance_is_refused(given):
    with pytest.raises(CoallocError, match="instance: must be an Instance, got "):
        instances_of(given)
