/* What schedules cost: the sum, or the greatest, of costs of jobs by their ends, and what jobs that wait cost at least.
   Times are ticks but for those of the points. Derivation: docs/mathematics/exact-tree.md, "Costs". */

#ifndef COSTS_H
#define COSTS_H

#include "common.h"

typedef struct costs costs;

/* Returns what a job of a key costs that starts at a time; NaN where that cannot be said. */
typedef double (*cost_function)(int64_t key, double start);

/* The costs of keys, each a kind of jobs at a duration of so many ticks. From `first` on a key has points, ends (s) and
   values, between which its cost is linear, and a slope after the last one. `cost` is asked where a key has no points,
   and no further than `tolerance` (s) from two points of one end. Ends count in `seconds` a tick, and no cost less than
   `least`. There is room for rows of values. */
ENGINE(int64_t) costs_new(
    costs *made[1],
    int64_t num_kinds, int64_t num_keys, int64_t num_points, int64_t num_rows, int64_t is_sum, double seconds, double tolerance,
    double least, cost_function cost,
    const int64_t kinds[num_keys], const double ticks[num_keys], const double releases[num_kinds],
    const int64_t first[num_keys + 1], const double ends[num_points], const double values[num_points],
    const double slopes[num_keys]);
ENGINE(void) costs_free(costs *of);

/* Let no schedule be of interest that costs more than a ceiling. */
ENGINE(int64_t) costs_limit(costs *of, double ceiling);

/* Let a job of each kind cost no less than a slope times its mean busy time, and a constant. */
ENGINE(int64_t) costs_draw(
    costs *of, int64_t num_kinds, const double slopes[num_kinds], const double constants[num_kinds]);

/* Let a row of values be these: no jobs that fit together bring more than 1 a tick, where one of d ticks brings its
   value / d. The first rows are used. */
ENGINE(int64_t) costs_value(costs *of, int64_t num_kinds, int64_t row, const double values[num_kinds]);

/* Let prices over time say what follows a node, by points a tick apart from `origin` on: what a job of each kind costs and pays
   at the least if it starts from then on, what a job of each key would have paid by then, and what the best sets get from
   then on. After the last point nothing is paid. */
ENGINE(int64_t) costs_price(
    costs *of, int64_t num_kinds, int64_t num_keys, int64_t num_points, double origin,
    const double least[num_kinds * num_points], const double paid[num_keys * num_points],
    const double brought[num_points]);

/* Write what so many jobs of each kind that wait cost at least from a time on at some values, beside keys that run until
   their ends. */
ENGINE(int64_t) costs_at_values(
    costs *of, int64_t num_kinds, int64_t num_held, double now, const double values[num_kinds],
    const int64_t waiting[num_kinds], const int64_t keys[num_held], const double ends[num_held], double cost[1]);

/* Write how often each row has shown that something costs too much. */
ENGINE(int64_t) costs_hits(costs *of, int64_t num_rows, int64_t hits[num_rows]);

/* Write what all work costs at the least from a time on, on a machine of speed 1 that may interrupt it: the largest ratio
   that is there goes first. Work has ticks, each of which costs `ratios` times its time, in descending order, and is there
   from its release on. The machine lacks `shares` until `ends`, in ascending order. */
ENGINE(int64_t) costs_of_works(
    int64_t num_works, int64_t num_held, double now, const double ratios[num_works], const double ticks[num_works],
    const double releases[num_works], const double ends[num_held], const double shares[num_held], double cost[1]);

/* What the machine has to do; and until when what share of it is held, by a member of a running set. */
typedef struct {
    double ratio, ticks, release;
} work;

typedef struct {
    double end, share;
    int64_t key;
} held;

/* Return what a job of a key costs that starts at a time. */
double cost_at(costs *of, int64_t key, double start);

/* Return what so many jobs of each kind that wait cost more at most, in all, where each starts so much later: infinity
   where that cannot be said. */
double cost_of_delay(const costs *of, const int64_t *waiting, double delay);

/* Return what is spent once another cost is. */
double spent_with(const costs *of, double spent, double cost);

/* Return what a job of a kind costs at least that starts at a time or later. */
double cost_alone(costs *of, int64_t kind, double now);

/* Whether a schedule costs more than the ceiling once so much is spent, if so many jobs of each kind wait and start at a
   time or later, when some run until their ends; `holding` is in any order, and is sorted. */
bool cost_too_much(
    costs *of, double spent, const int64_t *waiting, double now, held *holding, int64_t num_held);

/* Whether costs are of so many kinds and keys, and are added up. */
bool is_of(const costs *of, int64_t num_kinds, int64_t num_keys);
bool is_sum(const costs *of);

/* Whether there was a cost that could not be said. */
bool has_failed(const costs *of);

/* Whether what is spent, and nothing else, is no more than the ceiling. */
bool is_affordable(const costs *of, double spent);

#endif
