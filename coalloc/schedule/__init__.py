"""Placements, assignment of nodes to counts, schedule files, and what was observed of a run."""

from coalloc.schedule.interruptions import Cause as Cause
from coalloc.schedule.interruptions import Failure as Failure
from coalloc.schedule.interruptions import InterruptedRun as InterruptedRun
from coalloc.schedule.naming import Occupation as Occupation
from coalloc.schedule.naming import assign_nodes as assign_nodes
from coalloc.schedule.placement import Instant as Instant
from coalloc.schedule.placement import Placement as Placement
from coalloc.schedule.schedule import Schedule as Schedule
from coalloc.schedule.schedule import schedule_of as schedule_of
