/* Running sets: members that run at one time, with every choice of their modes that fits, each made once and numbered.

   A member is a key, a kind of jobs at a duration; keys of what runs from the beginning, and of blocks to come, are after
   those of jobs. What a mode uses, and the room that a choice leaves, are numbers side by side in words, with a guard bit
   above each: what is taken away exceeds no limit, so a number that is too small borrows its own guard. Derivation:
   docs/mathematics/exact-tree.md, "The tree". */

#ifndef RUNNING_SETS_H
#define RUNNING_SETS_H

#include "common.h"

typedef struct running_sets running_sets;

/* The running sets of a problem; set 0 is nobody. `uses` are the words of the modes of each key from `use_first` on,
   `most` what any mode of a key of jobs takes of each number, `tasks` the least processors of a member. No more than
   `max_sets` are made, of `max_pairs` pairs of a choice and a mode in all and `max_pairs_of_one` for one set; up to
   `most_compared` of the same members are compared with each other. Where they are shared, trees in several threads may use
   them at the same time, each with rows of prices of its own; room for all sets is made at once, for what others read
   must not move. */
ENGINE(int64_t) running_sets_new(
    running_sets *made[1],
    int64_t num_job_keys, int64_t num_keys, int64_t num_words, int64_t num_uses, int64_t num_prices,
    int64_t processors, int64_t max_sets, int64_t max_pairs, int64_t max_pairs_of_one, int64_t most_compared,
    int64_t is_shared,
    const uint64_t everything[num_words], const uint64_t guards[num_words], const int64_t use_first[num_keys + 1],
    const uint64_t uses[num_uses * num_words], const uint64_t most[num_job_keys * num_words],
    const int64_t tasks[num_keys]);
ENGINE(void) running_sets_free(running_sets *of);

/* Let a row of the prices be these: what a tick of each key of jobs is worth. */
ENGINE(int64_t) running_sets_price(
    running_sets *of, int64_t num_job_keys, int64_t row, const double rates[num_job_keys]);

/* What is said of a set that was not looked for, of one that does not exist, and of one that could not be made. */
enum { UNKNOWN = -1, NO_SET = -2, TOO_MANY = -3, OUT_OF_MEMORY = -4 };

/* The members in ascending order, and the choices: for each member the index of its mode among those of its key, and the
   room that is left. `index` finds a choice. Of the sets of the same members `number` says which one it is, and `covers`
   has the bits of those all of whose choices it has, too; `next` is the next one of them, `head` the first. */
typedef struct {
    int64_t num_members, num_choices, index_size;
    int64_t *members;
    int32_t *choices, *index;
    uint64_t *rooms;
    uint64_t hash, members_hash;
    atomic_uint_fast64_t covers;
    int32_t number, next, head, last;
} running_set;

/* By set: which one it is once a key joins, or without the first of a key, what a tick of it is worth at each price, and
   whether one more of a key fits whatever choice the others have. `known` and `heads` find sets, plus 1, by all that they
   are and by their members. A set is written into `draft` first, which grows as it needs room.
   `num_looked_at` counts the choices that making sets has looked at: how long that has taken. Where sets
   are shared, who makes one has the lock. Its number is written into `joined` or `left` last: what others read of it from
   then on does not change, but for `covers`, and for a row of prices by the thread that reads it. */
struct running_sets {
    int64_t num_job_keys, num_keys, num_words, num_prices, processors, max_sets, max_pairs, max_pairs_of_one;
    int64_t most_compared, num_pairs, num_sets, room_of_sets, num_places;
    atomic_int_fast64_t num_looked_at;
    bool is_shared;
    spin_lock lock;
    uint64_t *everything, *guards, *uses, *most;
    int64_t *use_first, *tasks;
    double *key_rates;
    arena kept;
    running_set *sets, draft;
    int64_t room_of_members, room_of_choices, room_of_rooms, room_of_index;
    int32_t *known, *heads;
    atomic_int_least32_t *joined, *left;
    double *rates;
    uint8_t *always;
};

/* Work out which set another is once a key joins, or without the first of a key: a number, NO_SET or why there is none. */
int64_t running_sets_join(running_sets *of, int64_t set, int64_t key);
int64_t running_sets_leave(running_sets *of, int64_t set, int64_t key);

static inline int64_t joined(running_sets *of, int64_t set, int64_t key) {
    const int64_t found = atomic_load_explicit(of->joined + set * of->num_keys + key, memory_order_acquire);
    return found == UNKNOWN ? running_sets_join(of, set, key) : found;
}

static inline int64_t left_by(running_sets *of, int64_t set, int64_t key) {
    const int64_t found = atomic_load_explicit(of->left + set * of->num_keys + key, memory_order_acquire);
    return found == UNKNOWN ? running_sets_leave(of, set, key) : found;
}

#endif
