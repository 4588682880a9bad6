"""Submissions to the benchmark library: schedules, results and certificates, checked and compared with the best known.

Nothing that a file says is believed: the checker checks its schedule, its objective is computed again, and a bound
counts only within a certificate that :mod:`coalloc.verify` accepts.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from coalloc import verify
from coalloc.checker import check
from coalloc.documents.arguments import public
from coalloc.documents.errors import Fault
from coalloc.documents.kinds import Document, document_of, load_document, value_of
from coalloc.documents.sentences import shown
from coalloc.documents.strict_json import layout
from coalloc.documents.text import nearest, quoted, visible
from coalloc.instance import CoallocError, InstanceError
from coalloc.instance.files import INSTANCE
from coalloc.objectives import objective_of
from coalloc.schedule import Schedule
from coalloc.schedule.files import SCHEDULE
from coalloc.solvers.files import RESULT
from coalloc.workloads.library import CERTIFICATE, PROOF_TOLERANCE, LibraryEntry, library

Verdict = Literal["invalid", "worse", "equal", "certified", "better"]
"""Verdict on a submission. ``certified``: as good as the best known, and the first proof that it is optimal."""


@dataclass(frozen=True, slots=True)
class Submission:
    """A submission to the benchmark library, and what checking it found.

    Attributes
    ----------
    name : str
        The instance of the library; empty where it is none.
    verdict : {"invalid", "worse", "equal", "certified", "better"}
        How it compares with the best known schedule. ``"certified"``: equal, and the first certificate.
    value : float or None
        Objective of its schedule, computed again; None: the schedule is invalid.
    best : float or None
        Objective of the best known schedule.
    is_certified : bool
        Whether it holds a certificate that is accepted.
    reasons : tuple of str
        Why it is invalid, one line each.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import coalloc
    >>> other = coalloc.library()["thesis-01"].schedule.replace(slot=1.0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     coalloc.write_schedule(other, Path(folder) / "mine.json")
    ...     found = coalloc.studies.check_submission(Path(folder) / "mine.json")
    >>> found.verdict, found.reasons
    ('invalid', ('the schedule has slot 1.0, the library 100500.0',))
    """

    name: str
    verdict: Verdict
    value: float | None = None
    best: float | None = None
    is_certified: bool = False
    reasons: tuple[str, ...] = ()


@public
def check_submission(path: str | os.PathLike[str]) -> Submission:
    """Check a file for the benchmark library and compare it with the best known schedule.

    Parameters
    ----------
    path : str or PathLike
        A schedule file, a result file of ``coalloc solve``, or a certificate file. A schedule names its instance in
        the field ``instance``; results and certificates identify it by its SHA-256.

    Returns
    -------
    Submission
        The verdict; the reasons where it is ``"invalid"``.

    Raises
    ------
    InstanceError
        The file cannot be read, or is of another kind.

    See Also
    --------
    coalloc.library : Return the benchmark library.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import coalloc
    >>> entry = coalloc.library()["thesis-01"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     coalloc.write_schedule(entry.schedule, Path(folder) / "mine.json")
    ...     coalloc.studies.check_submission(Path(folder) / "mine.json").verdict
    'equal'
    """
    document, faults = load_document(path)
    given = document.get("format")
    read = READERS.get(given) if isinstance(given, str) else None
    if faults or read is None:
        known = f"must be one of {', '.join(READERS)}, got {shown(given)}{nearest(given, READERS)}"
        raise InstanceError(faults or [Fault("format", known)], os.fspath(path))
    return read(document, os.fspath(path))


def _of_schedule(document: Document, source: str) -> Submission:
    schedule = value_of(document, SCHEDULE, [], source)
    name = schedule.instance
    if name not in library():
        return _invalid("", f"the schedule is of {quoted(name)}, no instance of the library{nearest(name, library())}")
    return _judged(library()[name], schedule)


def _of_result(document: Document, source: str) -> Submission:
    result = value_of(document, RESULT, [], source)
    options = result.options
    entry = _entry_of(result.instance_sha256, options.objective, options.slot)
    if isinstance(entry, Submission):
        return entry
    if result.schedule is None:
        return _invalid(entry.name, "the result has no schedule")
    return _judged(entry, result.schedule)


def _of_certificate(document: Document, source: str) -> Submission:
    problem = document.get("problem")
    asked = problem if isinstance(problem, Mapping) else {}
    entry = _entry_of(document.get("instance_sha256", ""), asked.get("objective"), asked.get("slot"))
    if isinstance(entry, Submission):
        return entry
    if any(asked.get(key) != default for key, default in DEFAULTS.items()):
        wanted = ", ".join(f"{key} {default}" for key, default in DEFAULTS.items())
        return _invalid(entry.name, f"the certificate must be for {wanted}")
    stated = verify.parsed(layout(document_of(entry.instance, INSTANCE)))
    try:
        verdict = verify.verdict_of(stated, verify.parsed(layout(document)), entry.sha256)
    except (verify.BadFileError, verify.NotProvedError) as error:
        return _invalid(entry.name, str(error))
    if not verdict.is_optimal:
        return _invalid(entry.name, "the certificate does not prove that its schedule is optimal")
    return _judged(entry, value_of(document["schedule"], SCHEDULE, [], source), is_certified=True)


GRID_TOLERANCE = 1e-9
"""Share of its number of slots by which a start may be beside the grid of slots."""
DEFAULTS = {"links": "strict", "saturation": 0, "scope": "platform"}
"""Rules under which the library solves."""
READERS: Mapping[str, Callable[[Document, str], Submission]] = {
    SCHEDULE.format: _of_schedule,
    RESULT.format: _of_result,
    CERTIFICATE: _of_certificate,
}
"""Judges of files, by format."""


def _entry_of(sha256: Any, objective: Any, slot: Any) -> LibraryEntry | Submission:
    """Return the entry of an instance, or why there is none."""
    for entry in library().values():
        if entry.sha256 == sha256:
            if (objective, slot) == (entry.objective, entry.slot):
                return entry
            wanted = "continuous time" if entry.slot is None else f"slot {entry.slot!r}"
            asked = f"{shown(objective)}, slot {shown(slot)}"
            return _invalid(entry.name, f"it is solved for {asked}, not {entry.objective!r}, {wanted}")
    return _invalid("", "no instance of the library has this SHA-256")


def _judged(entry: LibraryEntry, schedule: Schedule, is_certified: bool = False) -> Submission:
    """Return how a schedule compares with the best known one."""
    if schedule.slot != entry.slot:
        return _invalid(entry.name, f"the schedule has slot {schedule.slot}, the library {entry.slot}")
    reasons = [*map(str, check(entry.instance, schedule)), *_off_the_grid(schedule)]
    if reasons:
        return _invalid(entry.name, *reasons)
    try:
        value = objective_of(entry.objective).of_schedule(entry.instance, schedule)
    except CoallocError as error:
        return _invalid(entry.name, str(error))
    return Submission(entry.name, _compared(entry, value, is_certified), value, entry.value, is_certified)


def _off_the_grid(schedule: Schedule) -> Iterator[str]:
    """Yield a line for each job of a slotted schedule that starts within a slot."""
    if schedule.slot is None:
        return
    for placed in schedule:
        slots = placed.start / schedule.slot
        if abs(slots - round(slots)) > GRID_TOLERANCE * max(1.0, slots):
            yield f"job {visible(placed.job)} starts at {placed.start:g} s, which is no multiple of the slot"


def _compared(entry: LibraryEntry, value: float, is_certified: bool) -> Verdict:
    margin = PROOF_TOLERANCE * abs(entry.value)
    if value < entry.value - margin:
        return "better"
    if value > entry.value + margin:
        return "worse"
    return "certified" if is_certified and not entry.is_certified else "equal"


def _invalid(name: str, *reasons: str) -> Submission:
    best = library()[name].value if name else None
    return Submission(name, "invalid", None, best, reasons=reasons)
