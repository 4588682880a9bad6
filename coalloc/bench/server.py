"""A worker: a process that has loaded the library, and forks itself for every sample that it is asked for.

It runs at the other end of two pipes (:mod:`coalloc.system.processes`), so that a daemonic process
(a worker of Dask) can have one, too. It never runs a solver itself: HiGHS's threads belong to a
process, and HiGHS and OR-Tools cannot live in one.
"""

from __future__ import annotations

import gc
import hashlib
import importlib
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, NoReturn

import psutil

from coalloc.bench.protocol import Message, read_exactly, read_message, write_message
from coalloc.bench.provenance import code_versions, machine
from coalloc.bench.supervision import Lifeline, RunnerGoneError, supervised
from coalloc.documents.kinds import value_of
from coalloc.documents.strict_json import parse
from coalloc.instance import Cluster, Instance, NodeGroup, Platform
from coalloc.instance.files import INSTANCE

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Set to 1 for a worker unless they are set: a process that forks must have one thread only."""


class Server:
    """Answers requests one after the other; ``asker`` and ``answers`` are descriptors."""

    def __init__(self, asker: int, answers: int) -> None:
        self.asker, self.answers = asker, answers
        self.lifeline = Lifeline.new()
        self.held: tuple[str, Instance] | None = None

    def serve(self) -> None:
        """Say who we are, and answer until nobody asks."""
        write_message(self.answers, {"versions": code_versions(), "machine": machine(), "pid": os.getpid()})
        while True:
            try:
                write_message(self.answers, self.answer(read_message(self.asker)))
            except (EOFError, BrokenPipeError, RunnerGoneError):
                return

    def answer(self, request: Message) -> Message:
        """Return what comes of a request."""
        wanted, text = request["sha256"], read_exactly(self.asker, request["size"])
        if text:
            self.held = _held(wanted, text)
        if wanted is None:
            call = partial(_call, request)
        elif self.held is not None and self.held[0] == wanted:
            call = partial(_call, request, self.held[1])
        else:
            return {"status": "error", "message": "the instance has changed since the benchmark was planned"}
        return supervised(call, (request["time"], request["memory"]), self.lifeline, self.asker)


def _held(sha256: str, text: bytes) -> tuple[str, Instance] | None:
    """Make the instance once for all samples that have it; they get it with the memory they are forked from.

    None where the text is not what the digest says.
    """
    if hashlib.sha256(text).hexdigest() != sha256:
        return None
    document, faults = parse(text)
    assert isinstance(document, dict)
    instance = value_of(document, INSTANCE, faults)
    gc.freeze()
    return sha256, instance


def _call(request: Message, *instance: Instance) -> Any:
    """Call what is asked for; its module is imported in the process of the sample."""
    if request["folder"]:
        sys.path.insert(0, request["folder"])
    module, _, name = request["function"].partition(":")
    function: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return function(request["argument"], *instance)


def _preload() -> None:
    """Import what samples need, and call each method with nothing to do, so that no solver is started."""
    from coalloc.bench.methods import METHODS
    from coalloc.models.registry import FORMULATIONS

    modules = {module for formulations in FORMULATIONS.values() for module in formulations.values()}
    for module in (*modules, "networkx", "scipy.stats"):  # Pyomo loads scipy.stats with whatever is the first of scipy
        importlib.import_module(module)
    nothing = Instance(Platform((Cluster("C1", (NodeGroup(1, 1.0),), 1.0),)), ())
    for name, method in METHODS.items():
        method.run(nothing, {"policy": "fcfs"} if name == "simulate" else {}, None)
    gc.collect()
    gc.freeze()


def end(*_: object) -> NoReturn:
    """End at SIGTERM, and with it whatever was started here, also in other sessions."""
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            process.kill()
    os._exit(0)


def main(requests: int, answers: int) -> None:
    """Serve whoever started this process."""
    for name in ONE_THREAD:
        os.environ.setdefault(name, "1")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, end)
    _preload()
    Server(requests, answers).serve()
