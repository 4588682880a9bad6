"""The JSON Schemas of all kinds of files, by name."""

from __future__ import annotations

from typing import Any

from coalloc.certificates.schema import CERTIFICATE
from coalloc.documents.arguments import public
from coalloc.documents.json_schema import Schema, schema_of
from coalloc.documents.kinds import FileKind
from coalloc.documents.sentences import shown
from coalloc.instance import CoallocError
from coalloc.instance.files import INSTANCE, PLATFORM
from coalloc.schedule.files import SCHEDULE
from coalloc.solvers.files import RESULT

KINDS: dict[str, FileKind[Any]] = {kind.name: kind for kind in (INSTANCE, PLATFORM, SCHEDULE, RESULT)}


@public
def schema(kind: str) -> Schema:
    """Return the JSON Schema (draft 2020-12) of a kind of file.

    Parameters
    ----------
    kind : {"instance", "platform", "schedule", "result", "certificate"}
        The kind of file.

    Returns
    -------
    dict
        The schema.

    Raises
    ------
    CoallocError
        The kind is unknown; the message lists the kinds.

    Examples
    --------
    >>> import coalloc
    >>> coalloc.io.schema("schedule")["required"]
    ['format', 'version', 'placements']
    """
    if kind == "certificate":
        return CERTIFICATE
    if kind not in KINDS:
        raise CoallocError(f"unknown file format {shown(kind)}; available: {', '.join(KINDS)}, certificate")
    return schema_of(KINDS[kind])
