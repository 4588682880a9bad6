"""``coalloc bench``: run a benchmark, report what came of it, compare two."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from coalloc.cli.errors import ExitCode
from coalloc.cli.options import Quiet
from coalloc.cli.output import check_writable, make_folder, note, say
from coalloc.cli.progress import shown_samples
from coalloc.cli.shell import Command

if TYPE_CHECKING:
    from coalloc.bench.plan import Plan
    from coalloc.bench.workers import Workers

app = typer.Typer(name="bench", context_settings={"help_option_names": ["-h", "--help"]})

SpecFile = Annotated[Path, Argument(metavar="SPEC", help="Specification (TOML); see docs/bench.md.")]
StoreFile = Annotated[
    Path | None,
    Option(
        "--store",
        metavar="STORE",
        help="Store of completed samples; they are not repeated.",
        show_default="SPEC with suffix .sqlite",
    ),
]
Jobs = Annotated[
    int, Option("--jobs", "-j", min=1, metavar="N", help="Number of samples to run in parallel on this machine.")
]
Scheduler = Annotated[
    str | None, Option(metavar="ADDRESS", help="Run on the Dask cluster of this scheduler: tcp://host:8786.")
]
Reuse = Annotated[bool, Option("--reuse-versions", help="Keep samples of other versions of the code.")]
Retry = Annotated[bool, Option("--retry-failed", help="Run failed samples again.")]
DryRun = Annotated[bool, Option("--dry-run", help="Check the specification and list its samples; run none.")]

Store = Annotated[Path, Argument(metavar="STORE", help="Store written by coalloc bench run.")]
Before = Annotated[Path, Argument(metavar="A", help="Store of the earlier run.")]
After = Annotated[Path, Argument(metavar="B", help="Store of the later run.")]
Name = Annotated[
    str | None,
    Option("--name", metavar="NAME", help="Name of the specification.", show_default="the last one run"),
]
Folder = Annotated[
    Path | None,
    Option("--output", "-o", metavar="DIR", help="Folder to write.", show_default="STORE with suffix -report"),
]
BootstrapSeed = Annotated[
    int, Option("--seed", min=0, metavar="N", help="Random seed of the bootstrap confidence intervals.")
]

RUN_EXAMPLES = """
Examples:

coalloc bench run benchmarks/quick.toml --jobs 2

coalloc bench run slots.toml --store s.sqlite --scheduler tcp://node1:8786

To resume an interrupted benchmark, run the same command again. Ctrl-C keeps all completed samples.
"""


@app.callback(invoke_without_command=True)
def start(context: typer.Context) -> None:
    """Run, report and compare benchmarks."""
    if context.invoked_subcommand is None:
        say(context.get_help())
        raise typer.Exit(ExitCode.BAD_INPUT)


@app.command(epilog=RUN_EXAMPLES, cls=Command)
def run(
    spec: SpecFile,
    *,
    store: StoreFile = None,
    jobs: Jobs = 1,
    scheduler: Scheduler = None,
    reuse_versions: Reuse = False,
    retry_failed: Retry = False,
    dry_run: DryRun = False,
    quiet: Quiet = False,
) -> ExitCode:
    """Run the missing samples of a specification, each in a separate process."""
    _refuse_without_fork()
    from coalloc.bench.outcomes import FAILED
    from coalloc.bench.plan import read_plan
    from coalloc.bench.running import Choices, run_plan
    from coalloc.documents.text import visible

    plan = read_plan(spec)
    if dry_run:
        return _list(plan)
    path = store or spec.with_suffix(".sqlite")
    check_writable({"--store": path}, inputs=(spec,))
    choices = Choices(reuse_versions, FAILED if retry_failed else ())
    with shown_samples(len(plan.samples), quiet) as report:
        progress = run_plan(plan, path, _workers(jobs, scheduler), choices, report)
    say(f"{visible(str(path))}: {progress}")
    if progress.is_interrupted:
        note("interrupted; run the same command again to resume")
    return ExitCode.DONE if progress.in_store else ExitCode.NOTHING


REPORT_EXAMPLES = """
Examples:

coalloc bench report benchmarks/quick.sqlite

coalloc bench report slots.sqlite -o report

The folder contains report.html (complete in one page), report.md, summary.csv, samples.csv and the figures.
"""


@app.command(epilog=REPORT_EXAMPLES, cls=Command)
def report(store: Store, *, name: Name = None, output: Folder = None, quiet: Quiet = False) -> ExitCode:
    """Write the tables, the figures and the HTML page of a benchmark."""
    from coalloc.bench.report import findings, write_report
    from coalloc.bench.store import Store as BenchStore
    from coalloc.bench.tables import markdown
    from coalloc.documents.text import visible
    from coalloc.system.extras import require

    require("matplotlib", "coalloc bench report")
    with BenchStore(store, writes=False) as opened:
        found = findings(opened, name)
    folder = output or store.with_name(f"{store.stem}-report")
    make_folder("--output", folder)
    paths = write_report(found, folder)
    say(markdown(found.tables["Summary"]))
    for warning in found.warnings:
        note(visible(warning))
    if not quiet:
        note("\n".join(f"wrote {visible(str(path))}" for path in paths))
    return ExitCode.DONE


COMPARE_EXAMPLES = """
Examples:

coalloc bench compare before.sqlite after.sqlite

Exit codes: 0 no regression; 1 regressions found; 2 invalid input or usage.
"""


@app.command(epilog=COMPARE_EXAMPLES, cls=Command)
def compare(a: Before, b: After, *, name: Name = None, seed: BootstrapSeed = 0, quiet: Quiet = False) -> ExitCode:
    """Compare two stores sample by sample and list regressions."""
    from coalloc.bench.comparison import compare as compared
    from coalloc.bench.report import findings
    from coalloc.bench.store import Store as BenchStore
    from coalloc.bench.tables import markdown
    from coalloc.documents.text import visible
    from coalloc.instance import CoallocError

    found = []
    for path in (a, b):
        with BenchStore(path, writes=False) as opened:
            found.append(findings(opened, name))
    comparison = compared(found[0].rows, found[1].rows, seed)
    if not comparison.pairs:
        raise CoallocError("the stores have no sample in common: their instances, methods, options or limits differ")
    say(markdown(comparison.table))
    for warning in () if quiet else comparison.warnings:
        note(visible(warning))
    for sentence in comparison.regressions:
        say(visible(f"regression: {sentence}"))
    return ExitCode.NOTHING if comparison.regressions else ExitCode.DONE


def _refuse_without_fork() -> None:
    """Raise on systems that cannot start samples."""
    if not hasattr(os, "fork"):
        from coalloc.instance import CoallocError

        raise CoallocError("coalloc bench run requires Linux or macOS; on Windows use the Windows Subsystem for Linux")


def _workers(jobs: int, scheduler: str | None) -> Callable[[], Workers]:
    """Return what starts the workers that the options ask for."""
    from coalloc.bench.cluster import ClusterWorkers
    from coalloc.bench.workers import LocalWorkers

    return lambda: LocalWorkers(jobs) if scheduler is None else ClusterWorkers(scheduler)


def _list(plan: Plan) -> ExitCode:
    """Say what the samples of a plan are."""
    from coalloc.documents.text import visible

    for sample in plan.samples:
        seed = "" if sample.seed is None else f", seed {sample.seed}"
        say(visible(f"{sample.given.name}: {sample.label}{seed}"))
    note(f"{len(plan.samples)} samples")
    return ExitCode.DONE
