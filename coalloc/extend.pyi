"""The public names of ``coalloc.extend``."""

from coalloc.heuristics.registry import policy_named as policy_named
from coalloc.instance.calendar import Calendar as Calendar
from coalloc.models import Formulation as Formulation
from coalloc.objectives import RegularObjective as RegularObjective
from coalloc.objectives.piecewise import PiecewiseLinear as PiecewiseLinear
from coalloc.problem import Problem as Problem
from coalloc.problem.allocation import NodeClass as NodeClass
from coalloc.problem.constraint import Budget as Budget
from coalloc.problem.constraint import Constraint as Constraint
from coalloc.problem.constraint import Cumulative as Cumulative
from coalloc.problem.constraint import NotTogether as NotTogether
from coalloc.problem.constraint import TimeRow as TimeRow
from coalloc.simulator.policy import Running as Running
from coalloc.simulator.policy import Start as Start
from coalloc.simulator.policy import State as State
from coalloc.simulator.policy import Wake as Wake
from coalloc.simulator.routing import Broker as Broker
from coalloc.simulator.site import Site as Site
