"""Agreement of all methods with brute force on random instances that mix features, or features with constraints.

Seeds of the family ``features`` are instances of :func:`coalloc.testing.small_feature_instance`, those of ``mixes``
have two or three features and constraints of :data:`coalloc.testing.features.MIXED`. For two objectives each is solved
in slots and in continuous time, by the portfolio with CP-SAT and without; in slots by each formulation and as a built
model; bounded; and simulated by every policy. A method disagrees where "optimal" is said of another objective than that
of brute force, "infeasible" is said wrongly, a bound is above the optimum, an objective below it, a schedule breaks a
rule, or anything but the lack of support is raised. Where time ran out, bound and objective must enclose the optimum.
A last family compares the time of a solve with that of the instance without a feature. Protocol: benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import math
import re
import resource
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations, product
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from agreement import TOLERANCE
from sampling import RESULTS, command_of, exit_with, new_page, run_shown

import coalloc
from coalloc.bench.calls import Call
from coalloc.bench.outcomes import Outcome, Row, is_failed
from coalloc.bench.provenance import code_sentence
from coalloc.bench.running import outcomes_of
from coalloc.bench.tables import Table, markdown
from coalloc.documents.errors import InternalError
from coalloc.documents.storage import write_atomically
from coalloc.instance.constraints import Declaration
from coalloc.instance.features import FEATURES
from coalloc.objectives import objective_of
from coalloc.solvers.backends import cpsat
from coalloc.solvers.backends.highs import SolverLimits, solve_model
from coalloc.testing import brute_force_oas, small_feature_instance
from coalloc.testing.brute_force import BruteForceResult
from coalloc.testing.constraints import DECLARED, small_declarations
from coalloc.testing.features import MIXED, small_mixed_instance, with_features
from coalloc.testing.small import SmallSize

SEEDS = {"features": 2000, "mixes": 1000}
SEEDS_PER_CALL = 10
OBJECTIVES: tuple[str, ...] = ("makespan", "total-response-time")
SOLVE_LIMIT, CONTINUOUS_LIMIT = 60.0, 1.0
"""Seconds of a solve in slots, and in continuous time, where a search may go on to its limit."""
LIMIT = 3600.0
"""Seconds after which a process is killed."""
TIMED_JOBS, TIMED_SEEDS, TIMED_LIMIT = (8, 12), 10, 20.0
GRIDS = ("100%", None)
"""Slots of the timed solves, and continuous time."""
MOST_DRAWS, DRAW_LIMIT = 100, 1.0
"""Draws of a timed instance, of which the first counts that has a schedule within so many seconds."""
NODE_SIZE = SmallSize(max_jobs=3, max_processors=4, max_slots=5)
"""Size of the instances of formulation ``node``, which tells equal nodes apart."""
LEAST_SECONDS = 0.02
"""Processor time below which a solve counts as fast as any."""


# --- methods ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """An instance with constraints, in slots (s) or in continuous time, and what is to be minimised."""

    instance: coalloc.Instance
    constraints: Sequence[Declaration]
    slot: float | None
    objective: str

    @cached_property
    def best(self) -> BruteForceResult:
        """The optimum."""
        return brute_force_oas(self.instance, self.slot, self.objective, constraints=self.constraints)

    @property
    def keywords(self) -> dict[str, Any]:
        """What all exact methods are asked for."""
        return {"objective": self.objective, "slot": self.slot, "constraints": self.constraints}


@dataclass(frozen=True, slots=True)
class Finding:
    """What a method says of a case."""

    status: str
    objective: float | None = None
    lower_bound: float | None = None
    schedule: coalloc.Schedule | None = None


Method = Callable[[Case], Finding]


def by_solve(case: Case, formulation: str = "auto", *, has_cpsat: bool = True) -> Finding:
    """Return what ``coalloc.solve`` says."""
    limit = CONTINUOUS_LIMIT if case.slot is None else SOLVE_LIMIT
    with mock.patch.object(cpsat, "is_installed", return_value=has_cpsat and cpsat.is_installed()):
        result = coalloc.solve(case.instance, formulation=formulation, time_limit=limit, **case.keywords)
    return Finding(result.status.value, result.objective, result.lower_bound, result.schedule)


def by_bound(case: Case) -> Finding:
    """Return a lower bound."""
    return Finding("bound", lower_bound=coalloc.lower_bound(case.instance, **case.keywords))


def by_model(case: Case, formulation: str) -> Finding:
    """Return what HiGHS finds in the built model, its objective that of the schedule."""
    model = coalloc.build_model(case.instance, formulation=formulation, **case.keywords)
    solution = solve_model(model, SolverLimits(SOLVE_LIMIT), integral=True)
    if solution.objective is None:
        return Finding(solution.status.value)
    schedule = coalloc.schedule_of_model(model)
    value = objective_of(case.objective).of_schedule(case.instance, schedule)
    return Finding(solution.status.value, value, schedule=schedule)


def by_policy(case: Case, policy: str) -> Finding:
    """Return the schedule of a run if it keeps all that a solve does; the engine has checked all else."""
    schedule = coalloc.simulate(case.instance, policy).schedule
    if coalloc.check(case.instance, schedule, constraints=case.constraints):
        return Finding("simulated")
    value = objective_of(case.objective).of_schedule(case.instance, schedule)
    return Finding("simulated", value, schedule=schedule)


BOTH: Mapping[str, Method] = {
    "portfolio": by_solve,
    "no CP-SAT": partial(by_solve, has_cpsat=False),
    "lower_bound": by_bound,
}
IN_SLOTS: Mapping[str, Method] = {
    **BOTH,
    "mode": partial(by_solve, formulation="mode"),
    "count": partial(by_solve, formulation="count"),
    "model of mode": partial(by_model, formulation="mode"),
    "model of count": partial(by_model, formulation="count"),
}
OF_NODES: Mapping[str, Method] = {"node": partial(by_solve, formulation="node")}
OF_TIME: Mapping[str, Method] = {
    **BOTH,
    **{f"simulate, {policy}": partial(by_policy, policy=policy) for policy in coalloc.policies()},
}


# --- comparing -------------------------------------------------------------------------------------


def compared(argument: Mapping[str, Any]) -> Row:
    """Return a row for each method of some seeds, under ``rows``."""
    seeds = range(argument["first"], argument["first"] + argument["seeds"])
    rows = [row for seed in seeds for row in rows_of_seed(seed, argument["family"], argument["feature"])]
    return {"status": "compared", "rows": rows}


def drawn(
    seed: int, family: str, size: SmallSize | None = None, feature: str = ""
) -> tuple[coalloc.Instance, float, Sequence[str], Sequence[Declaration]]:
    """Return the instance of a seed, its slot (s), what it uses, and constraints; ``feature`` is added."""
    if family == "mixes":
        return small_mixed_instance(seed, size)
    instance, slot = small_feature_instance(seed, size)
    if feature and feature not in instance.features:
        instance = with_features(instance, np.random.default_rng([seed, 3]), [feature])
    return instance, slot, sorted(instance.features), ()


def cases_of(seed: int, family: str, feature: str = "") -> Iterator[tuple[Row, Case, Mapping[str, Method]]]:
    """Yield what is compared of a seed: how rows name it, the case, and its methods."""
    for size in (None, NODE_SIZE):
        instance, slot, used, constraints = drawn(seed, family, size, feature)
        for objective, grid in product(OBJECTIVES, (slot, None) if size is None else (slot,)):
            methods = OF_NODES if size is not None else OF_TIME if grid is None else IN_SLOTS
            kind = "continuous" if grid is None else "slots"
            names = {"family": family, "seed": seed, "features": [*used], "time": kind, "objective": objective}
            yield names, Case(instance, constraints, grid, objective), methods


def rows_of_seed(seed: int, family: str, feature: str = "") -> Iterator[Row]:
    """Yield what each method says of an instance, compared with brute force."""
    for names, case, methods in cases_of(seed, family, feature):
        for method, find in methods.items():
            yield names | {"method": method} | judged(case, find)


def judged(case: Case, find: Method) -> Row:
    """Return the status of a case by a method, and in what it disagrees with brute force."""
    began, reasons, fault = time.perf_counter(), list[str](), ""
    try:
        finding = find(case)
        status, fault = finding.status, "; ".join(disagreements(case, finding))
    except coalloc.UnsupportedFeature as error:
        status, reasons = "unsupported", [f"`{feature}`" for feature in error.features]
    except coalloc.CoallocError as error:
        if isinstance(error, InternalError) or not _may_refuse(case, find):
            status, fault = "error", f"{type(error).__name__}: {error}"
        else:
            status, reasons = "refused", [re.sub(r"'[^']*'|[\d.]+", "...", str(error).splitlines()[0])]
    return {"status": status, "reasons": reasons, "seconds": time.perf_counter() - began, "disagreement": fault}


def _may_refuse(case: Case, find: Method) -> bool:
    """Return whether a method may raise: a run knows less than a solve, and a solve always answers."""
    function = getattr(find, "func", find)
    return function is by_policy or (function is not by_solve and not case.best.feasible)


def disagreements(case: Case, finding: Finding) -> Iterator[str]:
    """Yield a sentence for everything that cannot be true if brute force is right."""
    optimum, status, value = case.best.objective, finding.status, finding.objective
    margin = TOLERANCE * max(1.0, abs(optimum)) if case.best.feasible else 0.0
    if finding.schedule is not None:
        yield from map(str, coalloc.check(case.instance, finding.schedule, constraints=case.constraints))
        if not case.best.feasible:
            yield f"{status} where brute force finds no schedule"
            return
    if status == "infeasible" and case.best.feasible:
        yield "infeasible where brute force finds a schedule"
    if status == "optimal" and not (value is not None and abs(value - optimum) <= margin):
        yield f"optimal at {value}, not {optimum}"
    if value is not None and value < optimum - margin:
        yield f"objective {value} below the optimum {optimum}"
    if finding.lower_bound is not None and finding.lower_bound > optimum + margin:
        yield f"bound {finding.lower_bound} above the optimum {optimum}"
    if case.best.schedule is not None and coalloc.check(
        case.instance, case.best.schedule, constraints=case.constraints
    ):
        yield "the checker refuses the schedule of brute force"


# --- time ------------------------------------------------------------------------------------------


def timed(argument: Mapping[str, Any]) -> Row:
    """Return the processor time, s, of a solve without a feature or constraint and with it, under ``rows``."""
    kind, jobs, seed = argument["kind"], argument["jobs"], argument["seed"]
    plain = coalloc.generate("thesis-oas", seed=seed, jobs=jobs)
    instance, constraints = _that_has_a_schedule(kind, plain, seed)
    rows = []
    for grid in GRIDS:
        solve = partial(coalloc.solve, slot=grid, time_limit=TIMED_LIMIT)
        solve(plain)  # whatever is compiled or loaded first
        seconds, statuses = [], []
        for one, rules in ((plain, []), (instance, constraints)):
            began = _processor_seconds()
            statuses.append(solve(one, constraints=rules).status.value)
            seconds.append(_processor_seconds() - began)
        names = {"kind": kind, "jobs": jobs, "seed": seed, "time": "continuous" if grid is None else "slots"}
        rows.append(names | {"seconds": seconds, "statuses": statuses})
    return {"status": "timed", "rows": rows}


def _that_has_a_schedule(
    kind: str, plain: coalloc.Instance, seed: int
) -> tuple[coalloc.Instance, Sequence[Declaration]]:
    """Return the instance with a feature or constraints, drawn until there is a schedule.

    Else the time would be that of explaining why there is none.
    """
    schedule = coalloc.solve(plain, slot="100%").schedule
    slot = 1.0 if schedule is None or schedule.slot is None else schedule.slot
    for attempt in range(MOST_DRAWS):
        rng = np.random.default_rng([seed, len(plain.jobs), attempt])
        constraints = small_declarations(kind, rng, plain, slot) if kind in DECLARED else []
        instance = plain if kind in DECLARED else with_features(plain, rng, [kind])
        found = [coalloc.solve(instance, slot=grid, constraints=constraints, time_limit=DRAW_LIMIT) for grid in GRIDS]
        if all(result.schedule is not None for result in found):
            return instance, constraints
    raise coalloc.CoallocError(f"no instance with {kind} has a schedule")


def _processor_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


# --- the page --------------------------------------------------------------------------------------


def report(rows: Sequence[Row], times: Sequence[Row], seeds: Mapping[str, int], command: str) -> str:
    """Return the page in Markdown."""
    wrong = [row for row in rows if row["disagreement"]]
    lines = [
        f"- {r['family']}, seed {r['seed']}, {r['method']}, {r['time']}, {r['objective']}: {r['disagreement']}"
        for r in wrong
    ]
    ran = {family: len({row["seed"] for row in rows if row["family"] == family}) for family in seeds}
    said = ", ".join(f"{ran[family]} of {number} instances of `{family}`" for family, number in seeds.items())
    sections = [
        "# Modelling features compared with brute force",
        f"{code_sentence(('highspy', 'ortools', 'python'))}. {said}: {len(rows)} calls, {len(wrong)} disagree. "
        f"Made by `{command}`; the protocol is in [../README.md](../README.md).",
        f"Formulation `node` has smaller instances of the same seeds. Limits: {SOLVE_LIMIT:g} s in slots, "
        f"{CONTINUOUS_LIMIT:g} s in continuous time.",
    ]
    for family, names in (("features", [*FEATURES]), ("mixes", [*MIXED])):
        group = [row for row in rows if row["family"] == family]
        sections += [f"## Methods: {family}", method_table(group), f"## Pairs: {family}", pair_table(group, names)]
    sections += [
        "## Unsupported",
        reason_table(rows),
        "## Time with a feature",
        f"Processor time of `solve` on `thesis-oas`, divided by that without the feature, both at least "
        f"{LEAST_SECONDS:g} s; {TIMED_LIMIT:g} s per solve. All instances have a schedule.",
        time_table(times),
        "## Disagreements",
        "\n".join(lines) if lines else "None.",
    ]
    return "\n\n".join(sections) + "\n"


def grouped(rows: Sequence[Row], *names: str) -> dict[tuple[Any, ...], list[Row]]:
    """Return rows by the values of some columns, in their order."""
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    return groups


def method_table(rows: Sequence[Row]) -> str:
    """Return a line for each method and kind of time: how often it proves what, and how often it is wrong."""
    heads = ("method", "time", "calls", "optimal", "infeasible", "other", "unsupported", "refused", "disagree", "s")
    lines = []
    for name, group in grouped(rows, "method", "time").items():
        found = Counter(row["status"] for row in group)
        known = [found[status] for status in ("optimal", "infeasible", "unsupported", "refused")]
        wrong, seconds = sum(bool(r["disagreement"]) for r in group), math.fsum(r["seconds"] for r in group)
        lines.append([*name, len(group), *known[:2], len(group) - sum(known), *known[2:], wrong, seconds])
    return markdown(Table.of(heads, lines))


def pair_table(rows: Sequence[Row], names: Sequence[str]) -> str:
    """Return in how many instances each feature (diagonal) and each pair of features occurs."""
    found = Counter[tuple[str, str]]()
    for features in {(row["seed"], row["method"] in OF_NODES): row["features"] for row in rows}.values():
        found.update(product(features, repeat=2))
    missing = [f"`{one}` with `{other}`" for one, other in combinations(names, 2) if not found[one, other]]
    heads = ("feature", *(f"`{name}`" for name in names))
    table = markdown(Table.of(heads, [[f"`{one}`", *(found[one, other] for other in names)] for one in names]))
    return (
        "Number of instances in which each feature (diagonal) and each pair occurs. "
        f"Pairs that do not occur: {', '.join(missing) or 'none'}.\n\n{table}"
    )


def reason_table(rows: Sequence[Row]) -> str:
    """Return why methods did not take instances, and how often."""
    found = Counter((row["status"], reason, row["method"]) for row in rows for reason in row["reasons"])
    lines: dict[tuple[str, str], list[str]] = {}
    for (status, reason, method), number in sorted(found.items()):
        lines.setdefault((status, reason), []).append(f"{method} ({number})")
    heads = ("status", "feature or reason", "methods (calls)")
    return markdown(Table.of(heads, [[*why, "; ".join(methods)] for why, methods in lines.items()]))


def time_table(times: Sequence[Row]) -> str:
    """Return the median and the 90th percentile of the ratios, for each feature, number of jobs and kind of time."""
    heads = ("feature", "jobs", "time", "pairs", "unproved without", "unproved with", "median", "90 %")
    lines = []
    for names, group in grouped(times, "kind", "jobs", "time").items():
        unproved = [sum(row["statuses"][k] not in ("optimal", "infeasible") for row in group) for k in (0, 1)]
        ratios = [max(LEAST_SECONDS, row["seconds"][1]) / max(LEAST_SECONDS, row["seconds"][0]) for row in group]
        quantiles = [float(np.quantile(ratios, share)) for share in (0.5, 0.9)]
        lines.append([f"`{names[0]}`", *names[1:], len(group), *unproved, *quantiles])
    return markdown(Table.of(heads, lines)) if lines else "None."


# --- running ---------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    for family, number in SEEDS.items():
        parser.add_argument(f"--{family}", type=int, default=number, help=f"seeds of `{family}` (default {number})")
    parser.add_argument("--timed", type=int, default=TIMED_SEEDS, help=f"timed seeds (default {TIMED_SEEDS})")
    parser.add_argument("--feature", default="", choices=("", *FEATURES), help="what all of `features` use")
    parser.add_argument("--report", action="store_true", help="run nothing, write the tables of what is in the store")
    parser.add_argument("--jobs", type=int, default=1, choices=(1, 2), help="processes at a time (default 1)")
    parser.add_argument("--output", type=new_page, default=RESULTS / "features.md", help="the page")
    parser.add_argument("--store", type=Path, default=RESULTS / "features.sqlite", help="where seeds are kept")
    options = parser.parse_args(arguments)
    seeds = {family: getattr(options, family) for family in SEEDS}
    calls = [*_comparisons(seeds, options.feature), *_timings(options.timed)]
    if not options.report:
        run_shown(calls, options.store, options.jobs, _line)
    outcomes = [*outcomes_of(calls, options.store)]
    found = {compared: list[Row](), timed: list[Row]()}
    for call, outcome in zip(calls, outcomes, strict=True):
        found[call.function].extend((outcome or {}).get("rows", ()))
    rows, times = found[compared], found[timed]
    write_atomically(options.output, report(rows, times, seeds, command_of("features", parser, options)))
    print(f"wrote {options.output}: {len(rows)} calls, {len(times)} pairs")
    is_wrong = any(row["disagreement"] for row in rows)
    return 1 if is_wrong or any(is_failed(outcome) for outcome in outcomes if outcome is not None) else 0


def _comparisons(seeds: Mapping[str, int], feature: str) -> Iterator[Call]:
    for family, number in seeds.items():
        for first in range(0, number, SEEDS_PER_CALL):
            argument = {"family": family, "first": first, "seeds": min(SEEDS_PER_CALL, number - first)}
            yield Call(compared, argument | {"feature": feature}, LIMIT)


def _timings(seeds: int) -> Iterator[Call]:
    for seed, kind, jobs in product(range(1, seeds + 1), MIXED, TIMED_JOBS):
        yield Call(timed, {"kind": kind, "jobs": jobs, "seed": seed}, LIMIT)


def _line(call: Call, outcome: Outcome) -> str:
    wrong = [row for row in outcome.get("rows", ()) if row.get("disagreement")]
    verdict = outcome.get("message") or (f"{len(wrong)} disagree" if wrong else "done")
    return f"{call.argument}: {verdict}"


if __name__ == "__main__":
    exit_with(main)
