"""Lines of Slurm's files: configuration (``Key=Value``), records of ``scontrol -o``, tables of ``sacctmgr -P``.

Source: the manual pages of Slurm: slurm.conf (comments, continued lines, Include), scontrol, sacctmgr.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from coalloc.documents.text import quoted
from coalloc.instance import Fault, InstanceError
from coalloc.workloads.slurm.values import FieldError, LineError
from coalloc.workloads.trace_lines import numbered_lines

PAIR = re.compile(r"([A-Za-z][\w.]*)\s*[-+]?=(?:\s+(?![A-Za-z][\w.]*\s*[-+]?=))?(?:\"([^\"]*)\"|(\S*))(?:\s+|$)")
COMMENT = re.compile(r"(?<!\\)#.*")
RECORD_KEY = re.compile(r"(?:^|\s)([A-Z][A-Za-z:]*)=")
"""A key of a record of scontrol: its values may hold spaces."""
FREE_TEXT = frozenset({"reason", "comment", "extra", "os", "descr", "description"})
"""Keys of texts that are no names."""
MOST_INCLUDED = 100
"""Files that a configuration may consist of."""


@dataclass(frozen=True, slots=True)
class Line:
    """Content of a line of a file: values by key, in lower case."""

    source: str
    number: int
    pairs: dict[str, str]

    @property
    def key(self) -> str:
        """The first key, which tells what the line is of."""
        return next(iter(self.pairs))

    def text(self, *keys: str) -> str:
        """Return the value of the first of some keys that is there, nothing where none is."""
        return next((self.pairs[key] for key in keys if key in self.pairs), "")


@dataclass(slots=True)
class Faults:
    """Errors of the lines of files, by file."""

    of: dict[str, list[Fault]] = field(default_factory=dict)

    @contextmanager
    def at(self, source: str, number: int) -> Iterator[None]:
        """Note what is wrong with a line, and go on."""
        try:
            yield
        except LineError as error:
            self.of.setdefault(source, []).append(Fault(f"line {number}", str(error)))

    def raise_all(self) -> None:
        """Raise what is wrong with the first file that is faulty."""
        for source, faults in self.of.items():
            raise InstanceError(faults, source)


def conf_lines(source: str, faults: Faults) -> list[Line]:
    """Return the lines of a configuration, with those of the files that it includes in their places."""
    found: list[Line] = []
    folder, opened = Path(source).parent, [source]

    def read(path: str) -> None:
        for number, text in _logical_lines(path):
            with faults.at(path, number):
                if (inner := _included(text)) is None:
                    found.append(Line(path, number, _pairs(text)))
                    continue
                if len(opened) >= MOST_INCLUDED:
                    raise LineError(f"must not include more than {MOST_INCLUDED} files")
                opened.append(str(folder / inner))
                read(opened[-1])

    read(source)
    return found


def _logical_lines(source: str) -> Iterator[tuple[int, str]]:
    """Yield what lines say without comments; one that ends in a backslash goes on in the next."""
    before, first = "", 0
    for number, line in numbered_lines(source):
        text = COMMENT.sub("", line.decode(errors="replace").removeprefix("\ufeff")).strip()
        first = first or number
        if text.endswith("\\"):
            before += text[:-1] + " "
            continue
        if (before + text).strip():
            yield first, (before + text).strip()
        before, first = "", 0
    if before.strip():
        yield first, before.strip()


def _included(text: str) -> str | None:
    """Return the name of the file that a line includes, None where it includes none."""
    word, _, name = text.partition(" ")
    return name.strip() if word.lower() == "include" and "=" not in text else None


def _pairs(text: str) -> dict[str, str]:
    """Return the pairs of a line of a configuration."""
    pairs: dict[str, str] = {}
    position = 0
    while position < len(text):
        match = PAIR.match(text, position)
        if match is None:
            raise LineError(f"must consist of pairs Key=Value, got {quoted(text[position:])}")
        pairs[match[1].lower()] = match[3] if match[2] is None else match[2]
        position = match.end()
    _refuse_unprintable(pairs)
    return pairs


def _refuse_unprintable(pairs: dict[str, str]) -> None:
    """Raise where a value cannot be a name."""
    for key, text in pairs.items():
        if key not in FREE_TEXT and not text.isprintable():
            raise FieldError(key, "without control or format characters", text)


def record_lines(source: str, key: str, command: str, faults: Faults) -> Iterator[Line]:
    """Yield the records of ``scontrol show ... -o``, each of which begins with a key."""
    for number, line in numbered_lines(source):
        text = line.decode(errors="replace").removeprefix("\ufeff")
        places = list(RECORD_KEY.finditer(text))
        with faults.at(source, number):
            if text.startswith("No reservations"):
                continue
            if text and not text.startswith(f"{key}="):
                raise LineError(f"must begin with {key}=, as {command} prints it, got {quoted(text)}")
            ends = [match.start() for match in places[1:]] + [len(text)]
            if text:
                pairs = {m[1].lower(): text[m.end() : end].strip() for m, end in zip(places, ends, strict=True)}
                _refuse_unprintable(pairs)
                yield Line(source, number, pairs)


def table_lines(source: str, faults: Faults) -> Iterator[Line]:
    """Yield the rows of a table of which the first line names the columns; blanks before a value are kept."""
    lines = ((number, line.decode(errors="replace").removeprefix("\ufeff")) for number, line in numbered_lines(source))
    number, first = next(((number, line) for number, line in lines if line), (1, ""))
    names = [name.strip().lower() for name in first.rstrip("|").split("|")]
    if len(names) < 2:
        sentence = f"must name the columns (Account|User|...), as sacctmgr --parsable2 prints them, got {quoted(first)}"
        raise InstanceError([Fault(f"line {number}", sentence)], source)
    for number, line in lines:
        with faults.at(source, number):
            texts = line.split("|")
            if len(texts) == len(names) + 1 and not texts[-1]:
                texts.pop()
            if line and len(texts) != len(names):
                raise LineError(f"must have {len(names)} columns, as in the first line, got {len(texts)}")
            if line:
                pairs = dict(zip(names, texts, strict=True))
                _refuse_unprintable(pairs)
                yield Line(source, number, pairs)
