"""Machine code, and Ctrl-C while it is made."""

from __future__ import annotations

import signal

import pytest
from numba.extending import overload

from coalloc.solvers.machine_code import compiled


def one_more(number: int) -> int:
    return number + 1


@overload(one_more)
def _interrupted_while_compiled(number):
    signal.raise_signal(signal.SIGINT)
    return lambda number: number + 1


def test_ctrl_c_waits_until_the_code_is_made():
    # Of a function without a file numba keeps nothing, so that it is compiled in each run.
    scope = {"one_more": one_more}
    exec("def two_more(number):\n    return one_more(one_more(number))", scope)
    two_more = compiled(scope["two_more"])
    with pytest.raises(KeyboardInterrupt):
        two_more(1)
    assert two_more(1) == 3
    assert two_more.nopython_signatures
