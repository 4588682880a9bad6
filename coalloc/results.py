"""Types that functions return, a warning of bounds, and metrics of part of a schedule."""

from coalloc.system.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
