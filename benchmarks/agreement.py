"""Agreement of all exact methods with brute force on 200 seeded instances of :mod:`coalloc.testing.small`.

A solve disagrees where "optimal" is said of an objective that differs from that of brute force by more than
1e-6 (relative; absolute below 1 s), where "infeasible" is said wrongly, where a bound is above the optimum
or an objective below it, and where a schedule breaks a rule of the checker or is not worth what is
claimed. Where time ran out, bound and objective must enclose the optimum. Since ``coalloc.solve`` builds no model
where a list schedule meets a simple bound, the models of OAS are also run alone, without a start, without a
bound and with slots to spare. Protocol: benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from sampling import RESULTS, command_of, exit_with, new_page, run_shown

import coalloc
from coalloc.bench.calls import Call
from coalloc.bench.outcomes import Outcome, Row
from coalloc.bench.provenance import code_sentence
from coalloc.bench.running import outcomes_of
from coalloc.bench.tables import Table, csv_of, markdown
from coalloc.documents.storage import write_atomically
from coalloc.models import formulation_of
from coalloc.objectives import Criterion, objective_of
from coalloc.problem import discretise
from coalloc.rules.serial_sgs import best_list_schedule
from coalloc.solvers.backends.highs import SolverLimits, solve_model
from coalloc.testing.brute_force import (
    BruteForceResult,
    brute_force_cbs,
    brute_force_jpr,
    brute_force_oas,
    brute_force_pas,
)
from coalloc.testing.small import (
    NODE_MODEL_SIZE,
    small_equal_instance,
    small_instance,
    small_package,
    with_due_dates,
)

NUM_SEEDS = 200
TOLERANCE = 1e-6
SATURATION = 0.25
"""Saturation that is tolerated in the family of that name."""
SPARE_SLOTS = 1
"""Slots that a model alone has beyond the end of a list schedule."""
SOLVES = 58
"""Solves per seed."""
GRACE = 120.0
"""Seconds that the process of a seed has beyond the limits of all its solves, for Python and brute force."""
OBJECTIVES: tuple[str, ...] = ("makespan", "total-response-time")
DUE: tuple[str, ...] = (
    "total-weighted-response-time",
    "mean-wait",
    "mean-bounded-slowdown",
    "weighted-tardiness",
    "maximum-lateness",
)
"""Objectives of jobs with weights and due dates."""
FORMULATIONS = ("mode", "count", "node")
CONTINUOUS_LIMIT = 2.0
"""Seconds in continuous time, where the search may go on to its limit; what is compared holds whenever it stops."""

STATUSES = ("optimal", "feasible", "infeasible", "unknown", "crashed")
GROUP = ("family", "formulation", "objective")
COLUMNS = (*GROUP, "seed", "status", "optimum", "found", "lower_bound", "difference", "time", "disagreement")


@dataclass(frozen=True, slots=True)
class Finding:
    """What a method says; ``objectives`` are those of its model, the most important first, empty without a schedule.

    ``source`` is who had the last word, where that is known; ``uncertified`` is why there is no certificate: empty
    where there is one, None where none was asked.
    """

    status: str
    objectives: tuple[float, ...]
    lower_bound: float | None
    schedule: coalloc.Schedule | None
    source: str = ""
    uncertified: str | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """One solve, with the keywords of ``coalloc.solve``, and the optimum that it is judged by.

    ``find`` solves it within seconds. Where links may saturate the objective is no sum over the schedule.
    """

    family: str
    instance: coalloc.Instance
    optimum: BruteForceResult
    keywords: dict[str, Any]
    find: Callable[[Case, float], Finding]
    links: Literal["strict", "shared"] = "strict"

    @property
    def names(self) -> Row:
        """Family, formulation and objective."""
        objective = self.keywords.get("objective", "its own")
        return dict(zip(GROUP, (self.family, self.keywords.get("formulation", "auto"), objective), strict=True))


@dataclass(frozen=True, slots=True)
class Seed:
    """All solves on one seed; limits per solve in seconds, ``node_limit`` of the node model on the large family."""

    seed: int
    limit: float
    node_limit: float


# --- cases -----------------------------------------------------------------------------------------


def cases(sample: Seed) -> Iterator[Case]:
    """Yield what is compared on a seed."""
    large, small = small_instance(sample.seed), small_instance(sample.seed, NODE_MODEL_SIZE)
    equal = small_equal_instance(sample.seed)
    for objective in OBJECTIVES:
        for family, find, names in (
            ("oas", by_solve, ("auto", *FORMULATIONS)),
            ("oas model alone", by_model, FORMULATIONS),
        ):
            yield from slotted(f"{family}, up to 3 jobs", (*small, objective), find, names, sample.limit)
            yield from slotted(f"{family}, up to 5 jobs", (*large, objective), find, names, sample.node_limit)
            without_nodes = [name for name in names if name != "node"]
            yield from slotted(f"{family}, equal jobs", (*equal, objective), find, without_nodes, sample.limit)
        optimum = brute_force_oas(large[0], None, objective)
        yield Case(
            "oas, continuous", large[0], optimum, {"objective": objective, "time_limit": CONTINUOUS_LIMIT}, by_solve
        )
    yield from waiting(with_due_dates(small[0], sample.seed), small[1], sample.limit)
    yield from packages(small_package(sample.seed))


def waiting(instance: coalloc.Instance, slot: float, limit: float) -> Iterator[Case]:
    """Yield what jobs with weights and due dates are compared by, in slots and in continuous time."""
    for objective in DUE:
        yield from slotted("oas, weights and due dates", (instance, slot, objective), by_solve, ("auto",), limit)
        optimum = brute_force_oas(instance, None, objective)
        keywords = {"objective": objective, "time_limit": CONTINUOUS_LIMIT}
        yield Case("oas, weights and due dates, continuous", instance, optimum, keywords, by_solve)


def slotted(
    family: str,
    given: tuple[coalloc.Instance, float, str],
    find: Callable[[Case, float], Finding],
    formulations: Sequence[str],
    node_limit: float,
) -> Iterator[Case]:
    """Yield OAS in slots, with each formulation; ``given`` are instance, slot (s) and objective."""
    instance, slot, objective = given
    optimum = brute_force_oas(instance, slot, objective)
    for formulation in formulations:
        keywords = {"slot": slot, "objective": objective, "formulation": formulation}
        limited = {"time_limit": node_limit} if formulation == "node" else {}
        yield Case(family, instance, optimum, keywords | limited, find)


def packages(instance: coalloc.Instance) -> Iterator[Case]:
    """Yield PAS with strict, tolerant and shared links, each formulation and none; then CBS and JPR likewise."""
    strict = brute_force_pas(instance)
    tolerant = brute_force_pas(instance, saturation=SATURATION)
    shared = brute_force_pas(instance, links="shared")
    for formulation in ("auto", "mode", "node"):
        pas = {"model": "pas", "formulation": formulation}
        yield Case("pas, strict", instance, strict, pas, by_solve)
        yield Case("pas, saturation", instance, tolerant, {**pas, "saturation": SATURATION}, by_solve)
        yield Case("pas, shared", instance, shared, {**pas, "links": "shared"}, by_solve, "shared")
    for model, optimum in (("cbs", brute_force_cbs(instance)), ("jpr", brute_force_jpr(instance))):
        for formulation in ("auto", "mode"):
            yield Case(model, instance, optimum, {"model": model, "formulation": formulation}, by_solve, "shared")


# --- solving ---------------------------------------------------------------------------------------


def by_solve(case: Case, limit: float) -> Finding:
    """Return what ``coalloc.solve`` says."""
    return finding_of(coalloc.solve(case.instance, **{"time_limit": limit, **case.keywords}))


def finding_of(result: coalloc.SolveResult) -> Finding:
    """Return what a result says."""
    objectives = () if result.objective is None else tuple(result.levels.values()) or (result.objective,)
    source = result.trace[-1].source if result.trace else ""
    return Finding(result.status.value, objectives, result.lower_bound, result.schedule, source)


def by_model(case: Case, limit: float) -> Finding:
    """Return what a formulation of OAS finds by itself, its objective recomputed as ``coalloc.solve`` does.

    What the node model finds may be better than its own objective, for its ends and SP are free above.
    """
    objective, formulation = case.keywords["objective"], formulation_of("oas", case.keywords["formulation"])
    problem = discretise(case.instance, case.keywords["slot"])
    criterion = Criterion.of(problem, objective)
    horizon = int(criterion.horizon(best_list_schedule(problem))) + SPARE_SLOTS
    model = formulation.build(problem, horizon=horizon, objective=criterion.objective, lower_bound=0)
    solution = solve_model(model, SolverLimits(case.keywords.get("time_limit", limit)), integral=True)
    bound = criterion.reported(solution.lower_bound)
    if solution.objective is None:
        return Finding(solution.status.value, (), bound, None)
    schedule = formulation.extract(model)
    value, claimed = worth(case, schedule), criterion.reported(solution.objective)
    if value > claimed + TOLERANCE * max(1.0, claimed):
        raise coalloc.CoallocError(f"a schedule worth {value:.9g} for an objective of {claimed:.9g}")
    is_proven = solution.status == "optimal" or value <= bound
    return Finding("optimal" if is_proven else "feasible", (value,), bound, schedule)


# --- judging ---------------------------------------------------------------------------------------


def compare(argument: Mapping[str, Any]) -> Row:
    """Return the rows of a seed, given as a dictionary, under ``rows``."""
    sample = Seed(**argument)
    rows = [{**case.names, "seed": sample.seed, **judged(case, sample.limit)} for case in cases(sample)]
    return {"status": "compared", "rows": rows}


def judged(case: Case, limit: float) -> Row:
    """Solve a case; return what was found and in what it disagrees."""
    began = time.perf_counter()
    optimum = case.optimum.objective
    row: dict[str, Any] = {"optimum": optimum if math.isfinite(optimum) else None}
    try:
        finding = case.find(case, limit)
    except coalloc.CoallocError as error:
        return row | {"status": "crashed", "disagreement": f"crashed: {error}"}
    return row | {
        "status": finding.status,
        "found": finding.objectives[0] if finding.objectives else None,
        "lower_bound": finding.lower_bound,
        "difference": largest_difference(case, finding) if finding.status == "optimal" else None,
        "time": time.perf_counter() - began,
        "source": finding.source,
        "uncertified": finding.uncertified,
        "disagreement": "; ".join(disagreements(case, finding)),
    }


def disagreements(case: Case, finding: Finding) -> Iterator[str]:
    """Yield a sentence for everything that cannot be true if brute force is right."""
    optimum = case.optimum.objective
    slack = TOLERANCE * max(1.0, optimum)
    if finding.status == "infeasible" and case.optimum.feasible:
        yield f"is said to be infeasible, the optimum is {optimum:.9g}"
    if finding.lower_bound is not None and finding.lower_bound > optimum + slack:
        yield f"the bound {finding.lower_bound:.9g} is above the optimum {optimum:.9g}"
    if finding.status == "optimal" and not largest_difference(case, finding) <= TOLERANCE:
        yield f"optimal is said of {finding.objectives}, the optimum is {case.optimum.objectives}"
    if finding.schedule is None:
        return
    if not finding.objectives[0] >= optimum - slack:
        yield f"the objective {finding.objectives[0]:.9g} is below the optimum {optimum:.9g}"
    rules = case.links, case.keywords.get("saturation", 0.0), case.keywords.get("scope", "platform")
    for violation in coalloc.check(case.instance, finding.schedule, *rules):
        yield f"the schedule breaks a rule: {violation}"
    if case.links == "strict" and abs(worth(case, finding.schedule) - finding.objectives[0]) > slack:
        yield f"the schedule is worth {worth(case, finding.schedule):.9g}, claimed are {finding.objectives[0]:.9g}"


def largest_difference(case: Case, finding: Finding) -> float:
    """Return the largest difference of an objective from the optimum, relative above 1; brute force negates power."""
    is_due = case.keywords.get("objective") in DUE
    pairs = zip(
        finding.objectives, case.optimum.objectives if is_due else map(abs, case.optimum.objectives), strict=True
    )
    return max(abs(found - best) / max(1.0, abs(best)) if math.isfinite(best) else math.inf for found, best in pairs)


def worth(case: Case, schedule: coalloc.Schedule) -> float:
    """Return the objective of a schedule without saturated links, from its placements."""
    if case.keywords.get("model") == "pas":
        return sum(p.end - p.start for p in schedule)
    return objective_of(case.keywords["objective"]).of_schedule(case.instance, schedule)


# --- running and reporting -------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    seeds = [Seed(number, options.limit, options.node_limit) for number in range(options.seeds)]
    calls = [Call(compare, asdict(seed), SOLVES * options.limit + GRACE) for seed in seeds]
    run_shown(calls, options.store, options.jobs, _line)
    outcomes = zip(seeds, outcomes_of(calls, options.store), strict=True)
    rows = [row for seed, outcome in outcomes if outcome is not None for row in rows_of(outcome, "all", seed.seed)]
    write_atomically(options.output.with_suffix(".csv"), csv_of(COLUMNS, rows))
    write_atomically(options.output.with_suffix(".md"), report(rows, options, command_of("agreement", parser, options)))
    num_seeds = len({row["seed"] for row in rows})
    print(f"wrote {options.output.with_suffix('.md')} and .csv: {num_seeds} of {options.seeds} seeds")
    return 1 if any(row["disagreement"] for row in rows) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seeds", type=int, default=NUM_SEEDS, help=f"seeds 0, 1, ... (default {NUM_SEEDS})")
    parser.add_argument("--limit", type=float, default=60.0, help="seconds per solve (default 60)")
    parser.add_argument(
        "--node-limit", type=float, default=10.0, help="seconds for the node model with up to 5 jobs (default 10)"
    )
    parser.add_argument("--jobs", type=int, default=1, choices=(1, 2), help="seeds at a time (default 1)")
    parser.add_argument("--output", type=new_page, default=RESULTS / "agreement", help="tables: NAME.md, NAME.csv")
    parser.add_argument("--store", type=Path, default=RESULTS / "agreement.sqlite", help="where seeds are kept")
    return parser


def rows_of(outcome: Outcome, family: str, seed: int) -> list[Row]:
    """Return the rows of a process; one that says why for the whole ``family`` where it did not answer."""
    if "rows" in outcome:
        rows: list[Row] = outcome["rows"]
        return rows
    return [dict.fromkeys(GROUP, family) | {"seed": seed, "status": "crashed", "disagreement": outcome["message"]}]


def _line(call: Call, outcome: Outcome) -> str:
    seed = call.argument["seed"]
    return f"seed {seed}: {verdict_on(rows_of(outcome, 'all', seed))}"


def verdict_on(rows: Sequence[Row]) -> str:
    """Return how many rows disagree, and a line for each of them."""
    wrong = [row for row in rows if row["disagreement"]]
    return "\n".join([f"{len(wrong)} disagree" if wrong else "agrees", *(f"  {sentence(row)}" for row in wrong)])


def sentence(row: Row) -> str:
    """Return what disagrees, and where."""
    return f"seed {row['seed']}, {', '.join(row[name] for name in GROUP)}: {row['disagreement']}"


def report(rows: Sequence[Row], options: argparse.Namespace, command: str) -> str:
    """Return the page in Markdown."""
    paragraphs = [
        "# Agreement with brute force",
        f"{code_sentence()}. Seeds 0 to {options.seeds - 1}, {len({row['seed'] for row in rows})} of them "
        f"compared; {options.limit:g} s per solve, {options.node_limit:g} s for the node model with up to 5 jobs, "
        f"{CONTINUOUS_LIMIT:g} s in continuous time. "
        f"Made by `{command}`; the protocol is in [../README.md](../README.md).",
        "Worst difference: the largest of |found - optimum| / max(1, optimum) over what was called optimal.",
        *verdicts(rows),
    ]
    return "\n\n".join(paragraphs) + "\n"


def verdicts(rows: Sequence[Row]) -> list[str]:
    """Return the paragraphs of every page like this one: a table by group, and the disagreements."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in GROUP), []).append(row)
    heads = (*GROUP, "solves", *STATUSES, "worst difference", "disagreements", "time, s", "longest, s")
    wrong = [f"- {sentence(row)}" for row in rows if row["disagreement"]]
    table = Table.of(heads, [_figures(name, group) for name, group in groups.items()])
    return [markdown(table), "## Disagreements", "\n".join(wrong) if wrong else "None."]


def _figures(name: Sequence[str], group: Sequence[Row]) -> list[Any]:
    differences = [row["difference"] for row in group if row.get("difference") is not None]
    times = [row.get("time", 0.0) for row in group]
    counts = [sum(row["status"] == status for row in group) for status in STATUSES]
    num_wrong = sum(bool(row["disagreement"]) for row in group)
    return [*name, len(group), *counts, max(differences, default=None), num_wrong, sum(times), max(times)]


if __name__ == "__main__":
    exit_with(main)
