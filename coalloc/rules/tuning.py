"""The table of constants that methods share: shares of time, sizes of instances and tables, numbers of steps.

What one method alone needs stands in its file. None is a tolerance: these are in docs/mathematics/tolerances.md.
"""

from __future__ import annotations

BRIEF, SHORT, HALF, MOST = 0.05, 0.2, 0.5, 0.8
"""Shares of the time that is left: where others wait, where it mostly ends sooner, of one of two, and of the last."""
FEW_JOBS, MANY_JOBS, MANY_FOR_SUMS = 12, 24, 50
"""Jobs up to which a proof takes a second, up to which it takes seconds, and up to which it is tried for a sum."""
TRIED = 2_000
"""Allocation vectors, or sets of jobs, that are tried for one question."""
CHOICES = 20_000
"""Allocation vectors of all jobs up to which each of them is looked at again and again."""
LISTED = 120_000
"""Sets, arcs, or pairs of jobs and processors that are listed one by one."""
ENTRIES, MANY_ENTRIES = 2_000_000, 20_000_000
"""Entries of a table that is made again and again, and of one that is made once."""
OPERATIONS = 400_000_000
"""Entries that the engine computes in about half a second."""
FIRST_NODES, NODES = 1_000, 100_000
"""Nodes of a tree before the first look at what else is known, and between two."""
REMEMBERED = 524_287
"""Sets, or nodes, in a memory of the engine: a prime."""
PRICES = 16
"""Rows of prices at which a tree bounds nodes."""
LEAST_TIME = 0.1
"""Seconds below which no further attempt or question is begun."""
