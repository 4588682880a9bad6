"""The public functions, as a user calls them: names, options, and what holds for every result."""

import json
import math
import subprocess
import sys

import pyomo.environ as pyo
import pytest

import coalloc
from coalloc import Cluster, CoallocError, Instance, InstanceError, Job, NodeGroup, Placement, Platform, Schedule
from coalloc.documents.errors import InternalError
from coalloc.models import oas_count, pas_node
from coalloc.solvers import solve_state
from coalloc.solvers.backends.highs import SolverLimits, solve_model
from coalloc.testing.small import NODE_MODEL_SIZE, small_instance, small_package
from tests.extras import AUTO

HEAVY = ("pyomo", "pandas", "matplotlib", "highspy")

OAS = ("node", "count", "mode")


def tiny(**changes):
    """Return two nodes and jobs of 100 s on both, 100 s on one and 50 s on one: the least makespan is 200 s."""
    platform = Platform([Cluster("C1", [NodeGroup(2, power=1.0)], link_bandwidth=125.0)])
    jobs = [
        Job("J1", tasks=2, base_time=100.0),
        Job("J2", tasks=1, base_time=100.0),
        Job("J3", tasks=1, base_time=50.0),
    ]
    return Instance(platform, jobs, **changes)


def overloaded():
    """Return a job that must spread over two clusters, at 100 MB/s on links of 50 MB/s."""
    clusters = [Cluster(name, [NodeGroup(1, power=1.0)], link_bandwidth=50.0) for name in ("C1", "C2")]
    return Instance(
        Platform(clusters), [Job("J1", tasks=2, base_time=100.0, processing_share=0.5, task_bandwidth=100.0)]
    )


def python(program):
    """Run a program in a process of its own; return what it prints."""
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    ).stdout


# ------------------------------------------------------------------------------ names


def test_importing_loads_nothing_heavy():
    program = f"import coalloc, sys; dir(coalloc); print([name for name in {HEAVY!r} if name in sys.modules])"
    assert python(program) == "[]\n"


def test_values_files_and_checks_need_no_solver():
    program = (
        "import coalloc, sys\n"
        "coalloc.check(coalloc.example('thesis-oas-1'), coalloc.Schedule(()))\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    assert python(program) == "[]\n"


def test_a_package_that_is_proven_without_a_model_needs_no_pyomo():
    program = (
        "import coalloc, sys\n"
        "result = coalloc.solve(coalloc.example('thesis-pas-package-1'), model='pas')\n"
        "print(result.status.value, 'pyomo' in sys.modules)"
    )
    assert python(program) == "optimal False\n"


def test_an_answer_without_a_model_needs_no_pyomo():
    # Feasible sets prove this one: no model is built, and nothing is drawn, tabled or resampled.
    program = (
        "import coalloc, sys\n"
        "result = coalloc.solve(coalloc.example('thesis-oas-1'), slot='50%')\n"
        "heavy = ('pyomo', 'pandas', 'matplotlib', 'networkx', 'scipy.stats')\n"
        "print(result.status.value, [name for name in heavy if name in sys.modules])"
    )
    assert python(program).splitlines()[-1] == "optimal []"  # some versions of highspy print lines of their own first


SUBPACKAGES = ["extend", "grid", "io", "plot", "results", "studies"]


def test_the_top_level_has_its_names_its_subpackages_and_its_version():
    assert sorted(dir(coalloc)) == sorted([*coalloc.__all__, *SUBPACKAGES, "__version__"])
    assert len(coalloc.__all__) == 52


@pytest.mark.parametrize(("module", "name"), [(coalloc, "slove"), (coalloc, "write_swf"), (coalloc.io, "solve")])
def test_a_name_that_a_package_lacks_is_an_attribute_error(module, name):
    with pytest.raises(AttributeError, match=f"^module '{module.__name__}' has no attribute '{name}'$"):
        getattr(module, name)


@pytest.mark.parametrize("package", SUBPACKAGES)
def test_a_subpackage_needs_no_import_of_its_own_and_loads_nothing_before_it_is_used(package):
    program = (
        f"import coalloc, sys; is_complete = dir(coalloc.{package}) == sorted(coalloc.{package}.__all__)\n"
        "print(is_complete, *(name for name in sys.modules if name.startswith('coalloc.')))"
    )
    assert python(program) == f"True coalloc.system coalloc.system.lazy coalloc.{package}\n"


def test_versions_are_shown(capsys):
    coalloc.show_versions()
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert names[:4] == ["coalloc", "python", "system", "highspy"]
    assert coalloc.__version__ in python("import coalloc; coalloc.show_versions()")


# ------------------------------------------------------------------------------ options


@pytest.mark.parametrize("function", [coalloc.solve, coalloc.build_model])
def test_an_unknown_keyword_is_an_error_that_lists_what_there_is(function):
    with pytest.raises(CoallocError) as caught:
        function(tiny(), formulatoin="count", slot=50)
    assert str(caught.value).startswith(
        "unknown keyword formulatoin (did you mean formulation?); known keywords: instance, model, "
    )
    assert "slot" in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "mip"}, "model: must be 'oas', 'pas', 'cbs' or 'jpr', got 'mip'"),
        ({"formulation": "best"}, "must be one of auto, node, count, mode, got 'best'"),
        (
            {"model": "pas", "slot": None, "formulation": "count"},
            "must be one of auto, node, mode, got 'count'",
        ),
        (
            {"objective": "cost"},
            "co-allocated-jobs, used-clusters, unmet-levels, energy, edp, got 'cost'",
        ),
        ({"links": "shared"}, "links of model 'oas' must be 'strict', got 'shared'"),
        ({"links": "loose"}, "links: must be 'strict', 'shared' or 'ignore', got 'loose'"),
        ({"saturation": -0.1}, "saturation: must be at least 0, got -0.1"),
        ({"time_limit": 0.0}, "time_limit: must be above 0, got 0.0"),
        ({"time_limit": float("-inf")}, "time_limit: must be finite, got -inf"),
        ({"work_limit": 0}, "work_limit: must be at least 1, got 0"),
        ({"gap": 1.5}, "gap: must be at most 1, got 1.5"),
        ({"threads": 0}, "threads: must be at least 1, got 0"),
        ({"threads": True}, "threads: must be an integer, got True"),
        ({"seed": -1}, "seed: must be at least 0, got -1"),
        (
            {"solver": "magic"},
            "solver 'magic' cannot be used: it is unknown to Pyomo or not installed; available: highs",
        ),
        ({"model": "pas"}, "model 'pas' does not support slot"),
        ({"model": "pas", "slot": None, "start": Schedule(())}, "start requires model 'oas'"),
        ({"slot": None, "formulation": "count"}, "a formulation requires a time slot"),
    ],
)
def test_an_option_that_is_not_supported_is_one_error(options, message):
    with pytest.raises(CoallocError) as caught:
        coalloc.solve(tiny(), **({"slot": 50} | options))
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("slot", ["50%", " 50.0 % ", 125.0 / 3.0])
def test_a_slot_in_percent_is_a_share_of_the_mean_base_time(slot):
    # The mean base time is 250/3 s.
    assert coalloc.solve(tiny(), slot=slot).options.slot == pytest.approx(125.0 / 3.0)


@pytest.mark.parametrize("slot", ["half", "50", "%", "-5%", "0%", 0, -1.0, float("nan"), float("inf"), True, [50]])
def test_a_slot_that_is_none(slot):
    with pytest.raises(CoallocError, match="slot: must be "):
        coalloc.solve(tiny(), slot=slot)


def test_a_slot_too_fine_to_build_is_refused_with_the_remedy():
    with pytest.raises(CoallocError, match=r'slot=1e-05 is 1e-05 s: use a coarser slot \(did you mean slot="50%"'):
        coalloc.solve(small_instance(1)[0], slot=1e-5, formulation="count")


# ------------------------------------------------------------------------------ results


@pytest.mark.parametrize("formulation", [AUTO, *OAS, oas_count])
def test_a_formulation_is_a_name_or_an_object(formulation):
    result = coalloc.solve(tiny(), slot=50, formulation=formulation)
    assert (result.status, result.stopped_by) == ("optimal", "proof")
    assert (result.objective, result.lower_bound, result.gap) == (200.0, 200.0, 0.0)


def test_a_package_formulation_is_a_name_or_an_object():
    instance = tiny().replace(jobs=tiny().jobs[1:])
    for formulation in ("auto", "node", "mode", pas_node):
        result = coalloc.solve(instance, model="pas", formulation=formulation)
        assert (result.status, result.objective) == ("optimal", 150.0)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("formulation", OAS)
def test_results_are_recomputed_and_checked(seed, formulation):
    instance, slot = small_instance(seed, NODE_MODEL_SIZE)
    result = coalloc.solve(instance, slot=slot, formulation=formulation)
    assert result.status == "optimal"
    assert coalloc.check(instance, result.schedule) == []
    assert result.objective == pytest.approx(coalloc.metrics(instance, result.schedule)["makespan"], abs=1e-9)
    assert result.options.formulation == formulation
    assert result.trace[-1].lower_bound == pytest.approx(result.objective)


@pytest.mark.extras
@pytest.mark.parametrize("seed", range(8))
def test_the_total_response_time_is_that_of_the_schedule(seed):
    instance, slot = small_instance(seed, NODE_MODEL_SIZE)
    result = coalloc.solve(instance, slot=slot, objective="total-response-time")
    assert result.status == "optimal"
    assert result.objective == pytest.approx(coalloc.metrics(instance, result.schedule)["total_response_time"])


@pytest.mark.extras
@pytest.mark.parametrize("seed", range(5))
def test_continuous_time_has_a_valid_bound_and_no_slot(seed):
    instance, slot = small_instance(seed)
    result = coalloc.solve(instance, time_limit=1.0)
    slotted = coalloc.solve(instance, slot=slot)
    assert result.schedule.slot is None
    assert coalloc.check(instance, result.schedule) == []
    assert result.lower_bound <= result.objective
    assert result.lower_bound <= slotted.objective + 1e-9, "a schedule in slots is one in continuous time"
    assert (result.status == "optimal") == (result.gap <= 1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_a_package_is_recomputed_and_checked(seed):
    instance = small_package(seed)
    result = coalloc.solve(instance, model="pas", links="shared")
    assert coalloc.check(instance, result.schedule, links="shared") == []


def test_no_jobs_take_no_time():
    result = coalloc.solve(tiny().replace(jobs=()), slot=50)
    assert (result.status, result.objective, len(result.schedule)) == ("optimal", 0.0, 0)


def test_infeasible_is_said_with_the_job_and_the_link():
    result = coalloc.solve(overloaded(), slot=50)
    assert (result.status, result.stopped_by) == ("infeasible", "proof")
    assert (result.schedule, result.objective, result.gap) == (None, None, None)
    assert result.message == (
        "job 'J1' saturates a link on every allocation: "
        "it puts at least 100 MB/s on the link of 'C2', whose limit is 50 MB/s"
    )
    assert coalloc.solve(overloaded(), slot=50, saturation=1.0).objective == 100.0


def test_a_schedule_of_ours_that_is_wrong_is_a_fault_of_ours(monkeypatch):
    violation = coalloc.results.Violation("overlap", ("J1",), "C1/0", 0.0, 2.0, 1.0, "J1 and J2 hold C1/0")
    monkeypatch.setattr(solve_state, "check", lambda *_: [violation])
    with pytest.raises(InternalError, match="the schedule of a solver has 1 violations: J1 and J2 hold C1/0"):
        coalloc.solve(tiny(), slot=50)


def test_printing_a_result_gives_six_aligned_lines():
    lines = str(coalloc.solve(tiny(), slot=50)).splitlines()
    assert [line.split()[0] for line in lines] == ["status", "objective", "bound", "gap", "time", "model"]
    assert {line[10] for line in lines} == {" "}
    assert {line[11] == " " for line in lines} == {False}


def test_the_model_that_is_built_is_the_one_that_is_solved():
    instance = coalloc.example("paper-oas-1")
    for formulation in ("count", "mode"):
        model = coalloc.build_model(instance, formulation=formulation, slot="150%")
        assert isinstance(model, pyo.ConcreteModel)
        result = coalloc.solve(instance, formulation=formulation, slot="150%")
        slots = solve_model(model, SolverLimits(), integral=True).objective
        assert slots * result.options.slot == pytest.approx(result.objective)


# ------------------------------------------------------------------------------ result files


@pytest.fixture(scope="module")
def results():
    """Results of every sort: proven, continuous, infeasible, of a package, with a simulated objective."""
    package = overloaded()
    return [
        coalloc.solve(tiny(), slot=50),
        coalloc.solve(small_instance(3)[0]),
        coalloc.solve(overloaded(), slot=50),
        coalloc.solve(package, model="pas", links="shared"),
        coalloc.solve(tiny().replace(jobs=()), slot=50),
    ]


@pytest.mark.parametrize("suffix", [".json", ".json.gz"])
def test_writing_then_reading_a_result_is_the_identity(results, tmp_path, suffix):
    path = tmp_path / f"result{suffix}"
    for result in results:
        coalloc.io.write_result(result, path)
        assert coalloc.io.read_result(path) == result


def test_a_result_says_which_instance_it_is_of(results):
    first = coalloc.solve(tiny(), slot="100%")
    assert first.instance_sha256 == results[0].instance_sha256
    assert first.instance_sha256 != coalloc.solve(tiny(name="other"), slot="100%").instance_sha256
    assert first.versions["coalloc"] == coalloc.__version__


def test_a_result_file_with_faults(results, tmp_path):
    path = tmp_path / "r.json"
    coalloc.io.write_result(results[0], path)
    document = json.loads(path.read_text()) | {"status": "done", "colour": 1}
    path.write_text(json.dumps(document))
    with pytest.raises(InstanceError) as caught:
        coalloc.io.read_result(path)
    assert [fault.path for fault in caught.value.faults] == ["status", "colour"]


# ------------------------------------------------------------------------------ repeating, starting, stopping


@pytest.mark.parametrize("options", [{"slot": "100%"}, {"slot": "100%", "formulation": "count"}, {"slot": None}])
def test_the_same_seed_gives_the_same_answer(options):
    instance = coalloc.generate("paper-oas", seed=1, jobs=5)
    first, second = (coalloc.solve(instance, seed=7, **options) for _ in range(2))
    assert first.schedule == second.schedule
    assert (first.objective, first.lower_bound, first.status) == (second.objective, second.lower_bound, second.status)


@pytest.mark.parametrize("formulation", OAS)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        # The job of 100 s on both nodes takes two slots of 50 s.
        ({"horizon": 1}, "no model: job 'J1' cannot end before 2 slots, but must end within 1"),
        ({"horizon": 0}, "no model: job 'J1' cannot end before 2 slots, but must end within 0"),
        ({"horizon": -1}, "horizon: must be from 0 to 1e+15, got -1"),
        ({"horizon": math.inf}, "horizon: must be from 0 to 1e+15, got inf"),
        ({"horizon": 10**400}, "horizon: must be a number or None, got a number with about 401 digits"),
        ({"horizon": -1, "objective": "energy", "scope": "node"}, "horizon: must be from 0 to 1e+15, got -1"),
    ],
)
def test_a_horizon_in_which_a_job_cannot_end_is_refused(formulation, options, message):
    with pytest.raises(CoallocError) as caught:
        coalloc.build_model(tiny(), slot=50, formulation=formulation, **options)
    assert str(caught.value) == message
    assert coalloc.build_model(tiny(), slot=50, formulation=formulation, horizon=2) is not None


def test_progress_gets_the_trace_as_it_grows():
    seen = []
    result = coalloc.solve(coalloc.example("paper-oas-1"), slot="100%", progress=seen.append)
    assert tuple(seen) == result.trace
    assert [point.time for point in seen] == sorted(point.time for point in seen)
    known = [point.incumbent for point in seen if point.incumbent is not None]
    assert known == sorted(known, reverse=True)


def test_progress_true_prints_lines_on_standard_error(capsys):
    coalloc.solve(tiny(), slot=50, progress=True)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 2


@pytest.mark.extras
def test_a_start_is_the_first_incumbent_where_it_is_the_better():
    instance = coalloc.generate("thesis-oas", seed=2)
    best = coalloc.solve(instance, slot="100%")
    # Response time: the list schedule is not optimal here, so that the start shows in the trace.
    goal = {"slot": "100%", "objective": "total-response-time", "time_limit": 20.0}
    proven = coalloc.solve(instance, **goal)
    started = coalloc.solve(instance, **goal, start=proven.schedule)
    first = next(point.incumbent for point in proven.trace if point.incumbent is not None)
    assert first > proven.objective, "else this test says nothing"
    assert [point.incumbent for point in started.trace if point.source == "warm start"] == [
        pytest.approx(proven.objective)
    ]
    assert coalloc.solve(instance, slot="100%", start=best.schedule).objective == best.objective


def test_a_start_that_is_no_schedule_of_the_instance_is_refused():
    placements = [Placement("J1", 0.0, 100.0, ("C1/0", "C1/1")), Placement("J2", 0.0, 100.0, ("C1/0",))]
    with pytest.raises(CoallocError, match="start must be a valid schedule of the instance: jobs J1 and J2 "):
        coalloc.solve(tiny(), slot=50, start=Schedule(placements))


def test_time_that_runs_out_is_no_error():
    instance = coalloc.generate("thesis-oas", seed=5, jobs=14)
    result = coalloc.solve(instance, slot="20%", formulation="mode", time_limit=0.3)
    assert (result.status, result.stopped_by) == ("feasible", "time")
    assert coalloc.check(instance, result.schedule) == []
    assert 0.0 < result.lower_bound < result.objective


@pytest.mark.parametrize("limit", [None, math.inf])
def test_no_time_limit_is_as_much_time_as_it_takes(limit, tmp_path):
    instance = coalloc.generate("thesis-oas", seed=5, jobs=8)
    result = coalloc.solve(instance, slot="100%", formulation="mode", time_limit=limit)
    assert (result.status, result.stopped_by, result.options.time_limit) == ("optimal", "proof", None)
    coalloc.io.write_result(result, tmp_path / "result.json")
    assert coalloc.io.read_result(tmp_path / "result.json") == result
    bound = coalloc.lower_bound(instance, slot="100%", time_limit=limit)
    assert bound == coalloc.lower_bound(instance, slot="100%")
    assert bound <= result.objective


def test_a_gap_that_is_reached_stops_the_solve():
    instance = coalloc.generate("thesis-oas", seed=5, jobs=14)
    result = coalloc.solve(instance, slot="20%", gap=0.5)
    assert (result.status, result.stopped_by) == ("feasible", "gap")
    assert 0.0 < result.gap <= 0.5


INTERRUPTED = """
import os, signal, threading
import coalloc
instance = coalloc.generate("thesis-oas", seed=5, jobs=14)
def interrupt(point):
    if point.lower_bound is not None:
        threading.Timer(DELAY, os.kill, (os.getpid(), signal.SIGINT)).start()
result = coalloc.solve(instance, slot="60%", formulation="mode", progress=interrupt)
assert coalloc.check(instance, result.schedule) == []
print(result.status.value, result.stopped_by, 0 < result.lower_bound < result.objective)
"""


@pytest.mark.parametrize("delay", [0.0, 1.5])
def test_ctrl_c_returns_the_best_known(delay):
    # At once, while the model is built; later, while HiGHS is at work.
    assert python(INTERRUPTED.replace("DELAY", str(delay))).splitlines()[-1] == "feasible interrupt True"


# ------------------------------------------------------------------------------ other things than instances


@pytest.mark.parametrize(
    "call",
    [
        coalloc.solve,
        lambda given: coalloc.build_model(given, slot="50%"),
        coalloc.lower_bound,
        lambda given: coalloc.simulate(given, "easy"),
        lambda given: coalloc.check(given, Schedule(())),
        lambda given: coalloc.metrics(given, Schedule(())),
        lambda given: coalloc.energy(given, Schedule(())),
        lambda given: coalloc.gantt(given, Schedule(())),
        lambda given: coalloc.replay(given, Schedule(())),
    ],
)
def test_a_path_in_place_of_an_instance_is_refused_with_the_remedy(call):
    with pytest.raises(CoallocError, match=r"got 'wl1.json'; coalloc.read_instance\(path\) reads an instance file"):
        call("wl1.json")


@pytest.mark.parametrize("look", [coalloc.check, coalloc.metrics, coalloc.energy, coalloc.gantt, coalloc.replay])
def test_a_result_without_a_schedule_has_none_to_look_at(look):
    result = coalloc.solve(overloaded())
    with pytest.raises(CoallocError, match="schedule: must be a Schedule, got None; a result without"):
        look(overloaded(), result.schedule)


def test_a_result_in_place_of_its_schedule_is_refused_with_the_remedy():
    with pytest.raises(CoallocError, match=r"must be a Schedule, got SolveResult; pass its attribute schedule$"):
        coalloc.check(tiny(), coalloc.solve(tiny()))


def test_something_else_than_a_schedule_is_refused():
    with pytest.raises(CoallocError, match="schedule: must be a Schedule, got Instance"):
        coalloc.check(tiny(), tiny())
    with pytest.raises(CoallocError, match="start: must be a Schedule or None, got SolveResult"):
        coalloc.solve(tiny(), start=coalloc.solve(tiny()))


def test_a_policy_is_an_object_and_not_its_type():
    class Mine:
        scope = "platform"

        def decide(self, state):
            return []

    with pytest.raises(CoallocError, match=r"got the type Mine; use Mine\(...\)"):
        coalloc.simulate(tiny(), Mine)


@pytest.mark.parametrize("seed", [-1, "a", 1.5, None])
def test_a_seed_of_a_run_is_a_whole_number(seed):
    with pytest.raises(CoallocError, match=r"seed:? must be an integer of at least 0"):
        coalloc.simulate(tiny(), "easy", seed=seed)
