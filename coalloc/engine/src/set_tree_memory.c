/* Nodes that are remembered: one is left where another was no worse. */

#include "set_tree_state.h"

#include <float.h>

/* Places in which one node may stand (a bucket), and low bits of its product that are not used for that. */
enum { NEIGHBOURS = 16, LOW_BITS = 20 };
/* Odd number by which what is remembered is multiplied for its place (Fibonacci hashing, D. Knuth). */
static const uint64_t MULTIPLIER = UINT64_C(0x9E3779B97F4A7C15);
/* Share of what was spent that is more than rounding. */
static const double LEAST_GAIN = 1e-9;

node_memory *memory_of(int64_t bytes, int64_t num_lags) {
    node_memory *m = calloc(1, sizeof(node_memory));
    if (!m) return NULL;
    const int64_t size = (int64_t)(sizeof(known_node) + (size_t)num_lags * sizeof(double));
    m->num_places = larger(NEIGHBOURS, bytes / size) | 1; /* fewer factors in common with the steps from place to place */
    atomic_init(&m->num_trees, 1);
    for (int pass = 0; pass < 2; pass++) {
        m->nodes = PLACE(&m->kept, m->num_places, known_node);
        m->lags = PLACE(&m->kept, m->num_places * num_lags, double);
        if (pass || make_room(&m->kept)) continue;
        free(m);
        return NULL;
    }
    return m;
}

void leave_memory(node_memory *of) {
    if (!of || atomic_fetch_sub(&of->num_trees, 1) > 1) return;
    free(of->kept.room);
    free(of);
}

void remember_together(set_tree *of, set_tree *with) {
    if (of->memory == with->memory) return;
    leave_memory(of->memory);
    of->memory = with->memory;
    of->memory->is_shared = true;
    atomic_fetch_add(&of->memory->num_trees, 1);
}

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

/* Return the first place of a node, or of its bucket. */
static int64_t first_place(const node_memory *of, uint64_t waiting) {
    const int64_t hash = (int64_t)(waiting * MULTIPLIER >> LOW_BITS);
    return of->is_shared ? hash % (of->num_places / NEIGHBOURS) * NEIGHBOURS : hash % of->num_places;
}

/* Whether a node that is remembered has spent no more, if all that waits starts so much later. Where it need not be done with
   it has spent less, for nodes must not stand for each other. */
static bool has_spent_no_more(const set_tree *t, const known_node *known, double delay, double spent) {
    if (delay <= 0.0) return known->spent <= spent;
    if (!t->may_delay) return false;
    const double dearer = known->spent + cost_of_delay(t->costs, t->counts, delay);
    return dearer <= (t->is_divided ? spent - LEAST_GAIN * fabs(spent) : spent);
}

/* Return whether what can follow a node can follow one that is remembered, or why a set cannot be made. Without what has
   ended, or runs here alone, the one must have all choices of the other. */
static int64_t is_no_worse(set_tree *t, const known_node *known, const known_node *node) {
    const int64_t size = node->size - 1;
    const double delay = delay_after(t, known, size, node->now), until = node->now + delay;
    if (!has_spent_no_more(t, known, delay, node->spent)) return NO;
    int64_t one = known->set, other = node->set, i = known->size - 2, k = size - 1;
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

static double *lags_of(const set_tree *t, const known_node *known) {
    return t->memory->lags + (known - t->memory->nodes) * (t->num_delayed + t->num_rows);
}

/* Whether no lag of what waits lasts longer at a node that is remembered, or is over by a time, and no row binds more. */
static bool wait_no_longer(const set_tree *t, const known_node *known, double until) {
    const double *lags = lags_of(t, known);
    for (int64_t d = 0; d < t->num_delayed; d++)
        if (lags[d] > until && lags[d] > lags_over(t, known->waiting, t->delayed[d], DBL_MIN)) return false;
    for (int64_t r = 0; r < t->num_rows; r++)
        if (lags[t->num_delayed + r] > binding(t, t->rows + r, known->waiting, until)) return false;
    return true;
}

/* Return whether a node that stands from a place on is no worse than one, or why a set cannot be made; write the place for it
   where none is: one that is free, or that of the latest. */
static int64_t find(set_tree *t, int64_t first, const known_node *node, known_node **place) {
    *place = t->memory->nodes + first;
    for (int64_t k = 0; k < NEIGHBOURS; k++) {
        known_node *at = t->memory->nodes + (first + k) % t->memory->num_places;
        if (!at->size) {
            *place = at;
            break;
        }
        if (at->waiting == node->waiting && at->begun == node->begun && wait_no_longer(t, at, node->now)) {
            const int64_t known = is_no_worse(t, at, node);
            if (known != NO) return known;
        }
        if (at->now > (*place)->now) *place = at;
    }
    return NO;
}

/* Write a node into a place. */
static void remember(set_tree *t, known_node *place, const known_node *node) {
    place->waiting = node->waiting;
    place->now = node->now;
    place->spent = node->spent;
    place->set = node->set;
    place->size = node->size;
    place->begun = node->begun;
    for (int64_t k = 0; k < node->size - 1; k++) place->ends[k] = t->lasting[k].end;
    double *lags = lags_of(t, place);
    for (int64_t d = 0; d < t->num_delayed; d++) {
        const bool waits = number_of(t, node->waiting, t->delayed[d]) > 0;
        lags[d] = waits ? lags_over(t, node->waiting, t->delayed[d], DBL_MIN) : -HUGE_VAL;
    }
    for (int64_t r = 0; r < t->num_rows; r++)
        lags[t->num_delayed + r] = binding(t, t->rows + r, node->waiting, node->now);
}

int64_t is_known(set_tree *t, int64_t level, double until, int64_t running) {
    const int64_t size = write_lasting(t, level, until);
    if (size > MOST_MEMBERS) return NO;
    const uint64_t waiting = t->nodes[level].waiting;
    const known_node node = {.waiting = waiting, .now = until, .spent = *spent_at(t, level), .set = (int32_t)running,
                             .size = (uint8_t)(size + 1),
                             .begun = (uint16_t)begun_by(t, t->nodes[level].begun, until)};
    const int64_t first = first_place(t->memory, waiting);
    spin_lock *lock = &t->memory->nodes[first].lock;
    known_node *place;
    if (t->memory->is_shared) take_lock(lock);
    const int64_t known = find(t, first, &node, &place);
    if (known == NO) remember(t, place, &node);
    if (t->memory->is_shared) open_lock(lock);
    return known;
}
