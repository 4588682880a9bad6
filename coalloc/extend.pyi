"""The public names of ``coalloc.extend``."""

from coalloc.heuristics.registry import policy_named as policy_named
from coalloc.instance.calendar import Calendar as Calendar
from coalloc.instance.constraints import AllowedNodes as AllowedNodes
from coalloc.instance.constraints import AllowedShapes as AllowedShapes
from coalloc.instance.constraints import AllowedSpreads as AllowedSpreads
from coalloc.instance.constraints import AllowedStarts as AllowedStarts
from coalloc.instance.constraints import Budget as Budget
from coalloc.instance.constraints import Constraint as Constraint
from coalloc.instance.constraints import Cumulative as Cumulative
from coalloc.instance.constraints import DifferentClusters as DifferentClusters
from coalloc.instance.constraints import MostTasks as MostTasks
from coalloc.instance.constraints import NotTogether as NotTogether
from coalloc.instance.constraints import SameCluster as SameCluster
from coalloc.instance.constraints import TimeBounds as TimeBounds
from coalloc.instance.constraints import TimeRow as TimeRow
from coalloc.models import Formulation as Formulation
from coalloc.objectives import RegularObjective as RegularObjective
from coalloc.objectives.piecewise import PiecewiseLinear as PiecewiseLinear
from coalloc.problem import Problem as Problem
from coalloc.problem.allocation import NodeClass as NodeClass
from coalloc.simulator.policy import Running as Running
from coalloc.simulator.policy import Start as Start
from coalloc.simulator.policy import State as State
from coalloc.simulator.policy import Wake as Wake
from coalloc.simulator.routing import Broker as Broker
from coalloc.simulator.site import Site as Site
