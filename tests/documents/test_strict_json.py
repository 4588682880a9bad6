"""What JSON can hold."""

import json
import math

import numpy as np
import pytest

from coalloc.documents.strict_json import parse, plain


def test_plain_is_what_json_can_hold():
    given = {"a": (np.float64(0.5), np.int64(3), math.inf), 2: [math.nan, None, np.str_("x"), True]}
    assert plain(given) == {"a": [0.5, 3, None], "2": [None, None, "x", True]}
    assert json.dumps(plain(given), allow_nan=False) == '{"a": [0.5, 3, null], "2": [null, null, "x", true]}'


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ('{"a": [1, 2,]}', "trailing comma"),
        ('{"a": 1,\n}', "trailing comma"),
        ('{"a": 1,', "trailing comma"),
        ('// mine\n{"a": 1}', "JSON does not allow comments"),
        ('{"a": 1, # one\n"b": 2}', "JSON does not allow comments"),
        ('{"a" 1}', "Expecting ':' delimiter"),
    ],
)
def test_what_other_dialects_allow_is_called_by_its_name(text, cause):
    with pytest.raises(ValueError, match=rf"^is not JSON: {cause} \(line "):
        parse(text.encode())
