"""Certificates of results: made on demand, and kept only if the checker accepts them."""

from __future__ import annotations

import time
from decimal import Decimal
from fractions import Fraction

from coalloc import verify
from coalloc.certificates.proving import Prover, UnprovedError
from coalloc.documents.kinds import document_of
from coalloc.documents.strict_json import layout
from coalloc.instance import CoallocError, Instance
from coalloc.instance.files import INSTANCE
from coalloc.objectives import OBJECTIVES
from coalloc.objectives.completion import Makespan
from coalloc.problem import discretise
from coalloc.schedule.files import SCHEDULE
from coalloc.solvers.certificate import Certificate
from coalloc.solvers.result import NO_TIME_LIMIT, SolveResult, SolveStatus
from coalloc.solvers.time_shift import shifted
from coalloc.system.versions import versions

ROOM = Fraction(1, 2)
"""Share of the tolerance of a proof in continuous time that is left to the rounding of prices."""


def certify(result: SolveResult, time_limit: float | None = 60.0) -> Certificate:
    """Return a certificate of a result: a new proof, with the optimum known, that the checker has accepted.

    ``time_limit`` is in s; None: no limit.
    """
    reason = _not_covered(result)
    if reason or result.instance is None:
        return Certificate(None, reason or "the result has no instance")
    deadline = time.perf_counter() + (NO_TIME_LIMIT if time_limit is None else time_limit)
    try:
        return _accepted(result, result.instance, deadline)
    except (UnprovedError, verify.NotProvedError, verify.BadFileError, CoallocError) as error:
        return Certificate(None, str(error))


def _not_covered(result: SolveResult) -> str:
    """Return why there is no certificate of results of that kind."""
    options = result.options
    if result.status is not SolveStatus.OPTIMAL or result.schedule is None:
        return f"the status is {result.status.value}, not optimal with a schedule"
    if options.model != "oas" or options.objective != Makespan.name:
        return f"model {options.model} with objective {options.objective} is not covered"
    return "" if options.links == "strict" else f"links {options.links} are not covered"


def _accepted(result: SolveResult, instance: Instance, deadline: float) -> Certificate:
    """Return a certificate that the checker accepts; raise where there is none."""
    options = result.options
    content = document_of(instance, INSTANCE)
    stated = verify.parsed(layout(content))
    slot, saturation = (None if n is None else Fraction(Decimal(repr(n))) for n in (options.slot, options.saturation))
    given = verify.instance_of(stated)
    checked = verify.Problem(given, verify.Clock.of(given, slot), options.scope, saturation or Fraction(0))
    assert result.schedule is not None
    schedule = document_of(result.schedule, SCHEDULE)
    latest = verify.latest_end_of(checked, verify.parsed(layout(schedule)))
    tolerance = verify.Verdict(checked, latest, latest, True).tolerance
    bound = latest - int(ROOM * tolerance / checked.clock.unit)
    moved = shifted(instance, options.slot, OBJECTIVES[Makespan.name])
    if moved.base.shift:
        raise UnprovedError("times far from 0 are not covered yet")
    problem = discretise(
        moved.instance, options.slot, saturation=options.saturation, scope=options.scope, base=moved.base
    )
    tables, proof = Prover(checked, problem, deadline).proof(bound - 1) if bound > 0 else ([], {"rule": "infeasible"})
    document = {
        "format": "coalloc-certificate",
        "version": 1,
        "instance": instance.name,
        "instance_sha256": result.instance_sha256,
        "problem": {
            "objective": options.objective,
            "slot": options.slot,
            "links": options.links,
            "saturation": options.saturation,
            "scope": options.scope,
        },
        "bound": bound,
        "tables": tables,
        "proof": proof,
        "schedule": schedule,
        "provenance": {"method": "dual prices and search, with the optimum known", "versions": versions()},
    }
    verdict = verify.verdict_of(stated, verify.parsed(layout(document)), result.instance_sha256)
    if not verdict.is_optimal:
        raise UnprovedError("the checker does not accept that the schedule is optimal")
    return Certificate(document, lines=tuple(verdict.lines()))
