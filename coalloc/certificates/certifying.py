"""Certificates of results: made on demand, and kept only if the checker accepts them."""

from __future__ import annotations

import math
import time
from decimal import Decimal
from fractions import Fraction
from typing import Any

from coalloc import verify
from coalloc.certificates.proving import LatestEnds, Proposal, UnprovedError, proof_of_costs
from coalloc.documents.kinds import document_of
from coalloc.documents.strict_json import layout
from coalloc.instance import CoallocError, Instance
from coalloc.instance.files import INSTANCE
from coalloc.objectives import OBJECTIVES
from coalloc.objectives.completion import Makespan
from coalloc.problem import Problem, discretise
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
    is_optimal = result.status is SolveStatus.OPTIMAL and result.schedule is not None
    if not is_optimal and result.status is not SolveStatus.INFEASIBLE:
        return f"the status is {result.status.value}, neither optimal with a schedule nor infeasible"
    if options.model != "oas" or options.objective not in verify.OBJECTIVES:
        return f"model {options.model} with objective {options.objective} is not covered"
    return "" if options.links == "strict" else f"links {options.links} are not covered"


def _accepted(result: SolveResult, instance: Instance, deadline: float) -> Certificate:
    """Return a certificate that the checker accepts; raise where there is none."""
    options = result.options
    stated = verify.parsed(layout(document_of(instance, INSTANCE)))
    asked = {
        "objective": options.objective,
        "slot": options.slot,
        "links": options.links,
        "saturation": options.saturation,
        "scope": options.scope,
    }
    checked = verify.Problem(stated, verify.parsed(layout(asked)))
    schedule, bound = None, None
    if result.schedule is not None:
        schedule = document_of(result.schedule, SCHEDULE)
        bound = _bound_of(verify.objective_of(checked, verify.parsed(layout(schedule))), checked)
    case = verify.Case.root(checked, None if bound is None else Fraction(Decimal(repr(bound))))
    tables, proof = _proof_of(result, instance, case, deadline)
    document = {
        "format": "coalloc-certificate",
        "version": 1,
        "instance": instance.name,
        "instance_sha256": result.instance_sha256,
        "problem": asked,
        "bound": bound,
        "tables": tables,
        "proof": proof,
        "schedule": schedule,
        "provenance": {"method": "dual prices and search, with the optimum known", "versions": versions()},
    }
    verdict = verify.verdict_of(stated, verify.parsed(layout(document)), result.instance_sha256)
    if not verdict.is_complete:
        raise UnprovedError("the checker does not accept that the schedule is optimal")
    return Certificate(document, lines=tuple(verdict.lines()))


def _bound_of(objective: Fraction, checked: verify.Problem) -> float:
    """Return the bound to prove: an objective, or what is below it by a part of the tolerance in continuous time."""
    tolerance = verify.Verdict(checked, None, objective, True).tolerance
    exact = objective - (0 if checked.clock.is_slotted else ROOM * tolerance)
    bound = float(exact)
    return bound if Fraction(Decimal(repr(bound))) <= exact else math.nextafter(bound, -math.inf)


def _proof_of(
    result: SolveResult, instance: Instance, case: verify.Case, deadline: float
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return tables and steps that close a case; raise where none are found."""
    problem = _discretised(result, instance)
    links = tuple(case.problem.links[k].name for k in problem.contended_links)
    proposal = Proposal(case.problem, links, deadline)
    if result.options.objective == Makespan.name and result.schedule is not None:
        step = LatestEnds(proposal, problem).proof(case)
    else:
        unit = case.problem.clock.unit
        times = [round(Fraction(time) / unit) for p in result.schedule or () for time in (p.start, p.end)]
        step = proof_of_costs(proposal, case, times)
    return proposal.written(), step


def _discretised(result: SolveResult, instance: Instance) -> Problem:
    """Return the problem that was solved."""
    options = result.options
    moved = shifted(instance, options.slot, OBJECTIVES[options.objective])
    if moved.base.shift:
        raise UnprovedError("times far from 0 are not covered yet")
    return discretise(moved.instance, options.slot, saturation=options.saturation, scope=options.scope, base=moved.base)
