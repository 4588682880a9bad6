/* What is free over time: capacities as step functions, whole ones (processors of classes first) and then others. */

#ifndef TIMELINE_H
#define TIMELINE_H

#include "common.h"

typedef struct timeline timeline;

/* A timeline that begins with so much free. What is not whole is free by its noise more, and never below that. */
ENGINE(int64_t) timeline_new(
    timeline *made[1], int64_t num_classes, int64_t num_whole, int64_t num_parts,
    double since, const int64_t whole[num_whole], const double parts[num_parts], const double noise[num_parts]);
ENGINE(int64_t) timeline_copy(timeline *made[1], const timeline *of);
ENGINE(void) timeline_free(timeline *of);

/* Return the address of the vector of a timeline, whole numbers first: the operations below take it, or fill it. */
ENGINE(int64_t) timeline_vector(timeline *of);

/* Fill the vector with what is free throughout a span; at its start where the span is empty. */
ENGINE(void) timeline_least(timeline *of, double start, double end);

/* Take the vector during a span, or give it back, after which equal steps are one. */
ENGINE(int64_t) timeline_take(timeline *of, double start, double end);
ENGINE(int64_t) timeline_give_back(timeline *of, double start, double end);

/* Add the vector from a time on. */
ENGINE(int64_t) timeline_release(timeline *of, double time);

/* Return the first start from a release on (or change after it) from which for a duration so many processors of classes
   are free at each time before a last one; infinity without one. No classes: all of them. */
ENGINE(double) timeline_window(
    const timeline *of, double release, int64_t is_after, double duration, int64_t tasks, double before,
    int64_t num_asked, const int64_t asked[num_asked]);

/* Let spans that are taken, in turn from one on, begin at the first window before their starts. Of a pool they are moved
   here; else this returns at the first that has one, which it writes: infinity where it is only to be called again. A
   span of a kind is not searched for before the time that its kind was `searched` up to; this goes on where spans are
   looked at by start. Return how many have been looked at. */
ENGINE(int64_t) timeline_advance(
    timeline *of, int64_t num_seen, int64_t size, const int64_t turn[size], double starts[size],
    const double seconds[size], const int64_t tasks[size], const int64_t kinds[size], int64_t num_kinds,
    double searched[num_kinds], int64_t is_by_start, double window[1]);

/* Let spans that are taken from a pool, in the order of their starts, begin at the first window before these. Each had
   none before room was gained in `gains`. Write the rows by new start, then by number; return how many have moved. */
ENGINE(int64_t) timeline_compress(
    timeline *of, int64_t num_gains, const double gain_starts[num_gains], const double gain_ends[num_gains],
    int64_t size, double starts[size], const double seconds[size], const int64_t tasks[size],
    const int64_t numbers[size], int64_t order[size]);

/* Return the first start from a release on of a duration in which the vector is free; infinity without one. */
ENGINE(double) timeline_first_start(const timeline *of, double release, double duration);

/* Return how many steps begin from a time on; write when. */
ENGINE(int64_t) timeline_num_changes(const timeline *of, double since);
ENGINE(int64_t) timeline_changes(const timeline *of, double since, int64_t size, double times[size]);

/* Let the timeline begin now: what has passed is dropped. */
ENGINE(int64_t) timeline_forget(timeline *of, double now);

#endif
