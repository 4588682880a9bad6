"""PyJobShop as a peer: one problem in slots on standard input, what CP-SAT finds on standard output, both JSON.

It runs by itself, with PyJobShop and without coalloc, in whatever environment has PyJobShop. Each allocation vector
of a job is a mode of a task; node classes and contended links are renewable resources. This is how
the problem is put to that library by its own documentation (multi-mode project scheduling).
"""

from __future__ import annotations

import json
import sys
import time
from importlib.metadata import version
from typing import Any

from pyjobshop import Model


def model_of(document: dict[str, Any]) -> Model:
    """Return the model; ``modes`` of the document are per job: duration, and demand of each resource."""
    model = Model()
    resources = [model.add_renewable(capacity) for capacity in document["capacities"]]
    for modes in document["modes"]:
        task = model.add_task()
        for mode in modes:
            needed = [(r, demand) for r, demand in zip(resources, mode["demands"], strict=True) if demand]
            model.add_mode(task, [r for r, _ in needed], mode["duration"], [demand for _, demand in needed])
    return model


def answer(document: dict[str, Any]) -> dict[str, Any]:
    """Solve; return status, bound and schedule (mode and start of each job) in slots, and what it took."""
    began = time.perf_counter()
    model = model_of(document)
    left = document["time_limit"] - (time.perf_counter() - began)
    result = model.solve(time_limit=left, display=False, num_workers=document["threads"], random_seed=document["seed"])
    total = time.perf_counter() - began
    first = [0]
    for modes in document["modes"]:
        first.append(first[-1] + len(modes))
    tasks = result.best.tasks
    return {
        "status": result.status.value,
        "lower_bound": result.lower_bound,
        "chosen": [[task.mode - begin, task.start] for begin, task in zip(first, tasks, strict=False)],
        "time": total,
        "peer": f"PyJobShop {version('pyjobshop')}, ortools {version('ortools')}",
    }


if __name__ == "__main__":
    json.dump(answer(json.load(sys.stdin)), sys.stdout)
