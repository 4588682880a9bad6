/* Names of processors: which ones jobs hold of whom only the numbers are decided, the lowest that are free. */

#ifndef NODES_H
#define NODES_H

#include "common.h"

typedef struct naming naming;

/* Make what names processors. A *take* is what one job takes of one class, a *held* interval what runs already. In
   their order, `steps` are takes (0, 1, ...), then releases of takes (num_takes + take), and of held intervals
   (2 num_takes + held). Processors count from 0 in their class; held intervals are in order and apart. */
ENGINE(int64_t) naming_new(
    naming *made[1], int64_t num_classes, int64_t num_takes, int64_t num_held, int64_t num_steps,
    const int64_t capacities[num_classes], const int64_t class_of[num_takes], const int64_t counts[num_takes],
    const int64_t held_class[num_held], const int64_t held_first[num_held], const int64_t held_stop[num_held],
    const int64_t steps[num_steps]);
ENGINE(void) naming_free(naming *of);

/* Make steps for so many seconds; return how many are made in all. Where a call makes none, the next one takes more
   than is free. */
ENGINE(int64_t) naming_go(naming *of, double seconds);

/* Return the number of intervals that are taken. */
ENGINE(int64_t) naming_size(const naming *of);

/* Write the intervals: take t has those from begins[t] to begins[t + 1]; return 0. */
ENGINE(int64_t) naming_read(
    const naming *of, int64_t num_takes, int64_t num_intervals, int64_t begins[num_takes + 1],
    int64_t first[num_intervals], int64_t stop[num_intervals]);

#endif
