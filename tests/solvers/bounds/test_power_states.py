"""The linear programme below the energy of clusters with power states, switched off or always on."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import coalloc
from coalloc import Cluster, CoallocError, Instance, Job, NodeGroup, Platform, PowerStates
from coalloc.models.energy_relaxation import grouped
from coalloc.problem import discretise
from coalloc.rules.brokering import STRATEGIES
from tests.strategies import LAW

STATES = PowerStates(
    chassis=1,
    boards=2,
    cores=2,
    site_watts=8.0,
    chassis_watts=4.0,
    board_watts=6.0,
    core_idle_watts=1.0,
    core_working_watts=5.0,
    startup_watts=0.0,
    startup_time=20.0,
    core_grace=3.0,
    site_grace=7.0,
)


def site(name: str, power: float = 1.0, processors: int = 4, states: PowerStates | None = STATES) -> Cluster:
    return Cluster(name, [NodeGroup(processors, power)], link_bandwidth=0.0, efficiency=power, power_states=states)


def on_one_site(*jobs: Job) -> Instance:
    return Instance(Platform([site("S")]), jobs)


def test_it_is_tight_where_a_job_fills_its_site_until_the_end():
    # A busy core: 5 W, and 6/2 W of its board, 4/4 W of its chassis, 8/4 W of its site: 11 W. Four of them for 10 s are
    # 440 J. The site starts up at 0 W and then draws 4*5 + 2*6 + 4 + 8 = 44 W for 10 s, up to the last end.
    instance = on_one_site(Job("J1", 4, 10.0))
    for scope in ("platform", "cluster"):
        assert coalloc.lower_bound(instance, "energy", scope=scope) == pytest.approx(440.0)
    run = coalloc.simulate(instance, "grid", strategy="MLp", power_management=True)
    assert coalloc.energy(run.instance, run.schedule, power_management=True).total == pytest.approx(440.0)
    # "extra": each core 1 W more.
    assert coalloc.lower_bound(instance, "energy", working="extra") == pytest.approx(480.0)
    extra = coalloc.energy(run.instance, run.schedule, power_management=True, working="extra")
    assert extra.total == pytest.approx(480.0)


def test_always_on_it_is_tight_where_jobs_follow_each_other():
    # All on: 8 + 4 + 2*6 + 4*1 = 28 W for the 20 s that 2 jobs of all cores take; 80 core-seconds at 4 W more.
    instance = on_one_site(Job("J1", 4, 10.0), Job("J2", 4, 10.0))
    bound = coalloc.lower_bound(instance, "energy", power_management=False)
    assert bound == pytest.approx(20 * 28 + 80 * 4)
    run = coalloc.simulate(instance, "grid", strategy="MLp")
    assert coalloc.energy(run.instance, run.schedule).total == pytest.approx(20 * 28 + 80 * 4)
    # "extra": 5 W more instead of 4. EDP: times the 20 s.
    assert coalloc.lower_bound(instance, "energy", power_management=False, working="extra") == pytest.approx(960.0)
    assert coalloc.lower_bound(instance, "edp", power_management=False) == pytest.approx(880.0 * 20)


def test_a_core_that_draws_less_at_work_than_idle_is_worth_nothing_more():
    # At most all four cores work for all of the makespan: 28 - 4*(1 - 0.5) = 26 W for 10 s. One core works: 27.5 W.
    odd = STATES.replace(core_working_watts=0.5)
    instance = Instance(Platform([site("S", states=odd)]), [Job("J1", 1, 10.0)])
    assert coalloc.lower_bound(instance, "energy", power_management=False) == pytest.approx(260.0)
    run = coalloc.simulate(instance, "grid", strategy="MLp")
    assert coalloc.energy(run.instance, run.schedule).total == pytest.approx(275.0)


def test_a_board_and_a_chassis_have_no_more_cores_than_their_site():
    # One processor has board, chassis and site for itself: 5 + 6 + 4 + 8 W.
    instance = Instance(Platform([site("S", processors=1)]), [Job("J1", 1, 10.0)])
    assert coalloc.lower_bound(instance, "energy") == pytest.approx(230.0)


def two_sites(*jobs: Job) -> Instance:
    """Return a frugal site of 2 processors, and one of 4 that is twice as fast and draws four times as much a core."""
    plain = STATES.replace(site_watts=0.0, chassis_watts=0.0, board_watts=0.0)
    return Instance(
        Platform([site("frugal", 1.0, 2, plain), site("fast", 2.0, 4, plain.replace(core_working_watts=20.0))]), jobs
    )


def test_a_job_is_charged_for_the_cheapest_site_that_can_hold_it():
    # Frugal: 2 * 10 s * 5 W = 100 J; fast: 2 * 5 s * 20 W = 200 J.
    assert coalloc.lower_bound(two_sites(Job("J1", 2, 10.0)), "energy") == pytest.approx(100.0)
    # Three tasks find room on the fast site alone: 3 * 5 s * 20 W = 300 J; over both two may be on the frugal
    # one: 100 J, and one for 5 s at 20 W.
    wide = two_sites(Job("J1", 3, 10.0))
    assert coalloc.lower_bound(wide, "energy", scope="cluster") == pytest.approx(300.0)
    assert coalloc.lower_bound(wide, "energy") == pytest.approx(200.0)


def test_within_a_limit_the_cheapest_site_has_no_time_for_all():
    # Within 20 s the frugal site has 40 core-seconds: 2 of 3 jobs of 2 * 10 s. The third: 2 * 5 s * 20 W = 200 J.
    jobs = [Job(f"J{k}", 2, 10.0) for k in range(3)]
    assert coalloc.lower_bound(two_sites(*jobs), "energy") == pytest.approx(300.0)
    assert coalloc.lower_bound(two_sites(*jobs), "energy", makespan_limit=20.0) == pytest.approx(400.0)
    # One that arrives at 15 s, 20 s before the last instant but one, can end on the fast site alone.
    late = two_sites(Job("J0", 2, 5.0), Job("J1", 2, 10.0, arrival=15.0))
    assert coalloc.lower_bound(late, "energy", makespan_limit=24.0) == pytest.approx(50.0 + 200.0)
    with pytest.raises(CoallocError, match=r"no schedule ends within makespan_limit=19 s: the minimum is at least 20"):
        coalloc.lower_bound(late, "energy", makespan_limit=19.0)


def test_jobs_of_one_size_are_one_row():
    # 10 + 20 s; on the fast site half of it. With scope cluster the wide job has no room on the frugal one.
    instance = two_sites(Job("J1", 1, 10.0), Job("J2", 1, 20.0, arrival=5.0), Job("J3", 3, 8.0))
    small, wide = grouped(discretise(instance, None, scope="cluster"), None)
    assert (small.tasks, small.rooms, small.durations) == (1, (2, 4), (30.0, 15.0))
    assert (wide.tasks, wide.rooms, wide.durations) == (3, (0, 4), (0.0, 4.0))


@pytest.mark.parametrize(
    ("clusters", "jobs", "options", "fault"),
    [
        (
            [site("S"), site("bare", states=None)],
            [Job("J1", 1, 1.0)],
            {},
            r"clusters\[1\] \(cluster 'bare'\) has no power_states: the other clusters have them$",
        ),
        (
            [site("bare", states=None)],
            [Job("J1", 1, 1.0)],
            {"power_management": True},
            r"clusters\[0\] \(cluster 'bare'\) has no power_states: power management requires them$",
        ),
        (
            [Cluster("W", [NodeGroup(1, 1.0, idle_watts=1.0, static_watts=1.0, core_watts=1.0)], 0.0)],
            [Job("J1", 1, 1.0)],
            {"working": "extra"},
            r"working='extra' requires clusters with power_states, but the nodes have watts$",
        ),
        (
            [site("S"), site("T")],
            [Job("J1", 5, 1.0)],
            {"scope": "cluster"},
            r"job 'J1' fits on no cluster: it has 5 tasks$",
        ),
        ([site("S")], [], {"scope": "rack"}, r"scope.*'rack'"),
        ([site("S")], [], {"working": "most"}, r"working.*'most'"),
    ],
)
def test_what_cannot_be_bounded_is_one_line(clusters, jobs, options, fault):
    with pytest.raises(CoallocError, match=fault) as caught:
        coalloc.lower_bound(Instance(Platform(clusters), jobs), "energy", **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("option", [{"power_management": True}, {"working": "extra"}])
def test_watts_say_nothing_of_times(option):
    with pytest.raises(CoallocError, match=f"{next(iter(option))} requires objective energy or edp, got 'makespan'"):
        coalloc.lower_bound(on_one_site(), **option)


# ------------------------------------------------------------------------------ laws


@st.composite
def power_states(draw: st.DrawFn, processors: int) -> PowerStates:
    """Draw power states of a site of so many processors; some draw nothing, some draw less at work than idle."""
    watts = st.sampled_from((0.0, 0.5, 3.0, 40.0))
    cores, boards = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    seconds = st.sampled_from((0.0, 2.0, 15.0))
    return PowerStates(
        chassis=-(-processors // (cores * boards)),
        boards=boards,
        cores=cores,
        site_watts=draw(watts),
        chassis_watts=draw(watts),
        board_watts=draw(watts),
        core_idle_watts=draw(watts),
        core_working_watts=draw(watts),
        startup_watts=draw(st.none() | watts),
        startup_time=draw(seconds),
        core_grace=draw(seconds),
        site_grace=draw(seconds),
    )


@st.composite
def grids(draw: st.DrawFn) -> Instance:
    """Draw a grid of 1 to 3 sites and 1 to 6 jobs that only process, each within the largest site."""
    clusters = [
        site(f"S{i}", draw(st.sampled_from((0.5, 1.0, 3.0))), size, draw(power_states(size)))
        for i, size in enumerate(draw(st.lists(st.integers(1, 5), min_size=1, max_size=3)))
    ]
    largest = max(cluster.num_processors for cluster in clusters)
    jobs = [
        Job(
            f"J{j}",
            draw(st.integers(1, largest)),
            draw(st.sampled_from((10.0, 20.0)) | st.floats(1.0, 200.0)),
            arrival=draw(st.sampled_from((0.0, 30.0)) | st.floats(0.0, 100.0)),
        )
        for j in range(draw(st.integers(1, 6)))
    ]
    return Instance(Platform(clusters), jobs)


WAYS = st.fixed_dictionaries(
    {"working": st.sampled_from(("total", "extra")), "scope": st.sampled_from(("platform", "cluster"))}
)


@LAW
@given(
    grids(),
    st.sampled_from(sorted(STRATEGIES)),
    st.sampled_from(("easy", "fcfs", "conservative")),
    WAYS,
    st.booleans(),
    st.booleans(),
)
def test_no_run_of_a_broker_is_below_a_bound(instance, strategy, local, ways, managed, is_limited):
    run = coalloc.simulate(instance, "grid", strategy=strategy, local=local, power_management=managed)
    metered = coalloc.energy(instance, run.schedule, power_management=managed, working=ways["working"])
    within = {**ways, "makespan_limit": metered.makespan if is_limited else None}
    assert coalloc.lower_bound(instance, method="work", scope=ways["scope"]) <= metered.makespan * (1.0 + 1e-9)
    bound = coalloc.lower_bound(instance, "energy", power_management=managed, **within)
    assert bound <= metered.total * (1.0 + 1e-9)
    # A bound with power management is one without as well.
    assert coalloc.lower_bound(instance, "energy", **within) <= metered.total * (1.0 + 1e-9)


@LAW
@given(grids(), WAYS)
def test_always_on_is_never_cheaper_and_a_limit_never_saves(instance, ways):
    switched, always = (
        coalloc.lower_bound(instance, "energy", power_management=managed, **ways) for managed in (True, False)
    )
    assert switched * (1.0 - 1e-6) <= always
    limit = 2.0 * sum(2.0 * job.base_time for job in instance.jobs) + max(job.arrival for job in instance.jobs)
    within = coalloc.lower_bound(instance, "energy", power_management=True, makespan_limit=limit, **ways)
    assert switched * (1.0 - 1e-6) <= within
