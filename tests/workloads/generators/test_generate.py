"""Generators by name: seeds, errors, and laws that hold for all of them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import coalloc.workloads.generators as package
from coalloc.instance import CoallocError
from coalloc.workloads.communication import largest_task_bandwidth
from coalloc.workloads.generators import generate, generators

NAMES = sorted(generators())


def test_the_generators_there_are():
    assert {"thesis-oas", "paper-oas", "thesis-pas", "thesis-mesd", "perfect-packing"} <= set(NAMES)
    assert {"lublin", "feitelson96"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_seed_gives_the_same_instance_and_another_seed_another(name):
    first = generate(name, seed=3, jobs=50)
    assert first == generate(name, seed=3, jobs=50)
    assert first.name == f"{name}-3"
    assert first.jobs != generate(name, seed=4, jobs=50).jobs


@pytest.mark.parametrize("name", NAMES)
def test_defaults_that_are_said_are_those_that_are_used(name):
    said = {parameter.name: parameter.default for parameter in generators()[name].parameters}
    assert generate(name, seed=1, **said) == generate(name, seed=1)


@pytest.mark.parametrize("name", NAMES)
def test_the_number_of_jobs_is_a_parameter(name):
    assert len(generate(name, seed=1, jobs=5).jobs) == 5


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(NAMES), st.integers(0, 2**70))
def test_every_job_has_an_allocation_that_fits_the_links_when_it_is_alone(name, seed):
    instance = generate(name, seed=seed, jobs=100)
    for job in instance.jobs:
        assert job.tasks <= instance.platform.num_processors
        assert job.task_bandwidth <= largest_task_bandwidth(job.tasks, instance.platform) * (1 + 1e-12)


@pytest.mark.parametrize("name", ["thesis-oas", "paper-oas", "thesis-pas", "lublin"])
def test_narrow_links_lower_the_task_bandwidth_and_nothing_else(name):
    wide, narrow = generate(name, seed=1, jobs=100), generate(name, seed=1, jobs=100, link_bandwidth=5.0)
    lowered = [a.task_bandwidth > b.task_bandwidth for a, b in zip(wide.jobs, narrow.jobs, strict=True)]
    assert any(lowered)
    assert [j.replace(task_bandwidth=0.0) for j in wide.jobs] == [j.replace(task_bandwidth=0.0) for j in narrow.jobs]
    for job in narrow.jobs:
        assert job.task_bandwidth <= largest_task_bandwidth(job.tasks, narrow.platform)


def test_an_unknown_generator_is_an_error_that_lists_those_there_are():
    with pytest.raises(CoallocError, match=r"unknown generator 'lottery'; available: .*paper-oas, .*thesis-pas"):
        generate("lottery")


@pytest.mark.parametrize(
    ("name", "parameters", "sentence"),
    [
        ("thesis-oas", {"job": 3}, "job: is not a known key"),
        ("thesis-oas", {"jobs": "8"}, "jobs: must be an integer, got '8'"),
        ("thesis-oas", {"jobs": True}, "jobs: must be an integer, got true"),
        ("thesis-oas", {"jobs": 0}, "jobs: must be at least 1, got 0"),
        ("thesis-oas", {"jobs": 10**12}, "jobs: must be at most 1e"),
        ("thesis-oas", {"max_tasks": 13}, "max_tasks: must be at most 12"),
        ("thesis-oas", {"min_tasks": 5, "max_tasks": 4}, "max_tasks: must be at least min_tasks = 5, got 4"),
        ("paper-oas", {"min_tasks": 7}, "max_tasks: must be at least min_tasks = 7, got 6"),
        ("thesis-oas", {"share_high": 1.1}, "share_high: must be at most 1, got 1.1"),
        ("thesis-oas", {"link_bandwidth": float("nan")}, "link_bandwidth: must be finite"),
        ("thesis-oas", {"mean_base_time": 1e308}, "mean_base_time: must be at most 1e+100, got 1e+308"),
        ("thesis-pas", {"heterogeneity": 20}, "heterogeneity: must be 10, 50 or 90, got 20"),
        ("thesis-pas", {"sizes": "large"}, "sizes: must be 'log2' or 'literal', got 'large'"),
        ("thesis-pas", {"share_low": 1.0}, "share_high: must be at least share_low = 1, got 0.9"),
        ("perfect-packing", {"jobs": 161}, "jobs: must be at most nodes * steps = 160, got 161"),
        ("perfect-packing", {"clusters": 3}, "clusters: must divide nodes = 8, got 3"),
    ],
)
def test_a_wrong_parameter_is_an_error_that_lists_the_parameters(name, parameters, sentence):
    with pytest.raises(CoallocError) as caught:
        generate(name, **parameters)
    assert sentence in str(caught.value)
    assert f"parameters of {name}: {generators()[name].signature}" in str(caught.value)


@pytest.mark.parametrize("seed", [-1, 1.0, True, "1", None])
def test_a_seed_is_a_whole_number_from_0_on(seed):
    with pytest.raises(CoallocError, match="seed: must be an integer of at least 0"):
        generate("thesis-oas", seed=seed)


def test_a_generator_is_added_by_adding_one_file(tmp_path, monkeypatch):
    (tmp_path / "single.py").write_text(
        "from typing import Annotated\n"
        "from coalloc.instance import Cluster, Instance, Job, NodeGroup, Platform\n"
        "from coalloc.documents.values import Count\n"
        "from coalloc.workloads.generator import Generator\n"
        "class Single(Generator):\n"
        "    '''One job.'''\n"
        "    tasks: Annotated[Count, 'tasks of the job'] = 2\n"
        "    def draw(self, rng, name):\n"
        "        platform = Platform((Cluster('C', (NodeGroup(4, 1.0),), 1.0),))\n"
        "        return Instance(platform, (Job('J', tasks=self.tasks, base_time=1.0),), name=name)\n"
        "GENERATORS = {'single': Single}\n"
    )
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    package.families.cache_clear()
    try:
        assert generators()["single"].summary == "One job."
        assert generate("single", tasks=3).jobs[0].tasks == 3
    finally:
        package.families.cache_clear()


def type_of(name):
    return package.families()[name]
