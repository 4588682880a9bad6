"""Gantt charts, power and time series, with matplotlib or plotly."""

from coalloc.system.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
