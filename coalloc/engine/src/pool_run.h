/* Runs of rigid jobs on equal processors over time, by the rules of a queue: coalloc/simulator/pool_run.py. */

#ifndef POOL_RUN_H
#define POOL_RUN_H

#include "common.h"

typedef struct pool_run pool_run;

/* Make a run. Jobs arrive in an `order`, take `seconds`, by their `estimates` (s) others, and `are_killed` at these or
   not. The job with the least of `keys` is first in the queue, ties as they arrive. Where the first does not fit,
   `passing` says which others may start: 0 none, 1 each that fits, 2 those that do not delay it (EASY), in the order of
   the queue, or 3 in that of `turns`; 4: `pool_run_choose` says which start. With `is_per_event` each event is an instant, arrivals before ends; else one
   instant is all within the tolerance: `tolerance` (s) up to the time `latest`, then as a share of the time.
   Jobs that run already are numbered behind the others. */
ENGINE(int64_t) pool_run_new(
    pool_run *made[1], int64_t num_jobs, int64_t num_running, int64_t num_processors, int64_t passing,
    int64_t is_per_event, int64_t are_killed, double tolerance, double latest, double share,
    const int64_t order[num_jobs], const double arrivals[num_jobs + num_running],
    const int64_t tasks[num_jobs + num_running], const double seconds[num_jobs], const double estimates[num_jobs],
    const double keys[num_jobs], const double turns[num_jobs], const double running_ends[num_running]);
ENGINE(void) pool_run_free(pool_run *of);

/* Go on for so many seconds, up to so many instants in all; return how many jobs have ended. */
ENGINE(int64_t) pool_run_go(pool_run *of, double seconds, int64_t instants);

/* Start a job that fits, the `choice`-th of the queue, or wait: go on to the next instant. Then go on until one of the
   first jobs of the queue fits, those in the window: one less than there are choices, the last of which is to wait. A
   choice below 0 is none yet. One that does not fit is to wait; where nothing is to come any more, the first job that
   fits starts instead. Write which choices are possible then, and in `seen`: the clock (s), how many jobs wait, the
   seconds that started jobs have waited, the sum of the bounded slowdowns of ended jobs (runs are at least so many
   seconds, `shortest`), the free processors; of each job in the window tasks, estimate and wait (s); of so many running
   jobs, in the order of their ends by the estimates, seconds until then and processors: 5 numbers per choice. Return
   how many jobs are still to start. */
ENGINE(int64_t) pool_run_choose(
    pool_run *of, int64_t choice, double shortest, int64_t num_choices, uint8_t is_possible[num_choices],
    int64_t num_seen, double seen[num_seen]);

/* Write the clock (s), how many jobs have ended, run and wait, and the number of instants; return 0. */
ENGINE(int64_t) pool_run_position(const pool_run *of, double now[1], int64_t counts[4]);

/* Write what has happened in a run that is over: starts and ends (s), which jobs were killed, the jobs in the order of
   their starts, and all steps: starts, counted from 0, and ends of jobs, behind them (num_jobs + start), and of those
   that ran already (2 num_jobs + which). `passes` is the number of passes with jobs in the queue, their seconds in all
   and those of the longest. Return 0. */
ENGINE(int64_t) pool_run_read(
    const pool_run *of, int64_t num_jobs, int64_t num_running, double starts[num_jobs], double ends[num_jobs],
    uint8_t killed[num_jobs], int64_t started[num_jobs], int64_t steps[2 * num_jobs + num_running], double passes[3]);

#endif
