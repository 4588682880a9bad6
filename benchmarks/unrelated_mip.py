"""The assignment MIP of R||Cmax on HiGHS as a peer: times on standard input, what it finds on standard output, JSON.

It runs by itself, with highspy and without coalloc: least C with each job on one machine and no load above C.
"""

from __future__ import annotations

import json
import math
import sys
import time
from typing import Any

import highspy


class Silent(highspy.Highs):
    """HiGHS without output: its constructor prints a banner where it enables callbacks."""

    def enableCallbacks(self) -> None:  # noqa: N802 - its name in HiGHS
        """Enable callbacks, output switched off before."""
        self.setOptionValue("output_flag", False)
        super().enableCallbacks()


def answer(document: dict[str, Any]) -> dict[str, Any]:
    """Solve; return bound, the machine of each job, and what it took, building included."""
    began = time.perf_counter()
    times, highs = document["times"], Silent()
    highs.setOptionValue("threads", document["threads"])
    highs.setOptionValue("mip_abs_gap", 0.999)  # the optimum is whole
    highs.setOptionValue("mip_rel_gap", 0.0)
    x, end = highs.addBinaries(len(times), len(times[0])), highs.addVariable(obj=1.0)
    for j in range(len(times)):
        highs.addConstr(highs.qsum(x[j]) == 1)
    for i in range(len(times[0])):
        highs.addConstr(highs.qsum(row[i] * x[j, i] for j, row in enumerate(times)) <= end)
    highs.setOptionValue("time_limit", max(0.0, document["time_limit"] - (time.perf_counter() - began)))
    highs.run()
    total = time.perf_counter() - began
    info, values = highs.getInfo(), highs.getSolution().col_value
    is_known = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    is_found = is_known and math.isfinite(info.objective_function_value)
    shares = [[values[x[j, i].index] for i in range(len(row))] for j, row in enumerate(times)] if is_found else []
    bound = info.mip_dual_bound if math.isfinite(info.mip_dual_bound) else 0.0
    return {
        "lower_bound": math.ceil(bound - 1e-6),
        "machines": [share.index(max(share)) for share in shares],
        "time": total,
        "peer": f"highspy {highs.version()}",
    }


if __name__ == "__main__":
    json.dump(answer(json.load(sys.stdin)), sys.stdout)
