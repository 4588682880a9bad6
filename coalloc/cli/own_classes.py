"""Policies, orders, objectives and constraints of the user's own: ``module:Class``, and options of the constructor."""

from __future__ import annotations

import difflib
import importlib
import inspect
import os
import re
import sys
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from coalloc.cli.pairs import parameters_of
from coalloc.documents.text import quoted, visible
from coalloc.heuristics.registry import ORDERING
from coalloc.instance import CoallocError
from coalloc.instance.constraints import Constraint
from coalloc.objectives import OBJECTIVES, Objective, RegularObjective
from coalloc.rules.orders import QueueOrder
from coalloc.simulator.policy import Policy
from coalloc.simulator.routing import RUNNABLE, Broker

SEPARATOR = ":"
"""Separator of module and class; no built-in name contains it."""

COMMA = re.compile(r",(?=[A-Za-z_][\w.:-]*(?:[, ]|$))")
"""Separator of objectives, for lexicographic optimization; commas in values of options do not separate."""

PACKAGE = "coalloc."


@dataclass(frozen=True, slots=True)
class ObjectKind:
    """Kind of object that an option of the shell takes: its name, the accepted types, and the requirement in words."""

    option: str
    plural: str
    types: tuple[type, ...]
    wanted: str
    method: str = ""
    """Method of a class of the kind that need not be derived from another class."""

    def may_make(self, found: object) -> bool:
        """Return whether this is a class of a user that seems to be of the kind."""
        if not inspect.isclass(found) or found.__module__.startswith(PACKAGE):
            return False
        return hasattr(found, self.method) if self.method else issubclass(found, self.types)


POLICY = ObjectKind("--policy", "policies", (Policy, Broker), f"is not a policy: it must have {RUNNABLE}", "decide")
ORDER = ObjectKind(
    "queue order", "queue orders", (QueueOrder,), f"is not a queue order: it must have {ORDERING}", "key"
)
OBJECTIVE = ObjectKind(
    "--objective", "objectives", (Objective,), f"is not an objective: it must be a {RegularObjective.__name__}"
)
CONSTRAINT = ObjectKind(
    "--constraint", "constraints", (Constraint,), f"is not a constraint: it must be a {Constraint.__name__}"
)

ORDER_OPTIONS = ("queue_order", "candidates")
"""Options of policies that are orders of a queue."""

CALLS = {
    "decide": ("state",),
    "begin": ("state",),
    "arrived": ("state", "job"),
    "ended": ("state", "running"),
    "tally": (),
}
"""Arguments with which the methods of a policy are called, where it has them."""


def own_policy(text: str, options: Mapping[str, Any]) -> Policy | Broker:
    """Return a policy, or a broker, made from ``module:Class``; raise where its methods cannot be called."""
    chosen: Policy | Broker = _own(POLICY, text, options)
    if isinstance(chosen, Policy):
        for name, arguments in CALLS.items():
            _check_call(text, name, getattr(chosen, name, None), arguments)
    return chosen


def with_own_orders(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a policy with the queue orders that ``module:Class`` makes in place of their names."""
    return {name: _own_order(given) if name in ORDER_OPTIONS else given for name, given in options.items()}


def _own_order(given: Any) -> Any:
    """Return the order that a name makes, alone or with options; what is no ``module:Class`` stays as it is."""
    options = dict(given) if isinstance(given, Mapping) else {"order": given}
    name = options.pop("order", None)
    return _own(ORDER, name, options) if isinstance(name, str) and SEPARATOR in name else given


def objectives_of(text: str) -> str | Objective | tuple[str | Objective, ...]:
    """Return the objectives, separated by commas, that a text names: names, and those of the user's own."""
    found = tuple(map(_objective_of, COMMA.split(text)))
    return found if len(found) > 1 else found[0]


def _objective_of(text: str) -> str | Objective:
    name = text.partition(" ")[0]
    if SEPARATOR not in name:
        return text
    made: Objective = _own(OBJECTIVE, *_parts(text, OBJECTIVE))
    return made


def own_constraint(text: str) -> Constraint:
    """Return the constraint that ``module:Class KEY=VALUE ...`` makes."""
    made: Constraint = _own(CONSTRAINT, *_parts(text, CONSTRAINT))
    return made


def _parts(text: str, kind: ObjectKind) -> tuple[str, dict[str, Any]]:
    name, *pairs = text.split()
    return name, parameters_of(pairs, kind.option)


def _own(kind: ObjectKind, text: str, options: Mapping[str, Any]) -> Any:
    """Return what a class makes of options; the module is looked for in the current folder first.

    Raises :class:`CoallocError` with what is wrong, in one line.
    """
    module_name, _, class_name = text.partition(SEPARATOR)
    if not module_name or not class_name:
        raise CoallocError(f"{kind.option}: must be module:Class, got {quoted(text)}")
    found = _class_in(_imported(module_name, kind), class_name, kind)
    signature = inspect.signature(found)
    try:
        signature.bind(**options)
    except TypeError as error:
        untyped = [one.replace(annotation=one.empty) for one in signature.parameters.values()]
        shown = signature.replace(parameters=untyped, return_annotation=signature.empty)
        raise CoallocError(f"{visible(text)}{shown}: {error}") from None
    with faults_of(text, found):
        made = found(**options)
        is_of_kind = isinstance(made, kind.types)
    if not is_of_kind:
        raise CoallocError(f"{visible(text)} {kind.wanted}")
    return made


@contextmanager
def faults_of(name: str, found: object) -> Iterator[None]:
    """Raise what a class or function of the user's, or of a plugin, raises in the block as its error, in one line.

    The line says where the run was, if it had begun.
    """
    files = _files_of(found)
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
        raise CoallocError(f"{visible(name)} raised {_described(error)} ({where})") from error


@contextmanager
def faults_of_orders(given: Mapping[str, Any], made: Mapping[str, Any]) -> Iterator[None]:
    """Do as :func:`faults_of` for the queue orders that the options of a policy have been made of."""
    with ExitStack() as stack:
        for name in ORDER_OPTIONS:
            if made.get(name) is not given.get(name):
                found = type(made[name])
                stack.enter_context(faults_of(f"{found.__module__}:{found.__qualname__}", found))
        yield


@contextmanager
def faults_of_all(objects: Iterable[object]) -> Iterator[None]:
    """Do as :func:`faults_of` for objectives, by object or name, and constraints."""
    with ExitStack() as stack:
        for one in objects:
            found = type(OBJECTIVES.get(one) if isinstance(one, str) else one)
            stack.enter_context(faults_of(f"{found.__module__}:{found.__qualname__}", found))
        yield


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


def _files_of(found: object) -> set[str | None]:
    """Return the files of others with the code of a function, or of a class and those that it is made from."""
    names = (str(part.__module__) for part in getattr(found, "__mro__", (found,)))
    modules = (sys.modules.get(name) for name in names if not name.startswith(PACKAGE))
    return {getattr(module, "__file__", None) for module in modules}


def _imported(name: str, kind: ObjectKind) -> ModuleType:
    """Return a module by name."""
    folder = os.getcwd()
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            raise CoallocError(
                f"{kind.option}: module {quoted(name)} is neither in the current folder nor installed"
            ) from None
        raise CoallocError(f"{kind.option}: module {quoted(name)} cannot be imported: {_described(error)}") from error
    except (Exception, SystemExit) as error:
        raise CoallocError(f"{kind.option}: module {quoted(name)} cannot be imported: {_described(error)}") from error


def _class_in(module: ModuleType, name: str, kind: ObjectKind) -> Any:
    """Return a class of a module by name."""
    found = getattr(module, name, None)
    if inspect.isclass(found):
        return found
    classes = [known for known, value in vars(module).items() if inspect.isclass(value)]
    near = difflib.get_close_matches(name, classes, 1)
    known = [known for known in classes if kind.may_make(vars(module)[known])]
    hint = f" (did you mean {quoted(near[0])}?)" if near else f"; its {kind.plural}: {', '.join(known) or 'none'}"
    raise CoallocError(f"{kind.option}: module {quoted(module.__name__)} has no class {quoted(name)}{hint}")


def _described(error: BaseException) -> str:
    """Return the type and the message of an error as one line."""
    return visible(" ".join(f"{type(error).__name__}: {error}".split()))
