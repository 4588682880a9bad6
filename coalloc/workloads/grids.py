"""The grids of the two-level study: processors, speeds and watts of their sites, as platforms.

Source: the two-level grid study, Tables 3, 4, 6 and 8 and section 5.2. What it does not give has defaults (errata 27,
28): 2 chassis per site and 0 W per chassis, 32 W for the site KTH and 50 W for the others (its appendix A.3), cores per
board as the machines had processors per node, and a start-up that draws what all of the site draws idle.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from coalloc.documents.arguments import public
from coalloc.documents.sentences import shown
from coalloc.instance import Cluster, CoallocError, NodeGroup, Platform, PowerStates

Speeds = Literal["site", "processor", "origin"]

CHASSIS = 2
STARTUP_TIME, CORE_GRACE, SITE_GRACE = 20.0, 5.0, 10.0
"""Chassis of every site, and its times, s."""


class Machine(NamedTuple):
    """A site: ``speed`` in GFLOPS of the whole machine, ``efficiency`` in MFLOPS/W, watts of cores, boards and site."""

    name: str
    processors: int
    core_idle_watts: float
    core_working_watts: float
    board_watts: float
    efficiency: float
    speed: float
    cores_per_board: int = 1
    site_watts: float = 50.0


KTH = Machine("KTH", 100, 17.8, 26.0, 110.0, 1.75, 18.6, site_watts=32.0)
HPC2N = Machine("HPC2N", 240, 58.9, 66.0, 140.0, 0.89, 481.0)
CTC = Machine("CTC", 430, 17.8, 26.0, 135.0, 1.64, 88.4)
LANL = Machine("LANL", 1024, 24.7, 31.0, 120.0, 1.45, 65.4)
DAS2 = Machine("DAS2", 64, 17.8, 35.35, 130.0, 1.36, 126.0, cores_per_board=2)

GRIDS: dict[str, tuple[Machine, ...]] = {
    "grid1": (
        KTH,
        Machine("SDSC-SP2", 128, 17.8, 26.0, 130.0, 1.43, 57.24),
        HPC2N,
        CTC,
        LANL,
        Machine("SDSC-BLUE", 1152, 76.0, 78.0, 220.0, 0.79, 2662.31, cores_per_board=8),
        Machine("SDSC-DS", 1368, 115.0, 125.0, 240.0, 0.76, 5223.0, cores_per_board=8),
    ),
    "grid2": (
        DAS2._replace(name="DAS2-Amsterdam"),
        DAS2._replace(name="DAS2-Delft"),
        DAS2._replace(name="DAS2-Utrecht"),
        DAS2._replace(name="DAS2-Leiden"),
        KTH,
        DAS2._replace(name="DAS2-Vrije", processors=144, efficiency=1.32, speed=230.0),
        HPC2N,
        CTC,
        LANL,
    ),
}
"""The sites of each grid, in the order of Tables 3 and 4."""


def platforms() -> tuple[str, ...]:
    """Return the names of the bundled grid platforms.

    Returns
    -------
    tuple of str
        The names, in alphabetical order.

    See Also
    --------
    coalloc.grid.platform : Load a bundled platform.

    Examples
    --------
    >>> import coalloc
    >>> coalloc.grid.platforms()
    ('grid1', 'grid2')
    """
    return tuple(sorted(GRIDS))


@public
def platform(name: str, speeds: Speeds = "site") -> Platform:
    """Return a bundled grid platform: one cluster with power states per site.

    Parameters
    ----------
    name : str
        A name of ``coalloc.grid.platforms()``.
    speeds : {"site", "processor", "origin"}, default "site"
        Speed of the nodes relative to the slowest site: ``"site"`` compares the FLOPS of whole machines, as published
        (SDSC-DS is 281 times as fast as KTH), ``"processor"`` the FLOPS per processor (20.5 times). ``"origin"`` is the
        platform of ``"processor"``, for jobs whose logged times are multiplied by the speed of their home site.

    Returns
    -------
    Platform
        The platform.

    Raises
    ------
    CoallocError
        The name is unknown; the message lists the names.

    See Also
    --------
    coalloc.grid.platforms : List the names of the bundled platforms.

    Notes
    -----
    Source: the two-level grid study; errata 27 and 28. The sites are those of Tables 3 and 4 in their order, watts and
    efficiencies those of Tables 6 and 8. A start-up takes 20 s, and the grace periods are 5 s and 10 s (section 5.2).
    Appendix A.3 has 2 chassis per site with 0 W each, 32 W for the site KTH, and 50 W, which is assumed for all other
    sites. Also assumed: a board has as many cores as a node of the machine has processors (8 at SDSC-BLUE and SDSC-DS,
    2 at DAS2, 1 elsewhere), boards are dealt to both chassis, and a start-up draws as all of the site on and idle.

    Examples
    --------
    >>> import coalloc
    >>> coalloc.grid.platform("grid1")
    <Platform of 7 clusters with 4442 processors>
    """
    if name not in GRIDS:
        raise CoallocError(f"unknown platform {shown(name)}; available: {', '.join(platforms())}")
    machines = GRIDS[name]
    rates = [machine.speed if speeds == "site" else machine.speed / machine.processors for machine in machines]
    return Platform([_cluster(machine, rate / min(rates)) for machine, rate in zip(machines, rates, strict=True)])


def _cluster(machine: Machine, power: float) -> Cluster:
    """Return a site as a cluster; its link is never used, for a job runs within one site."""
    boards = -(-machine.processors // machine.cores_per_board)
    states = PowerStates(
        chassis=CHASSIS,
        boards=-(-boards // CHASSIS),
        cores=machine.cores_per_board,
        site_watts=machine.site_watts,
        chassis_watts=0.0,
        board_watts=machine.board_watts,
        core_idle_watts=machine.core_idle_watts,
        core_working_watts=machine.core_working_watts,
        startup_time=STARTUP_TIME,
        core_grace=CORE_GRACE,
        site_grace=SITE_GRACE,
    )
    nodes = [NodeGroup(machine.processors, power)]
    return Cluster(machine.name, nodes, link_bandwidth=0.0, efficiency=machine.efficiency, power_states=states)
