"""The benchmark library of :func:`coalloc.library`: solve its instances, and keep what is better than the best known.

Each instance is solved with a time limit, its result certified where that is possible, and compared with what the
package holds: a better schedule, a better bound or a first certificate takes the place of the old one, with the
command, the date and the versions that found it. ``docs/library.md`` gets the table of the families. Interrupted runs
resume. Protocol: benchmarks/README.md.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sampling import RESULTS, exit_with, run_shown

import coalloc
from coalloc.bench.calls import Call
from coalloc.bench.outcomes import Outcome
from coalloc.bench.running import outcomes_of
from coalloc.documents.kinds import document_of
from coalloc.documents.storage import compressed, write_atomically
from coalloc.documents.strict_json import layout
from coalloc.instance.files import INSTANCE, instance_hash
from coalloc.schedule.files import SCHEDULE
from coalloc.testing.features import with_features
from coalloc.workloads.library import PROOF_TOLERANCE, bundled, instance_of

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "coalloc" / "workloads" / "bundled" / "library"
PAGE = ROOT / "docs" / "library.md"
BEGIN, END = "<!-- Made by `python benchmarks/library.py`. -->", "<!-- End of what is made. -->"
SEED = 7000
"""Instances have the seeds above it, on which nothing was tuned."""
FOUND = ("sha256", "value", "lower_bound", "is_certified", "found_by", "found_on", "command")
"""What the files hold of a solve, besides its schedule."""
SHARE_OF_CERTIFYING = 1.0
"""Time limit for a certificate, as a multiple of that of the solve."""
FEATURES = ("unavailable", "after", "deadline", "eligible", "requires", "resources", "max_clusters", "lags", "limits")


@dataclass(frozen=True, slots=True)
class Family:
    """Thirty instances: groups of equal parameters and as many seeds each.

    ``slot`` is a percentage of the mean reference run time; None: continuous time.
    """

    name: str
    title: str
    groups: tuple[Mapping[str, Any], ...]
    generator: str = "thesis-oas"
    slot: int | None = 5
    objectives: tuple[str, ...] = ("makespan",)
    has_features: bool = False

    @property
    def rows(self) -> Iterator[dict[str, Any]]:
        """The instances: name, source, slot and objective."""
        kinds = [(parameters, objective) for parameters in self.groups for objective in self.objectives]
        number = 30 // len(kinds)
        for i, (parameters, objective) in enumerate(kinds):
            for k in range(number):
                name = f"{self.name}-{i * number + k + 1:02}"
                source = {"generator": self.generator, "seed": SEED + k + 1, "parameters": dict(parameters)}
                instance = instance_of(name, source)
                if self.has_features:
                    instance = featured(instance, SEED + k + 1)
                    source = {"file": document_of(instance, INSTANCE)}
                slot = None if self.slot is None else float(round(self.slot / 100 * instance.mean_base_time))
                yield {"name": name, "source": source, "slot": slot, "objective": objective}


def featured(instance: coalloc.Instance, seed: int) -> coalloc.Instance:
    """Return an instance with two or three features with which it can be scheduled."""
    for attempt in range(100):
        rng = np.random.default_rng([seed, attempt])
        drawn = rng.choice(len(FEATURES), size=int(rng.integers(2, 4)), replace=False)
        made = with_features(instance, rng, [FEATURES[i] for i in sorted(drawn)])
        if coalloc.solve(made, slot="50%", time_limit=5.0).schedule is not None:
            return made.replace(name=instance.name)
    raise RuntimeError("no features with which the instance can be scheduled")


THREE_SIZES = ({"jobs": 8}, {"jobs": 12}, {"jobs": 20})
NARROW = {"max_tasks": 6, "bsbw_low": 0.1, "link_bandwidth": 100.0}
TREE = {"clusters": 4, "nodes": 3, "switch_bandwidth": 60.0}
SPEEDS = {"clusters": 6, "nodes": 2}
FAMILIES = (
    Family("thesis", "8, 12 and 20 jobs on 12 nodes of three speeds", THREE_SIZES, slot=15),
    Family(
        "links", "10 and 20 jobs; links between clusters restrict", ({"jobs": 10, **NARROW}, {"jobs": 20, **NARROW})
    ),
    Family(
        "trees",
        "10 and 20 jobs; two levels of capacity-constrained switches",
        ({"jobs": 10, **TREE}, {"jobs": 20, **TREE}),
    ),
    Family(
        "arrivals",
        "10 and 20 jobs that arrive over time",
        ({"jobs": 10, "interarrival_mean": 2e5}, {"jobs": 20, "interarrival_mean": 2e5}),
    ),
    Family("speeds", "12 and 20 jobs on nodes of six speeds", ({"jobs": 12, **SPEEDS}, {"jobs": 20, **SPEEDS})),
    Family("sums", "8, 12 and 20 jobs; total response time", THREE_SIZES, slot=15, objectives=("total-response-time",)),
    Family(
        "features", "8 and 12 jobs with two or three features", ({"jobs": 8}, {"jobs": 12}), slot=25, has_features=True
    ),
    Family(
        "energy",
        "4, 6 and 8 jobs on two nodes; energy and energy-delay product",
        ({"jobs": 4}, {"jobs": 6}, {"jobs": 8}),
        "pcbe",
        slot=None,
        objectives=("energy", "edp"),
    ),
    Family(
        "large",
        "50, 200 and 1,000 jobs on 64, 240 and 999 nodes",
        ({"jobs": 50, "clusters": 4, "nodes": 16}, {"jobs": 200, "nodes": 80}, {"jobs": 1000, "nodes": 333}),
    ),
    Family(
        "one-cluster",
        "20 and 30 jobs on one cluster, continuous time",
        ({"jobs": 20, "clusters": 1, "nodes": 10}, {"jobs": 30, "clusters": 1, "nodes": 20, "max_tasks": 10}),
        slot=None,
    ),
)


def solved(argument: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a solve of an instance finds, and its certificate or else its schedule."""
    instance = instance_of(argument["name"], argument["source"])
    options = {"slot": argument["slot"], "objective": argument["objective"], "time_limit": argument["limit"]}
    result = coalloc.solve(instance, threads=argument["threads"], **options)
    if result.schedule is None or result.objective is None:
        return {"status": "unsolved"}
    certificate = result.certificate(SHARE_OF_CERTIFYING * argument["limit"])
    best = certificate.document if certificate else document_of(result.schedule, SCHEDULE)
    return {
        "status": "solved",
        "sha256": instance_hash(instance),
        "value": result.objective,
        "lower_bound": result.lower_bound if result.lower_bound is not None else 0.0,
        "is_certified": bool(certificate),
        "found_by": f"coalloc {coalloc.__version__}",
        "found_on": time.strftime("%Y-%m-%d", time.gmtime()),
        "command": command(argument),
        "best": best,
    }


def command(argument: Mapping[str, Any]) -> str:
    """Return the command that solves an instance of the library again."""
    slot = "" if argument["slot"] is None else f" --slot {argument['slot']:.17g}"
    objective = "" if argument["objective"] == "makespan" else f" --objective {argument['objective']}"
    limits = f" --time-limit {argument['limit']:g} --threads {argument['threads']}"
    return f"coalloc solve library:{argument['name']}{slot}{objective}{limits}"


def is_better(found: Mapping[str, Any], known: Mapping[str, Any]) -> bool:
    """Return whether a solve tells more than what is known of the instance."""
    margin = PROOF_TOLERANCE * abs(known["value"])
    if abs(found["value"] - known["value"]) > margin:
        return found["value"] < known["value"]
    more_certain = found["is_certified"] and not known["is_certified"]
    higher = found["lower_bound"] > known["lower_bound"] + margin and found["is_certified"] >= known["is_certified"]
    return more_certain or higher


def known_rows(family: str) -> dict[str, dict[str, Any]]:
    """Return what the package holds of a family, by name."""
    file = FOLDER / f"{family}.json"
    rows = json.loads(file.read_text(encoding="utf-8"))["entries"] if file.exists() else []
    return {row["name"]: row for row in rows}


def written(family: Family, found: Mapping[str, Mapping[str, Any]]) -> int:
    """Write the files of a family with all that is better than before, and return in how many places it is."""
    known, improved, rows = known_rows(family.name), 0, []
    for planned in family.rows:
        old, new = known.get(planned["name"]), found.get(planned["name"])
        if old is not None and old["source"] != planned["source"]:
            old = None
        if new is not None and (old is None or is_better(new, old)):
            improved += 1
            old = planned | {key: new[key] for key in FOUND}
            path = FOLDER / "best" / f"{planned['name']}.json.gz"
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, compressed((layout(new["best"]) + "\n").encode()))
        if old is not None:
            rows.append(old)
    document = {"family": family.name, "title": family.title, "entries": rows}
    write_atomically(FOLDER / f"{family.name}.json", layout(document) + "\n")
    return improved


def page_with_table(page: str) -> str:
    """Return the page of the library with the table of its families."""
    bundled.cache_clear()
    known = coalloc.library()
    lines = ["| Family | Instances | Optimal | Certified | Largest gap, % |", "|---|---|---|---|---|"]
    for name, title in known.titles.items():
        entries = known.of_family(name)
        proved = sum(entry.status == "optimal" for entry in entries)
        certified = sum(entry.is_certified for entry in entries)
        gap = 100 * max(entry.gap for entry in entries)
        lines.append(f"| `{name}`: {title} | {len(entries)} | {proved} | {certified} | {gap:.2g} |")
    head, rest = page.split(BEGIN)
    return head + BEGIN + "\n".join(["", *lines, ""]) + END + rest.split(END)[1]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the store lacks, and write the files of the library."""
    parser = argparse.ArgumentParser(description=__doc__)
    names = [family.name for family in FAMILIES]
    parser.add_argument("--family", action="append", choices=names, help="a family; repeatable (default all)")
    parser.add_argument("--limit", type=float, default=20.0, help="seconds for a solve (default 20)")
    parser.add_argument("--threads", type=int, default=1, help="threads of a solve (default 1)")
    parser.add_argument("--report", action="store_true", help="run nothing, take what is in the store")
    parser.add_argument("--jobs", type=int, default=1, choices=(1, 2), help="processes at a time (default 1)")
    parser.add_argument("--store", type=Path, default=RESULTS / "library.sqlite", help="where solves are kept")
    options = parser.parse_args(arguments)
    families = [family for family in FAMILIES if family.name in (options.family or names)]
    asked = {"limit": options.limit, "threads": options.threads}
    calls = [
        Call(solved, row | asked, 10 * options.limit + 600.0, given={"source": row["source"]})
        for family in families
        for row in family.rows
    ]
    if not options.report and not run_shown(calls, options.store, options.jobs, line_of):
        return 130
    outcomes = zip(calls, outcomes_of(calls, options.store), strict=True)
    found = {call.argument["name"]: row for call, row in outcomes if row is not None and row.get("status") == "solved"}
    for family in families:
        print(f"{family.name}: {written(family, found)} better than before")
    write_atomically(PAGE, page_with_table(PAGE.read_text(encoding="utf-8")))
    return 0


def line_of(call: Call, outcome: Outcome) -> str:
    """Return a line of progress."""
    if "value" not in outcome:
        return f"{call.argument['name']}: {outcome.get('message') or outcome.get('status')}"
    certified = "certified" if outcome["is_certified"] else "no certificate"
    return f"{call.argument['name']}: {outcome['value']:.10g}, bound {outcome['lower_bound']:.10g}, {certified}"


if __name__ == "__main__":
    exit_with(main)
