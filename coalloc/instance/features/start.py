"""Advance reservations: running jobs that start later."""

from __future__ import annotations

from coalloc.instance.features.feature import Feature

FEATURE = Feature(
    fields=("RunningJob.start",),
    is_used=lambda instance: any(run.start > 0.0 for run in instance.running),
)
