"""Report of an audit: answers in words, the named policy, tables, a picture, one page."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from coalloc.documents import palette
from coalloc.documents.pages import rendered
from coalloc.documents.wording import between, duration_text, plural
from coalloc.measures.intervals import LEAST_SAMPLES
from coalloc.studies.audit_model import ModelFit
from coalloc.studies.audit_policies import AS_IT_WAS, STATISTICS, PolicyTrial, Trials, options_of, spelled
from coalloc.studies.audit_rows import SHARES, Row, ValueRange, table_of
from coalloc.studies.audit_sites import Site
from coalloc.studies.audit_words import amount, date_text, percent
from coalloc.studies.report import Report

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

FOLDED = 30
"""Lines of the table of windows above which the page folds it."""

MOST_OF_A_KIND = 10
"""Groups of a kind, such as users, that the page lists."""

POLICY_HEADS = ("policy", "mean wait", "median", "90 %", "99 %", "longest", "starved", "mean, odd", "mean, even")
GROUP_HEADS = ("jobs by", "group", "jobs", "mean wait", "median", "90 %", "99 %", "longest", "starved")

GROUP_TEXTS = {"size": "{} processors", "length": "{}"}
"""Wording of a group of jobs, by the attribute that makes groups."""

REPEATED = "0.1"
"""Time limit of the command that repeats a mean wait, which depends on no search, s."""

FEW_USED = 0.5
"""Share of the processors up to which the most that a log uses at a time raises doubts about their number."""


@dataclass(frozen=True)
class Answer:
    """A question of an audit: what was, and between what the best lies: bound and schedule; ``unit`` is "" or s.

    ``online`` is that of the named ``policy``, which knows only user estimates.
    """

    question: str
    as_it_was: float
    best: ValueRange
    online: float
    policy: str
    unit: str

    @property
    def avoidable(self) -> ValueRange:
        """Between what shares of what was no schedule needed."""
        if not self.as_it_was:
            return ValueRange(0.0, 0.0)
        return ValueRange(
            max(0.0, 1.0 - self.best.high / self.as_it_was), max(0.0, 1.0 - self.best.low / self.as_it_was)
        )

    @property
    def avoided(self) -> float:
        """The share of what was that the policy avoids; below 0 where it adds to it."""
        return 1.0 - self.online / self.as_it_was if self.as_it_was else 0.0

    def text(self, number: float) -> str:
        """Return a number in words."""
        return amount(number) if self.unit == "s" else f"{number:.4g}"


@dataclass(frozen=True)
class LogSource:
    """Name of a log in the shell: its file, the options of its trace, and those by which an audit takes a part of it.

    ``is_complete``: the audit is of all jobs from the first arrival on, so that a simulation of the file is the same.
    """

    file: str
    options: tuple[str, ...]
    of_audit: tuple[str, ...]
    is_complete: bool


@dataclass(frozen=True)
class Audit(Report):
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
        The row of the whole period, with the columns of ``table``.
    windows : tuple of dict
        The rows of the intervals.
    held : tuple of dict
        Start of each job (s) in the best known schedule for the mean wait: of the period, then of each interval.
    trials : Trials
        The audited schedule and the policies that ran over the whole period, job by job.
    model : ModelFit or None
        The log compared with the policy that models the site, if one is given.
    source : Source
        The file of the log, for the command that repeats a figure.
    site : Site or None
        The resource manager that the log is from, if policies are also stated as its settings.
    names_users : bool
        Whether tables name the users; otherwise they are numbered.

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
    trials: Trials = field(repr=False)
    model: ModelFit | None = field(repr=False)
    source: LogSource = field(repr=False)
    site: Site | None = field(repr=False)
    names_users: bool

    @property
    def starts(self) -> pd.DataFrame:
        """Start of each job in the best known schedules for the mean wait, as a table: window, job, start (s)."""
        import pandas as pd

        rows = zip([self.whole, *self.windows], self.held, strict=True)
        lines = [(row["window"], job, start) for row, starts in rows for job, start in starts.items()]
        return pd.DataFrame(lines, columns=["window", "job", "start"])

    @property
    def table(self) -> pd.DataFrame:
        """Table with one row for the whole period, then one per interval; times in s.

        - ``window``, ``kind``: beginning on the clock of the site if it is known; ``"period"`` or ``"window"``.
        - ``begin``, ``end``: on the clock of the trace.
        - ``jobs``, ``waiting``, ``running``: jobs that count; those that waited and that ran at the beginning.
        - ``crowded_out``: jobs that ran then but found no processors; they are left out.
        - ``most_used``, ``is_possible``: most processors in use in the log, and whether the platform has as many. If it
          has not, or the log breaks another rule of the instance, the log is no schedule of the problem, and may be
          below a bound.
        - ``wait_as_it_was``, ``wait_bound``, ``wait_best``, ``wait_online``: mean wait in the log, its lower bound, in
          the best known schedule, and in the best of a policy with user estimates.
        - ``wait_best_by``, ``wait_online_by``: origin of these schedules: a policy as ``policies`` accepts it, or
          ``"search"``.
        - ``bounded_slowdown_...``: the same for the mean bounded slowdown.
        - ``makespan_as_it_was``, ``makespan_bound``, ``makespan_best``: from the beginning to the last end.
        - ``utilization_...``: processor-seconds of these and of running jobs / (processors * makespan); at most that of
          the bound on the makespan.
        - ``waited``: mean wait before the beginning.
        - ``capacity_low``, ``capacity_high``, ...: lower and upper bound on the part of each cause of waiting.
        """
        return table_of([self.whole, *self.windows])

    @cached_property
    def policies(self) -> pd.DataFrame:
        """Table with one row for the audited schedule and for each policy over the whole period; times in s.

        - ``policy``, ``kind``: the policy as ``--against`` accepts it; ``"audited"``, ``"named"``, ``"model"`` or
          ``"tried"``.
        - ``wait_mean``, ``wait_median``, ``wait_p90``, ``wait_p99``, ``wait_max``: of the waits of all jobs.
        - ``starved``: number of jobs that wait longer than a day and than ten times their requested walltime.
        - ``wait_chosen_on``, ``wait_measured_on``: mean wait of the jobs of odd and of even intervals.
        - ``front_p99``, ``front_max``: whether no other policy is better in both the mean wait and the 99th percentile,
          or the maximum; of equal policies the first.
        """
        return self.trials.table

    @cached_property
    def groups(self) -> pd.DataFrame:
        """Table with one row per group of jobs: waits (s) in the audited schedule and under the named policy.

        - ``by``, ``group``, ``jobs``: property of the jobs, such as size, length, user, queue or account; its value;
          number of jobs.
        - ``wait_mean_before``, ``wait_mean_after``, ...: each statistic of ``policies``, in both schedules.
        """
        return self.trials.groups(users=self.names_users)

    @property
    def answers(self) -> tuple[Answer, ...]:
        """Actual value, lower bound and best known value of the mean wait and of the mean bounded slowdown."""
        units = {"wait": ("mean wait", "s"), "bounded_slowdown": ("mean bounded slowdown", "")}
        policy = self.trials.named or self.trials.audited
        return tuple(
            Answer(
                question,
                self.whole[f"{measure}_as_it_was"],
                ValueRange(self.whole[f"{measure}_bound"], self.whole[f"{measure}_best"]),
                self.trials.mean(measure, policy),
                policy.label,
                unit,
            )
            for measure, (question, unit) in units.items()
        )

    @property
    def command(self) -> str:
        """The command of the shell that repeats the mean wait under the named policy; "" where none is named."""
        named, source = self.trials.named, self.source
        if named is None or named.policy is None:
            return ""
        if source.is_complete:
            options = [text for option in options_of(named.policy) for text in ("-p", option)]
            policy = ["--policy", str(named.policy["policy"]), *options]
            return shlex.join(["coalloc", "simulate", source.file, *source.options, *policy])
        asked = [*source.options, *source.of_audit, "--against", spelled(named.policy), "--time-limit", REPEATED]
        return shlex.join(["coalloc", "audit", source.file, *asked])

    @property
    def settings(self) -> tuple[str, ...]:
        """Lines of the site's configuration for the best policy that it has settings for; none for other logs."""
        best = self._best_of_site
        return () if self.site is None or best is None or best.policy is None else self.site.settings_of(best.policy)

    @cached_property
    def _best_of_site(self) -> PolicyTrial | None:
        return None if self.site is None else self.site.best(self.trials)

    @property
    def settings_sentence(self) -> str:
        """Whether the site has settings for the named policy, and what the best that it has avoids; "" for others."""
        best, named = self._best_of_site, self.trials.named
        if self.site is None:
            return ""
        none = "" if named is None or named is best else f"{self.site.name} has no setting for {named.label}. "
        if best is None:
            return none.strip()
        waits = amount(float(best.waits.mean()))
        able = f"Of the policies that {self.site.name} has settings for"
        return f"{none}{able}, {best.label} is best: mean wait {waits}."

    @property
    def shares(self) -> dict[str, ValueRange]:
        """Lower and upper bound on the part of the mean wait that each source causes, s."""
        return {share: ValueRange(self.whole[f"{share}_low"], self.whole[f"{share}_high"]) for share in SHARES}

    @property
    def document(self) -> dict[str, Any]:
        """The audit as a JSON document."""
        return {
            "trace": self.name,
            "policy": self.policy,
            "processors": self.num_processors,
            "epoch": self.epoch,
            "account": list(self.account),
            "model": None if self.model is None else self.model.document,
            "period": self.whole,
            "windows": list(self.windows),
            "named_policy": None if self.trials.named is None else self._named_document(self.trials.named),
            "policies": self.policies.to_dict("records"),
            "settings": list(self.settings),
            "unfinished": list(self.trials.unfinished),
            "groups": self.groups.to_dict("records"),
        }

    def _named_document(self, named: PolicyTrial) -> dict[str, Any]:
        """Return the named policy as a part of a JSON document."""
        gain = self.trials.gain
        ends = (None if math.isnan(end) else end for end in (gain.low, gain.high))
        return {
            "label": named.label,
            "policy": dict(named.policy or {}),
            "command": self.command,
            "gain": self.trials.gain_over(self.trials.audited.waits),
            "gain_measured": gain.mean,
            "gain_interval": [*ends],
            "measured_on": gain.samples,
            "intervals": self.trials.jobs.num_intervals,
        }

    @property
    def headline(self) -> str:
        """The result of the audit in one paragraph."""
        return " ".join(self.sentences)

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """The result of the audit in at most five sentences, after one on the model of the site."""
        wait = self.answers[0]
        if not wait.as_it_was:
            return ("No job waited.",)
        saved, needed = wait.avoidable.low, 1.0 - wait.avoidable.high
        proved = percent(needed) if needed else "none"
        past = (
            f"Jobs waited {wait.text(wait.as_it_was)} on average: with hindsight {percent(saved)} of this wait was "
            f"avoidable (a better schedule is known), and {proved} is proved unavoidable."
        )
        model = [] if self.model is None else [f"As a model of the site, {self.model.sentences[0]}."]
        if self.trials.named is None:
            return (*model, past, f"{self._none_named[0].upper()}{self._none_named[1:]}.")
        return (
            *model,
            past,
            f"The policy {wait.policy}, which knows only user estimates, avoids {self._avoided}.",
            f"{self._measured[0].upper()}{self._measured[1:]}.",
            "Under it {}, {}, and {}.".format(*self._costs),
            self._left,
        )

    @property
    def _none_named(self) -> str:
        """The sentence that the audit names no policy."""
        tried = f"{len(self.trials.policies)} {'policy' if len(self.trials.policies) == 1 else 'policies'}"
        others = "" if self.model is None else ", on the intervals of choice and also compared with the model"
        return f"none of {tried} tried makes jobs wait less with user estimates only{others}"

    @property
    def _avoided(self) -> str:
        """The share of the waiting that the named policy avoids: of the log, and of a simulation.

        That is of the model of the site, or else EASY: errors of the model are in both, and do not flatter the policy.
        """
        of_log = f"{percent(self.answers[0].avoided)} of the wait"
        easy = (trial for trial in self.trials.policies if trial.policy == {"policy": "easy"})
        beside = self.trials.model or next(easy, None)
        if beside is None or beside.label in (self.policy, self.answers[0].policy):
            return of_log
        return f"{of_log}, and {percent(self.trials.gain_over(beside.waits))} of that under a simulated {beside.label}"

    @property
    def _measured(self) -> str:
        """Return where the policy was chosen, and its gain elsewhere."""
        num_intervals, gain = self.trials.jobs.num_intervals, self.trials.gain
        if num_intervals == 1:
            return "this gain is measured on the one interval on which the policy was chosen, and therefore flatters it"
        chosen = f"chosen on {plural((num_intervals + 1) // 2, 'odd interval')}, it avoids {percent(gain.mean)}"
        on = f"on {plural(gain.samples, 'even interval')}"
        if gain.samples < LEAST_SAMPLES:
            return f"{chosen} {on}, too few for a confidence interval"
        return f"{chosen} (95 % confidence interval {percent(gain.low)} to {percent(gain.high)}) {on}"

    @property
    def _costs(self) -> tuple[str, str, str]:
        """The jobs that wait longer under the named policy, the longest wait, and the number of starved jobs."""
        rows = {row["policy"]: row for row in self.policies.to_dict("records")}
        before, after = rows[AS_IT_WAS], rows[self.answers[0].policy]
        starved = f"{plural(after['starved'], 'job')} starve{'s' if after['starved'] == 1 else ''}"
        if before["starved"] != after["starved"]:
            starved += f" instead of {before['starved']}"
        groups = [row for row in self.groups.to_dict("records") if row["by"] in GROUP_TEXTS]
        most = max(groups, key=lambda row: (row["mean_after"] - row["mean_before"]) * row["jobs"])
        longer = "no size and no length of jobs waits longer on average"
        if most["mean_after"] > most["mean_before"]:
            of_jobs = GROUP_TEXTS[most["by"]].format(most["group"])
            longer = f"jobs of {of_jobs} wait {_instead(most['mean_after'], most['mean_before'])} on average"
        return longer, f"the longest wait is {_instead(after['wait_max'], before['wait_max'])}", starved

    @property
    def _left(self) -> str:
        """The distance to the bound under the named policy."""
        wait, least = self.answers[0], self.answers[0].best.low
        return (
            f"Of the {amount(wait.online)} that remain, at least {amount(least)} is unavoidable, and at most "
            f"{amount(max(0.0, wait.online - least))} comes from unknown arrivals and run times."
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
        if most <= self.num_processors and not any(row["crowded_out"] for row in impossible):
            return (
                "The audited schedule breaks rules of the instance, which `coalloc check` lists, such as a limit that "
                "was set later. It may be below the bounds.",
            )
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
        if self.model is not None:
            found += zip(("model of the site", "", ""), self.model.sentences, strict=True)
        for answer in self.answers:
            saved = between(*map(percent, answer.avoidable))
            found.append((answer.question, f"{answer.text(answer.as_it_was)} in the audited schedule"))
            found.append(("", f"{answer.text(answer.best.low)} or more in any schedule (proved)"))
            found.append(("", f"{answer.text(answer.best.high)} in the best known schedule: {saved} avoidable"))
            known = f"which knows only user estimates: {percent(answer.avoided)} avoided"
            if self.trials.named is not None:
                found.append(("", f"{answer.text(answer.online)} under {answer.policy}, {known}"))
        used = {part: percent(whole[f"utilization_{part}"]) for part in ("as_it_was", "best", "bound")}
        parts = f"{used['as_it_was']} in the audited schedule, {used['best']} in the best known schedule"
        found.append(("utilization", f"{parts}, at most {used['bound']} (proved)"))
        for share, range in self.shares.items():
            found.append((f"wait by {share}", f"{between(*map(amount, range))}: {SHARES[share]}"))
        return found + self._policy_lines()

    def _policy_lines(self) -> list[tuple[str, str]]:
        """Return the (name, text) pairs on the policies that were tried."""
        tried = f"{len(self.trials.policies)} tried"
        if self.trials.unfinished:
            tried += f"; given up at the time limit: {', '.join(self.trials.unfinished)}"
        found = [("policies", tried)]
        if self.trials.named is None:
            found.append(("named policy", self._none_named))
        else:
            found += [
                ("named policy", f"{self.trials.named.label} avoids {self._avoided}"),
                ("", self._measured),
                *(("", cost) for cost in self._costs),
                ("reproduce with", self.command),
            ]
        if self.site is not None and self.settings_sentence:
            of_site = f"settings of {self.site.name}"
            found += [(of_site, self.settings_sentence), *(("", line) for line in self.settings)]
        front = self.policies[self.policies["front_p99"]]
        points = zip(front["policy"], front["wait_mean"], front["wait_p99"], strict=True)
        listed = [f"{amount(mean)}, {amount(p99)}: {label}" for label, mean, p99 in points]
        found.append(("Pareto front", "mean wait against 99th percentile of the waits"))
        return [*found, *(("", line) for line in listed)]

    def __repr__(self) -> str:
        of_jobs = f"{plural(self.whole['jobs'], 'job')}, {plural(len(self.windows), 'interval')}"
        return f"<Audit of {self.name!r}: {of_jobs}>"

    def _figure(self) -> Figure:
        from coalloc.plot.audit import draw_audit

        utilization = None if self.model is None else self.model.utilization
        return draw_audit(self.table, SHARES, self.epoch, self.policies, utilization)

    @property
    def page(self) -> str:
        """The audit as one self-contained HTML page with the figure, without scripts."""
        whole = self.whole
        period = [date_text(whole[edge], self.epoch) for edge in ("begin", "end")]
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
            picture=self._picture,
            policy_heads=POLICY_HEADS,
            policy_lines=_lines_of_policies(self.policies),
            group_heads=GROUP_HEADS,
            group_lines=_lines_of_groups(self.groups),
            num_groups=len(self.groups),
            heads=heads,
            lines=lines,
            folded=FOLDED,
            palette=palette,
        )


def _instead(after: float, before: float) -> str:
    """Return two durations in words, once if they are equal."""
    return amount(after) if amount(after) == amount(before) else f"{amount(after)} instead of {amount(before)}"


def _answer_line(answer: Answer) -> tuple[str, ...]:
    """Return the cells of an answer: question, as it was, bound, best, online, what could be saved."""
    numbers = (answer.as_it_was, answer.best.low, answer.best.high)
    online = f"{answer.text(answer.online)} ({answer.policy})"
    return (answer.question, *map(answer.text, numbers), online, between(*map(percent, answer.avoidable)))


def _lines_of_policies(table: pd.DataFrame) -> list[tuple[str, bool, tuple[str, ...]]]:
    """Return the kind, whether it is on the front, and the cells of each policy."""
    waits = [column for column in table.columns if column.startswith("wait_")]
    lines = []
    for row in table.to_dict("records"):
        cells = [amount(row[column]) for column in waits]
        lines.append((row["kind"], row["front_p99"], (row["policy"], *cells[:5], str(row["starved"]), *cells[5:])))
    return lines


def _lines_of_groups(table: pd.DataFrame) -> list[tuple[str, ...]]:
    """Return the cells of each group, before and under the named policy; of users the first."""
    shown = table[table.groupby("by").cumcount() < MOST_OF_A_KIND]
    lines = []
    for row in shown.to_dict("records"):
        waits = [" → ".join(amount(row[f"{name}_{when}"]) for when in ("before", "after")) for name in STATISTICS]
        starved = f"{row['starved_before']} → {row['starved_after']}"
        lines.append((row["by"], str(row["group"]), str(row["jobs"]), *waits, starved))
    return lines


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
