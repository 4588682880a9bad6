"""Base of generators of instances: a value whose fields are its parameters, and which samples one instance.

As a value it is validated like an instance: unknown parameters and wrong types are faults. The text
in the ``Annotated`` type of each field is its documentation.
"""

from __future__ import annotations

import dataclasses
import inspect
import typing
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, dataclass_transform

import numpy as np
from pydantic import Field

from coalloc.documents.values import Value, value
from coalloc.instance import Fault, Instance

TIME_DIGITS = 3
"""Drawn times are whole milliseconds: readable, and alike on machines whose logarithms differ in the last bit."""

NumJobs = Annotated[int, Field(strict=True, ge=1, le=1_000_000)]
"""A number of jobs that memory holds."""

NumNodes = Annotated[int, Field(strict=True, ge=1, le=10_000)]
"""A number of nodes, or tasks, for which allocations can be counted."""


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
class Generator(Value, ABC):
    """Base class of generators: the fields of a subclass are its parameters.

    A subclass is a frozen dataclass, whose fields are validated. Each has a default, and a text in its ``Annotated``
    type that documents it.

    See Also
    --------
    coalloc.generate : Generate an instance by the name of a generator.

    Examples
    --------
    >>> from typing import Annotated
    >>> import numpy as np
    >>> from coalloc import Cluster, Instance, Job, NodeGroup, Platform
    >>> from coalloc.extend import Generator
    >>> class OneJob(Generator):
    ...     seconds: Annotated[float, "mean run time of the job, s"] = 60.0
    ...
    ...     def draw(self, rng, name):
    ...         platform = Platform([Cluster("C1", [NodeGroup(1, power=1.0)], 125.0)])
    ...         return Instance(
    ...             platform, [Job("J1", 1, rng.exponential(self.seconds))], name=name
    ...         )
    >>> short = OneJob(seconds=30.0).draw(np.random.default_rng(1), "short")
    >>> round(short.jobs[0].base_time, 2)
    32.19
    """

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        value(slots=False)(cls)

    @abstractmethod
    def draw(self, rng: np.random.Generator, name: str) -> Instance:
        """Return an instance of this family.

        Parameters
        ----------
        rng : numpy.random.Generator
            The source of all that is random.
        name : str
            The name of the instance.

        Returns
        -------
        Instance
            The instance.
        """


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a generator: ``meaning`` says what it is and in which unit."""

    name: str
    default: object
    meaning: str

    def __str__(self) -> str:
        return f"{self.name}={self.default!r}"


@dataclass(frozen=True, slots=True)
class Description:
    """Description of a generator: its instances, and its parameters."""

    name: str
    summary: str
    parameters: tuple[Parameter, ...]

    @property
    def signature(self) -> str:
        """The parameters with their defaults, ``jobs=8, nodes=4``."""
        return ", ".join(str(parameter) for parameter in self.parameters)

    def __str__(self) -> str:
        width = max(len(str(parameter)) for parameter in self.parameters)
        lines = [f"  {parameter!s:<{width}}  {parameter.meaning}" for parameter in self.parameters]
        return "\n".join([f"{self.name}: {self.summary}", *lines])


def describe(name: str, family: type[Generator]) -> Description:
    """Return the description of a generator, read from its docstring and its fields."""
    hints = typing.get_type_hints(family, include_extras=True)
    parameters = tuple(
        Parameter(field.name, field.default, _meaning(hints[field.name])) for field in dataclasses.fields(family)
    )
    summary = (inspect.getdoc(family) or "").partition("\n\n")[0].replace("\n", " ").replace("``", "")
    return Description(name, summary, parameters)


def _meaning(hint: object) -> str:
    return next(text for text in getattr(hint, "__metadata__", ()) if isinstance(text, str))


def draw_weibull(rng: np.random.Generator, scale: float, shape: float, count: int) -> list[float]:
    """Return ``count`` times in seconds, Weibull(scale, shape)."""
    return [float(scale * time) for time in rng.weibull(shape, count)]


def rounded_duration(seconds: float) -> float:
    """Return a duration in whole milliseconds, at least one."""
    return max(10.0**-TIME_DIGITS, round(seconds, TIME_DIGITS))


def order_faults(*ranges: tuple[str, float, str, float]) -> list[Fault]:
    """Return a fault for every (name, low, name, high) whose bounds are in the wrong order."""
    return [
        Fault(high_name, f"must be at least {low_name} = {low:g}, got {high:g}")
        for low_name, low, high_name, high in ranges
        if high < low
    ]
