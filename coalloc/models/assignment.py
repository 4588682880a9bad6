"""Assignment: which machine each job has, so that the one that works longest works least (R||Cmax).

Equations: (U1) and (U2) of docs/mathematics/searches.md. A job is on no machine on which it alone takes longer than
what is still of interest. Source: J. K. Lenstra, D. B. Shmoys, E. Tardos, "Approximation algorithms for scheduling
unrelated parallel machines", Mathematical Programming 46 (1990).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyomo.environ as pyo

Floats = NDArray[np.float64]


def pairs_within(times: Floats, most: float) -> list[tuple[int, int]]:
    """Return each job with each machine on which it takes no longer; ``times`` has shape ``(num_jobs, num_machines)``.

    Infinite where a machine cannot have the job.
    """
    return [(int(j), int(i)) for j, i in np.argwhere((times <= most) & np.isfinite(times))]


def build(times: Floats, least: float, most: float) -> pyo.ConcreteModel:
    """Return the model of assignments that end between two ticks; its objective is the last end.

    Every job must have a machine on which it ends by then.
    """
    import pyomo.environ as pyo  # loaded where a model is built

    model = pyo.ConcreteModel("assignment")
    pairs = pairs_within(times, most)
    model.x = pyo.Var(pairs, domain=pyo.Binary, doc="1 where job j is on machine i")
    model.T = pyo.Var(bounds=(least, most), doc="the last end, ticks")
    of_job, on_machine = defaultdict(list), defaultdict(list)
    for j, i in pairs:
        of_job[j].append(model.x[j, i])
        on_machine[i].append((times[j, i], model.x[j, i]))
    model.assigned = pyo.Constraint(
        list(range(len(times))), rule=lambda _, j: pyo.quicksum(of_job[j]) == 1, doc="(U1): every job has a machine"
    )
    model.works = pyo.Constraint(
        list(on_machine),
        rule=lambda m, i: pyo.quicksum(time * x for time, x in on_machine[i]) <= m.T,
        doc="(U2): no machine works longer than until the last end",
    )
    model.objective = pyo.Objective(expr=model.T, doc="the last end, ticks")
    return model


def extract(model: pyo.ConcreteModel, num_jobs: int) -> Sequence[int]:
    """Return the machine of each job."""
    machine_of = [0] * num_jobs
    for (j, i), x in model.x.items():
        if round(x.value):
            machine_of[j] = i
    return machine_of
