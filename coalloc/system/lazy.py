"""Public names that are imported when they are first used; the stub file of each package lists them.

One list therefore serves Python and type checkers, and ``import coalloc`` loads no library.
"""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any


def attach(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return ``__getattr__``, ``__dir__`` and ``__all__`` of a package from the imports of its stub.

    Parameters
    ----------
    package
        The name of the package.
    file
        Its ``__init__.py``, next to which ``__init__.pyi`` is the stub. What the stub imports from the package itself
        is a subpackage: it can be used without an import of its own, and is not part of ``__all__``.
    """
    stub = ast.parse(Path(file).with_suffix(".pyi").read_text(encoding="utf-8"))
    imports = [statement for statement in stub.body if isinstance(statement, ast.ImportFrom)]
    module_of = {alias.name: str(statement.module) for statement in imports for alias in statement.names}

    def load(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if module_of[name] == package:
            return importlib.import_module(f"{package}.{name}")
        found = getattr(importlib.import_module(module_of[name]), name)
        setattr(sys.modules[package], name, found)
        return found

    public = [name for name, module in module_of.items() if module != package and not name.startswith("_")]
    return load, lambda: list(module_of), public
