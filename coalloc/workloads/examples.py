"""Instances that come with the package: small, of known origin, and read like any other file.

| name | instance |
|---|---|
| ``thesis-oas-1`` | ``generate("thesis-oas", seed=1)``: 8 jobs, 12 nodes |
| ``paper-oas-1`` | ``generate("paper-oas", seed=1)``: 8 jobs, 6 nodes |
| ``perfect-packing-1`` | ``generate("perfect-packing", seed=1)``: 10 jobs, optimum 1000 s |
| ``pcbe-8`` | ``generate("pcbe", seed=8)``: 7 jobs, two nodes with watts |
| ``thesis-pas-package-1`` | 63 tasks that fit 64 nodes at once; least total execution time 1211.908 s |
| ``flux-sched-572`` | 17 jobs of 20 s on 4 nodes; EASY takes 8 waves, 7 are optimal |
| ``gpu-racks`` | 14 jobs of 0.5 to 4 h on 64 nodes in 15 racks; optimum 6.25 h (docs/howto/schedule-on-racks.md) |
| ``mesd-example`` | four jobs on one cluster, speeds 0.75, 0.75, 0.5, 0.25, 0.15 (thesis, section 3.3.4, Table 3.4) |
| ``pas-figure-3.3`` | jobs of 2, 3, 1 tasks on nodes of speed 1, 1, 0.5, 0.5 (thesis, Figure 3.3) |

``thesis-pas-package-1`` is ``generate("thesis-pas", seed=401, jobs=5, heterogeneity=90, bsbw=0.8, link_bandwidth=600,
interarrival_scale=0)``; without links the least total execution time would be 953.591 s. ``flux-sched-572`` has the
jobs of https://github.com/flux-framework/flux-sched/issues/572, where EASY takes 8 waves "when it could've done it in
7"; the length of a wave is that of the log there. The jobs of ``gpu-racks`` were drawn at random: of one rack
(``max_clusters``), of two equal halves (``slices``), or anywhere, on racks of 1 to 11 nodes. Figure 3.3 gives no times:
those of ``pas-figure-3.3`` satisfy sigma1 Tb1 > sigma3 Tb3, for which the allocation shown (J1 on the fast nodes, J3 on
a slow one) is the optimum, 360 s in all; the nodes are two clusters, C1 fast and C2 slow. The platforms ``grid1`` and
``grid2`` are bundled as well (docs/grid.md).
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from coalloc.documents.arguments import public
from coalloc.documents.sentences import shown
from coalloc.instance import CoallocError, Instance
from coalloc.instance.files import read_instance

SUFFIX = ".json"


def examples() -> tuple[str, ...]:
    """Return the names of the bundled instances.

    Returns
    -------
    tuple of str
        The names, in alphabetical order; docs/generators.md gives their sources.

    See Also
    --------
    coalloc.example : Load a bundled instance.

    Examples
    --------
    >>> import coalloc
    >>> coalloc.examples()[:3]
    ('flux-sched-572', 'gpu-racks', 'mesd-example')
    """
    names = (entry.name for entry in _folder().iterdir())
    return tuple(sorted(name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX)))


@public
def example(name: str) -> Instance:
    """Return a bundled instance.

    Parameters
    ----------
    name : str
        A name of ``coalloc.examples()``.

    Returns
    -------
    Instance
        The instance.

    Raises
    ------
    CoallocError
        The name is unknown; the message lists the names.

    See Also
    --------
    coalloc.examples : List the bundled instances.
    coalloc.generate : Generate an instance from a seed.

    Examples
    --------
    >>> import coalloc
    >>> coalloc.example("thesis-oas-1")
    <Instance 'thesis-oas-1': 8 jobs on 3 clusters with 12 processors>
    """
    with example_file(name) as path:
        return read_instance(path)


def example_file(name: str) -> AbstractContextManager[Path]:
    """Return the file of a bundled instance, which is there as long as the context."""
    if name not in examples():
        raise CoallocError(f"unknown example {shown(name)}; available: {', '.join(examples())}")
    return resources.as_file(_folder() / f"{name}{SUFFIX}")


def _folder() -> Traversable:
    return resources.files("coalloc.workloads") / "bundled"
