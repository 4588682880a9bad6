"""Searches and bounds of special cases: one node per cluster, jobs of one task."""
