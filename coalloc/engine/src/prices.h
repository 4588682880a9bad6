/* Starts of jobs at prices over time: for coalloc.solvers.bounds.smooth_prices and job_prices. */

#ifndef PRICES_H
#define PRICES_H

#include "common.h"

/* Jobs that may be done in ways, and the cells of time in which they are looked at. The starts of a way are walked in
   order, each in the cells where it starts and ends, until its ramp alone exceeds the cheapest start of the job by more
   than a soft minimum can see: so none has to be known, or kept, beforehand. */
typedef struct starts starts;

/* Ways of a job begin at `first`. Columns are, for every way, its release, duration, floor, slope and least cost; its
   kind says what it needs of each resource. A job is looked at in the cells from low to high, not with that. */
ENGINE(int64_t) starts_new(
    starts *made[1], int64_t num_jobs, int64_t num_ways, int64_t num_kinds, int64_t num_resources, int64_t num_cells,
    const int64_t first[num_jobs + 1], const double columns[5 * num_ways], const int64_t kind[num_ways],
    const double needs[num_kinds * num_resources], const int64_t low[num_jobs], const int64_t high[num_jobs],
    const double edges[num_cells + 1]);
ENGINE(void) starts_free(starts *of);

/* Add what jobs from one up to a last pay at soft minima over their starts, and how many starts were looked at, to the
   totals, for about so many seconds; return the next job. Sums are the prices of each resource added up until each edge
   and one behind; flow gets what a unit more of each of them costs. A start that costs the least and `cut` more has no
   share. */
ENGINE(int64_t) starts_soften(
    starts *of, int64_t num_resources, int64_t num_cells, const double sums[num_resources * (num_cells + 2)],
    double temperature, double cut, double flow[num_resources * (num_cells + 2)], double totals[2], int64_t job,
    int64_t last, double seconds);

/* Add what jobs from one on cost and pay at their cheapest starts, and the magnitude of these terms, to the totals, for
   about so many seconds; return the next job. Prices are those that each job has in the cells where it is looked at,
   job by job; shares get the share of each of these cells in which it runs, at soft minima. */
ENGINE(int64_t) starts_share(
    starts *of, int64_t num_prices, const double prices[num_prices], double temperature, double cut,
    double shares[num_prices], double totals[2], int64_t job, double seconds);

#endif
