"""Lazy public names, versions, child processes, garbage collector."""
