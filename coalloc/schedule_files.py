"""Schedule files, version 1 or 2: ``.json`` or ``.json.gz``, in and out.

A file is of version 2 where a job runs in another shape than its first; version 1 is read for ever.

A file is refused where its fields are wrong; whether the schedule keeps the rules of an instance is
for :mod:`coalloc.checker` to say.
"""

from __future__ import annotations

from coalloc.documents.arguments import public
from coalloc.documents.kinds import Kind, read_value, write_value
from coalloc.documents.storage import FILE_LIMIT, FilePath
from coalloc.schedule import Schedule

SCHEDULE = Kind("schedule", Schedule, ("instance", "slot", "placements"), versions=(1, 2))


@public
def read_schedule(path: FilePath, limit: int = FILE_LIMIT) -> Schedule:
    """Return the schedule of a file; ``limit`` is its largest size in bytes, decompressed.

    Raises
    ------
    InstanceError
        It cannot be read or is not valid: every fault, with its JSON path.
    """
    return read_value(path, SCHEDULE, limit)


@public
def write_schedule(schedule: Schedule, path: FilePath) -> None:
    """Write a schedule as ``.json``, or ``.json.gz`` through gzip: the same bytes for the same schedule.

    Raises
    ------
    CoallocError
        It cannot be written; a file of that name is then what it was before.
    """
    write_value(schedule, path, SCHEDULE)
