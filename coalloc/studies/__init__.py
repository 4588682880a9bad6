"""Studies: what instances, methods and options do to results; each returns a table and can draw it."""
