"""Train a linear scheduling policy with NumPy alone, and compare it with EASY, F1 and a proved bound.

The agent starts the job with the greatest score, a weighted sum of four numbers per job; to wait has a constant score.
The cross-entropy method finds the five weights: sample, keep the best, fit a normal distribution to them, repeat.
"""

import sys
import time

import numpy as np

import coalloc

WINDOW, MEMBERS, ELITE = 32, 40, 8


def workload(seeds):
    """Return instances of one cluster with 128 processors: the model of Lublin and Feitelson, 128 jobs each."""
    model = {"jobs": 128, "nodes": 128, "clusters": 1, "lowest_power": 1.0, "highest_power": 1.0}
    return [coalloc.generate("lublin", seed=seed, **model) for seed in seeds]


def features(seen):
    """Return four numbers of each waiting job, shape ``(num_envs, WINDOW, 4)``."""
    tasks, walltime, wait = np.moveaxis(seen["jobs"], -1, 0)
    return np.stack([np.log1p(walltime), np.log1p(tasks), np.log1p(wait), delays_the_first(seen)], axis=-1)


def delays_the_first(seen):
    """Return whether each waiting job would delay the first one, by the walltimes: what EASY forbids."""
    tasks, walltime, _ = np.moveaxis(seen["jobs"], -1, 0)
    remaining, held = np.moveaxis(seen["running"], -1, 0)
    now = np.zeros((len(tasks), 1))
    room = seen["free"] + np.hstack([now, held.cumsum(axis=1)])
    envs, release = np.arange(len(tasks)), (room >= tasks[:, :1]).argmax(axis=1)
    until, spare = np.hstack([now, remaining])[envs, release], room[envs, release] - tasks[:, 0]
    delays = (walltime > until[:, None]) & (tasks > spare[:, None])
    delays[:, 0] = False
    return delays


def play(envs, weights, number):
    """Return the mean wait (s) of an instance under each row of weights."""
    seen, infos = envs.reset(options={"instance": number})
    waits = np.full(len(weights), np.nan)
    while np.isnan(waits).any():
        scores = np.einsum("nwf,nf->nw", features(seen), weights[:, :-1])
        scores = np.hstack([scores, weights[:, -1:]])
        scores[infos["action_mask"] == 0] = -np.inf
        seen, _, are_over, _, infos = envs.step(scores.argmax(axis=1))
        ended = are_over & np.isnan(waits)
        if ended.any():
            waits[ended] = infos["wait_mean"][ended]
    return waits


def train(instances, generations, seed=0):
    """Return the weights; each generation plays four of the instances."""
    envs, rng = coalloc.extend.vector_environment(instances, MEMBERS, window=WINDOW), np.random.default_rng(seed)
    mean, deviation = np.zeros(5), np.full(5, 2.0)
    for _ in range(generations):
        weights = rng.normal(mean, deviation, (MEMBERS, 5))
        weights[0] = mean
        chosen = rng.choice(len(instances), min(4, len(instances)), replace=False)
        waits = np.mean([play(envs, weights, number) for number in chosen], axis=0)
        best = weights[waits.argsort()[:ELITE]]
        mean, deviation = best.mean(axis=0), best.std(axis=0) + 0.05
    return mean


def compare(instances, weights, bound_time):
    """Return the mean waits (s) of the agent, of policies and of the bound on instances, by name."""
    envs = coalloc.extend.vector_environment(instances, 1, window=WINDOW)
    found = {"agent": [play(envs, weights[None], number)[0] for number in range(len(instances))]}
    for name, options in {"easy": {}, "f1": {"queue_order": "f1"}}.items():
        found[name] = [coalloc.simulate(one, "easy", **options).metrics["wait_mean"] for one in instances]
    found["bound"] = [coalloc.lower_bound(one, "mean-wait", method="best", time_limit=bound_time) for one in instances]
    return {name: np.array(waits) for name, waits in found.items()}


def main(generations=40, train_on=32, test_on=32, bound_time=5.0):
    """Train on the first seeds, compare on others."""
    began = time.perf_counter()
    weights = train(workload(range(train_on)), generations)
    print(f"weights {np.round(weights, 2)} after {time.perf_counter() - began:.0f} s")
    found = compare(workload(range(1000, 1000 + test_on)), weights, bound_time)
    for name, waits in found.items():
        better = np.mean(found["agent"] < waits)
        print(
            f"{name:6} mean wait {waits.mean():6.0f} s, median {np.median(waits):6.0f} s; agent better in {better:4.0%}"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
