"""What Hanzich et al. (CISNE) say, as statistics of the runs: each a number with its interval over the seeds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from sharing_results import Array, Results

from coalloc.measures.intervals import ConfidenceInterval, mean_interval, statistic_interval
from coalloc.measures.stability import RUN_METRICS, relative_stability, stability, stability_terms

PROFILES = {"xwindows": "XWindows", "internet": "Internet"}
"""Profiles that Figure 8 shows: the source leaves out Shell, which is rare and needs no interaction."""
SLIGHTLY_PERCEPTIBLE = 32.0
"""Latency at which a loss is slightly perceptible, us. Source: Table 2."""

LOADS = -2
"""Axis of the loads in values of shape ``(..., scenarios, loads, mixes)``."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement of the source, what it asks for, how it is measured, and what came out."""

    says: str
    expects: str
    quantity: str
    unit: str
    interval: ConfidenceInterval


Values = Callable[[Array], Array]
"""V of shape ``(..., scenarios, loads, mixes)`` of runs of shape ``(..., seeds, scenarios, loads, mixes, metrics)``."""


def printed(runs: Array) -> Array:
    """Return V as printed."""
    return stability(stability_terms(runs, axis=-5))


def relative(runs: Array) -> Array:
    """Return V relative to the mixes of the same scenario and load."""
    return relative_stability(stability_terms(runs, axis=-5))


def relative_to_scenarios(runs: Array) -> Array:
    """Return V relative to the mixes and scenarios of the same load: scenarios can be compared."""
    return relative_stability(stability_terms(runs, axis=-5), among=(-4, -2))


VALUES: dict[str, Values] = {"V as printed": printed, "relative V": relative}
ACROSS: dict[str, Values] = {"V as printed": printed, "V relative to mixes and scenarios": relative_to_scenarios}


def scenario_claims(results: Results) -> Iterator[Claim]:
    """Yield the claims of section 3.4 from the study of Table 1."""
    runs = results.array(RUN_METRICS)
    sjf, fcfs, snpf = range(3)
    others = {"SJF-JFirst": sjf, "SNPF-BFit": snpf}
    for text, values in VALUES.items():
        for name, other in others.items():
            says = "FCFS-FFit is the most stable mix"
            yield claim(says, "< 0", f"{text}, FCFS-FFit over {name}", runs, excess(values, fcfs, other))
        for mix, name in enumerate(results.mixes):
            says = "FCFS-FFit is the most stable mix"
            yield claim(
                says, "", f"share of the 9 cells in which {name} has the least {text}", runs, least(values, mix)
            )
    for text, values in ACROSS.items():
        for mix, name in enumerate(results.mixes):
            says = "FCFS-FFit is equally stable in all scenarios"
            expects = "about 0" if mix == fcfs else "more"
            yield claim(says, expects, f"{text} of {name}, largest over smallest", runs, spread(values, mix))
        for name, other in others.items():
            says = "and more equally than the others"
            yield claim(says, "< 0", f"spread of {text}, FCFS-FFit less {name}", runs, narrower(values, fcfs, other))
    for text, values in VALUES.items():
        for scenario in range(3):
            says, expects = f"SJF-JFirst does {'badly' if scenario == 1 else 'well'} in scenario {scenario + 1}", "> 0"
            expects = "> 0" if scenario == 1 else "about 0"
            yield claim(says, expects, f"{text}, over FCFS-FFit", runs, excess(values, sjf, fcfs, scenario))
    for text, values in VALUES.items():
        for scenario in range(3):
            says = f"SNPF-BFit is far behind in scenario {scenario + 1}"
            yield claim(says, "> 0, far", f"{text}, over the best other", runs, behind(values, snpf, scenario))
    yield from heaviest(results)
    yield from latencies(results)


def claim(says: str, expects: str, quantity: str, runs: Array, statistic: Callable[[Array], Array]) -> Claim:
    """Return a claim about a share, in percent."""
    return Claim(says, expects, quantity, "%", statistic_interval(runs, lambda picked: 100.0 * statistic(picked)))


def excess(values: Values, ours: int, other: int, scenario: int | None = None) -> Callable[[Array], Array]:
    """Return V of a mix over that of another, less 1, averaged over loads, and scenarios where none is named."""

    def statistic(runs: Array) -> Array:
        found = values(runs)
        ratios = found[..., ours] / found[..., other] - 1.0
        return ratios.mean(axis=(-2, -1)) if scenario is None else ratios[..., scenario, :].mean(axis=-1)

    return statistic


def behind(values: Values, ours: int, scenario: int) -> Callable[[Array], Array]:
    """Return V of a mix over the least of the others, less 1, averaged over the loads of a scenario."""

    def statistic(runs: Array) -> Array:
        found = values(runs)[..., scenario, :, :]
        return (found[..., ours] / np.delete(found, ours, axis=-1).min(axis=-1) - 1.0).mean(axis=-1)

    return statistic


def least(values: Values, ours: int) -> Callable[[Array], Array]:
    """Return the share of the cells in which a mix has the least V."""

    def statistic(runs: Array) -> Array:
        found = values(runs)
        return np.asarray((found.argmin(axis=-1) == ours).mean(axis=(-2, -1)))

    return statistic


def spread(values: Values, mix: int) -> Callable[[Array], Array]:
    """Return the largest over the smallest V of a mix in the scenarios, less 1; V being its mean over the loads."""

    def statistic(runs: Array) -> Array:
        found = values(runs)[..., mix].mean(axis=-1)
        return found.max(axis=-1) / found.min(axis=-1) - 1.0

    return statistic


def narrower(values: Values, ours: int, other: int) -> Callable[[Array], Array]:
    """Return by how much the spread of a mix over the scenarios is above that of another."""
    return lambda runs: spread(values, ours)(runs) - spread(values, other)(runs)


def heaviest(results: Results) -> Iterator[Claim]:
    """Yield which scenario is the heaviest: each beside the one before it, over all mixes and loads."""
    metrics = {
        "turnaround_mean": "mean turnaround",
        "dedicated_slowdown_mean": "mean slowdown",
        "makespan_ratio": "makespan ratio",
    }
    runs = results.array(tuple(metrics))
    for second, first in ((1, 0), (2, 1)):
        for number, text in enumerate(metrics.values()):
            ratios = runs[:, second, ..., number] / runs[:, first, ..., number] - 1.0
            interval = mean_interval((100.0 * ratios.mean(axis=(-2, -1))).tolist())
            says = (
                "Scenario 3 is the lightest (3.4.1), or the heaviest (3.4.2)" if second == 2 else "Scenario 2 beside 1"
            )
            yield Claim(says, "", f"{text}, scenario {second + 1} over {first + 1}", "%", interval)


def latencies(results: Results) -> Iterator[Claim]:
    """Yield mean and largest latencies in scenario 3."""
    for profile, name in PROFILES.items():
        mean, most = np.moveaxis(results.array((f"latency_mean_{profile}", f"latency_max_{profile}")), -1, 0)[:, :, 2]
        says = f"Parallel load never takes the latency to {SLIGHTLY_PERCEPTIBLE:g} us"
        interval = mean_interval(np.nanmean(mean, axis=(-2, -1)).tolist())
        yield Claim(says, "< 32", f"mean of {name} users, scenario 3", "us", interval)
        largest = float(np.nanmax(most))
        yield Claim(
            says, "< 32", f"largest of {name} users, all runs", "us", ConfidenceInterval(largest, np.nan, np.nan, 1)
        )
