"""Least energy, with its bounds and searches."""
