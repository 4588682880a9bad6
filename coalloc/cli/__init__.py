"""The shell: ``coalloc solve``, ``check`` and the other commands, one file each.

A command turns its arguments into one call of the public functions and shows what comes back.
Results go to standard output, progress and faults to standard error. The rooms are imported inside
of functions here, so that ``--help`` and ``--version`` answer at once.
"""

import os
import sys

from coalloc.system.processes import private_output

__all__ = ["main"]


def main() -> None:
    """Run the command line; one that is interrupted while it is still loaded says so in one line as well."""
    _keep_standard_output()
    try:
        from coalloc.cli.app import main as run
    except KeyboardInterrupt:
        sys.stderr.write("coalloc: interrupted\n")
        raise SystemExit(1) from None
    try:
        run()
    finally:
        _end_standard_output()


def _keep_standard_output() -> None:
    """Keep standard output for what the command writes; what libraries write there goes to standard error."""
    if sys.stdout is not None:
        before = sys.stdout
        sys.stdout = os.fdopen(private_output(), "w", encoding=before.encoding, errors=before.errors)


def _end_standard_output() -> None:
    """Write what is left, or drop it where that has failed before: Python would report it once more."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        from coalloc.documents.storage import leave_unread

        leave_unread(sys.stdout)
