"""Seeded generators of instances, by name.

Each file of this folder holds one family and names its generators in ``GENERATORS``; nothing else
has to know of a new one. The docstring of its class defines it.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Mapping
from importlib.metadata import EntryPoint
from types import MappingProxyType
from typing import Any

import numpy as np

from coalloc.documents.arguments import Seed, picture_of, public
from coalloc.documents.errors import ArgumentError, Fault
from coalloc.documents.sentences import shown
from coalloc.instance import CoallocError, Instance, InstanceError
from coalloc.system.plugins import Registry
from coalloc.workloads.generator import Description, Generator, describe


@functools.cache
def families() -> Registry[type[Generator]]:
    """Return the generators by name, those of installed packages included."""
    found: dict[str, type[Generator]] = {}
    for module in pkgutil.iter_modules(__path__):
        found |= importlib.import_module(f"{__name__}.{module.name}").GENERATORS
    return Registry(dict(sorted(found.items())), {"coalloc.generators": _adopted})


def _adopted(found: Any, point: EntryPoint) -> type[Generator]:
    """Return the generator of an installed package; raise where it is none."""
    if not (isinstance(found, type) and issubclass(found, Generator)):
        raise TypeError(f"must be a subclass of Generator, got {picture_of(found)}")
    describe(point.name, found)  # raises where a parameter has no meaning
    return found


def generators() -> Mapping[str, Description]:
    """Return the generators there are, by name, each with its parameters and their defaults."""
    return MappingProxyType({name: describe(name, family) for name, family in families().items()})


@public
def generate(name: str, seed: Seed = 0, **parameters: Any) -> Instance:
    """Generate a synthetic instance from a seed.

    Parameters
    ----------
    name : str
        Name of a generator, such as ``"thesis-oas"`` or ``"lublin"`` (docs/generators.md).
    seed : int, default 0
        Random seed, at least 0. The same seed and parameters give the same instance.
    **parameters
        Parameters of the generator; docs/generators.md lists them with their defaults.

    Returns
    -------
    Instance
        The instance, named after generator and seed.

    Raises
    ------
    CoallocError
        The generator is unknown; the message lists the names.
    ArgumentError
        A parameter is unknown or out of range; the message lists the parameters with their defaults.

    See Also
    --------
    coalloc.example : Load a bundled instance.

    Notes
    -----
    All random numbers come from one ``numpy.random.default_rng(seed)``. Sampled times are rounded to milliseconds,
    processing shares to three decimals and bandwidths to 1 kB/s, so that files do not depend on the last bit of a
    logarithm.

    Examples
    --------
    >>> import coalloc
    >>> coalloc.generate("thesis-oas", seed=1, jobs=4)
    <Instance 'thesis-oas-1': 4 jobs on 3 clusters with 12 processors>
    """
    family = families().get(name)
    if family is None:
        raise CoallocError(f"unknown generator {shown(name)}; available: {', '.join(families())}")
    if seed < 0:
        raise CoallocError(f"seed: must be an integer of at least 0, got {shown(seed)}")
    try:
        return family(**parameters).draw(np.random.default_rng(seed), f"{name}-{seed}")
    except InstanceError as error:
        sentence = f"parameters of {name}: {describe(name, family).signature}"
        raise ArgumentError([*error.faults, Fault("", sentence)]) from None
