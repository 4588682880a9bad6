/* A problem as searches see it: arrays as engine.h describes them, checked and copied. */

#ifndef PROBLEM_H
#define PROBLEM_H

#include "common.h"

struct problem {
    int64_t num_jobs, num_classes, num_members, num_shapes, num_sets, num_rules, num_orders, num_places, num_closings;
    int64_t num_loads, num_memories, first_memory, num_entries, num_held, num_releases;
    const double *releases, *arrivals, *efficiency, *ticks, *entries, *memory_asked, *durations, *limits, *held_loads;
    const double *held_until;
    const int64_t *least_tasks, *member_first, *job_of, *level_of, *tasks, *set_of, *shape_of, *order_first;
    const int64_t *place_first, *place_class, *closing_first, *closing, *entry_first, *memory_class, *most, *held;
    const int64_t *capacities;
    const uint8_t *below, *inside;
    arena kept;
};

#endif
