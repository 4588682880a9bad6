"""Platform, result and trace files, and the JSON schemas of all files."""

from coalloc.system.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
