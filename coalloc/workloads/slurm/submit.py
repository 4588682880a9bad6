"""Options of ``sbatch``, ``salloc`` and ``srun`` on the line with which a job was submitted (SubmitLine of sacct).

Options inside of a job script (``#SBATCH``) are not there. Source: the manual pages sbatch and srun of Slurm.
"""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Iterator
from typing import NamedTuple

FLAGS = frozenset(
    [
        *(
            "contiguous",
            "exclusive",
            "get-user-env",
            "help",
            "hold",
            "ignore-pbs",
            "immediate",
            "no-allocate",
            "no-bell",
        ),
        *("no-kill", "no-requeue", "no-shell", "overcommit", "overlap", "oversubscribe", "parsable", "preserve-env"),
        *("pty", "quiet", "reboot", "requeue", "resv-ports", "spread-job", "test-only", "unbuffered", "usage"),
        *("use-min-nodes", "verbose", "version", "wait"),
    ]
)
"""Long options that have no value, or one behind ``=`` only."""
SHORT_FLAGS = frozenset("EHIKOQVWXZhksuv")
LONG = {"N": "nodes", "d": "dependency", "a": "array", "S": "core-spec", "C": "constraint", "x": "exclude"}
"""Long names of the short options that are read."""

UNEXPRESSED = {
    "contiguous": "adjacent nodes (--contiguous)",
    "switches": "a maximum of leaf switches (--switches)",
    "segment": "segments of blocks (--segment)",
    "spread-job": "a spread over nodes (--spread-job)",
    "nodelist": "certain nodes (--nodelist)",
    "exclude": "nodes to avoid (--exclude)",
    "nice": "a nice value (--nice)",
}
"""Options that an instance has no field for, and what a report calls them."""

NODES = re.compile(r"(\d+)([km]?)(?:-(\d+)([km]?))?")
THROTTLE = re.compile(r"%(\d+)\]?$")
THOUSANDS = {"": 1, "k": 1024, "m": 1024 * 1024}


class Submitted(NamedTuple):
    """Values of the options: fewest and most nodes, other jobs to wait for, tasks of an array at once, whole nodes."""

    nodes: tuple[int, int] | None = None
    dependency: str = ""
    throttle: int | None = None
    is_exclusive: bool = False
    unexpressed: tuple[str, ...] = ()


NOTHING = Submitted()


@functools.lru_cache(1 << 14)
def submitted(line: str, component: int = 0) -> Submitted:
    """Return what a line says; of a heterogeneous job, whose components stand between colons, what one of them says."""
    if "-" not in line:
        return NOTHING
    try:
        words = shlex.split(line)
    except ValueError:  # an open quotation mark
        words = line.split()
    options = dict(_options(words, component))
    throttle = throttle_of(options.get("array", ""))
    return Submitted(
        _nodes(options.get("nodes", "")),
        options.get("dependency", ""),
        throttle,
        options.get("exclusive") in ("", "true"),
        tuple(sentence for option, sentence in UNEXPRESSED.items() if option in options),
    )


def _options(words: list[str], component: int) -> Iterator[tuple[str, str]]:
    """Yield the options of a component with their values, up to the script or program."""
    place, now = 1, 0
    while place < len(words):
        word, following = words[place], words[place + 1] if place + 1 < len(words) else ""
        place += 1
        if word in (":", "hetjob"):
            now += 1
            continue
        if not word.startswith("-") or word == "-":
            if ":" not in words[place:]:
                return
            place += words[place:].index(":")
            continue
        name, value, takes_next = _option(word)
        if takes_next:
            value, place = following, place + 1
        if now == component:
            yield name, value


def _option(word: str) -> tuple[str, str, bool]:
    """Return the long name and the value of an option, and whether the next word is its value."""
    if word.startswith("--"):
        name, equals, value = word[2:].partition("=")
        return name, value, not equals and name not in FLAGS
    name, value = word[1:2], word[2:]
    return LONG.get(name, name), value, not value and name not in SHORT_FLAGS


def throttle_of(array: str) -> int | None:
    """Return how many tasks of an array may run at once (``0-99%4``), None where any number may."""
    match = THROTTLE.search(array)
    return int(match[1]) or None if match else None


def _nodes(text: str) -> tuple[int, int] | None:
    """Return the fewest and the most nodes (``2-4``); None where no range is said."""
    match = NODES.fullmatch(text.lower())
    if match is None or match[3] is None:
        return None
    fewest, most = int(match[1]) * THOUSANDS[match[2]], int(match[3]) * THOUSANDS[match[4]]
    return (fewest, most) if 0 < fewest < most else None
