"""Policies of the user's own by name: ``--policy module:Class``, with ``-p`` for the arguments of its constructor."""

from __future__ import annotations

import difflib
import importlib
import inspect
import os
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from coalloc.documents.text import quoted, visible
from coalloc.instance import CoallocError
from coalloc.simulator.policy import Policy
from coalloc.simulator.routing import RUNNABLE, Broker

SEPARATOR = ":"
"""What stands between module and class; no policy with a name of its own has it."""

CALLS = {
    "decide": ("state",),
    "begin": ("state",),
    "arrived": ("state", "job"),
    "ended": ("state", "running"),
    "tally": (),
}
"""What the methods of a policy are called with, where it has them."""


def own_policy(text: str, options: Mapping[str, Any]) -> Policy | Broker:
    """Return a policy, or a broker, made from ``module:Class``; the module is looked for in the current folder first.

    Raises :class:`CoallocError` with what is wrong, in one line.
    """
    module_name, _, class_name = text.partition(SEPARATOR)
    if not module_name or not class_name:
        raise CoallocError(f"--policy: must be module:Class, got {quoted(text)}")
    found = _class_in(_imported(module_name), class_name)
    try:
        inspect.signature(found).bind(**options)
    except TypeError as error:
        raise CoallocError(f"{visible(text)}{inspect.signature(found)}: {error}") from None
    with faults_of(text):
        made = found(**options)
        chosen: Policy | Broker | None = made if isinstance(made, (Policy, Broker)) else None
    if chosen is None:
        raise CoallocError(f"{visible(text)} is not a policy: it must have {RUNNABLE}")
    if isinstance(chosen, Policy):
        for name, arguments in CALLS.items():
            _check_call(text, name, getattr(chosen, name, None), arguments)
    return chosen


@contextmanager
def faults_of(text: str) -> Iterator[None]:
    """Raise what the code of ``module:Class`` raises while the block runs as an error of that policy, in one line.

    The line says where the run was, if it had begun.
    """
    module_name, _, class_name = text.partition(SEPARATOR)
    files = _files_of(vars(sys.modules[module_name])[class_name])
    try:
        yield
    except CoallocError:
        raise
    except (Exception, SystemExit) as error:
        own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in files]
        if not own:
            raise
        line = f"{os.path.basename(own[-1].filename)}, line {own[-1].lineno}"
        where = "; ".join([line, *map(visible, getattr(error, "__notes__", ()))])
        raise CoallocError(f"{visible(text)} raised {_described(error)} ({where})") from error


def _check_call(text: str, name: str, method: object, arguments: Sequence[str]) -> None:
    """Raise where a method is there that cannot be called with these arguments."""
    if not callable(method):
        return
    try:
        inspect.signature(method).bind(*arguments)
    except TypeError:
        expected = f"{name}({', '.join(arguments)})"
        raise CoallocError(
            f"{visible(text)}: {name}{inspect.signature(method)} must accept the call {expected}"
        ) from None


def _files_of(found: type) -> set[str | None]:
    """Return the files with the code of a class: its own, and those of the classes it is made from."""
    modules = (sys.modules.get(base.__module__) for base in found.__mro__)
    return {getattr(module, "__file__", None) for module in modules}


def _imported(name: str) -> ModuleType:
    """Return a module by name."""
    folder = os.getcwd()
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise CoallocError(
                f"--policy: module {quoted(name)} is neither in the current folder nor installed"
            ) from None
        raise CoallocError(f"--policy: module {quoted(name)} cannot be imported: {_described(error)}") from error
    except (Exception, SystemExit) as error:
        raise CoallocError(f"--policy: module {quoted(name)} cannot be imported: {_described(error)}") from error


def _class_in(module: ModuleType, name: str) -> Any:
    """Return a class of a module by name."""
    found = vars(module).get(name)
    if inspect.isclass(found):
        return found
    classes = [known for known, value in vars(module).items() if inspect.isclass(value)]
    near = difflib.get_close_matches(name, classes, 1)
    policies = [known for known in classes if hasattr(vars(module)[known], "decide")]
    hint = f" (did you mean {quoted(near[0])}?)" if near else f"; its policies: {', '.join(policies) or 'none'}"
    raise CoallocError(f"--policy: module {quoted(module.__name__)} has no class {quoted(name)}{hint}")


def _described(error: BaseException) -> str:
    """Return the type and the message of an error as one line."""
    return visible(" ".join(f"{type(error).__name__}: {error}".split()))
