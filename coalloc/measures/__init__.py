"""Metrics, their groupings and time series, statistics."""
