"""Watts of a cluster whose cores, boards and chassis switch on and off, and which of them hold which processors.

Processors fill boards and boards fill chassis in the order of their numbers; a board or a chassis without a processor
does not exist. Source: the two-level grid study, section 3.1, equations (4) to (9), and its appendix A.3; errata 27.
"""

from __future__ import annotations

from coalloc.documents.values import Count, NonNegative, Seconds, Value, value


@value()
class PowerStates(Value):
    """Power of the parts of a cluster, and when they switch on and off.

    Nodes of a cluster with power states have one core each and no watts of their own. Processors fill boards, and
    boards fill chassis, in the order of their numbers.

    Parameters
    ----------
    chassis : int
        Maximum number of chassis of the cluster.
    boards : int
        Maximum number of boards of a chassis.
    cores : int
        Maximum number of cores of a board.
    site_watts : float
        Power of the site while it is on, W.
    chassis_watts : float
        Power of each chassis while it is on, W.
    board_watts : float
        Power of each board while it is on, W.
    core_idle_watts : float
        Power of a core that is on without a job, W.
    core_working_watts : float
        Power of a core that is on with a job, W.
    startup_time : float
        Duration of a start-up of the site, s; no job starts before its end.
    core_grace : float
        Time that a core stays on without a job, s.
    site_grace : float
        Time that the site stays on after its last board went off, s.
    startup_watts : float or None, default None
        Power of the site while it starts up, W. None: as if all of it were on and idle.

    Notes
    -----
    Source: the two-level grid study, section 3.1, equations (4) to (9); errata 27.

    Examples
    --------
    >>> import coalloc
    >>> states = coalloc.grid.platform("grid1").clusters[0].power_states
    >>> states.core_working_watts, states.off_delay
    (26.0, 15.0)
    """

    chassis: Count
    boards: Count
    cores: Count
    site_watts: NonNegative
    chassis_watts: NonNegative
    board_watts: NonNegative
    core_idle_watts: NonNegative
    core_working_watts: NonNegative
    startup_time: Seconds
    core_grace: Seconds
    site_grace: Seconds
    startup_watts: NonNegative | None = None

    @property
    def off_delay(self) -> float:
        """Time after its last job at which the site goes off if no other job starts, s."""
        return self.core_grace + self.site_grace

    def num_boards(self, processors: int) -> int:
        """Return the number of boards that hold this many processors."""
        return -(-processors // self.cores)

    def num_chassis(self, processors: int) -> int:
        """Return the number of chassis that hold the boards of this many processors."""
        return -(-processors // (self.cores * self.boards))

    def idle_draw(self, processors: int) -> float:
        """Return the power of a site with this many processors, all of it on and idle, W."""
        return (
            self.site_watts
            + self.chassis_watts * self.num_chassis(processors)
            + self.board_watts * self.num_boards(processors)
            + self.core_idle_watts * processors
        )

    def startup_draw(self, processors: int) -> float:
        """Return the power of a site with this many processors while it starts up, W."""
        return self.idle_draw(processors) if self.startup_watts is None else self.startup_watts
