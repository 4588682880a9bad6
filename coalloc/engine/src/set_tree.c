#include "set_tree.h"

#include <float.h>

enum { EVERYTHING = 0, BETTER = 1, STOPPED = 2, EXCEEDED = 3 };
/* Whether a node leads on. */
enum { NO = 0, YES = 1 };
/* Times of a kind: arrival, latest start and end, least ticks, and those until all that waits for it has ended. */
enum { NUM_TIMES = 5 };
/* Instead of the place of the next start: too much stays idle; or time is up, and it is to be looked for again. */
enum { IDLE = -1, PAUSED = -9 };
/* Levels that calendars may add, members of a running set up to which it is remembered, places in which one thing may stand, low bits of its product
   that are not used for that; nodes, and choices that making sets has looked at, between two looks at the clock. */
enum { MOST_LEVELS = 4096, MOST_MEMBERS = 12, NEIGHBOURS = 16, LOW_BITS = 20, NODES_BETWEEN = 256, CHOICES_BETWEEN = 100000 };
/* Odd number by which what is remembered is multiplied for its place (Fibonacci hashing, D. Knuth). */
static const uint64_t MULTIPLIER = UINT64_C(0x9E3779B97F4A7C15);

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
   blocks had begun; the size is the number of members plus 1: 0 is a free place. */
typedef struct {
    uint64_t waiting;
    double now, spent;
    int32_t set;
    uint16_t size, begun;
    double ends[MOST_MEMBERS];
} known_node;

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

/* By level: members; running sets, first ends and what is spent after so many starts; places of what has started among the candidates;
   what was lost at each price; and since when each key has room. `lasting` is what still runs, in the order of keys, then
   of ends. Blocks are in the order of their begins. Lags, and the spans in which a calendar lets a kind start, are in the order
   of the kinds; `early` is how much before a span it may. `delayed` are the kinds behind lags that last. */
struct set_tree {
    running_sets *sets;
    int64_t num_kinds, num_keys, num_jobs, num_busy, num_blocks, first_block, num_lags, num_spans, num_levels, num_members, mirrored, memory;
    int64_t level, num_delayed;
    bool is_forward, has_begun, has_waits, has_apart, may_delay;
    int64_t next_look;
    double ceiling, deadline;
    const double *slacks;
    int64_t *hits, num_prices;
    kind_of_jobs *kinds;
    int64_t *kind_of;
    int64_t *lag_first, *span_first, *delayed;
    time_lag *lags;
    double *opens, *closes, early, last_release;
    double *ticks, *begins, *block_ends;
    set_node *nodes;
    int64_t *sets_of, *candidates, *started;
    double *firsts, *losses, *rooms, *spent;
    costs *costs;
    held *holding;
    int64_t *counts;
    member *members, *lasting;
    known_node *known;
    double *known_lags;
    arena kept;
};

static int64_t number_of(const set_tree *t, uint64_t waiting, int64_t kind) {
    return (int64_t)(waiting >> t->kinds[kind].shift & t->kinds[kind].mask);
}

static member *members_of(const set_tree *t, int64_t level) { return t->members + level * t->num_members; }

static double *firsts_of(const set_tree *t, int64_t level) { return t->firsts + level * (t->num_jobs + 1); }

/* Return what is spent at a level. */
static double *spent_at(const set_tree *t, int64_t level) {
    return t->spent + level * (t->num_jobs + 1) + t->nodes[level].count;
}

static double *losses_of(const set_tree *t, int64_t level) { return t->losses + level * t->sets->num_prices; }

/* Return the running set of a level. */
static int64_t *set_of(const set_tree *t, int64_t level) {
    return t->sets_of + level * (t->num_jobs + 1) + t->nodes[level].count;
}

/* Whether a job that starts at a time and ends at another is too late for the ceiling, itself, or the first half. */
static bool is_too_late(const set_tree *t, int64_t kind, double start, double end) {
    const kind_of_jobs *of = t->kinds + kind;
    return end > t->ceiling || end > of->latest_end || start > of->latest_start || start + of->tail > t->ceiling ||
           (kind == t->mirrored && start + end > t->ceiling + t->nodes[0].now);
}

/* Return the first time from one on at which the calendar of a kind lets it start; infinity where there is none. */
static double allowed_from(const set_tree *t, int64_t kind, double now) {
    int64_t low = t->span_first[kind], high = t->span_first[kind + 1];
    if (low == high) return now;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (t->closes[middle] < now) low = middle + 1;
        else high = middle;
    }
    if (low == t->span_first[kind + 1]) return HUGE_VAL;
    return t->opens[low] - t->early <= now ? now : t->opens[low];
}

/* Whether a kind waits for another that has not started, though it may start with some. */
static bool awaits(const set_tree *t, uint64_t waiting, int64_t kind, bool may_join) {
    for (int64_t l = t->lag_first[kind]; l < t->lag_first[kind + 1]; l++) {
        const time_lag *lag = t->lags + l;
        if (number_of(t, waiting, lag->of) && (lag->is_end || lag->least > 0.0 || !may_join)) return true;
    }
    return false;
}

/* Return when those lags of a kind are over that have begun; of lags that last only, or of all. */
static double lags_over(const set_tree *t, uint64_t waiting, int64_t kind, double least) {
    double over = -HUGE_VAL;
    for (int64_t l = t->lag_first[kind]; l < t->lag_first[kind + 1]; l++) {
        const time_lag *lag = t->lags + l;
        const kind_of_jobs *of = t->kinds + lag->of;
        if (lag->least < least || number_of(t, waiting, lag->of)) continue;
        over = later(over, (lag->is_end ? of->end : of->start) + lag->least);
    }
    return over;
}

/* Return the bits of the kinds that must not start at a level, beside those that run and have started there; without
   `may_join` those as well that would have to start with one that has not. */
static uint64_t barred(const set_tree *t, int64_t level, bool may_join) {
    const set_node *n = t->nodes + level;
    uint64_t bits = 0;
    if (!t->has_waits && n->now >= t->last_release) return bits;
    for (int64_t kind = 0; kind < t->num_kinds; kind++) {
        const kind_of_jobs *of = t->kinds + kind;
        if (!number_of(t, n->waiting, kind)) continue;
        const bool is_held = of->release > n->now || of->apart & n->apart || awaits(t, n->waiting, kind, may_join) ||
                             lags_over(t, n->waiting, kind, 0.0) > n->now || allowed_from(t, kind, n->now) > n->now;
        if (is_held) bits |= UINT64_C(1) << kind;
    }
    return bits;
}

/* Return when a kind may start for all but room and those that run, at a level or later; infinity while it waits for one
   that has not started. */
static double start_of_wait(const set_tree *t, int64_t level, int64_t kind) {
    const set_node *n = t->nodes + level;
    if (awaits(t, n->waiting, kind, true)) return HUGE_VAL;
    const double since = later(t->kinds[kind].release, lags_over(t, n->waiting, kind, 0.0));
    return allowed_from(t, kind, later(since, n->now));
}

/* Return when the next kind may start that has room, once all others have started; what has none waits for an end. */
static double next_wait(const set_tree *t, int64_t level) {
    const set_node *n = t->nodes + level;
    double first = HUGE_VAL;
    if (!t->has_waits) return first;
    for (int64_t key = 0; key < t->num_keys; key++) {
        const int64_t kind = t->kind_of[key];
        if (!number_of(t, n->waiting, kind) || t->kinds[kind].apart & n->apart) continue;
        const double start = start_of_wait(t, level, kind);
        if (start <= n->now || start >= first) continue;
        if (joined(t->sets, *set_of(t, level), key) != NO_SET) first = start;
    }
    return first;
}

/* Return no later than when a wait ends once some have started at a level, of those that wait now or begin then. */
static double soonest_wait(const set_tree *t, int64_t level) {
    const set_node *n = t->nodes + level;
    double first = HUGE_VAL;
    for (int64_t kind = 0; kind < t->num_kinds && t->has_waits; kind++) {
        if (!number_of(t, n->waiting, kind)) continue;
        const double start = start_of_wait(t, level, kind);
        if (start > n->now) first = earlier(first, start);
        for (int64_t l = t->lag_first[kind]; l < t->lag_first[kind + 1]; l++)
            if (t->lags[l].least > 0.0) first = earlier(first, n->now + t->lags[l].least);
    }
    return first;
}

/* Return when the first block begins of those that have not at a level. */
static double next_begin(const set_tree *t, int64_t level) {
    const int64_t begun = t->nodes[level].begun;
    return begun < t->num_blocks ? t->begins[begun] : HUGE_VAL;
}

/* Return how many blocks have begun by a time, so many at least. */
static int64_t begun_by(const set_tree *t, int64_t begun, double until) {
    while (begun < t->num_blocks && t->begins[begun] <= until) begun++;
    return begun;
}

/* Return the bits of the kinds that run at a level of those that must not run beside some. */
static uint64_t running_apart(const set_tree *t, int64_t level) {
    const member *members = members_of(t, level);
    uint64_t bits = 0;
    for (int64_t i = 0; i < t->nodes[level].num_members && t->has_apart; i++)
        if (members[i].key < t->num_keys) bits |= UINT64_C(1) << t->kind_of[members[i].key];
    return bits;
}

/* Note which keys may start at a level, and when what runs there ends first, another job arrives, or a block begins. What
   had room all the time since it could have started waits on, for it could have started then; so has what could have
   since something has ended last. */
static void enter(set_tree *t, int64_t level) {
    set_node *n = t->nodes + level;
    const member *members = members_of(t, level);
    const double *rooms = t->rooms + level * t->num_keys;
    n->apart = running_apart(t, level);
    const uint64_t held = barred(t, level, true) | n->settled;
    int64_t number = 0, *candidates = t->candidates + level * t->num_keys;
    double first = next_begin(t, level);
    for (int64_t key = 0; key < t->num_keys; key++) {
        const int64_t kind = t->kind_of[key];
        if (number_of(t, n->waiting, kind) == 0) continue;
        if (t->kinds[kind].release > n->now) first = earlier(first, t->kinds[kind].release);
        if (held >> kind & 1 || rooms[key] < HUGE_VAL || is_too_late(t, kind, n->now, n->now + t->ticks[key])) continue;
        candidates[number++] = key;
    }
    n->num_candidates = number;
    n->count = n->place = 0;
    n->soonest = soonest_wait(t, level);
    for (int64_t i = 0; i < n->num_members; i++) first = earlier(first, members[i].end);
    firsts_of(t, level)[0] = first;
}

/* Return the place of the next candidate that starts; their number if there is none, IDLE, PAUSED, or why a set cannot be
   made. */
static int64_t next_to_start(set_tree *t, int64_t level) {
    const set_node *n = t->nodes + level;
    const int64_t running = *set_of(t, level), *candidates = t->candidates + level * t->num_keys;
    double rate = t->sets->rates[running * t->sets->num_prices], step = earlier(firsts_of(t, level)[n->count], n->soonest) - n->now;
    int64_t found = n->num_candidates, last = -1;
    for (int64_t place = n->place; place < n->num_candidates; place++) {
        const int64_t key = candidates[place], kind = t->kind_of[key], waiting = number_of(t, n->waiting, kind);
        const bool may_run = waiting && !(t->kinds[kind].apart & n->apart);
        const int64_t set = may_run ? joined(t->sets, running, key) : NO_SET;
        if (set < NO_SET) return set;
        if (t->sets->num_looked_at > t->next_look) {
            if (clock_now() >= t->deadline) return PAUSED;
            t->next_look = t->sets->num_looked_at + CHOICES_BETWEEN;
        }
        if (set == NO_SET) continue;
        found = smaller(found, place);
        if (t->costs) return found;
        step = earlier(step, t->ticks[key]);
        if (kind == last) continue;
        rate += t->sets->key_rates[key] * (double)waiting; /* at the first duration that fits: at others it is worth less */
        last = kind;
        if (rate >= 1.0) return found;
    }
    return losses_of(t, level)[0] + (1.0 - rate) * step > t->slacks[0] ? IDLE : found;
}

/* Note what is lost at each price up to a time; return whether that is more than there is. */
static bool loses_too_much(set_tree *t, int64_t level, double until) {
    const double span = until - t->nodes[level].now, *losses = losses_of(t, level);
    const double *rates = t->sets->rates + *set_of(t, level) * t->sets->num_prices;
    double *next = losses_of(t, level + 1);
    for (int64_t p = 0; p < t->num_prices; p++) {
        const double lost = losses[p] + (1.0 - rates[p]) * span;
        if (lost > t->slacks[p]) {
            t->hits[p]++;
            return true;
        }
        next[p] = lost;
    }
    return false;
}

/* Whether what has started at a level and what waits cost too much, if the next starts at a time. */
static bool costs_too_much(set_tree *t, int64_t level, double until) {
    if (!t->costs) return false;
    const set_node *n = t->nodes + level;
    const member *members = members_of(t, level);
    int64_t num_held = 0;
    for (int64_t kind = 0; kind < t->num_kinds; kind++) t->counts[kind] = number_of(t, n->waiting, kind);
    for (int64_t i = 0; i < n->num_members; i++)
        if (members[i].end > until) t->holding[num_held++] = (held){members[i].end, 0.0, members[i].key};
    return cost_too_much(t->costs, *spent_at(t, level), t->counts, until, t->holding, num_held);
}

/* Whether a job costs no more if it starts at a time with a key than if it does at another or later. */
static bool costs_no_more(set_tree *t, int64_t key, double start, double other) {
    return !t->costs || cost_at(t->costs, key, start) <= cost_alone(t->costs, t->kind_of[key], other);
}

/* Whether a job that waits at a level will be too late at a time. */
static bool will_be_late(const set_tree *t, int64_t level, double until) {
    const uint64_t waiting = t->nodes[level].waiting;
    for (int64_t kind = 0; kind < t->num_kinds; kind++) {
        if (!number_of(t, waiting, kind)) continue;
        double start = later(until, t->kinds[kind].release);
        if (t->has_waits) start = allowed_from(t, kind, later(start, lags_over(t, waiting, kind, 0.0)));
        if (is_too_late(t, kind, start, start + t->kinds[kind].shortest)) return true;
    }
    return false;
}

/* Note since when there is room for each key that waits, from when it could have started; return whether one could have
   run. */
static bool has_a_hole(set_tree *t, int64_t level, double until) {
    set_node *n = t->nodes + level;
    n->barred = barred(t, level, false);
    const uint8_t *always = t->sets->always + *set_of(t, level) * t->num_keys;
    const double *rooms = t->rooms + level * t->num_keys;
    double *next = t->rooms + (level + 1) * t->num_keys;
    for (int64_t key = 0; key < t->num_keys; key++) {
        const int64_t kind = t->kind_of[key];
        if (!always[key] || t->kinds[kind].apart & n->apart) {
            next[key] = HUGE_VAL;
            continue;
        }
        const double since = n->barred >> kind & 1 ? rooms[key] : earlier(rooms[key], n->now);
        if (since + t->ticks[key] <= until && number_of(t, n->waiting, kind) && costs_no_more(t, key, since, until))
            return true;
        next[key] = since;
    }
    return false;
}

/* Whether a kind has started that had to start with one that has not. */
static bool lacks_partner(const set_tree *t, int64_t level) {
    const uint64_t waiting = t->nodes[level].waiting;
    for (int64_t kind = 0; kind < t->num_kinds && t->has_waits; kind++)
        if (!number_of(t, waiting, kind) && awaits(t, waiting, kind, false)) return true;
    return false;
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

/* Return whether the same jobs waited before, no later, beside no more and no dearer, with as many blocks begun, or why a
   set cannot be made. Remember this where not. */
static int64_t is_known(set_tree *t, int64_t level, double until, int64_t running) {
    const int64_t size = write_lasting(t, level, until);
    const uint64_t waiting = t->nodes[level].waiting;
    const double spent = *spent_at(t, level);
    const uint16_t begun = (uint16_t)begun_by(t, t->nodes[level].begun, until);
    if (size > MOST_MEMBERS) return NO;
    const int64_t first = (int64_t)(waiting * MULTIPLIER >> LOW_BITS) % t->memory;
    known_node *place = t->known + first;
    for (int64_t k = 0; k < NEIGHBOURS; k++) {
        known_node *at = t->known + (first + k) % t->memory;
        if (!at->size) {
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
    place->size = (uint16_t)(size + 1);
    place->begun = begun;
    for (int64_t k = 0; k < size; k++) place->ends[k] = t->lasting[k].end;
    double *lags = t->known_lags + (place - t->known) * t->num_delayed;
    for (int64_t d = 0; d < t->num_delayed; d++) {
        const bool waits = number_of(t, waiting, t->delayed[d]) > 0;
        lags[d] = waits ? lags_over(t, waiting, t->delayed[d], DBL_MIN) : -HUGE_VAL;
    }
    return NO;
}

/* Return what still runs at a time, blocks that have begun by then included, NO_SET where they find no room, or why that set
   cannot be made. */
static int64_t after(const set_tree *t, int64_t level, double until) {
    const member *members = members_of(t, level);
    int64_t running = *set_of(t, level);
    for (int64_t i = 0; i < t->nodes[level].num_members && running >= 0; i++)
        if (members[i].end <= until) running = left_by(t->sets, running, members[i].key);
    const int64_t begun = begun_by(t, t->nodes[level].begun, until);
    for (int64_t b = t->nodes[level].begun; b < begun && running >= 0; b++)
        if (t->block_ends[b] > until) running = joined(t->sets, running, t->first_block + b);
    return running;
}

/* Return whether what has started at a level may lead to a schedule that ends by the ceiling, or why a set cannot be
   made. */
static int64_t may_lead_on(set_tree *t, int64_t level, double until) {
    if (until > t->ceiling || isinf(until) || loses_too_much(t, level, until) || lacks_partner(t, level) ||
        will_be_late(t, level, until) || has_a_hole(t, level, until) || costs_too_much(t, level, until))
        return NO;
    if (level + 1 == t->num_levels) return TOO_MANY;
    const int64_t running = after(t, level, until);
    if (running < 0) return running == NO_SET ? NO : running;
    t->sets_of[(level + 1) * (t->num_jobs + 1)] = running;
    if (!t->nodes[level].count) return YES; /* the same jobs wait at the level before, which is not yet seen to its end */
    const int64_t known = is_known(t, level, until, running);
    return known < 0 ? known : known == NO;
}

/* Start one of the candidate at a place. */
static void start(set_tree *t, int64_t level, int64_t place) {
    set_node *n = t->nodes + level;
    const int64_t key = t->candidates[level * t->num_keys + place];
    const double end = n->now + t->ticks[key];
    kind_of_jobs *of = t->kinds + t->kind_of[key];
    double *firsts = firsts_of(t, level);
    int64_t *set = set_of(t, level);
    set[1] = joined(t->sets, set[0], key);
    members_of(t, level)[n->num_members++] = (member){key, end};
    t->started[level * t->num_jobs + n->count] = place;
    firsts[n->count + 1] = earlier(firsts[n->count], end);
    if (t->costs) spent_at(t, level)[1] = spent_with(t->costs, *spent_at(t, level), cost_at(t->costs, key, n->now));
    n->waiting -= UINT64_C(1) << of->shift;
    if (of->apart) n->apart |= UINT64_C(1) << t->kind_of[key];
    of->start = n->now;
    of->end = end;
    n->count++;
    n->place = place;
}

/* Go on to the next time. */
static void go_on(set_tree *t, int64_t level, double until) {
    const set_node *n = t->nodes + level;
    const member *members = members_of(t, level);
    member *next = members_of(t, level + 1);
    int64_t number = 0;
    for (int64_t i = 0; i < n->num_members; i++)
        if (members[i].end > until) next[number++] = members[i];
    const bool has_ended = number < n->num_members;
    const int64_t begun = begun_by(t, n->begun, until);
    for (int64_t b = n->begun; b < begun; b++)
        if (t->block_ends[b] > until) next[number++] = (member){t->first_block + b, t->block_ends[b]};
    t->nodes[level + 1] = (set_node){
        .now = until, .waiting = n->waiting, .num_members = number, .begun = begun,
        .settled = has_ended ? 0 : n->settled | ~n->barred};
    *spent_at(t, level + 1) = *spent_at(t, level);
    t->level = level + 1;
    enter(t, level + 1);
}

/* Take the last start back and pass its key over, or go to the level before; return whether there is none. */
static bool go_back(set_tree *t, int64_t level) {
    set_node *n = t->nodes + level;
    if (!n->count) {
        t->level = level - 1;
        return level == 0;
    }
    const int64_t place = t->started[level * t->num_jobs + --n->count];
    n->place = place + 1;
    n->num_members--;
    const int64_t kind = t->kind_of[t->candidates[level * t->num_keys + place]];
    n->waiting += UINT64_C(1) << t->kinds[kind].shift;
    if (t->kinds[kind].apart) n->apart &= ~(UINT64_C(1) << kind); /* it is one job */
    t->is_forward = true;
    return false;
}

/* Whether all jobs that run end by a time. */
static bool end_by(const set_tree *t, int64_t level, double until) {
    const member *members = members_of(t, level);
    for (int64_t i = 0; i < t->nodes[level].num_members; i++)
        if (members[i].key < t->num_keys && members[i].end > until) return false;
    return true;
}

/* Search on, up to so many nodes; return how it ended, or why a set cannot be made. */
static int64_t search(set_tree *t, int64_t max_nodes, int64_t *nodes) {
    while (*nodes < max_nodes) {
        const int64_t level = t->level;
        if (!t->is_forward) {
            if (go_back(t, level)) return EVERYTHING;
            continue;
        }
        if (!t->nodes[level].waiting && end_by(t, level, next_begin(t, level))) {
            t->is_forward = false;
            if (end_by(t, level, t->ceiling) && (!t->costs || is_affordable(t->costs, *spent_at(t, level))))
                return BETTER; /* ceilings may have fallen since they started */
            continue;
        }
        const int64_t place = next_to_start(t, level);
        if (place == PAUSED) break;
        if (place < IDLE) return place;
        if (place >= 0 && place < t->nodes[level].num_candidates) {
            start(t, level, place);
            continue;
        }
        const double end = firsts_of(t, level)[t->nodes[level].count];
        const double until = place == IDLE ? end : earlier(end, next_wait(t, level));
        const int64_t leads_on = place == IDLE ? NO : may_lead_on(t, level, until);
        if (leads_on < 0) return leads_on;
        if (leads_on) go_on(t, level, until);
        else t->is_forward = false;
        if (++*nodes % NODES_BETWEEN == 0 && clock_now() >= t->deadline) break;
    }
    return STOPPED;
}

int64_t set_tree_run(
    set_tree *of, int64_t num_prices, int64_t max_nodes, double ceiling, double seconds,
    const double slacks[num_prices], int64_t hits[num_prices], int64_t nodes[1]) {
    if (num_prices < 1 || num_prices > of->sets->num_prices) return FAULT(OUT_OF_RANGE, 1);
    if (isnan(ceiling)) return FAULT(NOT_A_NUMBER, 3);
    for (int64_t p = 0; p < num_prices; p++)
        if (isnan(slacks[p])) return FAULT(NOT_A_NUMBER, 5);
    nodes[0] = 0;
    if (of->level < 0) return EVERYTHING;
    of->ceiling = ceiling;
    of->slacks = slacks;
    of->hits = hits;
    of->num_prices = num_prices;
    if (!of->has_begun) enter(of, 0);
    of->has_begun = true;
    of->deadline = clock_now() + seconds;
    of->next_look = of->sets->num_looked_at + CHOICES_BETWEEN;
    const int64_t ended = search(of, max_nodes, nodes);
    if (ended == OUT_OF_MEMORY) return FAULT(NO_MEMORY, 0);
    if (of->costs && has_failed(of->costs)) return FAULT(NOT_A_NUMBER, 0);
    return ended == TOO_MANY ? EXCEEDED : ended;
}

int64_t set_tree_count(set_tree *of, costs *costs, int64_t may_delay) {
    if (!is_of(costs, of->num_kinds, of->num_keys)) return FAULT(OUT_OF_RANGE, 1);
    of->costs = costs;
    of->may_delay = may_delay != 0;
    of->spent[0] = is_sum(costs) ? 0.0 : -HUGE_VAL;
    return 0;
}

int64_t set_tree_level(set_tree *of) { return of->level; }

int64_t set_tree_left(set_tree *of, int64_t level, int64_t num_kinds, double left[num_kinds], double now[1]) {
    if (level < 0 || level > of->level) return FAULT(OUT_OF_RANGE, 1);
    if (num_kinds != of->num_kinds) return FAULT(OUT_OF_RANGE, 2);
    const set_node *n = of->nodes + level;
    const member *members = members_of(of, level);
    for (int64_t kind = 0; kind < num_kinds; kind++) left[kind] = (double)number_of(of, n->waiting, kind);
    for (int64_t i = n->num_members - n->count; i < n->num_members; i++) left[of->kind_of[members[i].key]] += 1.0;
    for (int64_t i = 0; i < n->num_members - n->count; i++) {
        const int64_t key = members[i].key;
        if (key < of->num_keys) left[of->kind_of[key]] += (members[i].end - n->now) / of->ticks[key];
    }
    now[0] = n->now;
    return 0;
}

int64_t set_tree_node(
    set_tree *of, int64_t level, int64_t num_kinds, int64_t most, int64_t waiting[num_kinds], int64_t keys[most],
    double ends[most], double now[1], double spent[1]) {
    if (level < 0 || level > of->level) return FAULT(OUT_OF_RANGE, 1);
    if (num_kinds != of->num_kinds) return FAULT(OUT_OF_RANGE, 2);
    const set_node *n = of->nodes + level;
    const member *members = members_of(of, level);
    const int64_t number = n->num_members - n->count;
    if (most < number) return FAULT(OUT_OF_RANGE, 3);
    for (int64_t kind = 0; kind < num_kinds; kind++) waiting[kind] = number_of(of, n->waiting, kind);
    for (int64_t i = number; i < n->num_members; i++) waiting[of->kind_of[members[i].key]]++;
    for (int64_t i = 0; i < number; i++) {
        keys[i] = members[i].key;
        ends[i] = members[i].end;
    }
    now[0] = n->now;
    spent[0] = of->spent[level * (of->num_jobs + 1)];
    return number;
}

int64_t set_tree_lose(set_tree *of, int64_t row) {
    const int64_t num_prices = of->sets->num_prices;
    if (row < 0 || row >= num_prices) return FAULT(OUT_OF_RANGE, 1);
    for (int64_t level = 0; level < of->level; level++) {
        const double span = of->nodes[level + 1].now - of->nodes[level].now;
        const double rate = of->sets->rates[*set_of(of, level) * num_prices + row];
        losses_of(of, level + 1)[row] = losses_of(of, level)[row] + (1.0 - rate) * span;
    }
    return 0;
}

/* A member of a schedule: the level at which it started, when, its mode, and as which of all its mode was chosen, both -1
   where that is open. */
typedef struct {
    member of;
    double start;
    int64_t level, mode, rank;
} scheduled;

/* Write which members of a schedule run at a level, in the order of keys, then of ends; return how many. */
static int64_t write_running(scheduled *all, int64_t number, int64_t level, double now, scheduled **running) {
    int64_t size = 0;
    for (int64_t m = 0; m < number; m++) {
        const member one = all[m].of;
        if (all[m].level > level || (all[m].level < level && one.end <= now)) continue;
        int64_t k = size++;
        for (; k > 0; k--) {
            const member before = running[k - 1]->of;
            if (before.key < one.key || (before.key == one.key && before.end <= one.end)) break;
            running[k] = running[k - 1];
        }
        running[k] = all + m;
    }
    return size;
}

/* Give all that run in a set the modes of its first choice that agrees with those given already to `rank` members; return
   to how many they are given then. */
static int64_t choose(const running_set *set, scheduled **running, int64_t rank) {
    const int32_t *choice = set->choices;
    for (int64_t c = 0; c < set->num_choices; c++, choice += set->num_members) {
        int64_t i = 0;
        while (i < set->num_members && (running[i]->mode < 0 || running[i]->mode == choice[i])) i++;
        if (i < set->num_members) continue;
        for (i = 0; i < set->num_members; i++) {
            if (running[i]->mode < 0) running[i]->rank = rank++;
            running[i]->mode = choice[i];
        }
        break;
    }
    return rank;
}

/* Whether a member of a level that did not start there was none of the level before: a block that begins there. */
static bool has_begun_at(const set_tree *t, int64_t level, int64_t key) {
    return !level || (key >= t->first_block && key - t->first_block >= t->nodes[level - 1].begun);
}

/* Write all members of the path, those that run from the beginning first; return how many. */
static int64_t write_members(const set_tree *t, scheduled *all) {
    int64_t number = 0;
    for (int64_t level = 0; level <= t->level; level++) {
        const set_node *n = t->nodes + level;
        const int64_t before = n->num_members - n->count;
        const member *members = members_of(t, level);
        for (int64_t i = 0; i < n->num_members; i++)
            if (i >= before || has_begun_at(t, level, members[i].key))
                all[number++] = (scheduled){members[i], n->now, i < before && !level ? -1 : level, -1, -1};
    }
    return number;
}

static int compare_starts(const void *a, const void *b) {
    const scheduled *one = a, *other = b;
    if (one->start != other->start) return one->start < other->start ? -1 : 1;
    return one->rank < other->rank ? -1 : one->rank > other->rank;
}

int64_t set_tree_schedule(
    set_tree *of, int64_t num_jobs, int64_t keys[num_jobs], double starts[num_jobs], int64_t modes[num_jobs]) {
    if (num_jobs != of->num_jobs || of->level < 0 || of->nodes[of->level].waiting) return FAULT(OUT_OF_RANGE, 1);
    const int64_t most = of->num_members;
    scheduled *all = malloc((size_t)most * sizeof(scheduled)), **running = malloc((size_t)most * sizeof(scheduled *));
    if (all && running) {
        const int64_t number = write_members(of, all);
        for (int64_t level = of->level, rank = 0; level >= 0; level--) {
            write_running(all, number, level, of->nodes[level].now, running);
            rank = choose(of->sets->sets + *set_of(of, level), running, rank);
        }
        qsort(all, (size_t)number, sizeof(scheduled), compare_starts);
        for (int64_t m = 0, j = 0; m < number; m++) {
            if (all[m].of.key >= of->num_keys) continue;
            keys[j] = all[m].of.key;
            starts[j] = all[m].start;
            modes[j++] = all[m].mode;
        }
    }
    const bool has_memory = all && running;
    free(all);
    free(running);
    return has_memory ? 0 : FAULT(NO_MEMORY, 0);
}

/* Whether a kind is behind a lag that lasts. */
static bool is_delayed(const int64_t *lag_first, const double *lag_least, int64_t kind) {
    for (int64_t l = lag_first[kind]; l < lag_first[kind + 1]; l++)
        if (lag_least[l] > 0.0) return true;
    return false;
}

/* Return the fault in keys, kinds, and what runs from the beginning and later, or 0; what runs from the beginning fits. */
static int64_t fault_of(
    const set_tree *t, double release, const int64_t *kinds, const double *ticks, const int64_t *counts,
    const double *times, const int64_t *busy_keys, const double *busy_ends, const double *begins,
    const double *block_ends) {
    if (t->num_kinds < 1 || t->num_kinds > 64) return FAULT(OUT_OF_RANGE, 2);
    if (t->num_keys != t->sets->num_job_keys) return FAULT(OUT_OF_RANGE, 3);
    if (t->num_busy < 0 || t->num_busy > t->sets->num_keys) return FAULT(OUT_OF_RANGE, 4);
    if (t->num_blocks < 0 || t->num_blocks > smaller(UINT16_MAX, t->sets->num_keys - t->num_keys))
        return FAULT(OUT_OF_RANGE, 5);
    if (t->mirrored < -1 || t->mirrored >= t->num_kinds) return FAULT(OUT_OF_RANGE, 8);
    if (t->memory < 1 || t->memory > INT64_MAX / 4) return FAULT(OUT_OF_RANGE, 9);
    if (isnan(release)) return FAULT(NOT_A_NUMBER, 10);
    for (int64_t key = 0; key < t->num_keys; key++) {
        if (kinds[key] < 0 || kinds[key] >= t->num_kinds) return FAULT(OUT_OF_RANGE, 12);
        if (!(ticks[key] > 0.0)) return FAULT(OUT_OF_RANGE, 13);
    }
    for (int64_t kind = 0, bits = 0; kind < t->num_kinds; kind++) {
        if (counts[kind] < 1 || counts[kind] > 64) return FAULT(OUT_OF_RANGE, 14);
        for (int64_t number = counts[kind]; number; number /= 2) bits++;
        if (bits > 64) return FAULT(TOO_LARGE, 14);
    }
    if (!are_numbers(times, t->num_kinds * NUM_TIMES)) return FAULT(NOT_A_NUMBER, 15);
    for (int64_t b = 0; b < t->num_busy; b++) {
        if (busy_keys[b] < t->num_keys || busy_keys[b] >= t->sets->num_keys - t->num_blocks)
            return FAULT(OUT_OF_RANGE, 16);
        if (isnan(busy_ends[b])) return FAULT(NOT_A_NUMBER, 17);
    }
    for (int64_t b = 0; b < t->num_blocks; b++) {
        if (!(begins[b] >= (b ? begins[b - 1] : -HUGE_VAL))) return FAULT(OUT_OF_ORDER, 18);
        if (!(block_ends[b] > begins[b])) return FAULT(OUT_OF_RANGE, 19);
    }
    return 0;
}

/* Return the fault in what keeps kinds from starting, or 0. */
static int64_t fault_of_waits(
    const set_tree *t, const int64_t *counts, const int64_t *lag_first, const int64_t *lag_of, const int64_t *lag_ends,
    const double *lag_least, const uint64_t *apart, const int64_t *span_first, const double *opens,
    const double *closes) {
    if (t->num_lags < 0 || t->num_lags > INT32_MAX) return FAULT(OUT_OF_RANGE, 6);
    if (t->num_spans < 0 || t->num_spans > INT32_MAX) return FAULT(OUT_OF_RANGE, 7);
    if (!(t->early >= 0.0)) return FAULT(OUT_OF_RANGE, 11);
    if (lag_first[0] != 0 || lag_first[t->num_kinds] != t->num_lags) return FAULT(OUT_OF_RANGE, 20);
    if (span_first[0] != 0 || span_first[t->num_kinds] != t->num_spans) return FAULT(OUT_OF_RANGE, 25);
    for (int64_t kind = 0; kind < t->num_kinds; kind++) {
        if (lag_first[kind + 1] < lag_first[kind]) return FAULT(OUT_OF_ORDER, 20);
        if (span_first[kind + 1] < span_first[kind]) return FAULT(OUT_OF_ORDER, 25);
    }
    for (int64_t kind = 0; kind < t->num_kinds; kind++) {
        if (apart[kind] && counts[kind] > 1) return FAULT(OUT_OF_RANGE, 24);
        for (int64_t c = span_first[kind]; c < span_first[kind + 1]; c++) {
            if (!(opens[c] > (c > span_first[kind] ? closes[c - 1] : -HUGE_VAL))) return FAULT(OUT_OF_ORDER, 26);
            if (!(closes[c] >= opens[c])) return FAULT(OUT_OF_ORDER, 27);
        }
    }
    for (int64_t l = 0; l < t->num_lags; l++) {
        if (lag_of[l] < 0 || lag_of[l] >= t->num_kinds || counts[lag_of[l]] > 1) return FAULT(OUT_OF_RANGE, 21);
        if (lag_ends[l] < 0 || lag_ends[l] > 1) return FAULT(OUT_OF_RANGE, 22);
        if (!(lag_least[l] >= 0.0)) return FAULT(OUT_OF_RANGE, 23);
    }
    return 0;
}

static void place_all(set_tree *t) {
    arena *kept = &t->kept;
    const int64_t levels = t->num_levels;
    t->kinds = PLACE(kept, t->num_kinds, kind_of_jobs);
    t->kind_of = PLACE(kept, t->num_keys, int64_t);
    t->ticks = PLACE(kept, t->num_keys, double);
    t->begins = PLACE(kept, t->num_blocks, double);
    t->block_ends = PLACE(kept, t->num_blocks, double);
    t->lag_first = PLACE(kept, t->num_kinds + 1, int64_t);
    t->lags = PLACE(kept, t->num_lags, time_lag);
    t->delayed = PLACE(kept, t->num_kinds, int64_t);
    t->span_first = PLACE(kept, t->num_kinds + 1, int64_t);
    t->opens = PLACE(kept, t->num_spans, double);
    t->closes = PLACE(kept, t->num_spans, double);
    t->nodes = PLACE(kept, levels, set_node);
    t->sets_of = PLACE(kept, levels * (t->num_jobs + 1), int64_t);
    t->candidates = PLACE(kept, levels * t->num_keys, int64_t);
    t->started = PLACE(kept, levels * t->num_jobs, int64_t);
    t->firsts = PLACE(kept, levels * (t->num_jobs + 1), double);
    t->losses = PLACE(kept, levels * t->sets->num_prices, double);
    t->rooms = PLACE(kept, levels * t->num_keys, double);
    t->spent = PLACE(kept, levels * (t->num_jobs + 1), double);
    t->holding = PLACE(kept, t->num_members, held);
    t->counts = PLACE(kept, t->num_kinds, int64_t);
    t->members = PLACE(kept, levels * t->num_members, member);
    t->lasting = PLACE(kept, t->num_members, member);
    t->known = PLACE(kept, t->memory, known_node);
    t->known_lags = PLACE(kept, t->memory * t->num_delayed, double);
}

/* Write down kinds and keys; who waits at the first level follows from them. */
static void write_kinds(
    set_tree *t, const int64_t *kinds, const double *ticks, const int64_t *counts, const double *times,
    const uint64_t *apart) {
    memcpy(t->kind_of, kinds, (size_t)t->num_keys * sizeof(int64_t));
    memcpy(t->ticks, ticks, (size_t)t->num_keys * sizeof(double));
    t->last_release = -HUGE_VAL;
    for (int64_t kind = 0, shift = 0; kind < t->num_kinds; kind++) {
        const double *of = times + kind * NUM_TIMES;
        int64_t width = 0;
        while (counts[kind] >> width) width++;
        const uint64_t mask = (UINT64_C(1) << width) - 1;
        t->kinds[kind] = (kind_of_jobs){.shift = shift, .mask = mask, .apart = apart[kind], .release = of[0],
                                        .latest_start = of[1], .latest_end = of[2], .shortest = of[3], .tail = of[4]};
        t->has_apart |= apart[kind] != 0;
        t->last_release = later(t->last_release, of[0]);
        t->nodes[0].waiting |= (uint64_t)counts[kind] << shift;
        shift += width;
    }
}

/* Write down what keeps kinds from starting. */
static void write_waits(
    set_tree *t, const int64_t *lag_first, const int64_t *lag_of, const int64_t *lag_ends, const double *lag_least,
    const int64_t *span_first, const double *opens, const double *closes) {
    memcpy(t->lag_first, lag_first, (size_t)(t->num_kinds + 1) * sizeof(int64_t));
    memcpy(t->span_first, span_first, (size_t)(t->num_kinds + 1) * sizeof(int64_t));
    if (t->num_spans) memcpy(t->opens, opens, (size_t)t->num_spans * sizeof(double));
    if (t->num_spans) memcpy(t->closes, closes, (size_t)t->num_spans * sizeof(double));
    for (int64_t l = 0; l < t->num_lags; l++) t->lags[l] = (time_lag){lag_of[l], lag_ends[l] == 1, lag_least[l]};
    for (int64_t kind = 0, number = 0; kind < t->num_kinds; kind++)
        if (is_delayed(lag_first, lag_least, kind)) t->delayed[number++] = kind;
    t->has_waits = t->num_lags || t->num_spans || t->has_apart;
}

/* Let what runs from the beginning, and blocks that have begun, run at the first level; return its set, or why that cannot
   be made. */
static int64_t write_busy(set_tree *t, const int64_t *busy_keys, const double *busy_ends) {
    set_node *n = t->nodes;
    n->begun = begun_by(t, 0, n->now);
    for (int64_t b = 0; b < t->num_busy; b++) t->members[n->num_members++] = (member){busy_keys[b], busy_ends[b]};
    for (int64_t b = 0; b < n->begun; b++)
        if (t->block_ends[b] > n->now)
            t->members[n->num_members++] = (member){t->first_block + b, t->block_ends[b]};
    int64_t running = 0;
    for (int64_t i = 0; i < n->num_members && running >= 0; i++)
        running = running_sets_join(t->sets, running, t->members[i].key);
    t->sets_of[0] = running;
    return running;
}

int64_t set_tree_new(
    set_tree *made[1], running_sets *sets,
    int64_t num_kinds, int64_t num_job_keys, int64_t num_busy, int64_t num_blocks, int64_t num_lags, int64_t num_spans,
    int64_t mirrored, int64_t memory, double release, double early,
    const int64_t kinds[num_job_keys], const double ticks[num_job_keys], const int64_t counts[num_kinds],
    const double times[num_kinds * 5],
    const int64_t busy_keys[num_busy], const double busy_ends[num_busy],
    const double begins[num_blocks], const double block_ends[num_blocks],
    const int64_t lag_first[num_kinds + 1], const int64_t lag_of[num_lags], const int64_t lag_ends[num_lags],
    const double lag_least[num_lags], const uint64_t apart[num_kinds],
    const int64_t span_first[num_kinds + 1], const double opens[num_spans], const double closes[num_spans]) {
    set_tree given = {.sets = sets, .num_kinds = num_kinds, .num_keys = num_job_keys, .num_busy = num_busy,
                      .num_blocks = num_blocks, .num_lags = num_lags, .num_spans = num_spans, .mirrored = mirrored,
                      .memory = memory, .early = early, .is_forward = true};
    int64_t fault = fault_of(
        &given, release, kinds, ticks, counts, times, busy_keys, busy_ends, begins, block_ends);
    if (!fault)
        fault = fault_of_waits(
            &given, counts, lag_first, lag_of, lag_ends, lag_least, apart, span_first, opens, closes);
    if (fault) return fault;
    for (int64_t kind = 0; kind < num_kinds; kind++) {
        given.num_jobs += counts[kind];
        given.num_delayed += is_delayed(lag_first, lag_least, kind);
    }
    /* Odd numbers of nodes have fewer factors in common with the steps of their places. */
    given.memory = memory / (int64_t)(sizeof(known_node) + (size_t)given.num_delayed * sizeof(double)) | 1;
    given.first_block = sets->num_keys - num_blocks;
    given.num_members = given.num_jobs + num_busy + num_blocks;
    /* At each level but the first something ends, arrives or begins, a lag is over, or a calendar lets a job start. */
    given.num_levels = given.num_members + num_kinds + num_blocks + num_lags + smaller(num_spans, MOST_LEVELS) + 2;
    set_tree *t = malloc(sizeof(set_tree));
    if (!t) return FAULT(NO_MEMORY, 0);
    *t = given;
    place_all(t);
    if (!make_room(&t->kept)) {
        free(t);
        return FAULT(NO_MEMORY, 0);
    }
    place_all(t);
    write_kinds(t, kinds, ticks, counts, times, apart);
    write_waits(t, lag_first, lag_of, lag_ends, lag_least, span_first, opens, closes);
    if (num_blocks) memcpy(t->begins, begins, (size_t)num_blocks * sizeof(double));
    if (num_blocks) memcpy(t->block_ends, block_ends, (size_t)num_blocks * sizeof(double));
    t->nodes[0].now = release;
    for (int64_t key = 0; key < num_job_keys; key++) t->rooms[key] = HUGE_VAL;
    const int64_t running = write_busy(t, busy_keys, busy_ends);
    if (running >= 0) {
        made[0] = t;
        return 0;
    }
    set_tree_free(t);
    return running == OUT_OF_MEMORY ? FAULT(NO_MEMORY, 0) : FAULT(TOO_LARGE, 16);
}

void set_tree_free(set_tree *of) {
    if (!of) return;
    free(of->kept.room);
    free(of);
}
