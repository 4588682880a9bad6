/* Local search for jobs on unrelated machines: for coalloc.solvers.special.unrelated_machines. */

#ifndef MACHINE_SWAPS_H
#define MACHINE_SWAPS_H

#include "common.h"

/* Improve the machine of each job, in place, for at most about so many seconds; return how many attempts were made.
   First, moves and swaps of jobs of the machine that works longest, as long as the two that change work less than it.
   Each attempt then moves such a job, and up to five others, to machines that are near to them, and does the same; the
   next begins from it where the squares by which loads exceed `least` sum to no more. The best is kept, and ends the
   search where no load exceeds `least`. Times are above 0, and infinite where a machine cannot have a job. */
ENGINE(int64_t) machine_swaps_search(
    int64_t num_jobs, int64_t num_machines, int64_t num_near, const double times[num_jobs * num_machines],
    const int64_t near[num_jobs * num_near], int64_t machine_of[num_jobs], double least, int64_t attempts,
    uint64_t seed, double seconds);

#endif
