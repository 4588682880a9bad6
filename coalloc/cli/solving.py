"""Steps that ``coalloc solve`` and ``coalloc demo`` share: run, show and write."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import coalloc
from coalloc.cli.errors import ExitCode
from coalloc.cli.interrupts import finishing
from coalloc.cli.output import WrittenFiles, note, say, say_fields
from coalloc.cli.progress import shown_progress

if TYPE_CHECKING:
    from coalloc import Instance, SolveResult


@dataclass(frozen=True, slots=True)
class ResultFiles:
    """Files for the parts of a result; None: not written. The file of the model is written before the solve.

    ``unit`` is that of the times in the Gantt charts; None: one that suits them.
    """

    schedule: Path | None = None
    result: Path | None = None
    plots: tuple[Path, ...] = ()
    model: Path | None = None
    progress: Path | None = None
    certificate: Path | None = None
    unit: Literal["h"] | None = None

    def write(self, instance: Instance, result: SolveResult) -> WrittenFiles:
        """Write what there is, the pictures last: they can be drawn again."""
        written = WrittenFiles()
        if self.model is not None:
            written.write("model file", self.model, lambda _: None)
        if self.result is not None:
            written.write("result", self.result, partial(coalloc.io.write_result, result))
        if result.schedule is not None:
            if self.schedule is not None:
                written.write("schedule", self.schedule, partial(coalloc.write_schedule, result.schedule))
            for plot in self.plots:
                written.write("gantt", plot, partial(coalloc.gantt, instance, result.schedule, unit=self.unit))
        if self.certificate is not None:
            certificate = result.certificate(result.options.time_limit)
            if certificate:
                written.write("certificate", self.certificate, certificate.write)
            else:
                written.fields.append(("certificate", f"none ({certificate.reason})"))
        if self.progress is not None and result.trace:
            written.write("progress", self.progress, partial(coalloc.plot.progress_plot, result))
        return written

    @property
    def all(self) -> tuple[Path, ...]:
        """Every file."""
        files = (self.schedule, self.result, *self.plots, self.model, self.progress, self.certificate)
        return tuple(path for path in files if path is not None)

    @property
    def of_schedule(self) -> list[Path]:
        """The files that need a schedule."""
        return [path for path in (self.schedule, *self.plots) if path is not None]


def run_solve(instance: Instance, options: dict[str, Any], quiet: bool, unit: str = "") -> SolveResult:
    """Return what ``coalloc.solve`` returns, with its progress shown in the ``unit`` of the objective."""
    with shown_progress(options["time_limit"], quiet, unit) as progress, redirect_stdout(sys.stderr):
        return coalloc.solve(instance, progress=progress, **options)


def show_result(
    instance: Instance, result: SolveResult, files: ResultFiles, as_json: bool, verbose: bool = False
) -> ExitCode:
    """Write the files, print the result, and return the exit code."""
    from coalloc.documents.text import visible

    with finishing():
        written = files.write(instance, result)
        if as_json:
            say(result_text(result))
        else:
            say_fields([(name, visible(text)) for name, text in result.lines()] + written.fields)
            for run in result.methods if verbose else ():
                say(str(run))
    written.raise_faults()
    if result.schedule is not None:
        return ExitCode.DONE
    for path in files.of_schedule:
        note(f"coalloc: no schedule was found; {visible(str(path))} is not written")
    return ExitCode.NOTHING


def result_text(result: SolveResult) -> str:
    """Return the result document, as ``write_result`` writes it, without the last newline."""
    from coalloc.documents.kinds import document_of
    from coalloc.documents.strict_json import layout
    from coalloc.solvers.files import RESULT, result_document

    return layout(document_of(result_document(result), RESULT))
