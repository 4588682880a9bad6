/* Branch and bound over running sets. Depth first, a start at a time: at the time of a level each key, a kind of jobs at
   a duration, in the order of the numbers, starts or does not, and the next time is the first end of what runs then, the
   next arrival, or the next begin of a block. Times are ticks. Derivation: docs/mathematics/exact-tree.md. */

#ifndef SET_TREE_H
#define SET_TREE_H

#include "costs.h"
#include "running_sets.h"

typedef struct set_tree set_tree;

/* A search that begins at `release`. By key its kind and ticks; by kind how many jobs it has, and its times: when they
   arrive, by when they have to start and to end, their least ticks, and those until all that waits for them has ended.
   `mirrored` is the kind that is in the first half of the schedule, -1 where none is. What runs from the beginning are
   keys, and when they end; blocks, the last keys of the sets, have begins, in order, and ends. Lags, from `lag_first` on
   for each kind, say that it starts so many ticks after the end (1) or the start (0) of one job of a kind; `apart` are
   the bits of the kinds beside which it must not run; and it starts within spans, up to `early` ticks before, where it
   has some. Rows say that the start, or the end (bits of `row_ends`: 1 of the late, 2 of the early one), of one kind is so
   many ticks at least after that of another, or before it where that is negative; kinds that they may put off also start
   so many ticks, from `offset_first` on, before a time at which something ends or another may start. It remembers nodes in `memory` bytes, and its prices are the rows of the sets from `first_price` on. The sets
   outlive it. */
ENGINE(int64_t) set_tree_new(
    set_tree *made[1], running_sets *sets,
    int64_t num_kinds, int64_t num_job_keys, int64_t num_busy, int64_t num_blocks, int64_t num_lags, int64_t num_spans,
    int64_t mirrored, int64_t first_price, int64_t memory, double release, double early,
    const int64_t kinds[num_job_keys], const double ticks[num_job_keys], const int64_t counts[num_kinds],
    const double times[num_kinds * 5],
    const int64_t busy_keys[num_busy], const double busy_ends[num_busy],
    const double begins[num_blocks], const double block_ends[num_blocks],
    const int64_t lag_first[num_kinds + 1], const int64_t lag_of[num_lags], const int64_t lag_ends[num_lags],
    const double lag_least[num_lags], const uint64_t apart[num_kinds],
    const int64_t span_first[num_kinds + 1], const double opens[num_spans], const double closes[num_spans],
    int64_t num_rows, int64_t num_offsets, const int64_t row_late[num_rows], const int64_t row_early[num_rows],
    const int64_t row_ends[num_rows], const double row_least[num_rows], const int64_t offset_first[num_kinds + 1],
    const double offsets[num_offsets]);
ENGINE(void) set_tree_free(set_tree *of);

/* Search for what costs no more than the ceiling of costs, too, from its first node on. They outlive it. `may_delay`
   says that what starts at some times may all start so much later. */
ENGINE(int64_t) set_tree_count(set_tree *of, costs *costs, int64_t may_delay);

/* Search on, up to a number of nodes or of seconds, for what ends by a ceiling. `slacks` are what may be lost at the first
   prices of the sets; `hits` count how often each ended a branch. Return how it ended: 0 with everything seen, 1 at a
   schedule, 2 with its limits used up, 3 at more running sets than are made, 4 once a tree that remembers nodes with it has
   nothing left to see. */
ENGINE(int64_t) set_tree_run(
    set_tree *of, int64_t num_prices, int64_t max_nodes, double ceiling, double seconds,
    const double slacks[num_prices], int64_t hits[num_prices], int64_t nodes[1]);

/* Give a tree of the same problem, with costs of its own, of which nothing is left to see, an open branch: the last at which
   so many jobs wait, or that nearest to the root. Both search on for the same, in two threads if need be. Running sets that
   are shared may be those of both: then they remember nodes together. Return 1, or 0 where no branch is open, or 3 at more
   running sets than are made. */
ENGINE(int64_t) set_tree_share(set_tree *of, set_tree *with, int64_t least_waiting);

/* Return the level of the node at which it is. */
ENGINE(int64_t) set_tree_level(set_tree *of);

/* Write how many jobs of each kind are left at a level of the path before others start there, parts of those that run
   included, and when that is. */
ENGINE(int64_t) set_tree_left(set_tree *of, int64_t level, int64_t num_kinds, double left[num_kinds], double now[1]);

/* Write how many jobs of each kind wait at a level of the path before others start there, the keys of what runs then, and
   until when, the time, and what is spent; return how many run. */
ENGINE(int64_t) set_tree_node(
    set_tree *of, int64_t level, int64_t num_kinds, int64_t most, int64_t waiting[num_kinds], int64_t keys[most],
    double ends[most], double now[1], double spent[1]);

/* Note what was lost along the path at new prices of a row. */
ENGINE(int64_t) set_tree_lose(set_tree *of, int64_t row);

/* Write the jobs of the schedule that was found, in the order of their starts: keys, starts, and modes of the keys. */
ENGINE(int64_t) set_tree_schedule(
    set_tree *of, int64_t num_jobs, int64_t keys[num_jobs], double starts[num_jobs], int64_t modes[num_jobs]);

#endif
