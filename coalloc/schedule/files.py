"""Schedule files, version 1, 2 or 3: ``.json`` or ``.json.gz``, in and out.

A file is of version 2 where a job runs in another shape than its first, of version 3 where nodes fail or jobs are
interrupted. Older versions remain supported.

A file is refused where its fields are wrong; whether the schedule keeps the rules of an instance is
for :mod:`coalloc.checker` to say.
"""

from __future__ import annotations

from coalloc.documents.arguments import public
from coalloc.documents.kinds import FileKind, read_value, write_value
from coalloc.documents.storage import FILE_LIMIT, FilePath
from coalloc.schedule import Schedule

SCHEDULE = FileKind("schedule", Schedule, ("instance", "slot", "placements"), versions=(1, 2, 3))


@public
def read_schedule(path: FilePath, limit: int = FILE_LIMIT) -> Schedule:
    """Read a schedule from a JSON file.

    Parameters
    ----------
    path : str or PathLike
        A ``.json`` or ``.json.gz`` file; ``"-"`` is standard input.
    limit : int, default 256000000
        Maximum size of the decompressed file, bytes.

    Returns
    -------
    Schedule
        The schedule.

    Raises
    ------
    InstanceError
        The file cannot be read or is not valid. All validation errors are reported together, each with its JSON path.

    See Also
    --------
    coalloc.write_schedule : Write a schedule to a file.
    coalloc.check : List every rule that a schedule violates.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import coalloc
    >>> schedule = coalloc.simulate(coalloc.example("pas-figure-3.3"), "fcfs").schedule
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "schedule.json"
    ...     coalloc.write_schedule(schedule, path)
    ...     coalloc.read_schedule(path) == schedule
    True
    """
    return read_value(path, SCHEDULE, limit)


@public
def write_schedule(schedule: Schedule, path: FilePath) -> None:
    """Write a schedule to a JSON file; the same schedule gives the same bytes.

    Parameters
    ----------
    schedule : Schedule
        The schedule.
    path : str or PathLike
        A ``.json`` or ``.json.gz`` file; ``"-"`` is standard output.

    Raises
    ------
    CoallocError
        The file cannot be written; an existing file is then unchanged.

    See Also
    --------
    coalloc.read_schedule : Read a schedule from a file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import coalloc
    >>> schedule = coalloc.simulate(coalloc.example("pas-figure-3.3"), "fcfs").schedule
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "schedule.json.gz"
    ...     coalloc.write_schedule(schedule, path)
    ...     path.exists()
    True
    """
    write_value(schedule, path, SCHEDULE)
