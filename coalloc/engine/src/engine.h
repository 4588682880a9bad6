/* The interface of the engine. Python reads this file: see coalloc/engine/library.py.

   A function is declared as ENGINE(result) name(parameters). An array says its size in terms of numbers that come
   before it, and Python refuses others; what is in an array is checked here. A result below zero is a fault: which kind
   and, counted from 0, in which parameter. Long calls return after about so many seconds, and are called again. There is
   no global state. */

#ifndef ENGINE_H
#define ENGINE_H

#include <stdint.h>

#if defined(_WIN32)
#define ENGINE(result) __declspec(dllexport) result
#else
#define ENGINE(result) __attribute__((visibility("default"))) result
#endif

/* Kinds of faults: NO_MEMORY concerns no parameter. */
enum fault { NO_MEMORY = 1, OUT_OF_RANGE = 2, OUT_OF_ORDER = 3, NOT_A_NUMBER = 4, TOO_LARGE = 5 };
#define FAULT(kind, parameter) (-(int64_t)((kind) * 256 + (parameter)))

/* Digest of the sources that the library was built of. */
ENGINE(const char *) engine_sources(void);

typedef struct problem problem;

/* A problem in arrays. A member is a level of a job, the most efficient of a job first; a shape a job with so many
   tasks; an order one in which a rule fills the classes of a set, its places one class each, behind which those links
   and stocks close whose last class it is. Loads are of contended resources, links first, then memories. */
ENGINE(int64_t) problem_new(
    problem *made[1],
    int64_t num_jobs, int64_t num_classes, int64_t num_members, int64_t num_shapes, int64_t num_sets,
    int64_t num_rules, int64_t num_orders, int64_t num_places, int64_t num_closings, int64_t num_loads,
    int64_t num_memories, int64_t first_memory, int64_t num_entries, int64_t num_held, int64_t num_releases,
    const double releases[num_jobs], const int64_t least_tasks[num_jobs], const double arrivals[num_releases],
    const int64_t member_first[num_jobs + 1], const int64_t job_of[num_members],
    const double efficiency[num_members], const double ticks[num_members], const int64_t level_of[num_members],
    const int64_t tasks[num_members], const int64_t set_of[num_members], const int64_t shape_of[num_members],
    const int64_t order_first[num_rules * (num_sets + 1)],
    const int64_t place_first[num_orders + 1], const int64_t place_class[num_places],
    const int64_t closing_first[num_places + 1], const int64_t closing[num_closings],
    const uint8_t below[num_loads * num_classes],
    const int64_t entry_first[num_shapes * num_loads], const double entries[num_entries],
    const int64_t memory_class[num_memories], const double memory_asked[num_shapes],
    const int64_t most[num_shapes * num_classes],
    const uint8_t inside[num_sets * num_classes], const double durations[num_shapes * num_classes],
    const double limits[num_loads],
    const int64_t held[num_held * num_classes], const double held_loads[num_held * num_loads],
    const double held_until[num_held], const int64_t capacities[num_classes]);
ENGINE(void) problem_free(problem *of);

#endif
