"""Failures of nodes for simulations: from a trace, or sampled from distributions.

Source of the distributions: B. Schroeder and G. A. Gibson, "A large-scale study of failures in high-performance
computing systems", IEEE Transactions on Dependable and Secure Computing 7(4), 2010: times between failures are Weibull
distributed with decreasing hazard rate, times to repair lognormal.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Sequence
from operator import attrgetter

import numpy as np

from coalloc.documents.arguments import Seed, public
from coalloc.documents.errors import Fault
from coalloc.documents.sentences import shown
from coalloc.documents.storage import FILE_LIMIT, FilePath, read_bytes
from coalloc.documents.text import quoted
from coalloc.instance import CoallocError, InstanceError, Platform
from coalloc.schedule import Failure

COLUMNS = ("nodes", "start", "end")
"""The head of a trace of failures."""
LEAST_SHAPE, MOST_SIGMA = 0.1, 10.0
"""Limits of the distributions: beyond them nearly all times are 0, and a node fails without end."""
MOST_SAMPLED = 10_000_000
"""Most failures, in expectation, that are sampled."""


@public
def read_failures(path: FilePath, limit: int = FILE_LIMIT) -> tuple[Failure, ...]:
    r"""Read a trace of node failures: a CSV table with the columns ``nodes``, ``start`` and ``end``.

    Parameters
    ----------
    path : str or PathLike
        A file, which may be compressed with gzip. ``nodes`` is a node or a range of them (``C1/0-3``), or several with
        spaces between them; the times are in s.
    limit : int, default 256000000
        Maximum size of the decompressed file, bytes.

    Returns
    -------
    tuple of coalloc.results.Failure
        The failures, in the order of the file.

    Raises
    ------
    InstanceError
        The file cannot be read or is not valid. All errors are reported together, each with its line.

    See Also
    --------
    coalloc.io.sample_failures : Sample failures from distributions.
    coalloc.simulate : Simulate an instance with failures.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import coalloc
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "failures.csv"
    ...     written = path.write_text("nodes,start,end\nC1/0-1,3600,7200\n")
    ...     failures = coalloc.io.read_failures(path)
    >>> failures[0].end
    7200.0
    """
    source = str(path)
    try:
        lines = read_bytes(path, limit).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise InstanceError([Fault("", "must be a text in UTF-8")], source) from None
    table = list(csv.reader(lines))
    if not table or tuple(name.strip() for name in table[0]) != COLUMNS:
        raise InstanceError([Fault("line 1", f"must be {','.join(COLUMNS)}")], source)
    failures, faults = list[Failure](), list[Fault]()
    for number, row in enumerate(table[1:], start=2):
        try:
            failures += _failure_of(row)
        except InstanceError as error:
            faults += [fault.under(f"line {number}") for fault in error.faults]
    if faults:
        raise InstanceError(faults, source)
    return tuple(failures)


def _failure_of(row: Sequence[str]) -> Iterator[Failure]:
    """Yield the failure of a row, nothing of an empty one."""
    if not any(row):
        return
    if len(row) != len(COLUMNS):
        raise InstanceError([Fault("", f"must have {len(COLUMNS)} columns, got {len(row)}")])
    nodes, *times = row
    numbers = []
    for name, text in zip(COLUMNS[1:], times, strict=True):
        try:
            numbers.append(float(text))
        except ValueError:
            raise InstanceError([Fault(name, f"must be a number, got {quoted(text)}")]) from None
    yield Failure(nodes.split(), *numbers)


@public
def sample_failures(
    platform: Platform,
    mtbf: float,
    mttr: float,
    until: float,
    *,
    shape: float = 1.0,
    sigma: float = 1.0,
    seed: Seed = 0,
) -> tuple[Failure, ...]:
    """Sample failures of the nodes of a platform: Weibull times between failures, lognormal times to repair.

    Nodes fail independently of each other. A node is as new when it has been repaired, and at time 0.

    Parameters
    ----------
    platform : Platform
        The platform.
    mtbf : float
        Mean time from a repair of a node to its next failure, s.
    mttr : float
        Mean time to repair, s.
    until : float
        No node fails from this time on, s.
    shape : float, default 1.0
        Shape parameter of the Weibull distribution, at least 0.1; 1 is the exponential distribution, below 1 failures
        come in bursts.
    sigma : float, default 1.0
        Standard deviation of the logarithm of the times to repair, at most 10; 0: all equal the mean.
    seed : int, default 0
        Random seed, at least 0.

    Returns
    -------
    tuple of coalloc.results.Failure
        The failures, by start.

    Raises
    ------
    CoallocError
        A parameter is out of its range, or there would be more than 10,000,000 failures.

    See Also
    --------
    coalloc.io.read_failures : Read a trace of failures.

    Notes
    -----
    Source: B. Schroeder and G. A. Gibson, "A large-scale study of failures in high-performance computing systems", IEEE
    Transactions on Dependable and Secure Computing 7(4), 2010.

    Examples
    --------
    Each of 64 nodes fails every 10 days on average, and is down for 2 hours:

    >>> import coalloc
    >>> instance = coalloc.generate("lublin", seed=1, jobs=50, nodes=64)
    >>> failures = coalloc.io.sample_failures(
    ...     instance.platform, 864000.0, 7200.0, 86400.0, seed=1
    ... )
    >>> run = coalloc.simulate(instance, "easy", failures=failures)
    >>> run.metrics["interruptions"] >= 0
    True
    """
    for name, number, is_right, right in (
        ("mtbf", mtbf, mtbf > 0.0, "above 0"),
        ("mttr", mttr, mttr > 0.0, "above 0"),
        ("until", until, until >= 0.0, "at least 0"),
        ("shape", shape, shape >= LEAST_SHAPE, f"at least {LEAST_SHAPE:g}"),
        ("sigma", sigma, 0.0 <= sigma <= MOST_SIGMA, f"from 0 to {MOST_SIGMA:g}"),
    ):
        if not (is_right and math.isfinite(number)):
            raise CoallocError(f"{name}: must be finite and {right}, got {number:g}")
    if seed < 0:
        raise CoallocError(f"seed: must be an integer of at least 0, got {shown(seed)}")
    if len(platform.nodes) * (until / mtbf) > MOST_SAMPLED:
        raise CoallocError(f"until: must give at most {MOST_SAMPLED:,} failures; use a larger mtbf or an earlier end")
    rng = np.random.default_rng(seed)
    scale, location = mtbf / math.gamma(1.0 + 1.0 / shape), math.log(mttr) - sigma**2 / 2.0
    failures: list[Failure] = []
    for node in platform.nodes:
        time = scale * float(rng.weibull(shape))
        while time < until:
            end = max(math.nextafter(time, math.inf), time + float(rng.lognormal(location, sigma)))
            failures.append(Failure([node.name], time, end))
            time = end + scale * float(rng.weibull(shape))
    return tuple(sorted(failures, key=attrgetter("start")))
