"""What a cluster draws whose cores, boards and chassis switch on and off, and which of them hold which processors.

Processors fill boards and boards fill chassis in the order of their numbers; a board or a chassis without a processor
does not exist. Source: the two-level grid study, section 3.1, equations (4) to (9), and its appendix A.3; errata 27.
"""

from __future__ import annotations

from coalloc.documents.values import Count, NonNegative, Seconds, Value, value


@value()
class PowerStates(Value):
    """What the parts of a cluster draw while they are on, and when they switch.

    A cluster with power states has nodes of one core each, without watts of their own.

    Parameters
    ----------
    chassis
        Chassis of the cluster at most.
    boards
        Boards of a chassis at most.
    cores
        Cores of a board at most.
    site_watts
        What the site draws while it is on, W.
    chassis_watts
        What each chassis draws while it is on, W.
    board_watts
        What each board draws while it is on, W.
    core_idle_watts
        What a core that is on draws without a job, W.
    core_working_watts
        What a core that is on draws with a job, W.
    startup_time
        How long the site starts up, s; it starts no job before.
    core_grace
        How long a core stays on without a job, s.
    site_grace
        How long the site stays on after its last board went off, s.
    startup_watts
        What the site draws while it starts up, W; without: as if all of it were on and idle.
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
        """How long after its last job the site goes off, if no other starts, s."""
        return self.core_grace + self.site_grace

    def num_boards(self, processors: int) -> int:
        """Return how many boards so many processors fill, the last perhaps in part."""
        return -(-processors // self.cores)

    def num_chassis(self, processors: int) -> int:
        """Return how many chassis the boards of so many processors fill, the last perhaps in part."""
        return -(-processors // (self.cores * self.boards))

    def idle_draw(self, processors: int) -> float:
        """Return what a site of so many processors draws with all of it on and idle, W."""
        return (
            self.site_watts
            + self.chassis_watts * self.num_chassis(processors)
            + self.board_watts * self.num_boards(processors)
            + self.core_idle_watts * processors
        )

    def startup_draw(self, processors: int) -> float:
        """Return what a site of so many processors draws while it starts up, W."""
        return self.idle_draw(processors) if self.startup_watts is None else self.startup_watts
