"""Certificates of results: what is certified is right, and what cannot be is said."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import jsonschema
import pytest

import coalloc
from coalloc import verify
from coalloc.documents.kinds import document_of
from coalloc.documents.strict_json import layout
from coalloc.instance.files import INSTANCE
from coalloc.testing import small_feature_instance
from coalloc.testing.brute_force import brute_force_oas
from tests.cli.running import run

SLOTS = ("25%", "100%", None)


def stated(instance):
    return verify.parsed(layout(document_of(instance, INSTANCE)))


def instance_of(seed):
    """Return three or four jobs on two nodes per cluster, of which some arrive later."""
    arrivals = {"interarrival_mean": 2e5} if seed % 2 else {}
    return coalloc.generate("paper-oas", seed=seed, jobs=3 + seed % 2, **arrivals)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("slot", SLOTS)
def test_certificates_are_accepted_and_no_mutant_proves_too_much(seed, slot):
    instance = instance_of(seed)
    result = coalloc.solve(instance, slot=slot)
    certificate = result.certificate()
    least = brute_force_oas(instance, result.options.slot).objective
    check_mutants(instance, certificate, seed, least)


def check_mutants(instance, certificate, seed, least):
    """Assert that a certificate keeps to its schema, and that no mutant of it proves more than brute force allows."""
    assert certificate, certificate.reason
    jsonschema.validate(json.loads(layout(dict(certificate.document))), coalloc.io.schema("certificate"))
    rng, mutants = random.Random(seed), 0
    for _ in range(40):
        mutant = json.loads(layout(dict(certificate.document)))
        mutate(mutant, rng)
        try:
            verdict = verify.verdict_of(stated(instance), verify.parsed(json.dumps(mutant)))
        except (verify.NotProvedError, verify.BadFileError):
            continue
        mutants += 1
        assert verdict.bound is not None
        assert float(verdict.bound) <= least + 1e-3
    assert mutants < 40  # some are rejected


SUMS = ("total-response-time", "total-weighted-response-time", "mean-wait", "weighted-tardiness", "maximum-lateness")


@pytest.mark.parametrize("slot", SLOTS)
@pytest.mark.parametrize(("number", "objective"), [*enumerate([*SUMS, "mean-bounded-slowdown"])])
def test_sums_and_lateness_are_certified(number, objective, slot):
    seed = (number + SLOTS.index(slot)) % 2
    instance, rng = instance_of(seed), random.Random(seed)
    jobs = [replace(j, due_date=rng.uniform(1e6, 4e6), weight=float(rng.randint(1, 4))) for j in instance.jobs]
    instance = replace(instance, jobs=tuple(jobs))
    result = coalloc.solve(instance, slot=slot, objective=objective)
    least = brute_force_oas(instance, result.options.slot, objective=objective).objective
    check_mutants(instance, result.certificate(), seed, least + 1e-6 * abs(least))


@pytest.mark.parametrize("slot", SLOTS)
def test_infeasible_is_certified_and_only_then(slot):
    instance = instance_of(1)
    least = brute_force_oas(instance, coalloc.solve(instance, slot=slot).options.slot).objective + instance.origin
    refuted, possible = (
        replace(instance, jobs=tuple(replace(j, deadline=share * least) for j in instance.jobs))
        for share in (0.999, 1.001)
    )
    result = coalloc.solve(refuted, slot=slot)
    certificate = result.certificate()
    assert certificate, certificate.reason
    assert str(certificate).startswith("proved: there is no schedule")
    with pytest.raises(verify.NotProvedError):
        verify.verdict_of(stated(possible), verify.parsed(layout(dict(certificate.document))))


def mutate(document, rng):
    """Change a bound, a price, a rule or a time of a certificate."""
    bound = document["bound"]
    document["bound"] = rng.choice([*2 * [bound, bound + 1, bound + 1 + bound // 50], None])
    kind = rng.randrange(3)
    if kind == 0 and document["tables"]:
        table = rng.choice(document["tables"])
        prices = rng.choice(table["pieces"])["prices"]
        name = rng.choice(list(prices))
        prices[name] = [price * rng.choice([0, 1, 3]) for price in prices[name]]
    elif kind == 1:
        search = {"rule": "search", "processors": rng.choice(["speeds", "groups"]), "tables": []}
        split = {"rule": "cases", "split": "level", "job": "J2", "at": rng.randrange(3)}
        document["proof"] = rng.choice(
            [
                search,
                split | {"split": "half", "job": "J1", "cases": [search]},
                {"rule": "infeasible"},
                split | {"cases": [search, {"rule": "infeasible"}]},
            ]
        )
    else:
        document["schedule"]["placements"][0]["start"] *= rng.choice([1, 0.5])


def test_what_has_no_certificate_has_a_reason():
    instance = instance_of(1)
    used = coalloc.solve(instance, objective="used-clusters", slot="100%")
    assert str(used.certificate()) == "certificate: none (model oas with objective used-clusters is not covered)"
    with pytest.raises(coalloc.CoallocError, match="certificate: none"):
        used.certificate().write("none.json")
    assert "time limit" in coalloc.solve(coalloc.generate("thesis-oas", seed=1003, jobs=12)).certificate(1e-9).reason


def test_the_shell_makes_and_checks_certificates(tmp_path):
    instance, result, first, second = (str(tmp_path / n) for n in ("i.json", "r.json", "c.json", "d.json.gz"))
    coalloc.write_instance(instance_of(2), instance)
    done = run("solve", instance, "--slot", "50%", "--result", result, "--certificate", first)
    assert done.exit_code == 0
    assert run("certify", instance, result, "-o", second).exit_code == 0
    for certificate in (first, second):
        checked = run("verify", instance, certificate)
        assert checked.exit_code == 0
        assert "proved: it is optimal" in checked.stdout
    coalloc.write_instance(instance_of(3), instance)
    assert run("certify", instance, result).exit_code == 2
    assert run("verify", instance, second).exit_code == 1
    assert run("verify", instance, instance).exit_code == 2


def test_the_shell_checks_certificates_of_bundled_instances(tmp_path):
    certificate = str(tmp_path / "c.json")
    assert run("solve", "example:thesis-oas-1", "--slot", "50%", "--certificate", certificate).exit_code == 0
    assert "proved: it is optimal" in run("verify", "example:thesis-oas-1", certificate).stdout
    for instance, line in (
        ("none.json", "verify: none.json: No such file or directory\n"),
        ("example:none", "coalloc: unknown example 'none'; available: "),
    ):
        refused = run("verify", instance, certificate)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert refused.stderr.startswith(line)
        assert refused.stderr.count("\n") == 1


def test_no_schedule_and_no_last_end_leave_one_time():
    # The grid of times has one point, and no interval. J2 starts at most 10 s after J1, which is not counted there.
    instance, slot = small_feature_instance(457)
    certificate = coalloc.solve(instance, slot=slot, objective="total-response-time").certificate()
    assert certificate.reason == "the constraints that the checker counts allow a better schedule"
