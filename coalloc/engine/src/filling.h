/* Fillings: on which classes a job goes that finds so much free, and what it then asks of links and stocks. The rules,
   and the order of every sum, are those of coalloc.rules.serial_sgs. */

#ifndef FILLING_H
#define FILLING_H

#include "spending.h"

/* Room for one search of a filling. The allocation that is found; by class what it may take; by place tasks that are
   left, the next number and the least one, and room from there on; by closing the tasks on its other classes. */
typedef struct {
    int64_t *allocation, *room, *left, *next, *least, *rooms, *others;
    spread_room spreads;
    spent *spent; /* NULL where nothing is spent */
    int64_t *masked;
    bool is_refused;
} filling;

void filling_place(filling *made, arena *in, const problem *p);

/* Return what is usable of what is left of a limit: adding and taking away loads may lose a share of it in floating
   point, as in coalloc.rules.profile. */
static inline double usable(double left, double limit) { return later(0.0, left) + 1e-12 * later(1.0, limit); }

/* Look for the preferred allocation of a member in a rule; return whether there is one: it is in `made`. */
bool filling_find(
    const problem *p, filling *made, int64_t member, int64_t rule, const int64_t *free, const double *left);

/* Return what an allocation of a shape asks of a contended resource. */
static inline double load_of(const problem *p, int64_t shape, int64_t k, const int64_t *allocation) {
    const uint8_t *below = p->below + k * p->num_classes;
    int64_t tasks = 0;
    for (int64_t g = 0; g < p->num_classes; g++)
        if (below[g]) tasks += allocation[g];
    return load_with(p, shape, k, tasks);
}

#endif
