/* The sets of jobs that bring most in each cell of time: for coalloc.solvers.bounds.job_prices. */

#ifndef JOB_SETS_H
#define JOB_SETS_H

#include "common.h"

/* A knapsack for each cell. Entries are, cell by cell, the places in the prices of jobs that may run there, tasks what
   each place takes. */
typedef struct job_sets job_sets;

ENGINE(int64_t) job_sets_new(
    job_sets *made[1], int64_t num_cells, int64_t num_places, const int64_t cells[num_cells + 1],
    const int64_t entries[num_places], const int64_t tasks[num_places], const int64_t capacities[num_cells]);
ENGINE(void) job_sets_free(job_sets *of);

/* Find for each cell from one on the jobs that bring most of those that fit, by dynamic programming, for about so many
   seconds; return the next cell. Chosen gets 1 at the places that are in the set, else 0; values what each set brings. */
ENGINE(int64_t) job_sets_choose(
    job_sets *of, int64_t num_places, int64_t num_cells, const double prices[num_places], double chosen[num_places],
    double values[num_cells], int64_t cell, double seconds);

#endif
