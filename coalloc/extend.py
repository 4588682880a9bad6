"""Base classes, protocols and functions for custom policies, brokers, constraints, objectives, generators and more."""

from coalloc.system.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
