"""Every strategy against its formula on a state made by hand, ties, and what each level may know."""

from dataclasses import fields
from statistics import pstdev
from typing import get_args

import numpy as np
import pytest

from coalloc.rules.brokering import STRATEGIES, VIEWS, Prospect, StrategyName, factors_of, first_least

STATE = {
    "admissible": [0, 1, 2],
    "factors": factors_of((1.0, 2.0, 4.0), (4.0, 2.0, 1.0)),
    "rng": None,
    "sizes": (10, 20, 40),
    "free": (5, 8, 10),
    "num_jobs": (2, 5, 9),
    "tasks": 4,
    "assigned_tasks": (5, 12, 30),
    "estimate": 10.0,
    "assigned_estimates": (60.0, 70.0, 200.0),
    "assigned_work": (150.0, 400.0, 900.0),
    "working_watts": (20.0, 30.0, 100.0),
    "prospects": [
        Prospect(30.0, 60.0, (40.0, 100.0, 900.0, 2000.0)),
        Prospect(24.0, 70.0, (72.0, 84.0, 800.0, 1500.0)),
        Prospect(50.0, 80.0, (150.0, 150.0, 950.0, 1000.0)),
    ],
}
"""Three sites of 10, 20 and 40 processors, and a job of 4 tasks for 10 s: a work of 40."""


def view(level, **changes):
    """Return what a level sees of the state."""
    state = STATE | changes
    return VIEWS[level](**{field.name: state[field.name] for field in fields(VIEWS[level])})


def chosen(name, **changes):
    """Return the site that a strategy chooses by a view of its own level."""
    return STRATEGIES[name].choose(view(STRATEGIES[name].level, **changes))


@pytest.mark.parametrize(
    ("name", "costs", "site"),
    [
        # available share 5/10, 8/20, 10/40 times f: the most is chosen
        ("MaxAR_v", (-0.5 * 1, -0.4 * 2, -0.25 * 4), 2),
        ("MaxAR_eff", (-0.5 * 4, -0.4 * 2, -0.25 * 1), 0),
        ("MaxAR_veff", (-0.5 * 4, -0.4 * 4, -0.25 * 4), 0),
        # 2 + 1, 5 + 1 and 9 + 1 jobs
        ("MLp", (3 / 10, 6 / 20, 10 / 40), 2),
        ("MLp_v", (3 / 10, 6 / 40, 10 / 160), 2),
        ("MLp_eff", (3 / 40, 6 / 40, 10 / 40), 0),
        ("MLp_veff", (3 / 40, 6 / 80, 10 / 160), 2),
        # 5 + 4, 12 + 4 and 30 + 4 tasks
        ("MPL", (9 / 10, 16 / 20, 34 / 40), 1),
        ("MPL_v", (9 / 10, 16 / 40, 34 / 160), 2),
        ("MPL_eff", (9 / 40, 16 / 40, 34 / 40), 0),
        ("MPL_veff", (9 / 40, 16 / 80, 34 / 160), 1),
        # work 150 + 40, 400 + 40 and 900 + 40
        ("MLB", (190 / 10, 440 / 20, 940 / 40), 0),
        ("MLB_v", (190 / 10, 440 / 40, 940 / 160), 2),
        ("MLB_eff", (190 / 40, 440 / 40, 940 / 40), 0),
        ("MLB_veff", (190 / 40, 440 / 80, 940 / 160), 0),
        # tasks per processor 0.5, 0.6, 0.75 without the job, whose 4 are 0.4, 0.2 or 0.1 more
        ("LBal_S", (pstdev([0.9, 0.6, 0.75]), pstdev([0.5, 0.8, 0.75]), pstdev([0.5, 0.6, 0.85])), 0),
        # estimates per processor 6, 3.5, 5; the job's 10 s are 1, 0.5 or 0.25 more
        ("LBal_T", (pstdev([7, 3.5, 5]), pstdev([6, 4, 5]), pstdev([6, 3.5, 5.25])), 1),
        # work per processor 15, 20, 22.5; the job's 40 are 4, 2 or 1 more
        ("LBal_W", (pstdev([19, 20, 22.5]), pstdev([15, 22, 22.5]), pstdev([15, 20, 23.5])), 0),
        # watts/v 20/1, 30/2, 100/4 times work per processor: 300, 300, 562.5; the job's 80, 30 or 25 more
        ("LBal_E", (pstdev([380, 300, 562.5]), pstdev([300, 330, 562.5]), pstdev([300, 300, 587.5])), 0),
        ("MCT", (60, 70, 80), 0),
        ("MCT_eff", (60 / 4, 70 / 2, 80), 0),
        # 3, 6 and 10 jobs with the new one
        ("MWT", (40 / 3, 72 / 6, 150 / 10), 1),
        ("MWT_eff", (40 / 3 / 4, 72 / 6 / 2, 150 / 10), 0),
        ("MWWT_S", (100 / 3, 84 / 6, 150 / 10), 1),
        ("MWWT_T", (900 / 3, 800 / 6, 950 / 10), 2),
        ("MWWT_W", (2000 / 3, 1500 / 6, 1000 / 10), 2),
        ("MST", (30, 24, 50), 1),
        ("MST_v", (30, 24 / 2, 50 / 4), 1),
        ("MST_eff", (30 / 4, 24 / 2, 50), 0),
        ("MST_veff", (30 / 4, 24 / 4, 50 / 4), 1),
    ],
)
def test_the_choice_is_that_of_the_formula(name, costs, site):
    assert chosen(name) == site == costs.index(min(costs))
    # Without that site the job goes to the better one of the two others.
    others = [i for i in range(3) if i != site]
    prospects = [STATE["prospects"][i] for i in others]
    assert chosen(name, admissible=others, prospects=prospects) == min(others, key=lambda i: costs[i])


def test_the_energy_of_a_job_counts_the_speed_of_its_site_and_the_watts_there():
    # Loads 300, 300, 562.5 as above. At 3 times the watts site 1 has 900, and the job costs 90 there: 300, 990, 562.5
    # deviates more than 300, 900, 587.5.
    assert chosen("LBal_E", working_watts=(20.0, 90.0, 100.0), admissible=[1, 2]) == 2
    # At 4 times the speed it is as if it drew a quarter: 300, 225 and 562.5, where the job's 30/8 * 40/20 is best.
    factors = factors_of((1.0, 8.0, 4.0), (1.0, 1.0, 1.0))
    assert chosen("LBal_E", working_watts=(20.0, 90.0, 100.0), factors=factors, admissible=[1, 2]) == 1


def test_all_sites_deviate_but_only_those_that_are_large_enough_are_candidates():
    # Tasks per processor 0.9, 0.2, 0.3: the 4 of the job make 0.4 at site 1, which is nearer to the 0.9 of site 0, too
    # small a site, than 0.4 at site 2: 0.9, 0.4, 0.3 (0.262) against 0.9, 0.2, 0.4 (0.294).
    assert chosen("LBal_S", assigned_tasks=(9, 4, 12), admissible=[1, 2]) == 1


@pytest.mark.parametrize("name", [name for name in STRATEGIES if name != "Random"])
def test_of_equal_sites_the_first_is_chosen(name):
    # Three sites in the same state; MaxAR's is a tie at 0, nothing is free.
    same = {"sizes": (10,) * 3, "free": (0,) * 3, "num_jobs": (3,) * 3, "assigned_tasks": (7,) * 3}
    same |= {"assigned_estimates": (70.0,) * 3, "assigned_work": (90.0,) * 3, "working_watts": (20.0,) * 3}
    same |= {"factors": factors_of((2.0,) * 3, (0.5,) * 3), "prospects": [Prospect(5.0, 9.0, (1.0, 2.0, 3.0, 4.0))] * 3}
    assert chosen(name, **same) == 0
    assert chosen(name, **same | {"admissible": [1, 2], "prospects": same["prospects"][1:]}) == 1


@pytest.mark.parametrize(
    ("costs", "site"), [((1.0 + 5e-10, 1.0), 4), ((1.0 + 5e-9, 1.0), 7), ((-1.0 + 5e-10, -1.0), 4), ((1e-12, 0.0), 7)]
)
def test_costs_tie_within_a_billionth_of_the_least(costs, site):
    assert first_least([4, 7], costs) == site


def test_random_draws_every_admissible_site_alike():
    rng = np.random.default_rng(1)
    drawn = [chosen("Random", admissible=[0, 2], rng=rng) for _ in range(1000)]
    assert set(drawn) == {0, 2}
    assert abs(drawn.count(0) - 500) < 64  # four standard deviations of a fair coin
    rng = np.random.default_rng(1)
    assert drawn == [chosen("Random", admissible=[0, 2], rng=rng) for _ in range(1000)]


# ------------------------------------------------------------------------------ what each level knows


def test_there_are_the_31_strategies_of_the_table():
    assert tuple(STRATEGIES) == get_args(StrategyName)
    assert [sum(s.level == level for s in STRATEGIES.values()) for level in range(5)] == [1, 7, 5, 7, 11]


@pytest.mark.parametrize("name", [name for name, strategy in STRATEGIES.items() if strategy.level])
def test_no_strategy_of_a_level_could_do_with_less(name):
    with pytest.raises(AttributeError):
        STRATEGIES[name].choose(view(STRATEGIES[name].level - 1))


@pytest.mark.parametrize(
    ("level", "hidden"),
    [(0, "sizes"), (0, "num_jobs"), (1, "tasks"), (1, "assigned_tasks"), (2, "estimate"), (2, "working_watts"),
     (3, "prospects")],
)  # fmt: skip
def test_a_view_that_is_asked_for_more_than_its_level_raises(level, hidden):
    assert not hasattr(view(level), "__dict__")
    with pytest.raises(AttributeError):
        getattr(view(level), hidden)
    assert getattr(view(level + 1), hidden) == STATE[hidden]


def test_factors_are_relative_to_the_slowest_and_the_least_efficient():
    factors = factors_of((6.0, 3.0), (0.5, 2.0))
    assert factors == {"1": (1, 1), "v": (2, 1), "eff": (1, 4), "veff": (2, 4)}
    assert set(factors_of((6.0, 3.0), None)) == {"1", "v"}
