"""Comparisons, audits, slot lengths, Pareto fronts, brokers; each returns a table and can draw it."""

from coalloc.system.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
