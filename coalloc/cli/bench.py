"""``coalloc bench``: run a benchmark, report what came of it, compare two."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from coalloc.cli.errors import ExitCode
from coalloc.cli.options import Quiet
from coalloc.cli.output import check_writable, note, say
from coalloc.cli.progress import shown_samples

if TYPE_CHECKING:
    from coalloc.bench.plan import Plan
    from coalloc.bench.workers import Workers

app = typer.Typer(no_args_is_help=True, help="Run benchmarks, report on them, and compare them.")

SpecFile = Annotated[Path, Argument(metavar="SPEC", help="Specification, TOML; docs/bench.md says what is in it.")]
StoreFile = Annotated[
    Path | None,
    Option("--store", metavar="STORE", help="Where samples are kept.", show_default="SPEC with the suffix .sqlite"),
]
Jobs = Annotated[int, Option("--jobs", "-j", min=1, metavar="N", help="Samples at a time, on this machine.")]
Scheduler = Annotated[
    str | None, Option(metavar="ADDRESS", help="Run on the Dask cluster of this scheduler: tcp://host:8786.")
]
Reuse = Annotated[bool, Option("--reuse-versions", help="Keep samples that other versions of the code have made.")]
Retry = Annotated[bool, Option("--retry-failed", help="Run failed samples again.")]
DryRun = Annotated[bool, Option("--dry-run", help="Check the specification, list its samples, and run nothing.")]

EXAMPLES = """
Examples:

coalloc bench run benchmarks/quick.toml --jobs 2

coalloc bench run slots.toml --store /scratch/slots.sqlite --scheduler tcp://node1:8786

Run again, the same command goes on where it was stopped. Ctrl-C keeps every sample that has ended.
"""


@app.command(epilog=EXAMPLES)
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
    """Run the samples of a specification that its store lacks, each in a process of its own."""
    from coalloc.bench.plan import read_plan
    from coalloc.bench.running import Choices, run_plan
    from coalloc.instance.text import visible

    plan = read_plan(spec)
    if dry_run:
        return _list(plan)
    path = store or spec.with_suffix(".sqlite")
    check_writable({"--store": path}, inputs=(spec,))
    with shown_samples(len(plan.samples), quiet) as report:
        progress = run_plan(plan, path, _workers(jobs, scheduler), Choices(reuse_versions, retry_failed), report)
    say(f"{visible(str(path))}: {progress}")
    if progress.is_interrupted:
        note("interrupted; run the same command again to go on")
    return ExitCode.DONE if progress.in_store else ExitCode.NOTHING


def _workers(jobs: int, scheduler: str | None) -> Callable[[], Workers]:
    """Return what starts the workers that the options ask for."""
    from coalloc.bench.cluster import ClusterWorkers
    from coalloc.bench.workers import LocalWorkers

    return lambda: LocalWorkers(jobs) if scheduler is None else ClusterWorkers(scheduler)


def _list(plan: Plan) -> ExitCode:
    """Say what the samples of a plan are."""
    from coalloc.instance.text import visible

    for sample in plan.samples:
        seed = "" if sample.seed is None else f", seed {sample.seed}"
        say(visible(f"{sample.given.name}: {sample.label}{seed}"))
    note(f"{len(plan.samples)} samples")
    return ExitCode.DONE
