"""One run of AccaSim over a trace: a script for an interpreter that has AccaSim, which coalloc does not need.

``python accasim_run.py TRACE PROCESSORS easy|fcfs SECONDS STARTS`` writes "job start" lines to STARTS and
prints one JSON object: jobs that ended, CPU and wall seconds, peak resident memory in MB. The platform is
as many nodes of one core as there are processors; nothing else is written, so that no time goes into files.
"""

import json
import os
import sys
import tempfile
import time

from accasim.base.allocator_class import FirstFit
from accasim.base.scheduler_class import EASYBackfilling, FirstInFirstOut
from accasim.base.simulator_class import Simulator

EPOCH = 1_000_000
"""Added to all times (s): AccaSim takes the instant 0 for "not yet set"."""

SCHEDULERS = {"easy": EASYBackfilling, "fcfs": FirstInFirstOut}


def note_starts(manager):
    """Let an event manager note when each job that ends had started; return where it does."""
    starts, finish = {}, manager.finish_event

    def finish_and_note(event):
        finish(event)
        starts[event.id] = event.start_time - EPOCH

    manager.finish_event = finish_and_note
    return starts


def configuration(folder, processors):
    """Write the description of a platform of so many nodes of one core; return its path."""
    path = os.path.join(folder, "system.json")
    with open(path, "w") as file:
        json.dump(
            {
                "groups": {"node": {"core": 1}},
                "resources": {"node": processors},
                "equivalence": {"processor": {"core": 1}},
                "start_time": EPOCH,
            },
            file,
        )
    return path


def main(trace, processors, policy, seconds, starts_path):
    with tempfile.TemporaryDirectory() as folder:
        simulator = Simulator(
            trace,
            configuration(folder, int(processors)),
            SCHEDULERS[policy](FirstFit()),
            scheduling_output=False,
            statistics_output=False,
            show_statistics=False,
            timeout=float(seconds),
            LOG_LEVEL="WARNING",
            RESULTS_FOLDER_PATH=folder,
        )
        starts = note_starts(simulator.mapper)
        cpu, wall = time.process_time(), time.perf_counter()
        simulator.start_simulation()
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    with open(starts_path, "w") as file:
        file.writelines(f"{job} {start}\n" for job, start in starts.items())
    with open("/proc/self/status") as status:
        peak = int(status.read().partition("VmHWM:")[2].split()[0]) * 1024 / 1e6
    print(json.dumps({"jobs": len(starts), "cpu": cpu, "wall": wall, "peak": peak}))


if __name__ == "__main__":
    main(*sys.argv[1:])
