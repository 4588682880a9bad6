"""What a user may hand over by mistake: one line that says so, from every public function."""

import inspect

import numpy as np
import pytest

import coalloc
from coalloc import CoallocError, Instance, InstanceError, Placement, Schedule
from coalloc.documents.errors import ArgumentError
from tests.public import PUBLIC

FUNCTIONS = [name for name, value in PUBLIC.items() if inspect.isfunction(value)]


def parameters(name):
    """Return the names of the parameters of a function, without ``**options``."""
    found = inspect.signature(PUBLIC[name]).parameters.values()
    return [parameter.name for parameter in found if parameter.kind is not parameter.VAR_KEYWORD]


@pytest.fixture(scope="module")
def instance():
    return coalloc.example("mesd-example")


@pytest.fixture(scope="module")
def schedule(instance):
    return coalloc.simulate(instance, "fcfs").schedule


def test_every_argument_of_every_function_has_a_type():
    # All are wrong at once, and each gets its line: nothing has a chance to run.
    for name in filter(parameters, FUNCTIONS):
        with pytest.raises(ArgumentError) as caught:
            PUBLIC[name](**{parameter: object() for parameter in parameters(name)})
        lines = str(caught.value).splitlines()
        assert [line.partition(": must be ")[0] for line in lines] == parameters(name)
        assert {line.rpartition(", got ")[2] for line in lines} == {"object"}


def test_no_function_swallows_a_misspelt_keyword():
    parameters = {name: inspect.signature(PUBLIC[name]).parameters.values() for name in FUNCTIONS}
    takes_any = [name for name, found in parameters.items() if any(p.kind is p.VAR_KEYWORD for p in found)]
    assert sorted(takes_any) == ["coalloc.generate", "coalloc.simulate"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda i, s: coalloc.solve(i, formulation=object()),
            "formulation: must be a string or an object with build and ext",
        ),
        (lambda i, s: coalloc.solve(i, time_limit=float("nan")), "time_limit: must be a number or None, got nan"),
        (lambda i, s: coalloc.solve(i, start=i), "start: must be a Schedule or None, got Instance"),
        (
            lambda i, s: coalloc.write_instance("i.json", i),
            "instance: must be an Instance, got 'i.json'; coalloc.read_inst",
        ),
        (
            lambda i, s: coalloc.write_schedule("s.json", s),
            "schedule: must be a Schedule, got 's.json'; coalloc.read_sched",
        ),
        (lambda i, s: coalloc.write_instance(s, "i.json"), "instance: must be an Instance, got Schedule"),
        (lambda i, s: coalloc.read_instance(None), "path: must be a path, got None"),
        (lambda i, s: coalloc.read_schedule(3), "path: must be a path, got 3"),
        (lambda i, s: coalloc.gantt(None, s), "instance: must be an Instance, got None"),
        (
            lambda i, s: coalloc.check(s, i),
            "instance: must be an Instance, got Schedule\nschedule: must be a Schedule, got In",
        ),
        (
            lambda i, s: coalloc.check(i, None),
            "schedule: must be a Schedule, got None; a result without a schedule has schedule None",
        ),
        (lambda i, s: coalloc.generate(None), "name: must be a string, got None"),
        (lambda i, s: coalloc.example(3), "name: must be a string, got 3"),
        (
            lambda i, s: coalloc.compare("x", ["easy"]),
            "instance: must be an Instance, got 'x'; coalloc.read_instance(path)",
        ),
        (
            lambda i, s: coalloc.compare(i, {"a": 3}),
            "policies['a']: must be a name, a mapping with its options or have",
        ),
        (lambda i, s: coalloc.compare(i, {"a": {"policy": 3}}), "policies['a']['policy']: must be a string, got 3"),
        (lambda i, s: coalloc.compare(i, {3: {}}), "label: must be a string, got 3"),
        (
            lambda i, s: coalloc.compare(i, [3]),
            "policy must be a name or have scope and decide(state), or scope",
        ),
        (lambda i, s: coalloc.studies.energy_front(i, points=10**40), "points: must be from 2 to 10000, got 1000"),
        (lambda i, s: coalloc.slot_study(5), "instances: must be an Instance or a list, got 5"),
        (lambda i, s: coalloc.slot_study(i, [None]), "fractions[0]: must be a finite number above 0, such as"),
        (lambda i, s: coalloc.solve(i, constraints=[3]), "constraints[0]: must be a Constraint, got 3"),
        (lambda i, s: coalloc.lower_bound(i, objective=3), "objective: must be a string or an Objective, got 3"),
        (lambda i, s: coalloc.schedule_of_model(i), "model: must be a model of coalloc.build_model, got Instance"),
        (lambda i, s: coalloc.lower_bound("x"), "instance: must be an Instance, got 'x'"),
        (
            lambda i, s: coalloc.simulate(i, "easy", allocation=s),
            "allocation of policy 'easy' must be one of fastest-first",
        ),
        (lambda i, s: Instance(i.platform, s), "jobs[0]: must be an object, got Placement"),
        (lambda i, s: i.platform.replace(clusters=np.array([1.0, 2.0])), "clusters[0]: must be an object, got 1.0"),
        (lambda i, s: Schedule([Placement]), "placements[0]: must be an object, got "),
    ],
)
def test_a_mistake_is_said_in_one_line(instance, schedule, call, message):
    with pytest.raises(CoallocError) as caught:
        call(instance, schedule)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda i: coalloc.solve(i, time_limt=1.0), TypeError),
        (lambda i: coalloc.simulate(i, "easy", kil=True), TypeError),
        (lambda i: coalloc.generate("thesis-oas", job=3), TypeError),
        (lambda i: coalloc.solve(i, threads="two"), TypeError),
        (lambda i: coalloc.solve(i, threads=0), ValueError),
        (lambda i: coalloc.solve(i, time_limit=-1.0), ValueError),
        (lambda i: coalloc.simulate(i, "easy", queue_order="first"), ValueError),
        (lambda i: coalloc.generate("thesis-oas", jobs=-1), ValueError),
        (lambda i: coalloc.read_swf("no.swf", 16, invalid="keep"), ValueError),
    ],
)
def test_wrong_calls_are_errors_of_python_as_well(instance, call, error):
    # As for functions of Python, and none says that an instance is wrong.
    with pytest.raises(CoallocError) as caught:
        call(instance)
    assert isinstance(caught.value, error)
    assert not isinstance(caught.value, InstanceError)


def test_numbers_of_numpy_are_numbers():
    instance = coalloc.generate("paper-oas", seed=np.int64(1), jobs=np.int64(3))
    assert instance == coalloc.generate("paper-oas", seed=1, jobs=3)
    result = coalloc.solve(
        instance, slot=np.float64(100_000), time_limit=np.float32(20), seed=np.int64(3), threads=np.int8(1)
    )
    assert (result.options.slot, result.options.time_limit, result.options.seed) == (100_000.0, 20.0, 3)
    assert {type(number) for number in (result.options.slot, result.options.time_limit)} == {float}
