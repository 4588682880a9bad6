"""Section 5.3.2 of PCBE: the large experiment in 20 slices, each by itself, and what the text says of them.

A claim is judged on the slices whose files are at hand, with the published meter and with idle power from the start.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pcbe_values import METERS, NAMES, SCALED, TIE, Value, deviation, simulated

import coalloc

NUM_SLICES = 20
"""Slices of the source, by number from 0."""
PCBE, FCFS = "energy 1 0", "heuristic 1 1"
HEURISTICS = [column for column in SCALED if column.startswith("heuristic")]
ODD = "heuristic 2 2"
"""The heuristic that the text excepts: it takes more energy than all others."""
SIMILAR = 0.02
"""Share up to which two policies "take much the same"; the text gives no figure."""

SHOWN = 0.0005
"""Share from which a difference is more than nothing in a table of per cents."""

Slices = Mapping[int, Mapping[str, Value]]


@dataclass(frozen=True, slots=True)
class Claim:
    """What the text says that PCBE saves against FCFS in some slices, per cent; ``words`` are those of the text."""

    quantity: str
    slices: tuple[int, ...]
    saving: float
    words: str


CLAIMS = (
    Claim("energy", (3, 11, 12), 17.0, "up to 17 %"),
    Claim("makespan", (11, 12, 13), 9.0, "about 9 %"),
    Claim("edp", (3, 11, 12), 15.0, "about 15 %"),
)


def slices_of(folder: Path) -> tuple[dict[int, dict[str, Value]], float | None]:
    """Return what the policies take on each slice at hand, and the largest deviation from the published values."""
    found, worst = {}, list[float]()
    for workload in folder.glob("slices/workload_slice_*.json"):
        number = int(re.sub(r"\D", "", workload.stem))
        instance = coalloc.read_irmasim(folder / "platform.json", workload)
        found[number] = {column: simulated(instance, column) for column in SCALED}
        published = deviation(found[number], workload.with_name(f"Results_slice_{number}.csv"))
        worst += [] if published is None else [published]
    return dict(sorted(found.items())), max(worst, default=None)


def saving(values: Mapping[str, Value], quantity: str, meter: str, others: Sequence[str] = (FCFS,)) -> float:
    """Return the share that PCBE for energy takes less than the best of others; below 0 where it takes more."""
    return 1.0 - values[PCBE].of(quantity, meter) / min(values[other].of(quantity, meter) for other in others)


def slice_lines(slices: Slices, worst: float | None) -> Iterator[str]:
    """Yield the table of the slices and what becomes of each claim."""
    yield from ("", "## Section 5.3.2: slices of the large experiment", "")
    if not slices:
        yield "absent"
        return
    numbers = ", ".join(map(str, slices))
    yield (
        f"The files of {len(slices)} of the {NUM_SLICES} slices are at hand: {numbers}. "
        + ("No published values." if worst is None else f"Largest deviation from the published values: {worst:.0e}.")
    )
    yield from ("", "What PCBE for energy takes less, per cent (less than 0: more):", "")
    yield from _table(slices)
    yield ""
    for claim in CLAIMS:
        yield from _judged(claim, slices)
    yield from _of_heuristics(slices)
    yield from _of_others(slices)
    yield _of_criteria(slices)


def _table(slices: Slices) -> Iterator[str]:
    published, corrected = METERS
    columns = [("makespan", published, (FCFS,))]
    for quantity in ("energy", "edp"):
        for others in ([FCFS], HEURISTICS):
            columns += [(quantity, meter, tuple(others)) for meter in (published, corrected)]
    heads = [
        f"{quantity}, {'FCFS' if len(others) == 1 else 'best heuristic'}"
        + ("" if quantity == "makespan" else f", {meter}")
        for quantity, meter, others in columns
    ]
    yield "| slice | " + " | ".join(heads) + " |"
    yield "|---|" + "---:|" * len(columns)
    for number, values in slices.items():
        shares = [100.0 * saving(values, *column) for column in columns]
        yield f"| {number} | " + " | ".join(f"{_rounded(share):.1f}" for share in shares) + " |"


def _rounded(share: float) -> float:
    """Return a percentage without a minus in front of nothing."""
    return 0.0 if abs(share) < 100.0 * SHOWN else share


def _judged(claim: Claim, slices: Slices) -> Iterator[str]:
    """Yield what a claim says, and what is found in its slices, and in others."""
    at_hand = [number for number in claim.slices if number in slices]
    absent = [str(number) for number in claim.slices if number not in slices]
    text = f"- {claim.quantity}: the source says that PCBE takes {claim.words} less than FCFS in slices "
    text += f"{_listed(claim.slices)}. "
    for meter in METERS if claim.quantity != "makespan" else ["published"]:
        found = [f"{100.0 * saving(slices[n], claim.quantity, meter):.1f} % in slice {n}" for n in at_hand]
        name = f"With the {meter} meter " if claim.quantity != "makespan" else "Found: "
        text += f"{name}{_listed(found) or 'none of these is at hand'}; "
        rest = [n for n in slices if n not in claim.slices and abs(saving(slices[n], claim.quantity, meter)) > SHOWN]
        others = [f"{100.0 * saving(slices[n], claim.quantity, meter):.1f} % in slice {n}" for n in rest]
        text += f"beside them {_listed(others) or 'no slice differs'}. "
    yield text.rstrip() + (f" Without files: {_listed(absent)}." if absent else "")


def _of_heuristics(slices: Slices) -> Iterator[str]:
    """Yield how often FCFS is the best heuristic, as the source says, and what PCBE saves against the best."""
    for meter in METERS:
        first = [
            n
            for n, values in slices.items()
            if saving({**values, PCBE: values[FCFS]}, "energy", meter, HEURISTICS) > -TIE
        ]
        against = {n: saving(values, "energy", meter, HEURISTICS) for n, values in slices.items()}
        most, least = max(against, key=against.__getitem__), min(against, key=against.__getitem__)
        yield (
            f"- {meter} meter: FCFS, which the source calls the best heuristic, takes least energy of them in "
            f"{len(first)} of {len(slices)} slices. Against the best one PCBE for energy saves at most "
            f"{100.0 * against[most]:.1f} % (slice {most}), and {_least(against[least], least)}."
        )


def _least(share: float, number: int) -> str:
    if share >= -TIE:
        return "never takes more"
    return f"takes {-100.0 * share:.1f} % more at worst (slice {number})"


def _of_others(slices: Slices) -> Iterator[str]:
    """Yield in how many slices all policies but one take much the same energy, and all the same time."""
    for meter in METERS:
        spreads = {n: _spread(values, "energy", meter, ODD) for n, values in slices.items()}
        near = [n for n, spread in spreads.items() if spread <= SIMILAR]
        yield (
            f'- {meter} meter: without "{NAMES[ODD]}" all policies are within {100 * SIMILAR:g} % of each other in '
            f"energy in {len(near)} of {len(slices)} slices (the source: very similar in most); the largest difference "
            f"is {100.0 * max(spreads.values()):.1f} %."
        )
    differ = [n for n, values in slices.items() if _spread(values, "makespan", "published") > 1e-6]
    yield (
        "- makespan: the source says that it is exactly the same for all in all slices but 11, 12 and 13; it differs "
        f"in {_listed(differ) or 'none'} of those at hand."
    )


def _spread(values: Mapping[str, Value], quantity: str, meter: str, without: str = "") -> float:
    amounts = [value.of(quantity, meter) for column, value in values.items() if column != without]
    return max(amounts) / min(amounts) - 1.0


def _of_criteria(slices: Slices) -> str:
    apart = [abs(v["edp 1 0"].energy["published"] / v[PCBE].energy["published"] - 1.0) for v in slices.values()]
    same = sum(share <= TIE for share in apart)
    return (
        f"- PCBE for EDP takes the same energy as PCBE for energy in {same} of {len(slices)} slices (the source: very "
        f"similar, if not the same), and differs by {100.0 * max(apart):.2f} % at most."
    )


def _listed(parts: Iterable[object]) -> str:
    """Return parts in a row: one, two and three."""
    texts = [str(part) for part in parts]
    return " and ".join([", ".join(texts[:-1]), texts[-1]]) if len(texts) > 1 else "".join(texts)
