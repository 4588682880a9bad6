"""The least energy of sites that switch off, against all schedules of tiny instances, looked at second by second."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest

import coalloc
from coalloc import Cluster, Instance, Job, NodeGroup, Platform, PowerStates
from coalloc.grid import least_energy
from coalloc.instance import CoallocError
from coalloc.power.sites import Working
from coalloc.schedule import Placement, Schedule
from coalloc.solvers.energy import switching
from coalloc.solvers.energy.site_periods import SitePeriods

STARTUP, CORE_GRACE, SITE_GRACE = 4, 2, 3


def site(name: str, cores: int, speed: float, *, per_board: int = 1, startup_watts: float = 300.0) -> Cluster:
    states = PowerStates(
        chassis=1,
        boards=-(-cores // per_board),
        cores=per_board,
        site_watts=7.0,
        chassis_watts=0.0,
        board_watts=20.0,
        core_idle_watts=5.0,
        core_working_watts=11.0,
        startup_time=float(STARTUP),
        core_grace=float(CORE_GRACE),
        site_grace=float(SITE_GRACE),
        startup_watts=startup_watts,
    )
    return Cluster(name, [NodeGroup(cores, power=speed)], link_bandwidth=0.0, power_states=states)


def tiny(seed: int, per_board: int = 1) -> Instance:
    """Return two sites of 1 to 3 cores and up to four jobs, with times in whole seconds."""
    draw = random.Random(seed)
    sites = [
        site(f"S{i}", draw.randint(1, 3), speed, per_board=per_board, startup_watts=float(draw.choice([5, 60, 400])))
        for i, speed in enumerate((1.0, 2.0))
    ]
    most = max(cluster.num_processors for cluster in sites)
    jobs = [
        Job(
            f"J{k}", tasks=draw.randint(1, most), base_time=2.0 * draw.randint(1, 8), arrival=float(draw.randint(0, 25))
        )
        for k in range(draw.randint(1, 4))
    ]
    return Instance(Platform(sites), jobs)


def joules_by_the_second(platform: Platform, jobs: list[tuple[int, int, int, int, int]]) -> float:
    """Return the least energy of jobs with a site, arrival, start, end and tasks; infinite where they cannot run so.

    Boards have one core. A second of a site has as many cores on as worked at once in it or in a grace period before:
    no fewer do, and the core that was left last can be taken first.
    """
    origin, horizon = min(job[1] for job in jobs), max(job[3] for job in jobs)
    total = 0.0
    for i, cluster in enumerate(platform.clusters):
        here, states = [job[1:] for job in jobs if job[0] == i], cluster.power_states
        assert states is not None
        busy = [sum(n for _, start, end, n in here if start <= t < end) for t in range(origin, horizon)]
        if max(busy, default=0) > cluster.num_processors:
            return math.inf
        off_at = -math.inf
        for _, start, end, _ in sorted(here, key=lambda job: job[1]):
            if start > off_at:
                waiting = min(arrival for arrival, begin, _, _ in here if begin >= start)
                if start - STARTUP < max(waiting, off_at):
                    return math.inf
                total += STARTUP * states.startup_draw(cluster.num_processors)
            off_at = max(off_at, end + CORE_GRACE + SITE_GRACE)
        for t in range(origin, horizon):
            if any(start <= t < end + CORE_GRACE + SITE_GRACE for _, start, end, _ in here):
                now = busy[t - origin]
                on = max(busy[max(0, t - CORE_GRACE - origin) : t - origin + 1])
                total += 7.0 + 20.0 * on + 5.0 * (on - now) + 11.0 * now
    return total


def brute_force(instance: Instance, longest_wait: int) -> float:
    """Return the least energy over all sites and whole starts."""
    options = [
        [
            (i, int(job.arrival), start, start + int(job.base_time / cluster.nodes[0].power), job.tasks)
            for i, cluster in enumerate(instance.platform.clusters)
            if job.tasks <= cluster.num_processors
            for start in range(int(job.arrival), int(job.arrival) + longest_wait + 1)
        ]
        for job in instance.jobs
    ]
    return min(joules_by_the_second(instance.platform, list(jobs)) for jobs in itertools.product(*options))


@pytest.mark.parametrize("seed", range(12))
def test_an_optimum_is_that_of_all_schedules(seed: int) -> None:
    instance = tiny(seed)
    instance = instance.replace(jobs=instance.jobs[:3])
    least, result = brute_force(instance, 5), least_energy(instance, 5.0)
    if math.isinf(least):
        assert result.status == "infeasible"
        return
    assert result.status == "optimal"
    assert result.objective == pytest.approx(least, rel=1e-9)
    assert result.schedule is not None
    assert coalloc.check(instance, result.schedule, scope="cluster", power_management=True) == []
    assert all(result.schedule[job.id].start <= job.arrival + 5.0 for job in instance.jobs)


@pytest.mark.parametrize("seed", range(40))
def test_the_bound_by_periods_holds_at_any_prices(seed: int) -> None:
    instance = tiny(seed)
    instance = instance.replace(jobs=sorted(instance.jobs, key=lambda job: job.arrival)[:2])
    least = brute_force(instance, 8)
    periods = SitePeriods(instance, 8.0, "total")
    draw = np.random.default_rng(seed)
    for scale in (0.0, 0.2, 1.0, 5.0):
        bound, _ = periods.bound((scale * draw.random(len(instance.jobs))).tolist())
        assert bound * 1e3 <= least * (1.0 + 1e-9)


@pytest.mark.parametrize("working", ["total", "extra"])
@pytest.mark.parametrize("seed", range(6))
def test_a_bound_holds_for_runs_of_policies_and_boards_of_two_cores(seed: int, working: Working) -> None:
    draw = random.Random(seed)
    sites = [site("A", 4, 1.0, per_board=2), site("B", 6, 1.7, per_board=2), site("C", 3, 3.1, startup_watts=900.0)]
    jobs = [
        Job(f"J{k}", tasks=draw.randint(1, 2), base_time=draw.uniform(1.0, 20.0), arrival=15.0 * k + draw.random())
        for k in range(12)
    ]
    instance = Instance(Platform(sites), jobs)
    result = least_energy(instance, 6.0, working=working, time_limit=5.0)
    assert result.lower_bound is not None
    assert result.objective is not None
    assert 0.0 < result.lower_bound <= result.objective
    for strategy in ("MST_v", "MaxAR_v", "Random"):
        run = coalloc.simulate(instance, "grid", strategy=strategy, power_management=True)
        assert all(run.schedule[job.id].start <= job.arrival + 6.0 for job in jobs)
        assert (
            result.lower_bound <= coalloc.energy(instance, run.schedule, power_management=True, working=working).total
        )


def test_a_result_without_an_exact_model_says_so() -> None:
    jobs = [Job("J1", tasks=1, base_time=5.0 + 1 / 7, arrival=0.0), Job("J2", tasks=1, base_time=5.0, arrival=1 / 3)]
    result = least_energy(Instance(Platform([site("A", 2, 1.0), site("B", 2, 1.7)]), jobs), 6.0)
    assert (result.status, result.stopped_by) == ("feasible", "work")
    assert result.message.startswith("no exact model was built: times have no common slot")


def test_a_core_that_is_left_when_a_job_must_start_may_be_taken_over() -> None:
    # J1 starts by 0.3 s, J2 ends then at the earliest; as floats, 0.1 + 0.2 > 0.05 + 0.25. Each second of a core takes
    # 7 + 20 + 11 W, a grace period of 2 s 25 W. That of J1 may be cut by the last end, 5.05 s at the earliest, and J1
    # may save that of J2; J2 is over before, and J1 does not end early enough for it.
    jobs = [Job("J1", tasks=1, base_time=5.0, arrival=0.05), Job("J2", tasks=1, base_time=0.2, arrival=0.1)]
    periods = SitePeriods(Instance(Platform([site("A", 1, 1.0)]), jobs), 0.25, "total")
    assert periods.costs == [pytest.approx([0.19 - 0.05, 0.0076 + 0.05])]


def test_the_bound_is_as_tolerant_as_the_meter() -> None:
    # At 1.76e9 s, times that differ by 2 us are equal: a job so much after the site is off needs no start-up.
    now = 1.76e9
    arrivals = {"J1": now, "J2": now + 19.000002}
    instance = Instance(
        Platform([site("A", 1, 1.0)]), [Job(name, tasks=1, base_time=10.0, arrival=s) for name, s in arrivals.items()]
    )
    starts = {"J1": now + 4.0, "J2": arrivals["J2"]}
    schedule = Schedule([Placement(name, start, start + 10.0, ["A/0"]) for name, start in starts.items()])
    assert coalloc.check(instance, schedule, power_management=True) == []
    metered = coalloc.energy(instance, schedule, power_management=True)
    assert metered.startups == {"A": 1}
    bound = least_energy(instance, 4.0).lower_bound
    assert bound is not None
    assert bound <= metered.total


@pytest.mark.parametrize(("arrival", "seconds", "next_arrival"), [(0.4, 3.2, 3.6), (0.1, 3.1, 3.2)])
def test_jobs_back_to_back_may_overlap_by_rounding(arrival: float, seconds: float, next_arrival: float) -> None:
    # The site has started up 4 s after J1 arrives, J1 ends when J2 must start. As floats, the end is after that: in
    # seconds in the first case, in slots of 0.1 s in the second one. J2 works for 2 s; a second takes 7 + 20 + 11 W.
    jobs = [
        Job("J1", tasks=1, base_time=seconds, arrival=arrival),
        Job("J2", tasks=1, base_time=2.0, arrival=next_arrival),
    ]
    result = least_energy(Instance(Platform([site("A", 1, 1.0)]), jobs), 4.0)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(1200.0 + 38.0 * (seconds + 2.0))


def test_sites_without_watts_have_costs_where_jobs_do_not_fit() -> None:
    small = site("A", 1, 1.0)
    watts = dict.fromkeys(("site_watts", "board_watts", "core_idle_watts", "core_working_watts"), 0.0)
    assert small.power_states is not None
    small = small.replace(power_states=small.power_states.replace(**watts))
    instance = Instance(Platform([small, site("B", 2, 1.0)]), [Job("J1", tasks=2, base_time=5.0)])
    with np.errstate(all="raise"):
        periods = SitePeriods(instance, 4.0, "total")
    assert periods.costs[0] == [math.inf]


def test_ctrl_c_keeps_the_best_known_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    # Two cores that J1 leaves are worth a grace period to either of J2 and J3 in the bound, but to one of them only.
    jobs = [Job(f"J{k}", tasks=2, base_time=10.0, arrival=5.0 * k) for k in range(3)]
    instance = Instance(Platform([site("A", 4, 1.0)]), jobs)
    monkeypatch.setattr(switching, "longest_slot", interrupted)
    result = least_energy(instance, 4.0)
    assert (result.status, result.stopped_by) == ("feasible", "interrupt")
    monkeypatch.setattr(switching, "priced", interrupted)
    with pytest.raises(KeyboardInterrupt):
        least_energy(instance, 4.0)


def test_start_ups_count_in_the_bound() -> None:
    # Two jobs of 10 s that arrive 100 s apart cannot share a start-up of 4 s x 300 W, nor wait: the site starts up
    # twice. Each works 10 s at 7 + 20 + 11 W; the first one's core, board and site go off after it (2 s x 32 W + 3 s x
    # 7 W). The second one's last end is the end of what is counted.
    jobs = [Job("J1", tasks=1, base_time=10.0, arrival=0.0), Job("J2", tasks=1, base_time=10.0, arrival=100.0)]
    result = least_energy(Instance(Platform([site("A", 1, 1.0)]), jobs), 4.0)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(2 * 1200.0 + 20 * 38.0 + 2 * 32.0 + 3 * 7.0)


def test_a_job_that_arrives_before_the_site_is_off_needs_no_start_up() -> None:
    # J1 runs from 4 to 14 s, and the site goes off 5 s later. J2 arrives at 18 s and starts before that.
    jobs = [Job("J1", tasks=1, base_time=10.0, arrival=0.0), Job("J2", tasks=1, base_time=10.0, arrival=18.0)]
    instance = Instance(Platform([site("A", 1, 1.0)]), jobs)
    result = least_energy(instance, 4.0)
    assert result.status == "optimal"
    assert result.schedule is not None
    assert coalloc.energy(instance, result.schedule, power_management=True).startups == {"A": 1}


@pytest.mark.parametrize(("longest_wait", "shown"), [(3.0, "from 4 s"), (10.0, "to 9 s")])
def test_waits_out_of_range_are_errors(longest_wait: float, shown: str) -> None:
    with pytest.raises(CoallocError, match=shown):
        least_energy(tiny(0), longest_wait)


def test_all_errors_are_reported_together() -> None:
    cluster = site("A", 2, 1.0)
    cluster = cluster.replace(nodes=[NodeGroup(1, power=1.0), NodeGroup(1, power=2.0)])
    with pytest.raises(CoallocError) as error:
        least_energy(Instance(Platform([cluster]), [Job("J1", tasks=2, base_time=1.0)]), 0.0)
    assert [line.split()[0] for line in str(error.value).splitlines()] == ["longest_wait", "least_energy"]


def test_jobs_that_no_schedule_serves_are_infeasible() -> None:
    # Three jobs of 100 s arrive at once at the only core; none may wait for another.
    jobs = [Job(f"J{k}", tasks=1, base_time=100.0, arrival=0.0) for k in range(3)]
    result = least_energy(Instance(Platform([site("A", 1, 1.0)]), jobs), 5.0)
    assert result.status == "infeasible"
    assert result.schedule is None


def test_no_jobs_take_no_energy() -> None:
    result = least_energy(Instance(Platform([site("A", 1, 1.0)]), []), 5.0)
    assert (result.status, result.objective) == ("optimal", 0.0)
