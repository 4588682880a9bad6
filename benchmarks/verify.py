"""Every optimum that the portfolio claims, confirmed: by brute force on 500 small instances, and by perfect packings.

On seeds 0 to 499 of :mod:`coalloc.testing.small`, and on these instances with equal jobs, the portfolio runs with and
without CP-SAT, in slots of three lengths and in continuous time, and brute force, which shares no model with it, says
what is right. The jobs of ``perfect-packing`` are cut from a full rectangle, so that its length is the optimum: no
bound may be above it, and no schedule below. What counts as a disagreement is said in agreement.py. Each claim is
certified as well: coalloc/verify.py, which shares nothing with the portfolio, checks a proof of it within the limit of
the solve. Protocol: benchmarks/README.md.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from agreement import COLUMNS, Case, Finding, finding_of, judged, rows_of, verdict_on, verdicts
from sampling import RESULTS, command_of, exit_with, hidden, new_page, run_shown

import coalloc
from coalloc.bench.calls import Call
from coalloc.bench.outcomes import Outcome, Row
from coalloc.bench.provenance import code_sentence
from coalloc.bench.running import outcomes_of
from coalloc.bench.tables import Table, csv_of, markdown
from coalloc.documents.storage import write_atomically
from coalloc.testing.brute_force import BruteForceResult, brute_force_oas
from coalloc.testing.small import small_equal_instance, small_instance

NUM_SEEDS = 500
PACKING_JOBS = range(5, 61)
"""Numbers of jobs of the perfect packings; each has its own platform and cuts."""
PACKING_NODES, PACKING_CLUSTERS, PACKING_CUTS = 16, (1, 2, 4), ("guillotine", "pinwheel")
MAKESPAN, STEPS = 1000.0, 20
"""The optimum of every perfect packing, s, and the steps of time that it was cut at."""
SLOT_LENGTHS = {"its own slot": 1.0, "twice its slot": 2.0, "a quarter of its slot": 0.25}
"""The slots of a small instance; twice the slot of 24 slots is coarse, a quarter fine."""
SOLVES = 16
"""Solves per small instance; each is certified."""
GRACE = 120.0
"""Seconds that a process has beyond the limits of all its solves, for Python and brute force."""

Kind = Literal["small", "packing"]


@dataclass(frozen=True, slots=True)
class Sample:
    """A small instance (``number`` is its seed) or a perfect packing (jobs); seconds per solve, then without slots."""

    kind: Kind
    number: int
    limit: float
    continuous_limit: float


# --- cases -----------------------------------------------------------------------------------------


def cases(sample: Sample) -> Iterator[Case]:
    """Yield what is solved for a sample, with and without CP-SAT."""
    for case in small_cases(sample) if sample.kind == "small" else packing_cases(sample):
        yield case
        yield replace(case, family=f"{case.family}, no CP-SAT", find=by_proof_without_cpsat)


def small_cases(sample: Sample) -> Iterator[Case]:
    """Yield a small instance, then one with equal jobs, in slots and in continuous time, judged by brute force."""
    instance, slot = small_instance(sample.number)
    for name, factor in SLOT_LENGTHS.items():
        yield _small_case(f"small, {name}", instance, slot * factor, "makespan", sample.limit)
    yield _small_case("small, continuous time", instance, None, "makespan", sample.continuous_limit)
    yield _small_case("small, its own slot", instance, slot, "total-response-time", sample.limit)
    instance, slot = small_equal_instance(sample.number)
    yield _small_case("equal jobs, its own slot", instance, slot, "makespan", sample.limit)
    yield _small_case("equal jobs, continuous time", instance, None, "makespan", sample.continuous_limit)
    yield _small_case("equal jobs, its own slot", instance, slot, "total-response-time", sample.limit)


def _small_case(family: str, instance: coalloc.Instance, slot: float | None, objective: str, limit: float) -> Case:
    keywords: dict[str, Any] = {"slot": slot, "objective": objective, "time_limit": limit}
    return Case(family, instance, brute_force_oas(instance, slot, objective), keywords, by_proof)


def packing_cases(sample: Sample) -> Iterator[Case]:
    """Yield a perfect packing in slots that all base times are multiples of, and in continuous time."""
    instance = perfect_packing(sample.number)
    optimum = BruteForceResult((MAKESPAN,), None)
    for family, slot in (("whole slots", MAKESPAN / STEPS), ("continuous time", None)):
        keywords = {"slot": slot, "objective": "makespan", "time_limit": sample.continuous_limit}
        yield Case(f"perfect packing, {family}", instance, optimum, keywords, by_proof)


def perfect_packing(jobs: int) -> coalloc.Instance:
    """Return the packing with this many jobs; clusters and cuts take turns."""
    return coalloc.generate(
        "perfect-packing",
        seed=jobs,
        jobs=jobs,
        nodes=PACKING_NODES,
        clusters=PACKING_CLUSTERS[jobs % len(PACKING_CLUSTERS)],
        makespan=MAKESPAN,
        steps=STEPS,
        cuts=PACKING_CUTS[jobs % len(PACKING_CUTS)],
    )


def by_proof(case: Case, limit: float) -> Finding:
    """Return what ``coalloc.solve`` says, and why what it proves has no certificate, if so."""
    keywords = {"time_limit": limit, **case.keywords}
    result = coalloc.solve(case.instance, **keywords)
    return replace(finding_of(result), uncertified=result.certificate(keywords["time_limit"]).reason)


def by_proof_without_cpsat(case: Case, limit: float) -> Finding:
    """Return the same where the extra is not installed."""
    with hidden("ortools"):
        return by_proof(case, limit)


def verify(argument: Mapping[str, Any]) -> Row:
    """Return the rows of a sample, given as a dictionary, under ``rows``."""
    sample = Sample(**argument)
    rows = [{**case.names, "seed": sample.number, **judged(case, sample.limit)} for case in cases(sample)]
    return {"status": "compared", "rows": rows}


# --- running and reporting -------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    samples = list(planned(options))
    calls = [Call(verify, asdict(sample), 2 * SOLVES * options.limit + GRACE) for sample in samples]
    if not options.report:
        run_shown(calls, options.store, options.jobs, _line)
    outcomes = outcomes_of(calls, options.store)
    ran = [(sample, outcome) for sample, outcome in zip(samples, outcomes, strict=True) if outcome is not None]
    rows = [row for sample, outcome in ran for row in sample_rows(sample, outcome)]
    write_atomically(options.output.with_suffix(".csv"), csv_of((*COLUMNS, "source", "uncertified"), rows))
    page = report(rows, Counter(sample.kind for sample, _ in ran), options, command_of("verify", parser, options))
    write_atomically(options.output.with_suffix(".md"), page)
    print(f"wrote {options.output.with_suffix('.md')} and .csv: {len(ran)} of {len(samples)} instances")
    return 1 if any(row["disagreement"] for row in rows) else 0


def packing_jobs(options: argparse.Namespace) -> range:
    """Return the numbers of jobs of the perfect packings."""
    return PACKING_JOBS[:: options.every]


def planned(options: argparse.Namespace) -> Iterator[Sample]:
    """Yield the samples in the order in which they run."""
    limits = options.limit, options.continuous_limit
    for jobs in packing_jobs(options):
        yield Sample("packing", jobs, *limits)
    for seed in range(options.seeds):
        yield Sample("small", seed, *limits)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seeds", type=int, default=NUM_SEEDS, help=f"small instances 0, 1, ... (default {NUM_SEEDS})")
    parser.add_argument("--every", type=int, default=1, help="take every so many perfect packings (default 1)")
    parser.add_argument("--limit", type=float, default=30.0, help="seconds per solve of a small instance (default 30)")
    parser.add_argument(
        "--continuous-limit",
        type=float,
        default=3.0,
        help="seconds in continuous time, and for a perfect packing, where a search may go on to its limit (default 3)",
    )
    parser.add_argument("--report", action="store_true", help="run nothing, write the tables of what is in the store")
    parser.add_argument("--jobs", type=int, default=1, choices=(1, 2), help="instances at a time (default 1)")
    parser.add_argument("--output", type=new_page, default=RESULTS / "verification", help="tables: NAME.md, NAME.csv")
    parser.add_argument("--store", type=Path, default=RESULTS / "verification.sqlite", help="where samples are kept")
    return parser


def sample_rows(sample: Sample, outcome: Outcome) -> list[Row]:
    """Return the rows of a sample."""
    return rows_of(outcome, sample.kind, sample.number)


def _line(call: Call, outcome: Outcome) -> str:
    sample = Sample(**call.argument)
    return f"{sample.kind} {sample.number}: {verdict_on(sample_rows(sample, outcome))}"


def report(rows: Sequence[Row], ran: Mapping[Kind, int], options: argparse.Namespace, command: str) -> str:
    """Return the page in Markdown; ``ran`` are instances by kind."""
    claimed = [row for row in rows if row["status"] == "optimal"]
    confirmed = sum(not row["disagreement"] for row in claimed)
    paragraphs = [
        "# Every claimed optimum, confirmed",
        f"{code_sentence(('highspy', 'ortools', 'python'))}. Ran: {ran['small']} of {options.seeds} small "
        f"instances, against brute force; {ran['packing']} of {len(packing_jobs(options))} perfect packings of "
        f"{PACKING_JOBS[0]} to {PACKING_JOBS[-1]} jobs, against the rectangle that they were cut from. "
        f"{options.limit:g} s per solve; {options.continuous_limit:g} s in continuous time and for a packing. "
        f"Made by `{command}`; the protocol is in [../README.md](../README.md).",
        f'"Optimal" was claimed {len(claimed)} times in {len(rows)} solves, and {confirmed} of these are confirmed. '
        f"Solves that disagree in any way: {sum(bool(row['disagreement']) for row in rows)}.",
        "Worst difference: the largest of |found - optimum| / max(1, optimum) over what was called optimal.",
        *verdicts(rows),
        "## Who had the last word",
        'Solves called "optimal", by who found the bound or the schedule that closed the gap.',
        closings(claimed),
        "## Certificates",
        'Solves called "optimal" whose [certificate](../../docs/trust.md) `coalloc-verify` accepts, made within the '
        "limit of the solve; and why others have none.",
        certificates(claimed),
    ]
    return "\n\n".join(paragraphs) + "\n"


def certificates(claimed: Sequence[Row]) -> str:
    """Return a table: claims by family and objective, how many are certified, and why others are not."""
    lines = []
    for name, rows in grouped(claimed).items():
        reasons = Counter(row["uncertified"] for row in rows if row["uncertified"])
        missing = "; ".join(f"{number}: {reason}" for reason, number in reasons.most_common())
        lines.append([*name, len(rows), len(rows) - reasons.total(), missing])
    return markdown(Table.of(("family", "objective", "optimal", "certified", "others"), lines))


def grouped(rows: Sequence[Row]) -> dict[tuple[str, str], list[Row]]:
    """Return rows by family and objective."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["family"], row["objective"]), []).append(row)
    return groups


def closings(claimed: Sequence[Row]) -> str:
    """Return a table: claims by family and objective, and by what closed the gap."""
    sources = [source for source, _ in Counter(row["source"] for row in claimed).most_common()]
    lines = []
    for name, rows in grouped(claimed).items():
        counts = Counter(row["source"] for row in rows)
        lines.append([*name, *(counts[source] for source in sources)])
    return markdown(Table.of(("family", "objective", *sources), lines))


if __name__ == "__main__":
    exit_with(main)
