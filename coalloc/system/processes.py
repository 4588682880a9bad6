"""Standard output of a process of ours, and the child processes that it starts.

Libraries write to descriptor 1 as they please. A process that sends messages or results there keeps a private copy of
the descriptor and points 1 at standard error before it imports anything else. This file is the script that every child
process runs first, so it imports nothing but the standard library.
"""

from __future__ import annotations

import importlib
import os
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path


def private_output() -> int:
    """Return a private copy of descriptor 1, and let whatever else is written to 1 go to standard error."""
    try:
        os.fstat(2)
    except OSError:  # standard error is closed, and the copy would take its number
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    own = os.dup(1)
    os.dup2(2, 1)
    return own


def child_command(module: str) -> list[str]:
    """Return the command of a child process that calls ``main(requests, answers)`` of a module of coalloc.

    ``requests`` and ``answers`` are private descriptors: standard input and output as the child got them. The child
    has coalloc from where this process has it, and looks for other modules where this process does, with the current
    folder last: a module of the user's is found there by its name, but not in the place of a library. ``-P`` keeps
    that folder out while Python starts; ``-I`` would also ignore ``PYTHONPATH``, through which many clusters provide
    libraries.
    """
    folders = [folder for folder in sys.path if isinstance(folder, str)]
    return [sys.executable, "-P", __file__, module, *sorted(folders, key=_is_current)]


def _is_current(folder: str) -> bool:
    try:
        return os.path.samefile(folder or os.curdir, os.curdir)
    except OSError:
        return False


def _be_child(module: str, folders: list[str]) -> None:
    requests, answers = os.dup(0), private_output()
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    sys.path[:] = folders
    _load_this_package()
    importlib.import_module(module).main(requests, answers)


def _load_this_package() -> None:
    """Import coalloc from around this file, whatever stands first on the search path."""
    spec = spec_from_file_location("coalloc", Path(__file__).parents[1] / "__init__.py")
    assert spec is not None
    assert spec.loader is not None
    package = sys.modules["coalloc"] = module_from_spec(spec)
    spec.loader.exec_module(package)


if __name__ == "__main__":
    _be_child(sys.argv[1], sys.argv[2:])
