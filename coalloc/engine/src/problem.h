/* A problem as searches see it: arrays, checked and copied. */

#ifndef PROBLEM_H
#define PROBLEM_H

#include "common.h"

typedef struct problem problem;
typedef struct spreads spreads;

/* A problem in arrays. A member is a level of a job, the most efficient of a job first; a shape a job with so many
   tasks; an order one in which a rule fills the classes of a set, its places one class each, behind which those links
   and stocks close whose last class it is. Loads are of contended resources, links first, then memories. A job asks for a
   part of each for being there, and for one for each task there, of a link for its tasks to talk to others. */
ENGINE(int64_t) problem_new(
    problem *made[1],
    int64_t num_jobs, int64_t num_classes, int64_t num_members, int64_t num_shapes, int64_t num_sets,
    int64_t num_rules, int64_t num_orders, int64_t num_places, int64_t num_closings, int64_t num_loads,
    int64_t num_memories, int64_t first_memory, int64_t num_held, int64_t num_releases,
    const double releases[num_jobs], const int64_t least_tasks[num_jobs], const double arrivals[num_releases],
    const int64_t member_first[num_jobs + 1], const int64_t job_of[num_members],
    const double efficiency[num_members], const double ticks[num_members], const int64_t level_of[num_members],
    const int64_t tasks[num_members], const int64_t set_of[num_members], const int64_t shape_of[num_members],
    const int64_t order_first[num_rules * (num_sets + 1)],
    const int64_t place_first[num_orders + 1], const int64_t place_class[num_places],
    const int64_t closing_first[num_places + 1], const int64_t closing[num_closings],
    const uint8_t below[num_loads * num_classes],
    const int64_t shape_tasks[num_shapes], const double part[num_shapes * num_loads],
    const double task_part[num_shapes * num_loads],
    const int64_t memory_class[num_memories], const double memory_asked[num_shapes],
    const int64_t most[num_shapes * num_classes],
    const uint8_t inside[num_sets * num_classes], const double durations[num_shapes * num_classes],
    const double limits[num_loads],
    const int64_t held[num_held * num_classes], const double held_loads[num_held * num_loads],
    const double held_since[num_held], const double held_until[num_held], const int64_t capacities[num_classes]);
ENGINE(void) problem_free(problem *of);

struct problem {
    int64_t num_jobs, num_classes, num_members, num_shapes, num_sets, num_rules, num_orders, num_places, num_closings;
    int64_t num_loads, num_memories, first_memory, num_held, num_releases;
    const double *releases, *arrivals, *efficiency, *ticks, *part, *task_part, *memory_asked, *durations, *limits, *held_loads;
    const double *held_since, *held_until;
    const int64_t *least_tasks, *member_first, *job_of, *level_of, *tasks, *set_of, *shape_of, *order_first;
    const int64_t *place_first, *place_class, *closing_first, *closing, *shape_tasks, *memory_class, *most, *held;
    const int64_t *capacities;
    const uint8_t *below, *inside;
    spreads *spreads; /* NULL where jobs may be spread in any way */
    arena kept;
};

/* Return what so many tasks of a shape ask of a contended resource; on a link they talk to all others, in the order of
   operations of coalloc.problem.execution. */
static inline double load_with(const problem *p, int64_t shape, int64_t k, int64_t tasks) {
    const double task_part = p->task_part[shape * p->num_loads + k];
    if (k >= p->first_memory) return tasks ? p->part[shape * p->num_loads + k] + (double)tasks * task_part : 0.0;
    const int64_t all = p->shape_tasks[shape];
    return all > 1 ? (double)tasks * task_part * ((double)(all - tasks) / (double)(all - 1)) : 0.0;
}

#endif
