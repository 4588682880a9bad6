"""Progress of a solve or of a simulated run on standard error: a live display on a terminal, plain lines elsewhere."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from coalloc.cli.output import note

if TYPE_CHECKING:
    from rich.table import Table

    from coalloc.bench.outcomes import Outcome
    from coalloc.bench.plan import Sample
    from coalloc.bench.running import BenchProgress, Report
    from coalloc.simulator.engine import Position
    from coalloc.solvers.result import TracePoint

REFRESHES_PER_SECOND = 8


@contextmanager
def shown_progress(time_limit: float, quiet: bool, unit: str = "") -> Iterator[Callable[[TracePoint], None] | bool]:
    """Show what a solver reports while the block runs, in the ``unit`` of its objective; yields its ``progress``."""
    from coalloc.solvers.result import News

    if quiet:
        yield False
    elif sys.stderr.isatty():
        with _live(time_limit, unit) as report:
            yield report
    else:
        yield News(note, unit)


@dataclass
class _Status:
    """The line that stays below the news: elapsed time of the limit, incumbent, bound and gap."""

    time_limit: float
    unit: str
    point: TracePoint | None = None
    began: float = field(default_factory=time.monotonic)

    def __rich__(self) -> Table:
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        elapsed = time.monotonic() - self.began
        incumbent, bound, gap = ("-", "-", "-") if self.point is None else self.point.numbers(self.unit)
        row = Table.grid(padding=(0, 2), expand=True)
        for ratio in (None, 1, None, None, None):  # the bar takes what the numbers leave
            row.add_column(no_wrap=True, ratio=ratio)
        is_limited = math.isfinite(self.time_limit)
        row.add_row(
            Text(f"{elapsed:6.1f} s of {self.time_limit:g} s" if is_limited else f"{elapsed:6.1f} s"),
            ProgressBar(self.time_limit, min(elapsed, self.time_limit)) if is_limited else Text(),
            Text.assemble("incumbent ", (incumbent, "bold green")),
            Text.assemble("bound ", (bound, "bold cyan")),
            Text.assemble("gap ", (gap, "bold")),
        )
        return row


@contextmanager
def _live(time_limit: float, unit: str) -> Iterator[Callable[[TracePoint], None]]:
    """Keep a status line at the foot of the terminal, and print the news above it."""
    from rich.console import Console
    from rich.live import Live

    from coalloc.solvers.result import News

    console = Console(stderr=True, highlight=False)
    status = _Status(time_limit, unit)
    news = News(partial(console.print, markup=False, soft_wrap=True), unit)

    def report(point: TracePoint) -> None:
        status.point = point
        news(point)

    with Live(status, console=console, refresh_per_second=REFRESHES_PER_SECOND, transient=True):
        yield report


@contextmanager
def shown_run(num_jobs: int, quiet: bool) -> Iterator[Callable[[Position], None] | bool]:
    """Show where a simulation is while the block runs; yields what to give it as ``progress``."""
    if quiet:
        yield False
    elif sys.stderr.isatty():
        with _bar(num_jobs) as report:
            yield report
    else:
        yield _Decimals(num_jobs)


@contextmanager
def _bar(num_jobs: int) -> Iterator[Callable[[Position], None]]:
    """Keep a progress bar of ended jobs at the foot of the terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        BarColumn(None),
        MofNCompleteColumn(),
        TextColumn("jobs"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[state]}"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("", total=num_jobs, state="")
        yield lambda position: progress.update(
            task, completed=position.ended, state=f"{position.running} running, {position.waiting} waiting"
        )


@dataclass
class _Decimals:
    """A plain line whenever another tenth of the jobs has ended."""

    num_jobs: int
    said: int = 0

    def __call__(self, position: Position) -> None:
        tenths = 10 * position.ended // max(1, self.num_jobs)
        if tenths > self.said:
            self.said = tenths
            note(str(position))


@contextmanager
def shown_samples(num_samples: int, quiet: bool) -> Iterator[Report[Sample]]:
    """Show where a benchmark is while the block runs: a bar on a terminal, else a line per tenth; and each failure."""
    if quiet:
        yield lambda *_: None
    elif sys.stderr.isatty():
        with _sample_bar(num_samples) as report:
            yield report
    else:
        yield _SampleLines()


@contextmanager
def _sample_bar(num_samples: int) -> Iterator[Report[Sample]]:
    """Keep a progress bar of samples at the foot of the terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True, highlight=False)
    columns = (BarColumn(None), MofNCompleteColumn(), TextColumn("samples"), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("", total=num_samples)

        def report(sample: Sample, outcome: Outcome, state: BenchProgress) -> None:
            progress.update(bar, completed=state.in_store)
            if line := _failure(sample, outcome):
                console.print(line, markup=False, soft_wrap=True)

        yield report


@dataclass
class _SampleLines:
    """A plain line for each failure, and whenever another tenth of the samples is done."""

    said: int = 0

    def __call__(self, sample: Sample, outcome: Outcome, state: BenchProgress) -> None:
        if line := _failure(sample, outcome):
            note(line)
        tenths = 10 * state.in_store // state.planned
        if tenths > self.said:
            self.said = tenths
            note(str(state))


def _failure(sample: Sample, outcome: Outcome) -> str:
    """Return a line for a sample that failed, nothing for others."""
    from coalloc.bench.outcomes import is_failed
    from coalloc.documents.text import visible

    if not is_failed(outcome):
        return ""
    seed = "" if sample.seed is None else f", seed {sample.seed}"
    return visible(f"{sample.given.name}, {sample.label}{seed}: {outcome['status']}: {outcome.get('message', '')}")
