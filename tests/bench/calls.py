"""What the tests have workers do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from coalloc.bench.protocol import Task
from coalloc.instance import CoallocError, Instance

ROOT = Path(__file__).parents[2]
HOLDER = "import sys, time; held = b'1' * int(float(sys.argv[1]) * 1e6); time.sleep(60)"
"""A program that holds so many MB for a minute."""


def task(name: str, *, time: float = 30.0, memory: float = 2000.0, **argument: Any) -> Task:
    """Return a call of one of the functions below."""
    return Task(f"tests.bench.calls:{name}", argument, time, memory, folder=str(ROOT))


def echo(argument: dict[str, Any]) -> dict[str, Any]:
    return argument | {"pid": os.getpid(), "parent": os.getppid()}


def sleep(argument: dict[str, Any]) -> dict[str, Any]:
    Path(argument["file"]).write_text(str(os.getpid()))
    time.sleep(60.0)
    return {}


def hold(argument: dict[str, Any]) -> dict[str, Any]:
    held = b"1" * int(argument["megabytes"] * 1e6)
    time.sleep(60.0 if argument.get("stays") else 0.0)
    return {"held": len(held)}


def hold_in_a_child(argument: dict[str, Any]) -> dict[str, Any]:
    command = [sys.executable, "-c", HOLDER, str(argument["megabytes"])]
    child = subprocess.Popen(command, start_new_session=argument.get("in_a_session", False))
    Path(argument["file"]).write_text(str(child.pid))
    child.wait()
    return {}


def leave_a_child(argument: dict[str, Any]) -> dict[str, Any]:
    return {"child": subprocess.Popen(["sleep", "60"]).pid}


def end(argument: dict[str, Any]) -> dict[str, Any]:
    os._exit(argument["code"])


def die(argument: dict[str, Any]) -> dict[str, Any]:
    with Path(argument["file"]).open("a") as stream:
        stream.write("x")
    os.kill(os.getpid(), getattr(signal, argument["signal"]))
    time.sleep(60.0)
    return {}


def die_at_first(argument: dict[str, Any]) -> dict[str, Any]:
    if not Path(argument["file"]).exists():
        die(argument | {"signal": "SIGKILL"})
    return {"lived": True}


def kill_the_worker_at_first(argument: dict[str, Any]) -> dict[str, Any]:
    path = Path(argument["file"])
    if not path.exists():
        path.write_text(str(os.getpid()))
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60.0)
    return {"lived": True}


def fail(argument: dict[str, Any]) -> dict[str, Any]:
    raise CoallocError("mend it") if argument["ours"] else ZeroDivisionError("by zero")


def name_of(argument: dict[str, Any], instance: Instance) -> dict[str, Any]:
    return {"name": instance.name, "identity": id(instance)}


def strange_numbers(argument: dict[str, Any]) -> dict[str, Any]:
    import numpy as np

    return {"gap": float("inf"), "bound": float("nan"), "size": np.int64(3), "parts": (np.float64(0.5), True, None)}
