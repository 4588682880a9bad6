"""The compiled engine: searches and bounds in C, called through ctypes with arrays that are made once per problem.

Of its algorithms Python has one as well: policies decide pass by pass what ``pool_run.c`` runs as a whole. Sources are
in ``src``; headers there declare the interface, which :mod:`coalloc.engine.library` reads. What it takes is made of
allocations, timeline and declarations of a problem.
"""

from coalloc.engine.library import Handle as Handle
from coalloc.engine.library import engine as engine

LONGEST_CALL = 0.05
"""Seconds after which a long call comes back, about, so that limits hold and Ctrl-C is met."""
