"""A benchmark on a Slurm cluster: worker jobs through dask-jobqueue, and ``coalloc bench run`` on them.

Each job is one Dask worker that runs one sample at a time. ``--show`` prints the job script and submits
nothing. The store stays with this process, which may be stopped and started again. Manual: docs/bench.md.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

COALLOC = (sys.executable, "-P", "-c", "from coalloc.cli import main; main()")
"""The command of the environment that this script runs in, whatever ``PATH`` says."""


def main(arguments: Sequence[str] | None = None) -> int:
    options, others = _parser().parse_known_args(arguments)
    try:
        from dask_jobqueue import SLURMCluster
    except ImportError:
        sys.exit("this needs dask-jobqueue: pip install 'coalloc[dask]'")
    with SLURMCluster(**job(options)) as cluster:
        if options.show:
            print(cluster.job_script())
            return 0
        cluster.scale(jobs=options.workers)
        command = [*COALLOC, "bench", "run", options.spec, "--scheduler", cluster.scheduler_address, *others]
        signal.signal(signal.SIGINT, lambda *_: None)  # Ctrl-C is for the runner, which ends with what it has
        return subprocess.run(command, check=False).returncode


def job(options: argparse.Namespace) -> dict[str, Any]:
    """Return what a job asks of Slurm."""
    return {
        "queue": options.queue,
        "account": options.account,
        "cores": options.threads,
        "processes": 1,
        "worker_extra_args": ["--nthreads", "1"],  # a sample at a time, whatever its threads
        "memory": f"{options.memory} MB",
        "walltime": f"{options.hours}:00:00",
        "job_extra_directives": options.directive,
        "job_script_prologue": ["export PYTHONSAFEPATH=1"],  # no module from the folder that it is submitted in
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n", maxsplit=1)[0],
        epilog="Further options go to coalloc bench run: --store, --retry-failed, ...",
    )
    parser.add_argument("spec", help="specification of the benchmark")
    parser.add_argument("--workers", type=int, default=16, help="jobs, each one sample at a time (default 16)")
    parser.add_argument("--queue", help="partition")
    parser.add_argument("--account", help="account to charge")
    parser.add_argument("--threads", type=int, default=1, help="cores per job: the threads of a sample (default 1)")
    parser.add_argument(
        "--memory", type=int, default=5000, help="MB per job: limits.memory and 1000 for the worker (default 5000)"
    )
    parser.add_argument("--hours", type=int, default=4, help="time of each job (default 4)")
    parser.add_argument("--directive", nargs="*", default=[], help="further lines of #SBATCH: --constraint=cpu ...")
    parser.add_argument("--show", action="store_true", help="print the job script, submit nothing")
    return parser


if __name__ == "__main__":
    sys.exit(main())
