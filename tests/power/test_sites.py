"""Clusters with power states against timelines integrated by hand, and the laws that their parts keep."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

import coalloc
from coalloc.instance import Cluster, CoallocError, Instance, Job, NodeGroup, Platform, PowerStates, RunningJob
from coalloc.power.meter import energy, power_curve
from coalloc.power.sites import SITE_PARTS
from coalloc.schedule import Placement, Schedule
from tests.strategies import LAW

STATES = PowerStates(
    chassis=2,
    boards=2,
    cores=2,
    site_watts=50.0,
    chassis_watts=5.0,
    board_watts=10.0,
    core_idle_watts=2.0,
    core_working_watts=7.0,
    startup_watts=30.0,
    startup_time=20.0,
    core_grace=5.0,
    site_grace=10.0,
)
SITE = Cluster("S", [NodeGroup(7, power=1.0)], 0.0, power_states=STATES)
"""Cores 0 and 1 are on board 0, 2 and 3 on board 1, both in chassis 0; 4 and 5 on board 2, 6 alone on board 3."""


def grid(jobs, placements, sites=(SITE,), running=()):
    return Instance(Platform(tuple(sites)), tuple(jobs), tuple(running)), Schedule(tuple(placements))


def placed(job, start, end, cores, site="S"):
    return Placement(job, start, end, tuple(f"{site}/{core}" for core in cores))


def parts(*args, **options):
    return tuple(energy(*args, power_management=True, **options).parts.values())


def test_one_job_starts_the_site_up_and_all_of_it_goes_off_again():
    # Job A arrives at 0 and starts at 20; B, at another site, runs to 100, so that S goes off: core and boards at 35,
    # the site at 45. Start-up 20 s at 30 W; site 25 s; chassis and board 15 s each; the core works 10 s, idles 5 s.
    two = (SITE, SITE.replace(name="T"))
    jobs = [Job("A", 1, 10.0), Job("B", 2, 80.0)]
    instance, schedule = grid(jobs, [placed("A", 20.0, 30.0, [6]), placed("B", 20.0, 100.0, [0, 1], "T")], two)
    metered = energy(instance, schedule, power_management=True)
    assert metered.cluster_parts["S"] == {
        "site": 50.0 * 25.0,
        "chassis": 5.0 * 15.0,
        "board": 10.0 * 15.0,
        "idle": 2.0 * 5.0,
        "working": 7.0 * 10.0,
        "startup": 30.0 * 20.0,
    }
    # T works to the last end and is metered no longer: 80 s on one board with both of its cores.
    assert tuple(metered.cluster_parts["T"].values()) == (4000.0, 400.0, 800.0, 0.0, 1120.0, 600.0)
    assert metered.startups == {"S": 1, "T": 1}
    assert metered.total == 1250 + 75 + 150 + 10 + 70 + 600 + 4000 + 400 + 800 + 1120 + 600


def test_within_the_grace_of_a_core_nothing_goes_off():
    # A works on core 0 over [20, 30), B over [34, 40): the core idles 4 s between them. The last end is 40.
    jobs = [Job("A", 1, 10.0), Job("B", 1, 6.0, arrival=34.0)]
    given = grid(jobs, [placed("A", 20.0, 30.0, [0]), placed("B", 34.0, 40.0, [0])])
    assert parts(*given) == (50 * 20.0, 5 * 20.0, 10 * 20.0, 2 * 4.0, 7 * 16.0, 600.0)


def test_a_core_idles_out_its_grace_while_another_works():
    # B is on board 1, in the same chassis: core 0 and board 0 stay on to 35, the chassis on and on.
    jobs = [Job("A", 1, 10.0), Job("B", 1, 6.0, arrival=34.0)]
    given = grid(jobs, [placed("A", 20.0, 30.0, [0]), placed("B", 34.0, 40.0, [3])])
    assert parts(*given) == (50 * 20.0, 5 * 20.0, 10 * (15.0 + 6.0), 2 * 5.0, 7 * 16.0, 600.0)


def test_a_job_in_the_second_grace_period_keeps_the_site_on():
    # Core, board and chassis go off at 35, the site would at 45. B comes at 40: no start-up.
    jobs = [Job("A", 1, 10.0), Job("B", 1, 10.0, arrival=40.0)]
    given = grid(jobs, [placed("A", 20.0, 30.0, [0]), placed("B", 40.0, 50.0, [0])])
    assert parts(*given) == (50 * 30.0, 5 * 25.0, 10 * 25.0, 2 * 5.0, 7 * 20.0, 600.0)


def test_a_job_that_arrives_while_the_site_goes_off_waits_for_a_start_up():
    # The site is off from 45 on. B arrives at that very instant and waits 20 s.
    jobs = [Job("A", 1, 10.0), Job("B", 1, 10.0, arrival=45.0)]
    given = grid(jobs, [placed("A", 20.0, 30.0, [0]), placed("B", 65.0, 75.0, [0])])
    assert parts(*given) == (50 * 35.0, 5 * 25.0, 10 * 25.0, 2 * 5.0, 7 * 20.0, 2 * 600.0)
    curve = power_curve(*given, power_management=True)
    assert curve.instants.tolist() == [0.0, 20.0, 30.0, 35.0, 45.0, 65.0, 75.0]
    assert curve.total.tolist() == [30.0, 72.0, 67.0, 50.0, 30.0, 72.0]


def test_a_site_that_comes_on_at_the_instant_at_which_it_would_go_off_stays_on():
    # Nothing has grace: B waits for A and starts at its end, 30.
    site = SITE.replace(power_states=STATES.replace(core_grace=0.0, site_grace=0.0))
    jobs = [Job("A", 7, 10.0), Job("B", 7, 10.0, arrival=25.0)]
    given = grid(jobs, [placed("A", 20.0, 30.0, range(7)), placed("B", 30.0, 40.0, range(7))], [site])
    assert parts(*given) == (50 * 20.0, 2 * 5 * 20.0, 4 * 10 * 20.0, 0.0, 7 * 7 * 20.0, 600.0)


def test_two_jobs_during_a_start_up_wait_for_the_same():
    # B arrives at 12, while the site starts up for A: both start at 20. A on board 0, B on chassis 1 and core 6.
    jobs = [Job("A", 2, 10.0), Job("B", 1, 10.0, arrival=12.0)]
    given = grid(jobs, [placed("A", 20.0, 30.0, [0, 1]), placed("B", 20.0, 30.0, [6])])
    assert parts(*given) == (500.0, 2 * 50.0, 2 * 100.0, 0.0, 3 * 70.0, 600.0)
    assert coalloc.check(*given, power_management=True) == []


def test_always_on_everything_draws_from_beginning_to_end():
    # 7 cores, 4 boards and 2 chassis for 50 s; 20 core-seconds of work.
    jobs = [Job("A", 1, 10.0), Job("B", 1, 10.0, arrival=40.0)]
    given = grid(jobs, [placed("A", 20.0, 30.0, [0]), placed("B", 40.0, 50.0, [0])])
    metered = energy(*given)
    expected = (50 * 50.0, 2 * 5 * 50.0, 4 * 10 * 50.0, 2 * (7 * 50 - 20.0), 7 * 20.0, 0.0)
    assert tuple(metered.parts.values()) == expected
    assert metered.startups == {"S": 0}
    curve = power_curve(*given)
    assert curve.parts == SITE_PARTS
    assert curve.total.tolist() == [114.0, 119.0, 114.0, 119.0]


def test_working_watts_can_be_an_extra_upon_idle_watts():
    # The letter of equation (9): the cores idle for all of the 15 and 10 s that they are on.
    jobs = [Job("A", 1, 10.0), Job("B", 1, 10.0, arrival=40.0)]
    given = grid(jobs, [placed("A", 20.0, 30.0, [0]), placed("B", 40.0, 50.0, [0])])
    assert parts(*given, working="extra")[3:5] == (2 * 25.0, 7 * 20.0)
    assert energy(*given, working="extra").parts["idle"] == 2 * 7 * 50.0
    assert power_curve(*given, power_management=True, working="extra").joules == pytest.approx(
        energy(*given, power_management=True, working="extra").total, rel=1e-12
    )


def test_a_start_up_draws_all_of_the_site_idle_where_no_watts_are_given():
    # 50 + 2 * 5 + 4 * 10 + 7 * 2 = 114 W for 20 s.
    site = SITE.replace(power_states=STATES.replace(startup_watts=None))
    given = grid([Job("A", 1, 10.0)], [placed("A", 20.0, 30.0, [0])], [site])
    assert energy(*given, power_management=True).parts["startup"] == 114.0 * 20.0


def test_a_site_at_which_jobs_run_already_is_on_at_0():
    # R ends at 4; core off at 9, site at 19. A arrives at 10: in the second grace period.
    running = [RunningJob(Job("R", 1, 9.0), ["S/2"], end=4.0)]
    given = grid([Job("A", 1, 10.0, arrival=10.0)], [placed("A", 10.0, 20.0, [0])], running=running)
    assert parts(*given) == (50 * 20.0, 5 * 19.0, 10 * 19.0, 2 * 5.0, 7 * 14.0, 0.0)
    assert coalloc.check(*given, power_management=True) == []
    assert energy(*given, power_management=True).jobs["R"].total == 28.0


def test_cores_and_jobs_have_what_they_consumed_themselves():
    jobs = [Job("A", 2, 10.0), Job("B", 1, 10.0, arrival=34.0)]
    metered = energy(
        *grid(jobs, [placed("A", 20.0, 30.0, [0, 1]), placed("B", 34.0, 44.0, [0])]), power_management=True
    )
    # Core 0 idles from 30 to 34, core 1 from 30 to 35.
    assert [(n.dynamic, n.idle, n.busy) for n in metered.nodes.values()][:3] == [(140, 8, 20), (70, 10, 10), (0, 0, 0)]
    assert {name: job.total for name, job in metered.jobs.items()} == {"A": 140.0, "B": 70.0}
    assert metered.dynamic == 210.0
    assert metered.dynamic + metered.static + metered.idle == metered.total
    assert list(metered.to_frame("cluster")) == ["cluster", "total", *SITE_PARTS]


def test_printing_says_the_parts_and_the_start_ups():
    given = grid([Job("A", 1, 10.0)], [placed("A", 20.0, 30.0, [0])])
    assert str(energy(*given, power_management=True)).splitlines() == [
        "energy     1320 J: site 500, chassis 50, board 100, idle 0, working 70, startup 600",
        "start-ups  1",
        "makespan   30 s",
        "EDP        39600 J s, ED2P 1.188e+06 J s^2",
        "work       0.00757576 processor-seconds of the reference node per J",
    ]


def test_no_jobs_take_no_energy():
    for power_management in (False, True):
        metered = energy(*grid([], []), power_management=power_management)
        assert (metered.total, metered.startups, len(metered.jobs)) == (0.0, {"S": 0}, 0)
        assert power_curve(*grid([], []), power_management=power_management).joules == 0.0


def test_a_job_on_two_sites_is_metered_at_both():
    # T is started up as well, and each works with one core for 10 s: 600 + 500 + 50 + 100 + 70 J twice.
    given = grid([Job("A", 2, 10.0)], [Placement("A", 20.0, 30.0, ("S/0", "T/3"))], (SITE, SITE.replace(name="T")))
    metered = energy(*given, power_management=True)
    assert metered.clusters == {"S": 1320.0, "T": 1320.0}
    assert metered.jobs["A"].total == 140.0


# ------------------------------------------------------------------------------ what is refused

NODES = Cluster("N", [NodeGroup(2, 1.0, idle_watts=1.0, static_watts=1.0, core_watts=1.0)], 0.0)


def test_clusters_without_power_states_are_named():
    given = grid([Job("A", 1, 10.0)], [placed("A", 20.0, 30.0, [0])], [SITE, NODES, NODES.replace(name="M")])
    for refused in (energy, power_curve):
        with pytest.raises(CoallocError) as error:
            refused(*given)
        assert str(error.value).splitlines() == [
            "clusters[1] (cluster 'N') has no power_states: the other clusters have them",
            "clusters[2] (cluster 'M') has no power_states: the other clusters have them",
        ]
    nodes = grid([Job("A", 1, 10.0)], [placed("A", 0.0, 10.0, [0], "N")], [NODES])
    for refused in (energy, power_curve, coalloc.check, coalloc.plot.power_plot, coalloc.results.series):
        with pytest.raises(CoallocError, match=r"^clusters\[0\] \(cluster 'N'\) has no power_states: power management"):
            refused(*nodes, power_management=True)


def test_options_of_the_other_kind_of_platform_are_refused():
    given = grid([Job("A", 1, 10.0)], [placed("A", 20.0, 30.0, [0])])
    with pytest.raises(CoallocError, match=r"^idle='from-first-use' requires nodes with watts, but the clusters have"):
        energy(*given, idle="from-first-use")
    nodes = grid([Job("A", 1, 10.0)], [placed("A", 0.0, 10.0, [0], "N")], [NODES])
    with pytest.raises(CoallocError, match=r"^working='extra' requires clusters with power_states, but the nodes have"):
        energy(*nodes, working="extra")
    with pytest.raises(CoallocError, match="working: must be 'total' or 'extra', got 'both'"):
        energy(*given, working="both")


@pytest.mark.parametrize(
    ("start", "sentence"),
    [
        (64.0, "at 44 s for the job that starts there at 64 s, but it goes off at 45 s; "),
        (46.0, "at 26 s for the job that starts there at 46 s, but it goes off at 45 s; "),
    ],
)
def test_a_schedule_that_does_not_wait_for_a_start_up_is_not_metered(start, sentence):
    jobs = [Job("A", 1, 10.0), Job("B", 1, 10.0, arrival=40.0)]
    given = grid(jobs, [placed("A", 20.0, 30.0, [0]), placed("B", start, start + 10.0, [0])])
    with pytest.raises(CoallocError) as error:
        energy(*given, power_management=True)
    assert str(error.value).startswith(f"site 'S' must start up {sentence}coalloc.check(")
    assert energy(*given).startups == {"S": 0}


def test_a_start_up_does_not_begin_before_the_meter():
    given = grid([Job("A", 1, 10.0, arrival=5.0)], [placed("A", 24.0, 34.0, [0])])
    with pytest.raises(CoallocError, match=r"must start up at 4 s .* but the energy model starts at 5 s"):
        energy(*given, power_management=True)


# ------------------------------------------------------------------------------ laws

watts = st.sampled_from((0.0, 1.0, 2.5, 17.8, 110.0))
seconds = st.sampled_from((0.0, 1.0, 5.0, 7.5, 20.0))
states = st.builds(
    PowerStates,
    chassis=st.integers(2, 4),
    boards=st.integers(2, 3),
    cores=st.integers(2, 3),
    site_watts=watts,
    chassis_watts=watts,
    board_watts=watts,
    core_idle_watts=watts,
    core_working_watts=watts,
    startup_time=seconds,
    core_grace=seconds,
    site_grace=seconds,
    startup_watts=st.none() | watts,
)


@st.composite
def runs(draw):
    """Draw jobs on one or two sites, each put off until its processors are free and its site has started up."""
    sites = [
        Cluster(name, [NodeGroup(draw(st.integers(1, 8)), 1.0)], 0.0, power_states=draw(states))
        for name in ("S", "T")[: draw(st.integers(1, 2))]
    ]
    off_at = {site.name: -1e9 for site in sites}
    free_at: dict[str, float] = {}
    jobs, placements, now = [], [], 0.0
    for number in range(draw(st.integers(1, 8))):
        now += draw(st.sampled_from((0.0, 0.1, 3.0, 12.0, 60.0)))
        site = draw(st.sampled_from(sites))
        own = site.power_states
        cores = sorted(draw(st.sets(st.integers(0, site.num_processors - 1), min_size=1)))
        duration = draw(st.sampled_from((0.1, 1.0, 10.0 / 3.0, 40.0)))
        start = max([now, *(free_at.get(f"{site.name}/{core}", 0.0) for core in cores)])
        if start > off_at[site.name]:
            start = max(now, off_at[site.name]) + own.startup_time
        jobs.append(Job(f"J{number}", len(cores), duration, arrival=now))
        placements.append(placed(f"J{number}", start, start + duration, cores, site.name))
        now = start
        free_at |= {f"{site.name}/{core}": start + duration for core in cores}
        off_at[site.name] = max(off_at[site.name], start + duration + own.core_grace + own.site_grace)
    return grid(jobs, placements, sites)


@LAW
@given(runs(), st.booleans(), st.sampled_from(["total", "extra"]))
def test_the_parts_add_up_and_the_curve_has_their_area(given, power_management, working):
    assert coalloc.check(*given, power_management=True) == []
    metered = energy(*given, power_management=power_management, working=working)
    curve = power_curve(*given, power_management=power_management, working=working)
    areas = curve.watts @ (curve.instants[1:] - curve.instants[:-1])
    assert areas.tolist() == pytest.approx(list(metered.parts.values()), rel=1e-9, abs=1e-6)
    assert metered.total == pytest.approx(sum(metered.clusters.values()), rel=1e-9)
    assert metered.total == pytest.approx(metered.dynamic + metered.static + metered.idle, rel=1e-9)
    own = sum(node.total for node in metered.nodes.values())
    assert own == pytest.approx(metered.idle + metered.dynamic, rel=1e-9, abs=1e-9)
    assert sum(job.total for job in metered.jobs.values()) == pytest.approx(metered.dynamic, rel=1e-9)
    assert (curve.watts >= 0.0).all()


@LAW
@given(runs(), st.sampled_from(["total", "extra"]))
def test_always_on_is_never_cheaper_but_for_start_ups(given, working):
    managed = energy(*given, power_management=True, working=working)
    always = energy(*given, working=working)
    assert managed.total - managed.parts["startup"] <= always.total * (1 + 1e-9)
    assert managed.parts["working"] == always.parts["working"]
    for part, joules in itertools.islice(managed.parts.items(), 4):
        assert joules <= always.parts[part] * (1 + 1e-9) + 1e-9


@LAW
@given(runs(), st.randoms(use_true_random=False))
def test_the_order_of_placements_does_not_matter(given, random):
    instance, schedule = given
    shuffled = list(schedule.placements)
    random.shuffle(shuffled)
    metered = energy(instance, schedule, power_management=True)
    assert energy(instance, Schedule(shuffled), power_management=True).total == pytest.approx(metered.total, rel=1e-12)
