"""JSON Schemas: valid themselves, they accept what we write and refuse the faults of fields."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from jsonschema import Draft202012Validator

from coalloc.api.schemas import KINDS, schema
from coalloc.documents.kinds import document_of
from coalloc.instance import CoallocError
from coalloc.instance.files import INSTANCE, PLATFORM
from coalloc.schedule.files import SCHEDULE
from tests.instance.documents import CROSS_FAULTS, FIELD_FAULTS, FIXTURES, VALID, broken
from tests.instance.test_files import odd_instances
from tests.strategies import LAW, instances, list_schedule

VALIDATORS = {kind: Draft202012Validator(schema(kind)) for kind in ("instance", "platform", "schedule")}


@pytest.mark.parametrize("kind", VALIDATORS)
def test_a_schema_is_valid_json_schema(kind):
    Draft202012Validator.check_schema(schema(kind))
    assert json.loads(json.dumps(schema(kind))) == schema(kind)
    assert schema(kind)["title"] == f"coalloc-{kind}"


@pytest.mark.parametrize("kind", VALIDATORS)
def test_stored_files_are_accepted(kind):
    VALIDATORS[kind].validate(json.loads((FIXTURES / f"{kind}-v1.json").read_text()))


@LAW
@given(odd_instances())
def test_every_instance_that_we_write_is_accepted(instance):
    VALIDATORS["instance"].validate(document_of(instance, INSTANCE))
    VALIDATORS["platform"].validate(document_of(instance.platform, PLATFORM))


@LAW
@given(instances())
def test_every_schedule_that_we_write_is_accepted(instance):
    _, schedule = list_schedule(instance)
    VALIDATORS["schedule"].validate(document_of(schedule, SCHEDULE))


HALF_CHARACTERS = "half a character"  # no JSON Schema can say that


def accepted(faults):
    """Return the names of those faults of the valid document that its schema does not see."""
    return [
        name
        for name, (place, content, _) in faults.items()
        if VALIDATORS["instance"].is_valid(broken((place, content)))
    ]


def test_the_schema_refuses_faults_of_fields_and_no_others():
    # This keeps the two tables of faults apart: what a schema can say is to be said by it.
    assert VALIDATORS["instance"].is_valid(VALID)
    assert accepted(FIELD_FAULTS) == [HALF_CHARACTERS]
    assert accepted(CROSS_FAULTS) == list(CROSS_FAULTS)


def test_an_estimate_is_a_number_or_absent():
    estimate = schema("instance")["$defs"]["Job"]["properties"]["estimate"]
    assert (estimate.pop("type"), estimate.pop("exclusiveMinimum"), estimate.pop("maximum")) == ("number", 0, 1e100)
    assert estimate == {
        "description": "Requested walltime (user estimate of the reference run time), s. None: the reference run time."
    }
    assert "estimate" not in schema("instance")["$defs"]["Job"]["required"]


def test_an_unknown_kind_lists_those_known():
    with pytest.raises(CoallocError, match=r"^unknown file format 'swf'; available: instance, platform, schedule"):
        schema("swf")


@pytest.mark.parametrize("kind", KINDS)
def test_every_property_is_described(kind):
    described = schema(kind)
    holders = [described, *described.get("$defs", {}).values()]
    properties = {name: part for holder in holders for name, part in holder.get("properties", {}).items()}
    assert len(properties) >= 5
    assert [name for name, part in properties.items() if not part["description"].endswith(".")] == []
    assert [name for name, part in properties.items() if "`" in part["description"]] == []


def test_a_description_has_the_unit():
    properties = schema("instance")["$defs"]["Job"]["properties"]
    units = {"base_time": " s:", "task_bandwidth": "MB/s", "memory": "MB", "arrival": " s", "deadline": " s."}
    assert [name for name, unit in units.items() if unit not in properties[name]["description"]] == []
