"""What JSON can hold."""

import json
import math

import numpy as np

from coalloc.documents.strict_json import plain


def test_plain_is_what_json_can_hold():
    given = {"a": (np.float64(0.5), np.int64(3), math.inf), 2: [math.nan, None, np.str_("x"), True]}
    assert plain(given) == {"a": [0.5, 3, None], "2": [None, None, "x", True]}
    assert json.dumps(plain(given), allow_nan=False) == '{"a": [0.5, 3, null], "2": [null, null, "x", true]}'
