/* Whether clusters hold two wide jobs together: coalloc.solvers.bounds.wide_jobs asks. */

#ifndef WIDE_JOBS_H
#define WIDE_JOBS_H

#include "common.h"

/* Return 1 where clusters together hold all tasks of two jobs, else 0. Capacities are processors of each cluster for
   both jobs, rooms those for either, and a limit is of the sum of both loads on the link of a cluster. Loads, and those
   of the other job, are what 0, 1, ... tasks of a job below a link load it with: they grow up to half of the tasks, and
   fall again. */
ENGINE(int64_t) wide_jobs_are_held(
    int64_t num_clusters, int64_t tasks, int64_t asked, const int64_t capacities[num_clusters],
    const int64_t rooms[2 * num_clusters], const double limits[num_clusters], const double loads[tasks + 1],
    const double of_other[asked + 1]);

#endif
