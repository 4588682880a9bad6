"""The shell: ``coalloc solve``, ``check`` and the other commands, one file each.

A command turns its arguments into one call of the public functions and shows what comes back.
Results go to standard output, progress and faults to standard error. The rooms are imported inside
of functions here, so that ``--help`` and ``--version`` answer at once.
"""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line; one that is interrupted while it is still loaded says so in one line as well."""
    try:
        from coalloc.cli.app import main as run
    except KeyboardInterrupt:
        sys.stderr.write("coalloc: interrupted\n")
        raise SystemExit(1) from None
    run()
