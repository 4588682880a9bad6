"""What the scripts here share: where results go, a line on each sample as it ends, and modules that look not installed.

Running, killing and keeping the samples is the work of :mod:`coalloc.bench`.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import NoReturn, cast

from coalloc.bench.calls import Call
from coalloc.bench.outcomes import Outcome
from coalloc.bench.provenance import code_versions
from coalloc.bench.running import BenchProgress, run_calls
from coalloc.bench.workers import LocalWorkers
from coalloc.instance import CoallocError

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
SILENT = ("store", "output", "report", "note")
"""Options that change nothing of what a page says of the samples."""
PLACES = ("peer_python", "accasim_python", "traces", "data")
"""Options that name a place on this machine."""
USAGE = 2
"""Exit code where a store or an option is not usable."""


def new_page(text: str) -> Path:
    """Return the place of a page, as the type of an option: its folder is made before anything runs."""
    path = Path(text)
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def run_shown(calls: Sequence[Call], store: Path, jobs: int, line: Callable[[Call, Outcome], str]) -> bool:
    """Run the calls that the store lacks, a ``line`` for each as it ends; return whether all have run.

    At Ctrl-C, or SIGTERM, what has ended is in the store.
    """

    def report(call: Call, outcome: Outcome, progress: BenchProgress) -> None:
        say(f"{progress.in_store}/{progress.planned} {line(call, outcome)}")

    store.parent.mkdir(parents=True, exist_ok=True)
    progress = run_calls(calls, store, partial(LocalWorkers, jobs), report)
    if progress.is_interrupted:
        say("interrupted; run again to go on")
    return not progress.is_interrupted


def command_of(script: str, parser: ArgumentParser, options: Namespace) -> str:
    """Return the command that makes a page: what was asked for, but no defaults and no paths of this machine."""
    words = [f"python benchmarks/{script}.py"]
    for name, value in vars(options).items():
        if name in SILENT or value == parser.get_default(name):
            continue
        words.append(f"--{name.replace('_', '-')}")
        if name in PLACES:
            words.append("PATH")
        elif value is not True:
            words += map(str, value) if isinstance(value, Sequence) and not isinstance(value, str) else [str(value)]
    return " ".join(words)


def say(text: str) -> None:
    """Print a line of progress on standard error."""
    print(text, file=sys.stderr, flush=True)


def exit_with(main: Callable[[], int]) -> NoReturn:
    """End the script with what ``main`` returns; what cannot be used is a line."""
    try:
        sys.exit(main())
    except CoallocError as error:
        say(str(error))
        sys.exit(USAGE)


def code_columns() -> dict[str, str]:
    """Return what made a sample, by the columns of the CSV files: version (of coalloc), commit, code, libraries."""
    known = code_versions()
    return {"version": known["coalloc"], **known}


@contextmanager
def hidden(module: str) -> Iterator[None]:
    """Make a module that is not loaded yet look as if it were not installed, in this process."""
    if module in sys.modules:
        raise RuntimeError(f"{module} is loaded already")
    modules = cast(dict[str, ModuleType | None], sys.modules)
    modules[module] = None
    try:
        yield
    finally:
        del modules[module]
