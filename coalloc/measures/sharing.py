"""Metrics of a schedule on shared nodes for parallel jobs and for local users, and a lower bound on the makespan.

e_j, s_j and r_j are end, start and arrival of job j; deviations are those of a population. For each PROFILE of users
``latency_mean_PROFILE`` and ``latency_max_PROFILE`` (us) are mean and maximum of 14 + kappa times the share of the CPU
that parallel tasks use while users of the profile are active. Source: Hanzich et al., section 3.3 and Table 2; errata
24.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from coalloc.documents.arguments import public
from coalloc.instance import CoallocError, Instance, LocalUser, Sharing
from coalloc.measures.observed_sharing import NOTIFICATIONS, UserUse, nodes_used, observe_sharing
from coalloc.problem.execution import execution_time, processing_slowdown
from coalloc.schedule import Schedule
from coalloc.schedule.observed import observe, placed_jobs

LATENCY_OF_USER = 14.0
"""Latency of system calls where a user is active and nothing else runs, us. Source: Table 2."""

KAPPA = 18.0
"""Increase where parallel tasks take all of the CPU, us: it reaches the lower limit of Table 2, 32 us."""

SHARING_METRICS: Mapping[str, tuple[str, str]] = {
    "turnaround_mean": ("s", "Mean of e_j - r_j."),
    "turnaround_deviation": ("s", "Standard deviation of e_j - r_j over the jobs."),
    "dedicated_slowdown_mean": (
        "-",
        "Mean of (e_j - s_j) / (run time of j alone on its nodes as dedicated nodes; SC = 1).",
    ),
    "dedicated_slowdown_deviation": ("-", "Standard deviation of the same over the jobs."),
    "stopped_time": ("s", "Time during which a task of job j is stopped, summed over the jobs."),
    "stopped_share": ("-", "Share of the jobs with a task that is stopped at some time."),
    "stops": ("-", "Number of times that a task is stopped."),
    **dict.fromkeys(
        (f"messages_{kind}" for kind in NOTIFICATIONS),
        ("-", "Number of notifications of this kind from a node to another node with a task of the same job."),
    ),
    "user_time": ("s", "Time for which users are active before the last end, summed over the users."),
    "user_cpu_mean": ("-", "CPU share that parallel tasks leave to users, averaged over user_time."),
    "user_cpu_least": ("-", "Smallest CPU share that is left to a user; 1 without users."),
    "user_memory_mean": (
        "-",
        "Share of the node memory that parallel tasks leave to users, averaged over user_time; 1 without a memory "
        "limit, 0 while tasks request more memory than the node has.",
    ),
    "user_memory_least": (
        "-",
        "Smallest share of the node memory that is left to a user; 0 where tasks request more than the node has.",
    ),
}
"""Every metric of shared nodes but latencies, which there are two for each profile of users: unit and definition."""


@public
def sharing_metrics(instance: Instance, schedule: Schedule, kappa: float = KAPPA) -> dict[str, float]:
    """Compute the metrics of time-shared nodes: turnaround, stops, messages, and the share left to local users.

    Parameters
    ----------
    instance : Instance
        An instance whose nodes are time-shared (dedicated nodes are permitted).
    schedule : Schedule
        A schedule of the instance.
    kappa : float, default 18.0
        Increase of the latency indicator if parallel tasks take the whole CPU, us.

    Returns
    -------
    dict of str to float
        The metrics of docs/metrics.md by name, and per profile of local users ``latency_mean_PROFILE`` and
        ``latency_max_PROFILE`` (us): 14 us plus ``kappa`` times the CPU share of parallel tasks. The latency is a
        model, not a measurement.

    Raises
    ------
    CoallocError
        The schedule does not fit the instance, or ``kappa`` is negative.

    See Also
    --------
    coalloc.metrics : Metrics of any schedule.

    Notes
    -----
    Source: Hanzich et al., section 3.3 and Table 2; errata 24.

    Examples
    --------
    >>> import coalloc
    >>> from coalloc import Cluster, Instance, Job, NodeGroup, Platform, Sharing
    >>> cluster = Cluster("C1", [NodeGroup(1, power=1.0)], link_bandwidth=12.5)
    >>> user = coalloc.LocalUser("C1/0", start=300.0, end=9000.0)
    >>> platform = Platform([cluster], sharing=Sharing(contract=0.5))
    >>> job = Job("J1", tasks=1, base_time=600.0)
    >>> instance = Instance(platform, [job], local_users=[user])
    >>> run = coalloc.simulate(instance, "loras")
    >>> found = coalloc.results.sharing_metrics(instance, run.schedule)
    >>> found["turnaround_mean"], found["user_cpu_mean"]
    (900.0, 0.5)
    """
    if not 0.0 <= kappa < math.inf:
        raise CoallocError(f"kappa: must be finite and at least 0, got {kappa!r}")
    use = observe_sharing(instance, schedule)
    jobs = observe(instance, schedule).jobs
    turnaround = jobs.end - jobs.arrival
    slowdown = (jobs.end - jobs.start) / np.array(list(_alone(instance, schedule)))
    found = {
        "turnaround_mean": _mean(turnaround),
        "turnaround_deviation": _deviation(turnaround),
        "dedicated_slowdown_mean": _mean(slowdown),
        "dedicated_slowdown_deviation": _deviation(slowdown),
        "stopped_time": math.fsum(job.stopped_time for job in use.jobs),
        "stopped_share": _mean(np.array([float(job.stops > 0) for job in use.jobs])),
        "stops": float(sum(job.stops for job in use.jobs)),
        **{f"messages_{kind}": float(use.messages[kind]) for kind in NOTIFICATIONS},
        **_kept(use.users),
    }
    return found | _latencies(use.users, kappa)


def dedicated(instance: Instance) -> Instance:
    """Return the same jobs on dedicated nodes: one task per node, no users, no sharing."""
    clusters = [
        cluster.replace(nodes=[group.replace(multiprogramming=1) for group in cluster.nodes])
        for cluster in instance.platform.clusters
    ]
    return instance.replace(platform=instance.platform.replace(clusters=clusters, sharing=None), local_users=())


def unhindered(instance: Instance) -> Instance:
    """Return jobs without memory or communication on dedicated nodes: alone, each ends as early as it ever can."""
    jobs = [job.replace(memory=None, task_bandwidth=0.0) for job in instance.jobs]
    return dedicated(instance).replace(jobs=jobs)


def least_makespan(instance: Instance) -> float:
    """Return a lower bound on the makespan of every run of an instance on shared nodes, s.

    The largest of: the longest way of a job from its arrival to its end, alone at full share on the fastest nodes; and
    the time until which the processing work of all jobs can be done at best, all CPU that is for parallel tasks being
    used from the earliest arrival on. Waits, links, memory and paging only add to both.
    """
    platform = instance.platform
    powers = sorted((platform.group_of(node).effective_power for node in platform.nodes), reverse=True)
    origin = instance.origin
    longest = max(
        (job.arrival + execution_time(job, 1.0 / powers[job.tasks - 1]) - origin for job in instance.jobs), default=0.0
    )
    work = math.fsum(job.tasks * job.processing_share * job.base_time for job in instance.jobs)
    return max(longest, _time_for(work, instance))


def _time_for(work: float, instance: Instance) -> float:
    """Return how long after the origin so much work can be done at the earliest, s."""
    platform, origin = instance.platform, instance.origin
    power = {node.name: platform.group_of(node).effective_power for node in platform.nodes}
    rate, now, left = math.fsum(power.values()), origin, work
    for time, change in _changes(instance, power):
        if left <= rate * (time - now):
            break
        left, now, rate = left - rate * (time - now), time, rate + change
    return now + left / rate - origin


def _changes(instance: Instance, power: Mapping[str, float]) -> list[tuple[float, float]]:
    """Return when users come and leave after the origin, s, and how much power that takes or brings."""
    changes = []
    for user in instance.local_users:
        if user.end > instance.origin:
            taken = power[user.node] * (1.0 - _most_cpu(instance.sharing, user))
            changes += [(max(instance.origin, user.start), -taken), (user.end, taken)]
    return sorted(changes)


def _most_cpu(sharing: Sharing, user: LocalUser) -> float:
    """Return the largest share of the CPU that parallel tasks can have beside a user."""
    return max(1.0 - user.cpu, 0.5) if sharing.contract is None else sharing.contract


def _alone(instance: Instance, schedule: Schedule) -> Iterator[float]:
    """Yield the run time of each job alone on its nodes, s."""
    platform = instance.platform
    powers = [platform.group_of(node).effective_power for node in platform.nodes]
    for job, nodes in zip(placed_jobs(instance, schedule), nodes_used(instance, schedule), strict=True):
        yield execution_time(job, processing_slowdown(powers[node] for node in nodes))


def _kept(users: Sequence[UserUse]) -> dict[str, float]:
    """Return what users keep of CPU and memory."""
    time = math.fsum(user.time for user in users)
    cpu = math.fsum(user.cpu_seconds for user in users)
    memory = math.fsum(user.memory_seconds for user in users)
    return {
        "user_time": time,
        "user_cpu_mean": 1.0 - cpu / time if time else 1.0,
        "user_cpu_least": min((1.0 - user.most_cpu for user in users), default=1.0),
        "user_memory_mean": 1.0 - memory / time if time else 1.0,
        "user_memory_least": min((1.0 - user.most_memory for user in users), default=1.0),
    }


def _latencies(users: Sequence[UserUse], kappa: float) -> dict[str, float]:
    """Return the mean and the largest latency by profile, us."""
    found: dict[str, float] = {}
    for profile in sorted({user.profile for user in users}):
        of_profile = [user for user in users if user.profile == profile]
        time = math.fsum(user.time for user in of_profile)
        share = math.fsum(user.cpu_seconds for user in of_profile) / time if time else 0.0
        found[f"latency_mean_{profile}"] = LATENCY_OF_USER + kappa * share
        found[f"latency_max_{profile}"] = LATENCY_OF_USER + kappa * max(user.most_cpu for user in of_profile)
    return found


def _mean(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    return float(values.mean()) if len(values) else 0.0


def _deviation(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    return float(values.std()) if len(values) else 0.0
