"""The largest number of clusters that a job uses."""

from __future__ import annotations

from coalloc.documents.wording import plural
from coalloc.instance.features.feature import Feature, conditions_of, some_job_has

FEATURE = Feature(
    fields=("Job.max_clusters",),
    is_used=some_job_has("max_clusters"),
    conditions=conditions_of("max_clusters", lambda job: f"uses at most {plural(job.max_clusters or 0, 'cluster')}"),
)
