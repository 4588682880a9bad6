"""What constraints, spreads and spending of the engine refuse: wrong indices, orders and numbers in their arrays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coalloc.documents.errors import InternalError
from coalloc.engine import Handle, engine
from coalloc.engine.library import DTYPES, Function
from tests.engine.test_library import made as made_problem
from tests.solvers.search.test_list_annealing import annealing_of, restricted

# One job in one cluster of one class. Other numbers and arrays are 0.
NUMBERS = {
    "constraints_new": {
        **dict.fromkeys(("num_jobs", "num_rows", "num_named", "num_calendars", "num_windows"), 1),
        **{"num_awaited": 1, "num_terms": 2},
    },
    "spreads_restrict": dict.fromkeys(
        ("num_shapes", "num_classes", "num_clusters", "num_spreads", "num_sets", "num_allowed"), 1
    ),
    "constraints_spend": dict.fromkeys(
        ("num_jobs", "num_classes", "num_clusters", "num_budgets", "num_vectors", "num_rows", "num_named"), 1
    ),
}
FIRSTS = ("awaited_first", "row_first", "window_first", "set_first", "allowed_first", "vector_first")
ARRAYS = {
    **{name: [0, 1] for name in FIRSTS},
    **{"term_first": [0, 2], "factor": [1, -1], "periods": [10.0], "lasts": [5.0], "least": [1]},
}


def arguments(function: str, *objects: Handle, **changes: Any) -> dict[str, Any]:
    """Return the arguments of a function by name, after changes."""
    found: dict[str, Any] = {}
    parameters = getattr(engine(), function).parameters
    given = iter(objects)
    for parameter in parameters:
        name = parameter.name
        if name == "made":
            continue
        if parameter.is_object and parameter.size is None:
            found[name] = next(given)
        elif parameter.size is None:
            found[name] = changes.get(name, NUMBERS[function].get(name, 0))
        else:
            size, dtype = parameter.size(found), DTYPES[parameter.kind]
            array = changes.get(name, ARRAYS.get(name, np.zeros(size)))
            found[name] = np.array(array, dtype) if len(array) == size else np.zeros(size, dtype)
    return found


def objects_of(function: str) -> tuple[Handle, ...]:
    """Return the objects that a function works on, in its order."""
    if function == "constraints_new":
        return ()
    problem = made_problem()
    return (problem,) if function == "spreads_restrict" else (call("constraints_new"), problem)


def call(function: str, **changes: Any) -> Any:
    """Call a function with arguments after changes."""
    return getattr(engine(), function)(*arguments(function, *objects_of(function), **changes).values())


@pytest.mark.parametrize("function", NUMBERS)
def test_right_arrays_are_taken(function):
    call(function)


@pytest.mark.parametrize(
    ("function", "name", "values", "fault"),
    [
        ("constraints_new", "awaited", [1], "is out of range"),
        ("constraints_new", "awaited_first", [0, 0], "is out of order"),
        ("constraints_new", "term_first", [1, 2], "is out of order"),
        ("constraints_new", "term_job", [0, -1], "is out of range"),
        ("constraints_new", "factor", [2, 0], "is out of range"),
        ("constraints_new", "row_first", [0, 2], "is out of order"),
        ("constraints_new", "row_of", [1], "is out of range"),
        ("constraints_new", "calendar_of", [1], "is out of range"),
        ("constraints_new", "calendar_of", [-2], "is out of range"),
        ("constraints_new", "window_first", [0, 0], "is out of order"),
        ("constraints_new", "periods", [0.0], "is out of range"),
        ("constraints_new", "offsets", [np.inf], "is not a number"),
        ("constraints_new", "lasts", [11.0], "is out of range"),
        ("constraints_new", "firsts", [6.0], "is out of range"),
        ("spreads_restrict", "cluster_of", [1], "is out of range"),
        ("spreads_restrict", "spread_of", [1], "is out of range"),
        ("spreads_restrict", "spread_of", [-2], "is out of range"),
        ("spreads_restrict", "most_clusters", [-1], "is out of range"),
        ("spreads_restrict", "least", [0], "is out of range"),
        ("spreads_restrict", "slices", [-1], "is out of range"),
        ("spreads_restrict", "set_first", [0, 2], "is out of order"),
        ("spreads_restrict", "allowed_first", [1, 1], "is out of order"),
        ("spreads_restrict", "allowed", [-1], "is out of range"),
        ("constraints_spend", "cluster_of", [1], "is out of range"),
        ("constraints_spend", "rooms", [-1], "is out of range"),
        ("constraints_spend", "vector_first", [0, 2], "is out of order"),
        ("constraints_spend", "vectors", [-1], "is out of range"),
        ("constraints_spend", "row_first", [0, 0], "is out of order"),
        ("constraints_spend", "row_job", [1], "is out of range"),
    ],
)
def test_what_is_in_arrays_is_checked(function, name, values, fault):
    with pytest.raises(InternalError, match=f"^{name} of {function} {fault}$"):
        call(function, **{name: values})


@pytest.mark.parametrize(
    ("function", "name"),
    [(f, p.name) for f in NUMBERS for p in getattr(engine(), f).parameters if p.size and p.kind == "double"],
)
def test_what_is_no_number_is_refused(function, name):
    with pytest.raises(InternalError, match=rf"^\w+ of {function} is (not a number|out of range)$"):
        call(function, **{name: [np.nan]})


@pytest.mark.parametrize(
    ("function", "number"),
    [
        ("spreads_restrict", "num_shapes"),
        ("spreads_restrict", "num_classes"),
        ("spreads_restrict", "num_clusters"),
        ("constraints_spend", "num_jobs"),
        ("constraints_spend", "num_classes"),
        ("constraints_spend", "num_clusters"),
        ("constraints_spend", "scope"),
    ],
)
def test_numbers_are_those_of_the_problem(function, number):
    with pytest.raises(InternalError, match=f"^{number} of {function} is out of range$"):
        call(function, **{number: 3})


def test_a_problem_is_restricted_once_and_constraints_spend_once():
    problem, constraints = made_problem(), call("constraints_new")
    for function, objects in (("spreads_restrict", (problem,)), ("constraints_spend", (constraints, problem))):
        given = arguments(function, *objects).values()
        getattr(engine(), function)(*given)
        with pytest.raises(InternalError, match=r"out of order$"):
            getattr(engine(), function)(*given)


WRONG = {
    "int64_t": (-(2**63), -2, -1, 0, 1, 2, 5, 2**31, 2**62, 2**63 - 1),
    "uint8_t": (0, 1, 2, 255),
    "double": (math.nan, -math.inf, math.inf, -1e308, 1e308, -1.0, 0.0, 5e-324, 0.5, 3.0),
}


def corrupted(data: st.DataObject, function: Function, given: Sequence[Any]) -> list[Any]:
    """Return arguments of a function with up to four numbers in its arrays changed."""
    parameters = [p for p in function.parameters if p.name != "made"]
    found = [a.copy() if isinstance(a, np.ndarray) else a for a in given]
    arrays = [(p.kind, a) for p, a in zip(parameters, found, strict=True) if isinstance(a, np.ndarray) and a.size]
    for _ in range(data.draw(st.integers(1, 4))):
        kind, array = data.draw(st.sampled_from(arrays))
        array.reshape(-1)[data.draw(st.integers(0, array.size - 1))] = data.draw(st.sampled_from(WRONG[kind]))
    return found


@settings(max_examples=200, deadline=None, derandomize=True)
@given(function=st.sampled_from(sorted(NUMBERS)), seed=st.integers(0, 39), data=st.data())
def test_lists_under_wrong_arrays_are_refused_or_end(function: str, seed: int, data: st.DataObject) -> None:
    with pytest.MonkeyPatch.context() as patch:
        right = getattr(engine(), function)
        patch.setattr(engine(), function, lambda *given: right(*corrupted(data, right, given)))
        for problem in restricted(seed):
            try:
                annealing = annealing_of(problem, "total-response-time")
            except InternalError:
                continue
            annealing.consider(range(len(problem.jobs)), [0] * len(problem.jobs))
            annealing.round(50)


def test_a_clock_too_far_from_0_to_tell_windows_apart_ends_a_list(monkeypatch: pytest.MonkeyPatch) -> None:
    right = engine().constraints_new
    names, numbers = [parameter.name for parameter in right.parameters if parameter.name != "made"], []

    def far(*given: Any) -> Handle:
        found = [a + 1e308 if name == "offsets" else a for name, a in zip(names, given, strict=True)]
        numbers.append(found[names.index("offsets")].size)
        return right(*found)

    monkeypatch.setattr(engine(), "constraints_new", far)
    for problem in restricted(4):
        annealing = annealing_of(problem, "total-response-time")
        annealing.consider(range(len(problem.jobs)), [0] * len(problem.jobs))
    assert any(numbers)
