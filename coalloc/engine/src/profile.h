/* Profiles: what is free, step by step of time, and left of contended resources. */

#ifndef PROFILE_H
#define PROFILE_H

#include "filling.h"

/* Steps in the order of their times; each lasts until the next, the last for ever. By step free processors of each
   class, and what is left of each resource. All steps of a small problem are in one block. A greater one has many: block
   b in order of time has `sizes[b]` steps, and its first is step `firsts[b]` of the arrays, 0 that of the first block.
   Each knows the least and the most of each class and of all classes together, so that searches pass over it; those that
   are not `noted` are to be made anew. */
typedef struct {
    bool is_one;
    int64_t size, num_classes, num_loads, num_blocks;
    double *times, *left;
    int64_t *free, *sizes, *firsts, *least, *most;
    uint8_t *noted;
} profile;

/* Room for what stays free, and left, over some time. */
typedef struct {
    int64_t *free;
    double *left;
} room;

void room_place(room *made, arena *in, const problem *p);
void profile_place(profile *made, arena *in, const problem *p);

/* Make a profile that of what is held already, from a time on. */
void profile_begin(profile *of, const problem *p, double since);

void profile_copy(profile *to, const profile *from);

/* Take what is held from a start to an end, as far as the profile goes back. */
void profile_hold(profile *of, double start, double end, const int64_t *allocation, const double *loads);

/* Return the first start, from a release on, at which a member fits and would end before a time; infinity where there
   is none. Its allocation is in the filling. */
double profile_start(
    profile *of, const problem *p, int64_t member, int64_t rule, double release, double before, filling *found,
    room *room);

/* Return the first start from a release on at which an allocation, with its loads, is free for so long; infinity where
   there is none. */
double profile_fit(
    const profile *of, const problem *p, const int64_t *allocation, const double *loads, double release,
    double duration);

#endif
