"""Platform, network tree, jobs, files, constraints, tolerances; modelling features in ``instance/features/``."""

from dataclasses import fields

from coalloc.documents.arguments import public
from coalloc.documents.columns import column
from coalloc.documents.errors import CoallocError, Fault, InstanceError
from coalloc.documents.text import visible
from coalloc.instance.clusters import Cluster, NodeGroup, Switch
from coalloc.instance.features import RelaxedFeatureWarning, UnsupportedFeature, refuse_undeclared
from coalloc.instance.files import read_instance, read_platform, write_instance, write_platform
from coalloc.instance.instance import Instance, RunningJob
from coalloc.instance.job import Job, Shape, SwitchLevel
from coalloc.instance.lags import Lag
from coalloc.instance.limits import Limit
from coalloc.instance.lowering import as_resources
from coalloc.instance.network import Link
from coalloc.instance.platform import Node, Platform
from coalloc.instance.power_states import PowerStates
from coalloc.instance.sharing import LocalUser, Sharing
from coalloc.instance.windows import Window

refuse_undeclared(
    {
        owner.__name__: [field.name for field in fields(owner)]
        for owner in (Instance, Platform, Cluster, NodeGroup, Switch, Job, Shape, SwitchLevel, RunningJob)
    }
)

__all__ = [
    "Cluster",
    "CoallocError",
    "Fault",
    "Instance",
    "InstanceError",
    "Job",
    "Lag",
    "Limit",
    "Link",
    "LocalUser",
    "Node",
    "NodeGroup",
    "Platform",
    "PowerStates",
    "RelaxedFeatureWarning",
    "RunningJob",
    "Shape",
    "Sharing",
    "Switch",
    "SwitchLevel",
    "UnsupportedFeature",
    "Window",
    "as_resources",
    "column",
    "public",
    "read_instance",
    "read_platform",
    "visible",
    "write_instance",
    "write_platform",
]
