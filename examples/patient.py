"""A policy that saves energy on a site with power states: jobs gather before the site starts up.

    python examples/patient.py
    coalloc simulate site.json --policy patient:Patient -p patience=140    # site.json is what the script writes

It has wake-ups and notifications, which docs/simulation.md defines.
"""

import math

import coalloc
from coalloc import Cluster, Instance, Job, NodeGroup, Platform, PowerStates
from coalloc.extend import Start, Wake


class Patient:
    """First come, first served, at a site that stays off until a job has waited for ``patience`` s."""

    scope = "cluster"

    def __init__(self, patience):
        self.patience = patience

    def begin(self, state):
        """Begin with the site off."""
        self.power = state.platform.clusters[0].power_states
        self.up, self.off = -math.inf, -math.inf

    def ended(self, state, running):
        """Note when the site goes off unless another job starts."""
        self.off = state.now + self.power.core_grace + self.power.site_grace

    def decide(self, state):
        """Yield the jobs that start now, or the time at which the site is up."""
        if not state.running and self.up <= self.off <= state.now:
            begun = max(state.now, state.queue[0].arrival + self.patience)
            self.up = begun + self.power.startup_time
        if state.now < self.up:
            yield Wake(self.up)
            return
        free = state.free[0]
        for job in state.queue:
            if job.tasks > free:
                return
            free -= job.tasks
            yield Start(job.id, (job.tasks,))


if __name__ == "__main__":
    power = PowerStates(
        chassis=1,
        boards=2,
        cores=2,
        site_watts=50.0,
        chassis_watts=0.0,
        board_watts=110.0,
        core_idle_watts=18.0,
        core_working_watts=26.0,
        startup_time=20.0,
        core_grace=5.0,
        site_grace=10.0,
    )
    site = Cluster("S", [NodeGroup(4, power=1.0)], link_bandwidth=0.0, power_states=power)
    jobs = [Job(f"J{k}", tasks=1, base_time=30.0, arrival=70.0 * k) for k in range(8)]
    for patience, startups in ((0.0, 8), (140.0, 3)):
        run = coalloc.simulate(Instance(Platform([site]), jobs), Patient(patience))
        assert coalloc.check(run.instance, run.schedule, power_management=True) == []
        metered = coalloc.energy(run.instance, run.schedule, power_management=True)
        assert metered.startups == {"S": startups}
        print(f"{metered.total:.0f} J, {run.metrics['wait_mean']:.0f} s of waiting")
    coalloc.write_instance(run.instance, "site.json")
