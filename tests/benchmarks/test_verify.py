"""The verification: what it compares, and that a false claim does not pass."""

from __future__ import annotations

import agreement
import pytest
import verify

import coalloc


def first_case(kind: verify.Kind, number: int) -> agreement.Case:
    return next(verify.cases(verify.Sample(kind, number, 5.0, 1.0)))


@pytest.mark.extras
def test_a_small_instance_is_solved_with_and_without_cpsat_on_every_time_scale():
    cases = list(verify.cases(verify.Sample("small", 3, 5.0, 1.0)))
    assert len(cases) == verify.SOLVES
    assert [case.find for case in cases[:2]] == [verify.by_proof, verify.by_proof_without_cpsat]
    assert {case.keywords["slot"] is None for case in cases} == {True, False}


@pytest.mark.parametrize("jobs", [5, 6, 60])
def test_a_perfect_packing_fills_its_rectangle(jobs):
    instance = verify.perfect_packing(jobs)
    assert len(instance.jobs) == jobs
    work = sum(job.tasks * job.base_time for job in instance.jobs)
    assert work == pytest.approx(verify.PACKING_NODES * verify.MAKESPAN)


@pytest.mark.parametrize(
    ("status", "objective", "bound", "wrong"),
    [
        ("feasible", 1000.0, 1000.0, ""),
        ("optimal", 1050.0, 1000.0, "optimal is said"),
        ("feasible", 1050.0, 1001.0, "the bound 1001 is above"),
        ("infeasible", None, None, "said to be infeasible"),
    ],
)
def test_a_false_claim_about_a_known_optimum_is_a_disagreement(status, objective, bound, wrong):
    case = first_case("packing", 5)
    finding = agreement.Finding(status, () if objective is None else (objective,), bound, None)
    assert wrong in "; ".join(agreement.disagreements(case, finding))
    assert bool(wrong) == any(agreement.disagreements(case, finding))


def test_a_short_run_takes_every_seventh_packing():
    options = verify._parser().parse_args(["--every", "7", "--seeds", "2"])
    samples = [(sample.kind, sample.number) for sample in verify.planned(options)]
    packings = [("packing", jobs) for jobs in (5, 12, 19, 26, 33, 40, 47, 54)]
    assert samples == [*packings, ("small", 0), ("small", 1)]


def test_a_process_that_was_killed_is_a_disagreement():
    sample = verify.Sample("small", 7, 5.0, 1.0)
    (row,) = verify.sample_rows(sample, {"status": "timeout", "message": "did not end"})
    assert (row["seed"], row["disagreement"]) == (7, "did not end")


def test_the_page_counts_claims_and_who_had_the_last_word():
    claim = {"family": "small", "formulation": "auto", "objective": "makespan", "seed": 0, "status": "optimal"}
    rows = [
        claim | {"source": "CP-SAT", "disagreement": "", "uncertified": ""},
        claim | {"source": "model", "disagreement": "wrong", "uncertified": "no time"},
    ]
    options = verify._parser().parse_args([])
    page = verify.report(rows, {"small": 1, "packing": 0}, options, "python benchmarks/verify.py --seeds 2")
    assert "Made by `python benchmarks/verify.py --seeds 2`;" in page
    assert "Ran: 1 of 500 small instances" in page
    assert "claimed 2 times in 2 solves, and 1 of these are confirmed" in page
    assert "| small | makespan | 1 | 1 |\n" in page
    assert "| small | makespan | 2 | 1 | 1: no time |" in page
    assert "seed 0, small, auto, makespan: wrong" in page


@pytest.mark.extras
def test_without_the_extra_the_portfolio_says_so_itself():
    # Alone, the two jobs need a proof: the sources of the trace name what ran.
    case = first_case("small", 3)
    finding = verify.by_proof_without_cpsat(case, 5.0)
    assert finding.source != "CP-SAT"
    assert finding.uncertified == ""
    assert coalloc.check(case.instance, finding.schedule) == []
