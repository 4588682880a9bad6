"""Measures of schedules and of simulated runs."""
