"""Hypothesis in every test: no clock, for machines differ; the same examples in every run of CI. And Ctrl-C works.

A shell that starts the tests in the background has them, and all programs that they start, ignore it.
"""

from __future__ import annotations

import os
import signal

import pytest
from hypothesis import settings

from coalloc.solvers import named_bounds  # noqa: F401 takes all rows of the portfolio before a test patches it
from coalloc.solvers.backends import cpsat

settings.register_profile("dev", deadline=None, print_blob=True)
settings.register_profile("ci", settings.get_profile("dev"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "dev")

signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(params=[pytest.param("with CP-SAT", marks=pytest.mark.extras), "without"])
def cpsat_or_not(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a test with the extra ``cpsat``, where it is installed, and as if it were not."""
    if request.param == "without":
        monkeypatch.setattr(cpsat, "is_installed", lambda: False)
    elif not cpsat.is_installed():
        pytest.skip("the extra cpsat is not installed")
