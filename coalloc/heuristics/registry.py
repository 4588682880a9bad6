"""The policies by name, and the queue orders that see the state, and how each is made from its options.

The arguments of its constructor are the options of a policy with a name (the fields of a dataclass); what their types
admit is checked here, once for all policies. A policy is imported when it is first asked for: those that solve models
load solvers.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import typing
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import EntryPoint
from importlib.util import resolve_name
from operator import attrgetter
from typing import Any

import pydantic

from coalloc.documents.arguments import picture_of, public
from coalloc.documents.errors import ArgumentError, Fault
from coalloc.documents.sentences import faults_of
from coalloc.documents.text import nearest
from coalloc.instance import CoallocError
from coalloc.rules.orders import QueueOrder, is_fixed
from coalloc.simulator.policy import Policy
from coalloc.simulator.routing import RUNNABLE, Broker
from coalloc.system.plugins import Registry, home_of


@dataclass(frozen=True, slots=True)
class Entry:
    """A policy or order with a name: its type (``module:class``), and options that the name decides.

    ``about`` is its summary where that is not the first paragraph of the docstring of the type.
    """

    home: str
    about: str = ""
    fixed: Mapping[str, Any] = field(default_factory=dict)

    @property
    def module(self) -> str:
        """The module of the type; that of a policy of coalloc is relative to this folder."""
        return resolve_name(self.home.partition(":")[0], "coalloc.heuristics")

    @property
    def make(self) -> type[Any]:
        """The type of the policy, of the broker or of the order."""
        found: type[Any] = attrgetter(self.home.partition(":")[2])(importlib.import_module(self.module))
        return found

    @property
    def summary(self) -> str:
        """One sentence on the policy or order."""
        return self.about or inspect.cleandoc(self.make.__doc__ or "").partition("\n\n")[0].replace("\n", " ")

    @property
    def options(self) -> dict[str, Any]:
        """The options by name, with their defaults."""
        parameters = inspect.signature(self.make).parameters
        return {name: parameter.default for name, parameter in parameters.items() if name not in self.fixed}

    def choices(self, option: str) -> Collection[Any]:
        """Return the values that an option may have, none where they cannot be listed."""
        hint = self._hint(option)
        if hint is bool:
            return (False, True)
        hints = (hint,) if typing.get_origin(hint) is typing.Literal else typing.get_args(hint)
        literals = [part for part in hints if typing.get_origin(part) is typing.Literal]
        orders = ORDERS.builtin if self.takes_orders(option) else ()
        return (*(value for part in literals for value in typing.get_args(part)), *orders)

    def takes_orders(self, option: str) -> bool:
        """Return whether an option is the order of a queue, which may be a function or an object of the user's own."""
        return QueueOrder in typing.get_args(self._hint(option))

    def fault(self, option: str, value: Any) -> str:
        """Return what is wrong with the value of an option, nothing if it is right."""
        choices = self.choices(option)
        if choices:
            is_one = any(type(value) is type(choice) and value == choice for choice in choices)
            is_order = not is_one and self.takes_orders(option)
            if is_order and _is_order(value):
                return _fault_of_order(value)
            own = f", a function or an object with {ORDERING}" if is_order else ""
            listed = ", ".join(map(str, choices))
            said = f"must be one of {listed}{own}, got {picture_of(value)}{nearest(value, choices)}"
            return "" if is_one else said
        try:
            pydantic.TypeAdapter(self._hint(option)).validate_python(value)
        except pydantic.ValidationError as error:
            return faults_of(error, self.make)[0].sentence
        return ""

    def _hint(self, option: str) -> Any:
        return typing.get_type_hints(self.make.__init__, include_extras=True).get(option, Any)


def _listed(order: str, summary: str, *, skip: bool = False) -> Entry:
    fixed = {"queue_order": order}
    return Entry(".classics:ListPolicy", summary, {**fixed, "skip": True} if skip else fixed)


ORDERING = "key(state) and changes_every"
"""Requirement on a queue order, for messages."""

BUILTIN: Mapping[str, Entry] = {
    "fcfs": _listed(
        "fcfs", "First come, first served: start jobs in arrival order; stop at the first that does not fit."
    ),
    "sjf": _listed("sjf", "Smallest job first, by tasks."),
    "bjf": _listed("bjf", "Biggest job first, by tasks."),
    "fpfs": _listed(
        "fcfs", "Fit processors, first served: start jobs in arrival order; skip those that do not fit.", skip=True
    ),
    "spt": _listed("spt", "Shortest processing time first, by requested walltime."),
    "lpt": _listed("lpt", "Longest processing time first, by requested walltime."),
    "easy": Entry(".backfilling:Easy"),
    "conservative": Entry(".conservative:Conservative"),
    "slurm": Entry(".slurm:Slurm"),
    "flux": Entry(".flux:Flux"),
    "mesd": Entry(".mesd:Mesd"),
    "pas": Entry(".pas:Pas"),
    "oas": Entry(".oas:Oas"),
    "pcbe": Entry(".pcbe:Pcbe"),
    "node-list": Entry(".node_list:NodeList"),
    "loras": Entry(".loras:Loras"),
    "list": Entry(".classics:ListPolicy"),
    "grid": Entry(".grid:Grid"),
}
"""The policies of coalloc by name."""


def _adopted(kind: type, wanted: str, found: Any, point: EntryPoint) -> Entry:
    """Return the entry of a policy, broker or order of an installed package; raise where it is none."""
    if not inspect.isclass(found):
        raise TypeError(f"must be a class, got {picture_of(found)}")
    entry = Entry(home_of(point))
    lacking = [option for option, default in entry.options.items() if default is inspect.Parameter.empty]
    if lacking:
        raise TypeError(f"each option must have a default, got none for {', '.join(lacking)}")
    if not isinstance(found(), kind):
        raise TypeError(wanted)
    return entry


POLICIES = Registry(
    BUILTIN,
    {
        "coalloc.policies": partial(_adopted, Policy, f"is no policy: it must have {RUNNABLE}"),
        "coalloc.brokers": partial(_adopted, Broker, f"is no broker: it must have {RUNNABLE}"),
    },
)
"""Every policy by name."""

ORDERS = Registry(
    {"multifactor": Entry(".multifactor:Multifactor")},
    {"coalloc.queue_orders": partial(_adopted, QueueOrder, f"is no queue order: it must have {ORDERING}")},
)
"""Every queue order that sees the state, by name."""


def policies() -> tuple[str, ...]:
    """Return the names of the scheduling policies of ``coalloc.simulate``.

    Returns
    -------
    tuple of str
        The names, as docs/policies.md describes them.

    See Also
    --------
    coalloc.simulate : Simulate an instance under a policy.

    Examples
    --------
    >>> import coalloc
    >>> "easy" in coalloc.policies()
    True
    """
    return tuple(POLICIES)


@public
def policy_named(name: str, options: Mapping[str, Any]) -> Policy | Broker:
    """Return a policy by name, for use inside a custom policy or broker.

    Parameters
    ----------
    name : str
        A name of ``coalloc.policies()``.
    options : mapping of str to object
        Options of the policy (docs/policies.md).

    Returns
    -------
    Policy or Broker
        A new object.

    Raises
    ------
    CoallocError
        The name or an option is unknown, or a value is not permitted; all errors are reported together.

    See Also
    --------
    coalloc.policies : List the names of the policies.

    Examples
    --------
    >>> from coalloc.extend import policy_named
    >>> policy_named("easy", {"candidates": "spt"}).scope
    'platform'
    """
    if name not in POLICIES:
        raise CoallocError(f"unknown policy {name!r}{nearest(name, POLICIES)}; available: {', '.join(POLICIES)}")
    entry = POLICIES[name]
    faults = [fault for option, value in options.items() if (fault := _fault(f"policy {name!r}", entry, option, value))]
    if faults:
        raise ArgumentError(Fault("", fault) for fault in faults)
    made = {option: _made(value) if entry.takes_orders(option) else value for option, value in options.items()}
    policy: Policy | Broker = entry.make(**entry.fixed, **made)
    return policy


def _fault(owner: str, entry: Entry, option: str, value: Any) -> str:
    """Return what is wrong with an option of a policy or an order, nothing if it is right."""
    if option not in entry.options:
        near = difflib.get_close_matches(str(option), entry.options, 1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        return f"{owner} has no option {option}{hint}; its options: {', '.join(entry.options) or 'none'}"
    sentence = entry.fault(option, value)
    return f"{option} of {owner} {sentence}" if sentence else ""


def _is_order(value: Any) -> bool:
    """Return whether this may be a queue order that is not built in."""
    return callable(value) or isinstance(value, (Mapping, QueueOrder)) or (isinstance(value, str) and value in ORDERS)


def _fault_of_order(value: Any) -> str:
    """Return what is wrong with a queue order, nothing if it is right."""
    if isinstance(value, type):
        return f"must be an object, got the type {value.__name__}; use {value.__name__}(...)"
    if isinstance(value, Mapping):
        name, options = value.get("order"), {key: given for key, given in value.items() if key != "order"}
        if not isinstance(name, str) or name not in ORDERS:
            return f"must have one of {', '.join(ORDERS)} as its order, got {picture_of(name)}{nearest(name, ORDERS)}"
        faults = (_fault(f"order {name!r}", ORDERS[name], option, given) for option, given in options.items())
        wrong = next(filter(None, faults), "")
        if wrong:
            return f"is wrong: {wrong}"
    try:
        is_fixed(_made(value))
    except CoallocError as error:
        return f"is wrong: {error}"
    return ""


def _made(order: Any) -> Any:
    """Return a queue order, made where it is a name, or a name with options."""
    if isinstance(order, Mapping):
        return ORDERS[order["order"]].make(**{key: given for key, given in order.items() if key != "order"})
    return ORDERS[order].make() if isinstance(order, str) and order in ORDERS else order
