"""What an audit says: a row for the whole period and for each window, answers in words, a picture, one page.

All intervals come from what is proven and what is held. Where the waiting comes from is told by relaxing one thing
after the other: the schedule as it was; the best that a policy with the users' estimates could have made; the best of
all; the best if jobs could be divided and interrupted; no wait at all, on a platform large enough. The mean wait of
each lies between a bound and a schedule, so what is between two of them lies in an interval; a difference of two bounds
says nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from coalloc.bench.outcomes import Outcome
from coalloc.display import palette
from coalloc.display.html import lines_table
from coalloc.display.pages import rendered
from coalloc.display.wording import duration_text, plural
from coalloc.documents.errors import InternalError
from coalloc.documents.storage import FilePath, write_atomically
from coalloc.studies.audit_windows import Window

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

Row = dict[str, Any]

MEASURES = ("wait", "bounded_slowdown")
"""What is measured of jobs, as means over them."""

SHARES: Mapping[str, str] = {
    "capacity": "too few processors at the time",
    "fragmentation": "jobs start all tasks at once and are not preempted",
    "estimates": "arrivals and run times are not known in advance",
    "order": "order in which jobs started",
}
"""Where waiting comes from, from what only a larger platform changes to what another schedule does."""

OF_MEASURES = tuple(
    f"{measure}_{part}"
    for measure in MEASURES
    for part in ("as_it_was", "bound", "best", "best_by", "online", "online_by")
)
OF_MAKESPAN = tuple(f"{name}_{part}" for name in ("makespan", "utilization") for part in ("as_it_was", "bound", "best"))
OF_SHARES = ("waited", *(f"{share}_{end}" for share in SHARES for end in ("low", "high")))
STATE = ("window", "kind", "begin", "end", "jobs", "waiting", "running", "crowded_out", "most_used", "is_possible")

COLUMNS = (*STATE, *OF_MEASURES, *OF_MAKESPAN, *OF_SHARES)
"""Columns of the table; docs/audit.md defines them."""

AS_IT_WAS = "audited schedule"

FOLDED = 30
"""Lines of the table of windows above which the page folds it."""

FEW_USED = 0.5
"""Share of the processors up to which the most that a log uses at a time raises doubts about their number."""

TOLERANCE = 1e-6
"""Share by which a schedule may be below a bound: both are floats."""


class Range(NamedTuple):
    """Between what a number lies."""

    low: float
    high: float


# ------------------------------------------------------------------------------ rows


def row_of(window: Window, label: str, outcome: Outcome, is_whole: bool) -> Row:
    """Return the row of a window, or of the whole period, from what its sample says."""
    low, past = outcome["bounds"], window.sample.measured(window.starts)
    known = [*outcome["schedules"]]
    if window.is_possible:
        known.append({"label": AS_IT_WAS, "is_online": True, **past})
    _refuse_impossible(label, low, known)
    row: Row = {
        "window": label,
        "kind": "period" if is_whole else "window",
        "begin": window.begin,
        "end": window.end,
        "jobs": len(window.starts),
        "waiting": window.num_waiting,
        "running": len(window.sample.instance.running),
        "crowded_out": window.num_crowded_out,
        "most_used": window.most_used,
        "is_possible": window.is_possible,
    }
    for measure in MEASURES:
        row |= _measured(measure, past[measure], low[measure], known)
    row |= _makespans(window, past["makespan"], low["makespan"], known)
    return row | _shares(row, outcome["without_fragmentation"])


def best_starts(window: Window, outcome: Outcome, row: Row) -> dict[str, float]:
    """Return when each job starts in the schedule of least mean wait that is held, s on the clock of the history."""
    is_past = row["wait_best_by"] == AS_IT_WAS
    starts = window.starts.tolist() if is_past else outcome["best_starts"]
    return {job.id: window.begin + start for job, start in zip(window.sample.instance.jobs, starts, strict=True)}


def _measured(measure: str, past: float, bound: float, known: Sequence[Mapping[str, Any]]) -> Row:
    """Return what a measure was, is at least, and is in the best schedules."""
    best = min(known, key=lambda held: float(held[measure]))
    online = min((held for held in known if held["is_online"]), key=lambda held: float(held[measure]))
    return {
        f"{measure}_as_it_was": past,
        f"{measure}_bound": min(bound, best[measure]),  # above it by rounding alone: see _refuse_impossible
        f"{measure}_best": best[measure],
        f"{measure}_best_by": best["label"],
        f"{measure}_online": online[measure],
        f"{measure}_online_by": online["label"],
    }


def _makespans(window: Window, past: float, bound: float, known: Sequence[Mapping[str, Any]]) -> Row:
    """Return makespans, s, and which share of the processors was used until then: at most, where the bound is."""
    best = min(float(held["makespan"]) for held in known)
    found = {"as_it_was": past, "bound": min(bound, best), "best": best}
    most = window.sample.work / window.sample.instance.platform.num_processors
    makespans = {f"makespan_{part}": seconds for part, seconds in found.items()}
    return makespans | {f"utilization_{part}": most / seconds for part, seconds in found.items()}


def _shares(row: Row, fluid: Mapping[str, float]) -> Row:
    """Return between what the part of each share of the mean wait lies, s."""
    past, least, best, online = (row[f"wait_{part}"] for part in ("as_it_was", "bound", "best", "online"))
    divided = Range(fluid["bound"], min(fluid["best"], best))
    low = min(divided.low, divided.high)
    waited = fluid["waited"]
    ranges = {
        "capacity": Range(low - waited, divided.high - waited),
        "fragmentation": Range(max(0.0, least - divided.high), best - low),
        "estimates": Range(0.0, max(0.0, online - least)),
        "order": Range(max(0.0, past - online), max(0.0, past - least)),
    }
    ends = {f"{share}_{end}": part for share, found in ranges.items() for end, part in found._asdict().items()}
    return {"waited": waited, **ends}


def _refuse_impossible(label: str, bounds: Mapping[str, float], known: Sequence[Mapping[str, Any]]) -> None:
    """Raise where a schedule beats a bound: then one of the two is wrong."""
    for held in known:
        for measure, bound in bounds.items():
            if bound > held[measure] * (1.0 + TOLERANCE) + TOLERANCE:
                raise InternalError(
                    f"{label}: the bound {bound:.12g} on {measure} exceeds the {held[measure]:.12g} of "
                    f"{held['label']!r}"
                )


def table_of(rows: Iterable[Row]) -> pd.DataFrame:
    """Return the table of rows, in their order."""
    import pandas as pd

    return pd.DataFrame(list(rows), columns=list(COLUMNS))


# ------------------------------------------------------------------------------ the audit


@dataclass(frozen=True)
class Answer:
    """A question of an audit: what was, and between what the best lies: bound and schedule; ``unit`` is "" or s.

    ``online`` is the best of a ``policy`` that knows only user estimates.
    """

    question: str
    as_it_was: float
    best: Range
    online: float
    policy: str
    unit: str

    @property
    def avoidable(self) -> Range:
        """Between what shares of what was no schedule needed."""
        if not self.as_it_was:
            return Range(0.0, 0.0)
        return Range(max(0.0, 1.0 - self.best.high / self.as_it_was), max(0.0, 1.0 - self.best.low / self.as_it_was))

    @property
    def avoided(self) -> float:
        """The share of what was that the policy avoids."""
        return max(0.0, 1.0 - self.online / self.as_it_was) if self.as_it_was else 0.0

    def text(self, number: float) -> str:
        """Return a number in words."""
        return amount(number) if self.unit == "s" else f"{number:.4g}"


@dataclass(frozen=True)
class Audit:
    """The result of ``coalloc.audit``; printing it shows aligned lines.

    Attributes
    ----------
    name : str
        Name of the trace or instance.
    policy : str
        Whose schedule was audited: the log's (``"as it ran"``) or that of a policy.
    num_processors : int
        Number of processors of the platform.
    epoch : float or None
        Unix time of time 0, s; None if it is unknown.
    account : tuple of str
        Report of dropped and modified jobs.
    whole : dict
        The row of the whole period, with the columns of docs/audit.md.
    windows : tuple of dict
        The rows of the intervals.
    held : tuple of dict
        Start of each job (s) in the best known schedule for the mean wait: of the period, then of each interval.

    Examples
    --------
    >>> import coalloc
    >>> instance = coalloc.example("flux-sched-572")
    >>> found = coalloc.audit(instance, policy="easy", processes=1, time_limit=0.5)
    >>> found.table[["kind", "jobs", "wait_as_it_was"]].round(1)
         kind  jobs  wait_as_it_was
    0  period    17            49.4
    1  window    17            49.4
    """

    name: str
    policy: str
    num_processors: int
    epoch: float | None
    account: tuple[str, ...]
    whole: Row
    windows: tuple[Row, ...]
    held: tuple[Mapping[str, float], ...] = field(repr=False)

    @property
    def starts(self) -> pd.DataFrame:
        """Start of each job in the best known schedules for the mean wait, as a table: window, job, start (s)."""
        import pandas as pd

        rows = zip([self.whole, *self.windows], self.held, strict=True)
        lines = [(row["window"], job, start) for row, starts in rows for job, start in starts.items()]
        return pd.DataFrame(lines, columns=["window", "job", "start"])

    @property
    def table(self) -> pd.DataFrame:
        """Table with one row for the whole period, then one per interval (docs/audit.md)."""
        return table_of([self.whole, *self.windows])

    @property
    def answers(self) -> tuple[Answer, ...]:
        """Actual value, lower bound and best known value of the mean wait and of the mean bounded slowdown."""
        units = {"wait": ("mean wait", "s"), "bounded_slowdown": ("mean bounded slowdown", "")}
        return tuple(
            Answer(
                question,
                self.whole[f"{measure}_as_it_was"],
                Range(self.whole[f"{measure}_bound"], self.whole[f"{measure}_best"]),
                self.whole[f"{measure}_online"],
                self.whole[f"{measure}_online_by"],
                unit,
            )
            for measure, (question, unit) in units.items()
        )

    @property
    def shares(self) -> dict[str, Range]:
        """Lower and upper bound on the part of the mean wait that each source causes, s."""
        return {share: Range(self.whole[f"{share}_low"], self.whole[f"{share}_high"]) for share in SHARES}

    @property
    def document(self) -> dict[str, Any]:
        """The audit as a JSON document."""
        return {
            "trace": self.name,
            "policy": self.policy,
            "processors": self.num_processors,
            "epoch": self.epoch,
            "account": list(self.account),
            "period": self.whole,
            "windows": list(self.windows),
        }

    @property
    def headline(self) -> str:
        """The result of the audit in one paragraph."""
        wait = self.answers[0]
        if not wait.as_it_was:
            return "No job waited."
        saved, needed = percent(wait.avoidable.low), percent(1.0 - wait.avoidable.high)
        by = f"The policy {wait.policy}, which knows only user estimates, avoids {percent(wait.avoided)}."
        if wait.policy == AS_IT_WAS:
            by = "No simulated policy that knows only user estimates avoids any of it."
        return (
            f"Jobs waited {wait.text(wait.as_it_was)} on average. With hindsight {saved} of this wait was avoidable: a "
            f"better schedule is known. {needed} was unavoidable in any schedule (proved). {by}"
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """Inconsistencies between the log and the platform."""
        impossible = [row for row in [self.whole, *self.windows] if not row["is_possible"]]
        if not impossible:
            most = self.whole["most_used"]
            if most > FEW_USED * self.num_processors:
                return ()
            return (
                f"The log uses at most {most} of the {self.num_processors} processors at a time. If the platform has "
                "fewer, too much of the waiting is called avoidable.",
            )
        most = max(row["most_used"] for row in impossible)
        return (
            f"The log uses up to {most} processors at a time, but the platform has {self.num_processors}. In "
            f"{plural(len(impossible), 'row')} of the table the audited schedule is infeasible and may be below the "
            "bounds.",
        )

    def lines(self) -> list[tuple[str, str]]:
        """Return the (name, text) pairs that printing shows."""
        whole = self.whole
        of_jobs = f"{plural(whole['jobs'], 'job')} on {plural(self.num_processors, 'processor')}, {self.policy}"
        found = [*(("warning", warning) for warning in self.warnings), ("trace", f"{self.name}: {of_jobs}")]
        found += [
            ("period", f"{duration_text(whole['end'] - whole['begin'])} in {plural(len(self.windows), 'interval')}")
        ]
        for answer in self.answers:
            saved = between(*map(percent, answer.avoidable))
            found.append((answer.question, f"{answer.text(answer.as_it_was)} in the audited schedule"))
            found.append(("", f"{answer.text(answer.best.low)} or more in any schedule (proved)"))
            found.append(("", f"{answer.text(answer.best.high)} in the best known schedule: {saved} avoidable"))
            known = f"which knows only user estimates: {percent(answer.avoided)} avoided"
            if answer.policy != AS_IT_WAS:
                found.append(("", f"{answer.text(answer.online)} under {answer.policy}, {known}"))
        used = {part: percent(whole[f"utilization_{part}"]) for part in ("as_it_was", "best", "bound")}
        parts = f"{used['as_it_was']} in the audited schedule, {used['best']} in the best known schedule"
        found.append(("utilization", f"{parts}, at most {used['bound']} (proved)"))
        for share, range in self.shares.items():
            found.append((f"wait by {share}", f"{between(*map(amount, range))}: {SHARES[share]}"))
        return found

    def __str__(self) -> str:
        width = max(len(name) for name, _ in self.lines())
        return "\n".join(f"{name:<{width}} {text}" for name, text in self.lines())

    def __repr__(self) -> str:
        of_jobs = f"{plural(self.whole['jobs'], 'job')}, {plural(len(self.windows), 'interval')}"
        return f"<Audit of {self.name!r}: {of_jobs}>"

    def _repr_html_(self) -> str:
        return lines_table(self.lines())

    def draw(self, path: FilePath | None = None) -> Figure:
        """Draw the avoidable wait, its sources and the intervals.

        Parameters
        ----------
        path : str or PathLike or None, default None
            File of the figure: ``.png``, ``.svg`` or ``.pdf``. None: no file.

        Returns
        -------
        matplotlib.figure.Figure
            The figure.
        """
        from coalloc.plot.audit import draw_audit
        from coalloc.plot.pictures import write_figure

        figure = draw_audit(self.table, SHARES, self.epoch)
        if path is not None:
            write_figure(figure, path)
        return figure

    @property
    def page(self) -> str:
        """The audit as one self-contained HTML page with the figure, without scripts."""
        from base64 import b64encode

        from coalloc.plot.pictures import static_picture

        picture = b64encode(static_picture(self.draw(), "svg")).decode()
        whole = self.whole
        period = [instant_text(whole[edge], self.epoch) for edge in ("begin", "end")]
        heads, lines = _lines_of_windows([self.whole, *self.windows])
        return rendered(
            "audit.html",
            title=f"Audit of {self.name}",
            audit=self,
            period=period,
            answers=[_answer_line(answer) for answer in self.answers],
            utilization=[percent(whole[f"utilization_{part}"]) for part in ("as_it_was", "best", "bound")],
            shares=[_share_line(self, share) for share in SHARES],
            waited=amount(whole["waited"]) if whole["waited"] else "",
            picture=picture,
            heads=heads,
            lines=lines,
            folded=FOLDED,
            palette=palette,
        )

    def write_page(self, path: FilePath) -> None:
        """Write the HTML page to a file.

        Parameters
        ----------
        path : str or PathLike
            The file.
        """
        write_atomically(path, self.page)


# ------------------------------------------------------------------------------ words


def instant_text(instant: float, epoch: float | None) -> str:
    """Return an instant as a date on the clock of the site, or in s where that is not known."""
    if epoch is None:
        return f"{instant:.12g} s"
    return f"{datetime.fromtimestamp(epoch + instant, UTC):%Y-%m-%d %H:%M}"


def between(low: str, high: str) -> str:
    """Return the text of a range from the texts of its ends, once if they are equal."""
    return low if low == high else f"{low} to {high}"


def amount(seconds: float) -> str:
    """Return a time in its own unit with three digits, from milliseconds on: logs count whole seconds."""
    seconds = round(seconds, 3)
    unit, length = next(
        ((symbol, length) for symbol, length in (("d", 86_400.0), ("h", 3_600.0), ("min", 60.0)) if seconds >= length),
        ("s", 1.0),
    )
    return f"{seconds / length:.3g} {unit}"


def percent(share: float) -> str:
    """Return a share in percent; a part of one is not said to be none, or all."""
    if 0.0 < share < 0.001 or 0.999 < share < 1.0:
        return f"{100.0 * share:.2f} %"
    return f"{100.0 * share:.3g} %"


def _answer_line(answer: Answer) -> tuple[str, ...]:
    """Return the cells of an answer: question, as it was, bound, best, online, what could be saved."""
    numbers = (answer.as_it_was, answer.best.low, answer.best.high)
    online = f"{answer.text(answer.online)} ({answer.policy})"
    return (answer.question, *map(answer.text, numbers), online, between(*map(percent, answer.avoidable)))


def _share_line(audit: Audit, share: str) -> tuple[str, ...]:
    """Return the cells of a source of waiting: what it is, at least, at most, and both as shares of all."""
    found, whole = audit.shares[share], audit.whole["wait_as_it_was"]
    parts = [percent(min(1.0, part / whole)) if whole else "0 %" for part in found]
    return (share, SHARES[share], *map(amount, found), between(*parts))


def _lines_of_windows(rows: Sequence[Row]) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the head and the lines of the table of windows."""
    heads = (
        "interval",
        "jobs",
        "mean wait, audited",
        "bound",
        "best known",
        "best policy",
        "mean bounded slowdown, audited",
        "bound",
        "best known",
    )
    lines = [
        (
            str(row["window"]),
            f"{row['jobs']}",
            *(amount(row[f"wait_{part}"]) for part in ("as_it_was", "bound", "best", "online")),
            *(f"{row[f'bounded_slowdown_{part}']:.4g}" for part in ("as_it_was", "bound", "best")),
        )
        for row in rows
    ]
    return heads, lines
