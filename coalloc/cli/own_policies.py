"""Policies of the user's own by name: ``--policy module:Class``, with ``-p`` for the arguments of its constructor."""

from __future__ import annotations

import difflib
import importlib
import inspect
import os
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from coalloc.documents.text import quoted, visible
from coalloc.instance import CoallocError
from coalloc.simulator.policy import Policy
from coalloc.simulator.routing import RUNNABLE, Broker

SEPARATOR = ":"
"""What stands between module and class; no policy with a name of its own has it."""


def own_policy(text: str, options: Mapping[str, Any]) -> Policy | Broker:
    """Return a policy, or a broker, made from ``module:Class``; the module is looked for in the current folder first.

    Raises :class:`CoallocError` with what is wrong, in one line.
    """
    module_name, _, class_name = text.partition(SEPARATOR)
    found = _class_in(_imported(module_name), class_name)
    try:
        inspect.signature(found).bind(**options)
    except TypeError as error:
        raise CoallocError(f"{visible(text)}{inspect.signature(found)}: {error}") from None
    with faults_of(text):
        made = found(**options)
    if not isinstance(made, (Policy, Broker)):
        raise CoallocError(f"{visible(text)} is no policy: it must have {RUNNABLE}")
    return made


@contextmanager
def faults_of(text: str) -> Iterator[None]:
    """Raise what the code of ``module:Class`` raises while the block runs as an error of that policy, in one line."""
    module = sys.modules[text.partition(SEPARATOR)[0]]
    try:
        yield
    except CoallocError:
        raise
    except Exception as error:
        own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == module.__file__]
        if not own:
            raise
        where = f"{os.path.basename(own[-1].filename)}, line {own[-1].lineno}"
        raise CoallocError(f"{visible(text)} raised {_described(error)} ({where})") from error


def _imported(name: str) -> ModuleType:
    """Return a module by name."""
    folder = os.getcwd()
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise CoallocError(f"--policy: there is no module {quoted(name)} here or among those installed") from None
        raise CoallocError(f"--policy: module {quoted(name)} cannot be imported: {_described(error)}") from error
    except Exception as error:
        raise CoallocError(f"--policy: module {quoted(name)} cannot be imported: {_described(error)}") from error


def _class_in(module: ModuleType, name: str) -> Any:
    """Return a class of a module by name."""
    found = vars(module).get(name)
    if inspect.isclass(found):
        return found
    classes = [known for known, value in vars(module).items() if inspect.isclass(value)]
    near = difflib.get_close_matches(name, classes, 1)
    hint = f" (did you mean {quoted(near[0])}?)" if near else ""
    raise CoallocError(f"--policy: module {quoted(module.__name__)} has no class {quoted(name)}{hint}")


def _described(error: Exception) -> str:
    """Return the type and the message of an error as one line."""
    return visible(" ".join(f"{type(error).__name__}: {error}".split()))
