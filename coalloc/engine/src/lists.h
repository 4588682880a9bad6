/* Lists: an order of the jobs, and for each the way in which it is placed; their schedules, and annealing of them. */

#ifndef LISTS_H
#define LISTS_H

#include "constraints.h"

typedef struct lists lists;

/* Make lists of a problem, which has to stay as long, as its constraints have. The objective is the sum or the maximum
   of what jobs cost: their ends (cost 0); by points of their ends, times a scale, and a slope behind the last one, for
   each shape and the slowest class that it uses (1); or what is asked for (2). Weights are what a tick of its end costs
   beside, and alone what it costs at least. Modes of a job that finds no filling are asked for where that is said. */
ENGINE(int64_t) lists_new(
    lists *made[1], const problem *of, const constraints *by, int64_t num_jobs, int64_t num_classes,
    int64_t num_shapes, int64_t num_points, int64_t is_sum, int64_t cost, int64_t asks_modes, uint64_t seed,
    double scale, const int64_t piece_first[num_shapes * num_classes + 1], const double ends[num_points],
    const double costs[num_points], const double slopes[num_shapes * num_classes], const double weights[num_jobs],
    const double alone[num_jobs]);
ENGINE(void) lists_free(lists *of);

/* Make a list the current one, and begin so many steps of annealing; the temperature falls from one to another, by
   equal factors. A way is level * rules + rule, where levels from the number of the job's on stand for one alone, those
   below for the slowest that it may take. */
ENGINE(int64_t) lists_begin(
    lists *of, int64_t num_jobs, const int64_t order[num_jobs], const int64_t ways[num_jobs], int64_t steps,
    double first_heat, double last_heat);

/* Go on for about so many seconds; return 0 once all is done, 2 where something is asked for. */
ENGINE(int64_t) lists_go_on(lists *of, double seconds);

/* Say what is asked for, the cost (1) or the modes (0) of which job, and when that runs; then answer. */
ENGINE(int64_t) lists_question(const lists *of, int64_t asked[2], double times[2]);
ENGINE(int64_t) lists_answer_cost(lists *of, double cost);
ENGINE(int64_t) lists_answer_modes(
    lists *of, int64_t num_modes, int64_t num_classes, const int64_t allocations[num_modes * num_classes]);

/* From now on no job of the current list starts before the one placed last: no gaps are looked for. */
ENGINE(void) lists_hurry(lists *of);

/* Return the least objective of all lists that were current; infinity where none has a schedule. */
ENGINE(double) lists_value(const lists *of);

/* Write the list that has it, and its schedule. */
ENGINE(int64_t) lists_best(
    const lists *of, int64_t num_jobs, int64_t num_classes, int64_t order[num_jobs], int64_t ways[num_jobs],
    double starts[num_jobs], int64_t allocations[num_jobs * num_classes]);

#endif
