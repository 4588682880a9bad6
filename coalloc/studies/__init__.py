"""Studies: what instances, methods and options do to results; each returns a table and can draw it."""

from coalloc.system.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
