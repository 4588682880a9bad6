"""``coalloc demo``: the main job from end to end, on an instance of the thesis, and a small case that surprises."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Option

import coalloc
from coalloc.cli.errors import ExitCode
from coalloc.cli.instance_output import size_of
from coalloc.cli.options import Json, Quiet
from coalloc.cli.output import check_writable, make_folder, note, say_fields
from coalloc.cli.solving import ResultFiles, run_solve, show_result

EXAMPLE = "thesis-oas-1"
OPTIONS: dict[str, Any] = {"model": "oas", "slot": "50%", "time_limit": 60.0}
"""Options of the demo: a proof takes some seconds."""

SURPRISE = "flux-sched-572"
"""Jobs of equal length that a good scheduler runs in more waves than it has to."""

Directory = Annotated[Path, Option(metavar="DIR", help="Where the files go; it is made if it is not there.")]


def demo(directory: Directory = Path("coalloc-demo"), json: Json = False, quiet: Quiet = False) -> ExitCode:
    """Solve a bundled instance of the thesis to proved optimality, check the schedule, and draw it."""
    from coalloc.documents.text import visible
    from coalloc.plot.pictures import picture_format

    instance = coalloc.example(EXAMPLE)
    given = directory / "instance.json"
    files = ResultFiles(
        schedule=directory / "schedule.json",
        result=directory / "result.json",
        plots=(directory / "gantt.png", directory / "gantt.html"),
        unit="h",
    )
    for plot in files.plots:
        picture_format(plot)
    make_folder("--directory", directory)
    check_writable({path.name: path for path in (given, *files.all)})
    coalloc.write_instance(instance, given)
    if not quiet:
        _introduce(instance)
    result = run_solve(instance, OPTIONS, quiet, "s")
    code = show_result(instance, result, files, json)
    if result.schedule is not None and not json:
        _show_check(instance, result.schedule)
        _show_surprise()
    if not quiet:
        note(visible(f"next: open {files.plots[-1]}, or run `coalloc check {given} {files.schedule}`"))
    return code


def _show_check(instance: coalloc.Instance, schedule: coalloc.Schedule) -> None:
    """Print what the independent checker says."""
    violations = coalloc.check(instance, schedule)
    say_fields([("check", f"{len(violations)} violations by the independent checker")])


def _show_surprise() -> None:
    """Print how many waves of equal jobs EASY needs, and how few are proved to be enough."""
    case = coalloc.example(SURPRISE)
    wave = case.jobs[0].base_time
    easy = round(coalloc.simulate(case, "easy").metrics["makespan"] / wave)
    result = coalloc.solve(case)
    assert result.objective is not None
    best = round(result.objective / wave)
    proof = ", and no fewer" if result.status == "optimal" else ""
    nodes = case.platform.num_processors
    text = (
        f"{len(case.jobs)} jobs of equal length on {nodes} nodes: EASY needs {easy} waves, {best} are possible{proof}"
    )
    say_fields([("besides", text)])


def _introduce(instance: coalloc.Instance) -> None:
    """Say what is about to be solved."""
    note(f"{EXAMPLE}: {size_of(instance)}; slots of {OPTIONS['slot']} of the mean base time")
