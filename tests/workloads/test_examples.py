"""The bundled instances: valid, and what their page says they are."""

import pytest

import coalloc
from coalloc.instance import CoallocError
from coalloc.problem.execution import execution_time, link_loads, processing_slowdown
from coalloc.workloads.examples import example, examples
from coalloc.workloads.generators import generate

PACKAGE = {"jobs": 5, "heterogeneity": 90, "bsbw": 0.8, "link_bandwidth": 600.0, "interarrival_scale": 0}


def test_each_has_the_name_of_its_file():
    assert examples() == (
        "flux-sched-572",
        "gpu-racks",
        "mesd-example",
        "paper-oas-1",
        "pas-figure-3.3",
        "pcbe-8",
        "perfect-packing-1",
        "thesis-oas-1",
        "thesis-pas-package-1",
    )
    assert [example(name).name for name in examples()] == list(examples())


@pytest.mark.parametrize(
    ("name", "generator", "seed", "parameters"),
    [
        ("thesis-oas-1", "thesis-oas", 1, {}),
        ("paper-oas-1", "paper-oas", 1, {}),
        ("perfect-packing-1", "perfect-packing", 1, {}),
        ("pcbe-8", "pcbe", 8, {}),
        ("thesis-pas-package-1", "thesis-pas", 401, PACKAGE),
    ],
)
def test_a_generated_one_is_what_its_generator_makes(name, generator, seed, parameters):
    assert example(name) == generate(generator, seed=seed, **parameters).replace(name=name)


def test_seven_waves_are_enough_for_the_jobs_that_easy_runs_in_eight():
    # 28 nodes are asked for, of 4 for 20 s each: 7 waves at least. In order: 1 1 2, 1 1 1 1, 1 1 1 1, 4, 3, 2 2, 2, 3,
    # and behind none of the last waves is a smaller job left that could fill it.
    instance = example("flux-sched-572")
    assert (len(instance.jobs), instance.platform.num_processors) == (17, 4)
    assert coalloc.simulate(instance, "easy").metrics["makespan"] == 8 * 20.0
    result = coalloc.solve(instance, time_limit=20)
    assert (result.status, result.objective) == ("optimal", 7 * 20.0)


def test_the_package_fits_at_once():
    instance = example("thesis-pas-package-1")
    assert sum(job.tasks for job in instance.jobs) == 63
    assert instance.platform.num_processors == 64
    # Found by trying the slowest cluster of each job in order of total cost, and for each such choice
    # whether counts of tasks per cluster exist that fit nodes and links.
    result = coalloc.solve(instance, model="pas", objective="total-execution-time", time_limit=60)
    assert (result.status, result.objective) == ("optimal", pytest.approx(1211.9083, abs=1e-3))


def test_without_links_the_package_would_run_faster():
    # J1, J3, J5 on C1 (23 of 24 nodes), J2 on C2 and C3, J4 on what is left.
    instance = example("thesis-pas-package-1")
    allocations = [(3, 0, 0, 0), (0, 16, 5, 0), (4, 0, 0, 0), (1, 0, 11, 7), (16, 0, 0, 0)]
    powers = [cluster.nodes[0].effective_power for cluster in instance.platform.clusters]
    placed = list(zip(instance.jobs, allocations, strict=True))
    slowest = [min(power for power, count in zip(powers, counts, strict=True) if count) for counts in allocations]
    total = sum(execution_time(job, 1 / power) for job, power in zip(instance.jobs, slowest, strict=True))
    assert total == pytest.approx(953.5913, abs=1e-3)
    # On the link of C3: 5 * 16/20 * 145.12 + 11 * 8/18 * 159.56 = 1360.6 MB/s, not 600.
    assert sum(link_loads(job, counts, instance.platform)[2] for job, counts in placed) == pytest.approx(
        1360.6, abs=0.1
    )


@pytest.mark.parametrize(
    ("job", "powers", "seconds"),
    # Table 3.4 and errata 15: ideal times, J2 takes 85 s; then J2 and J4 on what is left.
    [
        ("J1", (0.75, 0.75), 116.667),
        ("J2", (0.75, 0.75, 0.5), 85.0),
        ("J3", (0.75, 0.75), 87.5),
        ("J4", (0.75, 0.75), 123.333),
        ("J2", (0.5, 0.25, 0.15), 248.333),
        ("J3", (0.5, 0.25), 187.5),
        ("J4", (0.5, 0.25), 310.0),
    ],
)
def test_the_mesd_example_takes_the_times_of_table_3_4(job, powers, seconds):
    instance = example("mesd-example")
    given = [group.effective_power for group in instance.platform.clusters[0].nodes for _ in range(group.count)]
    assert given == [0.75, 0.75, 0.5, 0.25, 0.15]
    assert len(powers) == instance.job_by_id[job].tasks
    assert execution_time(instance.job_by_id[job], processing_slowdown(powers)) == pytest.approx(seconds, abs=1e-3)


def test_figure_3_3_satisfies_its_condition():
    instance = example("pas-figure-3.3")
    first, second, third = instance.jobs
    assert [job.tasks for job in (first, second, third)] == [2, 3, 1]
    assert [c.nodes[0].effective_power for c in instance.platform.clusters for _ in range(c.num_nodes)] == [
        1,
        1,
        0.5,
        0.5,
    ]
    assert first.processing_share * first.base_time > third.processing_share * third.base_time
    # J1 on the fast nodes and J3 on a slow one: 200 + 160 s; the other way round: 360 + 100 s.
    assert execution_time(first, 1.0) + execution_time(third, 2.0) == pytest.approx(360.0)
    assert execution_time(first, 2.0) + execution_time(third, 1.0) == pytest.approx(460.0)


def test_an_unknown_example_is_an_error_that_lists_those_there_are():
    with pytest.raises(CoallocError, match=r"unknown example '\.\./x'; available: .*mesd-example, .*paper-oas-1"):
        example("../x")
