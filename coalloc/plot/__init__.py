"""Pictures of schedules: one layout, drawn with matplotlib (files, notebooks) or plotly (a page to explore)."""

from coalloc.system.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
