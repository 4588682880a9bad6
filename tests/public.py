"""Every public name by its full name: those of the top level, and those of the subpackages that it shows."""

from __future__ import annotations

import inspect
from types import ModuleType
from typing import Any

import coalloc

PACKAGES: dict[str, ModuleType] = {
    package.__name__: package
    for package in (coalloc, *(getattr(coalloc, name) for name in dir(coalloc)))
    if inspect.ismodule(package)
}
PUBLIC: dict[str, Any] = {
    f"{place}.{name}": getattr(package, name) for place, package in PACKAGES.items() for name in package.__all__
}
