"""What each method of the portfolio is good for: each is left out in turn, over families of instances of all kinds.

The families are works of exact.py (slots, continuous time, six powers, one or two tasks, switches, links, arrivals,
sums, large sizes), published instances of rigid.py (left out, with the reason, where they are absent), and mixes of
modelling features of features.py; energy, which has no portfolio, is left out. Each instance is solved by the whole
portfolio with several seeds, and once without each of the methods that ran on it: what never ran moves nothing. The
difference between seeds is the noise. Protocol: benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from exact_plan import WORK_BY_NAME
from features import drawn
from rigid import SHARED, read_strips
from sampling import RESULTS, code_columns, command_of, exit_with, hidden, new_page, run_shown

import coalloc
from coalloc.bench.calls import Call
from coalloc.bench.outcomes import Outcome, Row, is_failed, is_solved
from coalloc.bench.provenance import code_sentence
from coalloc.bench.running import outcomes_of
from coalloc.bench.tables import Table, csv_of, markdown
from coalloc.documents.storage import write_atomically
from coalloc.instance import CoallocError
from coalloc.solvers.portfolio import ALWAYS, METHODS
from coalloc.testing.small import SmallSize

FIRST_SEED = 6001
"""Seed of the first instance of a family that is drawn: nothing was tuned on these."""
OF_EXACT: Mapping[str, str | None] = {
    "slots": "15%",
    "continuous": None,
    "jobs-12": "15%",
    "jobs-20": "15%",
    "powers": "5%",
    "tiny": "5%",
    "tree": "5%",
    "links-20": "5%",
    "arrivals-20": "5%",
    "jobs-50": "5%",
    "jobs-200": "5%",
    "jobs-1000": "5%",
    "sums-12": "15%",
    "sums-cpsat-20": "15%",
}
"""Works of exact.py, and the slot of each."""
RIGID, FEATURES = "rigid", "features"
FEATURE_SIZE = SmallSize(max_jobs=10, max_slots=60)
FAMILIES = (*OF_EXACT, RIGID, FEATURES)
INSTANCES, SEEDS, LIMIT = 10, 3, 10.0
QUICK_INSTANCES, QUICK_LIMIT = 2, 2.0
"""Instances of a family and seconds of a solve in a quick run, which ends in 15 minutes on two cores."""
GRACE = 30.0
"""Seconds beyond the time limit after which a sample is killed; loading is part of them."""
NAMES = tuple(dict.fromkeys(method.name for method in METHODS))
LEFT_OUT = tuple(name for name in NAMES if name not in ALWAYS)
WHOLE = ""
"""What is left out of the whole portfolio."""
COLUMNS = (
    *(
        "family",
        "number",
        "instance",
        "without",
        "seed",
        "status",
        "spent",
        "objective",
        "lower_bound",
        "ran",
        "closed",
    ),
    *("limit", "threads", "hides", "message", "version", "commit", "code", "highspy", "ortools", "python"),
)


@dataclass(frozen=True, slots=True)
class Sample:
    """One solve: an instance of a family by its number, without a method; ``hides`` a module, or none."""

    family: str
    number: int
    without: str
    seed: int
    limit: float
    threads: int
    hides: str


# --- solving, in a process of its own ---------------------------------------------------------------


def given(sample: Sample, folder: Path) -> tuple[coalloc.Instance, dict[str, Any]]:
    """Return the instance of a sample, and the keywords of its solve."""
    seed = FIRST_SEED + sample.number
    if sample.family == RIGID:
        strips = read_strips(folder)
        return strips[sample.number * len(strips) // INSTANCES % len(strips)].instance, {"slot": 1.0}
    if sample.family == FEATURES:
        instance, slot, _, constraints = drawn(seed, "mixes", FEATURE_SIZE)
        return instance, {"slot": slot, "constraints": constraints}
    work = WORK_BY_NAME[sample.family]
    return work.instance(seed), {"slot": OF_EXACT[sample.family], "objective": work.criterion}


def solve(argument: Mapping[str, Any]) -> Row:
    """Return status, objective, bound, CPU seconds and methods of one solve: a sample, with the ``folder``."""
    sample = Sample(**{name: part for name, part in argument.items() if name != "folder"})
    instance, keywords = given(sample, Path(argument["folder"]))
    limits = {"time_limit": sample.limit, "threads": sample.threads, "seed": sample.seed}
    with hidden(sample.hides) if sample.hides else nullcontext():
        coalloc.solve(coalloc.generate("thesis-oas", seed=0, jobs=1), slot="50%", threads=sample.threads)
        began = _cpu()
        result = coalloc.solve(instance, without=[sample.without] * bool(sample.without), **keywords, **limits)
        spent = _cpu() - began
    return {
        "status": result.status.value,
        "instance": instance.name,
        "spent": spent,
        "objective": result.objective,
        "lower_bound": result.lower_bound,
        "ran": [run.name for run in result.methods],
        "closed": next((run.name for run in result.methods if run.closed), ""),
        "message": result.message,
    }


def _cpu() -> float:
    """Return the processor seconds of this process and of those that it has ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


# --- measures -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Change:
    """By how much solves are worse than others, on average: shares of incumbent, bound and CPU seconds, and proofs."""

    incumbent: float
    bound: float
    proofs: float
    cpu: float

    def exceeds(self, noise: Change) -> list[str]:
        """Return what is worse by more than the noise."""
        names = ("incumbent", "bound", "proofs", "cpu")
        return [name for name in names if getattr(self, name) > max(getattr(noise, name), LEAST[name])]


LEAST = {"incumbent": 1e-4, "bound": 1e-4, "proofs": 0.0, "cpu": 0.1}
"""What counts as a change at least, whatever seeds do: two or three of them may agree by chance."""


def changed(pairs: Sequence[tuple[Row, Row]]) -> Change:
    """Return by how much the second solves of pairs are worse than the first; CPU seconds of those that both prove."""
    count = max(1, len(pairs))
    proven = [(one["spent"], other["spent"]) for one, other in pairs if is_solved(one) and is_solved(other)]
    spent, spent_other = (sum(seconds) for seconds in zip(*proven, strict=True)) if proven else (1.0, 1.0)
    return Change(
        sum(_excess(one["objective"], other["objective"]) for one, other in pairs) / count,
        sum(-_excess(one["lower_bound"], other["lower_bound"]) for one, other in pairs) / count,
        float(sum(is_solved(one) - is_solved(other) for one, other in pairs)),
        spent_other / spent - 1.0,
    )


def _excess(one: float | None, other: float | None) -> float:
    """Return by which share a number is above another; where one alone is known, all of it."""
    if one is None or other is None:
        return float((other is None) - (one is None))
    return (other - one) / max(abs(one), 1e-9)


def noise_of(rows: Sequence[Row]) -> Change:
    """Return how far solves of the whole portfolio with other seeds are from those with the first, at the most."""
    by_seed = {(row["number"], row["seed"]): row for row in rows if row["without"] == WHOLE}
    found = [_size(changed(_paired(by_seed, seed))) for seed in sorted({seed for _, seed in by_seed} - {0})]
    return Change(*(max((getattr(c, name) for c in found), default=0.0) for name in Change.__slots__))


def _paired(by_seed: Mapping[tuple[int, int], Row], seed: int) -> list[tuple[Row, Row]]:
    return [(by_seed[n, 0], row) for (n, s), row in by_seed.items() if s == seed and (n, 0) in by_seed]


def _size(change: Change) -> Change:
    return Change(*(abs(getattr(change, name)) for name in Change.__slots__))


def change_without(method: str, rows: Sequence[Row]) -> Change:
    """Return by how much a family is worse without a method; nothing where it did not run."""
    whole = {row["number"]: row for row in rows if (row["without"], row["seed"]) == (WHOLE, 0)}
    left_out = {row["number"]: row for row in rows if row["without"] == method}
    return changed([(row, left_out.get(number, row)) for number, row in whole.items()])


# --- running and reporting -------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    parser = _parser()
    options = parser.parse_args(arguments)
    absent = "" if options.data.is_dir() else f"{RIGID} was left out: the published instances are not there"
    families = [family for family in options.families if not (absent and family == RIGID)]
    whole = list(whole_samples(families, options))
    rows = _run(whole, options)
    rows += _run(list(samples_without(options.methods, rows)), options)
    output = options.output or RESULTS / ("ablation-quick" if options.quick else "ablation")
    write_atomically(output.with_suffix(".csv"), csv_of(COLUMNS, rows))
    page = report(rows, families, absent, command_of("ablation", parser, options))
    write_atomically(output.with_suffix(".md"), page)
    print(f"wrote {output}.md and .csv: {len(rows)} samples")
    return 0


def whole_samples(families: Sequence[str], options: argparse.Namespace) -> Iterator[Sample]:
    """Yield the solves of the whole portfolio, with all seeds."""
    number = options.instances or (QUICK_INSTANCES if options.quick else INSTANCES)
    limit = options.limit or (QUICK_LIMIT if options.quick else LIMIT)
    for family in families:
        for n in range(number):
            for seed in range(options.seeds):
                yield Sample(family, n, WHOLE, seed, limit, options.threads, options.hide)


def samples_without(names: Sequence[str], rows: Sequence[Row]) -> Iterator[Sample]:
    """Yield the solves without each of some methods that ran on an instance."""
    for row in rows:
        if row["seed"] == 0 and not is_failed(row):
            sample = Sample(**{name: row[name] for name in Sample.__slots__})
            for method in names:
                if method in row["ran"]:
                    yield replace(sample, without=method)


def _run(samples: Sequence[Sample], options: argparse.Namespace) -> list[Row]:
    """Run what is not in the store; return the rows of all that have ended."""
    calls = [call_of(sample, options.data) for sample in samples]
    if not options.report and not run_shown(calls, options.store, options.jobs, _line):
        raise CoallocError("not all samples have run")
    outcomes = zip(samples, outcomes_of(calls, options.store), strict=True)
    return [_row(sample, outcome) for sample, outcome in outcomes if outcome is not None]


def _row(sample: Sample, outcome: Outcome) -> Row:
    """Return the row of a sample; one that failed ran no method."""
    missing = {"spent": 0.0, "objective": None, "lower_bound": None, "ran": [], "closed": ""}
    return code_columns() | missing | asdict(sample) | outcome


def call_of(sample: Sample, folder: Path) -> Call:
    """Return the call that solves a sample; where the published instances lie is no part of what is measured."""
    return Call(solve, asdict(sample), sample.limit + GRACE, local={"folder": str(folder)})


def _line(call: Call, outcome: Outcome) -> str:
    sample = Sample(**call.argument)
    detail = outcome["message"] if is_failed(outcome) else f"{outcome['spent']:.2f} s CPU"
    left_out = f"without {sample.without}" if sample.without else f"seed {sample.seed}"
    return f"{sample.family} {sample.number}, {left_out}: {outcome['status']}, {detail}"


def report(rows: Sequence[Row], families: Sequence[str], absent: str, command: str) -> str:
    """Return the page in Markdown."""
    of_family = {family: [row for row in rows if row["family"] == family] for family in families}
    noise = {family: noise_of(found) for family, found in of_family.items()}
    whole = [row for row in rows if row["without"] == WHOLE and row["seed"] == 0]
    paragraphs = [
        "# Methods left out",
        f"{code_sentence(('highspy', 'ortools', 'python'))}. {len(whole)} instances of {len(families)} families, "
        f"{len(rows)} solves. Made by `{command}`; the protocol is in [../README.md](../README.md).",
        *([f"{absent}."] if absent else []),
        "A method is *decisive* where some family is worse without it by more than other seeds make it: in the mean "
        "incumbent or bound, in the number of proofs, or in the CPU seconds of what is proved both times. The columns "
        "have the family in which each is worst.",
        markdown(Table.of(HEADS, (line_of(name, of_family, noise) for name in NAMES))),
        "## Noise",
        "The largest difference between the mean of a family with the first seed and with another one.",
        markdown(
            Table.of(
                ("family", *HEADS[3:7]),
                ((family, *_shown(change)) for family, change in noise.items()),
            )
        ),
        "## Decisive, by family",
        markdown(Table.of(("method", "family", "worse in", *HEADS[3:7]), decisive(of_family, noise))),
    ]
    return "\n\n".join(paragraphs) + "\n"


HEADS = ("method", "ran on", "closed", "incumbent", "bound", "proofs lost", "CPU", "decisive in")


def line_of(name: str, of_family: Mapping[str, Sequence[Row]], noise: Mapping[str, Change]) -> list[Any]:
    """Return a line of the table: where a method ran, what it closed, the worst of its changes, and where it counts."""
    whole = [row for rows in of_family.values() for row in rows if (row["without"], row["seed"]) == (WHOLE, 0)]
    changes = {family: change_without(name, rows) for family, rows in of_family.items()}
    worst = Change(*(max((getattr(c, part) for c in changes.values()), default=0.0) for part in Change.__slots__))
    counts = [family for family, change in changes.items() if change.exceeds(noise[family])]
    ran = sum(name in row["ran"] for row in whole)
    is_measured = any(row["without"] == name for rows in of_family.values() for row in rows)
    unmeasured = "always runs" if name in ALWAYS else "not measured" if ran else "did not run"
    return [
        name,
        ran,
        sum(name == row["closed"] for row in whole),
        *(_shown(worst) if is_measured else ["", "", "", ""]),
        (", ".join(counts) or "none") if is_measured else unmeasured,
    ]


def decisive(of_family: Mapping[str, Sequence[Row]], noise: Mapping[str, Change]) -> Iterator[list[Any]]:
    """Yield a line for each method and family that is worse without it."""
    for name in NAMES:
        for family, rows in of_family.items():
            change = change_without(name, rows)
            if parts := change.exceeds(noise[family]):
                yield [name, family, ", ".join(parts), *_shown(change)]


def _shown(change: Change) -> list[str]:
    return [f"{change.incumbent:.2%}", f"{change.bound:.2%}", f"{change.proofs:g}", f"{change.cpu:+.0%}"]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--quick", action="store_true", help="few instances, short limits; writes ablation-quick.*")
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=FAMILIES, help="run these alone")
    parser.add_argument("--methods", nargs="+", choices=LEFT_OUT, default=LEFT_OUT, help="leave out these alone")
    parser.add_argument("--instances", type=int, help=f"instances of a family (default {INSTANCES})")
    parser.add_argument("--limit", type=float, help=f"seconds per solve (default {LIMIT:g})")
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"seeds of the whole portfolio (default {SEEDS})")
    parser.add_argument("--hide", choices=("", "ortools"), default="", help="a module that looks not installed")
    parser.add_argument("--data", type=Path, default=SHARED, help="folder of the published instances")
    parser.add_argument("--threads", type=int, default=1, help="cores of each solve (default 1)")
    parser.add_argument("--jobs", type=int, default=1, choices=(1, 2), help="solves at a time (default 1)")
    parser.add_argument("--report", action="store_true", help="run nothing, write the tables of what is in the store")
    parser.add_argument("--output", type=new_page, help="tables: this name, .md and .csv")
    parser.add_argument("--store", type=Path, default=RESULTS / "ablation.sqlite", help="where samples are kept")
    return parser


if __name__ == "__main__":
    exit_with(main)
