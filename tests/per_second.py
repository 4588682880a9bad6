"""An independent reference for the power of sites: every second is looked at, and its watts are added.

It follows the description of the model, arrivals included, and shares nothing with the meter, which sees periods and
reads start-ups off the starts. Every time must be a whole number of seconds.
"""

from __future__ import annotations

from coalloc.instance import Instance
from coalloc.schedule import Schedule


def joules(instance: Instance, schedule: Schedule, working: str = "total") -> float:
    """Return the energy with power management, J."""
    begin = int(min(job.arrival for job in instance.jobs))
    end = int(max(placement.end for placement in schedule))
    return sum(_site_joules(instance, schedule, c, begin, end, working) for c in range(len(instance.platform.clusters)))


def _site_joules(instance: Instance, schedule: Schedule, c: int, begin: int, end: int, working: str) -> float:
    cluster = instance.platform.clusters[c]
    states, size = cluster.power_states, cluster.num_processors
    assert states is not None
    held = [
        (instance.job_by_id[p.job].arrival, p.start, p.end, {int(name.rsplit("/", 1)[1]) for name in p.nodes})
        for p in schedule
        if p.nodes[0].rsplit("/", 1)[0] == cluster.name
    ]
    boards = [range(first, min(size, first + states.cores)) for first in range(0, size, states.cores)]
    chassis = [boards[first : first + states.boards] for first in range(0, len(boards), states.boards)]
    startup_watts = states.startup_watts
    if startup_watts is None:
        startup_watts = states.site_watts + len(chassis) * states.chassis_watts + len(boards) * states.board_watts
        startup_watts += size * states.core_idle_watts
    total, mode, up_at, idle_since = 0.0, "off", 0, 0
    core_off = [-1] * size
    for t in range(begin, end):
        busy = set().union(*(cores for _, start, until, cores in held if start <= t < until))
        for _, _, until, cores in held:
            if until == t:
                for core in cores:
                    core_off[core] = t + int(states.core_grace)
        on = {core for core in range(size) if core in busy or t < core_off[core]}
        waits = any(arrival < t < start or (arrival < t and start == t) for arrival, start, _, _ in held)
        if mode == "startup" and t >= up_at:
            mode = "on"
        if mode == "on":
            if on or waits:
                idle_since = None
            else:
                idle_since = max(core_off) if idle_since is None else idle_since
                if t >= idle_since + states.site_grace:
                    mode = "off"
        if mode == "off" and any(arrival == t for arrival, *_ in held):
            mode, up_at, idle_since = "startup", t + int(states.startup_time), None
            if up_at == t:
                mode = "on"
        assert not busy or mode == "on"
        if mode == "startup":
            total += startup_watts
        if mode == "on":
            total += states.site_watts
            for members in chassis:
                if any(on & set(board) for board in members):
                    total += states.chassis_watts
            total += states.board_watts * sum(bool(on & set(board)) for board in boards)
            idle = on if working == "extra" else on - busy
            total += states.core_idle_watts * len(idle) + states.core_working_watts * len(busy)
    return total
