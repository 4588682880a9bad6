"""The public names of ``coalloc.grid``."""

from coalloc.measures.grid import grid_metrics as grid_metrics
from coalloc.simulator.site import Partition as Partition
from coalloc.solvers.energy.switching import least_energy as least_energy
from coalloc.workloads.grids import platform as platform
from coalloc.workloads.grids import platforms as platforms
