/* Branch and bound on one pool of equal processors. Depth first, a job at a time: at the time of a level each waiting
   job, in the order of the numbers, starts or does not, and the next time is the first end of what runs then. Times are
   whole units. Derivation: docs/mathematics/exact-tree.md, "Identical processors". */

#ifndef POOL_TREE_H
#define POOL_TREE_H

#include "common.h"

typedef struct pool_tree pool_tree;

/* A search for a schedule that ends by a ceiling. `tasks` and `rates` are those of jobs, then of what runs from the
   beginning until `busy_ends`; a twin is the equal job before, -1 where there is none; `mirrored` is the job that is in
   the first half of the schedule, -1 where none is. Rates are what a unit of time is worth at each price. It remembers
   `memory` nodes at which no more than `most_held` run, and looks at sums of durations where the bits of those up to the
   ceiling fit into `most_words` words. */
ENGINE(int64_t) pool_tree_new(
    pool_tree *made[1],
    int64_t num_jobs, int64_t num_busy, int64_t num_prices, int64_t capacity, int64_t ceiling, int64_t mirrored,
    int64_t memory, int64_t most_held, int64_t most_words,
    const int64_t tasks[num_jobs + num_busy], const int64_t ticks[num_jobs], const int64_t twins[num_jobs],
    const int64_t busy_ends[num_busy], const double rates[num_prices * (num_jobs + num_busy)]);
ENGINE(void) pool_tree_free(pool_tree *of);

/* Search on, up to a number of nodes or of seconds, for what ends by a ceiling, which may only fall; `slacks` are what
   may be lost at each price. Return how it ended: 0 with everything seen, 1 at a schedule, whose `starts` are written, 2
   with its limits used up. */
ENGINE(int64_t) pool_tree_run(
    pool_tree *of,
    int64_t num_jobs, int64_t num_prices, int64_t ceiling, int64_t max_nodes, double seconds,
    const double slacks[num_prices], int64_t starts[num_jobs], int64_t nodes[1]);

#endif
