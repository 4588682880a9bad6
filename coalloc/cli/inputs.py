"""Inputs of commands: instances from files or bundled ones, and schedules from two kinds of files."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import coalloc

if TYPE_CHECKING:
    from coalloc import Instance, Placement, Platform, Schedule
    from coalloc.workloads.logs import Format

EXAMPLE, LIBRARY = "example:", "library:"
"""Prefixes of the name of a bundled instance or platform, and of one of the benchmark library, in place of a file."""

SWF_SUFFIXES = (".swf", ".swf.gz")
"""Suffixes of traces in the Standard Workload Format."""

INSTANCE_SUFFIXES = (".json", ".json.gz")
"""Suffixes of instance files."""

ONLY_TRACES = "requires a trace; an instance contains its platform"
"""Error for an option of traces that is given with an instance."""


def read_instance(file: str) -> Instance:
    """Return the instance of a file, or the one that ``example:NAME`` or ``library:NAME`` names."""
    if file.startswith(EXAMPLE) and not os.path.exists(file):
        return coalloc.example(file.removeprefix(EXAMPLE))
    if file.startswith(LIBRARY) and not os.path.exists(file):
        return coalloc.library()[file.removeprefix(LIBRARY)].instance
    kind = trace_format(file)
    if kind is not None:
        from coalloc.documents.text import visible

        remedy = f"convert it with `coalloc {'import flux' if kind == 'flux' else f'convert --from {kind}'}`"
        raise coalloc.CoallocError(f"{visible(file)}: is a trace, not an instance; {remedy}")
    return coalloc.read_instance(file)


def instance_file(file: str) -> AbstractContextManager[Path]:
    """Return the file of an instance, or of what ``example:`` or ``library:NAME`` names, as long as the context."""
    if file.startswith(EXAMPLE) and not os.path.exists(file):
        from coalloc.workloads.examples import example_file

        return example_file(file.removeprefix(EXAMPLE))
    if file.startswith(LIBRARY) and not os.path.exists(file):
        return written_file(coalloc.library()[file.removeprefix(LIBRARY)].instance)
    return nullcontext(Path(file))


@contextmanager
def written_file(instance: Instance) -> Iterator[Path]:
    """Return a file of an instance, which is there as long as the context."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        path = Path(folder, "instance.json")
        coalloc.write_instance(instance, path)
        yield path


def trace_format(file: str) -> Format | None:
    """Return which kind of trace a file is, by its name or its beginning; None where it is none."""
    if file.endswith(SWF_SUFFIXES):
        return "swf"
    if not os.path.isfile(file):
        return None
    if file.endswith(INSTANCE_SUFFIXES):
        from coalloc.workloads.flux.jobs import is_listing

        return "flux" if is_listing(file) else None
    from coalloc.workloads.logs import format_of

    kind = format_of(file)
    return None if kind == "swf" else kind


def platform_of_trace(file: str, processors: int | None, platform: Path | None, hint: str) -> tuple[Platform, str]:
    """Return the platform on which a trace runs, and a sentence where nobody named it and its header says it.

    ``hint`` is where a message says that one is needed.
    """
    from typer import BadParameter

    from coalloc.workloads.swf import pool
    from coalloc.workloads.swf_records import header_processors, read_header

    if processors is not None and platform is not None:
        raise BadParameter("a trace requires either --processors N or --platform FILE, got both", param_hint=hint)
    if platform is not None:
        return read_platform(platform), ""
    if processors is not None:
        return pool(processors), ""
    is_readable = is_twice_readable(file) or not os.path.exists(file)  # reading says what is wrong with the name
    said = header_processors(read_header(file)) if trace_format(file) in ("swf", None) and is_readable else None
    if said is None:
        raise BadParameter("a trace requires --processors N or --platform FILE", param_hint=hint)
    number, name = said
    return pool(number), f"one cluster of {number} processors, from the header ({name})"


def is_twice_readable(file: str) -> bool:
    """Return whether a file can be read from its beginning again: a pipe cannot."""
    return os.path.isfile(file)


def read_platform(path: Path) -> Platform:
    """Return the platform of a file; ``example:NAME`` names a bundled one, or that of a bundled instance."""
    name = str(path).removeprefix(EXAMPLE)
    if not str(path).startswith(EXAMPLE) or path.exists():
        return coalloc.io.read_platform(path)
    return coalloc.grid.platform(name) if name in coalloc.grid.platforms() else coalloc.example(name).platform


def read_instances(files: Sequence[str]) -> list[Instance]:
    """Return the instances of several files; where some have one name, the names of their files are added."""
    instances = [read_instance(file) for file in files]
    times = Counter(instance.name for instance in instances)
    return [
        instance if times[instance.name] == 1 else instance.replace(name=f"{instance.name} ({file})")
        for instance, file in zip(instances, files, strict=True)
    ]


def read_schedule(path: Path) -> Schedule:
    """Return the schedule of a schedule file or of a result file."""
    from coalloc.documents.kinds import load_document, value_of
    from coalloc.instance import Fault, InstanceError
    from coalloc.schedule.files import SCHEDULE
    from coalloc.solvers.files import RESULT

    document, faults = load_document(path)
    if document.get("format") != RESULT.format:
        return value_of(document, SCHEDULE, faults, str(path))
    schedule = value_of(document, RESULT, faults, str(path)).schedule
    if schedule is None:
        raise InstanceError([Fault("schedule", "is missing: the result contains no schedule")], str(path))
    return schedule


def read_fixed(path: Path | None, instance: Instance) -> Sequence[Placement]:
    """Return the placements of a schedule, or of a result, which an instance fixes; raises where it is of another."""
    from coalloc.documents.text import quoted, visible

    if path is None:
        return ()
    schedule = read_schedule(path)
    unknown = sum(placement.job not in instance.job_by_id for placement in schedule)
    if unknown and schedule.instance not in (instance.name, coalloc.Schedule(()).instance):
        names = f"the schedule belongs to instance {quoted(schedule.instance)}, not to {quoted(instance.name)}"
        raise coalloc.CoallocError(f"{visible(str(path))}: {names}, which lacks {unknown} of its jobs")
    return schedule.placements


def slot_of(text: str | None) -> float | str | None:
    """Return ``--slot`` as ``solve`` takes it: a number of seconds, or the text itself (``50%``)."""
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        return text
