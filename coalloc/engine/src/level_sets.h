/* Which sets of jobs, each at one of its levels, are worth most in each slot, softly: for coalloc.solvers.bounds.set_prices. */

#ifndef LEVEL_SETS_H
#define LEVEL_SETS_H

#include "common.h"

/* Ways of a job, its levels, begin at `first`. Of each number of free processors, a state, the last of which is all, `after`
   says by way which is left once the job runs: none that is larger, or `num_states` where it has no room. In each slot a way
   has a price. Write the price of the best set, and of all sets the soft maximum at a temperature, by slot, and its gradient:
   the share of each way in the sets. */
ENGINE(int64_t) level_sets_share(
    int64_t num_jobs, int64_t num_ways, int64_t num_states, int64_t num_slots, const int64_t first[num_jobs + 1],
    const int64_t after[num_ways * num_states], const double prices[num_ways * num_slots], double temperature,
    double best[num_slots], double soft[num_slots], double shares[num_ways * num_slots]);

#endif
