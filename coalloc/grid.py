"""Two-level grids: bundled platforms, partitions of a broker, and metrics."""

from coalloc.system.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
