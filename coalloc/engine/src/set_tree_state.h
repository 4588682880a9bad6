/* The state of a tree over running sets, and what the files set_tree*.c have of each other. */

#ifndef SET_TREE_STATE_H
#define SET_TREE_STATE_H

#include "set_tree.h"

/* Whether a node leads on. */
enum { NO = 0, YES = 1 };
/* Members of a running set up to which it is remembered. */
enum { MOST_MEMBERS = 12 };

/* The node of a level: its time, who waits, packed, how many have started, the next candidate to look at, how many may
   start, how many run, those that have started last, and how many blocks have begun. `soonest` is when a wait
   ends at the earliest. By bits of kinds: which could as well have started since something has ended last, which could
   not start there once all others have, and which of those run that must not run beside some. */
typedef struct {
    double now, soonest;
    uint64_t waiting, settled, barred, apart;
    int64_t count, place, num_candidates, num_members, begun;
} set_node;

typedef struct {
    int64_t key;
    double end;
} member;

/* What a node is remembered by: who waited, when, what was spent, the running set and the ends of its members, and how many
   blocks had begun; the size is the number of members plus 1. A place with size 0 is free. */
typedef struct {
    uint64_t waiting;
    double now, spent;
    int32_t set;
    uint8_t size;
    spin_lock lock;
    uint16_t begun;
    double ends[MOST_MEMBERS];
} known_node;

/* The nodes that trees remember, and by place how long lags last. Once there are several trees the places are in buckets,
   each of which is read and written by the tree that has the lock at its first place. `has_ended` says that one of them has
   nothing left to see. */
typedef struct {
    int64_t num_places;
    atomic_int num_trees;
    atomic_bool has_ended;
    bool is_shared;
    known_node *nodes;
    double *lags;
    arena kept;
} node_memory;

/* A kind: how far up it is among those that wait, packed, under which mask, the bits of the kinds beside which it must not
   run, when it arrives, by when it has to start and to end, its least ticks, and those until it and all that waits for it
   has ended; and, where lags or rows tell it apart, so that it is one job, when that has started and ends. */
typedef struct {
    int64_t shift;
    uint64_t mask, apart;
    double release, latest_start, latest_end, shortest, tail, start, end;
} kind_of_jobs;

/* So many ticks after a kind, its end or its start, another may start. */
typedef struct {
    int64_t of;
    bool is_end;
    double least;
} time_lag;

/* A time of a kind, its start or its end, is at least so many ticks after one of another; less than 0: it may be before. */
typedef struct {
    int64_t late, early;
    bool is_late_end, is_early_end;
    double least;
} time_row;

/* By level: members; running sets, first ends and what is spent after so many starts; places of what has started among the candidates;
   what was lost at each price; and since when each key has room. `lasting` is what still runs, in the order of keys, then
   of ends. Blocks are in the order of their begins. Lags, and the spans in which a calendar lets a kind start, are in the order
   of the kinds; `early` is how much before a span it may, and by how much it may break a row. `floating` are the bits of the
   kinds that rows may let start later than there is room: so many ticks, the offsets, before something ends or may start. `delayed` are the kinds behind lags that last. Rows of prices
   are counted from the first of the tree on. The start and the end of one job of the mirrored kind add up to `half` at most:
   that falls with the ceiling, until the tree is divided. `given` says of the starts whether another tree looks at the
   branch that passes over it. */
struct set_tree {
    running_sets *sets;
    int64_t num_kinds, num_keys, num_jobs, num_busy, num_blocks, first_block, num_lags, num_spans, num_rows, num_offsets, num_levels, num_members, mirrored, first_price;
    int64_t level, num_delayed;
    bool is_forward, has_begun, has_waits, has_apart, may_delay, is_divided;
    int64_t next_look;
    double ceiling, half, deadline;
    const double *slacks;
    int64_t *hits, num_prices;
    kind_of_jobs *kinds;
    int64_t *kind_of;
    int64_t *lag_first, *span_first, *delayed;
    time_lag *lags;
    time_row *rows;
    int64_t *offset_first;
    double *offsets;
    uint64_t floating;
    double *opens, *closes, early, last_release;
    double *ticks, *begins, *block_ends;
    set_node *nodes;
    int64_t *sets_of, *candidates, *started;
    uint8_t *given;
    double *firsts, *losses, *rooms, *spent;
    costs *costs;
    held *holding;
    int64_t *counts;
    member *members, *lasting;
    node_memory *memory;
    arena kept;
};

static inline int64_t number_of(const set_tree *t, uint64_t waiting, int64_t kind) {
    return (int64_t)(waiting >> t->kinds[kind].shift & t->kinds[kind].mask);
}

static inline member *members_of(const set_tree *t, int64_t level) { return t->members + level * t->num_members; }

static inline double *firsts_of(const set_tree *t, int64_t level) { return t->firsts + level * (t->num_jobs + 1); }

/* Return what is spent at a level. */
static inline double *spent_at(const set_tree *t, int64_t level) {
    return t->spent + level * (t->num_jobs + 1) + t->nodes[level].count;
}

static inline double *losses_of(const set_tree *t, int64_t level) { return t->losses + level * t->sets->num_prices; }

/* Return the running set of a level. */
static inline int64_t *set_of(const set_tree *t, int64_t level) {
    return t->sets_of + level * (t->num_jobs + 1) + t->nodes[level].count;
}

/* Return when the first block begins of those that have not at a level. */
static inline double next_begin(const set_tree *t, int64_t level) {
    const int64_t begun = t->nodes[level].begun;
    return begun < t->num_blocks ? t->begins[begun] : HUGE_VAL;
}

/* Return how many blocks have begun by a time, so many at least. */
static inline int64_t begun_by(const set_tree *t, int64_t begun, double until) {
    while (begun < t->num_blocks && t->begins[begun] <= until) begun++;
    return begun;
}

/* Whether a job that starts at a time and ends at another is too late for the ceiling, itself, or the first half. */
static inline bool is_too_late(const set_tree *t, int64_t kind, double start, double end) {
    const kind_of_jobs *of = t->kinds + kind;
    return end > t->ceiling || end > of->latest_end || start > of->latest_start || start + of->tail > t->ceiling ||
           (kind == t->mirrored && start + end > t->half);
}

/* set_tree_waits.c: when jobs may start. All but `barred` is for trees with waits. */

/* Return when those lags of a kind are over that have begun; of lags that last only, or of all. */
double lags_over(const set_tree *t, uint64_t waiting, int64_t kind, double least);

/* Return the first time from one on at which the calendar of a kind lets it start; infinity where there is none. */
double allowed_from(const set_tree *t, int64_t kind, double now);

/* Whether a kind that starts at a time and ends at another keeps the rows with those that have started; of a time from
   which it may be put off, whether it does not come too late. */
bool keeps_rows(const set_tree *t, uint64_t waiting, int64_t kind, double start, double end, bool may_wait);

/* Return by how much a row binds the one of its kinds that waits, at a time: the more the greater. */
double binding(const set_tree *t, const time_row *row, uint64_t waiting, double now);

/* Return the bits of the kinds that must not start at a level, beside those that run and have started there; without
   `may_join` those as well that would have to start with one that has not. */
uint64_t barred_kinds(const set_tree *t, int64_t level, bool may_join);

static inline uint64_t barred(const set_tree *t, int64_t level, bool may_join) {
    return t->has_waits || t->nodes[level].now < t->last_release ? barred_kinds(t, level, may_join) : 0;
}

/* Return when the next kind may start that has room, once all others have started; what has none waits for an end. */
double next_wait(const set_tree *t, int64_t level);

/* Return no later than when a wait ends once some have started at a level, of those that wait now or begin then. */
double soonest_wait(const set_tree *t, int64_t level);

/* Whether a kind has started that had to start with one that has not. */
bool lacks_partner(const set_tree *t, int64_t level);

/* set_tree_pruning.c: the rules by which a node is left. */

/* Return whether what has started at a level may lead to a schedule that ends by the ceiling, or why a set cannot be
   made. */
int64_t may_lead_on(set_tree *t, int64_t level, double until);

/* Return what still runs at a time, blocks that have begun by then included, NO_SET where they find no room, or why that set
   cannot be made. */
int64_t set_after(const set_tree *t, int64_t level, double until);

/* set_tree_search.c: branching. */

/* Take the last start back and pass its key over, if that is not given to another tree, or go to the level before; return
   whether there is none. */
bool go_back(set_tree *t, int64_t level);

/* Return the rates of a running set at the prices of the tree. */
static inline const double *rates_of(const set_tree *t, int64_t set) {
    return t->sets->rates + set * t->sets->num_prices + t->first_price;
}

/* set_tree_memory.c: nodes that are remembered. */

/* Return a memory of one tree, of so many bytes, with so many lags to a node; NULL where there is no room. */
node_memory *memory_of(int64_t bytes, int64_t num_lags);

/* Free a memory if no other tree has it. */
void leave_memory(node_memory *of);

/* Let a tree remember what another does, and forget its own nodes. */
void remember_together(set_tree *of, set_tree *with);

/* Return whether the same jobs waited before, no later, beside no more and no dearer, with as many blocks begun, or why a
   set cannot be made. Remember this where not. */
int64_t is_known(set_tree *t, int64_t level, double until, int64_t running);

#endif
