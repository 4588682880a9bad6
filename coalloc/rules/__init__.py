"""Pure functions: queue orders, and schedules generated from a list of jobs."""
