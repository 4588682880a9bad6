"""What the thesis says, as quantities that the results have: one value per unit, from which mean and interval follow.

Savings are 1 - ours/other, excesses other/ours - 1, both on the same instance and then averaged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
from measures import OAS, OAS_LEFT, OPTIMUM
from results_table import SLOT, Results, solve_column

from coalloc.measures.intervals import ConfidenceInterval, mean_interval

CLASSICS = ("FCFS", "SJF", "BJF", "FPFS", "SPT", "LPT")
PAS = tuple(f"PAS-{name}" for name in CLASSICS)
READINGS = {
    OAS: "OAS, slots of 50 %, starts kept,",
    OAS_LEFT: "OAS, slots of 50 %, moved left,",
    OPTIMUM: "OAS, continuous time,",
}
"""What OAS may be, worst schedule first, and how the table says it."""
LOW_LOAD, HIGH_LOAD = (0.1, 0.3, 0.5), (0.7, 0.9, 1.1)
"""BSBW (GB/s) at which links are said to suffice, and not to suffice."""
SHARES_SAID = {"0.1:0.5": "shares 0.1 to 0.5", "0.5:0.9": "shares 0.5 to 0.9"}
"""What is said of the ranges of processing shares."""
POWER_RANKS = {"power_by_time": "processing time of a task", "power_by_work": "processing time of all tasks"}
"""What a job asks of processors, in words."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement of the source, the figure that it gives, and the values that we find, in percent."""

    says: str
    source: str
    quantity: str
    values: tuple[float, ...]

    @property
    def interval(self) -> ConfidenceInterval:
        """Mean and 95 % interval, in percent."""
        return mean_interval([100.0 * value for value in self.values])


def saving(wide: pd.DataFrame, ours: str, others: Sequence[str]) -> pd.Series:
    """Return the mean over the others of 1 - ours/other."""
    return 1.0 - wide[list(others)].rdiv(wide[ours], axis=0).mean(axis=1, skipna=False)


def excess(wide: pd.DataFrame, other: str, ours: str) -> pd.Series:
    """Return other/ours - 1."""
    return wide[other] / wide[ours] - 1.0


def is_least(wide: pd.DataFrame, ours: Sequence[str], among: Sequence[str]) -> pd.Series:
    """Return 1.0 where one of ``ours`` has the least value among these strategies, ties included, else 0.0."""
    least = wide[list(among)].min(axis=1)
    return (wide[list(ours)].min(axis=1) <= least * (1.0 + 1e-9)).astype(float)


def claims_of(name: str, results: Results) -> list[Claim]:
    """Return the claims of an experiment by name."""
    return [
        Claim(says, source, quantity, tuple(results.by_unit(series)))
        for says, source, quantity, series in CLAIMS[name](results)
    ]


Statement = tuple[str, str, str, pd.Series]


def pas_allocation(results: Results) -> Iterator[Statement]:
    response = results.wide("response_mean")
    low, high = (results.wide("response_mean", bsbw=loads) for loads in (LOW_LOAD, HIGH_LOAD))
    for heterogeneity in (10, 50, 90):
        here = low.xs(heterogeneity, level="heterogeneity", drop_level=False)
        if heterogeneity == 10:
            says, said = "With little traffic and equal clusters all three do alike", "about 0"
        else:
            says, said = "With little traffic CBS is worse than PAS on unequal clusters", "> 0"
        yield says, said, f"response CBS over PAS, BSBW <= 0.5, H = {heterogeneity} %", excess(here, "CBS", "PAS")
    yield (
        "With little traffic PAS and JPR do alike",
        "about 0",
        "response JPR over PAS, BSBW <= 0.5",
        excess(low, "JPR", "PAS"),
    )
    yield "With much traffic JPR gets worse", "> 0", "response JPR over PAS, BSBW >= 0.7", excess(high, "JPR", "PAS")
    yield "PAS is best with much traffic", "> 0", "response CBS over PAS, BSBW >= 0.7", excess(high, "CBS", "PAS")
    for strategy in ("PAS", "CBS", "JPR"):
        heavy, light = (response.xs(load, level="bsbw")[strategy] for load in (1.1, 0.1))
        said = "grows" if strategy == "JPR" else "about 0"
        yield f"{strategy} over traffic", said, f"response of {strategy} at 1.1 over that at 0.1", heavy / light - 1
    shares = results.wide("coallocated_share")
    for strategy, said in (("JPR", "60"), ("CBS", "14"), ("PAS", "between")):
        yield "Jobs co-allocated", said, f"share of jobs, {strategy}", shares[strategy]
    others = {"JPR": ["PAS", "CBS"], "CBS": ["PAS", "JPR"]}
    most = shares["JPR"] - shares[others["JPR"]].max(axis=1)
    yield "JPR co-allocates most", "> 0", "share of JPR less the larger of the others, points", most
    least = shares[others["CBS"]].min(axis=1) - shares["CBS"]
    yield "CBS co-allocates least", "> 0", "the smaller share of the others less that of CBS, points", least
    quiet, loud = (shares["PAS"].xs(load, level="bsbw") for load in (0.1, 1.1))
    yield "PAS co-allocates less as traffic grows", "> 0", "share at 0.1 less that at 1.1 GB/s", quiet - loud
    unequal, equal = (quiet.xs(heterogeneity, level="heterogeneity") for heterogeneity in (90, 10))
    says = "PAS co-allocates more where clusters differ and traffic is low"
    yield says, "> 0", "share at H = 90 % less that at 10 %, 0.1 GB/s", unequal - equal


def pas_links(results: Results) -> Iterator[Statement]:
    response, shares = results.wide("response_mean"), results.wide("coallocated_share")
    for asked, text in SHARES_SAID.items():
        for link in response.index.unique("link_bandwidth"):
            here = response.xs((link, asked), level=("link_bandwidth", "shares"), drop_level=False)
            measured = f"response JPR over PAS, links of {link / 1000:g} GB/s, {text}"
            yield "With much traffic JPR gets worse", "> 0", measured, excess(here, "JPR", "PAS")
    yield "Jobs co-allocated", "60", "share of jobs, JPR", shares["JPR"]
    yield "Jobs co-allocated", "less", "share of jobs, PAS", shares["PAS"]


def pas_selection(results: Results) -> Iterator[Statement]:
    execution, response = results.wide("execution_mean")[list(PAS)], results.wide("response_mean")[list(PAS)]
    makespan = results.wide("makespan")[list(PAS)]
    spread = "largest over smallest of the six"
    yield "Execution time hardly depends on the selection", "about 0", spread, ratio_of_extremes(execution)
    yield "Makespan hardly depends on the selection", "small", spread, ratio_of_extremes(makespan)
    yield "Response time does", "large", spread, ratio_of_extremes(response)
    for strategy in PAS:
        said = "> 0" if strategy in ("PAS-BJF", "PAS-LPT") else ""
        says = "Large jobs first respond worst" if said else "Response by selection"
        yield says, said, f"response {strategy} over PAS-FPFS", excess(response, strategy, "PAS-FPFS")
    for strategy in PAS:
        says = "No selection has the least response everywhere"
        yield says, "none near 100", f"share of instances where {strategy} has it", is_least(response, [strategy], PAS)


def ratio_of_extremes(wide: pd.DataFrame) -> pd.Series:
    """Return largest/smallest - 1 in each row."""
    return wide.max(axis=1) / wide.min(axis=1) - 1.0


def oas_workloads(results: Results) -> Iterator[Statement]:
    makespan = results.wide("makespan")
    compact = tuple(f"{name}, fewest clusters" for name in CLASSICS)
    for ours, text in READINGS.items():
        yield f"{text} beats PAS", "21", "makespan saved over the six PAS", saving(makespan, ours, PAS)
        yield f"{text} beats the classics", "30", "makespan saved over the six", saving(makespan, ours, CLASSICS)
        says = "makespan saved over the six, fewest clusters"
        yield f"{text} beats the classics", "30", says, saving(makespan, ours, compact)
        for names, best in ((PAS, "PAS"), (CLASSICS, "classic")):
            saved = 1.0 - makespan[ours] / makespan[list(names)].min(axis=1)
            yield f"{text} against the best {best} of each instance", "", "makespan saved", saved
    for ours in (OAS, OPTIMUM):
        yield from by_workload(makespan, ours)
    for workload, strategy in (("WL-1", "FPFS"), ("WL-2", "SJF")):
        here = results.wide("makespan", workload=workload)
        says = f"{strategy} does well on {workload}"
        yield says, "> 0", "makespan saved over the other classics", saving(here, strategy, others_of(strategy))
        yield says, "", "share of instances where it is the best classic", is_least(here, [strategy], CLASSICS)
    for names, said, text in (
        (PAS, "> 70", "PAS"),
        (CLASSICS, "57 to 92", "classics"),
        ((OAS,), "highest", "OAS, starts kept"),
        ((OAS_LEFT,), "highest", "OAS, moved left"),
    ):
        yield "Utilization", said, f"mean of {text}", results.wide("utilization")[list(names)].mean(axis=1)
    response = results.wide("response_mean")
    for ours, text in READINGS.items():
        for names, others in ((PAS, "PAS"), (CLASSICS, "classics")):
            saved = saving(response, ours, names)
            yield f"{text} responds soonest", "> 0", f"response saved over the six {others}", saved
        yield f"{text} is near the optimum", "near 0", "makespan over what is proven", excess_of_bound(results, ours)
    yield from slowdown_statements(results)
    for metric, column in (("starts kept", "keep"), ("moved left", "left"), ("as slotted", "slotted")):
        yield from slot_statements(results, metric, column)
    yield from usage_statements(results)
    yield from solve_statements(results)


def slowdown_statements(results: Results) -> Iterator[Statement]:
    """Yield how much OAS slows jobs down beside the others (Figure 3.21)."""
    slowdown = results.wide("execution_slowdown")
    for ours in (OAS, OPTIMUM):
        for names, text in ((PAS, "six PAS"), (CLASSICS, "six classics")):
            less = slowdown[list(names)].mean(axis=1) - slowdown[ours]
            yield f"{READINGS[ours]} slows jobs down little", "> 0", f"mean of the {text} less OAS, points", less
        for name in ("BJF", "SPT"):
            for other in (f"PAS-{name}", name):
                is_beaten = (slowdown[other] < slowdown[ours]).astype(float)
                says = f"{READINGS[ours]} is surpassed by BJF and SPT in some cases"
                yield says, "some", f"share of instances where {other} slows down less", is_beaten


def others_of(strategy: str) -> list[str]:
    """Return the other classics."""
    return [name for name in CLASSICS if name != strategy]


def by_workload(makespan: pd.DataFrame, ours: str) -> Iterator[Statement]:
    """Yield what OAS saves on each workload alone."""
    for workload in ("WL-1", "WL-2", "WL-3"):
        here = makespan.xs(workload, level="workload", drop_level=False)
        for names, said, text in ((PAS, "21", "the six PAS"), (CLASSICS, "30", "the six classics")):
            yield f"{READINGS[ours]} on {workload}", said, f"makespan saved over {text}", saving(here, ours, names)


def excess_of_bound(results: Results, strategy: str) -> pd.Series:
    """Return how far a strategy's makespan is above what is proven."""
    return results.wide("above_bound")[strategy]


def slot_statements(results: Results, text: str, column: str) -> Iterator[Statement]:
    """Yield what slots shorter and longer than half the mean base time change in the makespan."""
    wide = slot_makespans(results, column)
    for slot in wide.columns:
        if slot != SLOT:
            says = "Slots below 50 % gain nothing" if slot < SLOT else "Longer slots cost"
            said = "about 0" if slot < SLOT else "> 0"
            yield says, said, f"makespan at {slot:g} % over that at 50 %, {text}", wide[slot] / wide[SLOT] - 1.0


def usage_statements(results: Results) -> Iterator[Statement]:
    """Yield what slots shorter and longer than half the mean base time change beside it (Figures 3.15 to 3.17)."""
    kept = results.slots[results.slots["starts"] == "keep"]
    utilization, wait, execution, slowdown = (
        slot_metric(kept, results, name)
        for name in ("utilization", "wait_mean", "execution_mean", "execution_slowdown")
    )
    for slot in (name for name in utilization.columns if name != SLOT):
        at, said = f"at {slot:g} %", "> 0" if slot < SLOT else "< 0"
        less = utilization[slot] - utilization[SLOT]
        yield "Shorter slots have higher utilization", said, f"utilization {at} less that at 50 %, points", less
    for slot in (name for name in utilization.columns if name != SLOT):
        at, said = f"at {slot:g} %", "< 0" if slot < SLOT else "> 0"
        for wide, text in ((wait, "wait"), (execution, "execution")):
            measured = f"{text} {at} over that at 50 %"
            yield "Longer slots lengthen waits and executions", said, measured, wide[slot] / wide[SLOT] - 1.0
        more = slowdown[slot] - slowdown[SLOT]
        yield "Longer slots slow jobs down more", said, f"slowdown {at} less that at 50 %, points", more


def solve_statements(results: Results) -> Iterator[Statement]:
    """Yield how much longer shorter slots take to solve: means, since most are solved at once (Figure 3.14)."""
    solve = slot_metric(results.slots[results.slots["starts"] == "keep"], results, solve_column(results.slots))
    longest = max(solve.columns)
    for slot in solve.columns[:-1]:
        measured = f"solve time at {slot:g} %, of the mean at {longest:g} %"
        yield "Shorter slots take longer to solve", "> 100", measured, solve[slot] / solve[longest].mean()


def slot_metric(rows: pd.DataFrame, results: Results, metric: str) -> pd.DataFrame:
    """Return a metric with a column per slot."""
    return rows.pivot(index=[*results.point, "seed"], columns="slot", values=metric)


def slot_makespans(results: Results, column: str) -> pd.DataFrame:
    """Return makespans of OAS (s) with a column per slot: ``keep`` or ``left`` replayed, or ``slotted``."""
    starts, metric = ("keep", "slotted_makespan") if column == "slotted" else (column, "makespan")
    return slot_metric(results.slots[results.slots["starts"] == starts], results, metric)


def oas_spread(results: Results) -> Iterator[Statement]:
    makespan = results.wide("makespan")
    for base_times in makespan.index.unique("base_times"):
        here = makespan.xs(base_times, level="base_times", drop_level=False)
        for names, said, text in ((PAS, "21", "the six PAS"), (CLASSICS, "30", "the six classics")):
            measured = f"makespan saved over {text}, base times {base_times}"
            yield f"{READINGS[OPTIMUM]} beats {text}", said, measured, saving(here, OPTIMUM, names)


def paper_oas(results: Results) -> Iterator[Statement]:
    makespan = results.wide("makespan")
    for ours, text in READINGS.items():
        yield f"{text} beats the others", "> 0", "makespan saved over the six", saving(makespan, ours, CLASSICS)
        least = is_least(makespan, [ours], [ours, *CLASSICS])
        yield f"{text} is always good", "near 100", "share of instances where no classic is shorter", least
    for workload in makespan.index.unique("workload"):
        here = makespan.xs(workload, level="workload", drop_level=False)
        for ours in (OAS, OPTIMUM):
            says = f"{READINGS[ours]} on {workload}"
            yield says, "> 0", "makespan saved over the six classics", saving(here, ours, CLASSICS)
    for name in CLASSICS:
        says = "What is good in one workload is bad in another"
        yield says, "", f"share of instances where {name} is the best classic", is_least(makespan, [name], CLASSICS)
    for metric, column in (("starts kept", "keep"), ("moved left", "left"), ("as slotted", "slotted")):
        yield from slot_statements(results, metric, column)
    yield from solve_statements(results)
    for metric, asked in POWER_RANKS.items():
        found = results.wide(metric)
        says, measured = "Jobs of more processing get the faster nodes", f"rank correlation x 100, {asked}"
        for ours, text in READINGS.items():
            yield says, "> 0", f"{measured}: {text.rstrip(',')}", found[ours]
        yield says, "", f"{measured}: mean of the classics", found[list(CLASSICS)].mean(axis=1)


def longest_statements(results: Results) -> Iterator[Statement]:
    """Yield how the jobs of longest base time are slowed down (Figure 3.32)."""
    mean, slowed = results.wide("longest_slowdown_mean"), results.wide("longest_slowed_share")
    for name in ("BJF", "BJF, first-fit"):
        says = "MESD slows the longest jobs down less than BJF"
        yield says, "> 0", f"mean slowdown of {name} less that of MESD, points", mean[name] - mean["MESD"]
        yield says, "> 0", f"share not faster than Tb, {name} less MESD, points", slowed[name] - slowed["MESD"]
    for name in ("MESD", "BJF", "BJF, first-fit"):
        yield "Slowdown of the longest jobs", "", f"mean of {name}", mean[name]
        yield "Most of BJF's are slowed down much", "", f"share not faster than Tb, {name}", slowed[name]


def mesd_oas(results: Results) -> Iterator[Statement]:
    makespan, response = results.wide("makespan"), results.wide("response_mean")
    compact = tuple(f"{name}, fewest clusters" for name in CLASSICS)
    for names, text in ((CLASSICS, "the six classics"), (compact, "the six classics, fewest clusters")):
        yield "MESD beats the classics in makespan", "15", f"saved over {text}", saving(makespan, "MESD", names)
    for workload in ("WL-1", "WL-2", "WL-3"):
        here = makespan.xs(workload, level="workload", drop_level=False)
        saved = saving(here, "MESD", CLASSICS)
        yield f"MESD beats the classics on {workload}", "15", "saved over the six classics", saved
    best = 1.0 - makespan["MESD"] / makespan[list(CLASSICS)].min(axis=1)
    yield "MESD against the best classic of each instance", "", "makespan saved", best
    most = "the most that any schedule with strict links saves over the six"
    yield "MESD beats the classics in makespan", "", most, saving(makespan, OPTIMUM, CLASSICS)
    slowdown, utilization = results.wide("execution_slowdown"), results.wide("utilization")
    for ours, text in READINGS.items():
        name, less = text.rstrip(","), slowdown["MESD"] - slowdown[ours]
        longer, later = excess(makespan, "MESD", ours), excess(response, "MESD", ours)
        yield f"{text} is a little better than MESD", "> 0, small", "makespan MESD over it", longer
        yield f"MESD slows jobs down less than {name}", "< 0", "execution slowdown, points", less
        yield f"MESD responds like {name}", "about 0", "response MESD over it", later
    responds = saving(response, "MESD", CLASSICS)
    yield "MESD responds sooner than the classics", "> 0", "response saved over the six", responds
    for names, text in (*(((ours,), text.rstrip(",")) for ours, text in READINGS.items()), (("MESD",), "MESD")):
        yield "Utilization: OAS highest, MESD among the best", "", f"of {text}", utilization[list(names)].mean(axis=1)
    worst = utilization[list(CLASSICS)].mean(axis=1)
    yield "Utilization: OAS highest, MESD among the best", "", "mean of the classics", worst


def mesd_large(results: Results) -> Iterator[Statement]:
    first_fit = tuple(f"{name}, first-fit" for name in CLASSICS)
    makespan = results.wide("makespan")
    for names, rule in ((CLASSICS, "fastest-first"), (first_fit, "first-fit")):
        yield from large_statements(results, names, rule)
    yield "Makespans hardly differ", "minimal", "largest over smallest of all strategies", ratio_of_extremes(makespan)
    if "longest_slowed_share" in results.runs:
        yield from longest_statements(results)


def large_statements(results: Results, names: Sequence[str], rule: str) -> Iterator[Statement]:
    """Yield what becomes of MESD against the classics with one allocation rule."""
    execution, response, wait = (results.wide(f"{name}_mean") for name in ("execution", "response", "wait"))
    yield "MESD lowers execution times", "> 0", f"saved over the classics, {rule}", saving(execution, "MESD", names)
    yield (
        "MESD's response is among the best",
        "",
        f"response saved over the classics, {rule}",
        saving(response, "MESD", names),
    )
    best = 1.0 - response["MESD"] / response[list(names)].min(axis=1)
    yield "MESD's response is among the best", "about 0", f"response saved over the best classic, {rule}", best
    for name in names:
        yield (
            "Wait: SJF, FPFS, SPT least; FCFS, BJF, LPT most",
            "",
            f"wait of {name.partition(',')[0]} over MESD, {rule}",
            excess(wait, name, "MESD"),
        )
    slowdown = results.wide("execution_slowdown_mean")
    gain = slowdown[list(names)].min(axis=1) - slowdown["MESD"]
    yield "MESD has the least slowdown", "> 0", f"best classic ({rule}) less MESD, points", gain
    shares, saturated = results.wide("coallocated_share"), results.wide("saturated_share")
    yield (
        "MESD co-allocates least",
        "> 0",
        f"least classic ({rule}) less MESD, points",
        shares[list(names)].min(axis=1) - shares["MESD"],
    )
    yield "MESD saturates little", "0.30", f"share of jobs, MESD (beside {rule})", saturated["MESD"]
    yield (
        "The classics saturate",
        "0.20 to 2.53",
        f"share of jobs, mean of the classics, {rule}",
        saturated[list(names)].mean(axis=1),
    )


CLAIMS: Mapping[str, Callable[[Results], Iterator[Statement]]] = {
    "pas-allocation": pas_allocation,
    "pas-links": pas_links,
    "pas-selection": pas_selection,
    "oas-workloads": oas_workloads,
    "oas-spread": oas_spread,
    "paper-oas": paper_oas,
    "mesd-oas": mesd_oas,
    "mesd-large": mesd_large,
    "mesd-estimates": mesd_large,
}
"""The claims of each experiment."""
