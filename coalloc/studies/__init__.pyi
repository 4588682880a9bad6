"""The public names of ``coalloc.studies``."""

from coalloc.studies.front import energy_front as energy_front
from coalloc.studies.grid import grid_study as grid_study
from coalloc.studies.submissions import check_submission as check_submission
from coalloc.studies.whatif import what_if as what_if
