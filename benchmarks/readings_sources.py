"""The open choices, claims and printed numbers of each source, and how a reading of it is measured.

A sample is a seed, a slice of a log or a week, on which all strategies run.
"""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parent / "grid"))
sys.path.insert(0, str(Path(__file__).resolve().parent / "cisne"))
sys.path.insert(0, str(Path(__file__).resolve().parent / "thesis"))  # each source has scripts of its own

import readings_das2
import scenarios
import sharing_claims
import standing
import verdicts
import workloads
from pcbe_slices import FCFS, HEURISTICS, PCBE
from pcbe_values import METERS, SCALED, policy_of
from readings_design import Claim, Factor, Judged, Printed, Reading

import coalloc
from coalloc.bench.calls import Call
from coalloc.bench.outcomes import Row, is_failed
from coalloc.bench.running import outcomes_of, run_calls
from coalloc.bench.workers import LocalWorkers
from coalloc.instance import CoallocError, Instance
from coalloc.measures.intervals import ConfidenceInterval, mean_interval, statistic_interval
from coalloc.measures.sharing import dedicated
from coalloc.measures.stability import RUN_METRICS, makespan_ratio
from coalloc.rules.brokering import STRATEGIES
from coalloc.studies.interruption import Interrupted

TIME_LIMIT = 1800.0
"""Seconds after which a sample is killed: far more than any takes."""
SOLVE_LIMIT = 20.0
"""Seconds of an exact solve; the best schedule known counts where it strikes."""
CLASSICS = ("fcfs", "sjf", "bjf", "fpfs", "spt", "lpt")


@dataclass(frozen=True, slots=True)
class Place:
    """Folder of the inputs, folder of the stores, samples at a time."""

    data: Path
    store: Path
    jobs: int


@dataclass(frozen=True, slots=True)
class Source:
    """A source or a part of it: factors, claims, and what judges a reading from so many samples."""

    name: str
    title: str
    samples: str
    factors: Sequence[Factor]
    claims: Sequence[Claim]
    judge: Callable[[Reading, Place, int], Judged]


def runs(measure: Callable[..., Row], place: Place, seeds: int, **setting: object) -> pd.DataFrame:
    """Return the rows of samples 0, 1, ..., after running those that the store lacks."""
    local = {"data": str(place.data.resolve())}
    calls = [Call(measure, {**setting, "seed": seed}, TIME_LIMIT, local=local) for seed in range(seeds)]
    store = place.store / "readings.sqlite"
    store.parent.mkdir(parents=True, exist_ok=True)
    done = run_calls(calls, store, partial(LocalWorkers, place.jobs), lambda *_: None)
    outcomes = outcomes_of(calls, store)
    if done.is_interrupted or None in outcomes:
        raise Interrupted(pd.DataFrame(), [])
    failed = [outcome["message"] for outcome in outcomes if outcome and is_failed(outcome)]
    if failed:
        raise CoallocError(f"{measure.__name__}: {len(failed)} samples failed, the first: {failed[0]}")
    print(f"{measure.__name__} {setting}: {len(outcomes)} samples", file=sys.stderr, flush=True)
    return pd.DataFrame([row for outcome in outcomes if outcome for row in outcome["rows"]])


def of_rows(measure: Callable[..., Iterator[Row]], argument: Mapping[str, Any]) -> Row:
    """Return the outcome of a sample from its rows."""
    asked = {name: value for name, value in argument.items() if name != "data"}
    return {"status": "done", "rows": [{"seed": argument["seed"], **row} for row in measure(**asked)]}


def percent(series: pd.Series) -> ConfidenceInterval:
    """Return the mean over samples, %, of which each counts once."""
    return mean_interval((100.0 * series.groupby(level="seed").mean()).tolist())


# ------------------------------------------------------------------------------ PAS

LINKS = {"links of 1 GB/s": 1000.0, "0.7 GB/s": 700.0, "0.5 GB/s": 500.0}
SHARES = {"shares 0.5 to 0.9": (0.5, 0.9), "0.1 to 0.5": (0.1, 0.5)}
SIZES = {"log2 of tasks is gamma": "log2", "tasks are gamma": "literal"}


def pas_sample(argument: Mapping[str, Any]) -> Row:
    return of_rows(pas_rows, argument)


def pas_rows(seed: int, links: str, shares: str, sizes: str) -> Iterator[Row]:
    """Yield a row per strategy at H = 50 % and the most traffic of the source."""
    low, high = SHARES[shares]
    instance = coalloc.generate(
        "thesis-pas", seed=seed + 1, heterogeneity=50, bsbw=1.1, link_bandwidth=LINKS[links], share_low=low,
        share_high=high, sizes=SIZES[sizes],
    )  # fmt: skip
    for allocation in ("pas", "cbs", "jpr"):
        found = coalloc.simulate(instance, "pas", selection="fcfs", allocation=allocation).metrics
        yield {"strategy": allocation, "response": found["response_mean"], "shared": found["coallocated_share"]}


def judge_pas(reading: Reading, place: Place, seeds: int) -> Judged:
    found = runs(pas_sample, place, seeds, links=reading["links"], shares=reading["shares"], sizes=reading["sizes"])
    response, shared = (found.pivot(index="seed", columns="strategy", values=name) for name in ("response", "shared"))
    claims = [
        percent(response["jpr"] / response["pas"] - 1.0),
        percent(response["cbs"] / response["pas"] - 1.0),
        percent(shared["jpr"] - shared[["pas", "cbs"]].max(axis=1)),
        percent(shared[["pas", "jpr"]].min(axis=1) - shared["cbs"]),
    ]
    here = [100.0 * shared[name].mean() for name in ("jpr", "cbs")]
    return Judged(claims, [Printed("co-allocated jobs, 3.1.3.2", (60.0, 14.0), here)])


# ------------------------------------------------------------------------------ OAS and MESD, a queue of eight jobs

PLANS = {"starts kept": "keep", "left-shifted": "left", "continuous time": "optimum"}
TIMES = tuple(workloads.SPREADS)
NODES = {"classics fastest first": "fastest-first", "fewest clusters": "fewest-clusters"}
SLOTS = {"thesis-oas": (50,), "paper-oas": (15, 50)}
"""Slots, % of the mean reference run time, by generator."""
QUEUES = {"thesis-oas": 3, "paper-oas": 6}
"""Number of workloads by generator."""


def queue_sample(argument: Mapping[str, Any]) -> Row:
    return of_rows(queue_rows, argument)


def queue_rows(seed: int, generator: str, times: str) -> Iterator[Row]:
    """Yield a row of makespans for each workload."""
    for number in range(1, QUEUES[generator] + 1):
        point = {"workload": f"WL-{number}", "base_times": times}
        instance = workloads.queue(workloads.Workload("queue", {}, generator), point, seed + 1)
        row: dict[str, Any] = {"workload": number}
        for name in CLASSICS:
            for allocation in NODES.values():
                run = coalloc.simulate(instance, name, allocation=allocation)
                row[f"{name} {allocation}"] = run.metrics["makespan"]
            if generator == "thesis-oas":
                row[f"pas {name}"] = coalloc.simulate(instance, "pas", selection=name).metrics["makespan"]
        row["mesd"] = coalloc.simulate(instance, "mesd").metrics["makespan"]
        row["optimum"] = coalloc.solve(instance, time_limit=SOLVE_LIMIT).objective
        for slot in SLOTS[generator]:
            planned = coalloc.solve(instance, slot=f"{slot}%", time_limit=SOLVE_LIMIT).schedule
            for starts in ("keep", "left"):
                ran = coalloc.replay(instance, planned, starts=starts)
                row[f"{starts} {slot}"] = coalloc.metrics(instance, ran)["makespan"]
        yield row


def queues(generator: str, reading: Reading, place: Place, seeds: int) -> tuple[pd.DataFrame, list[str]]:
    """Return the makespans by seed and workload, and the columns of the classics."""
    found = runs(queue_sample, place, seeds, generator=generator, times=reading["run times"])
    rule = NODES[reading["nodes of classics"]]
    return found.set_index(["seed", "workload"]), [f"{name} {rule}" for name in CLASSICS]


def saved(found: pd.DataFrame, ours: pd.Series, others: Sequence[str]) -> pd.Series:
    """Return 1 - ours/other, the mean over others."""
    return 1.0 - found[list(others)].rdiv(ours, axis=0).mean(axis=1)


def of_plan(found: pd.DataFrame, plan: str) -> pd.Series:
    """Return the makespans of OAS, slots of 50 %."""
    return found[plan if plan == "optimum" else f"{plan} 50"]


def judge_oas(reading: Reading, place: Place, seeds: int) -> Judged:
    found, classics = queues("thesis-oas", reading, place, seeds)
    ours = of_plan(found, PLANS[reading["plan"]])
    against = [percent(saved(found, ours, others)) for others in ([f"pas {name}" for name in CLASSICS], classics)]
    printed = Printed("makespan saved, 3.2.2.2", (21.0, 30.0), [one.mean for one in against])
    return Judged([*against, *against], [printed])


def judge_mesd(reading: Reading, place: Place, seeds: int) -> Judged:
    found, classics = queues("thesis-oas", reading, place, seeds)
    against = percent(saved(found, found["mesd"], classics))
    return Judged([against, against], [Printed("makespan saved, 3.3.5.1", (15.0,), [against.mean])])


def judge_paper(reading: Reading, place: Place, seeds: int) -> Judged:
    found, classics = queues("paper-oas", reading, place, seeds)
    plan = PLANS[reading["plan"]]
    ours = of_plan(found, plan)
    least = (ours <= found[classics].min(axis=1) * (1.0 + 1e-9)).astype(float)
    gained = 1.0 - found[f"{plan} 15"] / ours if plan != "optimum" else ours * np.nan
    return Judged([percent(saved(found, ours, classics)), percent(least), percent(gained)], [])


# ------------------------------------------------------------------------------ MESD, slices of HPC2N

SLICE = 2_250
"""Jobs of a slice: twenty are the 45,000 jobs of three workloads."""
LARGE_NODES = {"classics fastest first": "fastest-first", "first-fit": "first-fit"}
ESTIMATES = {"exact estimates": "exact", "users' estimates": "user"}
SATURATED = (0.30, 1.95, 1.85, 0.70, 0.25, 0.20, 2.53)
SHARED = (15.55, 19.79, 21.17, 17.81, 20.39, 19.33, 18.85)
"""Table 3.7: MESD, then the classics, in the order FCFS, SJF, BJF, FPFS, SPT, LPT."""


def large_sample(argument: Mapping[str, Any]) -> Row:
    return of_rows(partial(large_rows, data=argument["data"]), argument)


def large_rows(seed: int, estimates: str, nodes: str, data: str) -> Iterator[Row]:
    """Yield a row per strategy on slice ``seed``."""
    os.environ[workloads.TRACES] = str(Path(data) / "swf")
    point = {"slice": f"{SLICE * seed}:{SLICE * (seed + 1)}", "estimates": ESTIMATES[estimates]}
    instance = workloads.trace(workloads.Workload("trace", {}), point, 1)
    for name in ("mesd", *CLASSICS):
        options = {} if name == "mesd" else {"allocation": LARGE_NODES[nodes]}
        found = coalloc.simulate(instance, name, **options).metrics
        kept = ("wait_mean", "response_mean", "coallocated_share", "saturated_share")
        yield {"strategy": name} | {metric: found[metric] for metric in kept}


def judge_large(reading: Reading, place: Place, seeds: int) -> Judged:
    settings = {"estimates": reading["estimates"], "nodes": reading["nodes of classics"]}
    found = runs(large_sample, place, min(seeds, 20), **settings)
    wait, response, shared, saturated = (
        found.pivot(index="seed", columns="strategy", values=name)
        for name in ("wait_mean", "response_mean", "coallocated_share", "saturated_share")
    )
    classics = list(CLASSICS)
    execution = response - wait
    claims = [
        percent(shared[classics].min(axis=1) - shared["mesd"]),
        percent(saturated[classics].mean(axis=1) - saturated["mesd"]),
        percent(saved(execution, execution["mesd"], classics)),
        percent(saved(response, response["mesd"], classics)),
    ]
    order = ["mesd", *classics]
    return Judged(
        claims,
        [
            Printed("Table 3.7, co-allocated", SHARED, [100.0 * shared[name].mean() for name in order]),
            Printed("Table 3.7, saturating", SATURATED, [100.0 * saturated[name].mean() for name in order]),
        ],
    )


# ------------------------------------------------------------------------------ PCBE

MODELS = {"energy model as published": "published", "corrected": "corrected"}
STARVATION = {"starvation after 60 s": 60.0, "300 s": 300.0}
SLICES = 20
KIT_SAVINGS = {"makespan": (11.0, 16.0), "energy": (7.0, 11.0), "edp": (16.0, 25.0)}
"""Savings against FCFS and SJF, %. Source: section 5.3.1."""


def pcbe_sample(argument: Mapping[str, Any]) -> Row:
    return of_rows(partial(pcbe_rows, data=argument["data"]), argument)


def pcbe_rows(seed: int, starvation: str, data: str) -> Iterator[Row]:
    """Yield a row per strategy on slice ``seed``; number 20 is the large experiment."""
    kit = Path(data) / "pcbe" / "kit"
    workload = kit / ("workload.json" if seed == SLICES else f"slices/workload_slice_{seed}.json")
    instance = coalloc.read_irmasim(kit / "platform.json", workload)
    for column in SCALED:
        policy, options = policy_of(column)
        more = {"starvation": STARVATION[starvation]} if policy == "pcbe" else {}
        run = coalloc.simulate(instance, policy, **options, **more)
        energies = {name: coalloc.energy(instance, run.schedule, idle).total for name, idle in METERS.items()}
        yield {"strategy": column, "makespan": run.metrics["makespan"], **energies}


def judge_pcbe(reading: Reading, place: Place, _: int) -> Judged:
    found = runs(pcbe_sample, place, SLICES + 1, starvation=reading["starvation"])
    found = found.assign(energy=found[MODELS[reading["energy model"]]])
    found = found.assign(edp=found["energy"] * found["makespan"])
    shares = {}
    for quantity in ("energy", "makespan", "edp"):
        wide = 100.0 * found.pivot(index="seed", columns="strategy", values=quantity)
        shares[quantity] = 100.0 * (1.0 - wide.rdiv(wide[PCBE], axis=0))
    slices = {quantity: share[FCFS].iloc[:SLICES] for quantity, share in shares.items()}
    largest = [value(slices[quantity].max()) for quantity in ("energy", "makespan", "edp")]
    large = [shares[quantity][name].iloc[SLICES] for quantity in KIT_SAVINGS for name in HEURISTICS[:2]]
    means = [mean_interval(slices[quantity].tolist()) for quantity in ("energy", "edp")]
    printed = [
        Printed("largest savings in slices, 5.3.2", (17.0, 9.0, 15.0), [one.mean for one in largest]),
        Printed("savings of the large experiment, 5.3.1", [s for pair in KIT_SAVINGS.values() for s in pair], large),
    ]
    return Judged([value(shares["energy"][FCFS].iloc[SLICES]), *largest, *means], printed)


def value(number: float) -> ConfidenceInterval:
    """Return a number of one sample."""
    return ConfidenceInterval(float(number), np.nan, np.nan, 1)


# ------------------------------------------------------------------------------ CISNE

MIXES = ("SJF-JFirst", "FCFS-FFit", "SNPF-BFit")
APPLICATIONS = {"IS": 1.0, "MG": 2.5}
"""Run times of the applications, relative, where a run time belongs to its application."""
NOISE = 4.0
"""Estimates are uniform in 1 to 5 times the run time. Source: A. Mu'alem, D. Feitelson, IEEE TPDS 12(6), 2001."""
STABILITY = {"V as printed": "V as printed", "relative V": "relative V"}


def cisne_sample(argument: Mapping[str, Any]) -> Row:
    return of_rows(cisne_rows, argument)


def cisne_rows(seed: int, times: str, estimates: str) -> Iterator[Row]:
    """Yield a row for each scenario, load and mix."""
    for scenario in (1, 2, 3):
        for kind in ("net", "mixed", "cpu"):
            drawn = coalloc.generate("cisne", seed=seed, scenario=scenario, load=kind)
            instance = estimated(by_application(drawn) if times == "by application" else drawn, estimates, seed)
            alone = dedicated(instance)
            for mix in MIXES:
                run, on_dedicated = (coalloc.simulate(given, "loras", mix=mix) for given in (instance, alone))
                metrics = coalloc.results.sharing_metrics(instance, run.schedule)
                ratio = makespan_ratio(instance, run.schedule, on_dedicated.schedule)
                row = {**metrics, "makespan": run.metrics["makespan"], "makespan_ratio": ratio}
                yield {"scenario": scenario, "load": kind, "mix": mix} | {name: row[name] for name in RUN_METRICS}


def by_application(instance: Instance) -> Instance:
    """Return the jobs with one run time for each application, and the same work (tasks times run time) in all."""
    work = sum(job.tasks * job.base_time for job in instance.jobs)
    scale = work / sum(job.tasks * APPLICATIONS[str(job.user)] for job in instance.jobs)
    jobs = [(job, scale * APPLICATIONS[str(job.user)]) for job in instance.jobs]
    return instance.replace(jobs=[job.replace(base_time=time, estimate=time) for job, time in jobs])


def estimated(instance: Instance, estimates: str, seed: int) -> Instance:
    """Return the jobs with exact or noisy estimates."""
    if estimates != "noisy estimates":
        return instance
    rng = np.random.default_rng(seed)
    factors = 1.0 + NOISE * rng.random(len(instance.jobs))
    return instance.replace(
        jobs=[job.replace(estimate=job.base_time * factor) for job, factor in zip(instance.jobs, factors, strict=True)]
    )


def committed_cisne(reading: Reading) -> pd.DataFrame | None:
    """Return the committed runs of the study of Table 1 where the reading is that of the study."""
    is_ours = (reading["run times"], reading["estimates"]) == ("by model", "exact estimates")
    return pd.read_csv(Path(__file__).with_name("cisne") / "results" / "scenarios.csv") if is_ours else None


def judge_cisne(reading: Reading, place: Place, seeds: int) -> Judged:
    found = committed_cisne(reading)
    if found is None or found["seed"].nunique() != seeds:
        found = runs(cisne_sample, place, seeds, times=reading["run times"], estimates=reading["estimates"])
    found = found.sort_values("seed", kind="stable")
    array = found[list(RUN_METRICS)].to_numpy(dtype=float).reshape(seeds, 3, 3, len(MIXES), len(RUN_METRICS))
    values = sharing_claims.VALUES[STABILITY[reading["stability"]]]
    spreads = sharing_claims.printed if reading["stability"] == "V as printed" else sharing_claims.relative_to_scenarios
    sjf, fcfs, snpf = range(3)
    statistics = (
        sharing_claims.excess(values, sjf, fcfs),
        sharing_claims.excess(values, snpf, fcfs),
        sharing_claims.narrower(spreads, sjf, fcfs),
        sharing_claims.excess(values, sjf, fcfs, 1),
        *(sharing_claims.behind(values, snpf, scenario) for scenario in range(3)),
    )
    return Judged([statistic_interval(array, partial(_percent_of, of)) for of in statistics], [])


def _percent_of(statistic: Callable[..., Any], picked: Any) -> Any:
    return 100.0 * statistic(picked)


# ------------------------------------------------------------------------------ two-level grid

STARTUPS = {"start-ups delay": False, "start-ups delay nobody": True}
SPEEDS = {"speed of a whole site": "site", "speed of a processor": "processor", "run times as logged at home": "origin"}
TABLE_10 = {
    "LBal_E": (0.37096774, 0.05069124), "LBal_S": (0.30875576, 0.05707196), "LBal_T": (0.50179211, 0.32526882),
    "LBal_W": (0.45362903, 0.29493088), "MaxAR_eff": (0.92059553, 0.68202765), "MaxAR_v": (0.06451613, 0.05376344),
    "MaxAR_veff": (0.06451613, 0.33064516), "MCT": (0.86021505, 0.09090909), "MCT_eff": (0.22939068, 0.06810036),
    "MLB": (0.66308244, 0.71827957), "MLB_eff": (0.71612903, 0.50537634), "MLB_v": (0.34408602, 0.45967742),
    "MLB_veff": (0.38709677, 0.35714286), "MLp": (0.24193548, 0.05846774), "MLp_eff": (0.359447, 0.11491935),
    "MLp_v": (0.16129032, 0.03494624), "MLp_veff": (0.1733871, 0.09475806), "MPL": (0.54516129, 0.28709677),
    "MPL_eff": (0.58312655, 0.16129032), "MPL_v": (0.25806452, 0.09677419), "MPL_veff": (0.31854839, 0.08797654),
    "MST": (0.60703812, 0.03225806), "MST_eff": (1.0, 0.29912023), "MST_v": (0.07096774, 0.08294931),
    "MST_veff": (0.07096774, 0.25806452), "MWT": (0.51612903, 0.29435484), "MWT_eff": (0.54569892, 0.32258065),
    "MWWT_S": (0.56129032, 0.32718894), "MWWT_T": (0.54032258, 0.39589443), "MWWT_W": (0.66451613, 0.4398827),
    "Random": (0.8266129, 0.42473118),
}  # fmt: skip
"""Set coverage on grid1 and grid2."""
TABLE_11 = {
    "LBal_E": (47.38, 0.0), "LBal_S": (24.62, 69.18), "LBal_T": (50.22, 69.42), "LBal_W": (28.46, 69.61),
    "MCT": (84.31, 37.43), "MCT_eff": (14.45, 65.59), "MLB": (74.38, 71.9), "MLB_eff": (81.21, 68.71),
    "MLB_v": (10.1, 70.5), "MLB_veff": (15.91, 67.58), "MLp": (21.39, 71.23), "MLp_eff": (49.28, 70.39),
    "MLp_v": (1.96, 67.39), "MLp_veff": (1.88, 68.59), "MPL": (74.04, 71.19), "MPL_eff": (82.55, 69.69),
    "MPL_v": (16.23, 69.23), "MPL_veff": (21.06, 68.14), "MST": (88.21, 31.53), "MST_eff": (92.16, 74.77),
    "MST_v": (0.34, 25.73), "MST_veff": (0.34, 74.64), "MWT": (61.13, 64.51), "MWT_eff": (58.5, 70.0),
    "MWWT_S": (60.37, 61.14), "MWWT_T": (61.23, 65.41), "MWWT_W": (67.72, 66.12), "MaxAR_eff": (87.87, 73.48),
    "MaxAR_v": (0.0, 5.99), "MaxAR_veff": (0.001, 64.72), "Random": (81.07, 68.53),
}  # fmt: skip
"""Degradation of the energy efficiency on grid1 and grid2, %."""


def judge_grid(grid: str, reading: Reading, place: Place, weeks: int) -> Judged:
    scenario = scenarios.Scenario(grid, SPEEDS[reading["speeds"]])
    given = scenarios.weeks_of(scenario, place.data / "swf", weeks)
    if grid == "grid2":
        given = readings_das2.with_stand_in(given, scenario, place.data / "swf", reading["DAS2"])
    if STARTUPS[reading["start-ups"]]:
        given = [without_startups(week) for week in given]
    best = scenarios.BEST
    found = scenarios.studied(given, tuple(STRATEGIES), (best,), place.store / "readings.sqlite", place.jobs)
    print(f"{grid} {dict(reading)}: {len(given)} weeks", file=sys.stderr, flush=True)
    study = verdicts.Study(scenario, found.assign(cores_per_board=scenarios.AS_BUILT), pd.DataFrame({"week": []}))
    number, column = len(given), GRID_COLUMNS[grid]
    ranks = [study.coverage.rank(name) for name in (best, "MST_v", "MLp_v")]
    names, others = zip(*verdicts.SPEED_PAIRS, strict=True)
    intervals = [
        *ranks,
        study.efficiency.rank(best),
        study.coverage.difference(others, names),
        study.coverage.difference(verdicts.PLANS, verdicts.LITTLE),
    ]
    changes = [study.change(metric)[0] for metric in ("wait_mean", "sd_b")]
    saving = study.saving()
    return Judged(
        [
            *(ConfidenceInterval(*found, number) for found in intervals),
            ConfidenceInterval(*(100.0 * part for part in saving[:3]), saving.samples),
            *changes,
        ],
        [
            Printed("Table 10", [row[column] for row in TABLE_10.values()], of_names(study.coverage, TABLE_10)),
            Printed("Table 11", [row[column] for row in TABLE_11.values()], of_names(study.efficiency, TABLE_11)),
        ],
    )


GRID_COLUMNS = {"grid1": 0, "grid2": 1}


def of_names(found: standing.Standing, names: Mapping[str, object]) -> list[float]:
    """Return the values of strategies."""
    return [float(found.values[found.names.index(name)]) for name in names]


def without_startups(week: Instance) -> Instance:
    """Return a week on the same platform whose start-ups take neither time nor energy."""
    clusters = []
    for cluster in week.platform.clusters:
        assert cluster.power_states is not None
        states = dataclasses.replace(cluster.power_states, startup_time=0.0)
        clusters.append(cluster.replace(power_states=states))
    return week.replace(platform=week.platform.replace(clusters=clusters))


# ------------------------------------------------------------------------------ all of them

GRID_FACTORS = (Factor("start-ups", tuple(STARTUPS)), Factor("speeds", tuple(SPEEDS)))


def grid_claims(ranks: Sequence[int]) -> tuple[Claim, ...]:
    """Return the claims, with the ranks of a grid in Tables 10 and 11."""
    first, second, third, efficient = ranks
    return (
        Claim(f"`MaxAR_v` has rank {first} or better by coverage", "", most=first),
        Claim(f"`MST_v` has rank {second} or better", "", most=second),
        Claim(f"`MLp_v` has rank {third} or better", "", most=third),
        Claim(f"`MaxAR_v` has rank {efficient} or better by energy efficiency", "", most=efficient),
        Claim("strategies that know speeds are covered less, difference", "", least=0.0),
        Claim("level 4 is covered more than levels 0 and 1, difference", "", least=0.0),
        Claim("switching off saves energy", least=0.0),
        Claim("without longer waits: at most 1 s", "s", most=1.0),
        Claim("without more slowdown: at most 0.1", "", most=0.1),
    )


QUEUE_FACTORS = (Factor("run times", TIMES), Factor("nodes of classics", tuple(NODES)))
PLAN = Factor("plan", tuple(PLANS))

SOURCES: Sequence[Source] = (
    Source(
        "pas",
        "PAS: H = 50 %, BSBW 1.1 GB/s",
        "seeds",
        (Factor("links", tuple(LINKS)), Factor("shares", tuple(SHARES)), Factor("sizes", tuple(SIZES))),
        (
            Claim("JPR responds later than PAS", least=0.0),
            Claim("CBS responds later than PAS", least=0.0),
            Claim("JPR co-allocates most, points", least=0.0),
            Claim("CBS co-allocates least, points", least=0.0),
        ),
        judge_pas,
    ),
    Source(
        "oas",
        "OAS: WL-1 to WL-3, slots of 50 %",
        "seeds",
        (PLAN, *QUEUE_FACTORS),
        (
            Claim("saves makespan against PAS", least=0.0),
            Claim("saves makespan against classics", least=0.0),
            Claim("saves 21 % against PAS", least=21.0),
            Claim("saves 30 % against classics", least=30.0),
        ),
        judge_oas,
    ),
    Source(
        "oas-paper",
        "OAS paper: WL-1 to WL-6 on 6 nodes",
        "seeds",
        (PLAN, *QUEUE_FACTORS),
        (
            Claim("saves makespan against classics", least=0.0),
            Claim("no classic is shorter in 95 % of the instances", least=95.0),
            Claim("slots of 15 % save at most 2 % over 50 %", most=2.0),
        ),
        judge_paper,
    ),
    Source(
        "mesd",
        "MESD: WL-1 to WL-3",
        "seeds",
        QUEUE_FACTORS,
        (Claim("saves makespan against classics", least=0.0), Claim("saves 15 % against classics", least=15.0)),
        judge_mesd,
    ),
    Source(
        "mesd-large",
        "MESD: HPC2N on 240 nodes",
        f"slices of {SLICE} jobs",
        (Factor("estimates", tuple(ESTIMATES)), Factor("nodes of classics", tuple(LARGE_NODES))),
        (
            Claim("co-allocates least, points", least=0.0),
            Claim("saturates less than classics, points", least=0.0),
            Claim("shortens execution against classics", least=0.0),
            Claim("responds sooner than classics", least=0.0),
        ),
        judge_large,
    ),
    Source(
        "pcbe",
        "PCBE: slices and the large experiment, against FCFS",
        "slices",
        (Factor("energy model", tuple(MODELS)), Factor("starvation", tuple(STARVATION))),
        (
            Claim("large experiment: saves 7 % energy", least=6.5),
            Claim("slices: saves up to 17 % energy", least=16.5),
            Claim("slices: saves up to 9 % time", least=8.5),
            Claim("slices: saves up to 15 % EDP", least=14.5),
            Claim("slices: saves energy on average", least=0.0),
            Claim("slices: saves EDP on average", least=0.0),
        ),
        judge_pcbe,
    ),
    Source(
        "cisne",
        "CISNE: three scenarios, three loads",
        "seeds",
        (
            Factor("run times", ("by model", "by application")),
            Factor("estimates", ("exact estimates", "noisy estimates")),
            Factor("stability", tuple(STABILITY)),
        ),
        (
            Claim("V of SJF-JFirst above FCFS-FFit", least=0.0),
            Claim("V of SNPF-BFit above FCFS-FFit", least=0.0),
            Claim("FCFS-FFit differs less between scenarios than SJF-JFirst", least=0.0),
            Claim("scenario 2: V of SJF-JFirst above FCFS-FFit", least=0.0),
            *(Claim(f"scenario {number}: V of SNPF-BFit above the others", least=0.0) for number in (1, 2, 3)),
        ),
        judge_cisne,
    ),
    Source(
        "grid1", "Two-level grid: grid1", "weeks", GRID_FACTORS, grid_claims((1, 3, 5, 1)), partial(judge_grid, "grid1")
    ),
    Source(
        "grid2",
        "Two-level grid: grid2",
        "weeks",
        (Factor("DAS2", tuple(readings_das2.STAND_INS)), *GRID_FACTORS),
        grid_claims((4, 8, 2, 2)),
        partial(judge_grid, "grid2"),
    ),
)
