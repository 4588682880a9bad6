"""FCFS and EASY, alone and behind a broker, equal start times that two independent programs computed from traces.

One of them schedules after every event, the other once per instant. Submit, run, processors and estimate
are the files' own columns.
"""

from __future__ import annotations

import pandas as pd
import pytest

import coalloc
from coalloc import Instance, Job
from coalloc.workloads.swf import pool
from tests.shared import shared

KTH, SDSC = ("kth_first5000.fcfs_easy.csv.gz", 100), ("sdscsp2.{}.csv.gz", 128)


@pytest.mark.parametrize(
    ("file", "processors", "column", "policy", "passes"),
    [
        (*KTH, "start_fcfs", "fcfs", "batch"),
        (*KTH, "start_fcfs", "fcfs", "per-event"),
        (*KTH, "start_easy_batch", "easy", "batch"),
        (*KTH, "start_easy_pyss", "easy", "per-event"),
        (*SDSC, "start_batch", "fcfs", "batch"),
        (*SDSC, "start_pyss", "fcfs", "per-event"),
        (*SDSC, "start_batch", "easy", "batch"),
        (*SDSC, "start_pyss", "easy", "per-event"),
    ],
)
def test_every_job_starts_when_the_independent_program_starts_it(file, processors, column, policy, passes):
    instance, starts = read(file.format(policy), processors, column)
    assert differing(coalloc.simulate(instance, policy, passes=passes), starts) == 0


@pytest.mark.parametrize(
    ("column", "local", "passes"),
    [
        ("start_fcfs", "fcfs", "batch"),
        ("start_easy_batch", "easy", "batch"),
        ("start_easy_pyss", "easy", "per-event"),
    ],
)
def test_and_so_it_does_at_the_one_site_of_a_broker(column, local, passes):
    file, processors = KTH
    instance, starts = read(file, processors, column)
    run = coalloc.simulate(instance, "grid", local=local, passes=passes)
    assert differing(run, starts) == 0


def read(file, processors, column):
    """Return the instance of an oracle file, and a column of start times."""
    rows = pd.read_csv(shared("oracles", file))
    jobs = [
        Job(str(row.id), tasks=row.procs, base_time=float(row.run), arrival=float(row.submit), estimate=float(row.est))
        for row in rows.itertuples()
    ]
    return Instance(pool(processors), jobs), rows[column]


def differing(run, starts):
    """Return how many jobs start at another time."""
    return int((pd.Series([placement.start for placement in run.schedule]) != starts).sum())
