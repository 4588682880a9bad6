"""Values that are made, or copied, without any check."""

import dataclasses
import pickle

import pytest

from coalloc.documents.values import copying, unchecked
from coalloc.instance import Job
from coalloc.schedule import Placement

JOB = Job("J1", tasks=3, base_time=5.0, processing_share=0.5, task_bandwidth=2.0, estimate=9.0, user="u", memory=7.0)


@pytest.mark.parametrize("made", [JOB, Placement("J1", 1.0, 2.0, ("n1",))], ids=["job", "placement"])
def test_what_is_made_unchecked_is_what_is_made_with_checks(made):
    same = unchecked(type(made))(*(getattr(made, field.name) for field in dataclasses.fields(made)))
    assert type(same) is type(made)
    assert (same, hash(same), repr(same)) == (made, hash(made), repr(made))


def test_a_copy_takes_a_field_from_another_one_and_all_others_as_they_are():
    assert copying(Job, base_time="estimate")(JOB) == JOB.replace(base_time=9.0)


def test_a_copy_cannot_be_changed_and_can_be_pickled():
    copy = copying(Job)(JOB)
    with pytest.raises(dataclasses.FrozenInstanceError):
        copy.tasks = 4
    assert pickle.loads(pickle.dumps(copy)) == JOB
