"""The environments of ``environment`` and ``vector_environment``: they need gymnasium, the extra ``rl``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import index
from typing import Any, SupportsIndex

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from coalloc.api.episodes import FREE, OF_JOB, WAITING, Course, Episodes, Floats, Reward, size_of_seen
from coalloc.documents.errors import InternalError
from coalloc.documents.sentences import shown
from coalloc.instance import CoallocError
from coalloc.simulator.result import SimulationResult

Observation = dict[str, Any]
"""Arrays by name."""
BoundOf = Callable[[int], float]
"""Returns the bound on the metric of an instance by its number."""
TOLERANCE = 1e-6
"""Share by which a metric may be better than its bound: what its sum has lost."""


class AgentView:
    """Observations of an agent in the numbers of a choice, for one environment or a batch."""

    def __init__(self, window: int, num_classes: int) -> None:
        self.num_seen, self.num_choices = size_of_seen(window, num_classes), window + 1
        self._begin = FREE + num_classes
        self._middle = self._begin + OF_JOB * window
        self._jobs, self._running = (window, OF_JOB), (window, 1 + num_classes)
        shapes = {"free": (num_classes,), "jobs": self._jobs, "running": self._running, "waiting": (1,)}
        self.space = spaces.Dict({name: spaces.Box(0.0, np.inf, of, np.float64) for name, of in shapes.items()})

    def observation(self, seen: Floats) -> Observation:
        """Return the arrays of an observation, parts of what is seen."""
        batch, begin, middle = seen.shape[:-1], self._begin, self._middle
        return {
            "free": seen[..., FREE:begin],
            "jobs": seen[..., begin:middle].reshape(batch + self._jobs),
            "running": seen[..., middle:].reshape(batch + self._running),
            "waiting": seen[..., WAITING : WAITING + 1],
        }


class SchedulingEnv(gymnasium.Env[Observation, np.int64]):
    """Environment that starts one waiting job per step; ``coalloc.extend.environment`` describes it."""

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012 - as gymnasium declares it

    def __init__(self, episodes: Episodes, window: int, reward: Reward, bound_of: BoundOf | None) -> None:
        self._course, self._bound_of, self._num_instances = Course(episodes, reward), bound_of, len(episodes.instances)
        self._view = AgentView(window, episodes.num_classes)
        self.observation_space, self.action_space = self._view.space, spaces.Discrete(window + 1)

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an instance at random, or number ``options["instance"]``."""
        super().reset(seed=seed)
        (number,) = _numbers(self.np_random, options, 1, self._num_instances)
        seen, is_possible = np.empty(self._view.num_seen), np.empty(self._view.num_choices, np.uint8)
        self._course.begin(number, is_possible, seen)
        return self._view.observation(seen), {"action_mask": is_possible.view(np.int8)}

    def step(self, action: int | np.int64) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Start a job of the window or wait, and go on to the next choice."""
        course, view = self._course, self._view
        if course.is_over:
            raise CoallocError("the episode is over; call reset()")
        seen, is_possible = np.empty(view.num_seen), np.empty(view.num_choices, np.uint8)
        choice = _action(action, view.num_choices)
        reward = course.go_on(choice, is_possible, seen)
        info: dict[str, Any] = {"action_mask": is_possible.view(np.int8)}
        if course.is_over:
            info |= _summary(course, self._bound_of)
        return view.observation(seen), reward, course.is_over, False, info

    def result(self) -> SimulationResult:
        """Return the checked schedule and the metrics of an episode that is over."""
        return self._course.result()


class SchedulingVectorEnv(VectorEnv[Observation, NDArray[np.int64], NDArray[Any]]):
    """Several environments at once; ``coalloc.extend.vector_environment`` describes it."""

    metadata: dict[str, Any] = {"autoreset_mode": AutoresetMode.NEXT_STEP}  # noqa: RUF012 - as gymnasium declares it

    def __init__(
        self, episodes: Episodes, num_envs: int, window: int, reward: Reward, bound_of: BoundOf | None
    ) -> None:
        self._courses = [Course(episodes, reward) for _ in range(num_envs)]
        self._bound_of, self.num_envs, self._num_instances = bound_of, num_envs, len(episodes.instances)
        self._view = AgentView(window, episodes.num_classes)
        self.single_observation_space, self.single_action_space = self._view.space, spaces.Discrete(window + 1)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self.action_space = batch_space(self.single_action_space, self.num_envs)

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin instances at random, or number ``options["instance"]``, one for all or one for each."""
        super().reset(seed=seed)
        numbers = _numbers(self.np_random, options, self.num_envs, self._num_instances)
        seen, is_possible = self._room()
        for k, (course, number) in enumerate(zip(self._courses, numbers, strict=True)):
            course.begin(number, is_possible[k], seen[k])
        return self._view.observation(seen), self._infos(is_possible)

    def step(
        self, actions: NDArray[np.int64]
    ) -> tuple[Observation, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Go on in each environment; those whose episodes are over begin anew."""
        seen, is_possible = self._room()
        rewards, are_over, infos = np.zeros(self.num_envs), np.zeros(self.num_envs, bool), self._infos(is_possible)
        choices = _integers(np.asarray(actions), self.num_envs, self._view.num_choices, "action")
        for k, (course, choice) in enumerate(zip(self._courses, choices, strict=True)):
            if course.is_over:
                (number,) = _numbers(self.np_random, None, 1, self._num_instances)
                course.begin(number, is_possible[k], seen[k])
                continue
            rewards[k] = course.go_on(choice, is_possible[k], seen[k])
            if course.is_over:
                are_over[k] = True
                infos = self._add_info(infos, _summary(course, self._bound_of), k)
        return self._view.observation(seen), rewards, are_over, np.zeros(self.num_envs, bool), infos

    def results(self) -> list[SimulationResult]:
        """Return the checked schedules and the metrics of episodes that are all over."""
        return [course.result() for course in self._courses]

    def _room(self) -> tuple[Floats, NDArray[np.uint8]]:
        """Return room for what is seen, and for which choices are possible."""
        return np.empty((self.num_envs, self._view.num_seen)), np.empty(
            (self.num_envs, self._view.num_choices), np.uint8
        )

    def _infos(self, is_possible: NDArray[np.uint8]) -> dict[str, Any]:
        """Return the information of all environments."""
        return {"action_mask": is_possible.view(np.int8), "_action_mask": np.ones(self.num_envs, bool)}


def _numbers(rng: np.random.Generator, options: Mapping[str, Any] | None, count: int, num_instances: int) -> list[int]:
    """Return so many numbers of instances: as asked for, else at random."""
    asked = (options or {}).get("instance")
    if asked is None:
        return [int(number) for number in rng.integers(num_instances, size=count)]
    given = np.asarray(asked)
    return _integers(np.full(count, given) if given.ndim == 0 else given, count, num_instances, "options['instance']")


def _action(action: SupportsIndex, num_choices: int) -> int:
    """Return an action as a number; raises where there is none such."""
    try:
        choice = index(action)
    except TypeError:
        choice = -1
    if not 0 <= choice < num_choices:
        raise CoallocError(f"action: must be an integer from 0 to {num_choices - 1}, got {shown(action)}")
    return choice


def _integers(given: NDArray[Any], count: int, limit: int, name: str) -> list[int]:
    """Return so many integers from 0 to below a limit; raises where they are something else."""
    numbers: list[int] = given.tolist()
    if given.shape == (count,) and given.dtype.kind in "iu" and min(numbers) >= 0 and max(numbers) < limit:
        return numbers
    number = "an integer" if count == 1 else f"{count} integers"
    raise CoallocError(f"{name}: must be {number} from 0 to {limit - 1}, got {shown(numbers)}")


def _summary(course: Course, bound_of: BoundOf | None) -> dict[str, Any]:
    """Return the metric of an episode that is over, and how far it is from its bound."""
    summary: dict[str, Any] = {"instance": course.number, course.reward: course.metric}
    if bound_of is not None:
        bound = bound_of(course.number)
        beyond = bound - course.metric if course.reward == "utilization" else course.metric - bound
        if beyond < -TOLERANCE * max(1.0, abs(bound)):
            raise InternalError(f"{course.reward} {course.metric:g} is better than its bound {bound:g}")
        summary |= {"bound": bound, "regret": max(0.0, beyond)}
    return summary
