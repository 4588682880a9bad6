"""coalloc: exact and heuristic scheduling of rigid parallel jobs on multi-clusters with co-allocation.

The public names are those that the stub beside this file imports; each is loaded when it is first used.
"""

import ast
import importlib
from pathlib import Path
from typing import Any

_STUB = ast.parse(Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
_IMPORTS = [statement for statement in _STUB.body if isinstance(statement, ast.ImportFrom)]
_MODULE_OF = {alias.name: str(statement.module) for statement in _IMPORTS for alias in statement.names}

__all__ = list(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("coalloc")
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'coalloc' has no attribute {name!r}")
    found = getattr(importlib.import_module(_MODULE_OF[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
