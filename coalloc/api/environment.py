"""``environment``: scheduling as reinforcement learning sees it, and the bounds that regret is measured against."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from coalloc.api.episodes import Episodes, Reward
from coalloc.api.solving import lower_bound
from coalloc.documents.arguments import public
from coalloc.documents.text import quoted
from coalloc.instance import CoallocError, Instance
from coalloc.problem.allocation import Scope
from coalloc.problem.execution import execution_time
from coalloc.system.extras import require

if TYPE_CHECKING:
    from coalloc.api.gym_env import SchedulingEnv, SchedulingVectorEnv


@public
def environment(
    instances: Instance | Sequence[Instance],
    *,
    window: int = 64,
    reward: Reward = "wait_mean",
    scope: Scope = "platform",
    bound_time: float | None = None,
) -> SchedulingEnv:
    """Return a Gymnasium environment in which an agent chooses the next job to start.

    An episode is an instance from its first job to its last. A step is a decision at a time at which at least one job
    of the window, the first jobs of the queue, fits; times without such a job are passed over.

    Parameters
    ----------
    instances : Instance or sequence of Instance
        Instances of one platform. ``reset`` samples one of them, or begins number ``options["instance"]``.
    window : int, default 64
        Number of waiting jobs that the agent sees, in order of arrival.
    reward : {"wait_mean", "bounded_slowdown_mean", "utilization"}, default "wait_mean"
        Metric that the rewards of an episode sum to; the first two are negated. A wait is paid when the job starts, a
        slowdown when it ends, and the utilization at the end.
    scope : {"platform", "cluster", "node"}, default "platform"
        Where the tasks of one job may run.
    bound_time : float or None, default None
        Seconds for the bound of each instance, once, when its first episode ends. None: no bound and no regret.

    Returns
    -------
    gymnasium.Env
        The environment. Its method ``result()`` returns the checked ``coalloc.results.SimulationResult`` of an episode
        that is over.

    Raises
    ------
    CoallocError
        gymnasium is missing, an instance has a feature that is not supported, or the metric has no bound there.

    See Also
    --------
    coalloc.Simulation : Simulate step by step, with objects instead of arrays.

    Notes
    -----
    The action space is ``Discrete(window + 1)``: action k starts the k-th job of the window on the fastest free
    processors, and action ``window`` waits until something happens. ``info["action_mask"]`` is 1 where an action is
    possible. An action that is not possible waits; where nothing would ever happen, the first job that fits starts.

    Observations are a dictionary of ``float64`` arrays; rows without a job are 0:

    - ``"jobs"``, shape ``(window, 3)``: tasks, requested walltime on the fastest nodes (s) and wait so far (s) of
      each job in the window;
    - ``"free"``, shape ``(num_classes,)``: free processors of each node class, in the order of ``state.classes``;
    - ``"running"``, shape ``(window, 1 + num_classes)``: estimated remaining time (s) and processors of each class of
      the running jobs that end first;
    - ``"waiting"``, shape ``(1,)``: number of waiting jobs.

    At the end of an episode ``info`` also has ``"instance"``, the metric by its name, and with ``bound_time``
    ``"bound"``, a proved bound of the metric over all schedules, and ``"regret"``, the difference, at least 0.

    Examples
    --------
    First come, first served:

    >>> import coalloc
    >>> instance = coalloc.generate("lublin", seed=1, jobs=50, nodes=64)
    >>> env = coalloc.extend.environment(instance)
    >>> observation, info = env.reset(seed=1)
    >>> total, is_over = 0.0, False
    >>> while not is_over:
    ...     action = 0 if info["action_mask"][0] else env.action_space.n - 1
    ...     observation, reward, is_over, _, info = env.step(action)
    ...     total += reward
    >>> round(-total, 6) == round(env.result().metrics["wait_mean"], 6)
    True
    """
    require("gymnasium", "environment")
    from coalloc.api.gym_env import SchedulingEnv

    listed = _listed(instances, window)
    return SchedulingEnv(Episodes(listed, scope), window, reward, _bounds(listed, reward, scope, bound_time))


@public
def vector_environment(
    instances: Instance | Sequence[Instance],
    num_envs: int,
    *,
    window: int = 64,
    reward: Reward = "wait_mean",
    scope: Scope = "platform",
    bound_time: float | None = None,
) -> SchedulingVectorEnv:
    """Return a Gymnasium vector environment: several environments whose observations are one batch.

    It steps several times faster than ``gymnasium.vector.SyncVectorEnv`` over ``coalloc.extend.environment``.

    Parameters
    ----------
    instances : Instance or sequence of Instance
        As for ``coalloc.extend.environment``; ``options["instance"]`` is one number, or one for each environment.
    num_envs : int
        Number of environments.
    window : int, default 64
        Number of waiting jobs that the agent sees.
    reward : {"wait_mean", "bounded_slowdown_mean", "utilization"}, default "wait_mean"
        Metric that the rewards of an episode sum to.
    scope : {"platform", "cluster", "node"}, default "platform"
        Where the tasks of one job may run.
    bound_time : float or None, default None
        Seconds for the bound of each instance, once. None: no bound and no regret.

    Returns
    -------
    gymnasium.vector.VectorEnv
        The environments. One whose episode is over begins the next one in the next step, whatever its action
        (``AutoresetMode.NEXT_STEP``). ``results()`` returns what ``result()`` returns, of each.

    Raises
    ------
    CoallocError
        As for ``coalloc.extend.environment``.

    See Also
    --------
    coalloc.extend.environment : One environment; describes actions and observations.

    Examples
    --------
    >>> import coalloc
    >>> instances = [
    ...     coalloc.generate("lublin", seed=seed, jobs=50, nodes=64) for seed in (1, 2)
    ... ]
    >>> envs = coalloc.extend.vector_environment(instances, 4)
    >>> observations, infos = envs.reset(seed=1, options={"instance": [0, 1, 0, 1]})
    >>> observations["jobs"].shape, infos["action_mask"].shape
    ((4, 64, 3), (4, 65))
    """
    require("gymnasium", "vector_environment")
    from coalloc.api.gym_env import SchedulingVectorEnv

    if num_envs < 1:
        raise CoallocError(f"num_envs: must be at least 1, got {num_envs}")
    listed = _listed(instances, window)
    bound_of = _bounds(listed, reward, scope, bound_time)
    return SchedulingVectorEnv(Episodes(listed, scope), num_envs, window, reward, bound_of)


def _listed(instances: Instance | Sequence[Instance], window: int) -> Sequence[Instance]:
    """Return the instances; raises where there are none, or no window."""
    listed = [instances] if isinstance(instances, Instance) else list(instances)
    if not listed or not all(instance.jobs for instance in listed):
        raise CoallocError("environment requires at least one instance, each with at least one job")
    if window < 1:
        raise CoallocError(f"window: must be at least 1, got {window}")
    return listed


def _bounds(
    instances: Sequence[Instance], reward: Reward, scope: Scope, seconds: float | None
) -> Callable[[int], float] | None:
    """Return what bounds the metric of an instance by its number, once; None where no bound is asked for."""
    if seconds is None:
        return None
    if seconds <= 0.0:
        raise CoallocError(f"bound_time: must be above 0, got {seconds:g}")
    for instance in instances:
        _refuse_unbounded(instance, reward)
    return cache(lambda number: _bound(instances[number], reward, scope, seconds))


def _refuse_unbounded(instance: Instance, reward: Reward) -> None:
    """Raise where no bound on a metric is known."""
    if reward != "wait_mean" and any(job.task_bandwidth for job in instance.jobs):
        raise CoallocError(f"instance {quoted(instance.name)} has communication: only its mean wait has a bound")
    is_plain = len(_speeds(instance)) == 1 and not (instance.running or instance.features)
    if reward == "utilization" and not is_plain:
        raise CoallocError(
            f"instance {quoted(instance.name)} has more than jobs on equal processors: its utilization has no bound"
        )


def _speeds(instance: Instance) -> set[float]:
    """Return the speeds of the processors."""
    return {group.effective_power for cluster in instance.platform.clusters for group in cluster.nodes}


def _bound(instance: Instance, reward: Reward, scope: Scope, seconds: float) -> float:
    """Return a proved bound on a metric of all schedules, within so many seconds.

    Links are left out: a simulated job may saturate them.
    """
    quiet = instance.replace(jobs=[job.replace(task_bandwidth=0.0) for job in instance.jobs])
    objective = {"wait_mean": "mean-wait", "bounded_slowdown_mean": "mean-bounded-slowdown"}.get(reward, "makespan")
    bound = lower_bound(quiet, objective, method="best", time_limit=seconds, scope=scope)
    if reward != "utilization":
        return bound
    (speed,) = _speeds(instance)
    work = sum(job.tasks * execution_time(job, 1.0 / speed) for job in quiet.jobs)
    return min(1.0, work / (instance.platform.num_processors * bound))
