"""Specifications: what is read, and one line for every fault before anything runs."""

import pytest

from coalloc.bench.methods import run_method
from coalloc.bench.plan import read_plan
from coalloc.bench.spec import SampleLimits, read_spec
from coalloc.instance import InstanceError
from coalloc.instance.files import write_instance
from coalloc.workloads.generators import generate
from tests.bench.spec_files import write_spec

INSTANCE = """
[[instances]]
generator = "thesis-oas"
parameters = { jobs = 1 }
"""
METHOD = """
[[methods]]
method = "lower_bound"
"""
TRACE = "; MaxProcs: 4\n" + "\n".join(f"{i} {i} -1 10 2 -1 -1 2 10 -1 1 1 1 1 1 1 -1 -1" for i in range(1, 6)) + "\n"


def plan_of(tmp_path, text):
    return read_plan(write_spec(tmp_path, text, "s.toml"))


def faults_of(tmp_path, text):
    """Return the lines of the faults, without the name of the file."""
    with pytest.raises(InstanceError) as caught:
        plan_of(tmp_path, text)
    prefix = f"{tmp_path / 's.toml'}: "
    lines = str(caught.value).replace(str(tmp_path), "DIR").splitlines()
    return [line.removeprefix(prefix.replace(str(tmp_path), "DIR")) for line in lines]


def test_the_product_of_instances_options_and_seeds_in_turn(tmp_path):
    text = """
    [[instances]]
    generator = "thesis-oas"
    seeds = "3..4"
    parameters = { jobs = 1 }

    [[methods]]
    method = "solve"
    name = "exact"
    seeds = [0, 1]
    options = { slot = ["50%", "25%"], formulation = "count" }

    [[methods]]
    method = "lower_bound"
    seeds = [0, 1]
    """
    samples = plan_of(tmp_path, text).samples
    own = [("exact, slot=50%", 0), ("exact, slot=50%", 1), ("exact, slot=25%", 0), ("exact, slot=25%", 1)]
    once = [*own, ("lower_bound", None)]  # a bound draws nothing
    assert [(sample.label, sample.seed) for sample in samples] == [*once, *once]
    assert [sample.given.name for sample in samples] == ["thesis-oas-3"] * 5 + ["thesis-oas-4"] * 5
    assert samples[2].options == {"slot": "25%", "formulation": "count"}


def test_every_kind_of_source(tmp_path):
    write_instance(generate("paper-oas", 1, jobs=1), tmp_path / "mine.json")
    (tmp_path / "t.swf").write_text(TRACE)
    text = (
        """
        [[instances]]
        examples = ["thesis-oas-1"]
        [[instances]]
        files = ["mine.json"]
        [[instances]]
        swf = "t.swf"
        processors = 4
        slices = ["0:2", ":"]
        """
        + METHOD
    )
    givens = [sample.given for sample in plan_of(tmp_path, text).samples]
    assert [(given.name, given.num_jobs) for given in givens[:2]] == [("thesis-oas-1", 8), ("paper-oas-1", 1)]
    assert [given.num_jobs for given in givens[2:]] == [2, 5]


def test_limits_have_defaults(tmp_path):
    assert read_spec(write_spec(tmp_path, INSTANCE + METHOD))[0].limits == SampleLimits(300.0, 4000.0)
    spec, faults = read_spec(write_spec(tmp_path, INSTANCE + METHOD + "[limits]\ntime = 2\n"))
    assert (spec.limits, spec.name, faults) == (SampleLimits(2.0, 4000.0), "trivial", [])


def test_the_same_sample_is_planned_once(tmp_path):
    assert len(plan_of(tmp_path, INSTANCE + INSTANCE + METHOD).samples) == 1


def test_a_sample_is_known_by_what_is_run_and_not_by_names(tmp_path):
    (one,) = plan_of(tmp_path, INSTANCE + METHOD).samples
    (named,) = plan_of(tmp_path, 'name = "other"\n' + INSTANCE + METHOD + 'name = "bound"\n').samples
    (longer,) = plan_of(tmp_path, INSTANCE + METHOD + "[limits]\ntime = 299.0\n").samples
    (other,) = plan_of(tmp_path, INSTANCE + METHOD + 'options = { method = "area" }\n').samples
    assert named.key == one.key
    assert len({one.content, longer.content, other.content}) == 3


def test_every_fault_has_its_line(tmp_path):
    text = """
    [[instances]]
    files = ["no.json"]
    [[instances]]
    generator = "thesis-oas"
    parameters = { jobs = 2.5 }
    [[instances]]
    examples = ["thesis-oas-1"]
    [[methods]]
    method = "sovle"
    [[methods]]
    method = "solve"
    options = { time_limit = "long" }
    [[methods]]
    method = "simulate"
    options = { policy = "esy" }
    """
    lines = faults_of(tmp_path, text)
    assert lines[0] == "methods[0].method: must be 'solve', 'simulate' or 'lower_bound', got 'sovle'"
    assert lines[1] == "instances[0].files[0]: DIR/no.json: cannot be read: no such file or directory"
    assert lines[2] == "instances[1]: jobs: must be an integer, got 2.5"
    assert lines[-2] == "methods[1].options.time_limit: must be a number or None, got 'long'"
    assert lines[-1].startswith("methods[2].options: unknown policy 'esy' (did you mean 'easy'?); available: fcfs")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "limit = 3\n" + INSTANCE + METHOD,
            "limit: is not a known key (did you mean limits?); known keys: instances, methods, name, limits",
        ),
        (METHOD, "instances: is missing"),
        ("instances = 3\n" + METHOD, "instances: must be a list, got 3"),
        ("instances = [3]\n" + METHOD, "instances[0]: must be an object, got 3"),
        (INSTANCE + METHOD + "[limits]\ntime = -1\n", "limits.time: must be above 0, got -1"),
        (INSTANCE + METHOD + '[limits]\nmemory = "2 GB"\n', "limits.memory: must be a number, got '2 GB'"),
        (INSTANCE + 'seeds = "a..b"\n' + METHOD, "instances[0].seeds: must be a list, got 'a..b'"),
        (INSTANCE + "seeds = []\n" + METHOD, "instances[0].seeds: must not be empty"),
        (INSTANCE + "seeds = [1, -1]\n" + METHOD, "instances[0].seeds[1]: must be at least 0, got -1"),
        (
            INSTANCE + 'files = ["a"]\n' + METHOD,
            "instances[0]: must have exactly one of the keys generator, examples, files, swf",
        ),
        (
            INSTANCE + 'colour = "red"\n' + METHOD,
            "instances[0].colour: is not a known key; known keys: generator, seeds",
        ),
        ('[[instances]]\nexamples = ["x"]\n' + METHOD, "instances[0].examples[0]: unknown example 'x'; available:"),
        ('[[instances]]\nswf = "t.swf"\n' + METHOD, "instances[0].swf: requires either processors or platform"),
        (
            '[[instances]]\nswf = "t.swf"\nprocessors = 4\noptions = { colour = 1 }\n' + METHOD,
            "instances[0].slices[0]: colour: is not a known key",
        ),
        (INSTANCE + METHOD + "options = { method = [[1]] }\n", "methods[0].options.method: must be a number, a string"),
        (INSTANCE + METHOD + "options = { method = [] }\n", "methods[0].options.method: must be a number, a string"),
        (
            INSTANCE + METHOD + 'options = { metod = "area" }\n',
            "methods[0].options: unknown keyword metod (did you mean",
        ),
        (
            INSTANCE + METHOD + "options = { seed = 1 }\n",
            "methods[0].options.seed: is not an option of a specification",
        ),
        (
            INSTANCE + METHOD + METHOD,
            "methods[1].name: must differ from the name of methods[0], got 'lower_bound'",
        ),
        (
            INSTANCE + METHOD + "options = { time_limit = 300.0 }\n",
            "methods[0].options.time_limit: must be below limits.time = 300, or all samples are killed, got 300",
        ),
        (
            INSTANCE + '[[methods]]\nmethod = "simulate"\noptions = { policy = "easy", kill = 1 }\n',
            "methods[0].options.kill: must be true or false, got 1",
        ),
        (
            INSTANCE + '[[methods]]\nmethod = "simulate"\n',
            "methods[0].options: simulate() missing 1 required positional argument: 'policy'",
        ),
        (
            INSTANCE + '[[methods]]\nmethod = "solve"\noptions = { slot = "50%", formulation = ["count", "nod"] }\n',
            "methods[0].options: formulation of model 'oas' must be one of auto, node, count, mode, got 'nod'",
        ),
        ("[[", "is not TOML: "),
        ("a = 1\na = 2\n", "is not TOML: "),
    ],
)
def test_a_fault_is_one_line_with_its_path(tmp_path, text, line):
    (said,) = faults_of(tmp_path, text)
    assert said.startswith(line)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InstanceError, match=r"no\.toml: cannot be read: no such file or directory"):
        read_plan(tmp_path / "no.toml")


def test_calls_that_do_not_count_and_calls_with_a_watch(tmp_path):
    text = "[limits]\ntime = 400.0\n" + INSTANCE + METHOD + "warmup = 2\nrepeat = 3\n"
    (sample,) = plan_of(tmp_path, text).samples
    (once,) = plan_of(tmp_path, INSTANCE + METHOD).samples
    assert (sample.warmup, sample.repeat, once.warmup, once.repeat) == (2, 3, 0, 1)
    assert sample.content != once.content
    instance = sample.given.recipe.make()
    outcome = run_method(sample.task.argument, instance)
    assert len(outcome["times"]) == 3
    assert outcome["time"] == sorted(outcome["times"])[1]


def test_proofs_are_certified_where_that_is_asked(tmp_path):
    instance = '[[instances]]\ngenerator = "thesis-oas"\nparameters = { jobs = 3 }\n'
    solve = '[[methods]]\nmethod = "solve"\noptions = { slot = "50%%", time_limit = %g }\n'
    (sample,) = plan_of(tmp_path, instance + solve % 60.0 + "certify = true\n").samples
    (plain,) = plan_of(tmp_path, instance + solve % 60.0).samples
    assert sample.content != plain.content
    outcome = run_method(sample.task.argument, sample.given.recipe.make())
    assert (outcome["status"], outcome["certified"]) == ("optimal", True)
    assert "certified" not in run_method(plain.task.argument, plain.given.recipe.make())
    words = "methods[0].options.time_limit: must be below limits.time = 300, or all samples are killed, got 150, "
    assert faults_of(tmp_path, instance + solve % 150.0 + "certify = true\n") == [words + "2 times"]
    (words,) = faults_of(tmp_path, INSTANCE + METHOD + "certify = true\n")
    assert words == "methods[0].certify: requires method solve, got lower_bound"


def test_all_calls_of_a_sample_must_fit_into_its_limit(tmp_path):
    text = "[limits]\ntime = 30.0\n" + INSTANCE + METHOD + "warmup = 1\nrepeat = 2\noptions = { time_limit = %g }\n"
    words = "methods[0].options.time_limit: must be below limits.time = 30, or all samples are killed, got 10, 3 times"
    assert faults_of(tmp_path, text % 10.0) == [words]
    assert len(plan_of(tmp_path, text % 9.0).samples) == 1
    assert faults_of(tmp_path, INSTANCE + METHOD + "repeat = 0\n")[0].startswith(
        "methods[0].repeat: must be at least 1"
    )
