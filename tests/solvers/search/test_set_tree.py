"""The tree of running sets: it finds what brute force finds, whatever it remembers, compares and learns."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import coalloc
from coalloc.documents.errors import InternalError
from coalloc.engine import engine
from coalloc.instance import Instance, Job, RunningJob
from coalloc.instance.features import FEATURES
from coalloc.objectives import Criterion
from coalloc.objectives.registry import regular_objective
from coalloc.problem import discretise, slot_seconds
from coalloc.rules.serial_sgs import best_list_schedule
from coalloc.schedule import schedule_of
from coalloc.solvers import list_schedules, portfolio
from coalloc.solvers.backends import cpsat, pumpkin
from coalloc.solvers.bounds import feasible_set, simple
from coalloc.solvers.bounds.feasible_set import FeasibleSets
from coalloc.solvers.incumbent import Incumbent
from coalloc.solvers.method import once
from coalloc.solvers.search import set_tables, set_tree
from coalloc.solvers.search.ceilings import ceiling_below
from coalloc.solvers.search.node_prices import NodePrices
from coalloc.solvers.search.set_tables import SetTables, TooManyError
from coalloc.solvers.search.set_tree import METHOD, SetTree
from coalloc.testing import brute_force_oas, small_feature_instance
from tests.small_instances import TINY, equal_instances, slotted_instances
from tests.strategies import LAW

SLOTS = ("5%", "15%", "50%", None)


def tied(rng, jobs):
    """Some jobs after others, and with deadlines, which leave most of them room."""
    work = sum(job.base_time for job in jobs)
    for i in range(1, len(jobs)):
        before = {jobs[int(rng.integers(i))].id for _ in range(int(rng.integers(3)))}
        deadline = jobs[i].arrival + float(rng.uniform(0.7, 2.0)) * work if rng.random() < 0.3 else None
        jobs[i] = jobs[i].replace(after=tuple(sorted(before)), deadline=deadline)
    return jobs


def random_problem(rng, *, arrive_over_time=False, is_tied=False):
    """Up to six jobs, some of them equal, on up to four clusters, in some cases beside one that runs already."""
    clusters, nodes = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    instance = coalloc.generate(
        "thesis-oas",
        jobs=int(rng.integers(2, 7)),
        clusters=clusters,
        nodes=nodes,
        max_tasks=int(rng.integers(1, clusters * nodes + 1)),
        link_bandwidth=float(rng.choice([60.0, 1000.0])),
        seed=int(rng.integers(1_000_000)),
    )
    jobs = list(instance.jobs)
    for i in range(1, len(jobs)):
        if rng.random() < 0.3:
            jobs[i] = replace(jobs[int(rng.integers(i))], id=jobs[i].id)
    last = float(rng.uniform(0.5, 4.0)) * jobs[0].base_time
    running = RunningJob(Job("R", 1, 2.0 * last), (f"{instance.platform.clusters[0].name}/0",), last)
    made = Instance(instance.platform, jobs, (running,) if rng.random() < 0.3 else ())
    slot = SLOTS[rng.integers(len(SLOTS))]
    if arrive_over_time:
        span = float(rng.choice([0.3, 1.0, 3.0])) * jobs[0].base_time
        arrivals = np.round(rng.uniform(0.0, span, len(jobs)), int(rng.choice([-5, 0])))
        made = made.replace(jobs=[job.replace(arrival=float(a)) for job, a in zip(jobs, arrivals, strict=True)])
    if is_tied:
        made = made.replace(jobs=tied(rng, list(made.jobs)))
    return discretise(made, None if slot is None else slot_seconds(made, slot))


def least_end(problem):
    """Return the least latest end, ticks, by a tree that remembers and learns nothing; infinity if there is none."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(set_tree, "MEMORY", 1)
        patched.setattr(set_tree, "FIRST_NODES", 2**62)
        patched.setattr(set_tables, "MOST_COMPARED", 0)
        latest = min(max(problem.latest_ends), problem.horizon_in_turn)
        found = Trees(problem, latest, dual_prices=prices_of(problem)).least_end(latest)
    return math.inf if found is None else found


def prices_of(problem):
    sets = FeasibleSets(problem)
    sets.bound()
    return sets.dual_prices


class Trees:
    """The trees of one problem, which share what they know."""

    def __init__(self, problem, ceiling, max_prices=32, dual_prices=()):
        self.problem = problem
        self.tables = SetTables(problem, ceiling, max_prices)
        self.prices = NodePrices(problem, self.tables, dual_prices or [0.0] * len(problem.jobs))

    def least_end(self, ceiling, chunk=1_000):
        """Return the last end, ticks, of what a tree finds, each time below the one before; None where nothing."""
        tree, found = SetTree(self.problem, self.tables, self.prices, ceiling), None
        while (ended := tree.run(chunk)[0]) != "everything":
            if ended == "better":
                assignments = tree.assignments()
                if self.problem.rounding == "up":
                    assert coalloc.check(self.problem.instance, schedule_of(self.problem, assignments)) == []
                found = max(assignment.end for assignment in assignments)
                tree.lower(ceiling_below(self.problem, found))
        return found


@pytest.mark.parametrize("is_tied", [False, True])
@pytest.mark.parametrize("arrive_over_time", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_it_finds_the_optimum_and_nothing_below(monkeypatch, seed, arrive_over_time, is_tied):
    rng = np.random.default_rng(seed)
    learned = 0
    for _ in range(8):
        problem = random_problem(rng, arrive_over_time=arrive_over_time, is_tied=is_tied)
        optimum = least_end(problem)
        first, memory = int(rng.choice([1, 5, 1_000])), int(rng.choice([1, 800, 1_200_000]))
        for module, name, value in [
            (set_tree, "MEMORY", memory),
            (set_tree, "FIRST_NODES", first),
            (set_tree, "NODES", first),
            (set_tree, "FEWEST_LEFT", 1),
            (set_tables, "MOST_COMPARED", int(rng.choice([0, 2, 64]))),
        ]:
            monkeypatch.setattr(module, name, value)
        above = optimum + (float(rng.integers(4)) if problem.slot else 0.2 * optimum)
        trees = Trees(problem, above, int(rng.choice([2, 3, 32])), prices_of(problem) if rng.random() < 0.8 else ())
        found = trees.least_end(above, chunk=int(rng.choice([1, 7, 1_000])))
        assert (math.inf if found is None else found) == pytest.approx(optimum, rel=1e-6)
        below = trees.least_end(ceiling_below(problem, optimum))
        assert below is None or (problem.slot is None and below == pytest.approx(optimum, rel=2e-6))
        learned += len(trees.prices.rows) > 1
    assert learned


@LAW
@given(
    slotted_instances(TINY) | equal_instances(TINY) | equal_instances(), st.sampled_from(["up", "down"]), st.booleans()
)
def test_it_finds_the_optimum_in_slots(drawn, rounding, is_priced):
    instance, slot = drawn
    if rounding == "down":  # jobs of no slot occupy nothing: with running jobs they are not searched
        instance = instance.replace(running=())
    optimum = round((brute_force_oas(instance, slot, rounding=rounding).objective + instance.origin) / slot)
    problem = discretise(instance, slot, rounding)
    assume(set_tree.takes(problem))  # some job lasts
    trees = Trees(problem, optimum + 3, dual_prices=prices_of(problem) if is_priced else ())
    assert trees.least_end(optimum + 3) == optimum
    assert trees.least_end(ceiling_below(problem, optimum)) is None


@LAW
@given(slotted_instances(TINY) | equal_instances(TINY), st.booleans())
def test_it_finds_the_optimum_in_continuous_time(drawn, is_priced):
    optimum = brute_force_oas(drawn[0], None).objective + drawn[0].origin
    problem = discretise(drawn[0], None)
    trees = Trees(problem, 2.0 * optimum, dual_prices=prices_of(problem) if is_priced else ())
    assert trees.least_end(2.0 * optimum) == pytest.approx(optimum, rel=1e-6)


@pytest.mark.parametrize("seed", [663, *range(100, 118)])
def test_beside_windows_and_reservations_it_finds_what_brute_force_finds(monkeypatch, seed):
    instance, slot = small_feature_instance(seed, features=[name for name in FEATURES if name != "lags"])
    length = None if seed % 3 == 0 else slot
    problem = discretise(instance, length)
    monkeypatch.setattr(set_tree, "MEMORY", (1, 800, 1_200_000)[seed % 3])
    latest = min(max(problem.latest_ends), problem.horizon_in_turn)
    found = Trees(problem, latest, dual_prices=prices_of(problem)).least_end(latest)
    best = brute_force_oas(instance, length).objective
    reported = math.inf if found is None else Criterion(problem, regular_objective("makespan")).reported(found)
    assert reported == pytest.approx(math.inf if best is None else best, rel=1e-6)


@pytest.mark.parametrize(("seed", "optimum"), [(744, 123), (710, 72), (1805, 3445821.5634937286)])
def test_no_rule_leaves_too_much(monkeypatch, seed, optimum):
    # Of two thousand, some that find a fault in what is remembered: ends that are later, an instant that is later, and
    # a choice of modes that is not there. Two trees found these optima.
    monkeypatch.setattr(set_tree, "FIRST_NODES", 1_000_000)
    problem = random_problem(np.random.default_rng(seed))
    for above in (optimum, optimum + 2.0 if problem.slot else 1.1 * optimum):
        assert Trees(problem, above, dual_prices=prices_of(problem)).least_end(above) == pytest.approx(
            optimum, rel=1e-6
        )


def twelve_jobs():
    """An instance whose tree is not done at once, in slots of 15 %."""
    instance = coalloc.generate("thesis-oas", jobs=12, seed=1004)
    return discretise(instance, slot_seconds(instance, "15%"))


def test_it_repeats_whatever_the_chunks():
    problem = twelve_jobs()
    prices, known = prices_of(problem), max(a.end for a in best_list_schedule(problem))
    ends = [Trees(problem, known, dual_prices=prices).least_end(known, chunk) for chunk in (97, 10_000)]
    assert ends[0] == ends[1] == 57


def test_what_it_learns_leaves_nodes_out(monkeypatch):
    problem = twelve_jobs()
    known = max(a.end for a in best_list_schedule(problem))
    monkeypatch.setattr(set_tree, "FIRST_NODES", 10)
    nodes = {}
    for max_prices in (1, 32):
        trees = Trees(problem, known, max(2, max_prices), prices_of(problem))
        if max_prices == 1:
            monkeypatch.setattr(trees.prices, "learn", lambda *_: None)
        tree = SetTree(problem, trees.tables, trees.prices, known - 3.0)
        nodes[max_prices] = next(n for n in range(1, 10_000) if tree.run(10)[0] == "everything")
    assert nodes[32] < nodes[1]


def test_too_many_running_sets_end_it(monkeypatch):
    monkeypatch.setattr(set_tables, "LISTED", 16)
    problem = twelve_jobs()
    with pytest.raises(TooManyError):
        Trees(problem, 1_000.0).least_end(1_000.0)
    monkeypatch.setattr(portfolio, "METHODS", (simple.METHOD, list_schedules.METHOD, feasible_set.METHOD, METHOD))
    runs = {run.name: run for run in coalloc.solve(problem.instance, slot="15%", work_limit=1_000).methods}
    assert (runs[METHOD.name].calls, runs[METHOD.name].bounds) == (1, 0)  # it is not tried in later rounds


@pytest.mark.parametrize("slot", [None, "15%"])
@pytest.mark.parametrize(("seed", "interarrival_mean"), [(8, 0.0), (1, 2e5)])
def test_solve_hears_of_bounds_and_schedules(monkeypatch, seed, interarrival_mean, slot):
    methods = (simple.METHOD, list_schedules.METHOD, feasible_set.METHOD, METHOD)
    monkeypatch.setattr(portfolio, "METHODS", methods)
    instance = coalloc.generate("thesis-oas", jobs=10, seed=seed, interarrival_mean=interarrival_mean)
    result = coalloc.solve(instance, slot=slot, time_limit=math.inf)
    assert result.status == "optimal"
    assert result.trace[-1].source == METHOD.name
    monkeypatch.undo()
    assert coalloc.solve(instance, slot=slot, time_limit=math.inf).objective == pytest.approx(
        result.objective, rel=1e-6
    )


def rounds_of(instance, **options):
    """Return the rounds in which the tree is searched for an instance, where it finds nothing."""
    searched = []
    heard = replace(METHOD, run=lambda incumbent: searched.append(incumbent.round))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(portfolio, "METHODS", (simple.METHOD, list_schedules.METHOD, feasible_set.METHOD, heard))
        coalloc.solve(instance, **{"slot": "15%", "time_limit": math.inf, "work_limit": 1_000} | options)
    return searched


def test_what_it_does_not_take():
    instance = coalloc.generate("thesis-oas", jobs=12, seed=1004)
    assert rounds_of(instance) == [0, 1, 2]
    assert rounds_of(instance, time_limit=5.0) == [0, 1, 2]
    assert rounds_of(instance, objective="total-response-time") == []
    assert rounds_of(coalloc.generate("thesis-oas", jobs=25, seed=1004)) == []
    for jobs, rounds in ((12, [0, 1, 2]), (13, [0, 2])):
        instance = coalloc.generate("thesis-oas", jobs=jobs, seed=1004)
        late = [replace(job, arrival=10.0 * i) for i, job in enumerate(instance.jobs)]
        assert rounds_of(Instance(instance.platform, late)) == rounds


def test_it_leaves_ends_that_are_far_to_others_at_first(monkeypatch):
    def rounds_by(seed, arrival=0.0, slot="15%"):
        instance = coalloc.generate("thesis-oas", jobs=20, seed=seed)
        jobs = [job.replace(arrival=arrival) for job in instance.jobs]
        return rounds_of(instance.replace(jobs=jobs), slot=slot, work_limit=1)

    assert rounds_by(1001) == [0, 1, 2]  # 92 and 89 slots: 3 %
    assert rounds_by(1015) == [0, 2]  # 94 and 86: 9 %
    assert rounds_by(1015, slot=None) == rounds_by(1015, arrival=1.7e9, slot=None) == [0, 2]
    monkeypatch.setattr(set_tree, "FAR", 0.5)
    assert rounds_by(1015) == [0]


def test_few_jobs_do_not_wait_for_pumpkin(monkeypatch):
    # Without CP-SAT it is asked about jobs of a few modes: here the tree is done before it begins.
    monkeypatch.setattr(cpsat, "is_installed", lambda: False)
    started = []
    monkeypatch.setattr(pumpkin, "start_worker", lambda _: started.append("Pumpkin"))
    result = coalloc.solve(coalloc.generate("thesis-oas", seed=24, jobs=10, interarrival_mean=2e5), slot="5%")
    assert (result.status, result.trace[-1].source, started) == ("optimal", METHOD.name, [])


def test_the_first_search_is_wherever_the_bound_is(monkeypatch):
    # Ceilings do not rise, for the gap is 9 %; the first search finds better schedules than the lists all the same.
    found = []
    for methods in ((), (METHOD,)):
        monkeypatch.setattr(portfolio, "METHODS", (simple.METHOD, list_schedules.METHOD, feasible_set.METHOD, *methods))
        instance = coalloc.generate("thesis-oas", jobs=20, seed=1015)
        found.append(coalloc.solve(instance, slot="15%", work_limit=100_000).objective)
    assert found[1] < found[0]


def test_a_schedule_that_is_not_valid_proves_nothing(monkeypatch):
    # Loads in whole units may let a choice of modes through that is none, and another might do. Branching on levels
    # would prove the schedule of the lists.
    bound = replace(feasible_set.METHOD, shares=once(1.0))
    methods = (simple.METHOD, list_schedules.METHOD, bound, METHOD)
    monkeypatch.setattr(portfolio, "METHODS", methods)
    assert coalloc.solve(twelve_jobs().instance, slot="15%", work_limit=10_000_000).status == "optimal"
    monkeypatch.setattr(Incumbent, "take_if_valid", lambda *_: None)
    assert coalloc.solve(twelve_jobs().instance, slot="15%", work_limit=10_000_000).status == "feasible"


def two_jobs(**changed):
    """Arguments of two jobs of 2 and 1 of 3 processors and 4 and 3 ticks, beside one processor held until 2 ticks.

    The second starts 1 tick after the first, at the earliest.
    """
    guarded = np.array([3 + 4], np.uint64)
    sets = {
        "sizes": (2, 3, 1, 3, 1, 3, 100, 1_000, 1_000, 64, 0),
        "everything": guarded,
        "guards": np.array([4], np.uint64),
        "use_first": np.array([0, 1, 2, 3]),
        "uses": np.array([2, 1, 1], np.uint64),
        "most": np.array([2, 1], np.uint64),
        "tasks": np.array([2, 1, 1]),
    }
    tree = {
        "tree_sizes": (2, 2, 1, 0, 1, 0, -1, 0, 1_000, 0.0, 0.0),
        "kinds": np.array([0, 1]),
        "ticks": np.array([4.0, 3.0]),
        "counts": np.array([1, 1]),
        "times": np.array([[0.0, math.inf, math.inf, 4.0, 4.0], [0.0, math.inf, math.inf, 3.0, 3.0]]),
        "busy_keys": np.array([2]),
        "busy_ends": np.array([2.0]),
        "begins": np.zeros(0),
        "block_ends": np.zeros(0),
        "lag_first": np.array([0, 0, 1]),
        "lag_of": np.array([0]),
        "lag_ends": np.array([0]),
        "lag_least": np.array([1.0]),
        "apart": np.zeros(2, np.uint64),
        "span_first": np.array([0, 0, 0]),
        "opens": np.zeros(0),
        "closes": np.zeros(0),
        "num_rows": 0,
        "num_offsets": 0,
        "row_late": np.zeros(0, np.int64),
        "row_early": np.zeros(0, np.int64),
        "row_ends": np.zeros(0, np.int64),
        "row_least": np.zeros(0),
        "offset_first": np.array([0, 0, 0]),
        "offsets": np.zeros(0),
    }
    return [{name: changed.get(name, value) for name, value in given.items()}.values() for given in (sets, tree)]


def tree_of(**changed):
    (sizes, *sets), (tree_sizes, *tree) = two_jobs(**changed)
    made = engine().running_sets_new(*sizes, *sets)
    return made, engine().set_tree_new(made, *tree_sizes, *tree)


def test_the_engine_finds_the_schedule_of_two_jobs():
    # At 0 two processors are free: the wide job ends at 4, and the narrow one, from 2 on, at 5.
    _sets, tree = tree_of()
    hits, nodes = np.zeros(1, np.int64), np.zeros(1, np.int64)
    assert engine().set_tree_run(tree, 1, 1_000, 4.0, 1.0, np.array([9.0]), hits, nodes) == 0
    _sets, tree = tree_of()
    assert engine().set_tree_run(tree, 1, 1_000, 5.0, 1.0, np.array([9.0]), hits, nodes) == 1
    keys, starts, modes = np.zeros(2, np.int64), np.zeros(2), np.zeros(2, np.int64)
    engine().set_tree_schedule(tree, 2, keys, starts, modes)
    assert (keys.tolist(), starts.tolist(), modes.tolist()) == ([0, 1], [0.0, 2.0], [0, 0])


@pytest.mark.parametrize(
    ("name", "value", "fault"),
    [
        ("sizes", (2, 3, 1, 3, 1, 3, 100, 1_000, 1_000, 65, 0), "most_compared of running_sets_new is out of range"),
        ("guards", np.array([8], np.uint64), "everything of running_sets_new is out of range"),
        ("use_first", np.array([0, 2, 1, 3]), "use_first of running_sets_new is out of order"),
        ("uses", np.array([2, 4, 1], np.uint64), "uses of running_sets_new is out of range"),
        ("tasks", np.array([2, -1, 1]), "tasks of running_sets_new is out of range"),
        ("kinds", np.array([0, 2]), "kinds of set_tree_new is out of range"),
        ("ticks", np.array([4.0, 0.0]), "ticks of set_tree_new is out of range"),
        ("counts", np.array([65, 1]), "counts of set_tree_new is out of range"),
        ("times", np.full((2, 5), math.nan), "times of set_tree_new is not a number"),
        ("lag_of", np.array([2]), "lag_of of set_tree_new is out of range"),
        ("lag_least", np.array([-1.0]), "lag_least of set_tree_new is out of range"),
        ("span_first", np.array([0, 1, 0]), "span_first of set_tree_new is out of order"),
        ("busy_keys", np.array([1]), "busy_keys of set_tree_new is out of range"),
        ("offset_first", np.array([0, 1, 0]), "offset_first of set_tree_new is out of order"),
    ],
)
def test_a_wrong_call_is_an_error(name, value, fault):
    with pytest.raises(InternalError, match=fault):
        tree_of(**{name: value})


def test_there_is_no_schedule_before_one_is_found():
    _, tree = tree_of()
    with pytest.raises(InternalError, match="num_jobs of set_tree_schedule is out of range"):
        engine().set_tree_schedule(tree, 2, np.zeros(2, np.int64), np.zeros(2), np.zeros(2, np.int64))
