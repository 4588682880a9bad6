/* Lists: an order of the jobs, and for each the way in which it is placed; their schedules, and annealing of them. */

#ifndef LISTS_H
#define LISTS_H

#include "problem.h"

typedef struct lists lists;

/* Make lists of a problem, which has to stay as long. What a job costs is a ramp by its start: floor, slope and
   intercept by its shape and the slowest class that it uses. Weights are what a time unit of its end costs beside, and
   alone what it costs at least. The objective is the sum or the maximum of ramps. A list in which a job would end after
   its latest end has no schedule. */
ENGINE(int64_t) lists_new(
    lists *made[1], const problem *of, int64_t num_jobs, int64_t num_classes, int64_t num_shapes, int64_t is_sum,
    uint64_t seed, const double ramps[num_shapes * num_classes * 3], const double weights[num_jobs],
    const double alone[num_jobs], const double latest[num_jobs]);
ENGINE(void) lists_free(lists *of);

/* Make a list the current one, and begin so many steps of annealing; the temperature falls from one to another, by
   equal factors. A way is level * rules + rule, where levels from the number of the job's on stand for one alone, those
   below for the slowest that it may take. */
ENGINE(int64_t) lists_begin(
    lists *of, int64_t num_jobs, const int64_t order[num_jobs], const int64_t ways[num_jobs], int64_t steps,
    double first_heat, double last_heat);

/* Go on for about so many seconds; return 0 once all is done. */
ENGINE(int64_t) lists_go_on(lists *of, double seconds);

/* Return the least objective of all lists that were current; infinity where none has a schedule. */
ENGINE(double) lists_value(const lists *of);

/* Write the list that has it, and its schedule. */
ENGINE(int64_t) lists_best(
    const lists *of, int64_t num_jobs, int64_t num_classes, int64_t order[num_jobs], int64_t ways[num_jobs],
    double starts[num_jobs], int64_t allocations[num_jobs * num_classes]);

#endif
