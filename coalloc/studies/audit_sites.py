"""The policies of an audit in the words of Slurm and Flux: those that a site can configure, and the lines that do so.

Sources: slurm.conf(5) of Slurm (SchedulerParameters, PriorityType, PriorityWeight...), and
flux-config-sched-fluxion-qmanager(5) of flux-sched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from coalloc.heuristics.flux import Flux
from coalloc.heuristics.multifactor import DAY, Multifactor
from coalloc.heuristics.slurm import Slurm
from coalloc.studies.audit_policies import Policy, PolicyTrial, Trials, spelled
from coalloc.workloads.logs import Format

MULTIFACTOR = "multifactor"

SMALL_FIRST = {"order": MULTIFACTOR, "favor_small": True, "weight_job_size": 10_000}
"""A priority that favours small jobs as much as users with little usage."""

SLURM: Mapping[str, Policy] = {
    spelled(policy): policy
    for policy in (
        {"policy": "slurm"},
        {"policy": "slurm", "bf_max_job_test": 1000, "bf_window": 10_080},
        {"policy": "slurm", "queue_order": MULTIFACTOR},
        {"policy": "slurm", "queue_order": SMALL_FIRST},
    )
}
"""Policies that an audit of a Slurm export tries, too."""

PARAMETERS = ("bf_interval", "bf_window", "bf_resolution", "bf_max_job_test", "bf_max_job_user")

WEIGHTS = {
    "weight_age": "PriorityWeightAge",
    "weight_fair_share": "PriorityWeightFairshare",
    "weight_job_size": "PriorityWeightJobSize",
    "weight_partition": "PriorityWeightPartition",
    "weight_qos": "PriorityWeightQOS",
}
PERIODS = {"max_age": "PriorityMaxAge", "half_life": "PriorityDecayHalfLife", "calc_period": "PriorityCalcPeriod"}
"""Options of the queue order, and the parameters of slurm.conf that they are."""


FLUX: Mapping[str, Policy] = {
    spelled(policy): policy
    for policy in (
        {"policy": "flux"},
        {"policy": "flux", "queue_policy": "easy", "queue_depth": 1024},
        {"policy": "flux", "queue_policy": "hybrid", "queue_depth": 1024},
        {"policy": "flux", "queue_policy": "conservative", "queue_depth": 1024},
    )
}
"""Policies that an audit of a listing of Flux tries, too."""


@dataclass(frozen=True)
class Site:
    """A resource manager: its name, its policy, policies that audits of its logs try, and the lines that state one."""

    name: str
    policy: str
    policies: Mapping[str, Policy]
    settings_of: Callable[[Policy], tuple[str, ...]]

    def best(self, trials: Trials) -> PolicyTrial | None:
        """Return the policy of least mean wait, on the intervals of choice, that the site has settings for."""
        rows = trials.jobs.chosen_on
        able = (trial for trial in trials.policies if trial.policy is not None and self.settings_of(trial.policy))
        return min(able, key=lambda trial: float(trial.waits[rows].mean()), default=None)


def flux_settings(policy: Policy) -> tuple[str, ...]:
    """Return the lines of a configuration of Flux that state a policy, none where Flux has no setting for it."""
    options = {name: option for name, option in policy.items() if name != "policy"}
    if policy["policy"] != "flux" or options.pop("queue_order", "fcfs") != "fcfs":
        return ()
    if not options.keys() <= {"queue_policy", "queue_depth", "reservation_depth"}:
        return ()
    made = Flux(**options)
    reserved = (f"policy-params.reservation-depth = {made.reservation_depth}",)
    return (
        "[sched-fluxion-qmanager]",
        f'queue-policy = "{made.queue_policy}"',
        f"queue-params.queue-depth = {made.queue_depth}",
        *(reserved if made.queue_policy == "hybrid" else ()),
    )


def slurm_settings(policy: Policy) -> tuple[str, ...]:
    """Return the lines of slurm.conf that state a policy, none where Slurm has no setting for it.

    What associations, partitions and users state (shares, priorities, nice values) is no part of slurm.conf.
    """
    options = {name: option for name, option in policy.items() if name not in ("policy", "queue_order")}
    order = policy.get("queue_order", "fcfs")
    priority = _priority(order)
    if policy["policy"] != "slurm" or not options.keys() <= {*PARAMETERS} or not priority:
        return ()
    made = Slurm(**options)
    parameters = ",".join(f"{name}={getattr(made, name):.12g}" for name in PARAMETERS)
    return ("SchedulerType=sched/backfill", f"SchedulerParameters={parameters}", *priority)


def _priority(order: Any) -> tuple[str, ...]:
    """Return the lines that state a queue order."""
    if order == "fcfs":
        return ("PriorityType=priority/basic",)
    given: dict[str, Any] = dict(order) if isinstance(order, Mapping) else {"order": order}
    if given.pop("order", None) != MULTIFACTOR:
        return ()
    made = Multifactor(**given)
    return (
        "PriorityType=priority/multifactor",
        *(f"{setting}={getattr(made, name):.12g}" for name, setting in WEIGHTS.items()),
        *(f"{setting}={_period(getattr(made, name))}" for name, setting in PERIODS.items()),
        f"PriorityFavorSmall={'YES' if made.favor_small else 'NO'}",
    )


def _period(seconds: float) -> str:
    """Return a time as days-hours:minutes:seconds."""
    days, rest = divmod(round(seconds), int(DAY))
    return f"{days}-{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"


SITES: Mapping[Format, Site] = {
    "sacct": Site("Slurm", "slurm", SLURM, slurm_settings),
    "flux": Site("Flux", "flux", FLUX, flux_settings),
}
"""Resource managers by the format of their logs."""
