"""The door of functions: what is refused, in which words, and what goes in."""

import inspect
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal, Protocol, runtime_checkable

import numpy as np
import pytest

from coalloc.documents.arguments import public, require
from coalloc.documents.errors import CoallocError


@runtime_checkable
class Drawn(Protocol):
    """What has a size and can be drawn."""

    size: float

    def draw(self) -> None:
        """Draw it."""


@public
def paint(
    width: int,
    height: float = 1.0,
    *,
    colour: Literal["red", "blue"] = "red",
    where: str | os.PathLike[str] | None = None,
    dots: Sequence[float] = (),
    say: Callable[[str], None] | bool = False,
    seed: Annotated[int, "an integer of at least 0"] = 0,
    what: str | Drawn = "line",
    **extras: Any,
) -> tuple[Any, ...]:
    """Return what it was given."""
    return width, height, colour, where, dots, say, seed, what, extras


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"width": 2.0}, "width: must be an integer, got 2.0"),
        ({"width": True}, "width: must be an integer, got True"),
        ({"height": "3"}, "height: must be a number, got '3'"),
        ({"height": math.nan}, "height: must be a number, got nan"),
        ({"height": 10**400}, "height: must be a number, got a number with about 401 digits"),
        ({"height": None}, "height: must be a number, got None"),
        ({"colour": "green"}, "colour: must be 'red' or 'blue', got 'green'"),
        ({"colour": ["red"]}, "colour: must be 'red' or 'blue', got list"),
        ({"where": b"x"}, "where: must be a path or None, got bytes"),
        ({"where": ""}, "where: must not be empty"),
        ({"dots": "1, 2"}, "dots: must be a list, got '1, 2'"),
        ({"dots": [1, "2", None]}, "dots[1]: must be a number, got '2'\ndots[2]: must be a number, got None"),
        ({"say": "x"}, "say: must be a function or True or False, got 'x'"),
        ({"seed": 0.5}, "seed: must be an integer of at least 0, got 0.5"),
        ({"what": 3}, "what: must be a string or an object with size and draw, got 3"),
        ({"what": "\x1b[2J", "height": "\x1b"}, r"height: must be a number, got '\x1b'"),
        (
            {"width": object(), "seed": "x" * 99},
            "width: must be an integer, got object\nseed: must be an integer",
        ),
    ],
)
def test_an_argument_of_another_type_is_refused_with_a_line_for_each(arguments, message):
    with pytest.raises(CoallocError) as caught:
        paint(**({"width": 3} | arguments))
    assert str(caught.value).startswith(message)


def test_the_type_of_an_object_is_no_object():
    class Square:
        size = 3.0

        def draw(self):
            """Draw it."""

    assert isinstance(paint(3, what=Square())[7], Square)
    with pytest.raises(CoallocError, match=r"got the type Square; use Square\(\.\.\.\)$"):
        paint(3, what=Square)


def test_what_the_signature_admits_goes_in_as_it_is():
    assert paint(3, math.inf, dots=[1], say=print, tail=object) == (
        3,
        math.inf,
        "red",
        None,
        [1],
        print,
        0,
        "line",
        {"tail": object},
    )


def test_numbers_of_numpy_go_in_as_ours():
    given = paint(np.int64(3), np.float32(0.5), seed=np.uint8(7))
    assert [(type(number), number) for number in (given[0], given[1], given[6])] == [(int, 3), (float, 0.5), (int, 7)]


def test_a_type_that_only_type_checkers_know_is_for_the_function_to_judge():
    def shown(page: "Page", number: int) -> "Page":  # noqa: F821 - that it is not there is the test
        return page

    assert public(shown)("x", 3) == "x"
    with pytest.raises(CoallocError, match=r"^number: must be an integer, got 'x'$"):
        public(shown)("x", "x")


def test_a_number_is_no_truth_value():
    @public
    def told(aloud: bool) -> bool:
        return aloud

    assert told(True) is True
    with pytest.raises(CoallocError, match="aloud: must be True or False, got 1"):
        told(1)


def test_one_in_place_of_a_list_is_told_so():
    @public
    def listed(names: Sequence[str]) -> Sequence[str]:
        return names

    with pytest.raises(CoallocError, match=r"^names: must be a list, got 'a'; use a list with this element$"):
        listed("a")
    with pytest.raises(CoallocError, match=r"^names: must be a list, got 3$"):
        listed(3)


def test_mappings_and_iterables():
    @public
    def listed(options: Mapping[str, int], names: Iterable[str]) -> list[str]:
        return [*options, *names]

    assert listed({"a": 1}, (name for name in "bc")) == ["a", "b", "c"]
    with pytest.raises(CoallocError, match="options: must be a mapping, got list\nnames: must be a list, got 3"):
        listed([], 3)


def test_an_unknown_keyword_is_one_error_with_the_nearest_name():
    @public
    def draw(width: int, *, colour: str = "red") -> None:
        """Draw."""

    with pytest.raises(CoallocError) as caught:
        draw(3, color="blue", x=1)
    assert str(caught.value) == "unknown keyword color, x (did you mean colour?); known keywords: width, colour"


def test_a_missing_argument_is_pythons_own_error():
    with pytest.raises(TypeError, match=r"paint\(\) missing 1 required positional argument: 'width'"):
        paint()


def test_the_signature_and_the_documentation_stay():
    assert list(inspect.signature(paint).parameters)[:3] == ["width", "height", "colour"]
    assert (paint.__name__, paint.__doc__) == ("paint", "Return what it was given.")


def test_one_thing_can_be_asked_for():
    require("width", int, 3)
    with pytest.raises(CoallocError, match="width: must be an integer, got 'x'"):
        require("width", int, "x")
