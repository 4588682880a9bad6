"""The public names of ``coalloc.extend``."""

from coalloc.heuristics.registry import policy_named as policy_named
from coalloc.instance.calendar import Calendar as Calendar
from coalloc.models import Formulation as Formulation
from coalloc.objectives import RegularObjective as RegularObjective
from coalloc.objectives.objective import Ramp as Ramp
from coalloc.problem import Problem as Problem
from coalloc.problem.allocation import NodeClass as NodeClass
from coalloc.problem.constraints import AllowedNodes as AllowedNodes
from coalloc.problem.constraints import AllowedShapes as AllowedShapes
from coalloc.problem.constraints import AllowedSpreads as AllowedSpreads
from coalloc.problem.constraints import AllowedStarts as AllowedStarts
from coalloc.problem.constraints import Budget as Budget
from coalloc.problem.constraints import Constraint as Constraint
from coalloc.problem.constraints import Cumulative as Cumulative
from coalloc.problem.constraints import MostTasks as MostTasks
from coalloc.problem.constraints import NotTogether as NotTogether
from coalloc.problem.constraints import TimeBounds as TimeBounds
from coalloc.problem.constraints import TimeRow as TimeRow
from coalloc.simulator.policy import Running as Running
from coalloc.simulator.policy import Start as Start
from coalloc.simulator.policy import State as State
from coalloc.simulator.policy import Wake as Wake
from coalloc.simulator.routing import Broker as Broker
from coalloc.simulator.site import Site as Site
