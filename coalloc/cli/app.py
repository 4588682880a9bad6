"""The commands put together, and the entry point of the console script."""

from __future__ import annotations

import io
import os
import sys
import threading
from importlib import metadata
from typing import Annotated

import typer

from coalloc.cli import (
    audit,
    bench,
    certify,
    check,
    compare,
    convert,
    demo,
    examples,
    explain,
    generate,
    import_site,
    library,
    merge,
    policies,
    reproduce,
    schema,
    simulate,
    solve,
    solvers,
    study,
    whatif,
)
from coalloc.cli.errors import ExitCode
from coalloc.cli.interrupts import heed_signals, ignore_signals
from coalloc.cli.options import Json, Quiet
from coalloc.cli.output import say, say_fields, say_json
from coalloc.cli.shell import PROGRAM, Command, Shell

EPILOG = """
To begin, run coalloc demo. coalloc COMMAND --help lists the options of a command.

Exit codes: 0 success; 1 infeasible, no result, or violations found; 2 invalid input or usage; 3 internal error.

--debug, anywhere on the command line, prints the traceback of an error.
"""

app = typer.Typer(
    cls=Shell,
    name=PROGRAM,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback(invoke_without_command=True)
def start(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Schedule rigid and moldable parallel jobs with co-allocation on heterogeneous clusters."""
    if version:
        say(f"{PROGRAM} {metadata.version(PROGRAM)}")
        raise typer.Exit(ExitCode.DONE)
    if context.invoked_subcommand is None:
        say(context.get_help())
        raise typer.Exit(ExitCode.BAD_INPUT)


def versions(as_json: Json = False, _: Quiet = False) -> ExitCode:
    """Print the versions of coalloc and its main dependencies, for bug reports."""
    from coalloc.system.versions import versions as found

    if as_json:
        say_json(found())
    else:
        say_fields(found().items(), width=14)
    return ExitCode.DONE


app.command(epilog=solve.EXAMPLES, cls=Command)(solve.solve)
app.command(epilog=simulate.EXAMPLES, cls=Command)(simulate.simulate)
app.command(epilog=check.EXAMPLES, cls=Command)(check.check)
app.command(epilog=certify.EXAMPLES, cls=Command)(certify.certify)
app.command(epilog=certify.VERIFY_EXAMPLES, cls=Command)(certify.verify)
app.command(epilog=explain.EXAMPLES, cls=Command)(explain.explain)
app.command(epilog=compare.EXAMPLES, cls=Command)(compare.compare)
app.command(epilog=audit.EXAMPLES, cls=Command)(audit.audit)
app.command(epilog=whatif.EXAMPLES, cls=Command)(whatif.whatif)
app.add_typer(study.app)
app.command(epilog=generate.EXAMPLES, cls=Command)(generate.generate)
app.command(epilog=convert.EXAMPLES, cls=Command)(convert.convert)
app.add_typer(import_site.app)
app.command(epilog=merge.EXAMPLES, cls=Command)(merge.merge)
app.command(epilog=policies.EXAMPLES, cls=Command)(policies.policies)
app.command(epilog=solvers.EXAMPLES, cls=Command)(solvers.solvers)
app.add_typer(bench.app)
app.command(cls=Command)(schema.schema)
app.command(epilog=examples.EXAMPLES, cls=Command)(examples.examples)
app.add_typer(library.app)
app.command(epilog=reproduce.EXAMPLES, cls=Command)(reproduce.reproduce)
app.command(cls=Command)(demo.demo)
app.command(cls=Command)(versions)


def main() -> None:
    """Run the command line of the process and exit.

    SIGTERM, which batch systems send before they kill, is an interrupt like Ctrl-C: what is known is kept, whether
    one signal comes or several.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    heed_signals()
    try:
        app()
    except SystemExit as end:
        ignore_signals()
        _leave_threads_behind(end)
        raise


def _leave_threads_behind(end: SystemExit) -> None:
    """Exit now where a thread still runs: a solver that is slow to notice its interrupt has nothing to add.

    Every line that was printed has been flushed, and every file been renamed.
    """
    if all(thread.daemon or thread is threading.main_thread() for thread in threading.enumerate()):
        return
    os._exit(end.code if isinstance(end.code, int) else ExitCode.DONE)
