"""The compiled engine: searches and bounds in C, called through ctypes with arrays that are made once per problem.

Nothing of it is an algorithm that Python has as well. Sources are in ``src``; headers there declare the interface,
which :mod:`coalloc.engine.library` reads. What it takes is made of allocations, timeline and declarations of a problem.
"""

from coalloc.engine.library import Handle as Handle
from coalloc.engine.library import engine as engine
