"""Rows of a user's own: 500 random instances with a random row each, in models that are extended and wrapped.

The row is a precedence, two jobs that may not run together, a latest end of a job, or a cluster that a job may not
use; the last two make some instances infeasible. It reaches the models in three ways: added by hand to the model of
``coalloc.build_model``, which HiGHS and CBC then solve through Pyomo, and ``coalloc.schedule_of_model`` leads back; the
same model exported to LP and MPS and read by HiGHS; and in a formulation that wraps one of the house and goes to
``coalloc.solve``. Brute force, which asks the row for the faults of schedules and nothing else, says what is right.
What counts as a disagreement is said in agreement.py; here it is one as well if the schedule breaks the row, or if time
runs out. Protocol: benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import highspy
import pyomo.environ as pyo
from agreement import COLUMNS, OBJECTIVES, TOLERANCE, Case, Finding, judged, rows_of, verdict_on, verdicts, worth
from pyomo.opt import TerminationCondition
from sampling import RESULTS, command_of, exit_with, new_page, run_shown

import coalloc
from coalloc.bench.calls import Call
from coalloc.bench.outcomes import Outcome, Row
from coalloc.bench.provenance import code_sentence
from coalloc.bench.running import outcomes_of
from coalloc.bench.tables import Table, csv_of, markdown
from coalloc.documents.storage import write_atomically
from coalloc.instance.constraints import Constraint
from coalloc.models import formulation_of
from coalloc.objectives import Criterion, RegularObjective
from coalloc.problem import Problem, slot_seconds
from coalloc.testing.brute_force import brute_force_oas
from coalloc.testing.constraints import Apart, EndBy, Kind, NotOnCluster, Precedence, small_constraint
from coalloc.testing.small import SmallSize, small_instance

NUM_SEEDS = 500
FEW = SmallSize(max_jobs=4, max_slots=16)
"""What brute force still enumerates in a moment where every start is tried."""
THESIS_EVERY, THESIS_JOBS, THESIS_SLOT = 5, 3, "50%"
"""Every so many seeds the instance is one of the thesis (12 nodes), with so many jobs and this slot."""
EXPORT_EVERY = 10
"""Every so many seeds the models are exported as well."""
KINDS: tuple[Kind, ...] = ("precedence", "apart", "latest end", "not on cluster")
"""The kinds of rows, which take turns."""
FORMULATIONS = ("mode", "count")
SOLVERS = ("highs", "cbc")
SOLVES = 16
"""Solves per seed at most."""
GRACE = 120.0
"""Seconds that the process of a seed has beyond the limits of all its solves, for Python and brute force."""
GAPS = {"highs": "mip_rel_gap", "cbc": "ratio"}
"""The option of each solver that is the relative gap at which it stops."""


@dataclass(frozen=True, slots=True)
class Seed:
    """All solves on one seed, with seconds per solve."""

    seed: int
    limit: float


# --- rows ------------------------------------------------------------------------------------------


def add_row(model: pyo.ConcreteModel, row: Constraint) -> None:
    """Add a row to a model of formulation ``mode`` or ``count``, as a user would: from its variables."""
    problem: Problem = model.problem
    number = {job.id: j for j, job in enumerate(problem.jobs)}
    spans = list(_spans(model))
    model.added = pyo.ConstraintList()
    if isinstance(row, Precedence):
        before, after = number[row.before], number[row.after]
        start = pyo.quicksum(s * x for j, s, _, x in spans if j == after)
        end = pyo.quicksum(e * x for j, _, e, x in spans if j == before)
        model.added.add(start >= end)
    elif isinstance(row, Apart):
        pair = {number[row.one], number[row.other]}
        for t in range(max(e for _, _, e, _ in spans)):
            _add_limit(model, [x for j, s, e, x in spans if j in pair and s <= t < e], 1)
    elif isinstance(row, EndBy):
        late = [
            x for j, _, e, x in spans if j == number[row.job] and problem.clock.seconds(e) > row.instant + TOLERANCE
        ]
        _add_limit(model, late, 0)
    elif isinstance(row, NotOnCluster):
        _add_limit(model, list(_there(model, number[row.job], row.cluster)), 0)


def _add_limit(model: pyo.ConcreteModel, variables: Sequence[Any], most: int) -> None:
    """Add a row on a sum of variables, if there are any: Pyomo has no rows without."""
    if variables:
        model.added.add(pyo.quicksum(variables) <= most)


def _spans(model: pyo.ConcreteModel) -> Iterator[tuple[int, int, int, Any]]:
    """Yield job, start, end (slots) and variable of every start."""
    problem: Problem = model.problem
    if model.component("x") is not None:
        for (j, p, t), x in model.x.items():
            yield j, t, t + int(problem.modes[j][p].duration), x
    else:
        for (j, level, t), w in model.w.items():
            yield j, t, t + int(problem.levels[j][level].duration), w


def _there(model: pyo.ConcreteModel, job: int, cluster: int) -> Iterator[Any]:
    """Yield the variables that put tasks of a job into a cluster."""
    problem: Problem = model.problem
    inside = {g for g, c in enumerate(problem.classes) if c.cluster == cluster}
    if model.component("x") is not None:
        for (j, p, _), x in model.x.items():
            if j == job and any(problem.modes[j][p].allocation[g] for g in inside):
                yield x
    else:
        for (j, _, _, g), n in model.n.items():
            if j == job and g in inside:
                yield n


@dataclass(frozen=True)
class WithRow:
    """A formulation of a user's own: one of the house, with a row; the solver starts from what the house knows."""

    name: str
    row: Constraint

    @cached_property
    def _house(self) -> Any:
        return formulation_of("oas", self.name)

    def build(
        self, problem: Problem, *, horizon: int, objective: RegularObjective, lower_bound: int
    ) -> pyo.ConcreteModel:
        """Return the model of the house, and the row."""
        model = self._house.build(problem, horizon=horizon, objective=objective, lower_bound=lower_bound)
        add_row(model, self.row)
        return model

    def extract(self, model: pyo.ConcreteModel) -> coalloc.Schedule:
        """Return the schedule."""
        schedule: coalloc.Schedule = self._house.extract(model)
        return schedule

    def set_start(self, model: pyo.ConcreteModel, assignments: Sequence[Any]) -> None:
        """Give the variables the values of a schedule, which may break the row."""
        self._house.set_start(model, assignments)


# --- cases -----------------------------------------------------------------------------------------


def given(seed: int) -> tuple[coalloc.Instance, float, Kind, Constraint]:
    """Return instance, slot (s), the kind of its row and the row; the kinds take turns."""
    if seed % THESIS_EVERY == THESIS_EVERY - 1:
        instance = coalloc.generate("thesis-oas", seed=seed, jobs=THESIS_JOBS)
        slot = slot_seconds(instance, THESIS_SLOT) or 1.0
    else:
        instance, slot = small_instance(seed, FEW)
    first = seed % len(KINDS)
    for kind in (*KINDS[first:], *KINDS[:first]):
        row = small_constraint(kind, seed, instance, slot)
        if row is not None:
            return instance, slot, kind, row
    raise RuntimeError("every instance has a job whose end can be limited")


def cases(sample: Seed) -> Iterator[Case]:
    """Yield what is compared on a seed."""
    instance, slot, _, row = given(sample.seed)
    for objective in OBJECTIVES:
        optimum = brute_force_oas(instance, slot, objective, constraints=[row])
        for formulation in FORMULATIONS:
            keywords = {"slot": slot, "objective": objective, "formulation": formulation}

            def case(way: str, find: Any, keywords: dict[str, Any] = keywords, best: Any = optimum) -> Case:
                return Case(way, instance, best, keywords, partial(kept, row, find))

            for solver in SOLVERS:
                yield case(f"by hand, {solver}", partial(by_hand, row, solver))
            yield case("wrapped", partial(by_wrapping, row))
            if sample.seed % EXPORT_EVERY == 0:
                for extension in ("lp", "mps"):
                    yield case(f"exported, {extension}", partial(by_file, row, extension))


def kept(row: Constraint, find: Any, case: Case, limit: float) -> Finding:
    """Return a finding; raise where it leaves the question open, or its schedule breaks the row."""
    finding: Finding = find(case, limit)
    if finding.status not in ("optimal", "infeasible"):
        raise coalloc.CoallocError(f"ended {finding.status} in {limit:g} s")
    if finding.status == "optimal" and not case.optimum.feasible:
        raise coalloc.CoallocError("is said to be optimal, and is infeasible")
    if finding.schedule is not None:
        for sentence in row.faults(case.instance, finding.schedule):
            raise coalloc.CoallocError(f"the schedule breaks the row: {sentence}")
    return finding


def extended(row: Constraint, case: Case) -> pyo.ConcreteModel:
    """Return the model of a case with the row."""
    model = coalloc.build_model(case.instance, **case.keywords)
    add_row(model, row)
    return model


def by_hand(row: Constraint, solver: str, case: Case, limit: float) -> Finding:
    """Return what another solver makes of the extended model through Pyomo, led back."""
    model = extended(row, case)
    program = {"executable": cbc()} if solver == "cbc" else {}
    ran = pyo.SolverFactory(solver, **program)
    ran.options[GAPS[solver]] = 0.0
    if solver == "cbc":
        ran.options["preprocess"] = "off"  # or it calls solutions optimal that are not (docs/faq.md)
    results = ran.solve(model, load_solutions=False, timelimit=limit)
    condition = results.solver.termination_condition
    if condition == TerminationCondition.infeasible:
        return Finding("infeasible", (), None, None)
    if condition != TerminationCondition.optimal:
        return Finding(str(condition), (), None, None)
    model.solutions.load_from(results)
    schedule = coalloc.schedule_of_model(model)
    return Finding("optimal", (worth(case, schedule),), None, schedule)


def by_wrapping(row: Constraint, case: Case, limit: float) -> Finding:
    """Return what ``coalloc.solve`` says of a formulation with the row."""
    keywords = case.keywords | {"formulation": WithRow(case.keywords["formulation"], row), "time_limit": limit}
    result = coalloc.solve(case.instance, **keywords)
    objectives = () if result.objective is None else (result.objective,)
    return Finding(result.status.value, objectives, result.lower_bound, result.schedule)


def by_file(row: Constraint, extension: str, case: Case, limit: float) -> Finding:
    """Return what HiGHS makes of the extended model in a file."""
    model = extended(row, case)
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / f"model.{extension}")
        model.write(path)
        ran = highspy.Highs()
        for option, value in (("output_flag", False), ("time_limit", limit), ("mip_rel_gap", 0.0)):
            ran.setOptionValue(option, value)
        ran.readModel(path)
        ran.run()
    status = ran.getModelStatus()
    if status == highspy.HighsModelStatus.kInfeasible:
        return Finding("infeasible", (), None, None)
    if status != highspy.HighsModelStatus.kOptimal:
        return Finding(str(status), (), None, None)
    criterion: Criterion = model.criterion
    return Finding("optimal", (criterion.reported(round(ran.getInfo().objective_function_value)),), None, None)


def cbc() -> str:
    """Return the path of the CBC in PuLP's wheel."""
    try:
        import pulp
    except ImportError as error:
        raise coalloc.CoallocError("CBC comes from PuLP, which is not installed: pip install pulp") from error
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return str(getattr(pulp.apis, "PULP_CBC_CMD", pulp.apis.COIN_CMD)().path)


def compare(argument: Mapping[str, Any]) -> Row:
    """Return the rows of a seed, given as a dictionary, under ``rows``."""
    sample = Seed(**argument)
    kind = given(sample.seed)[2]
    rows = [{**case.names, "seed": sample.seed, "row": kind, **judged(case, sample.limit)} for case in cases(sample)]
    return {"status": "compared", "rows": rows}


# --- running and reporting -------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    seeds = [Seed(number, options.limit) for number in range(options.seeds)]
    calls = [Call(compare, asdict(seed), SOLVES * options.limit + GRACE) for seed in seeds]
    run_shown(calls, options.store, options.jobs, _line)
    outcomes = zip(seeds, outcomes_of(calls, options.store), strict=True)
    rows = [row for seed, outcome in outcomes if outcome is not None for row in rows_of(outcome, "all", seed.seed)]
    write_atomically(options.output.with_suffix(".csv"), csv_of((*COLUMNS, "row"), rows))
    write_atomically(options.output.with_suffix(".md"), report(rows, options, command_of("rows", parser, options)))
    print(f"wrote {options.output.with_suffix('.md')} and .csv: {len({row['seed'] for row in rows})} instances")
    return 1 if any(row["disagreement"] for row in rows) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seeds", type=int, default=NUM_SEEDS, help=f"seeds 0, 1, ... (default {NUM_SEEDS})")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds per solve (default 60)")
    parser.add_argument("--jobs", type=int, default=1, choices=(1, 2), help="seeds at a time (default 1)")
    parser.add_argument("--output", type=new_page, default=RESULTS / "rows", help="tables: NAME.md, NAME.csv")
    parser.add_argument("--store", type=Path, default=RESULTS / "rows.sqlite", help="where seeds are kept")
    return parser


def _line(call: Call, outcome: Outcome) -> str:
    seed = call.argument["seed"]
    return f"seed {seed}: {verdict_on(rows_of(outcome, 'all', seed))}"


def report(rows: Sequence[Row], options: argparse.Namespace, command: str) -> str:
    """Return the page in Markdown."""
    wrong = sum(bool(row["disagreement"]) for row in rows)
    paragraphs = [
        "# Rows of a user's own",
        f"{code_sentence(('highspy', 'pyomo', 'python'))}. Seeds 0 to {options.seeds - 1}, "
        f"{len({row['seed'] for row in rows})} of them compared, with a random row each; {options.limit:g} s per "
        f"solve. Made by `{command}`; the protocol is in [../README.md](../README.md).",
        f"{len(rows)} solves, {wrong} of them disagree with brute force.",
        by_kind(rows),
        "Worst difference: the largest of |found - optimum| / max(1, optimum) over what was called optimal.",
        *verdicts(rows),
    ]
    return "\n\n".join(paragraphs) + "\n"


def by_kind(rows: Sequence[Row]) -> str:
    """Return a table: instances, solves and statuses by the kind of row."""
    counts: dict[str, Counter[str]] = {}
    for row in rows:
        counts.setdefault(row.get("row", "crashed"), Counter())[row["status"]] += 1
    seeds = Counter(kind for kind, _ in {(row.get("row", "crashed"), row["seed"]) for row in rows})
    statuses = ("optimal", "infeasible", "crashed")
    lines = [
        [kind, seeds[kind], sum(of_kind.values()), *(of_kind[status] for status in statuses)]
        for kind, of_kind in counts.items()
    ]
    return markdown(Table.of(("row", "instances", "solves", *statuses), lines))


if __name__ == "__main__":
    exit_with(main)
