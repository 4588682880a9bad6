"""Hypothesis in every test: no clock, for machines differ; the same examples in every run of CI. And Ctrl-C works.

A shell that starts the tests in the background has them, and all programs that they start, ignore it.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import settings

from coalloc.solvers import named_bounds  # noqa: F401 takes all rows of the portfolio before a test patches it
from coalloc.solvers.backends import cpsat
from coalloc.system.extras import is_installed
from coalloc.system.garbage import no_collection
from tests.extras import NO_PICTURES
from tests.in_process import InProcess
from tests.slow import is_slow

settings.register_profile("dev", deadline=None, print_blob=True)
settings.register_profile("ci", settings.get_profile("dev"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "dev")

PICTURES = ("bench/test_report.py", *(f"benchmarks/test_{name}.py" for name in ("cisne", "exact", "thesis")))
"""Files of tests, besides those of the folder ``plot``, that are all of pictures or import what draws."""


class WithoutPictures(pytest.Module):
    """A file of tests that is skipped whole: the extra ``plot`` is not installed."""

    def collect(self) -> NoReturn:
        """Say why no test is here."""
        pytest.skip(NO_PICTURES, allow_module_level=True)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """Give each file of tests to one of the processes of ``-n``: what it sets up once is set up once."""
    if getattr(config.option, "dist", None) == "no" and getattr(config.option, "numprocesses", None):
        config.option.dist = "loadfile"


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """Skip files of pictures where nothing can be drawn."""
    draws = module_path.parent.name == "plot" or module_path.as_posix().endswith(PICTURES)
    return None if is_installed("matplotlib") or not draws else WithoutPictures.from_parent(parent, path=module_path)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no file of slow tests where these are left out."""
    return True if config.option.markexpr == "not slow" and is_slow(collection_path) else None


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector from the tests, which all stay to the end."""
    with no_collection():
        collected = yield
    gc.freeze()
    return collected


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what takes long."""
    for item in items:
        is_law = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
        if is_law or is_slow(item.path, getattr(item, "originalname", item.name)):
            item.add_marker("slow")


signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(params=[pytest.param("with CP-SAT", marks=pytest.mark.extras), "without"])
def cpsat_or_not(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a test with the extra ``cpsat``, where it is installed, and as if it were not."""
    if request.param == "without":
        monkeypatch.setattr(cpsat, "is_installed", lambda: False)
    elif not cpsat.is_installed():
        pytest.skip("the extra cpsat is not installed")


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let studies run in this process what they ask workers for."""
    for study in ("grid", "runs"):
        monkeypatch.setattr(f"coalloc.studies.{study}.LocalWorkers", InProcess)
