"""Jobs in one cluster, and jobs no two of which are, in models: by (F1) to (F3) groups of jobs are given clusters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyomo.environ as pyo

from coalloc.problem import Problem


def add_cluster_rows(model: pyo.ConcreteModel, share_in: Callable[[int, int], Any]) -> None:
    """Add the rows; ``share_in(j, c)``, of variables, is 0 where job j has no task in cluster c, else up to 1."""
    problem: Problem = model.problem
    rows, clusters = problem.cluster_rows.rows, range(problem.cluster_rows.num_clusters)
    if not rows:
        return
    groups = {(i, k): group for i, row in enumerate(rows) for k, group in enumerate(row.groups)}
    shares = {(*key, j, c): share_in(j, c) for key, group in groups.items() for j in group for c in clusters}
    model.shares = shares
    model.given = pyo.Var(
        [(*key, c) for key in groups for c in clusters],
        domain=pyo.Binary,
        doc="1 where cluster c is given to group k of the jobs of row i",
    )
    model.in_given = pyo.Constraint(
        list(shares),
        rule=lambda m, i, k, j, c: shares[i, k, j, c] - m.given[i, k, c] <= 0,
        doc="(F1), ours: jobs have tasks in the clusters of their group alone",
    )
    model.one_cluster = pyo.Constraint(
        [key for key in groups if rows[key[0]].is_same],
        rule=lambda m, i, k: pyo.quicksum(m.given[i, k, c] for c in clusters) <= 1,
        doc="(F2), ours: jobs that are in one cluster",
    )
    model.one_group = pyo.Constraint(
        [(i, c) for i, row in enumerate(rows) if not row.is_same for c in clusters],
        rule=lambda m, i, c: pyo.quicksum(m.given[i, k, c] for k in range(len(rows[i].groups))) <= 1,
        doc="(F3), ours: jobs no two of which are in one",
    )


def set_given(model: pyo.ConcreteModel) -> None:
    """Give groups the clusters in which their jobs have tasks, by the values of the other variables."""
    shares = getattr(model, "shares", {})
    used = {(i, k, c) for (i, k, _, c), share in shares.items() if pyo.value(share) > 0.0}
    for key in {(i, k, c) for i, k, _, c in shares}:
        model.given[key].set_value(int(key in used))
