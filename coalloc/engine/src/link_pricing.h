/* The search for the set of jobs that is worth most: coalloc.solvers.bounds.link_pricing runs it. */

#ifndef LINK_PRICING_H
#define LINK_PRICING_H

#include "common.h"

/* The jobs of a suffix and what they may choose from, and what is remembered of sets from one pricing to the next. */
typedef struct link_pricing link_pricing;

/* Choices take of classes (allocations) and of resources (loads). Spans are the first choice of each job at each level
   and the one after the last; running jobs have one. A check that tries more than `most` choices lets its set pass;
   of so many sets it is remembered whether they fit. */
ENGINE(int64_t) link_pricing_new(
    link_pricing *made[1], int64_t num_jobs, int64_t num_levels, int64_t num_classes, int64_t num_resources,
    int64_t num_choices, int64_t most, int64_t num_remembered, const int64_t allocations[num_choices * num_classes],
    const double loads[num_choices * num_resources], const int64_t spans[num_jobs * num_levels * 2],
    const uint8_t is_running[num_jobs], const int64_t free[num_classes], const double left[num_resources]);
ENGINE(void) link_pricing_free(link_pricing *of);

/* Note which jobs, each at its slowest level, fit beside each other, for about so many seconds; return 1 once all is
   noted, else 0. */
ENGINE(int64_t) link_pricing_compare(
    link_pricing *of, int64_t num_jobs, const int64_t slowest[num_jobs], double seconds);

/* Begin a search among the jobs that are worth something, by places: those that are worth most per processor
   (densities) first. Order has their numbers and tasks the least of each; values are what a tick is worth at each of
   their levels, falling. A room says how many processors of each speed are free, by number, the last but one where all
   are and the last where there is none such: which one `rooms` leave beside a place at a level. Without links is the
   most that places from one on bring in a room. */
ENGINE(int64_t) link_pricing_begin(
    link_pricing *of, int64_t num_places, int64_t num_levels, int64_t num_rooms, int64_t num_processors,
    const int64_t order[num_places], const int64_t tasks[num_places], const int64_t levels_of[num_places],
    const int64_t levels[num_places * num_levels], const double values[num_places * num_levels],
    const double densities[num_places], const int64_t rooms[num_places * num_levels * num_rooms],
    const double without_links[(num_places + 1) * num_rooms]);

/* Search on, until all is seen, `most_sets` were tried since the beginning or about so many seconds are over; return 2
   where all is seen, 1 where so many sets were tried, else 0. Value gets that of the best set so far. */
ENGINE(int64_t) link_pricing_search(link_pricing *of, int64_t most_sets, double seconds, double value[1]);

/* Write up to so many sets, the best first, their worths falling: sizes, and members (job and level). Return how many
   there are. */
ENGINE(int64_t) link_pricing_best(
    link_pricing *of, int64_t num_jobs, int64_t num_sets, int64_t sizes[num_sets],
    int64_t members[num_sets * num_jobs * 2]);

#endif
