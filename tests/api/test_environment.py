"""The Gymnasium environments: interface, seeds, batches, bounds, and what is said of wrong arguments."""

from __future__ import annotations

import importlib.util
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform
from coalloc.documents.errors import InternalError
from coalloc.extend import environment, vector_environment
from tests.api.test_episodes import tiny

pytestmark = pytest.mark.extras
gymnasium = pytest.importorskip("gymnasium", reason="the extra rl is not installed")
from gymnasium.utils.env_checker import check_env  # noqa: E402 - not without the extra


def instances(number=3):
    return [coalloc.generate("lublin", seed=seed, jobs=12, nodes=16, clusters=1) for seed in range(number)]


def two_classes():
    """Return jobs with communication on two clusters of different speed."""
    platform = Platform([Cluster(f"C{n}", [NodeGroup(2, power=n)], link_bandwidth=5.0) for n in (1.0, 2.0)])
    jobs = [Job(f"J{n}", n % 4 + 1, 60.0, arrival=20.0 * n, processing_share=0.5, task_bandwidth=4.0) for n in range(9)]
    return Instance(platform, jobs)


def quiet(instance):
    return instance.replace(jobs=[job.replace(task_bandwidth=0.0) for job in instance.jobs])


def episode(env, seed=None, options=None):
    """Start the first job that fits, again and again; return the rewards and the last information."""
    _, info = env.reset(seed=seed, options=options)
    rewards, is_over = [], False
    while not is_over:
        _, reward, is_over, is_truncated, info = env.step(info["action_mask"].argmax())
        assert not is_truncated
        rewards.append(reward)
    return rewards, info


@pytest.mark.parametrize("given", [instances(), two_classes()], ids=["pool", "two classes"])
def test_gymnasium_finds_nothing_wrong(given):
    env = environment(given, window=4)
    env.spec = gymnasium.envs.registration.EnvSpec("coalloc/Scheduling-v0", lambda: environment(given, window=4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "(?s).*maximum value is infinity")  # waits have no limit
        check_env(env)


def test_the_seed_decides_which_instance_comes():
    def chosen(seed):
        env, numbers = environment(instances(20), window=4), []
        for n in range(5):
            numbers.append(episode(env, seed if n == 0 else None)[1]["instance"])
        return numbers

    assert chosen(3) == chosen(3)
    assert chosen(3) != chosen(4)


@pytest.mark.parametrize(
    ("reward", "best", "metric"),
    # A, then B and C: waits of 0, 90 and 90 s; slowdowns of 1, 140 / 50 and 110 / 20; 270 of 2 * 150 s are used.
    # At best A comes last, at 60 s: slowdowns of 160 / 100, 1 and 1. No schedule ends before 150 s.
    [("wait_mean", 20.0, 60.0), ("bounded_slowdown_mean", 1.2, 3.1), ("utilization", 0.9, 0.9)],
)
def test_regret_is_the_distance_from_the_bound(reward, best, metric):
    rewards, info = episode(environment(tiny(), reward=reward, bound_time=5.0))
    assert info[reward] == pytest.approx(metric)
    assert abs(sum(rewards)) == pytest.approx(metric)
    beyond = info["bound"] - metric if reward == "utilization" else metric - info["bound"]
    assert info["regret"] == pytest.approx(beyond)
    assert info["bound"] >= best - 1e-9 if reward == "utilization" else 0.0 <= info["bound"] <= best + 1e-9


def test_a_bound_that_is_wrong_is_no_regret(monkeypatch):
    monkeypatch.setattr("coalloc.api.environment.lower_bound", lambda *_, **__: 61.0)
    with pytest.raises(InternalError, match=r"^.*wait_mean 60 is better than its bound 61"):
        episode(environment(tiny(), reward="wait_mean", bound_time=5.0))


def test_without_a_time_there_is_no_bound():
    assert set(episode(environment(tiny()))[1]) == {"action_mask", "instance", "wait_mean"}


def test_a_batch_is_what_single_environments_do():
    given, numbers = instances(), [0, 1, 2, 1]
    envs, single = vector_environment(given, 4, window=4), environment(given, window=4)
    observations, infos = envs.reset(seed=1, options={"instance": numbers})
    assert all(envs.observation_space[name].contains(part) for name, part in observations.items())
    total, has_ended = np.zeros(4), np.zeros(4, bool)
    while not has_ended.all():
        actions = infos["action_mask"].argmax(axis=1)
        observations, rewards, are_over, _, infos = envs.step(actions)
        total += np.where(has_ended, 0.0, rewards)
        for k in np.flatnonzero(are_over & ~has_ended):
            assert infos["_wait_mean"][k]
            assert infos["wait_mean"][k] == pytest.approx(-total[k])
        has_ended |= are_over
    expected = [sum(episode(single, options={"instance": number})[0]) for number in numbers]
    assert total == pytest.approx(expected)
    assert envs.metadata["autoreset_mode"] == gymnasium.vector.AutoresetMode.NEXT_STEP


def test_an_environment_of_a_batch_begins_anew_in_the_next_step():
    envs = vector_environment(tiny(), 1, window=2)
    first, _ = envs.reset()
    for action in (0, 1, 0):
        assert not envs.step(np.array([action]))[2].all() or action == 0
    again, rewards, are_over, _, _ = envs.step(np.array([0]))
    assert all(np.array_equal(first[name], again[name]) for name in first)
    assert (rewards.tolist(), are_over.tolist()) == ([0.0], [False])
    assert envs.reset()[0]["waiting"].tolist() == [[1.0]]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"instances": []}, "at least one instance, each with at least one job"),
        ({"window": 0}, "window: must be at least 1, got 0"),
        ({"bound_time": 0.0}, "bound_time: must be above 0, got 0"),
        ({"reward": "makespan"}, "reward"),
        ({"instances": two_classes(), "reward": "utilization", "bound_time": 1.0}, "only its mean wait has a bound"),
        ({"instances": quiet(two_classes()), "reward": "utilization", "bound_time": 1.0}, "utilization has no bound"),
    ],
)
def test_wrong_arguments_are_one_line(arguments, sentence):
    with pytest.raises(CoallocError, match=sentence) as error:
        environment(**{"instances": tiny(), **arguments})
    assert "\n" not in str(error.value)
    if "reward" not in sentence:
        with pytest.raises(CoallocError, match=sentence):
            vector_environment(num_envs=2, **{"instances": tiny(), **arguments})


def test_wrong_calls_are_one_line():
    env = environment(tiny())
    for call in (env.result, lambda: env.step(0)):
        with pytest.raises(CoallocError, match="the episode is"):
            call()
    for wrong in (1, -1, 0.5, "x", [0, 0]):
        with pytest.raises(CoallocError, match=r"^options\['instance'\]: must be an integer from 0 to 0, got "):
            env.reset(options={"instance": wrong})
    env.reset()
    for wrong in (-1, 65, 0.0, "x", None):
        with pytest.raises(CoallocError, match=r"^action: must be an integer from 0 to 64, got "):
            env.step(wrong)
    envs = vector_environment(tiny(), 2)
    envs.reset()
    for wrong in ([0], [0, 65], [0, 0, 0]):  # no environment takes a step
        with pytest.raises(CoallocError, match=r"^action: must be 2 integers from 0 to 64, got "):
            envs.step(np.array(wrong))
    with pytest.raises(CoallocError, match="num_envs: must be at least 1"):
        vector_environment(tiny(), 0)


@pytest.fixture(scope="module")
def example():
    """Return the module of the example that trains a policy."""
    path = Path(__file__).parents[2] / "examples" / "train_scheduler.py"
    spec = importlib.util.spec_from_file_location("train_scheduler", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_example_trains_the_same_weights_again(example, monkeypatch, capsys):
    monkeypatch.setattr(example, "MEMBERS", 4)
    monkeypatch.setattr(example, "ELITE", 2)
    given = example.workload(range(2))
    weights = example.train(given, generations=2)
    assert np.array_equal(weights, example.train(given, generations=2))
    found = example.compare(given, weights, bound_time=0.2)
    assert all((found["bound"] <= found[name]).all() for name in ("agent", "easy", "f1"))
    example.main(generations=1, train_on=2, test_on=1, bound_time=0.2)
    assert re.findall(r"^\w+", capsys.readouterr().out, re.MULTILINE) == ["weights", "agent", "easy", "f1", "bound"]


def test_the_example_knows_what_delays_the_first_job(example):
    # Four processors, A holds two until 100. The first job B needs three: it fits at 100, with one processor left over.
    # C (two tasks, 101 s) would delay it, D (two, 100 s) and E (one, 500 s) would not.
    platform = Platform([Cluster("C1", [NodeGroup(4, power=1.0)], link_bandwidth=1.0)])
    sizes = [("A", 2, 100.0), ("B", 3, 10.0), ("C", 2, 101.0), ("D", 2, 100.0), ("E", 1, 500.0)]
    envs = vector_environment(Instance(platform, [Job(*size) for size in sizes]), 1, window=5)
    envs.reset()
    seen, _, _, _, _ = envs.step(np.array([0]))
    assert example.delays_the_first(seen)[0].tolist() == [False, True, False, False, False]
