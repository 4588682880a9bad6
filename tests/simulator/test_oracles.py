"""FCFS and EASY equal, job by job, start times that two independent programs computed from real traces.

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
    rows = pd.read_csv(shared("oracles", file.format(policy)))
    jobs = [
        Job(str(row.id), tasks=row.procs, base_time=float(row.run), arrival=float(row.submit), estimate=float(row.est))
        for row in rows.itertuples()
    ]
    run = coalloc.simulate(Instance(pool(processors), jobs), policy, passes=passes)
    starts = pd.Series([placement.start for placement in run.schedule])
    assert int((starts != rows[column]).sum()) == 0
