"""What the scripts that compare with a peer share: both sides' rows, and a peer in a process of its own."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Mapping
from typing import Any

from sampling import HERE

import coalloc
from coalloc.bench.outcomes import Row


def solved(instance: coalloc.Instance, limit: float, threads: int) -> Row:
    """Return what ``coalloc.solve`` makes of an instance in slots of 1 s; what a process loads is not measured."""
    coalloc.solve(coalloc.generate("thesis-oas", seed=0, jobs=1), slot="50%", threads=threads)
    began = time.perf_counter()
    result = coalloc.solve(instance, slot=1.0, time_limit=limit, threads=threads)
    return {
        "status": result.status.value,
        "time": time.perf_counter() - began,
        "objective": result.objective,
        "lower_bound": result.lower_bound,
        "message": result.message,
    }


def asked(
    python: str, script: str, document: Mapping[str, Any], row_of: Callable[[Mapping[str, Any]], Row], *words: str
) -> Row:
    """Return the row of what a script of a peer answers to a document, on the Python that has the peer."""
    child = subprocess.run(
        [python, str(HERE / script), *words], input=json.dumps(document), capture_output=True, text=True, check=False
    )
    if child.returncode:
        last = (child.stderr.strip().splitlines() or ["no message"])[-1]
        return {"status": "crashed", "message": f"exit code {child.returncode}: {last}"}
    return row_of(json.loads(child.stdout))


def judged(answer: Mapping[str, Any], objective: float | None, lower_bound: float, message: str = "") -> Row:
    """Return the row of an answer: it is proved where the objective, computed anew, is no more than the bound."""
    proven = objective is not None and objective <= lower_bound
    return {
        "status": "optimal" if proven else "unknown" if objective is None else "feasible",
        "time": answer["time"],
        "objective": objective,
        "lower_bound": lower_bound,
        "message": message,
    }
