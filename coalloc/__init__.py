"""coalloc: exact and heuristic scheduling of rigid parallel jobs on multi-clusters with co-allocation.

The public names, nothing else; each is loaded when it is first used.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from coalloc.api.simulating import simulate
    from coalloc.api.solving import build_model, lower_bound, solve
    from coalloc.checker import Violation, check
    from coalloc.heuristics.registry import policies
    from coalloc.instance import (
        Cluster,
        CoallocError,
        Instance,
        InstanceError,
        Job,
        NodeGroup,
        Platform,
        RunningJob,
        Switch,
    )
    from coalloc.instance.files import read_instance, read_platform, write_instance, write_platform
    from coalloc.measures import metrics
    from coalloc.meter import energy
    from coalloc.plot.pictures import gantt
    from coalloc.plot.power import power_plot
    from coalloc.result_files import read_result, write_result
    from coalloc.schedule import Placement, Schedule
    from coalloc.schedule_files import read_schedule, write_schedule
    from coalloc.schemas import schema
    from coalloc.simulator.policy import Policy, Start, Wake
    from coalloc.simulator.replaying import replay
    from coalloc.simulator.result import SimulationResult
    from coalloc.solvers.result import SolveResult, SolveStatus, TracePoint
    from coalloc.studies.comparison import compare
    from coalloc.studies.front import energy_front
    from coalloc.studies.slot_size import slot_study
    from coalloc.versions import show_versions
    from coalloc.workloads.generators import generate
    from coalloc.workloads.irmasim import read_irmasim
    from coalloc.workloads.library import example, examples
    from coalloc.workloads.swf import read_swf
    from coalloc.workloads.swf_writing import write_swf

_HOME = {
    "coalloc.api.simulating": ("simulate",),
    "coalloc.api.solving": ("build_model", "lower_bound", "solve"),
    "coalloc.checker": ("Violation", "check"),
    "coalloc.heuristics.registry": ("policies",),
    "coalloc.instance": (
        "Cluster",
        "CoallocError",
        "Instance",
        "InstanceError",
        "Job",
        "NodeGroup",
        "Platform",
        "RunningJob",
        "Switch",
    ),
    "coalloc.instance.files": ("read_instance", "read_platform", "write_instance", "write_platform"),
    "coalloc.measures": ("metrics",),
    "coalloc.meter": ("energy",),
    "coalloc.plot.pictures": ("gantt",),
    "coalloc.plot.power": ("power_plot",),
    "coalloc.result_files": ("read_result", "write_result"),
    "coalloc.schedule": ("Placement", "Schedule"),
    "coalloc.schedule_files": ("read_schedule", "write_schedule"),
    "coalloc.schemas": ("schema",),
    "coalloc.simulator.policy": ("Policy", "Start", "Wake"),
    "coalloc.simulator.replaying": ("replay",),
    "coalloc.simulator.result": ("SimulationResult",),
    "coalloc.solvers.result": ("SolveResult", "SolveStatus", "TracePoint"),
    "coalloc.studies.comparison": ("compare",),
    "coalloc.studies.front": ("energy_front",),
    "coalloc.studies.slot_size": ("slot_study",),
    "coalloc.versions": ("show_versions",),
    "coalloc.workloads.library": ("example", "examples"),
    "coalloc.workloads.generators": ("generate",),
    "coalloc.workloads.irmasim": ("read_irmasim",),
    "coalloc.workloads.swf": ("read_swf",),
    "coalloc.workloads.swf_writing": ("write_swf",),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "Cluster",
    "CoallocError",
    "Instance",
    "InstanceError",
    "Job",
    "NodeGroup",
    "Placement",
    "Platform",
    "Policy",
    "RunningJob",
    "Schedule",
    "SimulationResult",
    "SolveResult",
    "SolveStatus",
    "Start",
    "Switch",
    "TracePoint",
    "Violation",
    "Wake",
    "build_model",
    "check",
    "compare",
    "energy",
    "energy_front",
    "example",
    "examples",
    "gantt",
    "generate",
    "lower_bound",
    "metrics",
    "policies",
    "power_plot",
    "read_instance",
    "read_irmasim",
    "read_platform",
    "read_result",
    "read_schedule",
    "read_swf",
    "replay",
    "schema",
    "show_versions",
    "simulate",
    "slot_study",
    "solve",
    "write_instance",
    "write_platform",
    "write_result",
    "write_schedule",
    "write_swf",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("coalloc")
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'coalloc' has no attribute {name!r}")
    found = getattr(importlib.import_module(_MODULE_OF[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
