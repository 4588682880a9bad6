/* One step of the dynamic programme over free processors: coalloc.solvers.bounds.large_table runs it. */

#ifndef LARGE_TABLE_H
#define LARGE_TABLE_H

#include "common.h"

/* Write the value of each state with one more job, and the level, from 1 on, that it has there: 0 where it has none.

   A shape says how many numbers of free processors each speed has, fastest first. Bounds are the tasks that a level
   needs on processors of a speed or faster and not of the one before, prices what it is worth; a level that is worth 0
   is left. Before are the values without the job. States from `first` on are looked at, for about so many seconds;
   return the next one. */
ENGINE(int64_t) large_table_add_job(
    int64_t num_speeds, int64_t num_states, int64_t num_levels, const int64_t shape[num_speeds],
    const int64_t bounds[num_levels * num_speeds], const double prices[num_levels], const double before[num_states],
    double after[num_states], uint8_t choices[num_states], int64_t first, double seconds);

#endif
