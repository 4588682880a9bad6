"""PyJobShop as a peer on unrelated machines: times on standard input, what CP-SAT finds on standard output, both JSON.

It runs by itself, with PyJobShop and without coalloc. Each job is a task with a mode on each machine, as that library's
documentation puts parallel machines.
"""

from __future__ import annotations

import json
import sys
import time
from importlib.metadata import version
from typing import Any

from pyjobshop import Model


def answer(document: dict[str, Any]) -> dict[str, Any]:
    """Solve; return bound, the machine of each job, and what it took, building included."""
    began = time.perf_counter()
    model = Model()
    machines = [model.add_machine() for _ in document["times"][0]]
    for row in document["times"]:
        task = model.add_task()
        for machine, duration in zip(machines, row, strict=True):
            model.add_mode(task, [machine], duration)
    left = max(0.0, document["time_limit"] - (time.perf_counter() - began))
    result = model.solve(time_limit=left, display=False, num_workers=document["threads"])
    total = time.perf_counter() - began
    return {
        "lower_bound": result.lower_bound,
        "machines": [task.mode % len(machines) for task in result.best.tasks],
        "time": total,
        "peer": f"PyJobShop {version('pyjobshop')}, ortools {version('ortools')}",
    }


if __name__ == "__main__":
    json.dump(answer(json.load(sys.stdin)), sys.stdout)
