/* Nodes that are remembered: one is left where another was no worse. */

#include "set_tree_state.h"

#include <float.h>

/* Places in which one thing may stand, and low bits of its product that are not used for that. */
enum { NEIGHBOURS = 16, LOW_BITS = 20 };
/* Odd number by which what is remembered is multiplied for its place (Fibonacci hashing, D. Knuth). */
static const uint64_t MULTIPLIER = UINT64_C(0x9E3779B97F4A7C15);

/* Put a member behind so many others, in the order of keys, then of ends. */
static void insert(member *sorted, int64_t size, member one) {
    int64_t k = size;
    for (; k > 0 && (sorted[k - 1].key > one.key || (sorted[k - 1].key == one.key && sorted[k - 1].end > one.end)); k--)
        sorted[k] = sorted[k - 1];
    sorted[k] = one;
}

/* Write what runs beyond a time, and the blocks that have begun by then, in the order of keys, then of ends; return how
   many. */
static int64_t write_lasting(set_tree *t, int64_t level, double until) {
    const member *members = members_of(t, level);
    int64_t size = 0;
    for (int64_t i = 0; i < t->nodes[level].num_members; i++)
        if (members[i].end > until) insert(t->lasting, size++, members[i]);
    const int64_t begun = begun_by(t, t->nodes[level].begun, until);
    for (int64_t b = t->nodes[level].begun; b < begun; b++)
        if (t->block_ends[b] > until) insert(t->lasting, size++, (member){t->first_block + b, t->block_ends[b]});
    return size;
}

/* Return how much later all that follows would have to start to follow what is remembered: so that this is no later, and
   all that runs has ended or runs here, too, and ends here no earlier. Both are looked at from the last of each key on: of
   those of one key the last ends are compared. */
static double delay_after(const set_tree *t, const known_node *known, int64_t size, double until) {
    const int64_t *keys = t->sets->sets[known->set].members;
    double delay = known->now - until;
    int64_t k = size - 1;
    for (int64_t i = known->size - 2; i >= 0; i--) {
        if (known->ends[i] <= until) continue;
        while (k >= 0 && t->lasting[k].key > keys[i]) k--;
        const bool is_here = k >= 0 && t->lasting[k].key == keys[i];
        delay = later(delay, known->ends[i] - (is_here ? t->lasting[k].end : until));
        k -= is_here;
    }
    return later(delay, 0.0);
}

/* Return whether what can follow a running set can follow what is remembered, or why a set cannot be made. Without what
   has ended, or runs here alone, the one must have all choices of the other. */
static int64_t is_no_worse(
    set_tree *t, const known_node *known, int64_t running, int64_t size, double until, double spent) {
    const double delay = delay_after(t, known, size, until);
    if (delay > 0.0 && !t->may_delay) return NO;
    if (known->spent + (t->costs ? cost_of_delay(t->costs, t->counts, delay) : 0.0) > spent) return NO;
    until += delay;
    int64_t one = known->set, other = running, i = known->size - 2, k = size - 1;
    while (i >= 0 || k >= 0) {
        const int64_t key = i >= 0 ? t->sets->sets[known->set].members[i] : -1;
        const bool is_over = i >= 0 && known->ends[i] <= until, is_same = k >= 0 && t->lasting[k].key == key;
        if (is_over) one = left_by(t->sets, one, key);
        else if (!is_same) other = left_by(t->sets, other, t->lasting[k].key);
        if (smaller(one, other) < 0) return smaller(one, other);
        if (is_over || is_same) i--;
        if (!is_over) k--;
    }
    const running_set *of = t->sets->sets + other;
    const bool covers = of->number < t->sets->most_compared && (t->sets->sets[one].covers >> of->number & 1);
    return one == other || covers ? YES : NO;
}

/* Whether no lag of what waits lasts longer than at a node that is remembered, or is over by a time. */
static bool wait_no_longer(const set_tree *t, const known_node *known, double until) {
    const double *lags = t->known_lags + (known - t->known) * t->num_delayed;
    for (int64_t d = 0; d < t->num_delayed; d++)
        if (lags[d] > until && lags[d] > lags_over(t, known->waiting, t->delayed[d], DBL_MIN)) return false;
    return true;
}

int64_t is_known(set_tree *t, int64_t level, double until, int64_t running) {
    const int64_t size = write_lasting(t, level, until);
    const uint64_t waiting = t->nodes[level].waiting;
    const double spent = *spent_at(t, level);
    const uint16_t begun = (uint16_t)begun_by(t, t->nodes[level].begun, until);
    if (size > MOST_MEMBERS) return NO;
    const int64_t first = (int64_t)(waiting * MULTIPLIER >> LOW_BITS) % t->memory;
    known_node *place = t->known + first;
    for (int64_t k = 0; k < NEIGHBOURS; k++) {
        known_node *at = t->known + (first + k) % t->memory;
        if (!at->size || at->epoch != t->epoch) {
            place = at;
            break;
        }
        if (at->waiting == waiting && at->begun == begun && wait_no_longer(t, at, until)) {
            const int64_t known = is_no_worse(t, at, running, size, until, spent);
            if (known != NO) return known;
        }
        if (at->now > place->now) place = at;
    }
    place->waiting = waiting;
    place->now = until;
    place->spent = spent;
    place->set = (int32_t)running;
    place->size = (uint8_t)(size + 1);
    place->epoch = t->epoch;
    place->begun = begun;
    for (int64_t k = 0; k < size; k++) place->ends[k] = t->lasting[k].end;
    double *lags = t->known_lags + (place - t->known) * t->num_delayed;
    for (int64_t d = 0; d < t->num_delayed; d++) {
        const bool waits = number_of(t, waiting, t->delayed[d]) > 0;
        lags[d] = waits ? lags_over(t, waiting, t->delayed[d], DBL_MIN) : -HUGE_VAL;
    }
    return NO;
}

int64_t set_tree_forget(set_tree *of) {
    if (!++of->epoch) memset(of->known, 0, (size_t)of->memory * sizeof(known_node)); /* none is of an epoch long ago */
    return 0;
}
