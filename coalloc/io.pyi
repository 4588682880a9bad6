"""The public names of ``coalloc.io``."""

from coalloc.api.schemas import schema as schema
from coalloc.instance.files import read_platform as read_platform
from coalloc.instance.files import write_platform as write_platform
from coalloc.solvers.files import read_result as read_result
from coalloc.solvers.files import write_result as write_result
from coalloc.workloads.failures import read_failures as read_failures
from coalloc.workloads.failures import sample_failures as sample_failures
from coalloc.workloads.flux.site import read_flux as read_flux
from coalloc.workloads.slurm.site import read_slurm as read_slurm
from coalloc.workloads.swf_writing import write_swf as write_swf
from coalloc.workloads.weeks.merging import merge_swf as merge_swf
