"""The plan of a benchmark: every sample that its specification asks for, in order, each with its key.

The key of a sample is a digest of the content of its instance, of its method, options, seed and calls, of
its limits, of the versions of the libraries, and of the source files that its method can reach. Names, paths, commits
and machines have no part in it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from coalloc.bench.methods import METHODS, faults_of_options
from coalloc.bench.protocol import Task
from coalloc.bench.runnable import Runnable
from coalloc.bench.sources import Recipe, made
from coalloc.bench.spec import MethodSpec, SampleLimits, Scalar, Spec, read_spec
from coalloc.documents.kinds import document_of
from coalloc.documents.storage import FilePath
from coalloc.documents.strict_json import layout
from coalloc.instance import Fault, Instance, InstanceError
from coalloc.instance.files import INSTANCE, instance_hash

HELD_TEXTS = 4
"""Texts of instances that are held at a time; samples come in the order of their instances."""


@dataclass(frozen=True, slots=True)
class Given:
    """An instance of the plan: its name, the digest of its content, and how it is made again."""

    name: str
    sha256: str
    num_jobs: int
    recipe: Recipe

    @property
    def text(self) -> str:
        """The canonical file of the instance."""
        return _text_of(self.recipe)


@functools.lru_cache(HELD_TEXTS)
def _text_of(recipe: Recipe) -> str:
    return layout(document_of(recipe.make(), INSTANCE))


@dataclass(frozen=True)
class Sample(Runnable):
    """One run of one method on one instance."""

    labels = ("instance", "jobs", "label")

    given: Given
    label: str
    method: str
    options: Mapping[str, Scalar]
    seed: int | None
    limits: SampleLimits
    warmup: int
    repeat: int
    certify: bool

    @property
    def asked(self) -> dict[str, Any]:
        """The call that a worker runs; it certifies only where that is wanted, so that other digests stay."""
        asked = {
            "method": self.method,
            "options": dict(self.options),
            "seed": self.seed,
            "warmup": self.warmup,
            "repeat": self.repeat,
        }
        return asked | ({"certify": True} if self.certify else {})

    @property
    def identity(self) -> dict[str, Any]:
        """The run as a row of a table names it."""
        return {
            "instance": self.given.name,
            "instance_sha256": self.given.sha256,
            "jobs": self.given.num_jobs,
            "label": self.label,
            **self.asked,
            "time_limit": self.limits.time,
            "memory_limit": self.limits.memory,
        }

    @property
    def versions(self) -> Mapping[str, str]:
        """The versions of the libraries, of the code that its method reaches, and of the plugins that it names."""
        return METHODS[self.method].versions(self.options)

    @property
    def task(self) -> Task:
        """The sample as a worker gets it."""
        return Task(
            function="coalloc.bench.methods:run_method",
            argument=self.asked,
            time=self.limits.time,
            memory=self.limits.memory,
            sha256=self.given.sha256,
            text=lambda: self.given.text,
        )


@dataclass(frozen=True, slots=True)
class Plan:
    """The samples of a benchmark, in order, no two of them the same."""

    spec: Spec
    samples: tuple[Sample, ...]


def read_plan(path: FilePath) -> Plan:
    """Return the plan that a specification asks for.

    Raises
    ------
    InstanceError
        With a line for every fault of the file, of the instances that it names and of the options.
    """
    spec, faults = read_spec(path)
    givens, first = _givens(spec, faults)
    faults += _method_faults(spec, first)
    if faults:
        raise InstanceError(dict.fromkeys(faults), str(path))
    samples = {sample.content: sample for sample in reversed(list(_samples(spec, givens)))}
    return Plan(spec, tuple(reversed(samples.values())))


def _givens(spec: Spec, faults: list[Fault]) -> tuple[list[Given], Instance | None]:
    """Return the instances of all sources, and the first itself; add what is wrong with others to ``faults``."""
    givens: list[Given] = []
    first: Instance | None = None
    for i, source in spec.sources.items():
        own: list[Fault] = []
        for recipe in source.recipes(spec.folder):
            instance = made(recipe, own)
            if instance is not None:
                givens.append(Given(instance.name, instance_hash(instance), len(instance.jobs), recipe))
                first = first or instance
        faults += [fault.under(f"instances[{i}]") for fault in own]
    return givens, first


def _method_faults(spec: Spec, instance: Instance | None) -> Iterator[Fault]:
    """Yield what is wrong with the methods, their options tried on an instance (None: there is none)."""
    names: dict[str, int] = {}
    for i, method in spec.methods.items():
        for label, options in method.variants():
            other = names.setdefault(label, i)
            if other != i:
                yield Fault(f"methods[{i}].name", f"must differ from the name of methods[{other}], got {label!r}")
            if instance is not None:
                found = faults_of_options(method.method, options, instance) or _limit_faults(spec, method, options)
                yield from (fault.under(f"methods[{i}].options") for fault in found)


def _limit_faults(spec: Spec, method: MethodSpec, options: Mapping[str, Scalar]) -> list[Fault]:
    """Return a fault where a method would be killed before it may stop by itself."""
    own = options.get("time_limit", METHODS[method.method].time_limit)
    calls = method.warmup + method.repeat + method.certify  # a certificate has the time of a call
    if own is None or calls * float(own) < spec.limits.time:
        return []
    times = "" if calls == 1 else f", {calls} times"
    limit = f"limits.time = {spec.limits.time:g}"
    return [Fault("time_limit", f"must be below {limit}, or all samples are killed, got {own:g}{times}")]


def _samples(spec: Spec, givens: Sequence[Given]) -> Iterator[Sample]:
    """Yield all samples: the methods take turns on each instance, so that other load strikes them alike."""
    for given in givens:
        for method in spec.methods.values():
            seeds = method.seeds if METHODS[method.method].takes_seed else (None,)
            calls = method.warmup, method.repeat, method.certify
            for label, options in method.variants():
                for seed in seeds:
                    yield Sample(given, label, method.method, options, seed, spec.limits, *calls)
