/* Runs of rigid jobs over time, by the rules of a queue, where a job fits if enough processors are free, and fills
   classes of equal ones in a fixed order: coalloc/simulator/pool_run.py. */

#ifndef POOL_RUN_H
#define POOL_RUN_H

#include "common.h"

typedef struct pool_run pool_run;

/* Make a run. Classes of `capacities` are filled in their order; a `slowness` multiplies the times that jobs compute: of
   their `base_times`, or `estimates` (s), these are the `shares`. Jobs arrive in an `order`, and `are_killed` at their
   estimates or not. The job with the least of `keys` is first in the queue, ties as they arrive. Where the first does
   not fit, `passing` says which others may start: 0 none, 1 each that fits, 2 those that do not delay it (EASY), in the
   order of the queue, or 3 in that of `turns`; 4: `pool_run_choose` says which start. With `is_per_event` each event is
   an instant, arrivals before ends; else one instant is all within the tolerance: `tolerance` (s) up to the time
   `latest`, then as a share of the time. Jobs that run already are numbered behind the others; then there is one class.
   A take is what a job has of a class: `num_takes` sums the tasks of each job, or the classes if those are fewer. */
ENGINE(int64_t) pool_run_new(
    pool_run *made[1], int64_t num_jobs, int64_t num_running, int64_t num_classes, int64_t num_takes, int64_t passing,
    int64_t is_per_event, int64_t are_killed, double tolerance, double latest, double share,
    const int64_t capacities[num_classes], const double slowness[num_classes], const int64_t order[num_jobs],
    const double arrivals[num_jobs + num_running], const int64_t tasks[num_jobs + num_running],
    const double shares[num_jobs], const double base_times[num_jobs], const double estimates[num_jobs],
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

/* Return how many takes and steps there have been. */
ENGINE(int64_t) pool_run_num_takes(const pool_run *of);
ENGINE(int64_t) pool_run_num_steps(const pool_run *of);

/* Write what has happened in a run that is over: starts and ends (s), which jobs were killed, the takes with their jobs,
   classes and sizes, and all steps: takes, then releases of takes (behind all takes)
   and of jobs that ran already (behind those). `passes` is the number of passes with jobs in the queue, their seconds
   in all and those of the longest. Return 0. */
ENGINE(int64_t) pool_run_read(
    const pool_run *of, int64_t num_jobs, int64_t num_takes, int64_t num_steps, double starts[num_jobs],
    double ends[num_jobs], uint8_t killed[num_jobs], int64_t taker[num_takes], int64_t take_class[num_takes],
    int64_t take_size[num_takes], int64_t steps[num_steps], double passes[3]);

#endif
