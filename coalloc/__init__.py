"""coalloc: exact and heuristic scheduling of rigid parallel jobs on multi-clusters with co-allocation.

The public names are those that the stub file ``__init__.pyi`` imports; each is loaded when it is first used.
"""

from coalloc.system.lazy import attach

__getattr__, __dir__, __all__ = attach(__name__, __file__)
