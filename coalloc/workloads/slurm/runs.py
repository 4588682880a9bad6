"""The runs of a Slurm site's jobs as columns: what each record of accounting becomes, or why it is left out.

Processors and times are ruled as in all traces (:mod:`coalloc.workloads.swf_rules`).
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from coalloc.workloads.slurm.demands import Demands, Unmet
from coalloc.workloads.slurm.platform import Demand
from coalloc.workloads.slurm.sacct import Arrival, as_swf
from coalloc.workloads.slurm.sacct_records import RecordDrop, SacctRecord, elapsed
from coalloc.workloads.slurm.submit import NOTHING, Submitted, submitted, throttle_of
from coalloc.workloads.slurm.values import UNKNOWN, amount, count, resources
from coalloc.workloads.swf_rules import RecordChange, SwfJob, apply_rules


class Left(StrEnum):
    """Why a run of a job is not in the instance."""

    RESERVATION = "ran in a reservation, which holds its nodes itself"
    NO_PLACE = "more processors, memory or generic resources than its nodes have"
    UNPLACED = "ran at the beginning of the period on nodes that are not known, or not free"
    BEFORE = "ended before the period"
    AFTER = "arrived after the period"


class Told(StrEnum):
    """Differences of a job of the instance from its record."""

    RUNNING = "had not ended: run time until the end of the log"
    PARTITION_LIMIT = "no requested walltime of its own: that of the partition"


@dataclass(slots=True)
class Runs:
    """Runs of jobs in the order of the log, one entry of each column for each; times are since 1970, in s.

    ``owner`` is the place in ``owners`` of account, user, partition and QOS; ``key`` that of user and job name in
    ``names``; ``resources`` are what the job holds by name, as its record says.
    """

    ids: list[str] = field(default_factory=list)
    tasks: array[int] = field(default_factory=lambda: array("q"))
    nodes: array[int] = field(default_factory=lambda: array("q"))
    submit: array[float] = field(default_factory=lambda: array("d"))
    arrival: array[float] = field(default_factory=lambda: array("d"))
    start: array[float] = field(default_factory=lambda: array("d"))
    run: array[float] = field(default_factory=lambda: array("d"))
    estimate: array[float] = field(default_factory=lambda: array("d"))
    demand: list[Demand] = field(default_factory=list)
    resources: list[Mapping[str, float]] = field(default_factory=list)
    licenses: list[Mapping[str, float]] = field(default_factory=list)
    owner: array[int] = field(default_factory=lambda: array("q"))
    key: array[int] = field(default_factory=lambda: array("q"))
    hosts: list[str] = field(default_factory=list)
    submitted: list[Submitted] = field(default_factory=list)
    owners: dict[tuple[str, str, str, str], int] = field(default_factory=dict)
    names: dict[tuple[str, str], int] = field(default_factory=dict)
    throttles: dict[str, int] = field(default_factory=dict)
    end: float = 0.0

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(slots=True)
class Collecting:
    """The runs of a log while it is read, and the counts of what was left out and changed."""

    demands: Demands
    reservations: frozenset[str]
    runs: Runs = field(default_factory=Runs)
    dropped: Counter[str] = field(default_factory=Counter)
    changed: Counter[str] = field(default_factory=Counter)
    unmet: Counter[str] = field(default_factory=Counter)
    num_records: int = 0
    running: list[int] = field(default_factory=list)

    def add(self, found: SacctRecord | RecordDrop, fields: Mapping[str, str]) -> None:
        """Add a record."""
        self.num_records += 1
        if isinstance(found, RecordDrop):
            self.dropped[found] += 1
            self._note_throttle(found, fields)
        elif fields.get("Reservation") in self.reservations:
            self.dropped[Left.RESERVATION] += 1
        else:
            self._add_run(found, fields)

    def _note_throttle(self, found: RecordDrop, fields: Mapping[str, str]) -> None:
        """Note how many tasks of an array may run at once, as the tasks that wait say (``8_[3-9%2]``)."""
        job, _, waiting = fields["JobID"].partition("_")
        if found is RecordDrop.NEVER_STARTED and (throttle := throttle_of(waiting)):
            self.runs.throttles[job] = throttle

    def _add_run(self, record: SacctRecord, fields: Mapping[str, str]) -> None:
        """Add a run of a job, if there is a place for it."""
        layout = self.demands.layout
        had_not_ended = record.run is None
        now = record.start + (elapsed(fields) if record.run is None else record.run)
        self.runs.end = max(self.runs.end, now, record.submit)
        partition = layout.site.partitions.get(fields.get("Partition", ""))
        has_limit_of_partition = record.limit is None and partition is not None and partition.longest is not None
        if has_limit_of_partition and partition is not None:
            record = record._replace(limit=partition.longest)
        ruled = as_swf(record._replace(run=1.0) if had_not_ended else record)
        job, changes = apply_rules(ruled, layout.num_processors, invalid="drop", oversize="drop")
        if job is None:
            self.dropped.update(changes)
            return
        told = self._told(record, fields)
        is_exclusive = told.is_exclusive or (partition is not None and partition.is_exclusive)
        demand, unmet = self.demands.of(fields, record.memory, job.processors, is_exclusive and layout.unit == "cpus")
        if self.demands.capacity(demand) < job.processors:
            self.dropped[Left.NO_PLACE] += 1
            return
        if had_not_ended and record.limit is None:
            job = replace(job, estimate=0.0)  # as long as it runs
        self._append(record, fields, job, demand, told)
        if changes or unmet or told.unexpressed:
            self._note(changes, unmet, told)
        if had_not_ended:
            self.running.append(len(self.runs) - 1)
        self.changed[Told.RUNNING] += had_not_ended
        self.changed[Told.PARTITION_LIMIT] += has_limit_of_partition

    def _append(
        self, record: SacctRecord, fields: Mapping[str, str], job: SwfJob, demand: Demand, told: Submitted
    ) -> None:
        """Add an entry to each column; what can be wrong with a field is known before the first one."""
        runs = self.runs
        nodes = count("NNodes", fields.get("NNodes") or fields.get("AllocNodes") or "")
        held, licenses = resources("AllocTRES", fields.get("AllocTRES", "")), self._licenses(fields)
        asked = max(record.submit, record.eligible)
        runs.ids.append(record.id)
        runs.tasks.append(job.processors)
        runs.nodes.append(nodes)
        runs.submit.append(record.submit)
        runs.arrival.append(min(asked, record.start))
        runs.start.append(record.start)
        runs.run.append(job.run)
        runs.estimate.append(job.estimate)
        runs.demand.append(demand)
        runs.resources.append(held)
        runs.licenses.append(licenses)
        runs.hosts.append(fields.get("NodeList", ""))
        runs.submitted.append(told)
        self._add_owner(fields)
        if asked > record.start:
            self.changed[Arrival.MOVED] += 1
        elif asked > record.submit:
            self.changed[Arrival.ELIGIBLE] += 1

    def _told(self, record: SacctRecord, fields: Mapping[str, str]) -> Submitted:
        """Return what the line says with which the job was submitted."""
        line = fields.get("SubmitLine", "")
        dependency = fields.get("Dependency", "")
        _, _, component = record.id.partition("+")
        told = submitted(line, int(component or 0)) if line else NOTHING
        return told._replace(dependency=dependency) if dependency not in UNKNOWN else told

    def _note(self, changes: Iterable[RecordChange], unmet: Iterable[Unmet], told: Submitted) -> None:
        """Count what is changed, and what the instance does not express."""
        self.changed.update(changes)
        self.unmet.update(unmet)
        self.unmet.update(told.unexpressed)

    def _licenses(self, fields: Mapping[str, str]) -> Mapping[str, float]:
        """Return the licenses that a job holds and the site has."""
        text = fields.get("Licenses", "")
        if text in UNKNOWN:
            return {}
        known = self.demands.layout.site.licenses
        held = {}
        for entry in text.split(","):
            name, _, number = entry.strip().partition(":" if ":" in entry else "=")
            taken = amount("Licenses", number or "1")
            if taken <= known.get(f"license/{name}", 0.0):
                held[f"license/{name}"] = taken
            else:
                self.unmet[Unmet.LICENSE] += 1
        return held

    def _add_owner(self, fields: Mapping[str, str]) -> None:
        """Add whose job a run is."""
        runs = self.runs
        user = fields.get("User", "")
        owner = fields.get("Account", ""), user, fields.get("Partition", ""), fields.get("QOS", "")
        runs.owner.append(runs.owners.setdefault(owner, len(runs.owners)))
        runs.key.append(runs.names.setdefault((user, fields.get("JobName", "")), len(runs.names)))

    def finish(self) -> Runs:
        """Return the runs; those that had not ended last until the end of the log."""
        runs = self.runs
        for place in self.running:
            elapsed = max(1.0, runs.end - runs.start[place])
            runs.estimate[place] = max(runs.estimate[place], elapsed)
            runs.run[place] = elapsed
        return runs
