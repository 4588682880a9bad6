"""The result pages that run_all.py makes, most important first: question, commands by size, and CPU minutes.

A command has places in braces: ``{out}`` (where page and samples go), ``{jobs}``, ``{peer}`` (a Python that has
PyJobShop), and folders of the data. A size whose places are not there cannot run. Minutes are of one core, as seen on
two cores of 2026.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import run_figures as figures
from run_figures import Figure

OUT = "--output {results}/{name}.md --store {store}/{name}.sqlite"
DATA = ("swf", "rigid", "unrelated", "pcbe")
"""Places that are folders of the data."""
PROOFS, CORRECT, LOGS, ENERGY = (
    "Proofs and gaps",
    "Agreement with independent programs",
    "Simulation and logs",
    "Energy",
)
HARNESS = "Reports of the harness"
TOPICS = (PROOFS, CORRECT, LOGS, ENERGY, HARNESS)
TIMED, EXACT_ROWS = "pyjobshop links-20 sums-cpsat-30", "slots={} continuous={} jobs-12={} jobs-20={} sums-12={}"


@dataclass(frozen=True, slots=True)
class Size:
    """Commands, one after the other, and the CPU minutes that they take."""

    text: str
    minutes: float

    @property
    def places(self) -> set[str]:
        """Names of the inputs that it needs."""
        return {*re.findall(r"{(\w+)}", self.text)} & {*DATA, "peer"}

    def commands(self, page: str, places: dict[str, str]) -> list[list[str]]:
        """Return the words of each command of a page."""
        texts = self.text.replace("{out}", OUT).split("; ")
        return [[word.format(name=page, **places) for word in text.split()] for text in texts]


@dataclass(frozen=True, slots=True)
class Page:
    """A page of results, with its heading in docs/results.md: sizes from small to full, and what reads its figures."""

    name: str
    topic: str
    sizes: tuple[Size, ...]
    figures: Callable[[Path], Sequence[Figure]]

    @property
    def page(self) -> str:
        """Path of the page in the folder of results."""
        return f"{self.name}/report.md" if self.name.startswith("bench-") else f"{self.name}.md"

    def owns(self, name: str) -> bool:
        """Return whether a file or folder of the results is part of this page."""
        return re.fullmatch(rf"{re.escape(self.name)}(\.md|\.csv|-[\w.-]+\.png|)", name) is not None


def sizes(command: str, *options: tuple[str, float]) -> tuple[Size, ...]:
    """Return the sizes of a script: its options, and CPU minutes."""
    return tuple(Size(f"benchmarks/{command} {{out}} {words}".strip(), minutes) for words, minutes in options)


def every(step: int) -> str:
    """Return the names of every so many published instances of unrelated machines: 5, 25, ..., 1385 in all."""
    return " ".join(str(number) for number in range(5, 1386, 20 * step))


PAGES = (
    Page(
        "exact",
        PROOFS,
        sizes(
            "exact.py",
            (f"--peer-python {{peer}} --rows {EXACT_ROWS.format(2, 10, 5, 3, 5)} {TIMED}", 38),
            (f"--peer-python {{peer}} --rows {EXACT_ROWS.format(20, 20, 20, 20, 20)} {TIMED} links arrivals", 75),
            ("--peer-python {peer}", 600),
        ),
        figures.of_exact,
    ),
    Page(
        "rigid",
        PROOFS,
        sizes(
            "rigid.py --data {rigid}",
            ("--most 19 --methods portfolio CP-SAT", 20),
            ("", 180),
        ),
        figures.of_rigid,
    ),
    Page(
        "unrelated",
        PROOFS,
        sizes(
            "unrelated.py --data {unrelated} --peer-python {peer}",
            (f"--instances {every(3)}", 20),
            (f"--instances {every(2)}", 28),
            ("", 56),
        ),
        figures.of_unrelated,
    ),
    Page(
        "verification",
        CORRECT,
        sizes("verify.py --jobs {jobs}", ("--seeds 10 --every 7", 3.5), ("--seeds 60 --every 3", 12), ("", 120)),
        figures.of_verification,
    ),
    Page(
        "agreement",
        CORRECT,
        sizes(
            "agreement.py --jobs {jobs} --limit 10 --node-limit 0.5", ("--seeds 10", 1.5), ("--seeds 30", 4.5), ("", 30)
        ),
        figures.of_agreement,
    ),
    Page(
        "certificates",
        CORRECT,
        sizes("certificates.py --jobs {jobs}", ("--seeds 1 --fuzz 100", 0.7), ("--seeds 4 --fuzz 400", 8), ("", 240)),
        figures.of_certificates,
    ),
    Page(
        "features",
        CORRECT,
        sizes(
            "features.py --jobs {jobs}",
            ("--features 30 --mixes 15 --timed 1", 3),
            ("--features 200 --mixes 100 --timed 2", 15),
            ("", 100),
        ),
        figures.of_features,
    ),
    Page(
        "metamorphic",
        CORRECT,
        sizes("metamorphic.py --jobs {jobs}", ("--triples 68", 0.3), ("--triples 340", 1.5), ("", 6)),
        figures.of_metamorphic,
    ),
    Page(
        "rows",
        CORRECT,
        sizes("rows.py --jobs {jobs}", ("--seeds 20", 1), ("--seeds 100", 4.5), ("", 22)),
        figures.of_rows,
    ),
    Page(
        "engine-agreement",
        CORRECT,
        sizes(
            "engine_agreement.py --jobs {jobs}",
            ("--timelines 1000 --list-seeds 20", 0.2),
            ("--timelines 10000 --list-seeds 200", 2),
            ("", 40),
        ),
        figures.of_engine,
    ),
    Page(
        "energy-agreement",
        CORRECT,
        sizes(
            "energy_agreement.py --jobs {jobs}",
            ("--seeds 60 --fronts 12", 0.3),
            ("--seeds 300 --fronts 60", 1.5),
            ("", 5),
        ),
        figures.of_energy_agreement,
    ),
    Page(
        "sum-bounds",
        CORRECT,
        sizes("sum_bounds.py --jobs {jobs}", ("--seeds 40", 0.4), ("--seeds 200", 1.6), ("", 16)),
        figures.of_sum_bounds,
    ),
    Page(
        "limits",
        PROOFS,
        sizes("limits.py", ("--limits 0.1", 1), ("--limits 0.1 1", 3.5), ("", 80)),
        figures.of_limits,
    ),
    Page("simulator", LOGS, sizes("simulator.py --traces {swf}", ("--runs 1", 1.7), ("", 5)), figures.of_simulator),
    Page(
        "audit",
        LOGS,
        sizes(
            "audit.py --traces {swf}", ("--logs KTH-SP2", 2), ("", 6), ("--audits KTH-SP2 CTC-SP2 SDSC-SP2 HPC2N", 60)
        ),
        figures.of_audit,
    ),
    Page("pcbe", ENERGY, (Size("benchmarks/pcbe.py --data {pcbe} -o {results}/{name}.md", 0.5),), figures.of_pcbe),
    Page(
        "bench-quick",
        HARNESS,
        (
            Size(
                "-m coalloc bench run benchmarks/quick.toml --store {store}/{name}.sqlite; "
                "-m coalloc bench report {store}/{name}.sqlite -o {results}/{name}",
                1,
            ),
        ),
        figures.of_nothing,
    ),
    Page(
        "energy",
        ENERGY,
        sizes("energy_proofs.py", ("--seeds 1 --limit 10", 2.5), ("--seeds 1", 7), ("", 35)),
        figures.of_energy,
    ),
    Page(
        "oas-window", LOGS, sizes("oas_window.py --traces {swf}", ("--cases week", 4), ("", 60)), figures.of_oas_window
    ),
    Page(
        "waits",
        LOGS,
        sizes("waits.py --traces {swf}", ("--sizes 200 --seeds 1 --limit 20", 2), ("", 16)),
        figures.of_waits,
    ),
    Page(
        "formulations",
        PROOFS,
        sizes("formulations.py --jobs {jobs}", ("--only mode count", 2), ("", 14), ("--full", 60)),
        figures.of_formulations,
    ),
    Page(
        "bench-formulations",
        HARNESS,
        (
            Size(
                "-m coalloc bench run benchmarks/formulations.toml --store {store}/{name}.sqlite; "
                "-m coalloc bench report {store}/{name}.sqlite -o {results}/{name}",
                6,
            ),
        ),
        figures.of_nothing,
    ),
    Page(
        "rigid-60",
        PROOFS,
        sizes("rigid.py --data {rigid} --methods portfolio --limit 60 --jobs {jobs}", ("", 240)),
        figures.of_rigid_60,
    ),
    Page("ablation", PROOFS, sizes("ablation.py --data {rigid}", ("--quick", 30), ("", 600)), figures.of_nothing),
)
