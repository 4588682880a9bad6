"""The public names of ``coalloc.results``."""

from coalloc.checker import Violation as Violation
from coalloc.explanations.reasons import Explanation as Explanation
from coalloc.explanations.reasons import Reason as Reason
from coalloc.instance import RelaxedFeatureWarning as RelaxedFeatureWarning
from coalloc.measures.groups import metrics_by as metrics_by
from coalloc.measures.metrics import metrics_of as metrics_of
from coalloc.measures.sharing import sharing_metrics as sharing_metrics
from coalloc.measures.usage import series as series
from coalloc.power.meter import Energy as Energy
from coalloc.schedule import Failure as Failure
from coalloc.schedule import InterruptedRun as InterruptedRun
from coalloc.simulator.result import SimulationResult as SimulationResult
from coalloc.solvers.result import ModelSize as ModelSize
from coalloc.solvers.result import SolvedLevel as SolvedLevel
from coalloc.solvers.result import SolveOptions as SolveOptions
from coalloc.solvers.result import SolveStatus as SolveStatus
from coalloc.solvers.result import TracePoint as TracePoint
from coalloc.studies.audit_report import Audit as Audit
from coalloc.studies.submissions import Submission as Submission
from coalloc.studies.whatif_report import WhatIf as WhatIf
from coalloc.workloads.library import LibraryEntry as LibraryEntry
from coalloc.workloads.slurm.site_log import SiteLog as SiteLog
from coalloc.workloads.weeks.merging import MergedWeeks as MergedWeeks
