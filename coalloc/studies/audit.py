"""Distance of a past schedule from the best, and the policies that come nearer.

What is run is in :mod:`coalloc.studies.audit_calls`, what the answers mean in ``docs/audit.md``, and how they are read
from what was run in :mod:`coalloc.studies.audit_report`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from coalloc.api.simulating import simulate
from coalloc.checker import check
from coalloc.documents.arguments import Seed, picture_of, public, require
from coalloc.documents.storage import FilePath
from coalloc.documents.text import quoted
from coalloc.instance import CoallocError, Instance, Platform, UnsupportedFeature
from coalloc.schedule import Schedule
from coalloc.simulator.simulation import refuse_policy
from coalloc.solvers.result import finite_limit
from coalloc.studies.audit_calls import SiteStudy, Study, arrivals_text
from coalloc.studies.audit_model import ModelFit
from coalloc.studies.audit_policies import CANDIDATES, IN_INTERVALS, Policy, Trials, refinements, spelled
from coalloc.studies.audit_report import Audit, LogSource
from coalloc.studies.audit_rows import Row
from coalloc.studies.audit_sites import SITES, Site
from coalloc.studies.audit_windows import Floats, History, refuse_unequal, restrictions
from coalloc.studies.audit_words import date_text
from coalloc.studies.comparison import contestants_of
from coalloc.studies.given_log import instant_of, log_of
from coalloc.studies.runs import store_at, workers_of
from coalloc.studies.whatif_scenario import Scenario
from coalloc.workloads.logs import Log, format_of
from coalloc.workloads.slurm.sacct_records import Unit
from coalloc.workloads.swf import Broken
from coalloc.workloads.swf_rules import counted

WEEK = 7 * 86_400.0
"""Length of a window by default, s."""

TIME_LIMIT = 5.0
"""Seconds that bounds and searches of a window get by default."""

POLICY_LIMIT = 300.0
"""Seconds after which a policy over the whole period is given up by default."""

MOST_WINDOWS = 100_000

AS_IT_RAN = "logged schedule"

UNCUT = (
    "intervals are not cut, because jobs are also restricted by {}: a job counts in the interval in which it arrives, "
    "a bound is of the jobs of an interval alone, and the wait by fragmentation includes these restrictions"
)


@public
def audit(
    trace: FilePath | Instance,
    schedule: Schedule | None = None,
    *,
    processors: int | None = None,
    platform: Platform | None = None,
    unit: Unit = "cpus",
    partition: str | None = None,
    broken: Broken = "error",
    policy: str | Mapping[str, Any] | None = None,
    after: float | str | None = None,
    before: float | str | None = None,
    window: float = WEEK,
    policies: Mapping[str, Mapping[str, Any]] | None = None,
    as_ran: str | Mapping[str, Any] | None = None,
    time_limit: float = TIME_LIMIT,
    policy_limit: float = POLICY_LIMIT,
    seed: Seed = 0,
    store: FilePath | None = None,
    processes: int | None = None,
    scheduler: str | None = None,
    users: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Audit:
    """Measure how much of the waiting in a past schedule was avoidable, with proof, and which policy avoids it.

    The period is audited as a whole and cut into intervals. For each, lower bounds and the best known schedules show
    how much better any schedule could have been. Of the policies that are tried, the audit names the best on the odd
    intervals, measures its gain on the even ones, and reports who waits longer under it.

    Parameters
    ----------
    trace : str or PathLike or Instance
        A trace in the Standard Workload Format, an export of Slurm's ``sacct``, a listing of Flux
        (``flux jobs -A -a --count=0 --json``), or an instance.
    schedule : Schedule or None, default None
        How an instance was run, such as the recorded schedule of an imported site.
    processors : int or None, default None
        For a trace: number of identical processors of the platform.
    platform : Platform or None, default None
        For a trace, instead of ``processors``: a platform of identical processors of speed 1.
    unit : {"cpus", "nodes"}, default "cpus"
        For ``sacct`` and Flux: whether a processor is a CPU or a node.
    partition : str or None, default None
        For ``sacct`` and Flux: only jobs of this partition or queue. None: all.
    broken : {"error", "drop"}, default "error"
        Whether unreadable lines of a trace are an error or dropped.
    policy : str or mapping or None, default None
        Audit the schedule of this policy instead of the log's: a name, or ``{"policy": name, option: value}``.
    after : float or str or None, default None
        Begin of the period: s on the clock of the trace, or a date such as ``"2026-10-01"`` in the local time of the
        site. None: the first arrival.
    before : float or str or None, default None
        End of the period. None: the last arrival.
    window : float, default 604800.0
        Length of the intervals, s (7 days).
    policies : mapping of str to mapping or None, default None
        Policies by label, ``{"policy": name, option: value}``, that run over the whole period with requested walltimes,
        and in each interval with true run times, too. None: EASY, conservative backfilling and list scheduling with the
        built-in queue orders, for ``sacct`` and Flux also settings of Slurm or Flux; then EASY with the best of its
        queue orders and other orders of ``candidates``. Four of them run in each interval.
    as_ran : str or mapping or None, default None
        Policy that models the site: its simulated starts are compared with those of the log. Another policy is only
        named if jobs wait less than under the model, too. For an instance, ``slurm`` and ``flux`` also say which site
        it is of.
    time_limit : float, default 5.0
        Seconds for bounds and searches of an interval; the whole period gets 20 times as many if it has several.
        ``math.inf``: no limit.
    policy_limit : float, default 300.0
        Seconds after which the simulation of a policy over the whole period is given up.
    seed : int, default 0
        Seed of the searches.
    store : str or PathLike or None, default None
        File that keeps finished intervals, so that an interrupted audit resumes. None: nothing is kept.
    processes : int or None, default None
        Number of worker processes. None: one per CPU core.
    scheduler : str or None, default None
        Address of a Dask scheduler that runs the intervals instead.
    users : bool, default False
        Whether tables and pages name users and accounts; otherwise they are numbered.
    progress : callable or None, default None
        Function that receives a line of text per interval.

    Returns
    -------
    Audit
        ``table``, ``policies``, ``groups``, ``answers``, ``shares`` and ``headline``; ``draw`` and ``write_page`` make
        figures and pages.

    Raises
    ------
    CoallocError
        Before the run: the trace cannot be read, the period has no jobs, run times depend on the processors, a policy
        is unknown, or the model of the site does not support a feature. After the run: an interval failed.
    coalloc.studies.interruption.Interrupted
        At Ctrl-C, with the finished rows.

    See Also
    --------
    coalloc.compare : Compare policies on whole instances.

    Notes
    -----
    docs/audit.md explains the questions and the bounds.

    Examples
    --------
    >>> import coalloc
    >>> instance = coalloc.example("flux-sched-572")
    >>> found = coalloc.audit(instance, policy="easy", processes=1, time_limit=0.5)
    >>> found.answers[0].as_it_was >= found.answers[0].best.low
    True
    """
    workers = workers_of(processes, scheduler)
    for name, limit in (("time_limit", time_limit), ("policy_limit", policy_limit)):
        if not limit > 0.0:
            raise CoallocError(f"{name}: must be above 0 s, got {picture_of(limit)}")
    audited, model = _checked(policy), _checked(as_ran)
    site = _site(trace, model)
    candidates = {**CANDIDATES, **(site.policies if site else {})}
    tried = _tried(candidates if policies is None else policies, model)
    in_intervals = {label: CANDIDATES[label] for label in IN_INTERVALS} if policies is None else tried
    log = log_of(trace, processors, platform, unit=unit, partition=partition, broken=broken)
    refuse_unequal(log.instance)
    kept_to = restrictions(log.instance)
    tried, left_out = _supported(log.instance, tried, model)
    if model is not None and (audited is not None or (schedule is None and np.isnan(log.starts).all())):
        raise CoallocError("as_ran: requires the schedule of a log, not that of a policy")
    history, account = _history(log, schedule, audited)
    if not len(history.arrivals):
        raise CoallocError(": ".join(filter(None, ("there are no jobs to audit", "; ".join(account)))))
    begin, end = _period(history, log.epoch, after, before)
    if not window > 0.0 or (end - begin) / window > MOST_WINDOWS:
        raise CoallocError(f"window: must be above 0 s and give at most {MOST_WINDOWS} intervals, got {window:g} s")
    if kept_to:
        account += [UNCUT.format(", ".join(kept_to)), *left_out]
    options = {"policies": in_intervals, "time_limit": finite_limit(time_limit), "seed": seed}
    named_model = None if model is None else spelled(model)
    limit, say = finite_limit(policy_limit), progress or (lambda _: None)
    refine: Callable[[Trials], Mapping[str, Policy]] = refinements if policies is None else lambda _: {}
    study = (SiteStudy if kept_to else Study)(history, log.epoch, options, tried, limit, refine, named_model, say)
    with store_at(store) as path:
        found = study.findings(begin, end, window, path, workers)
    trials = found.trials
    part = {"--unit": None if unit == "cpus" else unit, "--partition": partition, "--after": after, "--before": before}
    source = _source(
        trace, log.instance, part, audited, broken, is_complete=len(found.window.starts) == len(log.starts)
    )
    return Audit(
        log.instance.name,
        AS_IT_RAN if audited is None else spelled(audited),
        history.num_processors,
        log.epoch,
        tuple(account),
        found.rows[0],
        _rows_of_windows(found.rows, log.epoch),
        tuple(found.starts if len(found.starts) > 1 else [*found.starts, *found.starts]),
        trials,
        None if trials.model is None else ModelFit(found.window, trials.model, trials.audited.waits),
        source,
        site,
        users,
    )


def _site(trace: FilePath | Instance, model: Policy | None) -> Site | None:
    """Return the resource manager of a log: by its format, or for an instance by the policy that models the site."""
    if not isinstance(trace, Instance):
        return SITES.get(format_of(trace))
    return None if model is None else next((site for site in SITES.values() if site.policy == model["policy"]), None)


def _checked(policy: str | Policy | None) -> Policy | None:
    """Return the name and the options of a policy; both are checked."""
    if policy is None:
        return None
    given = {"policy": policy} if isinstance(policy, str) else dict(policy)
    contestants_of({str(given.get("policy")): given})
    return given


def _tried(given: Mapping[str, Policy], model: Policy | None) -> dict[str, Policy]:
    """Return the policies that run over the whole period by label, the model of the site among them."""
    for label, policy in given.items():
        require(f"policies[{label!r}]", Mapping, policy)
    tried = {contestant.label: given[contestant.label] for contestant in contestants_of(given)}
    return tried if model is None else tried | {spelled(model): model}


def _supported(
    instance: Instance, tried: Mapping[str, Policy], model: Policy | None
) -> tuple[dict[str, Policy], list[str]]:
    """Return the policies that support what an instance has, and a sentence on the others by feature.

    Raises where the model of the site does not.
    """
    supported: dict[str, Policy] = {}
    left_out: dict[str, list[str]] = {}
    for contestant in contestants_of(tried):
        label = contestant.label
        try:
            refuse_policy(instance, contestant.make(), label)
        except UnsupportedFeature as error:
            if tried[label] is model:
                raise
            left_out.setdefault(", ".join(error.features), []).append(label)
        else:
            supported[label] = tried[label]
    return supported, [
        f"not tried, because {'they do' if len(labels) > 1 else 'it does'} not support {features}: {', '.join(labels)}"
        for features, labels in left_out.items()
    ]


def _source(
    trace: FilePath | Instance,
    instance: Instance,
    part: Mapping[str, object],
    audited: Policy | None,
    broken: Broken,
    *,
    is_complete: bool,
) -> LogSource:
    """Return how the shell names the log, and the part of it that is audited."""
    restricting = tuple(text for name, given in part.items() if given is not None for text in (name, str(given)))
    of_audit = restricting if audited is None else (*restricting, "--policy", spelled(audited))
    if isinstance(trace, Instance):
        return LogSource(instance.name, (), of_audit, is_complete and not restricting)
    processors = ("--processors", str(instance.platform.num_processors))
    dropping = () if broken == "error" else ("--broken", broken)
    return LogSource(os.fspath(trace), (*processors, *dropping), of_audit, is_complete and not restricting)


def _rows_of_windows(rows: Sequence[Row], epoch: float | None) -> tuple[Row, ...]:
    """Return the rows of the windows: the period itself where it is the only one."""
    whole, *windows = rows
    return tuple(windows or [{**whole, "window": date_text(whole["begin"], epoch), "kind": "window"}])


def _history(log: Log, schedule: Schedule | None, policy: Policy | None) -> tuple[History, list[str]]:
    """Return when each job started: in the log, in a schedule, or under a policy; and what was dropped and changed."""
    account = list(log.account)
    if schedule is not None and policy is not None:
        raise CoallocError("give either a schedule or a policy")
    if policy is not None:
        options = {name: option for name, option in policy.items() if name != "policy"}
        schedule = simulate(log.instance, policy["policy"], **options).schedule
    is_site = bool(restrictions(log.instance))
    starts, sizes = (log.starts, None) if schedule is None else _placed(log.instance, schedule)
    history = History(log.instance, starts, Scenario.of(log, {}).groups, sizes=sizes)
    num_unknown = int(np.isnan(starts).sum())
    if num_unknown and num_unknown == len(starts):
        raise CoallocError(
            f"{quoted(log.instance.name)} does not contain the starts of its jobs; give a policy to simulate "
            '(policy="easy" or --policy easy) or a schedule (schedule=... or --schedule FILE)'
        )
    if num_unknown and not is_site:
        account.append(f"{counted(num_unknown, 'job')} skipped: start unknown")
        history = history.known
    elif num_unknown:
        account.append(f"{counted(num_unknown, 'job')} simulated, but not counted: start unknown")
    if is_site and schedule is not None and policy is None:
        history = replace(history, is_valid=not check(history.known.instance, schedule, deadlines="report"))
    return history, account


def _placed(instance: Instance, schedule: Schedule) -> tuple[Floats, Floats]:
    """Return the start (s), and processors and run time (s), of each job in a schedule; nan where it is not placed."""
    ran = {place.job: (place.start, len(place.nodes), place.end - place.start) for place in schedule}
    found = [ran.get(job.id, (np.nan, np.nan, np.nan)) for job in instance.jobs]
    columns = np.array(found, dtype=np.float64).reshape(-1, 3)
    return columns[:, 0], columns[:, 1:]


def _period(
    history: History, epoch: float | None, after: float | str | None, before: float | str | None
) -> tuple[float, float]:
    """Return the period, s."""
    begin = float(history.arrivals.min()) if after is None else instant_of("after", after, epoch)
    end = float(history.arrivals.max()) + 1.0 if before is None else instant_of("before", before, epoch)
    if not begin < end:
        low, high = date_text(begin, epoch), date_text(end, epoch)
        raise CoallocError(
            f"the period must begin before it ends, got {low} to {high}; {arrivals_text(history, epoch)}"
        )
    return begin, end
