"""Agreement of a policy that models the site with its log: simulated and recorded starts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from coalloc.studies.audit_policies import PolicyTrial
from coalloc.studies.audit_windows import AuditWindow, Floats
from coalloc.studies.audit_words import amount, percent

NUM_STEPS = 200
"""Time steps of the utilization."""

CLOSE, ROUGH = (0.1, 0.8), (0.3, 0.5)
"""Largest relative error of the mean wait, and least rank correlation of waits, of a close and of a rough model."""


@dataclass(frozen=True)
class ModelFit:
    """The recorded schedule of a period and the one that a policy simulates from the same beginning.

    ``trial`` is the simulation, ``recorded`` the waits of the log, s.
    """

    window: AuditWindow
    trial: PolicyTrial
    recorded: Floats

    @property
    def differences(self) -> Floats:
        """Absolute difference of simulated and recorded start of each job, s."""
        return np.abs(self.trial.waits - self.recorded)

    @cached_property
    def tau_starts(self) -> float:
        """Kendall's tau of simulated and recorded starts; jobs of a long log start in order of arrival in both."""
        return _tau(self.window.starts + self.trial.waits - self.recorded, self.window.starts)

    @cached_property
    def tau_waits(self) -> float:
        """Kendall's tau of simulated and recorded waits."""
        return _tau(self.trial.waits, self.recorded)

    @property
    def wait_error(self) -> float:
        """Simulated less recorded mean wait, as a share of the recorded one."""
        recorded = float(self.recorded.mean())
        difference = float(self.trial.waits.mean()) - recorded
        return difference / recorded if recorded else float(bool(difference))

    @cached_property
    def utilization(self) -> tuple[Floats, Floats, Floats]:
        """Time steps (s from the beginning), and the mean shares of processors in use: recorded and simulated."""
        window = self.window
        simulated = window.starts + self.trial.waits - self.recorded
        edges = np.linspace(0.0, window.end - window.begin, NUM_STEPS + 1)
        return edges, _utilization(window, window.starts, edges), _utilization(window, simulated, edges)

    @property
    def utilization_error(self) -> float:
        """Mean absolute difference of simulated and recorded utilization over the time steps."""
        _, recorded, simulated = self.utilization
        return float(np.abs(simulated - recorded).mean())

    @property
    def verdict(self) -> str:
        """Return how far conclusions from simulations with this model can be trusted."""
        error, tau = abs(self.wait_error), self.tau_waits
        for (most, least), sentence in (
            (CLOSE, "repeats the log closely: gains of policies can be trusted"),
            (ROUGH, "repeats the log roughly: trust the order of policies, not the size of gains"),
        ):
            if error <= most and not tau < least:
                return sentence
        return "does not repeat the log: gains of policies may come from the model, not from the policy"

    @property
    def sentences(self) -> tuple[str, ...]:
        """The comparison in words, the verdict first."""
        median, p90 = np.percentile(self.differences, (50.0, 90.0)).tolist()
        waits = f"{amount(float(self.trial.waits.mean()))} instead of {amount(float(self.recorded.mean()))}"
        return (
            f"{self.trial.label} {self.verdict}",
            f"starts differ by {amount(median)} (median) and {amount(p90)} (90th percentile); mean wait {waits}",
            f"Kendall's tau of starts {_tau_text(self.tau_starts)}, of waits {_tau_text(self.tau_waits)}; utilization "
            f"differs by {percent(self.utilization_error)} on average",
        )

    @property
    def document(self) -> dict[str, object]:
        """The comparison as a part of a JSON document."""
        median, p90 = np.percentile(self.differences, (50.0, 90.0)).tolist()
        edges, recorded, simulated = (part.tolist() for part in self.utilization)
        return {
            "policy": self.trial.label,
            "verdict": self.verdict,
            "start_difference_median": median,
            "start_difference_p90": p90,
            "tau_starts": None if np.isnan(self.tau_starts) else self.tau_starts,
            "tau_waits": None if np.isnan(self.tau_waits) else self.tau_waits,
            "wait_error": self.wait_error,
            "utilization_error": self.utilization_error,
            "utilization": {"edges": edges, "recorded": recorded, "simulated": simulated},
        }


def _tau(left: Floats, right: Floats) -> float:
    """Return Kendall's tau; nan where all of one are equal."""
    from scipy.stats import kendalltau

    return float(kendalltau(left, right).statistic)


def _tau_text(tau: float) -> str:
    """Return Kendall's tau in words."""
    return "undefined" if np.isnan(tau) else f"{tau:.3f}"


def _utilization(window: AuditWindow, starts: Floats, edges: Floats) -> Floats:
    """Return the mean share of the processors in use between edges (s), by the jobs and those that ran already."""
    jobs, running = window.sample.jobs, window.sample.instance.running
    begin = np.concatenate([starts, np.zeros(len(running))])
    end = np.concatenate([starts + jobs.run, [run.end for run in running]])
    tasks = np.concatenate([jobs.processors, [run.job.tasks for run in running]])
    times = np.concatenate([begin, end])
    order = np.argsort(times, kind="stable")
    busy = np.cumsum(np.concatenate([tasks, -tasks])[order])
    times = times[order]
    work = np.concatenate([[0.0], np.cumsum(busy[:-1] * np.diff(times))])
    done = np.interp(edges, times, work)
    return np.asarray(np.diff(done) / np.diff(edges) / window.sample.instance.platform.num_processors)
