"""The shell: ``coalloc solve``, ``check`` and the other commands, one file each.

A command turns its arguments into one call of the public functions and shows what comes back.
Results go to standard output, progress and faults to standard error. The rooms are imported inside
of functions here, so that ``--help`` and ``--version`` answer at once.
"""

from coalloc.cli.app import main

__all__ = ["main"]
